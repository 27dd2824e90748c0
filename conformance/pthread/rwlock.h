/* What the programs about rwlocks share: kinds, calls, and other holders. */
#ifndef CONFORMANCE_RWLOCK_H
#define CONFORMANCE_RWLOCK_H

#include "../posix/crowd.h"

/* glibc's numbers, in a row: 0 is PTHREAD_RWLOCK_DEFAULT_NP too. */
enum rw_kind {
	PREFER_READER = PTHREAD_RWLOCK_PREFER_READER_NP,
	PREFER_WRITER = PTHREAD_RWLOCK_PREFER_WRITER_NP,
	NONRECURSIVE = PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP,
	RW_KINDS,
	/* In these a reader may always lock once more. */
	RECURSIVE_READER_KINDS = NONRECURSIVE,
};

static void UNUSED make_rwlock(pthread_rwlock_t *lock, enum rw_kind kind,
			       bool pshared)
{
	pthread_rwlockattr_t attr;

	OK(pthread_rwlockattr_init(&attr));
	OK(pthread_rwlockattr_setkind_np(&attr, kind));
	if (pshared)
		OK(pthread_rwlockattr_setpshared(&attr,
						 PTHREAD_PROCESS_SHARED));
	OK(pthread_rwlock_init(lock, &attr));
	OK(pthread_rwlockattr_destroy(&attr));
}

/* Every call that takes a lock; the clock calls by either clock. */
enum rw_call {
	RDLOCK,
	WRLOCK,
	TRYRDLOCK,
	TRYWRLOCK,
	TIMEDRDLOCK,
	TIMEDWRLOCK,
	CLOCKRDLOCK,
	CLOCKWRLOCK,
	REALCLOCKRDLOCK,
	REALCLOCKWRLOCK,
	RW_CALLS,
};

static const char *const rw_call_names[RW_CALLS] UNUSED = {
	"rdlock",      "wrlock",      "tryrdlock",   "trywrlock",
	"timedrdlock", "timedwrlock", "clockrdlock", "clockwrlock",
	"clockrdlock (CLOCK_REALTIME)", "clockwrlock (CLOCK_REALTIME)",
};

static bool UNUSED is_write(enum rw_call call)
{
	return call % 2;
}

static bool UNUSED has_deadline(enum rw_call call)
{
	return call >= TIMEDRDLOCK;
}

static clockid_t UNUSED clock_of(enum rw_call call)
{
	return call == CLOCKRDLOCK || call == CLOCKWRLOCK ? CLOCK_MONOTONIC :
							    CLOCK_REALTIME;
}

static int UNUSED take_until(pthread_rwlock_t *lock, enum rw_call call,
			     const struct timespec *at)
{
	switch (call) {
	case RDLOCK:
		return pthread_rwlock_rdlock(lock);
	case WRLOCK:
		return pthread_rwlock_wrlock(lock);
	case TRYRDLOCK:
		return pthread_rwlock_tryrdlock(lock);
	case TRYWRLOCK:
		return pthread_rwlock_trywrlock(lock);
	case TIMEDRDLOCK:
		return pthread_rwlock_timedrdlock(lock, at);
	case TIMEDWRLOCK:
		return pthread_rwlock_timedwrlock(lock, at);
	case CLOCKRDLOCK:
	case REALCLOCKRDLOCK:
		return pthread_rwlock_clockrdlock(lock, clock_of(call), at);
	default:
		return pthread_rwlock_clockwrlock(lock, clock_of(call), at);
	}
}

/* The deadline counts for the calls that have one. */
static int UNUSED take(pthread_rwlock_t *lock, enum rw_call call, int64_t ms)
{
	struct timespec at = in_ms(clock_of(call), ms);

	return take_until(lock, call, &at);
}

/* --------------------------------------------- what another thread gets -- */

struct attempt {
	pthread_rwlock_t *lock;
	enum rw_call call;
	int64_t ms;
	int error;
};

THREAD(attempt_once, struct attempt *attempt)
{
	attempt->error = take(attempt->lock, attempt->call, attempt->ms);
	if (!attempt->error)
		OK(pthread_rwlock_unlock(attempt->lock));
}

/* The call's result in a new thread, which unlocks what it got. */
static int UNUSED elsewhere_in(pthread_rwlock_t *lock, enum rw_call call,
			       int64_t ms)
{
	struct attempt attempt = { .lock = lock, .call = call, .ms = ms };
	struct thread other;

	start(&other, attempt_once, &attempt);
	join(&other);
	return attempt.error;
}

static int UNUSED elsewhere(pthread_rwlock_t *lock, enum rw_call call)
{
	return elsewhere_in(lock, call, LONG_MS);
}

/* ----------------------------------------------- another thread's lock -- */

struct holder {
	struct thread thread;
	pthread_rwlock_t *lock;
	enum rw_call call;
	/* For calls with a deadline. */
	int64_t ms;
	/* Counts the threads that have got the lock; this one's number. */
	_Atomic int *turns;
	int turn;
	/* The call's result, once it is done. */
	int error;
	_Atomic bool done, release;
};

THREAD(holder_run, struct holder *holder)
{
	errno = 4716;
	holder->error = take(holder->lock, holder->call, holder->ms);
	CHECK_EQ(errno, 4716);
	if (holder->turns)
		holder->turn = ++*holder->turns;
	holder->done = true;
	if (holder->error)
		return;
	UNTIL(holder->release);
	OK(pthread_rwlock_unlock(holder->lock));
}

static void UNUSED start_holder(struct holder *holder, pthread_rwlock_t *lock,
				enum rw_call call)
{
	*holder = (struct holder){ .lock = lock, .call = call, .ms = LONG_MS };
	start(&holder->thread, holder_run, holder);
}

/* Has the lock when this returns. */
static void UNUSED hold_elsewhere(struct holder *holder, pthread_rwlock_t *lock,
				  enum rw_call call)
{
	start_holder(holder, lock, call);
	UNTIL(holder->done);
	OK(holder->error);
}

/* Sleeps for the lock when this returns; takes a number once it has it. */
static void UNUSED wait_in_turn(struct holder *holder, pthread_rwlock_t *lock,
				enum rw_call call, _Atomic int *turns)
{
	*holder = (struct holder){
		.lock = lock,
		.call = call,
		.ms = LONG_MS,
		.turns = turns,
	};
	start_asleep(&holder->thread, holder_run, holder);
	CHECK(!holder->done);
}

static void UNUSED wait_elsewhere(struct holder *holder, pthread_rwlock_t *lock,
				  enum rw_call call)
{
	wait_in_turn(holder, lock, call, NULL);
}

/* Gets the lock, if it hasn't yet, and is gone when this returns. */
static void UNUSED let_go(struct holder *holder)
{
	holder->release = true;
	join(&holder->thread);
	OK(holder->error);
}

/* The same of several, which get the lock in any order. */
static void UNUSED let_all_go(struct holder *holders, int count)
{
	for (int i = 0; i < count; i++)
		holders[i].release = true;
	for (int i = 0; i < count; i++)
		let_go(&holders[i]);
}

/* What is true of a lock that no thread holds or waits for. */
static void UNUSED check_free(pthread_rwlock_t *lock)
{
	OK(pthread_rwlock_trywrlock(lock));
	OK(pthread_rwlock_unlock(lock));
	OK(pthread_rwlock_tryrdlock(lock));
	OK(pthread_rwlock_tryrdlock(lock));
	OK(pthread_rwlock_unlock(lock));
	OK(pthread_rwlock_unlock(lock));
	OK(elsewhere(lock, TRYWRLOCK));
	OK(elsewhere(lock, TRYRDLOCK));
}

#endif
