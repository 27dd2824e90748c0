/*
 * What holds of mutexes by POSIX's calls and by C11's alike. Before it includes
 * this, the program says which calls these are: lock, trylock, unlock,
 * destroy_mutex and lock_until. All return errors of POSIX's. Its EACH_MUTEX makes
 * `mutex` of each kind that any thread may lock.
 */
#ifndef CONFORMANCE_LOCKING_H
#define CONFORMANCE_LOCKING_H

#include "calls.h"
#include "crowd.h"
#include "deadlines.h"
#include "memory.h"
#include "mutexes.h"
#include "taken.h"
#include "../pthread/harness.h"

/* With a deadline that no test reaches, where the call has one. */
static int lock_by(enum call call, pthread_mutex_t *mutex)
{
	struct timespec at = in_ms(clock_of(call), LONG_MS);

	return lock_until(call, mutex, &at);
}

/* Threads that wait by this call for `mutex`, and have it one at a time. */
static enum call entering;
static const struct timespec *far;
static _Atomic size_t entered;
static struct thread waiter;

THREAD(enter, void *argument UNUSED)
{
	errno = 4712;
	OK(far ? lock_until(entering, &mutex, far) : lock_by(entering, &mutex));
	CHECK_EQ(errno, 4712);
	/* No other thread has it now, and the one before has left. */
	CHECK_EQ(entered++ % 2, 0);
	sched_yield();
	CHECK_EQ(entered++ % 2, 1);
	OK(unlock(&mutex));
}

/* They sleep, and none comes in, while this thread has the mutex. */
static void start_entering(struct thread *threads, size_t count,
			   void *(*run)(void *argument), enum call call)
{
	entering = call;
	entered = 0;
	OK(lock(&mutex));
	start_all(threads, count, run, NULL);
	all_asleep(threads, count);
	CHECK_EQ(entered, 0);
}

static void check_blocks(enum call call, size_t count)
{
	struct thread waiters[count];

	for (EACH_MUTEX(&mutex)) {
		start_entering(waiters, count, enter, call);
		OK(unlock(&mutex));
		/* This thread does nothing more for them. */
		JOIN_ALL(waiters);
		CHECK_EQ(entered, 2 * count);
		OK(destroy_mutex(&mutex));
	}
}

static void check_far(enum call call)
{
	for (EACH(i, farthest)) {
		far = &farthest[i];
		start_entering(&waiter, 1, enter, call);
		sleep_ms(2);
		CHECK(is_asleep(waiter.tid));
		OK(unlock(&mutex));
		join(&waiter);
	}
}

/* Each signal is handled while the victim waits, and it waits on. */
static void check_storm(enum call call)
{
	for (EACH_MUTEX(&mutex)) {
		start_entering(&waiter, 1, enter, call);
		storm_at(&waiter);
		CHECK_EQ(entered, 0);
		OK(unlock(&mutex));
		join(&waiter);
		CHECK_EQ(entered, 2);
	}
}

THREAD(enter_cancelled, void *argument)
{
	enter(argument);
	pthread_testcancel();
}

static void check_no_cancellation_point(enum call call)
{
	for (EACH_MUTEX(&mutex)) {
		start_entering(&waiter, 1, enter_cancelled, call);
		OK(pthread_cancel(waiter.pthread));
		sleep_ms(2);
		CHECK_EQ(entered, 0);
		OK(unlock(&mutex));
		CHECK(join(&waiter) == PTHREAD_CANCELED);
		CHECK_EQ(entered, 2);
	}
}

/* What another thread finds while this one has the mutex. */
static void run_elsewhere(void *(*run)(void *argument), enum call call)
{
	OK(lock(&mutex));
	in_a_thread(run, &call);
	check_taken_once(&mutex);
	OK(destroy_mutex(&mutex));
}

static void check_elsewhere(void *(*run)(void *argument), enum call call)
{
	for (EACH_MUTEX(&mutex))
		run_elsewhere(run, call);
}

THREAD(time_out, enum call *call)
{
	struct timespec at = in_ms(clock_of(*call), 15);

	errno = 4711;
	CHECK_ERR(lock_until(*call, &mutex, &at), ETIMEDOUT);
	CHECK_EQ(errno, 4711);
	CHECK_REACHED(clock_of(*call), at);
	/* The caller doesn't have it. */
	CHECK_ERR(trylock(&mutex), EBUSY);
}

THREAD(find_it_passed, enum call *call)
{
	struct timespec just_now = in_ms(clock_of(*call), -1);

	CHECK_ERR(lock_until(*call, &mutex, &just_now), ETIMEDOUT);
	for (EACH(i, long_past))
		CHECK_ERR(lock_until(*call, &mutex, &long_past[i]), ETIMEDOUT);
}

THREAD(find_it_negative, enum call *call)
{
	for (EACH(i, negative))
		CHECK_ERR(lock_until(*call, &mutex, &negative[i]), ETIMEDOUT);
}

THREAD(refuse_nanoseconds, enum call *call)
{
	for (EACH(i, invalid_nanoseconds))
		CHECK_ERR(lock_until(*call, &mutex, &invalid_nanoseconds[i]), EINVAL);
}

static void check_free_past_the_deadline(enum call call)
{
	const struct timespec passed = in_ms(clock_of(call), -1000);

	for (EACH_MUTEX(&mutex)) {
		OK(lock_until(call, &mutex, &passed));
		check_taken_once(&mutex);
		for (EACH(i, passed_deadlines)) {
			OK(lock_until(call, &mutex, &passed_deadlines[i]));
			check_taken_once(&mutex);
		}
	}
}

/* Plain: the mutex is what keeps it right. */
static long counter;

THREAD(count_3000, void *argument UNUSED)
{
	for (int i = 0; i < 3000; i++) {
		OK(i % 3 ? lock(&mutex) : lock_by(TIMEDWAIT, &mutex));
		counter++;
		OK(unlock(&mutex));
	}
}

static void check_excludes(void)
{
	for (EACH_MUTEX(&mutex)) {
		counter = 0;
		run_together(6, count_3000, NULL);
		CHECK_EQ(counter, 6 * 3000);
	}
}

/*
 * The calls take turns at a recursive mutex, also past their deadlines. It is
 * locked until as many unlocks have come.
 */
static void check_counts(enum call first, enum call second)
{
	struct timespec past = { 0, 0 };

	for (int i = 0; i < 5; i++)
		OK(lock_until(i % 2 ? second : first, &mutex, &past));
	for (int i = 0; i < 4; i++) {
		check_taken(&mutex);
		OK(unlock(&mutex));
	}
	check_taken_once(&mutex);
	CHECK(unlock(&mutex));
}

struct counted {
	pthread_mutex_t mutex;
	int references;
};

/* The last thread destroys it, perhaps while another is still in unlock. */
THREAD(drop_reference, struct counted *counted)
{
	int left;

	OK(lock(&counted->mutex));
	left = --counted->references;
	OK(unlock(&counted->mutex));
	if (left)
		return;
	OK(destroy_mutex(&counted->mutex));
	/* A thread that touches it after its unlock finds no memory there. */
	give_back(counted);
}

static void check_destroyed_by_the_last(void (*make)(pthread_mutex_t *mutex,
						     int round))
{
	struct thread threads[3];
	struct counted *counted;

	for (int round = 0; round < 100; round++) {
		counted = new_page();
		make(&counted->mutex, round);
		counted->references = 3;
		OK(lock(&counted->mutex));
		START_ALL(threads, drop_reference, counted);
		if (round % 4 == 0)
			usleep(300);
		OK(unlock(&counted->mutex));
		JOIN_ALL(threads);
	}
}

#endif
