/* What a thread of the pattern does. */
#define _GNU_SOURCE
#include "pattern.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>

atomic_int others_turn;

static pthread_mutex_t mutexes[MOST_LOCKS];
static pthread_rwlock_t rwlocks[MOST_LOCKS];
static pthread_spinlock_t spinlocks[MOST_LOCKS];
static sem_t semaphores[MOST_LOCKS], filled, empty;
static pthread_barrier_t barrier;
/* A queue's; or each thread's, of which the first is everybody's. */
static pthread_cond_t not_empty, not_full, conds[MOST_THREADS];
static int items;
static int arrived, turn;
static long phase;

static double rounds_a_us;

void compute(double us)
{
	uint64_t rounds = (uint64_t)(us * rounds_a_us);
	for (uint64_t round = 0; round < rounds; round++)
		__asm__ volatile("" ::: "memory");
}

double now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* The best of some tries: the others lost the processor. */
void calibrate(void)
{
	enum { ROUNDS = 300000, TRIES = 5 };
	double best = 0;
	for (int try = 0; try < TRIES; try++) {
		rounds_a_us = 1;
		double began = now_us();
		compute(ROUNDS);
		best = fmax(best, ROUNDS / (now_us() - began));
	}
	rounds_a_us = best;
}

static void do_work(const struct work *work, uint64_t *random)
{
	double us = work->us;
	if (work->spread == NOTHING)
		return;
	if (work->spread == EXPONENTIAL)
		us *= -log(1 - draw_share(random));
	if (work->spread == ONE_IN_TEN_LONG)
		us *= draw_below(random, 10) == 0 ? 5.5 : 0.5;
	if (work->action == SLEEPS) {
		struct timespec time = {0, (long)(us * 1000)};
		nanosleep(&time, NULL);
		return;
	}
	if (work->action == YIELDS_AND_COMPUTES)
		sched_yield();
	compute(us);
}

static void must(int result, const char *what)
{
	if (result != 0)
		fail(what);
}

static void prepare_mutex(pthread_mutex_t *mutex, int shared)
{
	static const int types[MUTEX_TYPES] = {
		[NORMAL] = PTHREAD_MUTEX_NORMAL,
		[RECURSIVE] = PTHREAD_MUTEX_RECURSIVE,
		[CHECKING] = PTHREAD_MUTEX_ERRORCHECK,
	};
	pthread_mutexattr_t attributes;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, types[it.type]);
	pthread_mutexattr_setpshared(&attributes, shared);
	if (it.type == ROBUST)
		pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	if (it.type == INHERITING)
		pthread_mutexattr_setprotocol(&attributes,
					      PTHREAD_PRIO_INHERIT);
	must(pthread_mutex_init(mutex, &attributes), "pthread_mutex_init");
}

static void prepare_rwlock(pthread_rwlock_t *rwlock, int shared)
{
	pthread_rwlockattr_t attributes;
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setpshared(&attributes, shared);
	if (it.writers_first)
		pthread_rwlockattr_setkind_np(
			&attributes,
			PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	must(pthread_rwlock_init(rwlock, &attributes), "pthread_rwlock_init");
}

static void prepare_cond(pthread_cond_t *cond, int shared)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setpshared(&attributes, shared);
	must(pthread_cond_init(cond, &attributes), "pthread_cond_init");
}

void prepare_locks(void)
{
	int shared =
		it.shared ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE;
	for (int at = 0; at < MOST_LOCKS; at++) {
		prepare_mutex(&mutexes[at], shared);
		prepare_rwlock(&rwlocks[at], shared);
		pthread_spin_init(&spinlocks[at], shared);
		sem_init(&semaphores[at], it.shared, (unsigned)it.permits);
	}
	sem_init(&filled, it.shared, 0);
	sem_init(&empty, it.shared, (unsigned)it.room);
	prepare_cond(&not_empty, shared);
	prepare_cond(&not_full, shared);
	for (int at = 0; at < MOST_THREADS; at++)
		prepare_cond(&conds[at], shared);
	pthread_barrierattr_t attributes;
	pthread_barrierattr_init(&attributes);
	pthread_barrierattr_setpshared(&attributes, shared);
	must(pthread_barrier_init(&barrier, &attributes, (unsigned)it.threads),
	     "pthread_barrier_init");
}

static struct timespec in_us(double us)
{
	struct timespec deadline;
	clock_gettime(CLOCK_REALTIME, &deadline);
	double ns = (double)deadline.tv_nsec + us * 1e3;
	deadline.tv_sec += (time_t)(ns / 1e9);
	deadline.tv_nsec = (long)fmod(ns, 1e9);
	return deadline;
}

static void lock(pthread_mutex_t *mutex)
{
	if (it.tries && pthread_mutex_trylock(mutex) == 0)
		return;
	if (!it.timed || it.type == INHERITING) {
		must(pthread_mutex_lock(mutex), "pthread_mutex_lock");
		return;
	}
	struct timespec deadline = in_us(1e7);
	must(pthread_mutex_timedlock(mutex, &deadline),
	     "pthread_mutex_timedlock");
}

static void unlock(pthread_mutex_t *mutex)
{
	must(pthread_mutex_unlock(mutex), "pthread_mutex_unlock");
}

static void use_mutex(int at, const struct work *inside, uint64_t *random)
{
	int other = it.nests && at + 1 < it.locks;
	lock(&mutexes[at]);
	if (other)
		lock(&mutexes[at + 1]);
	do_work(inside, random);
	if (other)
		unlock(&mutexes[at + 1]);
	unlock(&mutexes[at]);
}

static void use_rwlock(pthread_rwlock_t *rwlock, const struct work *inside,
		       uint64_t *random)
{
	if (draw_below(random, 1000) < it.writes_in_1000)
		pthread_rwlock_wrlock(rwlock);
	else if (!(it.tries && pthread_rwlock_tryrdlock(rwlock) == 0))
		pthread_rwlock_rdlock(rwlock);
	do_work(inside, random);
	pthread_rwlock_unlock(rwlock);
}

static void take(sem_t *semaphore)
{
	while (sem_wait(semaphore) != 0)
		if (errno != EINTR)
			fail("sem_wait");
}

static void notify(pthread_cond_t *cond, int all)
{
	if (!it.late)
		unlock(&mutexes[0]);
	if (all)
		pthread_cond_broadcast(cond);
	else
		pthread_cond_signal(cond);
	if (it.late)
		unlock(&mutexes[0]);
}

static void use_queue(int produces, const struct works *works, uint64_t *random)
{
	if (produces)
		do_work(&works->outside, random);
	lock(&mutexes[0]);
	while (produces ? items >= it.room : items == 0)
		pthread_cond_wait(produces ? &not_full : &not_empty,
				  &mutexes[0]);
	items += produces ? 1 : -1;
	notify(produces ? &not_empty : &not_full, produces && it.broadcasts);
	if (!produces)
		do_work(&works->inside, random);
}

static void use_pool(int produces, const struct works *works, uint64_t *random)
{
	if (produces)
		do_work(&works->outside, random);
	take(produces ? &empty : &filled);
	lock(&mutexes[0]);
	items += produces ? 1 : -1;
	unlock(&mutexes[0]);
	sem_post(produces ? &filled : &empty);
	if (!produces)
		do_work(&works->inside, random);
}

static void wait_for_all(void)
{
	lock(&mutexes[0]);
	long began = phase;
	if (++arrived == it.threads) {
		arrived = 0;
		phase++;
		notify(&conds[0], 1);
		return;
	}
	while (phase == began)
		pthread_cond_wait(&conds[0], &mutexes[0]);
	unlock(&mutexes[0]);
}

static void take_turn(int id, const struct work *inside, uint64_t *random)
{
	int has_own = it.kind == RING, next = (id + 1) % it.threads;
	lock(&mutexes[0]);
	while (turn != id)
		pthread_cond_wait(&conds[has_own ? id : 0], &mutexes[0]);
	do_work(inside, random);
	turn = next;
	notify(&conds[has_own ? next : 0], !has_own);
}

static void use_deadline(int id, const struct work *inside, uint64_t *random)
{
	lock(&mutexes[0]);
	do_work(inside, random);
	if (id % 2 == 0) {
		struct timespec deadline = in_us(50);
		pthread_cond_timedwait(&conds[0], &mutexes[0], &deadline);
	}
	unlock(&mutexes[0]);
}

void operate(int id, uint64_t *random)
{
	int is_other = (it.odd && id == 0) || others_turn;
	const struct works *works = is_other ? &it.others : &it.works;
	const struct work *inside = &works->inside;
	int at = it.locks > 1 ? draw_below(random, it.locks) : 0;
	switch (it.kind) {
	case MUTEX:
		use_mutex(at, inside, random);
		break;
	case RWLOCK:
		use_rwlock(&rwlocks[at], inside, random);
		break;
	case SEMAPHORE:
		take(&semaphores[at]);
		do_work(inside, random);
		sem_post(&semaphores[at]);
		break;
	case SPINLOCK:
		pthread_spin_lock(&spinlocks[at]);
		do_work(inside, random);
		pthread_spin_unlock(&spinlocks[at]);
		break;
	case QUEUE:
		use_queue(id < it.producers, works, random);
		return;
	case POOL:
		use_pool(id < it.producers, works, random);
		return;
	case BARRIER:
		do_work(inside, random);
		pthread_barrier_wait(&barrier);
		break;
	case PHASES:
		do_work(inside, random);
		wait_for_all();
		break;
	case RING:
	case TURNS:
		take_turn(id, inside, random);
		break;
	case DEADLINES:
		use_deadline(id, inside, random);
		break;
	case KINDS:
		fail("the kind");
	}
	do_work(&works->outside, random);
}
