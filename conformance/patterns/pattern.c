/*
 * pattern SEED: says what pattern of locking it draws from the seed.
 * pattern SEED MS: runs it for so many milliseconds, after a start of 30, and
 * prints operations a second, processors used, and Jain's index of the threads'
 * operations.
 *
 * furwock-patterns (src/bin/patterns.rs) runs it on glibc and on furwock.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 32, MOST_LOCKS = 8, PARKED = 4 };

/* splitmix64 (Steele, Lea and Flood 2014). */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static double draw_share(uint64_t *state)
{
	return (double)(draw(state) >> 11) / (1ull << 53);
}

static int draw_below(uint64_t *state, int end)
{
	return (int)(draw(state) % (uint64_t)end);
}

#define DRAW_OF(state, array)                                                  \
	(array)[draw_below(state, sizeof(array) / sizeof *(array))]

/* What a thread does inside or outside of a lock, for how long on average, and
 * how that varies. */
enum action { COMPUTES, SLEEPS, YIELDS_AND_COMPUTES };
enum spread { NOTHING, CONSTANT, EXPONENTIAL, ONE_IN_TEN_LONG };
struct work {
	enum action action;
	enum spread spread;
	double us;
};

enum kind { MUTEX, RWLOCK, SEMAPHORE, QUEUE, BARRIER };
static const char *const KINDS[] = {"mutex", "rwlock", "semaphore", "queue",
				    "barrier"};

/* The pattern. */
static struct {
	enum kind kind;
	int threads, locks;
	struct work inside, outside;
	/* Of a rwlock, of a semaphore, of a queue. */
	int writes_in_1000;
	int permits;
	int room, producers;
	/* A queue's producers broadcast; it is notified under the mutex. */
	int broadcasts, late;
	/* Of a mutex; a rwlock's readers try, too. */
	int nests, tries, timed;
	/* Threads that use no lock; that wait for a condvar all the time. */
	int computing, parked;
	/* To one processor. */
	int bound;
} it;

static struct work draw_work(uint64_t *seed, double most_us)
{
	struct work work = {.action = COMPUTES};
	int action = draw_below(seed, 10);
	if (action == 8)
		work.action = SLEEPS;
	if (action == 9)
		work.action = YIELDS_AND_COMPUTES;
	work.spread = draw_below(seed, 4);
	double least_us = 0.05;
	work.us = least_us * pow(most_us / least_us, draw_share(seed));
	if (work.action == SLEEPS && work.us < 20)
		work.us = 20;
	if (work.spread == NOTHING)
		work.action = COMPUTES;
	return work;
}

static void draw_pattern(uint64_t seed)
{
	static const int threads[] = {2, 2,  3,  4,  4, 6,
				      8, 12, 16, 24, MOST_THREADS};
	static const int locks[] = {1, 1, 1, 1, 2, 4, MOST_LOCKS};
	static const int writes[] = {1, 10, 30, 100, 300, 500};
	static const int rooms[] = {1, 2, 8, 64, 1000};
	static const int computing[] = {0, 0, 0, 0, 1, 2};
	static const int kinds[] = {MUTEX,  MUTEX,     MUTEX,  MUTEX,
				    RWLOCK, RWLOCK,    RWLOCK, QUEUE,
				    QUEUE,  SEMAPHORE, BARRIER};
	it.kind = DRAW_OF(&seed, kinds);
	it.threads = DRAW_OF(&seed, threads);
	it.locks = DRAW_OF(&seed, locks);
	it.writes_in_1000 = DRAW_OF(&seed, writes);
	it.permits = 1 + draw_below(&seed, 3);
	it.room = DRAW_OF(&seed, rooms);
	it.producers = 1 + draw_below(&seed, it.threads - 1);
	it.broadcasts = draw_below(&seed, 3) == 0;
	it.late = draw_below(&seed, 2);
	it.nests = draw_below(&seed, 5) == 0;
	it.tries = draw_below(&seed, 5) == 0;
	it.timed = draw_below(&seed, 6) == 0;
	it.computing = DRAW_OF(&seed, computing);
	it.parked = draw_below(&seed, 4) == 0 ? PARKED : 0;
	it.bound = draw_below(&seed, 4) == 0;
	it.inside = draw_work(&seed, 300);
	it.outside = draw_work(&seed, 1000);
}

static void describe_work(const char *where, struct work work)
{
	static const char *const actions[] = {"computes", "sleeps",
					      "yields and computes"};
	static const char *const spreads[] = {"", "", ", exponential",
					      ", one in ten is long"};
	if (work.spread == NOTHING)
		printf(", nothing %s", where);
	else
		printf(", %s %.2f us %s%s", actions[work.action], work.us,
		       where, spreads[work.spread]);
}

static void describe(void)
{
	printf("%s x %d", KINDS[it.kind], it.threads);
	if (it.locks > 1 && it.kind != QUEUE && it.kind != BARRIER)
		printf(", %d locks", it.locks);
	if (it.kind == MUTEX)
		printf("%s%s%s",
		       it.nests && it.locks > 1 ? ", two at once" : "",
		       it.tries ? ", tries first" : "",
		       it.timed ? ", with a deadline" : "");
	if (it.kind == RWLOCK)
		printf(", %.1f %% writes%s", it.writes_in_1000 / 10.0,
		       it.tries ? ", tries first" : "");
	if (it.kind == SEMAPHORE)
		printf(", %d permits", it.permits);
	if (it.kind == QUEUE)
		printf(", room for %d, %d producers, %s %s the mutex", it.room,
		       it.producers, it.broadcasts ? "broadcasts" : "signals",
		       it.late ? "under" : "after");
	describe_work("inside", it.inside);
	describe_work("outside", it.outside);
	if (it.computing)
		printf(", %d threads compute", it.computing);
	if (it.parked)
		printf(", %d are parked", it.parked);
	puts(it.bound ? ", on one processor" : "");
}

static double rounds_a_us;

static void compute(double us)
{
	uint64_t rounds = (uint64_t)(us * rounds_a_us);
	for (uint64_t round = 0; round < rounds; round++)
		__asm__ volatile("" ::: "memory");
}

static double now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* The best of some tries: the others lost the processor. */
static void calibrate(void)
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

static pthread_mutex_t mutexes[MOST_LOCKS];
static pthread_rwlock_t rwlocks[MOST_LOCKS];
static sem_t semaphores[MOST_LOCKS];
static pthread_barrier_t barrier;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER,
		      not_full = PTHREAD_COND_INITIALIZER;
static int items;
static atomic_int goes;
static struct {
	_Alignas(128) atomic_long operations;
} threads[MOST_THREADS];

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "%s failed\n", what);
	_exit(1);
}

static void lock(pthread_mutex_t *mutex)
{
	if (it.tries && pthread_mutex_trylock(mutex) == 0)
		return;
	if (!it.timed) {
		pthread_mutex_lock(mutex);
		return;
	}
	struct timespec deadline;
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += 10;
	if (pthread_mutex_timedlock(mutex, &deadline) != 0)
		fail("pthread_mutex_timedlock");
}

static void use_mutex(int at, uint64_t *random)
{
	int other = it.nests && at + 1 < it.locks;
	lock(&mutexes[at]);
	if (other)
		lock(&mutexes[at + 1]);
	do_work(&it.inside, random);
	if (other)
		pthread_mutex_unlock(&mutexes[at + 1]);
	pthread_mutex_unlock(&mutexes[at]);
}

static void use_rwlock(pthread_rwlock_t *rwlock, uint64_t *random)
{
	if (draw_below(random, 1000) < it.writes_in_1000)
		pthread_rwlock_wrlock(rwlock);
	else if (!(it.tries && pthread_rwlock_tryrdlock(rwlock) == 0))
		pthread_rwlock_rdlock(rwlock);
	do_work(&it.inside, random);
	pthread_rwlock_unlock(rwlock);
}

static void use_semaphore(sem_t *semaphore, uint64_t *random)
{
	while (sem_wait(semaphore) != 0)
		if (errno != EINTR)
			fail("sem_wait");
	do_work(&it.inside, random);
	sem_post(semaphore);
}

static void notify(pthread_cond_t *cond, int all)
{
	if (!it.late)
		pthread_mutex_unlock(&mutexes[0]);
	if (all)
		pthread_cond_broadcast(cond);
	else
		pthread_cond_signal(cond);
	if (it.late)
		pthread_mutex_unlock(&mutexes[0]);
}

static void use_queue(int produces, uint64_t *random)
{
	if (produces)
		do_work(&it.outside, random);
	pthread_mutex_lock(&mutexes[0]);
	while (produces ? items >= it.room : items == 0)
		pthread_cond_wait(produces ? &not_full : &not_empty,
				  &mutexes[0]);
	items += produces ? 1 : -1;
	notify(produces ? &not_empty : &not_full, produces && it.broadcasts);
	if (!produces)
		do_work(&it.inside, random);
}

static _Noreturn void *run(void *argument)
{
	int id = (int)(intptr_t)argument;
	uint64_t random = (uint64_t)id;
	while (!goes)
		sched_yield();
	for (;;) {
		int at = it.locks > 1 ? draw_below(&random, it.locks) : 0;
		switch (it.kind) {
		case MUTEX:
			use_mutex(at, &random);
			break;
		case RWLOCK:
			use_rwlock(&rwlocks[at], &random);
			break;
		case SEMAPHORE:
			use_semaphore(&semaphores[at], &random);
			break;
		case QUEUE:
			use_queue(id < it.producers, &random);
			break;
		case BARRIER:
			do_work(&it.inside, &random);
			pthread_barrier_wait(&barrier);
			break;
		}
		atomic_long *operations = &threads[id].operations;
		atomic_store_explicit(operations, *operations + 1,
				      memory_order_relaxed);
		if (it.kind != QUEUE)
			do_work(&it.outside, &random);
	}
}

static _Noreturn void *compute_for_ever(void *argument)
{
	(void)argument;
	for (;;)
		compute(50);
}

static _Noreturn void *park(void *argument)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	(void)argument;
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&never, &mutex);
}

/* Binds the process to the first processor that it may use, and begins anew: a
 * library beneath it has counted them. */
static void bind_to_one(char **arguments)
{
	cpu_set_t may, one;
	int first = 0;
	if (sched_getaffinity(0, sizeof(may), &may) != 0)
		fail("sched_getaffinity");
	if (CPU_COUNT(&may) == 1)
		return;
	while (!CPU_ISSET(first, &may))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		fail("sched_setaffinity");
	execv("/proc/self/exe", arguments);
	fail("execv");
}

static void start(void *(*function)(void *), int argument)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, function,
			   (void *)(intptr_t)argument) != 0)
		fail("pthread_create");
}

struct state {
	double us, processor_s;
	long operations[MOST_THREADS];
};

static struct state state(void)
{
	struct state now = {.us = now_us()};
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	now.processor_s =
		(double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
		(double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
	for (int id = 0; id < it.threads; id++)
		now.operations[id] = threads[id].operations;
	return now;
}

static void measure(unsigned ms)
{
	usleep(30000);
	struct state before = state();
	usleep(ms * 1000);
	struct state after = state();
	double sum = 0, squares = 0;
	for (int id = 0; id < it.threads; id++) {
		double operations =
			(double)(after.operations[id] - before.operations[id]);
		sum += operations;
		squares += operations * operations;
	}
	printf("%.1f %.4f %.3f\n", sum / (after.us - before.us) * 1e6,
	       (after.processor_s - before.processor_s) /
		       (after.us - before.us) * 1e6,
	       squares == 0 ? 0 : sum * sum / (it.threads * squares));
}

int main(int count, char **arguments)
{
	if (count < 2) {
		fprintf(stderr, "usage: pattern SEED [MS]\n");
		return 2;
	}
	draw_pattern(strtoull(arguments[1], NULL, 10));
	if (count == 2) {
		describe();
		return 0;
	}
	if (it.bound)
		bind_to_one(arguments);
	calibrate();
	for (int at = 0; at < MOST_LOCKS; at++) {
		pthread_mutex_init(&mutexes[at], NULL);
		pthread_rwlock_init(&rwlocks[at], NULL);
		sem_init(&semaphores[at], 0, (unsigned)it.permits);
	}
	pthread_barrier_init(&barrier, NULL, (unsigned)it.threads);
	for (int id = 0; id < it.threads; id++)
		start(run, id);
	for (int id = 0; id < it.computing; id++)
		start(compute_for_ever, 0);
	for (int id = 0; id < it.parked; id++)
		start(park, 0);
	goes = 1;
	measure((unsigned)strtoul(arguments[2], NULL, 10));
	fflush(stdout);
	_exit(0);
}
