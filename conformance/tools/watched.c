/* Threads that meet at a condvar and count under a mutex: with an argument, not all of them under it. */
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 3, ROUNDS = 200 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t begun = PTHREAD_COND_INITIALIZER;
static int started, go, count, written, racy;

static void *work(void *races)
{
	int i;

	pthread_mutex_lock(&mutex);
	started++;
	pthread_cond_broadcast(&begun);
	while (!go)
		pthread_cond_wait(&begun, &mutex);
	pthread_mutex_unlock(&mutex);
	for (i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		count++;
		pthread_mutex_unlock(&mutex);
		pthread_rwlock_wrlock(&rwlock);
		written++;
		pthread_rwlock_unlock(&rwlock);
		if (races)
			racy++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work,
				   argc > 1 ? argv[1] : NULL))
			return 1;
	pthread_mutex_lock(&mutex);
	while (started < THREADS)
		pthread_cond_wait(&begun, &mutex);
	go = 1;
	pthread_cond_broadcast(&begun);
	pthread_mutex_unlock(&mutex);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return count != THREADS * ROUNDS || written != THREADS * ROUNDS;
}
