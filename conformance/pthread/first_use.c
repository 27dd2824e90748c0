/*
 * Several threads use a new object for the first time, in lockstep: one that a
 * static initialiser made, one that an init function made over any bytes, or
 * one in memory that was another object the moment before. And a process goes
 * from one thread to two while it holds locks.
 */
#include "../posix/children.h"
#include "../posix/crowd.h"

#include <semaphore.h>
#if __GLIBC_PREREQ(2, 32)
#include <sys/single_threaded.h>
#define is_single_threaded(known) (__libc_single_threaded == (known))
#else
#define is_single_threaded(known) true
#endif

/* A test ends after so many rounds, or so much time. */
#define MOST_ROUNDS 200000
#define MOST_MS 1000
#define MOST_THREADS 3

/* Everything that may lie in one place. */
union object {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	pthread_once_t once;
	pthread_barrier_t barrier;
	sem_t semaphore;
	pthread_spinlock_t spin;
	unsigned char bytes[64];
};

/* The round's objects, of which the second is a mutex if one is needed. */
static _Alignas(64) union object object, partner;
static int kind;
/* How many threads take part, with the main thread. */
static int threads;
/* Counted by its holders, without atomic steps. */
static volatile long counted;
static _Atomic int writers, readers, done, calls, leaders;
static _Atomic long round_now;
static _Atomic bool over;
static bool flag;

static void (*part)(int thread);

/*
 * A round takes less than a microsecond, so that a thread looks for a while
 * before it yields. Each thread comes a little later than the others, or
 * earlier.
 */
static void take_part_in(long round, int thread, uint32_t *random)
{
	volatile int delay = next_random(random) % 64;

	for (int looks = 0; round_now < round && !over; looks++)
		if (looks > 5000)
			sched_yield();
	if (over)
		return;
	while (delay-- > 0)
		;
	part(thread);
	done++;
}

THREAD(take_part, void *argument)
{
	int thread = (intptr_t)argument;
	uint32_t random = thread;

	for (long round = 1; !over; round++)
		take_part_in(round, thread, &random);
}

/*
 * Rounds of `run` by `threads` threads at once; `prepare` makes the objects and
 * `check` looks at them, both while no thread is inside.
 */
static void rounds_of(void (*prepare)(long), void (*run)(int),
		      void (*check)(void))
{
	int64_t end = now_ns(CLOCK_MONOTONIC) + MOST_MS * NS_PER_MS;
	struct thread others[MOST_THREADS];
	uint32_t random = 4711;
	long round;

	part = run;
	round_now = 0;
	over = false;
	for (long i = 1; i < threads; i++)
		start(&others[i], take_part, (void *)i);
	for (round = 1; round <= MOST_ROUNDS; round++) {
		prepare(round);
		counted = done = calls = leaders = 0;
		flag = false;
		round_now = round;
		take_part_in(round, 0, &random);
		for (int looks = 0; done < threads; looks++)
			if (looks > 5000)
				sched_yield();
		check();
		if (round % 64 == 0 && now_ns(CLOCK_MONOTONIC) > end)
			break;
	}
	over = true;
	for (long i = 1; i < threads; i++)
		join(&others[i]);
	fprintf(stderr, "%ld rounds of %d threads\n", round, threads);
}

/* Two meet in the same nanoseconds; of three, some fall asleep. */
static void rounds(void (*prepare)(long), void (*run)(int), void (*check)(void))
{
	for (threads = 2; threads <= MOST_THREADS; threads++)
		rounds_of(prepare, run, check);
}

/* ---------------------------------------------------------------- mutex -- */

static void static_mutex(long round)
{
	static const pthread_mutex_t kinds[] = {
		PTHREAD_MUTEX_INITIALIZER,
		PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
		PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
		PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP,
	};

	memset(&object, 0, sizeof(object));
	object.mutex = kinds[round % 4];
}

static void count_under_mutex(int thread)
{
	int error;

	if (thread == 0) {
		while ((error = pthread_mutex_trylock(&object.mutex)))
			CHECK_EQ(error, EBUSY);
	} else {
		OK(pthread_mutex_lock(&object.mutex));
	}
	counted++;
	OK(pthread_mutex_unlock(&object.mutex));
}

static void check_mutex(void)
{
	CHECK_EQ(counted, threads);
	OK(pthread_mutex_trylock(&object.mutex));
	OK(pthread_mutex_unlock(&object.mutex));
	CHECK_EQ(object.mutex.__data.__owner, 0);
	CHECK_EQ(object.mutex.__data.__lock, 0);
}

TEST(pthread_mutex_initializer__first_locks)
{
	rounds(static_mutex, count_under_mutex, check_mutex);
}

/* --------------------------------------------------------------- rwlock -- */

static void static_rwlock(long round)
{
	memset(&object, 0, sizeof(object));
	if (round % 4 == 0)
		object.rwlock = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
	else
		object.rwlock.__data.__flags = round % 4 - 1;
	kind = round / 4;
}

static void inside(bool writes)
{
	if (writes) {
		CHECK_EQ(++writers, 1);
		CHECK_EQ(readers, 0);
		counted++;
		writers--;
	} else {
		readers++;
		CHECK_EQ(writers, 0);
		readers--;
	}
}

/* Enters in a way that depends on the thread and the round. */
static void enter_rwlock(int thread)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 10000);
	uint32_t way = (uint32_t)(kind * 3 + thread) * 2654435761u >> 28;
	int error;

	switch (way % 6) {
	case 0:
		OK(pthread_rwlock_wrlock(&object.rwlock));
		inside(true);
		break;
	case 1:
		OK(pthread_rwlock_timedwrlock(&object.rwlock, &soon));
		inside(true);
		break;
	case 2:
		while ((error = pthread_rwlock_trywrlock(&object.rwlock)))
			CHECK_EQ(error, EBUSY);
		inside(true);
		break;
	case 3:
		while ((error = pthread_rwlock_tryrdlock(&object.rwlock)))
			CHECK_EQ(error, EBUSY);
		inside(false);
		break;
	case 4:
		OK(pthread_rwlock_timedrdlock(&object.rwlock, &soon));
		inside(false);
		break;
	default:
		/* Often enough that the lock begins to count on readers. */
		for (int i = 0; i < 200; i++) {
			OK(pthread_rwlock_rdlock(&object.rwlock));
			inside(false);
			OK(pthread_rwlock_unlock(&object.rwlock));
		}
		OK(pthread_rwlock_rdlock(&object.rwlock));
		inside(false);
	}
	OK(pthread_rwlock_unlock(&object.rwlock));
}

static void check_rwlock(void)
{
	OK(pthread_rwlock_trywrlock(&object.rwlock));
	OK(pthread_rwlock_unlock(&object.rwlock));
	OK(pthread_rwlock_tryrdlock(&object.rwlock));
	OK(pthread_rwlock_unlock(&object.rwlock));
}

TEST(pthread_rwlock_initializer__first_uses_of_each_kind)
{
	rounds(static_rwlock, enter_rwlock, check_rwlock);
}

/* ----------------------------------------------------------------- once -- */

static void static_once(long round UNUSED)
{
	object.once = PTHREAD_ONCE_INIT;
}

static void routine(void)
{
	calls++;
	if (kind++ % 8 == 0)
		sched_yield();
	counted = 1;
}

static void call_once_each(int thread UNUSED)
{
	OK(pthread_once(&object.once, routine));
	CHECK_EQ(counted, 1);
}

static void check_once(void)
{
	CHECK_EQ(calls, 1);
}

TEST(pthread_once_init__first_calls)
{
	rounds(static_once, call_once_each, check_once);
}

/* -------------------------------------------------------------- condvar -- */

static void static_cond(long round)
{
	memset(&object, 0, sizeof(object));
	memset(&partner, 0, sizeof(partner));
	kind = round;
}

/* The first wait meets the first signal, or comes before it or after. */
static void wait_or_signal(int thread)
{
	struct timespec late = in_ms(CLOCK_REALTIME, 10000);

	OK(pthread_mutex_lock(&partner.mutex));
	if (thread == kind % threads) {
		flag = true;
		if (kind & 1)
			OK(pthread_cond_broadcast(&object.cond));
		OK(pthread_mutex_unlock(&partner.mutex));
		if (!(kind & 1))
			OK(pthread_cond_broadcast(&object.cond));
		return;
	}
	while (!flag)
		if (kind & 2)
			OK(pthread_cond_timedwait(&object.cond, &partner.mutex,
						  &late));
		else
			OK(pthread_cond_wait(&object.cond, &partner.mutex));
	counted++;
	OK(pthread_mutex_unlock(&partner.mutex));
}

static void check_cond(void)
{
	CHECK_EQ(counted, threads - 1);
	OK(pthread_mutex_trylock(&partner.mutex));
	OK(pthread_mutex_unlock(&partner.mutex));
}

TEST(pthread_cond_initializer__first_waits)
{
	rounds(static_cond, wait_or_signal, check_cond);
}

/* The condvar stays, its mutex is a new one each time. */
static void new_mutex(long round)
{
	static_mutex(round);
	partner.mutex = object.mutex;
	kind = round;
}

static pthread_cond_t lasting = PTHREAD_COND_INITIALIZER;

static void wait_with_the_new_one(int thread)
{
	OK(pthread_mutex_lock(&partner.mutex));
	if (thread == kind % threads) {
		flag = true;
		OK(pthread_cond_broadcast(&lasting));
	} else {
		while (!flag)
			OK(pthread_cond_wait(&lasting, &partner.mutex));
		counted++;
	}
	OK(pthread_mutex_unlock(&partner.mutex));
}

TEST(pthread_cond_wait__with_another_mutex_each_time)
{
	rounds(new_mutex, wait_with_the_new_one, check_cond);
}

/* ------------------------------------------------- memory used again -- */

static void static_spin_semaphore_or_barrier(long round)
{
	int what = round % 3;

	/* Over any bytes: init functions don't look at them. */
	memset(&object, round * 37, sizeof(object));
	kind = what;
	if (what == 0)
		OK(pthread_spin_init(&object.spin, PTHREAD_PROCESS_PRIVATE));
	else if (what == 1)
		OK(sem_init(&object.semaphore, 0, 1));
	else
		OK(pthread_barrier_init(&object.barrier, NULL, threads));
}

static void pass(int thread UNUSED)
{
	int result;

	switch (kind) {
	case 0:
		OK(pthread_spin_lock(&object.spin));
		counted++;
		OK(pthread_spin_unlock(&object.spin));
		break;
	case 1:
		OK(sem_wait(&object.semaphore));
		counted++;
		OK(sem_post(&object.semaphore));
		break;
	default:
		result = pthread_barrier_wait(&object.barrier);
		CHECK(!result || result == PTHREAD_BARRIER_SERIAL_THREAD);
		leaders += result != 0;
	}
}

static void check_passed(void)
{
	int value = -1;

	if (kind == 1) {
		OK(sem_getvalue(&object.semaphore, &value));
		CHECK_EQ(value, 1);
	}
	CHECK_EQ(kind == 2 ? leaders : counted, kind == 2 ? 1 : threads);
}

/* Each round makes another kind of object, without a destroy in between. */
static long turn;

static void another_object(long round)
{
	turn = round;
	kind = round;
	switch (round % 5) {
	case 0:
		static_mutex(round / 5);
		break;
	case 1:
		static_rwlock(round / 5);
		break;
	case 2:
		static_once(round);
		break;
	case 3:
		static_cond(round / 5);
		break;
	default:
		static_spin_semaphore_or_barrier(round / 5);
	}
}

static void use_it(int thread)
{
	static void (*const uses[])(int) = {
		count_under_mutex, enter_rwlock, call_once_each, wait_or_signal,
		pass,
	};

	uses[turn % 5](thread);
}

static void check_it(void)
{
	static void (*const checks[])(void) = {
		check_mutex, check_rwlock, check_once, check_cond, check_passed,
	};

	checks[turn % 5]();
}

TEST(init__whatever_lay_there)
{
	rounds(static_spin_semaphore_or_barrier, pass, check_passed);
}

TEST(memory__is_used_again_for_another_kind)
{
	rounds(another_object, use_it, check_it);
}

/* Of mutexes, rwlocks and condvars, over bytes of any value. */
static void initialised(long round)
{
	turn = round % 3;
	memset(&object, round * 41, sizeof(object));
	memset(&partner, round * 43, sizeof(partner));
	kind = round / 3;
	if (turn == 0) {
		OK(make_mutex(&object.mutex, round / 3 % OWN_KINDS));
	} else if (turn == 1) {
		OK(pthread_rwlock_init(&object.rwlock, NULL));
	} else {
		OK(pthread_cond_init(&object.cond, NULL));
		OK(pthread_mutex_init(&partner.mutex, NULL));
	}
}

static void use_initialised(int thread)
{
	static void (*const uses[])(int) = {
		count_under_mutex, enter_rwlock, wait_or_signal,
	};

	uses[turn](thread);
}

static void check_initialised(void)
{
	static void (*const checks[])(void) = {
		check_mutex, check_rwlock, check_cond,
	};

	checks[turn]();
	/* Every other time: an init function needs no destroy. */
	if (kind & 1)
		return;
	if (turn == 0)
		OK(pthread_mutex_destroy(&object.mutex));
	else if (turn == 1)
		OK(pthread_rwlock_destroy(&object.rwlock));
	else
		OK(pthread_cond_destroy(&object.cond));
}

TEST(init__locks_over_whatever_lay_there)
{
	rounds(initialised, use_initialised, check_initialised);
}

/* ------------------------------------------------- one thread, then two -- */

/* Locks for the second thread, which finds them held. */
THREAD(lock_in_turn, void *argument UNUSED)
{
	OK(pthread_mutex_lock(&object.mutex));
	CHECK_EQ(++counted, 2);
	OK(pthread_mutex_unlock(&object.mutex));
}

/* In a process that has had one thread so far. */
static void hold_across_the_start(long round)
{
	struct thread second;

	CHECK(is_single_threaded(1));
	for (int i = 0; i < 3; i++) {
		OK(pthread_mutex_lock(&object.mutex));
		OK(pthread_mutex_unlock(&object.mutex));
	}
	OK(pthread_mutex_lock(&object.mutex));
	start(&second, lock_in_turn, NULL);
	CHECK(is_single_threaded(0));
	/* Released as the second thread spins, falls asleep, or sleeps. */
	if (round % 8 == 0)
		until_asleep(&second);
	else
		while (round-- % 8)
			sched_yield();
	counted++;
	OK(pthread_mutex_unlock(&object.mutex));
	join(&second);
	/* Whatever glibc's flag says now. */
	OK(pthread_mutex_lock(&object.mutex));
	CHECK_EQ(counted, 2);
	OK(pthread_mutex_unlock(&object.mutex));
	CHECK_EQ(object.mutex.__data.__lock, 0);
	counted = 1;
	start(&second, lock_in_turn, NULL);
	join(&second);
}

TEST(pthread_mutex_lock__held_while_the_second_thread_starts)
{
	int64_t end = now_ns(CLOCK_MONOTONIC) + MOST_MS * NS_PER_MS;
	long round;

	for (round = 0; round < 2000 && now_ns(CLOCK_MONOTONIC) < end; round++) {
		static_mutex(round);
		IN_A_CHILD
			hold_across_the_start(round);
	}
	fprintf(stderr, "%ld rounds\n", round);
}

RUN_TESTS()
