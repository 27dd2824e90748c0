/*
 * What holds of condvars by POSIX's calls and by C11's alike. Before it includes
 * this, the program says which calls these are: lock, trylock, unlock and
 * destroy_mutex; init_cond, destroy_cond, signal_one, broadcast and wait_until.
 * All return errors of POSIX's.
 */
#ifndef CONFORMANCE_CONDVARS_H
#define CONFORMANCE_CONDVARS_H

#include "calls.h"
#include "crowd.h"
#include "deadlines.h"
#include "mutexes.h"
#include "taken.h"
#include "../pthread/harness.h"

typedef int notify(pthread_cond_t *cond);

/* The mutex and the condvar, a waiter's call, and what has become of it. */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	enum kind kind;
	enum call call;
	int waiting, permits, passed;
	_Atomic int stage, cleaned, returned;
} scene;

#define MUTEX (&scene.mutex)
#define COND (&scene.cond)

/*
 * Makes the nth scene, in which threads wait by this call, if there is one. The
 * program defines it.
 */
static bool make_scene(size_t nth, enum call call);

/* for (EACH_SCENE(call)) */
#define EACH_SCENE(call) size_t nth_ = 0; make_scene(nth_, call); nth_++

/* One at a time. */
static struct thread waiter;

/* With a deadline that no test reaches. */
static int wait_long(enum call call, pthread_cond_t *cond,
		     pthread_mutex_t *mutex)
{
	struct timespec at = in_ms(clock_of(call), LONG_MS);

	return wait_until(call, cond, mutex, &at);
}

/* No thread signals: what returns 0 does so for no reason, which is allowed. */
static void until_timed_out(enum call call, pthread_cond_t *cond,
			    pthread_mutex_t *mutex, const struct timespec *at)
{
	int error = 0;

	for (int tries = 0; tries < 100 && !error; tries++)
		error = wait_until(call, cond, mutex, at);
	CHECK_ERR(error, ETIMEDOUT);
}

static void time_out_in_scene(enum call call, const struct timespec *at)
{
	OK(lock(MUTEX));
	until_timed_out(call, COND, MUTEX, at);
	OK(unlock(MUTEX));
}

/* The caller has the mutex: others don't get it, and it can be given back. */
static void check_own(void)
{
	check_taken(MUTEX);
	if (scene.kind == ERRORCHECK)
		CHECK_ERR(lock(MUTEX), EDEADLK);
}

static void destroy_scene(void)
{
	check_not_taken(MUTEX);
	OK(destroy_cond(COND));
	OK(destroy_mutex(MUTEX));
}

/* What the mutex protects. */
static int look(const int *number)
{
	int result;

	OK(lock(MUTEX));
	result = *number;
	OK(unlock(MUTEX));
	return result;
}

THREAD(wait_in_scene, void *argument UNUSED)
{
	OK(lock(MUTEX));
	scene.waiting++;
	errno = 4714;
	while (!scene.permits)
		OK(wait_long(scene.call, COND, MUTEX));
	CHECK_EQ(errno, 4714);
	CHECK_EQ(scene.mutex.__data.__owner, gettid());
	check_own();
	scene.permits--;
	scene.passed++;
	OK(unlock(MUTEX));
	scene.returned++;
}

/* It waits, or is about to, with the mutex given back. */
static void start_waiter(void *(*run)(void *argument))
{
	start(&waiter, run, NULL);
	UNTIL(look(&scene.waiting) == 1);
}

/* Notifies with the mutex, or right after it has been given back. */
static void permit_by(notify *notify, int permits, bool held)
{
	OK(lock(MUTEX));
	scene.permits += permits;
	if (!held)
		OK(unlock(MUTEX));
	OK(notify(COND));
	if (held)
		OK(unlock(MUTEX));
}

static void permit_and_join(void)
{
	permit_by(broadcast, 1, true);
	join(&waiter);
}

static void releases_and_blocks(enum call call)
{
	for (EACH_SCENE(call)) {
		/* This thread gets the mutex, which the waiter doesn't give otherwise. */
		start_waiter(wait_in_scene);
		until_asleep(&waiter);
		CHECK_EQ(scene.returned, 0);
		permit_and_join();
		CHECK_EQ(scene.returned, 1);
		destroy_scene();
	}
}

static pthread_cond_t conds[2];
static int turn;

static void take_turns(int mine)
{
	for (int i = 0; i < 400; i++) {
		OK(lock(MUTEX));
		while (turn != mine)
			OK(wait_long(scene.call, &conds[mine], MUTEX));
		turn = !mine;
		OK(unlock(MUTEX));
		/*
		 * One signal only, by the thread that has had the mutex after the
		 * other: were that one not blocked by then, both would hang.
		 */
		OK(signal_one(&conds[!mine]));
	}
}

THREAD(take_second_turns, void *argument UNUSED)
{
	take_turns(1);
}

static void atomically(enum call call)
{
	for (EACH_SCENE(call)) {
		turn = 0;
		for (EACH(i, conds))
			OK(init_cond(&conds[i]));
		start(&waiter, take_second_turns, NULL);
		take_turns(0);
		join(&waiter);
	}
}

static void cleanup(void *argument UNUSED)
{
	check_own();
	scene.cleaned++;
	OK(unlock(MUTEX));
}

static void *wait_to_be_cancelled(void *argument UNUSED)
{
	OK(lock(MUTEX));
	pthread_cleanup_push(cleanup, NULL);
	scene.waiting++;
	while (!scene.permits)
		OK(wait_long(scene.call, COND, MUTEX));
	scene.permits--;
	scene.passed++;
	pthread_cleanup_pop(0);
	OK(unlock(MUTEX));
	scene.returned++;
	return NULL;
}

static void check_cancelled(void)
{
	CHECK(join(&waiter) == PTHREAD_CANCELED);
	CHECK_EQ(scene.cleaned, 1);
	CHECK_EQ(scene.returned, 0);
	destroy_scene();
}

static void cancelled_with_the_mutex(enum call call)
{
	for (EACH_SCENE(call)) {
		start_waiter(wait_to_be_cancelled);
		until_asleep(&waiter);
		OK(pthread_cancel(waiter.pthread));
		check_cancelled();
	}
}

static void handlers_cause_no_error(enum call call)
{
	for (EACH_SCENE(call)) {
		start_waiter(wait_in_scene);
		storm_at(&waiter);
		CHECK_EQ(scene.returned, 0);
		permit_and_join();
	}
}

#define WAITERS 6

static struct thread waiters[WAITERS];

static void start_waiters(void)
{
	START_ALL(waiters, wait_in_scene, NULL);
	UNTIL(look(&scene.waiting) == WAITERS);
}

static void join_waiters(void)
{
	JOIN_ALL(waiters);
	CHECK_EQ(scene.passed, WAITERS);
}

static void signal_one_by_one(enum call call, bool held)
{
	for (EACH_SCENE(call)) {
		start_waiters();
		for (int i = 0; i < WAITERS; i++) {
			permit_by(signal_one, 1, held);
			UNTIL(look(&scene.passed) == i + 1);
		}
		join_waiters();
		destroy_scene();
	}
}

/* It unblocks all of them, called once. */
static void notify_all_by(notify *notify, enum call call, bool held)
{
	for (EACH_SCENE(call)) {
		start_waiters();
		permit_by(notify, WAITERS, held);
		join_waiters();
		destroy_scene();
	}
}

static void notify_none_by(notify *notify)
{
	struct timespec at;

	make_scene(0, WAIT);
	errno = 4711;
	for (int i = 0; i < 5; i++)
		OK(notify(COND));
	CHECK_EQ(errno, 4711);
	/* No more than a few returns for no reason. */
	at = in_ms(CLOCK_REALTIME, 20);
	time_out_in_scene(TIMEDWAIT, &at);
}

static void destroy_after_broadcast(bool held)
{
	for (EACH_SCENE(WAIT)) {
		start_waiters();
		OK(lock(MUTEX));
		scene.permits = WAITERS;
		OK(broadcast(COND));
		if (!held)
			OK(unlock(MUTEX));
		OK(destroy_cond(COND));
		/* The memory may serve something else from here on. */
		memset(COND, 0xff, sizeof(*COND));
		if (held)
			OK(unlock(MUTEX));
		join_waiters();
	}
}

static void refuses_nanoseconds(enum call call)
{
	for (EACH_SCENE(call)) {
		OK(lock(MUTEX));
		for (EACH(i, invalid_deadlines))
			CHECK_ERR(wait_until(call, COND, MUTEX,
					     &invalid_deadlines[i]), EINVAL);
		check_own();
		OK(unlock(MUTEX));
	}
}

static void deadline_already_passed(enum call call)
{
	const struct timespec just_now[] = {
		in_ms(clock_of(call), -1), in_ms(clock_of(call), -5000),
	};

	for (EACH_SCENE(call)) {
		OK(lock(MUTEX));
		for (EACH(i, just_now))
			until_timed_out(call, COND, MUTEX, &just_now[i]);
		for (EACH(i, passed_deadlines))
			until_timed_out(call, COND, MUTEX, &passed_deadlines[i]);
		check_own();
		OK(unlock(MUTEX));
	}
}

/* `clock` is the one that the call's deadlines are times of. */
static void times_out(enum call call, clockid_t clock)
{
	struct timespec at = in_ms(clock, 10);

	OK(lock(MUTEX));
	errno = 4711;
	until_timed_out(call, COND, MUTEX, &at);
	CHECK_EQ(errno, 4711);
	CHECK_REACHED(clock, at);
	check_own();
	OK(unlock(MUTEX));
	check_not_taken(MUTEX);
}

#endif
