/*
 * Deadlines of rwlocks: which are refused, when they end a wait, and what
 * those who gave up leave behind. And what doesn't end a wait.
 */
#include "rwlock.h"

static const long bad_nanoseconds[] = { -1, NS_PER_S, LONG_MAX, LONG_MIN };
static const clockid_t bad_clocks[] = {
	CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_BOOTTIME,
	CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_TAI, 12345, -1,
};

/* How others have the lock when a deadline is looked at. */
enum state { FREE, READ, WRITTEN, WRITTEN_BY_CALLER, STATES };

static void enter(enum state state, pthread_rwlock_t *lock,
		  struct holder *holder)
{
	if (state == WRITTEN_BY_CALLER)
		OK(pthread_rwlock_wrlock(lock));
	else if (state != FREE)
		hold_elsewhere(holder, lock, state == READ ? RDLOCK : WRLOCK);
}

static void leave(enum state state, pthread_rwlock_t *lock,
		  struct holder *holder)
{
	if (state == WRITTEN_BY_CALLER)
		OK(pthread_rwlock_unlock(lock));
	else if (state != FREE)
		let_go(holder);
	check_free(lock);
	OK(pthread_rwlock_destroy(lock));
}

/* ------------------------------------------------------------- refused -- */

/*
 * pthread_rwlock_timedrdlock, _timedwrlock: shall fail with EINVAL if the call
 * would block and the nanoseconds are none; need not look if it wouldn't.
 * glibc looks first, for rwlocks: before it takes a free lock, and before it
 * says EDEADLK or ETIMEDOUT. (For mutexes it looks only where it would block.)
 */
static void glibc_pthread_rwlock_timedlock__einval_bad_nanoseconds_first(void)
{
	struct holder holder;
	pthread_rwlock_t lock;
	struct timespec at;
	enum rw_kind kind;
	enum state state;
	enum rw_call call;

	for (kind = 0; kind < RW_KINDS; kind++)
		for (state = 0; state < STATES; state++) {
			make_rwlock(&lock, kind, false);
			enter(state, &lock, &holder);
			for (call = TIMEDRDLOCK; call < RW_CALLS; call++)
				for (EACH(i, bad_nanoseconds)) {
					at = in_ms(clock_of(call), 1000);
					at.tv_nsec = bad_nanoseconds[i];
					CHECK_ERR(take_until(&lock, call, &at),
						  EINVAL);
					at.tv_sec = 1;
					CHECK_ERR(take_until(&lock, call, &at),
						  EINVAL);
					at.tv_sec = -1;
					CHECK_ERR(take_until(&lock, call, &at),
						  EINVAL);
				}
			leave(state, &lock, &holder);
		}
}

/* Refused even where the lock is free, or the caller's. */
static void glibc_pthread_rwlock_clocklock__einval_bad_clock_first(void)
{
	struct timespec at = in_ms(CLOCK_MONOTONIC, 1000);
	struct holder holder;
	pthread_rwlock_t lock;
	enum state state;

	for (state = 0; state < STATES; state++) {
		OK(pthread_rwlock_init(&lock, NULL));
		enter(state, &lock, &holder);
		for (EACH(i, bad_clocks)) {
			CHECK_ERR(pthread_rwlock_clockrdlock(
					  &lock, bad_clocks[i], &at), EINVAL);
			CHECK_ERR(pthread_rwlock_clockwrlock(
					  &lock, bad_clocks[i], &at), EINVAL);
		}
		leave(state, &lock, &holder);
	}
}

/* ------------------------------------------------------- at the deadline -- */

/* The timed calls, and the clock calls by the one clock and by the other. */
enum { WAYS = 3 };

static clockid_t clock_of_way(int way)
{
	return way == 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

static int take_way(pthread_rwlock_t *lock, bool write, int way,
		    const struct timespec *at)
{
	if (way == 0)
		return write ? pthread_rwlock_timedwrlock(lock, at) :
			       pthread_rwlock_timedrdlock(lock, at);
	return write ? pthread_rwlock_clockwrlock(lock, clock_of_way(way), at) :
		       pthread_rwlock_clockrdlock(lock, clock_of_way(way), at);
}

static const struct timespec long_past[] = {
	{ .tv_sec = 0, .tv_nsec = 0 },
	{ .tv_sec = 0, .tv_nsec = 999999999 },
	{ .tv_sec = -1, .tv_nsec = 500 },
	{ .tv_sec = LONG_MIN, .tv_nsec = 0 },
};

/* pthread_rwlock_timed*: never ETIMEDOUT if the lock can be had at once. */
static void posix_pthread_rwlock_timedlock__free_lock_ignores_the_deadline(void)
{
	pthread_rwlock_t lock;
	struct timespec past;
	enum rw_kind kind;
	int way;

	for (kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		for (way = 0; way < WAYS; way++) {
			past = in_ms(clock_of_way(way), -1000);
			OK(take_way(&lock, true, way, &past));
			OK(pthread_rwlock_unlock(&lock));
			OK(take_way(&lock, false, way, &past));
			/* Free for readers, though not for writers. */
			for (EACH(i, long_past)) {
				OK(take_way(&lock, false, way, &long_past[i]));
				OK(pthread_rwlock_unlock(&lock));
			}
			OK(pthread_rwlock_unlock(&lock));
			for (EACH(i, long_past)) {
				OK(take_way(&lock, true, way, &long_past[i]));
				OK(pthread_rwlock_unlock(&lock));
			}
		}
		check_free(&lock);
	}
}

static void check_times_out(pthread_rwlock_t *lock, bool write, int way)
{
	clockid_t clock = clock_of_way(way);
	struct timespec at = in_ms(clock, 20);
	int64_t took = -now_ns(CLOCK_MONOTONIC);

	CHECK_ERR(take_way(lock, write, way, &at), ETIMEDOUT);
	CHECK(now_ns(clock) >= at.tv_sec * NS_PER_S + at.tv_nsec);
	took += now_ns(CLOCK_MONOTONIC);
	CHECK(took < LATE_MS * NS_PER_MS);

	at = in_ms(clock, -20);
	CHECK_ERR(take_way(lock, write, way, &at), ETIMEDOUT);
	for (EACH(i, long_past))
		CHECK_ERR(take_way(lock, write, way, &long_past[i]), ETIMEDOUT);
}

/* pthread_rwlock_timedrdlock, _timedwrlock: ETIMEDOUT, and not too soon. */
static void posix_pthread_rwlock_timedlock__etimedout_at_the_deadline(void)
{
	struct holder holder;
	pthread_rwlock_t lock;
	enum rw_kind kind;
	int way;

	for (kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, kind == PREFER_WRITER);
		for (way = 0; way < WAYS; way++) {
			hold_elsewhere(&holder, &lock, WRLOCK);
			check_times_out(&lock, false, way);
			check_times_out(&lock, true, way);
			let_go(&holder);
			hold_elsewhere(&holder, &lock, RDLOCK);
			check_times_out(&lock, true, way);
			let_go(&holder);
			check_free(&lock);
		}
	}
}

/* One that has passed on the one clock has not on the other. */
static void glibc_pthread_rwlock_clocklock__counts_by_the_clock_it_names(void)
{
	struct timespec at = in_ms(CLOCK_MONOTONIC, LONG_MS);
	struct holder holder;
	pthread_rwlock_t lock;
	int64_t took;

	OK(pthread_rwlock_init(&lock, NULL));
	hold_elsewhere(&holder, &lock, WRLOCK);
	took = -now_ns(CLOCK_MONOTONIC);
	CHECK_ERR(pthread_rwlock_timedrdlock(&lock, &at), ETIMEDOUT);
	CHECK_ERR(pthread_rwlock_timedwrlock(&lock, &at), ETIMEDOUT);
	CHECK_ERR(pthread_rwlock_clockrdlock(&lock, CLOCK_REALTIME, &at),
		  ETIMEDOUT);
	CHECK_ERR(pthread_rwlock_clockwrlock(&lock, CLOCK_REALTIME, &at),
		  ETIMEDOUT);
	took += now_ns(CLOCK_MONOTONIC);
	CHECK(took < LATE_MS * NS_PER_MS);
	let_go(&holder);
	check_free(&lock);
}

static void *release_later(void *argument)
{
	struct holder *holder = argument;

	sleep_ms(30);
	holder->release = true;
	return NULL;
}

static void posix_pthread_rwlock_timedlock__far_deadline_waits_for_the_lock(void)
{
	static const struct timespec far[] = {
		{ .tv_sec = LONG_MAX, .tv_nsec = 999999999 },
		{ .tv_sec = LONG_MAX / NS_PER_S, .tv_nsec = 999999999 },
		{ .tv_sec = 1LL << 40, .tv_nsec = 0 },
		{ .tv_sec = UINT_MAX, .tv_nsec = 0 },
	};
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	struct thread releaser;
	struct holder holder;
	enum rw_call call;

	for (EACH(i, far))
		for (call = TIMEDRDLOCK; call < RW_CALLS; call++) {
			hold_elsewhere(&holder, &lock,
				       is_write(call) && i % 2 ? RDLOCK : WRLOCK);
			start(&releaser, release_later, &holder);
			OK(take_until(&lock, call, &far[i]));
			OK(pthread_rwlock_unlock(&lock));
			join(&releaser);
			let_go(&holder);
		}
	check_free(&lock);
}

/* ------------------------------------------------------- having given up -- */

/* Here a writer that waits keeps readers out; one that waited must not. */
static void glibc_pthread_rwlock_timedwrlock__given_up_lets_readers_in(void)
{
	struct holder reader, late[3], writer;
	pthread_rwlock_t lock;
	int i, way;

	for (way = 0; way < WAYS; way++) {
		make_rwlock(&lock, NONRECURSIVE, way == 1);
		hold_elsewhere(&reader, &lock, RDLOCK);
		writer = (struct holder){
			.lock = &lock,
			.call = way ? TIMEDWRLOCK : CLOCKWRLOCK,
			.ms = 500,
		};
		start(&writer.thread, holder_run, &writer);
		until_asleep(&writer.thread);
		for (i = 0; i < 3; i++)
			start_holder(&late[i], &lock, i ? RDLOCK : TIMEDRDLOCK);
		/* They sleep, if the machine is in time, and get up by itself. */
		for (i = 0; i < 3; i++)
			UNTIL(late[i].done);
		join(&writer.thread);
		CHECK_ERR(writer.error, ETIMEDOUT);
		/* Nobody has gone, and there are new ones. */
		OK(elsewhere(&lock, TRYRDLOCK));
		OK(pthread_rwlock_rdlock(&lock));
		OK(pthread_rwlock_rdlock(&lock));
		OK(pthread_rwlock_unlock(&lock));
		OK(pthread_rwlock_unlock(&lock));
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		for (i = 0; i < 3; i++)
			let_go(&late[i]);
		let_go(&reader);
		check_free(&lock);
	}
}

/* The others that wait, wait on, and get it in the end. */
static void posix_pthread_rwlock_timedwrlock__given_up_beside_other_writers(void)
{
	struct holder holder, writers[3];
	pthread_rwlock_t lock;
	enum rw_kind kind;
	enum rw_call held;
	int i;

	for (kind = 0; kind < RW_KINDS; kind++)
		for (held = RDLOCK; held <= WRLOCK; held++) {
			make_rwlock(&lock, kind, false);
			hold_elsewhere(&holder, &lock, held);
			/* First, in the midst, and last of those that wait. */
			CHECK_ERR(take(&lock, TIMEDWRLOCK, 3), ETIMEDOUT);
			for (i = 0; i < 3; i++) {
				wait_elsewhere(&writers[i], &lock, WRLOCK);
				CHECK_ERR(take(&lock, CLOCKWRLOCK, 3), ETIMEDOUT);
			}
			if (kind == NONRECURSIVE || held == WRLOCK)
				CHECK_ERR(pthread_rwlock_tryrdlock(&lock), EBUSY);
			for (i = 0; i < 3; i++)
				CHECK(!writers[i].done);
			for (i = 0; i < 3; i++)
				writers[i].release = true;
			let_go(&holder);
			for (i = 0; i < 3; i++)
				let_go(&writers[i]);
			check_free(&lock);
		}
}

static void posix_pthread_rwlock_timedrdlock__given_up_disturbs_nobody(void)
{
	struct holder holder, readers[3], writer;
	pthread_rwlock_t lock;
	enum rw_kind kind;
	int i;

	for (kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		hold_elsewhere(&holder, &lock, WRLOCK);
		CHECK_ERR(take(&lock, TIMEDRDLOCK, 3), ETIMEDOUT);
		for (i = 0; i < 3; i++) {
			wait_elsewhere(&readers[i], &lock, RDLOCK);
			CHECK_ERR(take(&lock, CLOCKRDLOCK, 3), ETIMEDOUT);
		}
		wait_elsewhere(&writer, &lock, WRLOCK);
		CHECK_ERR(take(&lock, TIMEDRDLOCK, 3), ETIMEDOUT);
		for (i = 0; i < 3; i++)
			CHECK(!readers[i].done);
		CHECK(!writer.done);
		writer.release = true;
		for (i = 0; i < 3; i++)
			readers[i].release = true;
		let_go(&holder);
		for (i = 0; i < 3; i++)
			let_go(&readers[i]);
		let_go(&writer);
		/* It isn't counted among the readers: writers come in. */
		check_free(&lock);

		/* The last reader that waited is gone when the writer goes. */
		hold_elsewhere(&holder, &lock, WRLOCK);
		CHECK_ERR(take(&lock, TIMEDRDLOCK, 3), ETIMEDOUT);
		let_go(&holder);
		check_free(&lock);
	}
}

static void *give_up_or_take(void *argument)
{
	pthread_rwlock_t *lock = argument;
	uint32_t random = (uint32_t)gettid() * 2654435761u;
	struct timespec at;
	int i, error;

	for (i = 0; i < 1200; i++) {
		at = in_ms(CLOCK_MONOTONIC, 0);
		at.tv_nsec += next_random(&random) % 200000;
		if (at.tv_nsec >= NS_PER_S) {
			at.tv_nsec -= NS_PER_S;
			at.tv_sec++;
		}
		error = take_until(lock, i % 3 ? CLOCKRDLOCK : CLOCKWRLOCK, &at);
		if (error) {
			CHECK_ERR(error, ETIMEDOUT);
			continue;
		}
		if (next_random(&random) % 8 == 0)
			usleep(50);
		OK(pthread_rwlock_unlock(lock));
	}
	return NULL;
}

static void *take_often(void *lock)
{
	int i;

	for (i = 0; i < 400; i++) {
		OK(take(lock, i % 2 ? WRLOCK : RDLOCK, 0));
		OK(pthread_rwlock_unlock(lock));
		if (i % 4 == 0)
			usleep(20);
	}
	return NULL;
}

static void posix_pthread_rwlock_timedlock__giving_up_strands_nobody(void)
{
	struct thread threads[10];
	pthread_rwlock_t lock;
	enum rw_kind kind;
	int i;

	for (kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		for (i = 0; i < 10; i++)
			start(&threads[i],
			      i < 5 ? give_up_or_take : take_often, &lock);
		for (i = 0; i < 10; i++)
			join(&threads[i]);
		check_free(&lock);
	}
}

/* ------------------------------------------------- what ends no wait -- */

static const enum rw_call waits[] = { RDLOCK,	   WRLOCK,	TIMEDRDLOCK,
				      TIMEDWRLOCK, CLOCKRDLOCK, CLOCKWRLOCK };

struct cancelled {
	pthread_rwlock_t lock;
	enum rw_call call;
	_Atomic bool started, go, got, cleaned;
};

static void unlock_cancelled(void *argument)
{
	struct cancelled *cancelled = argument;

	cancelled->cleaned = true;
	OK(pthread_rwlock_unlock(&cancelled->lock));
}

static void *take_and_be_cancelled(void *argument)
{
	struct cancelled *cancelled = argument;

	cancelled->started = true;
	/* No cancellation point: another one might come to be cancelled. */
	while (!cancelled->go)
		sched_yield();
	OK(take(&cancelled->lock, cancelled->call, LONG_MS));
	pthread_cleanup_push(unlock_cancelled, cancelled);
	cancelled->got = true;
	pthread_testcancel();
	FAIL("not cancelled");
	pthread_cleanup_pop(0);
	return NULL;
}

/*
 * pthread_rwlock_rdlock, _wrlock and the timed ones may be cancellation points
 * in POSIX; in glibc they aren't, neither asleep nor with a request pending.
 */
static void glibc_pthread_cancel__rwlocks_are_no_cancellation_points(void)
{
	struct cancelled cancelled;
	struct holder holder;
	struct thread thread;

	for (EACH(i, waits)) {
		cancelled = (struct cancelled){ .call = waits[i], .go = true };
		OK(pthread_rwlock_init(&cancelled.lock, NULL));
		hold_elsewhere(&holder, &cancelled.lock, WRLOCK);
		start(&thread, take_and_be_cancelled, &cancelled);
		until_asleep(&thread);
		OK(pthread_cancel(thread.pthread));
		sleep_ms(5);
		CHECK(!cancelled.got && !cancelled.cleaned);
		let_go(&holder);
		CHECK(join(&thread) == PTHREAD_CANCELED);
		CHECK(cancelled.got && cancelled.cleaned);
		check_free(&cancelled.lock);
	}
}

static void glibc_pthread_cancel__pending_stops_no_rwlock(void)
{
	struct cancelled cancelled;
	struct thread thread;
	enum rw_call call;

	for (call = 0; call < RW_CALLS; call++) {
		cancelled = (struct cancelled){ .call = call };
		OK(pthread_rwlock_init(&cancelled.lock, NULL));
		start(&thread, take_and_be_cancelled, &cancelled);
		UNTIL(cancelled.started);
		OK(pthread_cancel(thread.pthread));
		cancelled.go = true;
		CHECK(join(&thread) == PTHREAD_CANCELED);
		CHECK(cancelled.got && cancelled.cleaned);
		check_free(&cancelled.lock);
	}
}

static _Atomic long handled;

static void on_signal(int signal UNUSED)
{
	handled++;
}

static void shoot(struct thread *thread, int times)
{
	long before;
	int i;

	for (i = 0; i < times; i++) {
		before = handled;
		OK(pthread_kill(thread->pthread, SIGUSR1));
		UNTIL(handled != before);
	}
}

static void handle(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
}

/* pthread_rwlock_rdlock, _wrlock: after a handler the wait goes on; no EINTR. */
static void posix_pthread_rwlock__waits_on_after_a_handler(void)
{
	struct holder holder, waiter;
	pthread_rwlock_t lock;
	enum rw_kind kind;

	for (kind = 0; kind < RW_KINDS; kind++)
		for (EACH(i, waits)) {
			handle(i % 2 ? SA_RESTART : 0);
			make_rwlock(&lock, kind, false);
			hold_elsewhere(&holder, &lock, WRLOCK);
			wait_elsewhere(&waiter, &lock, waits[i]);
			shoot(&waiter.thread, 30);
			CHECK(!waiter.done);
			let_go(&holder);
			UNTIL(waiter.done);
			let_go(&waiter);
			check_free(&lock);
		}
}

/* The deadline is the same as it was: neither sooner nor begun anew. */
static void posix_pthread_rwlock_timedlock__handlers_move_no_deadline(void)
{
	struct holder holder, waiter;
	pthread_rwlock_t lock;
	int64_t began, took;
	enum rw_call call;

	handle(0);
	OK(pthread_rwlock_init(&lock, NULL));
	for (call = TIMEDRDLOCK; call < RW_CALLS; call++) {
		hold_elsewhere(&holder, &lock, WRLOCK);
		waiter = (struct holder){ .lock = &lock, .call = call, .ms = 100 };
		began = now_ns(CLOCK_MONOTONIC);
		start(&waiter.thread, holder_run, &waiter);
		while (!waiter.done) {
			OK(pthread_kill(waiter.thread.pthread, SIGUSR1));
			usleep(2000);
		}
		took = now_ns(CLOCK_MONOTONIC) - began;
		join(&waiter.thread);
		CHECK_ERR(waiter.error, ETIMEDOUT);
		CHECK(took > 95 * NS_PER_MS && took < LATE_MS * NS_PER_MS);
		let_go(&holder);
	}
	check_free(&lock);
}

static const struct test tests[] = {
	TEST(glibc_pthread_rwlock_timedlock__einval_bad_nanoseconds_first),
	TEST(glibc_pthread_rwlock_clocklock__einval_bad_clock_first),
	TEST(posix_pthread_rwlock_timedlock__free_lock_ignores_the_deadline),
	TEST(posix_pthread_rwlock_timedlock__etimedout_at_the_deadline),
	TEST(glibc_pthread_rwlock_clocklock__counts_by_the_clock_it_names),
	TEST(posix_pthread_rwlock_timedlock__far_deadline_waits_for_the_lock),
	TEST(glibc_pthread_rwlock_timedwrlock__given_up_lets_readers_in),
	TEST(posix_pthread_rwlock_timedwrlock__given_up_beside_other_writers),
	TEST(posix_pthread_rwlock_timedrdlock__given_up_disturbs_nobody),
	TEST(posix_pthread_rwlock_timedlock__giving_up_strands_nobody),
	TEST(glibc_pthread_cancel__rwlocks_are_no_cancellation_points),
	TEST(glibc_pthread_cancel__pending_stops_no_rwlock),
	TEST(posix_pthread_rwlock__waits_on_after_a_handler),
	TEST(posix_pthread_rwlock_timedlock__handlers_move_no_deadline),
};

TEST_MAIN(tests)
