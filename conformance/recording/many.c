/* More contended mutexes and more threads than a record has room for. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#define LOCKS 10000
#define THREADS 1000

static pthread_mutex_t locks[LOCKS];
static pthread_barrier_t all;

static void *use(void *number)
{
	long self = (long)number;

	pthread_barrier_wait(&all);
	for (int i = 0; i < LOCKS; i += 10) {
		int at = (int)((i + self) % LOCKS);

		pthread_mutex_lock(&locks[at]);
		if (self % 50 == 0 && i % 100 == 0)
			sched_yield();
		pthread_mutex_unlock(&locks[at]);
	}
	return NULL;
}

/* Threads meet at a mutex, which each of them makes contended. */
static void *meet(void *mutex)
{
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
	return NULL;
}

int main(void)
{
	static pthread_t threads[THREADS];
	pthread_attr_t small;
	pthread_t other;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_barrier_init(&all, NULL, THREADS);
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], &small, use, (void *)i) != 0)
			return 77;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < LOCKS; i++) {
		pthread_mutex_lock(&locks[i]);
		pthread_create(&other, &small, meet, &locks[i]);
		while (*(volatile int *)&locks[i] >> 22 == 0)
			sched_yield();
		pthread_mutex_unlock(&locks[i]);
		pthread_join(other, NULL);
	}
	puts("done");
	return 0;
}
