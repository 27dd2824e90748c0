/*
 * What each call returns, and what it waits for: on locks of each kind, in each
 * state, with each sort of deadline.
 */
#include "../posix/handlers.h"
#include "rwlock.h"

static const enum rw_call waits[] = {
	RDLOCK,	     WRLOCK,	  TIMEDRDLOCK,	   TIMEDWRLOCK,
	CLOCKRDLOCK, CLOCKWRLOCK, REALCLOCKRDLOCK, REALCLOCKWRLOCK,
};

enum state {
	FREE, READ_BY_CALLER, WRITTEN_BY_CALLER, READ, WRITTEN,
	/* A thread's end unlocks nothing. */
	READ_BY_ENDED, WRITTEN_BY_ENDED, STATES,
};

static const char *const state_names[STATES] = {
	"free", "read by the caller", "written by the caller", "read", "written",
	"read by an ended thread", "written by an ended thread",
};

static bool is_read(enum state state)
{
	return state == READ_BY_CALLER || state == READ || state == READ_BY_ENDED;
}

struct scene {
	pthread_rwlock_t lock;
	enum rw_kind kind;
	bool pshared;
	enum state state;
	struct holder holder;
};

THREAD(take_and_end, struct scene *scene)
{
	OK(take(&scene->lock, is_read(scene->state) ? RDLOCK : WRLOCK, 0));
}

static void enter(struct scene *scene, enum state state)
{
	enum rw_call call = state == READ_BY_CALLER || state == READ ? RDLOCK : WRLOCK;
	struct thread thread;

	scene->state = state;
	make_rwlock(&scene->lock, scene->kind, scene->pshared);
	if (state == READ_BY_CALLER || state == WRITTEN_BY_CALLER) {
		OK(take(&scene->lock, call, 0));
	} else if (state == READ || state == WRITTEN) {
		hold_elsewhere(&scene->holder, &scene->lock, call);
	} else if (state != FREE) {
		start(&thread, take_and_end, scene);
		join(&thread);
	}
}

/*
 * Failed calls have left no trace, and those that succeeded have been undone.
 */
static void leave(struct scene *scene)
{
	enum state state = scene->state;

	CHECK_ERR(elsewhere(&scene->lock, TRYWRLOCK), state == FREE ? 0 : EBUSY);
	CHECK_ERR(elsewhere(&scene->lock, TRYRDLOCK),
		  state == FREE || is_read(state) ? 0 : EBUSY);
	if (state == WRITTEN_BY_ENDED)
		return;
	if (state == READ || state == WRITTEN)
		let_go(&scene->holder);
	else if (state != FREE)
		OK(pthread_rwlock_unlock(&scene->lock));
	check_free(&scene->lock);
	OK(pthread_rwlock_destroy(&scene->lock));
}

static void in_each_state(void (*check)(struct scene *scene, enum rw_call call))
{
	struct scene scene;

	for (scene.kind = 0; scene.kind < RW_KINDS; scene.kind++)
		for (int pshared = 0; pshared < 2; pshared++)
			for (enum state state = 0; state < STATES; state++) {
				scene.pshared = pshared;
				enter(&scene, state);
				for (enum rw_call call = 0; call < RW_CALLS; call++)
					check(&scene, call);
				leave(&scene);
			}
}

static void check_error(const struct scene *scene, enum rw_call call, int got,
			int wanted)
{
	if (got != wanted)
		FAIL("%s of a %s lock of kind %d that is %s returned %d (%s), not %d",
		     rw_call_names[call], scene->pshared ? "shared" : "private",
		     scene->kind, state_names[scene->state], got, strerror(got),
		     wanted);
}

enum { BLOCKS = -1 };

static int answer(enum state state, enum rw_call call)
{
	if (state == FREE || (is_read(state) && !is_write(call)))
		return 0;
	if (call == TRYRDLOCK || call == TRYWRLOCK)
		return EBUSY;
	/* It doesn't wait. A reader that asks to write isn't recognised. */
	if (state == WRITTEN_BY_CALLER)
		return EDEADLK;
	return has_deadline(call) ? ETIMEDOUT : BLOCKS;
}

/* pthread_rwlock_timed*: never ETIMEDOUT if the lock can be had at once. */
static void take_in_state(struct scene *scene, enum rw_call call)
{
	const struct timespec deadlines[] = {
		in_ms(clock_of(call), 5),
		in_ms(clock_of(call), -1000),
		{ .tv_sec = 0, .tv_nsec = 0 },
		{ .tv_sec = 0, .tv_nsec = 999999999 },
		{ .tv_sec = -1, .tv_nsec = 500 },
		{ .tv_sec = LONG_MIN, .tv_nsec = 0 },
	};
	int wanted = answer(scene->state, call), error;
	int64_t late;

	if (wanted == BLOCKS)
		return;
	for (EACH(i, deadlines)) {
		errno = 4717;
		error = take_until(&scene->lock, call, &deadlines[i]);
		check_error(scene, call, error, wanted);
		if (!error)
			OK(pthread_rwlock_unlock(&scene->lock));
		CHECK_EQ(errno, 4717);
		late = now_ns(clock_of(call)) - ns_of(&deadlines[i]);
		if (error == ETIMEDOUT && i == 0)
			CHECK(late >= 0 && late < LATE_MS * NS_PER_MS);
	}
}

TEST(posix_pthread_rwlock__each_call_in_each_state)
{
	in_each_state(take_in_state);
}

/*
 * pthread_rwlock_timedrdlock, _timedwrlock: shall fail with EINVAL if the call
 * would block and the nanoseconds are none; need not look if it wouldn't.
 * glibc looks first, for rwlocks: before it takes a free lock, and before it
 * says EDEADLK or ETIMEDOUT. (For mutexes it looks only where it would block.)
 */
static void take_with_bad_nanoseconds(struct scene *scene, enum rw_call call)
{
	static const long bad[] = { -1, NS_PER_S, LONG_MAX, LONG_MIN };
	const time_t seconds[] = { in_ms(clock_of(call), 1000).tv_sec, 1, -1 };

	if (!has_deadline(call))
		return;
	for (EACH(i, bad))
		for (EACH(s, seconds))
			check_error(scene, call,
				    take_until(&scene->lock, call,
					       &(struct timespec){ seconds[s],
								   bad[i] }),
				    EINVAL);
}

TEST(glibc_pthread_rwlock_timedlock__einval_bad_nanoseconds_first)
{
	in_each_state(take_with_bad_nanoseconds);
}

/* They are refused even where the lock is free, or the caller's. */
static void take_by_bad_clock(struct scene *scene, enum rw_call call)
{
	static const clockid_t bad[] = {
		CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_BOOTTIME,
		CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_TAI, 12345, -1,
	};
	struct timespec at = in_ms(CLOCK_MONOTONIC, 1000);

	if (call < CLOCKRDLOCK)
		return;
	for (EACH(i, bad))
		check_error(scene, call,
			    is_write(call) ? pthread_rwlock_clockwrlock(
						     &scene->lock, bad[i], &at) :
					     pthread_rwlock_clockrdlock(
						     &scene->lock, bad[i], &at),
			    EINVAL);
}

TEST(glibc_pthread_rwlock_clocklock__einval_bad_clock_first)
{
	in_each_state(take_by_bad_clock);
}

/* --------------------------------------------------------------- waiting -- */

/* After a handler the wait goes on; no EINTR. */
static void shoot_often(struct holder *waiter, int flags)
{
	handle(flags);
	for (int i = 0; i < 30; i++)
		shoot(&waiter->thread);
	CHECK(!waiter->done);
}

/* The caller blocks until the last of those that have the lock is gone. */
static void wait_for_each(enum rw_kind kind, const enum rw_call *held, int count,
			  enum rw_call call)
{
	struct holder holders[5], waiter;
	pthread_rwlock_t lock;

	make_rwlock(&lock, kind, false);
	for (int i = 0; i < count; i++)
		hold_elsewhere(&holders[i], &lock, held[i]);
	wait_elsewhere(&waiter, &lock, call);
	shoot_often(&waiter, call / 2 % 2 ? SA_RESTART : 0);
	for (int i = 0; i < count; i++) {
		sleep_ms(2);
		if (waiter.done)
			FAIL("kind %d: %s has the lock beside %s", kind,
			     rw_call_names[call], rw_call_names[held[i]]);
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		/* In another order than they came. */
		let_go(&holders[i * 3 % count]);
	}
	UNTIL(waiter.done);
	CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
	CHECK_ERR(elsewhere(&lock, TRYRDLOCK), is_write(call) ? EBUSY : 0);
	let_go(&waiter);
	check_free(&lock);
	OK(pthread_rwlock_destroy(&lock));
}

TEST(posix_pthread_rwlock_wrlock__waits_for_every_reader)
{
	static const enum rw_call readers[5] = {
		RDLOCK, TRYRDLOCK, TIMEDRDLOCK, CLOCKRDLOCK, REALCLOCKRDLOCK,
	};

	for (enum rw_kind kind = 0; kind < RW_KINDS; kind++)
		for (EACH(i, waits))
			if (is_write(waits[i]))
				wait_for_each(kind, readers, 5, waits[i]);
}

TEST(posix_pthread_rwlock__waits_for_the_writer)
{
	static const enum rw_call writers[] = { WRLOCK, TRYWRLOCK, TIMEDWRLOCK,
						CLOCKWRLOCK };

	for (enum rw_kind kind = 0; kind < RW_KINDS; kind++)
		for (EACH(i, waits))
			wait_for_each(kind, &writers[i % 4], 1, waits[i]);
}

/* The deadline is the same as it was: neither sooner nor begun anew. */
TEST(posix_pthread_rwlock_timedlock__handlers_move_no_deadline)
{
	struct holder holder, waiter;
	pthread_rwlock_t lock;
	int64_t began, took;

	handle(0);
	OK(pthread_rwlock_init(&lock, NULL));
	for (enum rw_call call = TIMEDRDLOCK; call < RW_CALLS; call++) {
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

RUN_TESTS()
