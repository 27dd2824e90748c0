/*
 * One thread in each wait, called by a function whose name says which. Prints
 * its process id and "ready" when all of them wait, and waits to be killed.
 *
 * callers deadlock: two threads that wait for each other, whose mutexes have
 * names, if there is a furwock that takes them.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

int furwock_pthread_name(const void *object, const char *name)
	__attribute__((weak));

pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t unlisted = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive, released = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condvar = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t read_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t written_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier, both;
static sem_t semaphore;
static struct timespec later;

#define CALLER(name, call)                                                     \
	static __attribute__((noinline)) void *caller_of_##name(void *unused)  \
	{                                                                      \
		call;                                                          \
		__asm__ volatile("");                                          \
		return unused;                                                 \
	}

CALLER(mutex_lock, pthread_mutex_lock(&accounts))
CALLER(mutex_lock_recursive, pthread_mutex_lock(&recursive))
CALLER(mutex_timedlock, pthread_mutex_timedlock(&accounts, &later))
CALLER(cond_wait, pthread_mutex_lock(&released);
       pthread_cond_wait(&condvar, &released))
CALLER(cond_timedwait, pthread_mutex_lock(&released);
       pthread_cond_timedwait(&condvar, &released, &later))
CALLER(rwlock_rdlock, pthread_rwlock_rdlock(&written_lock))
CALLER(rwlock_wrlock, pthread_rwlock_wrlock(&read_lock))
CALLER(rwlock_timedrdlock, pthread_rwlock_timedrdlock(&written_lock, &later))
CALLER(rwlock_timedwrlock, pthread_rwlock_timedwrlock(&read_lock, &later))
CALLER(sem_wait, sem_wait(&semaphore))
CALLER(sem_timedwait, sem_timedwait(&semaphore, &later))
CALLER(barrier_wait, pthread_barrier_wait(&barrier))

static void start(void *(*routine)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, routine, NULL);
}

static void *alice(void *unused)
{
	prctl(PR_SET_NAME, "alice");
	pthread_mutex_lock(&accounts);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&journal);
	return unused;
}

static void *bob(void *unused)
{
	prctl(PR_SET_NAME, "bob");
	pthread_mutex_lock(&journal);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&accounts);
	return unused;
}

static void deadlock(void)
{
	pthread_mutex_t gone = PTHREAD_MUTEX_INITIALIZER;

	if (furwock_pthread_name) {
		furwock_pthread_name(&accounts, "the accounts");
		furwock_pthread_name(&journal, "wrong");
		furwock_pthread_name(&journal, "the journal");
		furwock_pthread_name(&unlisted, "removed");
		furwock_pthread_name(&unlisted, NULL);
		furwock_pthread_name(&gone, "destroyed");
		pthread_mutex_destroy(&gone);
	}
	pthread_barrier_init(&both, NULL, 2);
	start(alice);
	start(bob);
}

static void all(void)
{
	pthread_mutexattr_t attr;

	clock_gettime(CLOCK_REALTIME, &later);
	later.tv_sec += 1000;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&recursive, &attr);
	sem_init(&semaphore, 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_mutex_lock(&accounts);
	pthread_mutex_lock(&recursive);
	pthread_rwlock_wrlock(&written_lock);
	pthread_rwlock_rdlock(&read_lock);
	start(caller_of_mutex_lock);
	start(caller_of_mutex_lock_recursive);
	start(caller_of_mutex_timedlock);
	start(caller_of_cond_wait);
	start(caller_of_cond_timedwait);
	start(caller_of_rwlock_rdlock);
	start(caller_of_rwlock_wrlock);
	start(caller_of_rwlock_timedrdlock);
	start(caller_of_rwlock_timedwrlock);
	start(caller_of_sem_wait);
	start(caller_of_sem_timedwait);
	start(caller_of_barrier_wait);
}

int main(int argc, char **argv)
{
	alarm(120);
	if (argc > 1 && !strcmp(argv[1], "deadlock"))
		deadlock();
	else
		all();
	usleep(300000);
	printf("%d ready\n", getpid());
	fflush(stdout);
	for (;;)
		pause();
}
