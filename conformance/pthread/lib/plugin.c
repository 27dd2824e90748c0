/*
 * A library that is busy while it is loaded: its constructor locks, waits and
 * starts threads. Used by dlopen.c.
 */
#include "../../posix/crowd.h"

static pthread_mutex_t mutexes[KINDS];
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long counter, turns;
static bool stop;

THREAD(count, void *mutex)
{
	int i;

	for (i = 0; i < 300; i++) {
		OK(pthread_mutex_lock(mutex));
		counter++;
		OK(pthread_cond_signal(&cond));
		OK(pthread_mutex_unlock(mutex));
	}
}

THREAD(wait_on, void *mutex)
{
	OK(pthread_mutex_lock(mutex));
	while (!stop) {
		OK(pthread_cond_wait(&cond, mutex));
		turns++;
	}
	OK(pthread_mutex_unlock(mutex));
}

static void exercise(enum kind kind)
{
	pthread_mutex_t *mutex = &mutexes[kind];
	struct thread threads[4];
	int i;

	/* Its threads would need a priority. */
	if (kind == PP)
		return;
	OK(make_mutex(mutex, kind));
	counter = 0;
	stop = false;
	for (i = 0; i < 4; i++)
		start(&threads[i], i < 3 ? count : wait_on, mutex);
	for (i = 0; i < 3; i++)
		join(&threads[i]);
	OK(pthread_mutex_lock(mutex));
	CHECK_EQ(counter, 3 * 300);
	stop = true;
	OK(pthread_cond_broadcast(&cond));
	OK(pthread_mutex_unlock(mutex));
	join(&threads[3]);
}

static __attribute__((constructor)) void loaded(void)
{
	enum kind kind;

	for (kind = 0; kind < KINDS; kind++)
		exercise(kind);
}

static __attribute__((destructor)) void unloaded(void)
{
	OK(pthread_mutex_lock(&mutexes[DEFAULT]));
	OK(pthread_mutex_unlock(&mutexes[DEFAULT]));
}

int plugin_works(void);

int plugin_works(void)
{
	loaded();
	return 42;
}
