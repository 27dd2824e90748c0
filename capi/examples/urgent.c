/*
 * A mutex and a condition variable with priority inheritance: a thread that
 * waits for the mutex lends its priority to the thread that holds it.
 */
#include <errno.h>
#include <furwock.h>
#include <pthread.h>
#include <stdio.h>

enum { JOBS = 1000 };

static furwock_pi_mutex mutex = FURWOCK_PI_MUTEX_INIT;
static furwock_pi_condvar changed = FURWOCK_PI_CONDVAR_INIT;
static int waiting, done;

static void *work(void *unused)
{
	furwock_pi_mutex_lock(&mutex);
	while (done < JOBS) {
		while (waiting == 0)
			if (furwock_pi_condvar_wait(&changed, &mutex) != 0)
				return unused;
		waiting--;
		done++;
		furwock_pi_condvar_signal(&changed);
	}
	furwock_pi_mutex_unlock(&mutex);
	return unused;
}

int main(void)
{
	pthread_t worker;
	int error = furwock_pi_mutex_lock(&mutex);

	/* What hangs elsewhere is an error here. */
	if (error != 0 || furwock_pi_mutex_lock(&mutex) != EDEADLK)
		return 1;
	if (pthread_create(&worker, NULL, work, NULL))
		return 2;
	for (int i = 0; i < JOBS; i++) {
		waiting++;
		furwock_pi_condvar_signal(&changed);
		while (waiting > 0)
			if (furwock_pi_condvar_wait(&changed, &mutex) != 0)
				return 3;
	}
	furwock_pi_mutex_unlock(&mutex);
	pthread_join(worker, NULL);
	printf("%d of %d jobs done\n", done, JOBS);
	return done != JOBS;
}
