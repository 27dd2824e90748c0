/* One long write, a read that waits for it, many reads, and a pause before a short write. Says how
 * long the writes and the wait took, in nanoseconds. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static sem_t written;
static long long wrote;

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void *writer(void *unused)
{
	long long began = now();

	(void)unused;
	pthread_rwlock_wrlock(&table);
	sem_post(&written);
	usleep(20000);
	pthread_rwlock_unlock(&table);
	wrote = now() - began;
	return NULL;
}

int main(void)
{
	pthread_t thread;
	long long began, waited, again;

	sem_init(&written, 0, 0);
	pthread_create(&thread, NULL, writer, NULL);
	sem_wait(&written);
	began = now();
	pthread_rwlock_rdlock(&table);
	waited = now() - began;
	pthread_rwlock_unlock(&table);
	pthread_join(thread, NULL);
	for (int i = 0; i < 1000; i++) {
		pthread_rwlock_rdlock(&table);
		pthread_rwlock_unlock(&table);
	}
	usleep(50000);
	began = now();
	pthread_rwlock_wrlock(&table);
	pthread_rwlock_unlock(&table);
	again = now() - began;
	printf("%p %lld %lld\n", (void *)&table, wrote + again, waited);
	return 0;
}
