/* One long write, a read that waits for it, many reads, and a pause before a short write. Says how
 * long the writes took, the sleep at the end of the long one, and the reads, in nanoseconds. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static sem_t written;
static atomic_int reads;
static long long wrote, slept;

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Until the first thread sleeps in its read. */
static void until_asleep(void)
{
	char state = 0;
	FILE *stat;

	while (!reads)
		usleep(1000);
	while (state != 'S') {
		usleep(1000);
		stat = fopen("/proc/self/stat", "r");
		if (!stat || fscanf(stat, "%*d %*s %c", &state) != 1)
			_exit(1);
		fclose(stat);
	}
}

static void *writer(void *unused)
{
	long long began = now();

	(void)unused;
	pthread_rwlock_wrlock(&table);
	sem_post(&written);
	until_asleep();
	slept = now();
	usleep(20000);
	slept = now() - slept;
	pthread_rwlock_unlock(&table);
	wrote = now() - began;
	return NULL;
}

int main(void)
{
	pthread_t thread;
	long long began, read, again;

	alarm(50);
	sem_init(&written, 0, 0);
	pthread_create(&thread, NULL, writer, NULL);
	sem_wait(&written);
	began = now();
	reads = 1;
	pthread_rwlock_rdlock(&table);
	pthread_rwlock_unlock(&table);
	pthread_join(thread, NULL);
	for (int i = 0; i < 1000; i++) {
		pthread_rwlock_rdlock(&table);
		pthread_rwlock_unlock(&table);
	}
	read = now() - began;
	usleep(50000);
	began = now();
	pthread_rwlock_wrlock(&table);
	pthread_rwlock_unlock(&table);
	again = now() - began;
	printf("%p %lld %lld %lld\n", (void *)&table, wrote + again, slept, read);
	return 0;
}
