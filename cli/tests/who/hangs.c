/*
 * Programs that hang, by name: each says "ready" and then its threads never
 * go on. `furwock who` has to find out why.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 5

static pthread_mutex_t locks[MOST];
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t other = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sems[2];
static pthread_barrier_t begun;
static pthread_t threads[MOST];
static int count = 2;

/* A holder whose own caller is inlined, and one that isn't. */
static __attribute__((noinline)) void second(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	__asm__ volatile("" ::: "memory");
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void start(void *(*run)(void *), int threads_wanted)
{
	for (long at = 0; at < threads_wanted; at++) {
		char name[16];

		pthread_create(&threads[at], NULL, run, (void *)at);
		snprintf(name, sizeof name, "thread-%ld", at);
		pthread_setname_np(threads[at], name);
	}
	ready();
	for (int at = 0; at < threads_wanted; at++)
		pthread_join(threads[at], NULL);
}

static void *in_a_ring(void *at)
{
	long own = (long)at;

	pthread_mutex_lock(&locks[own]);
	pthread_barrier_wait(&begun);
	second(&locks[(own + 1) % count]);
	return NULL;
}

static void *writer(void *at)
{
	pthread_rwlock_t *first = at ? &rwlock : &other;

	pthread_rwlock_wrlock(first);
	pthread_barrier_wait(&begun);
	pthread_rwlock_wrlock(at ? &other : &rwlock);
	return NULL;
}

/* One reads and wants the mutex; one has the mutex and wants to write. */
static void *reader(void *at)
{
	if (at) {
		/* Often enough that furwock's readers use slots. */
		for (int times = 0; times < 300; times++) {
			pthread_rwlock_rdlock(&rwlock);
			pthread_rwlock_unlock(&rwlock);
		}
		pthread_rwlock_rdlock(&rwlock);
		pthread_barrier_wait(&begun);
		second(&locks[0]);
	} else {
		pthread_mutex_lock(&locks[0]);
		pthread_barrier_wait(&begun);
		pthread_rwlock_wrlock(&rwlock);
	}
	return NULL;
}

/* The waiter keeps the mutex that the signalling thread needs first. */
static void *through_a_condvar(void *at)
{
	if (at) {
		pthread_mutex_lock(&locks[0]);
		pthread_mutex_lock(&locks[1]);
		pthread_barrier_wait(&begun);
		pthread_cond_wait(&cond, &locks[1]);
	} else {
		pthread_barrier_wait(&begun);
		second(&locks[0]);
		pthread_cond_signal(&cond);
	}
	return NULL;
}

static int is_waiting;

/* The waiter is woken while the waker keeps the condvar's mutex. */
static void *back_from_a_condvar(void *at)
{
	if (at) {
		pthread_mutex_lock(&locks[0]);
		pthread_mutex_lock(&locks[1]);
		is_waiting = 1;
		pthread_cond_wait(&cond, &locks[1]);
	} else {
		for (;;) {
			pthread_mutex_lock(&locks[1]);
			if (is_waiting)
				break;
			pthread_mutex_unlock(&locks[1]);
			usleep(1000);
		}
		pthread_cond_signal(&cond);
		second(&locks[0]);
	}
	return NULL;
}

static void *joiner(void *at)
{
	if (at) {
		pthread_barrier_wait(&begun);
		second(&locks[0]);
	} else {
		pthread_mutex_lock(&locks[0]);
		pthread_barrier_wait(&begun);
		pthread_join(threads[1], NULL);
	}
	return NULL;
}

static void *with_semaphores(void *at)
{
	sem_wait(&sems[(long)at]);
	sem_post(&sems[!at]);
	return NULL;
}

static void *at_a_barrier(void *at)
{
	(void)at;
	pthread_barrier_wait(&begun);
	return NULL;
}

static void *alone(void *at)
{
	(void)at;
	second(&locks[0]);
	second(&locks[0]);
	return NULL;
}

static void *ends_as_holder(void *at)
{
	pthread_mutex_lock(at);
	return NULL;
}

/* Without its list the kernel doesn't see what the thread held. */
static void *ends_as_robust_holder(void *at)
{
	syscall(SYS_set_robust_list, NULL, 3 * sizeof(void *));
	pthread_mutex_lock(at);
	return NULL;
}

static void after_an_ended(void *(*holder)(void *))
{
	pthread_create(&threads[0], NULL, holder, &locks[0]);
	pthread_join(threads[0], NULL);
	ready();
	second(&locks[0]);
}

/* Many wait for one that sleeps. */
static void *in_a_crowd(void *at)
{
	second(&locks[0]);
	return at;
}

static void crowd(int size)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_mutex_lock(&locks[0]);
	while (size-- && !pthread_create(&thread, &small, in_a_crowd, NULL))
		;
	sleep(1);
	ready();
	pause();
}

static void two_processes(void)
{
	struct shared {
		pthread_mutex_t locks[2];
		pthread_barrier_t begun;
	} *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t mutexes;
	pthread_barrierattr_t barriers;
	int own;

	pthread_mutexattr_init(&mutexes);
	pthread_mutexattr_setpshared(&mutexes, PTHREAD_PROCESS_SHARED);
	pthread_barrierattr_init(&barriers);
	pthread_barrierattr_setpshared(&barriers, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->locks[0], &mutexes);
	pthread_mutex_init(&shared->locks[1], &mutexes);
	pthread_barrier_init(&shared->begun, &barriers, 2);
	own = fork() == 0;
	if (own)
		alarm(60);
	pthread_mutex_lock(&shared->locks[own]);
	pthread_barrier_wait(&shared->begun);
	if (!own)
		ready();
	second(&shared->locks[!own]);
}

static void make(int robust, int protocol)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	if (robust)
		pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setprotocol(&attributes, protocol);
	for (int at = 0; at < MOST; at++)
		pthread_mutex_init(&locks[at], &attributes);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	int needed = 2;

	alarm(60);
	if (!strcmp(name, "five"))
		needed = count = 5;
	if (!strcmp(name, "barrier"))
		needed = 3;
	pthread_barrier_init(&begun, NULL, needed);
	sem_init(&sems[0], 0, 0);
	sem_init(&sems[1], 0, 0);
	make(!strncmp(name, "robust", 6),
	     !strcmp(name, "pi") ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
	if (!strcmp(name, "two") || !strcmp(name, "five") ||
	    !strcmp(name, "robust") || !strcmp(name, "pi"))
		start(in_a_ring, count);
	else if (!strcmp(name, "writers"))
		start(writer, 2);
	else if (!strcmp(name, "reader"))
		start(reader, 2);
	else if (!strcmp(name, "condvar"))
		start(through_a_condvar, 2);
	else if (!strcmp(name, "relock"))
		start(back_from_a_condvar, 2);
	else if (!strcmp(name, "join"))
		start(joiner, 2);
	else if (!strcmp(name, "semaphores"))
		start(with_semaphores, 2);
	else if (!strcmp(name, "barrier"))
		start(at_a_barrier, 2);
	else if (!strcmp(name, "self"))
		start(alone, 1);
	else if (!strcmp(name, "ended"))
		after_an_ended(ends_as_holder);
	else if (!strcmp(name, "robust-ended"))
		after_an_ended(ends_as_robust_holder);
	else if (!strcmp(name, "crowd"))
		crowd(1000);
	else if (!strcmp(name, "processes"))
		two_processes();
	else
		return 2;
	return 1;
}
