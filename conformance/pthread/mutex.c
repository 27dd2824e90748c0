/*
 * pthread_mutex_lock, _trylock and _unlock of mutexes that check nothing, and
 * what holds for every kind.
 */
#include "harness.h"

static void make_or_skip(pthread_mutex_t *mutex, enum kind kind)
{
	int error = make_mutex(mutex, kind);

	if (error)
		SKIP("%s mutexes: %s", kind_names[kind], strerror(error));
}

/* ------------------------------------------------------ one thread only -- */

static void posix_pthread_mutex_lock__locks_and_unlocks_every_kind(void)
{
	pthread_mutex_t mutex;
	enum kind kind;
	int i;

	for (kind = 0; kind < OWN_KINDS; kind++) {
		make_or_skip(&mutex, kind);
		for (i = 0; i < 1000; i++) {
			OK(pthread_mutex_lock(&mutex));
			OK(pthread_mutex_unlock(&mutex));
		}
		OK(pthread_mutex_destroy(&mutex));
	}
}

static void posix_pthread_mutex_lock__zeroed_memory_is_a_mutex(void)
{
	pthread_mutex_t *mutex = calloc(1, sizeof(*mutex));

	OK(pthread_mutex_lock(mutex));
	CHECK_ERR(pthread_mutex_trylock(mutex), EBUSY);
	OK(pthread_mutex_unlock(mutex));
	free(mutex);
}

static void posix_pthread_mutex_init__makes_a_destroyed_mutex_new(void)
{
	pthread_mutex_t mutex;
	enum kind kind;

	for (kind = 0; kind < OWN_KINDS; kind++) {
		make_or_skip(&mutex, kind);
		OK(pthread_mutex_destroy(&mutex));
		OK(pthread_mutex_init(&mutex, NULL));
		OK(pthread_mutex_lock(&mutex));
		OK(pthread_mutex_unlock(&mutex));
		OK(pthread_mutex_destroy(&mutex));
	}
}

static void glibc_pthread_mutex__may_be_copied_while_free(void)
{
	pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second;

	OK(pthread_mutex_lock(&first));
	OK(pthread_mutex_unlock(&first));
	memcpy(&second, &first, sizeof(second));
	OK(pthread_mutex_trylock(&second));
	OK(pthread_mutex_unlock(&second));
}

static void posix_pthread_mutex__leaves_errno_alone(void)
{
	struct timespec past = in_ms(CLOCK_REALTIME, -100);
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	errno = 4711;
	OK(pthread_mutex_lock(&mutex));
	CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
	CHECK_ERR(pthread_mutex_timedlock(&mutex, &past), ETIMEDOUT);
	OK(pthread_mutex_unlock(&mutex));
	OK(pthread_mutex_destroy(&mutex));
	CHECK_EQ(errno, 4711);
}

/* ------------------------------------------------------------ two or more -- */

struct shared {
	pthread_mutex_t mutex;
	_Atomic int stage;
	_Atomic long inside;
	long counter;
	int rounds;
};

static void *lock_and_count(void *argument)
{
	struct shared *shared = argument;

	errno = 4712;
	OK(pthread_mutex_lock(&shared->mutex));
	CHECK_EQ(errno, 4712);
	shared->counter++;
	OK(pthread_mutex_unlock(&shared->mutex));
	CHECK_EQ(errno, 4712);
	return NULL;
}

static void *trylock_once(void *argument)
{
	struct shared *shared = argument;

	CHECK_ERR(pthread_mutex_trylock(&shared->mutex), EBUSY);
	return NULL;
}

static void posix_pthread_mutex_trylock__ebusy_when_locked(void)
{
	struct shared shared;
	struct thread other;
	enum kind kind;

	for (kind = 0; kind < OWN_KINDS; kind++) {
		make_or_skip(&shared.mutex, kind);
		OK(pthread_mutex_lock(&shared.mutex));
		if (kind != RECURSIVE)
			CHECK_ERR(pthread_mutex_trylock(&shared.mutex), EBUSY);
		start(&other, trylock_once, &shared);
		join(&other);
		OK(pthread_mutex_unlock(&shared.mutex));
		OK(pthread_mutex_trylock(&shared.mutex));
		OK(pthread_mutex_unlock(&shared.mutex));
		OK(pthread_mutex_destroy(&shared.mutex));
	}
}

static void posix_pthread_mutex_unlock__wakes_every_waiter_in_the_end(void)
{
	struct shared shared;
	struct thread waiters[24];
	enum kind kind;
	size_t i, count = sizeof(waiters) / sizeof(waiters[0]);

	for (kind = 0; kind < OWN_KINDS; kind++) {
		shared = (struct shared){ .counter = 0 };
		make_or_skip(&shared.mutex, kind);
		OK(pthread_mutex_lock(&shared.mutex));
		for (i = 0; i < count; i++)
			start(&waiters[i], lock_and_count, &shared);
		for (i = 0; i < count; i++)
			until_asleep(&waiters[i]);
		CHECK_EQ(shared.counter, 0);
		OK(pthread_mutex_unlock(&shared.mutex));
		for (i = 0; i < count; i++)
			join(&waiters[i]);
		CHECK_EQ(shared.counter, (long)count);
		OK(pthread_mutex_destroy(&shared.mutex));
	}
}

/* Takes the lock by every call that can, and lets nobody else in. */
static void *contend(void *argument)
{
	struct shared *shared = argument;
	uint32_t random = (uint32_t)gettid() * 2654435761u;
	struct timespec at;
	int i, error;

	for (i = 0; i < shared->rounds; i++) {
		switch (next_random(&random) % 4) {
		case 0:
			error = pthread_mutex_lock(&shared->mutex);
			break;
		case 1:
			error = pthread_mutex_trylock(&shared->mutex);
			break;
		case 2:
			at = in_ms(CLOCK_REALTIME, next_random(&random) % 3);
			error = pthread_mutex_timedlock(&shared->mutex, &at);
			break;
		default:
			at = in_ms(CLOCK_MONOTONIC, next_random(&random) % 3);
			error = pthread_mutex_clocklock(&shared->mutex,
							CLOCK_MONOTONIC, &at);
			break;
		}
		if (error == EBUSY || error == ETIMEDOUT) {
			i--;
			continue;
		}
		OK(error);
		CHECK_EQ(shared->inside++, 0);
		shared->counter++;
		if (next_random(&random) % 64 == 0)
			sched_yield();
		CHECK_EQ(shared->inside--, 1);
		OK(pthread_mutex_unlock(&shared->mutex));
	}
	return NULL;
}

static void posix_pthread_mutex__lets_one_in_at_a_time_by_whatever_call(void)
{
	struct thread threads[16];
	struct shared shared;
	enum kind kind;
	int i;

	for (kind = 0; kind < OWN_KINDS; kind++) {
		shared = (struct shared){ .rounds = 1000 };
		make_or_skip(&shared.mutex, kind);
		for (i = 0; i < 16; i++)
			start(&threads[i], contend, &shared);
		for (i = 0; i < 16; i++)
			join(&threads[i]);
		CHECK_EQ(shared.counter, 16 * shared.rounds);
		CHECK_EQ(shared.mutex.__data.__owner, 0);
		OK(pthread_mutex_destroy(&shared.mutex));
	}
}

/* Debuggers, and gdb's pretty printers, read the holder from this field. */
static void *check_owner(void *argument)
{
	struct shared *shared = argument;
	struct timespec at;
	int i;

	for (i = 0; i < shared->rounds; i++) {
		at = in_ms(CLOCK_REALTIME, 10000);
		if (i % 3 == 0)
			OK(pthread_mutex_timedlock(&shared->mutex, &at));
		else
			OK(pthread_mutex_lock(&shared->mutex));
		CHECK_EQ(shared->mutex.__data.__owner, gettid());
		OK(pthread_mutex_unlock(&shared->mutex));
	}
	return NULL;
}

static void glibc_pthread_mutex_lock__owner_names_the_holder(void)
{
	struct thread threads[8];
	struct shared shared;
	enum kind kind;
	int i;

	for (kind = 0; kind < OWN_KINDS; kind++) {
		shared = (struct shared){ .rounds = 3000 };
		make_or_skip(&shared.mutex, kind);
		OK(pthread_mutex_trylock(&shared.mutex));
		CHECK_EQ(shared.mutex.__data.__owner, gettid());
		OK(pthread_mutex_unlock(&shared.mutex));
		CHECK_EQ(shared.mutex.__data.__owner, 0);
		for (i = 0; i < 8; i++)
			start(&threads[i], check_owner, &shared);
		for (i = 0; i < 8; i++)
			join(&threads[i]);
		CHECK_EQ(shared.mutex.__data.__owner, 0);
	}
}

/* Many locks at a time: neighbours, strides, and more than there are buckets. */
static void *walk(void *argument)
{
	struct {
		pthread_mutex_t *mutexes;
		long *counters;
		int count;
	} *all = argument;
	uint32_t random = (uint32_t)gettid() * 2654435761u;
	int i, at;

	for (i = 0; i < 20000; i++) {
		at = next_random(&random) % all->count;
		OK(pthread_mutex_lock(&all->mutexes[at]));
		all->counters[at]++;
		OK(pthread_mutex_unlock(&all->mutexes[at]));
	}
	return NULL;
}

static void posix_pthread_mutex__thousands_of_them_stay_apart(void)
{
	struct {
		pthread_mutex_t *mutexes;
		long *counters;
		int count;
	} all;
	struct thread threads[8];
	long sum = 0;
	int i;

	all.count = 4000;
	all.mutexes = calloc(all.count, sizeof(*all.mutexes));
	all.counters = calloc(all.count, sizeof(*all.counters));
	for (i = 0; i < 8; i++)
		start(&threads[i], walk, &all);
	for (i = 0; i < 8; i++)
		join(&threads[i]);
	for (i = 0; i < all.count; i++)
		sum += all.counters[i];
	CHECK_EQ(sum, 8 * 20000);
	free(all.mutexes);
	free(all.counters);
}

/* ------------------------------------------------------------- fairness -- */

static void *hog(void *argument)
{
	struct shared *shared = argument;

	while (!shared->stage) {
		OK(pthread_mutex_lock(&shared->mutex));
		int64_t end = now_ns(CLOCK_MONOTONIC) + 100000;
		while (now_ns(CLOCK_MONOTONIC) < end)
			;
		OK(pthread_mutex_unlock(&shared->mutex));
	}
	return NULL;
}

static void furwock_pthread_mutex_lock__no_hog_keeps_others_out(void)
{
	struct shared shared = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	struct thread hogs[2];
	int64_t began;
	int i;

	for (i = 0; i < 2; i++)
		start(&hogs[i], hog, &shared);
	sleep_ms(5);
	for (i = 0; i < 10; i++) {
		began = now_ns(CLOCK_MONOTONIC);
		OK(pthread_mutex_lock(&shared.mutex));
		OK(pthread_mutex_unlock(&shared.mutex));
		/* 5 ms until it asks, and room for a machine that is busy. */
		CHECK(now_ns(CLOCK_MONOTONIC) - began < 500 * NS_PER_MS);
	}
	shared.stage = 1;
	for (i = 0; i < 2; i++)
		join(&hogs[i]);
}

static const struct test tests[] = {
	TEST(posix_pthread_mutex_lock__locks_and_unlocks_every_kind),
	TEST(posix_pthread_mutex_lock__zeroed_memory_is_a_mutex),
	TEST(posix_pthread_mutex_init__makes_a_destroyed_mutex_new),
	TEST(glibc_pthread_mutex__may_be_copied_while_free),
	TEST(posix_pthread_mutex__leaves_errno_alone),
	TEST(posix_pthread_mutex_trylock__ebusy_when_locked),
	TEST(posix_pthread_mutex_unlock__wakes_every_waiter_in_the_end),
	TEST(posix_pthread_mutex__lets_one_in_at_a_time_by_whatever_call),
	TEST(glibc_pthread_mutex_lock__owner_names_the_holder),
	TEST(posix_pthread_mutex__thousands_of_them_stay_apart),
	TEST_FURWOCK_ONLY(furwock_pthread_mutex_lock__no_hog_keeps_others_out,
			  "glibc hands no lock over: a hog may starve others"),
};

TEST_MAIN(tests)
