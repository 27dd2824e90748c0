/* Crowds at mutexes of each kind, and glibc's own promises about their fields. */
#include "../posix/mutexes.h"
#include "kinds.h"

TEST(glibc_pthread_mutex__may_be_copied_while_free)
{
	pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second;

	OK(pthread_mutex_lock(&first));
	OK(pthread_mutex_unlock(&first));
	memcpy(&second, &first, sizeof(second));
	OK(pthread_mutex_trylock(&second));
	OK(pthread_mutex_unlock(&second));
}

struct shared {
	pthread_mutex_t mutex;
	_Atomic int stage;
	_Atomic long inside;
	long counter;
	int rounds;
};

/* Locks by every call, and no other thread is inside then. */
THREAD(contend, struct shared *shared)
{
	uint32_t random = (uint32_t)gettid() * 2654435761u;
	struct timespec at;
	int error;

	for (int i = 0; i < shared->rounds; i++) {
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
}

TEST(posix_pthread_mutex__lets_one_in_at_a_time_by_whatever_call)
{
	struct shared shared;

	for (EACH_KIND(kind)) {
		shared = (struct shared){ .rounds = kind < OWN_KINDS ? 1000 : 200 };
		if (!make_or_pass(&shared.mutex, kind))
			continue;
		run_together(16, contend, &shared);
		CHECK_EQ(shared.counter, 16 * shared.rounds);
		CHECK_EQ(shared.mutex.__data.__owner, 0);
		OK(pthread_mutex_destroy(&shared.mutex));
	}
}

/* Debuggers, and gdb's pretty printers, read the holder from this field. */
THREAD(check_owner, struct shared *shared)
{
	struct timespec at;

	for (int i = 0; i < shared->rounds; i++) {
		at = in_ms(CLOCK_REALTIME, 10000);
		if (i % 3 == 0)
			OK(pthread_mutex_timedlock(&shared->mutex, &at));
		else
			OK(pthread_mutex_lock(&shared->mutex));
		CHECK_EQ(shared->mutex.__data.__owner, gettid());
		OK(pthread_mutex_unlock(&shared->mutex));
	}
}

TEST(glibc_pthread_mutex_lock__owner_names_the_holder)
{
	struct shared shared;

	for (EACH_OWN(kind)) {
		shared = (struct shared){ .rounds = 3000 };
		OK(make_mutex(&shared.mutex, kind));
		OK(pthread_mutex_trylock(&shared.mutex));
		CHECK_EQ(shared.mutex.__data.__owner, gettid());
		OK(pthread_mutex_unlock(&shared.mutex));
		CHECK_EQ(shared.mutex.__data.__owner, 0);
		run_together(8, check_owner, &shared);
		CHECK_EQ(shared.mutex.__data.__owner, 0);
	}
}

/* Many locks at a time: neighbours, strides, and more than there are buckets. */
struct many {
	struct {
		pthread_mutex_t mutex;
		long counter;
	} locks[4000];
};

THREAD(walk, struct many *many)
{
	uint32_t random = (uint32_t)gettid() * 2654435761u;
	size_t at;

	for (int i = 0; i < 20000; i++) {
		at = next_random(&random) % COUNT(many->locks);
		OK(pthread_mutex_lock(&many->locks[at].mutex));
		many->locks[at].counter++;
		OK(pthread_mutex_unlock(&many->locks[at].mutex));
	}
}

TEST(posix_pthread_mutex__thousands_of_them_stay_apart)
{
	static struct many many;
	long sum = 0;

	run_together(8, walk, &many);
	for (EACH(i, many.locks))
		sum += many.locks[i].counter;
	CHECK_EQ(sum, 8 * 20000);
}

/* -------------------------------------------------- recursive, checking -- */

/* Debuggers print the count. */
TEST(glibc_pthread_mutex_lock__count_is_of_the_owners_locks)
{
	struct timespec bad = { .tv_nsec = -1 };
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, RECURSIVE));
	OK(pthread_mutex_lock(&mutex));
	OK(pthread_mutex_trylock(&mutex));
	/* It needn't wait for what it has: the deadline isn't looked at. */
	OK(pthread_mutex_timedlock(&mutex, &bad));
	OK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &bad));
	for (int left = 4; left > 0; left--) {
		CHECK_EQ(mutex.__data.__count, left);
		OK(pthread_mutex_unlock(&mutex));
	}
	CHECK_EQ(mutex.__data.__count, 0);
}

THREAD(lock_and_count, struct shared *shared)
{
	errno = 4712;
	OK(pthread_mutex_lock(&shared->mutex));
	CHECK_EQ(errno, 4712);
	shared->counter++;
	OK(pthread_mutex_unlock(&shared->mutex));
	CHECK_EQ(errno, 4712);
}

/* The owner's checks must hold while waiters have left their marks too. */
TEST(posix_pthread_mutex_lock__checks_hold_while_others_wait)
{
	static const enum kind checked[] = { ERRORCHECK, RECURSIVE };
	struct shared shared;
	struct thread others[3];

	for (EACH(i, checked)) {
		OK(make_mutex(&shared.mutex, checked[i]));
		OK(pthread_mutex_lock(&shared.mutex));
		START_ALL(others, lock_and_count, &shared);
		ALL_ASLEEP(others);
		if (checked[i] == ERRORCHECK) {
			CHECK_ERR(pthread_mutex_lock(&shared.mutex), EDEADLK);
			CHECK_ERR(pthread_mutex_trylock(&shared.mutex), EBUSY);
		} else {
			OK(pthread_mutex_lock(&shared.mutex));
			OK(pthread_mutex_trylock(&shared.mutex));
			OK(pthread_mutex_unlock(&shared.mutex));
			OK(pthread_mutex_unlock(&shared.mutex));
		}
		CHECK_EQ(shared.mutex.__data.__owner, gettid());
		OK(pthread_mutex_unlock(&shared.mutex));
		JOIN_ALL(others);
		OK(pthread_mutex_destroy(&shared.mutex));
	}
}

static void *nest(void *argument)
{
	pthread_mutex_t *mutex = argument;
	static long depth, total;
	int j;

	for (int i = 0; i < 2000; i++) {
		for (j = 0; j <= i % 4; j++) {
			OK(pthread_mutex_lock(mutex));
			CHECK_EQ(depth++, j);
		}
		total++;
		for (; j > 0; j--) {
			CHECK_EQ(--depth, j - 1);
			OK(pthread_mutex_unlock(mutex));
		}
	}
	return &total;
}

TEST(posix_pthread_mutex_lock__recursive_excludes_at_every_depth)
{
	pthread_mutex_t mutex;
	struct thread threads[8];
	long *total = NULL;

	OK(make_mutex(&mutex, RECURSIVE));
	start_all(threads, 8, nest, &mutex);
	for (int i = 0; i < 8; i++)
		total = join(&threads[i]);
	CHECK_EQ(*total, 8 * 2000);
}

/* ------------------------------------------------------------- giving up -- */

/* A waiter that gives up must leave nothing that keeps others waiting. */
THREAD(give_up_or_lock, pthread_mutex_t *mutex)
{
	uint32_t random = (uint32_t)gettid() * 2654435761u;
	struct timespec at;
	int error;

	for (int i = 0; i < 1500; i++) {
		at = in_ns(CLOCK_MONOTONIC, next_random(&random) % 200000);
		error = pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &at);
		if (error) {
			CHECK_ERR(error, ETIMEDOUT);
			continue;
		}
		if (next_random(&random) % 8 == 0)
			usleep(50);
		OK(pthread_mutex_unlock(mutex));
	}
}

THREAD(lock_often, void *mutex)
{
	for (int i = 0; i < 500; i++) {
		OK(pthread_mutex_lock(mutex));
		OK(pthread_mutex_unlock(mutex));
		if (i % 4 == 0)
			usleep(20);
	}
}

TEST(posix_pthread_mutex_timedlock__giving_up_strands_no_thread)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct thread threads[10];

	for (int i = 0; i < 10; i++)
		start(&threads[i], i < 5 ? give_up_or_lock : lock_often, &mutex);
	join_all(threads, 10);
	OK(pthread_mutex_trylock(&mutex));
}

/* ------------------------------------------------------------- fairness -- */

THREAD(hog, struct shared *shared)
{
	shared->inside++;
	while (!shared->stage) {
		OK(pthread_mutex_lock(&shared->mutex));
		int64_t end = now_ns(CLOCK_MONOTONIC) + 100000;
		while (now_ns(CLOCK_MONOTONIC) < end)
			;
		OK(pthread_mutex_unlock(&shared->mutex));
	}
}

TEST_FURWOCK_ONLY(furwock_pthread_mutex_lock__no_hog_keeps_others_out,
		  "glibc hands no lock over: a hog may starve others")
{
	struct shared shared = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	struct thread hogs[2];
	int64_t began;

	start_all(hogs, 2, hog, &shared);
	UNTIL(shared.inside == 2);
	sleep_ms(5);
	for (int i = 0; i < 10; i++) {
		began = now_ns(CLOCK_MONOTONIC);
		OK(pthread_mutex_lock(&shared.mutex));
		OK(pthread_mutex_unlock(&shared.mutex));
		/* It asks for the lock after 5 ms; machines may be busy. */
		CHECK(now_ns(CLOCK_MONOTONIC) - began < 500 * NS_PER_MS);
	}
	shared.stage = 1;
	join_all(hogs, 2);
}

RUN_TESTS()
