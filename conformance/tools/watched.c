/* Threads that meet at a condvar and count under locks of all sorts: with an argument, some of them
 * don't take the lock. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

enum { THREADS = 3, ROUNDS = 200 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t begun = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spinlock;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int started, go, count, written, racy, spun, passed;

#ifdef ONCE
/* Not for valgrind, which knows nothing of it. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int made;

static void make(void)
{
	made = 1;
}
#endif

static void *work(void *races)
{
	int i;

	pthread_mutex_lock(&mutex);
	started++;
	pthread_cond_broadcast(&begun);
	while (!go)
		pthread_cond_wait(&begun, &mutex);
	pthread_mutex_unlock(&mutex);
#ifdef ONCE
	pthread_once(&once, make);
	if (made != 1)
		return races;
#endif
	pthread_barrier_wait(&barrier);
	for (i = 0; i < ROUNDS; i++) {
		pthread_spin_lock(&spinlock);
		spun++;
		pthread_spin_unlock(&spinlock);
		sem_wait(&semaphore);
		passed++;
		sem_post(&semaphore);
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

	pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
	pthread_barrier_init(&barrier, NULL, THREADS);
	sem_init(&semaphore, 0, 1);

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
	return count != THREADS * ROUNDS || written != THREADS * ROUNDS ||
	       spun != THREADS * ROUNDS || passed != THREADS * ROUNDS;
}
