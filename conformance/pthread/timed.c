/* Deadlines of mutexes and condvars: which are refused, when they end. */
#include "held.h"

/* --------------------------------------------------------------- mutex -- */

static void posix_pthread_mutex_timedlock__free_lock_ignores_the_deadline(void)
{
	struct timespec past = in_ms(CLOCK_REALTIME, -1000);
	pthread_mutex_t mutex;
	enum kind kind;

	for (kind = 0; kind < OWN_KINDS; kind++) {
		OK(make_mutex(&mutex, kind));
		OK(pthread_mutex_timedlock(&mutex, &past));
		OK(pthread_mutex_unlock(&mutex));
		for (EACH(i, bad_nanoseconds)) {
			past.tv_nsec = bad_nanoseconds[i];
			OK(pthread_mutex_timedlock(&mutex, &past));
			OK(pthread_mutex_unlock(&mutex));
			OK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC,
						   &past));
			OK(pthread_mutex_unlock(&mutex));
		}
		past.tv_nsec = 0;
		OK(pthread_mutex_destroy(&mutex));
	}
}

static void posix_pthread_mutex_timedlock__einval_bad_nanoseconds(void)
{
	struct thread holder;
	struct timespec at;
	struct held held;
	enum kind kind;

	for (kind = 0; kind < OWN_KINDS; kind++) {
		hold_elsewhere(&held, &holder, kind);
		for (EACH(i, bad_nanoseconds)) {
			at = in_ms(CLOCK_REALTIME, 1000);
			at.tv_nsec = bad_nanoseconds[i];
			CHECK_ERR(pthread_mutex_timedlock(&held.mutex, &at),
				  EINVAL);
			CHECK_ERR(pthread_mutex_clocklock(&held.mutex,
							  CLOCK_MONOTONIC, &at),
				  EINVAL);
		}
		let_go(&held, &holder);
	}
}

static void posix_pthread_mutex_clocklock__einval_bad_clock(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct timespec at = in_ms(CLOCK_MONOTONIC, 1000);

	/* Refused even where the lock is free. */
	for (EACH(i, bad_clocks))
		CHECK_ERR(pthread_mutex_clocklock(&mutex, bad_clocks[i], &at),
			  EINVAL);
	OK(pthread_mutex_trylock(&mutex));
}

static int timed_lock(pthread_mutex_t *mutex, clockid_t clock, bool clocklock,
		      const struct timespec *at)
{
	return clocklock ? pthread_mutex_clocklock(mutex, clock, at) :
			   pthread_mutex_timedlock(mutex, at);
}

static void check_lock_times_out(enum kind kind, clockid_t clock, bool clocklock)
{
	struct thread holder;
	struct timespec at;
	struct held held;
	int64_t took;

	hold_elsewhere(&held, &holder, kind);
	at = in_ms(clock, 30);
	took = -now_ns(CLOCK_MONOTONIC);
	CHECK_ERR(timed_lock(&held.mutex, clock, clocklock, &at), ETIMEDOUT);
	CHECK(now_ns(clock) >= at.tv_sec * NS_PER_S + at.tv_nsec);
	took += now_ns(CLOCK_MONOTONIC);
	CHECK(took < LATE_MS * NS_PER_MS);

	at = in_ms(clock, -30);
	CHECK_ERR(timed_lock(&held.mutex, clock, clocklock, &at), ETIMEDOUT);
	at = (struct timespec){ .tv_sec = 0, .tv_nsec = 0 };
	CHECK_ERR(timed_lock(&held.mutex, clock, clocklock, &at), ETIMEDOUT);
	at = (struct timespec){ .tv_sec = -1, .tv_nsec = 500 };
	CHECK_ERR(timed_lock(&held.mutex, clock, clocklock, &at), ETIMEDOUT);
	at = (struct timespec){ .tv_sec = LONG_MIN, .tv_nsec = 0 };
	CHECK_ERR(timed_lock(&held.mutex, clock, clocklock, &at), ETIMEDOUT);
	let_go(&held, &holder);
}

static void posix_pthread_mutex_timedlock__etimedout_at_the_deadline(void)
{
	enum kind kind;

	for (kind = 0; kind < OWN_KINDS; kind++)
		check_lock_times_out(kind, CLOCK_REALTIME, false);
}

static void posix_pthread_mutex_clocklock__etimedout_at_the_deadline(void)
{
	check_lock_times_out(DEFAULT, CLOCK_REALTIME, true);
	check_lock_times_out(DEFAULT, CLOCK_MONOTONIC, true);
	check_lock_times_out(RECURSIVE, CLOCK_MONOTONIC, true);
}

static void *release_later(void *argument)
{
	struct held *held = argument;

	sleep_ms(50);
	held->release = true;
	return NULL;
}

static void posix_pthread_mutex_timedlock__far_deadline_waits_for_the_lock(void)
{
	static const struct timespec far[] = {
		{ .tv_sec = LONG_MAX, .tv_nsec = 999999999 },
		{ .tv_sec = LONG_MAX / NS_PER_S, .tv_nsec = 999999999 },
		{ .tv_sec = 1LL << 40, .tv_nsec = 0 },
		{ .tv_sec = UINT_MAX, .tv_nsec = 0 },
	};
	struct thread holder, releaser;
	struct held held;

	for (EACH(i, far)) {
		hold_elsewhere(&held, &holder, DEFAULT);
		start(&releaser, release_later, &held);
		OK(pthread_mutex_timedlock(&held.mutex, &far[i]));
		OK(pthread_mutex_unlock(&held.mutex));
		join(&releaser);
		let_go(&held, &holder);
	}
}

/* A waiter that gives up must leave nothing that keeps others waiting. */
static void *give_up_or_lock(void *argument)
{
	pthread_mutex_t *mutex = argument;
	uint32_t random = (uint32_t)gettid() * 2654435761u;
	struct timespec at;
	long taken = 0;
	int i, error;

	for (i = 0; i < 1500; i++) {
		at = in_ms(CLOCK_MONOTONIC, 0);
		at.tv_nsec += next_random(&random) % 200000;
		if (at.tv_nsec >= NS_PER_S) {
			at.tv_nsec -= NS_PER_S;
			at.tv_sec++;
		}
		error = pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &at);
		if (error) {
			CHECK_ERR(error, ETIMEDOUT);
			continue;
		}
		taken++;
		if (next_random(&random) % 8 == 0)
			usleep(50);
		OK(pthread_mutex_unlock(mutex));
	}
	return (void *)taken;
}

static void *lock_often(void *mutex)
{
	int i;

	for (i = 0; i < 500; i++) {
		OK(pthread_mutex_lock(mutex));
		OK(pthread_mutex_unlock(mutex));
		if (i % 4 == 0)
			usleep(20);
	}
	return NULL;
}

static void posix_pthread_mutex_timedlock__giving_up_strands_nobody(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct thread threads[10];
	int i;

	for (i = 0; i < 10; i++)
		start(&threads[i], i < 5 ? give_up_or_lock : lock_often, &mutex);
	for (i = 0; i < 10; i++)
		join(&threads[i]);
	OK(pthread_mutex_trylock(&mutex));
}

/* ---------------------------------------------------------------- cond -- */

static void posix_pthread_cond_timedwait__einval_bad_nanoseconds(void)
{
	struct timespec at = in_ms(CLOCK_REALTIME, -1000);
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, ERRORCHECK));
	OK(pthread_mutex_lock(&mutex));
	for (EACH(i, bad_nanoseconds)) {
		at.tv_nsec = bad_nanoseconds[i];
		CHECK_ERR(pthread_cond_timedwait(&cond, &mutex, &at), EINVAL);
		CHECK_ERR(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC,
						 &at), EINVAL);
	}
	/* Still held. */
	OK(pthread_mutex_unlock(&mutex));
}

static void posix_pthread_cond_clockwait__einval_bad_clock(void)
{
	struct timespec at = in_ms(CLOCK_MONOTONIC, 1000);
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, ERRORCHECK));
	OK(pthread_mutex_lock(&mutex));
	for (EACH(i, bad_clocks))
		CHECK_ERR(pthread_cond_clockwait(&cond, &mutex, bad_clocks[i],
						 &at), EINVAL);
	OK(pthread_mutex_unlock(&mutex));
}

static void posix_pthread_condattr_setclock__einval_bad_clock(void)
{
	pthread_condattr_t attr;
	clockid_t clock = -1;

	OK(pthread_condattr_init(&attr));
	OK(pthread_condattr_getclock(&attr, &clock));
	CHECK_EQ(clock, CLOCK_REALTIME);
	for (EACH(i, bad_clocks))
		CHECK_ERR(pthread_condattr_setclock(&attr, bad_clocks[i]),
			  EINVAL);
	OK(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
	OK(pthread_condattr_destroy(&attr));
}

enum call { TIMEDWAIT, CLOCKWAIT };

static int timed_wait(enum call call, pthread_cond_t *cond,
		      pthread_mutex_t *mutex, clockid_t clock,
		      const struct timespec *at)
{
	return call == TIMEDWAIT ?
		       pthread_cond_timedwait(cond, mutex, at) :
		       pthread_cond_clockwait(cond, mutex, clock, at);
}

/* No signal is sent, so that whatever returns 0 did so for no reason. */
static void until_timed_out(enum call call, pthread_cond_t *cond,
			    pthread_mutex_t *mutex, clockid_t clock,
			    const struct timespec *at)
{
	int spurious, error = 0;

	for (spurious = 0; spurious < 100; spurious++) {
		error = timed_wait(call, cond, mutex, clock, at);
		if (error)
			break;
	}
	CHECK_ERR(error, ETIMEDOUT);
	CHECK_EQ(mutex->__data.__owner, gettid());
}

static void check_wait_times_out(enum call call, clockid_t clock)
{
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	struct timespec at;
	int64_t took;
	enum kind kind;

	make_cond(&cond, call == TIMEDWAIT ? clock : CLOCK_REALTIME, false);
	for (kind = 0; kind < OWN_KINDS; kind++) {
		OK(make_mutex(&mutex, kind));
		OK(pthread_mutex_lock(&mutex));
		at = in_ms(clock, 30);
		took = -now_ns(CLOCK_MONOTONIC);
		until_timed_out(call, &cond, &mutex, clock, &at);
		CHECK(now_ns(clock) >= at.tv_sec * NS_PER_S + at.tv_nsec);
		took += now_ns(CLOCK_MONOTONIC);
		CHECK(took < LATE_MS * NS_PER_MS);
		at = in_ms(clock, -30);
		until_timed_out(call, &cond, &mutex, clock, &at);
		at = (struct timespec){ .tv_sec = -5, .tv_nsec = 1 };
		until_timed_out(call, &cond, &mutex, clock, &at);
		at = (struct timespec){ .tv_sec = LONG_MIN, .tv_nsec = 0 };
		until_timed_out(call, &cond, &mutex, clock, &at);
		OK(pthread_mutex_unlock(&mutex));
		OK(pthread_mutex_destroy(&mutex));
	}
	OK(pthread_cond_destroy(&cond));
}

static void posix_pthread_cond_timedwait__etimedout_realtime(void)
{
	check_wait_times_out(TIMEDWAIT, CLOCK_REALTIME);
}

/* Taken for the time of day, a monotonic deadline has long passed. */
static void posix_pthread_cond_timedwait__etimedout_monotonic(void)
{
	check_wait_times_out(TIMEDWAIT, CLOCK_MONOTONIC);
}

static void posix_pthread_cond_clockwait__etimedout_on_either_clock(void)
{
	check_wait_times_out(CLOCKWAIT, CLOCK_REALTIME);
	check_wait_times_out(CLOCKWAIT, CLOCK_MONOTONIC);
}

struct signalled {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool ready;
};

static void *signal_later(void *argument)
{
	struct signalled *signalled = argument;

	sleep_ms(30);
	OK(pthread_mutex_lock(&signalled->mutex));
	signalled->ready = true;
	OK(pthread_cond_signal(&signalled->cond));
	OK(pthread_mutex_unlock(&signalled->mutex));
	return NULL;
}

static void posix_pthread_cond_timedwait__far_deadline_waits_for_the_signal(void)
{
	static const struct timespec far[] = {
		{ .tv_sec = LONG_MAX, .tv_nsec = 999999999 },
		{ .tv_sec = 1LL << 40, .tv_nsec = 0 },
		{ .tv_sec = UINT_MAX, .tv_nsec = 0 },
	};
	struct signalled signalled;
	struct thread signaller;

	for (EACH(i, far)) {
		signalled = (struct signalled){
			.mutex = PTHREAD_MUTEX_INITIALIZER,
			.cond = PTHREAD_COND_INITIALIZER,
		};
		OK(pthread_mutex_lock(&signalled.mutex));
		start(&signaller, signal_later, &signalled);
		while (!signalled.ready)
			OK(pthread_cond_timedwait(&signalled.cond,
						  &signalled.mutex, &far[i]));
		OK(pthread_mutex_unlock(&signalled.mutex));
		join(&signaller);
	}
}

/* A wait that timed out has the mutex back, however long that takes. */
static void *wait_briefly(void *argument)
{
	struct signalled *signalled = argument;
	struct timespec at;

	OK(pthread_mutex_lock(&signalled->mutex));
	at = in_ms(CLOCK_REALTIME, 20);
	until_timed_out(TIMEDWAIT, &signalled->cond, &signalled->mutex,
			CLOCK_REALTIME, &at);
	signalled->ready = true;
	OK(pthread_mutex_unlock(&signalled->mutex));
	return NULL;
}

static void posix_pthread_cond_timedwait__waits_for_the_mutex_past_its_deadline(void)
{
	struct signalled signalled = {
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.cond = PTHREAD_COND_INITIALIZER,
	};
	struct thread waiter;

	start(&waiter, wait_briefly, &signalled);
	until_asleep(&waiter);
	OK(pthread_mutex_lock(&signalled.mutex));
	sleep_ms(100);
	CHECK(!signalled.ready);
	OK(pthread_mutex_unlock(&signalled.mutex));
	join(&waiter);
	CHECK(signalled.ready);
}

static void posix_pthread_cond_timedwait__leaves_errno_alone(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec at = in_ms(CLOCK_REALTIME, 20);

	OK(pthread_mutex_lock(&mutex));
	errno = 4713;
	until_timed_out(TIMEDWAIT, &cond, &mutex, CLOCK_REALTIME, &at);
	CHECK_EQ(errno, 4713);
	OK(pthread_mutex_unlock(&mutex));
}

static const struct test tests[] = {
	TEST(posix_pthread_mutex_timedlock__free_lock_ignores_the_deadline),
	TEST(posix_pthread_mutex_timedlock__einval_bad_nanoseconds),
	TEST(posix_pthread_mutex_clocklock__einval_bad_clock),
	TEST(posix_pthread_mutex_timedlock__etimedout_at_the_deadline),
	TEST(posix_pthread_mutex_clocklock__etimedout_at_the_deadline),
	TEST(posix_pthread_mutex_timedlock__far_deadline_waits_for_the_lock),
	TEST(posix_pthread_mutex_timedlock__giving_up_strands_nobody),
	TEST(posix_pthread_cond_timedwait__einval_bad_nanoseconds),
	TEST(posix_pthread_cond_clockwait__einval_bad_clock),
	TEST(posix_pthread_condattr_setclock__einval_bad_clock),
	TEST(posix_pthread_cond_timedwait__etimedout_realtime),
	TEST(posix_pthread_cond_timedwait__etimedout_monotonic),
	TEST(posix_pthread_cond_clockwait__etimedout_on_either_clock),
	TEST(posix_pthread_cond_timedwait__far_deadline_waits_for_the_signal),
	TEST(posix_pthread_cond_timedwait__waits_for_the_mutex_past_its_deadline),
	TEST(posix_pthread_cond_timedwait__leaves_errno_alone),
};

TEST_MAIN(tests)
