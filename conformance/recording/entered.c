/* Threads that come to a mutex at the same moment, and then to the next one. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LOCKS 300
#define THREADS 3

static pthread_mutex_t locks[LOCKS];
static atomic_int held, done[LOCKS];

static void *meet(void *unused)
{
	(void)unused;
	for (int at = 0; at < LOCKS; at++) {
		while (atomic_load(&held) <= at)
			sched_yield();
		pthread_mutex_lock(&locks[at]);
		pthread_mutex_unlock(&locks[at]);
		atomic_fetch_add(&done[at], 1);
	}
	return NULL;
}

int main(void)
{
	const struct timespec moment = { 0, 100000 };
	pthread_t threads[THREADS];

	alarm(50);
	for (int at = 0; at < THREADS; at++)
		pthread_create(&threads[at], NULL, meet, NULL);
	for (int at = 0; at < LOCKS; at++) {
		pthread_mutex_lock(&locks[at]);
		atomic_store(&held, at + 1);
		do
			nanosleep(&moment, NULL);
		while (*(volatile int *)&locks[at] >> 22 == 0);
		pthread_mutex_unlock(&locks[at]);
		while (atomic_load(&done[at]) < THREADS)
			sched_yield();
		if (at % 2)
			pthread_mutex_destroy(&locks[at]);
	}
	for (int at = 0; at < THREADS; at++)
		pthread_join(threads[at], NULL);
	puts("done");
	return 0;
}
