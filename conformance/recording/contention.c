/*
 * Planted contention: what each object is used and held for is known. Says how
 * many of evict()'s holds ended with a thread that waited.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t quiet = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int evictions;
static int awaited;

__attribute__((noinline)) void evict(void)
{
	pthread_mutex_lock(&busy);
	evictions++;
	usleep(2000);
	awaited += *(volatile int *)&busy >> 22 != 0;
	pthread_mutex_unlock(&busy);
}

__attribute__((noinline)) void look(void)
{
	pthread_mutex_lock(&busy);
	pthread_mutex_unlock(&busy);
}

static void *evictor(void *count)
{
	for (long i = 0; i < (long)count; i++) {
		evict();
		usleep(500);
	}
	return NULL;
}

static void *looker(void *count)
{
	for (long i = 0; i < (long)count; i++) {
		/* However slow the evictor is, some wait for each eviction. */
		while (evictions <= i / 20)
			usleep(100);
		look();
		pthread_mutex_lock(&quiet);
		pthread_mutex_unlock(&quiet);
		pthread_rwlock_rdlock(&table);
		pthread_rwlock_unlock(&table);
		if (i % 100 == 0) {
			pthread_rwlock_wrlock(&table);
			usleep(100);
			pthread_rwlock_unlock(&table);
		}
		if (i % 10 == 0)
			usleep(200);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int forever = argc > 1 && strcmp(argv[1], "forever") == 0;
	pthread_t threads[4];

	do {
		evictions = 0;
		for (int i = 1; i < 4; i++)
			pthread_create(&threads[i], NULL, looker, (void *)1000);
		pthread_create(&threads[0], NULL, evictor, (void *)50);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	} while (forever);
	printf("%p %p %p %p %x\n", (void *)&busy, (void *)&quiet, (void *)&table, (void *)evict,
	       awaited);
	return 0;
}
