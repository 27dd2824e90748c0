/* A library that a program is linked with, and that locks before its main. */
#include "../../posix/crowd.h"

static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool begun;

int early_has_begun(void);
void early_lock(void);
void early_unlock(void);

THREAD(begin, void *argument UNUSED)
{
	OK(pthread_mutex_lock(&normal));
	begun = true;
	OK(pthread_cond_signal(&cond));
	OK(pthread_mutex_unlock(&normal));
}

static __attribute__((constructor)) void loaded(void)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 1);
	struct thread thread;

	OK(pthread_mutex_lock(&recursive));
	OK(pthread_mutex_lock(&recursive));
	OK(pthread_mutex_unlock(&recursive));
	OK(pthread_mutex_lock(&normal));
	CHECK_ERR(pthread_cond_timedwait(&cond, &normal, &at), ETIMEDOUT);
	start(&thread, begin, NULL);
	while (!begun)
		OK(pthread_cond_wait(&cond, &normal));
	OK(pthread_mutex_unlock(&normal));
	join(&thread);
	/* One lock stays, which main takes off. */
}

int early_has_begun(void)
{
	return begun;
}

void early_lock(void)
{
	OK(pthread_mutex_lock(&recursive));
}

void early_unlock(void)
{
	OK(pthread_mutex_unlock(&recursive));
}
