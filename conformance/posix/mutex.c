/* XSH, the pages of mutexes. */
#include "calls.h"
#include "children.h"
#include "deadlines.h"
#include "memory.h"
#include "mutexes.h"
#include "../pthread/held.h"

/* Each clause runs in a process of its own, with these. */
static pthread_mutex_t mutex;

/* The page's call, with a deadline that no test reaches where it has one. */
static int lock_until(enum call call, pthread_mutex_t *mutex, const struct timespec *at)
{
	switch (call) {
	case WAIT:
		return pthread_mutex_lock(mutex);
	case TRY:
		return pthread_mutex_trylock(mutex);
	case TIMEDWAIT:
		return pthread_mutex_timedlock(mutex, at);
	default:
		return pthread_mutex_clocklock(mutex, clock_of(call), at);
	}
}

#define lock pthread_mutex_lock
#define trylock pthread_mutex_trylock
#define unlock pthread_mutex_unlock
#define destroy_mutex pthread_mutex_destroy
#define EACH_MUTEX(mutex) EACH_MADE(mutex, ORDINARY)
#include "locking.h"

/* Clauses that the pages share: of timedlock and clocklock, or of all that lock. */
#define TIMED_CLAUSES(part, says) \
	CLAUSES_TIMED(pthread_mutex_timedlock, pthread_mutex_clocklock, part, says)

#define LOCK_CLAUSES(part, says)					\
	static void part(enum call call);				\
	CLAUSE_OVER(pthread_mutex_lock__##part, says, part, WAIT, WAIT)	\
	CLAUSE_OVER(pthread_mutex_trylock__##part, says, part, TRY, TRY) \
	TIMED_CLAUSES(part, says)

/* ---------------------------------------------------- init and destroy -- */

CLAUSE(pthread_mutex_init__desc_3__has_the_attributes,
       "the mutex has the attributes of the attributes object")
{
	pthread_mutex_t checks, counts;

	OK(make_mutex(&checks, ERRORCHECK));
	OK(make_mutex(&counts, RECURSIVE));
	OK(pthread_mutex_lock(&checks));
	CHECK_ERR(pthread_mutex_lock(&checks), EDEADLK);
	OK(pthread_mutex_lock(&counts));
	OK(pthread_mutex_lock(&counts));
}

/* It is free, and neither checks nor counts its owner's locks: a second one waits. */
static void check_default(pthread_mutex_t *mutex)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);

	OK(pthread_mutex_trylock(mutex));
	CHECK_ERR(pthread_mutex_trylock(mutex), EBUSY);
	CHECK_ERR(pthread_mutex_timedlock(mutex, &soon), ETIMEDOUT);
	check_taken_once(mutex);
}

CLAUSE(pthread_mutex_init__desc_3__null_stands_for_the_defaults,
       "without an attributes object it is as with one that holds the defaults")
{
	pthread_mutex_t mutexes[2];
	pthread_mutexattr_t attr;
	int ceiling;

	OK(pthread_mutexattr_init(&attr));
	OK(pthread_mutex_init(&mutexes[0], NULL));
	OK(pthread_mutex_init(&mutexes[1], &attr));
	for (EACH(i, mutexes)) {
		check_default(&mutexes[i]);
		CHECK_ERR(pthread_mutex_getprioceiling(&mutexes[i], &ceiling), EINVAL);
		CHECK_ERR(pthread_mutex_consistent(&mutexes[i]), EINVAL);
	}
}

CLAUSE(pthread_mutex_init__desc_3__is_unlocked,
       "the mutex is initialised and unlocked when the call returns, whatever the memory held")
{
	for (EACH_ORDINARY(i)) {
		for (EACH_FILLING(mutex)) {
			OK(make_mutex(&mutex, ordinary[i]));
			OK(pthread_mutex_trylock(&mutex));
			check_taken_once(&mutex);
			OK(pthread_mutex_destroy(&mutex));
		}
	}
}

static pthread_mutex_t initialised_static = PTHREAD_MUTEX_INITIALIZER;

CLAUSE(pthread_mutex_init__desc_6__initialiser_is_init_with_null,
       "the initialiser makes what init without attributes makes, in static memory and in "
       "automatic")
{
	pthread_mutex_t automatic = PTHREAD_MUTEX_INITIALIZER, assigned;
	pthread_mutex_t *all[] = { &initialised_static, &automatic, &assigned };

	memset(&assigned, 0xff, sizeof(assigned));
	assigned = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	for (EACH(i, all)) {
		check_default(all[i]);
		OK(pthread_mutex_destroy(all[i]));
	}
}

CLAUSE_IN("glibc extension", pthread_mutex_init__desc_6__initialisers_np,
	  "the initialisers with _NP make recursive, error-checking and adaptive mutexes")
{
	static pthread_mutex_t counts = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	static pthread_mutex_t checks = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	static pthread_mutex_t spins = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

	OK(pthread_mutex_lock(&counts));
	OK(pthread_mutex_lock(&counts));
	OK(pthread_mutex_unlock(&counts));
	check_taken_once(&counts);
	CHECK_ERR(pthread_mutex_unlock(&checks), EPERM);
	OK(pthread_mutex_lock(&checks));
	CHECK_ERR(pthread_mutex_lock(&checks), EDEADLK);
	check_taken_once(&checks);
	OK(pthread_mutex_lock(&spins));
	CHECK_ERR(pthread_mutex_trylock(&spins), EBUSY);
	check_taken_once(&spins);
}

CLAUSE(pthread_mutex_init__ret__0, "0 for every kind that there is, and errno is left alone")
{
	errno = 4711;
	for (EACH_KIND(kind)) {
		OK(make_mutex(&mutex, kind));
		OK(pthread_mutex_destroy(&mutex));
	}
	CHECK_EQ(errno, 4711);
}

CLAUSE_IN("glibc: ENOTSUP", pthread_mutex_init__err_ENOTSUP__robust_and_protected,
	  "a mutex that is both robust and priority-protected is refused")
{
	pthread_mutexattr_t attr;

	OK(pthread_mutexattr_init(&attr));
	OK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	OK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT));
	CHECK_ERR(pthread_mutex_init(&mutex, &attr), ENOTSUP);
	OK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_NONE));
	OK(pthread_mutex_init(&mutex, &attr));
}

CLAUSE(pthread_mutex_destroy__desc_1__is_uninitialised,
       "the mutex becomes uninitialised: in glibc no operation takes it any more")
{
	static const enum call calls[] = { WAIT, TRY, TIMEDWAIT, CLOCKWAIT_MONOTONIC };

	for (EACH_MUTEX(&mutex)) {
		OK(pthread_mutex_destroy(&mutex));
		for (EACH(i, calls))
			CHECK_ERR(lock_by(calls[i], &mutex), EINVAL);
		CHECK_ERR(pthread_mutex_unlock(&mutex), EINVAL);
		CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
	}
}

CLAUSE(pthread_mutex_destroy__desc_1__can_be_initialised_again,
       "a destroyed mutex can be initialised again, and its old attributes are gone")
{
	for (EACH_ORDINARY(i)) {
		OK(make_mutex(&mutex, ordinary[i]));
		CHECK_USABLE(&mutex);
		OK(pthread_mutex_destroy(&mutex));
		OK(make_mutex(&mutex, ERRORCHECK));
		OK(pthread_mutex_lock(&mutex));
		CHECK_ERR(pthread_mutex_lock(&mutex), EDEADLK);
		OK(pthread_mutex_unlock(&mutex));
		OK(pthread_mutex_destroy(&mutex));
		OK(make_mutex(&mutex, ordinary[i]));
		OK(pthread_mutex_trylock(&mutex));
		OK(pthread_mutex_unlock(&mutex));
		OK(pthread_mutex_destroy(&mutex));
	}
}

static void make_own(pthread_mutex_t *mutex, int round)
{
	OK(make_mutex(mutex, round % OWN_KINDS));
}

CLAUSE_BY(check_destroyed_by_the_last(make_own),
	  pthread_mutex_destroy__desc_2__at_once_after_the_unlock,
	  "an unlocked mutex can be destroyed at once by the thread that had it last, while "
	  "others return from its unlock")

CLAUSE(pthread_mutex_destroy__ret__0,
       "0 when the mutex is unlocked and no thread uses it, and errno is left alone")
{
	errno = 4711;
	for (EACH_MUTEX(&mutex)) {
		CHECK_USABLE(&mutex);
		OK(pthread_mutex_destroy(&mutex));
	}
	CHECK_EQ(errno, 4711);
}

THREAD(destroy_busy, void *mutex)
{
	CHECK_ERR(pthread_mutex_destroy(mutex), EBUSY);
}

#define NOT_ROBUST \
	DEFAULT, NORMAL, RECURSIVE, ERRORCHECK, ADAPTIVE, PSHARED, PI

CLAUSE(pthread_mutex_destroy__err_EBUSY__locked,
       "2001's may-fail, which glibc does: a locked mutex isn't destroyed, and stays locked")
{
	for (EACH_MADE(&mutex, NOT_ROBUST)) {
		OK(pthread_mutex_lock(&mutex));
		CHECK_ERR(pthread_mutex_destroy(&mutex), EBUSY);
		in_a_thread(destroy_busy, &mutex);
		check_taken_once(&mutex);
	}
}

CLAUSE(pthread_mutex_destroy__err_EBUSY__recursive_until_the_last_unlock,
       "2001's may-fail, which glibc does: nor is a recursive mutex of which one lock is left")
{
	OK(make_mutex(&mutex, RECURSIVE));
	OK(pthread_mutex_lock(&mutex));
	OK(pthread_mutex_lock(&mutex));
	OK(pthread_mutex_unlock(&mutex));
	CHECK_ERR(pthread_mutex_destroy(&mutex), EBUSY);
	OK(pthread_mutex_unlock(&mutex));
	OK(pthread_mutex_destroy(&mutex));
}

/* Once all waiters are gone, the mutex can be destroyed; before that, it is in use. */
static void check_busy_while_waited_with(enum kind kind)
{
	struct gate gate;

	make_gate(&gate, kind);
	start(&waiter, wait_for_permit, &gate);
	until_waiting(&gate, 1);
	until_asleep(&waiter);
	CHECK_ERR(pthread_mutex_destroy(&gate.mutex), EBUSY);
	/* Nothing has changed for the waiter. */
	permit(&gate, 1, pthread_cond_signal);
	join(&waiter);
	OK(pthread_mutex_destroy(&gate.mutex));
}

CLAUSE(pthread_mutex_destroy__err_EBUSY__waited_with_on_a_condvar,
       "2001's may-fail, which glibc does: an unlocked mutex with which a thread waits on a "
       "condvar is in use")
{
	for (EACH_OWN(kind))
		check_busy_while_waited_with(kind);
}

CLAUSE(pthread_mutex_destroy__err_EBUSY__shared_or_pi_waited_with,
       "the same of mutexes that processes share or that inherit priorities")
{
	check_busy_while_waited_with(PSHARED);
	check_busy_while_waited_with(PI);
}

/* ----------------------------------------------------------------- lock -- */

CLAUSE(pthread_mutex_lock__desc_1__locks,
       "the mutex is locked, with the caller as its owner, when the call returns 0")
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	OK(pthread_mutex_lock(&mutex));
	CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
	OK(pthread_mutex_unlock(&mutex));
}

CLAUSE_BY(check_blocks(WAIT, 3), pthread_mutex_lock__desc_1__blocks_until_available,
	  "it blocks while another thread has the mutex, until that is available, one thread "
	  "after the other")

THREAD(lock_and_check_ownership, void *mutex)
{
	OK(pthread_mutex_lock(mutex));
	CHECK_ERR(pthread_mutex_lock(mutex), EDEADLK);
	OK(pthread_mutex_unlock(mutex));
	CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
}

CLAUSE(pthread_mutex_lock__desc_1__owned_after_waiting,
       "a thread that has waited for it owns it afterwards, and no other does")
{
	struct thread holder;
	struct held held;

	hold_elsewhere(&held, &holder, ERRORCHECK);
	start_asleep(&waiter, lock_and_check_ownership, &held.mutex);
	CHECK_ERR(pthread_mutex_unlock(&held.mutex), EPERM);
	held.release = true;
	join(&waiter);
	let_go(&held, &holder);
}

CLAUSE_BY(check_excludes(), pthread_mutex_lock__desc_1__excludes,
	  "one thread at a time has it, and sees what was written under it before (XBD 4.12)")

static _Atomic bool locked_twice;

THREAD(lock_twice, void *mutex)
{
	OK(pthread_mutex_lock(mutex));
	pthread_mutex_lock(mutex);
	locked_twice = true;
}

/* The thread is stuck until the process ends. */
static void check_relock_deadlocks(pthread_mutex_t *mutex, int kind)
{
	CHECK(made(mutex, kind));
	start_asleep(&waiter, lock_twice, mutex);
	sleep_ms(20);
	CHECK(!locked_twice);
	CHECK(is_asleep(waiter.tid));
}

CLAUSE_BY(check_relock_deadlocks(&mutex, NORMAL),
	  pthread_mutex_lock__desc_1__relock_normal_deadlocks,
	  "table, relock: a normal mutex deadlocks")

CLAUSE_BY(check_relock_deadlocks(&mutex, ROBUST_OF + NORMAL),
	  pthread_mutex_lock__desc_1__relock_robust_normal_deadlocks,
	  "table, relock: a robust normal mutex deadlocks")

CLAUSE(pthread_mutex_lock__desc_1__relock_default_deadlocks,
       "table, relock: undefined for a default mutex; glibc's, and its adaptive one, deadlock")
{
	static pthread_mutex_t other;

	check_relock_deadlocks(&mutex, DEFAULT);
	check_relock_deadlocks(&other, ADAPTIVE);
}

static void counts(int kind, enum call first, enum call second)
{
	CHECK(made(&mutex, kind));
	check_counts(first, second);
	CHECK_ERR(pthread_mutex_unlock(&mutex), EPERM);
}

CLAUSE_BY(counts(RECURSIVE, WAIT, TRY), pthread_mutex_lock__desc_2__recursive_counts,
	  "recursive: each lock by the owner counts one up, each unlock one down, and at zero "
	  "others may have it")

CLAUSE_BY(counts(ROBUST_OF + RECURSIVE, WAIT, TRY),
	  pthread_mutex_lock__desc_2__robust_recursive_counts,
	  "a robust recursive mutex counts too")

CLAUSE(pthread_mutex_lock__ret__0,
       "0 when it has locked, and errno is left alone, whether it had to wait or not")
{
	errno = 4711;
	for (EACH_MUTEX(&mutex))
		CHECK_USABLE(&mutex);
	CHECK_EQ(errno, 4711);
}

CLAUSE(pthread_mutex_lock__err_EDEADLK__errorcheck_relock,
       "an error-checking mutex that the caller owns, robust or not, isn't locked again")
{
	for (EACH_MADE(&mutex, ERRORCHECK, ROBUST_OF + ERRORCHECK)) {
		OK(pthread_mutex_lock(&mutex));
		CHECK_ERR(pthread_mutex_lock(&mutex), EDEADLK);
		CHECK_ERR(pthread_mutex_lock(&mutex), EDEADLK);
		check_taken_once(&mutex);
	}
}

CLAUSE_BY(check_storm(WAIT), pthread_mutex_lock__desc_5__handlers_dont_end_the_wait,
	  "a thread that waits goes on waiting when a signal handler returns, as if there had "
	  "been none; there is no EINTR")

static pthread_mutex_t handlers_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int handler_locked;

static void lock_in_handler(int signal UNUSED)
{
	if (pthread_mutex_trylock(&handlers_mutex))
		return;
	handler_locked++;
	pthread_mutex_unlock(&handlers_mutex);
}

CLAUSE_IN("glibc extension", pthread_mutex_lock__desc_5__handler_uses_another_mutex,
	  "a handler that interrupts the wait for one mutex may try another, and the wait goes on")
{
	OK(make_mutex(&mutex, DEFAULT));
	handle_by(SIGUSR2, lock_in_handler, 0);
	start_entering(&waiter, 1, enter, WAIT);
	while (handler_locked < 20) {
		until_asleep(&waiter);
		OK(pthread_kill(waiter.pthread, SIGUSR2));
	}
	CHECK_EQ(entered, 0);
	OK(pthread_mutex_unlock(&mutex));
	join(&waiter);
}

CLAUSE_IN("XSH 2.9.5.2", pthread_mutex_lock__desc_1__is_no_cancellation_point,
	  "it is no cancellation point: a thread that is cancelled in it gets the mutex first")
{
	check_no_cancellation_point(WAIT);
}

/* -------------------------------------------------------------- trylock -- */

CLAUSE(pthread_mutex_trylock__desc_3__locks, "it locks a mutex that is free as lock does")
{
	errno = 4711;
	for (EACH_MUTEX(&mutex)) {
		OK(pthread_mutex_trylock(&mutex));
		check_taken(&mutex);
		OK(pthread_mutex_unlock(&mutex));
		OK(pthread_mutex_trylock(&mutex));
		OK(pthread_mutex_unlock(&mutex));
	}
	CHECK_EQ(errno, 4711);
}

/* The owner waits for this thread: to block would be to hang. */
THREAD(try_twice, void *argument UNUSED)
{
	errno = 4711;
	CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
	CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
	CHECK_EQ(errno, 4711);
}

CLAUSE_BY(check_elsewhere(try_twice, TRY), pthread_mutex_trylock__err_EBUSY__locked_by_another,
	  "the mutex is locked by another thread; the call returns at once")

/* It stays locked once, whatever the answer. */
static int try_own(pthread_mutex_t *mutex)
{
	int error;

	OK(pthread_mutex_lock(mutex));
	error = pthread_mutex_trylock(mutex);
	check_taken_once(mutex);
	return error;
}

CLAUSE(pthread_mutex_trylock__err_EBUSY__locked_by_the_caller,
       "the mutex isn't recursive and is locked by the caller itself: no deadlock, nor EDEADLK")
{
	for (EACH_MADE(&mutex, DEFAULT, NORMAL, ERRORCHECK, ADAPTIVE, PSHARED, ROBUST, PI))
		CHECK_ERR(try_own(&mutex), EBUSY);
}

CLAUSE(pthread_mutex_trylock__err_EBUSY__robust_errorcheck_of_the_caller,
       "the same of a robust error-checking mutex, of which glibc, whose mutex it is on both "
       "sides, says EDEADLK: a deviation")
{
	int error;

	make_robust(&mutex, PTHREAD_MUTEX_ERRORCHECK, false);
	error = try_own(&mutex);
	CHECK(error == EBUSY || error == EDEADLK);
}

CLAUSE(pthread_mutex_trylock__err_EBUSY__recursive_of_another,
       "a recursive mutex's other locks don't let another thread in")
{
	OK(make_mutex(&mutex, RECURSIVE));
	OK(pthread_mutex_trylock(&mutex));
	OK(pthread_mutex_trylock(&mutex));
	check_taken(&mutex);
	OK(pthread_mutex_unlock(&mutex));
	check_taken_once(&mutex);
}

CLAUSE(pthread_mutex_trylock__desc_3__recursive_counts,
       "on a recursive mutex of the caller's it counts one up and succeeds at once")
{
	counts(RECURSIVE, TRY, TRY);
	counts(ROBUST_OF + RECURSIVE, TRY, TRY);
}

/* --------------------------------------------------------------- unlock -- */

CLAUSE(pthread_mutex_unlock__desc_4__releases,
       "the mutex is free afterwards, of whatever kind and however it was locked")
{
	for (EACH_MUTEX(&mutex)) {
		for (enum call call = WAIT; at_call(call, TRY + 1); call++) {
			OK(lock_by(call, &mutex));
			check_taken(&mutex);
			errno = 4711;
			OK(pthread_mutex_unlock(&mutex));
			CHECK_EQ(errno, 4711);
			check_not_taken(&mutex);
		}
	}
}

CLAUSE_BY(check_blocks(WAIT, 2), pthread_mutex_unlock__desc_4__lets_a_waiter_have_it,
	  "a thread that waits gets the mutex that becomes available")

CLAUSE(pthread_mutex_unlock__desc_4__recursive_waits_for_zero,
       "a recursive mutex becomes available when the count is zero, not before, and its waiters "
       "sleep on till then")
{
	OK(make_mutex(&mutex, RECURSIVE));
	OK(pthread_mutex_lock(&mutex));
	OK(pthread_mutex_lock(&mutex));
	start_entering(&waiter, 1, enter, WAIT);
	for (int i = 0; i < 3; i++) {
		until_asleep(&waiter);
		CHECK_EQ(entered, 0);
		OK(pthread_mutex_unlock(&mutex));
	}
	join(&waiter);
	CHECK_EQ(entered, 2);
}

static int next;

THREAD(take_place, int *place)
{
	OK(pthread_mutex_lock(&mutex));
	*place = next++;
	OK(pthread_mutex_unlock(&mutex));
}

CLAUSE(pthread_mutex_unlock__desc_4__by_priority,
       "of real-time threads that wait, the one with the highest priority gets the mutex first, "
       "however late it came")
{
	struct thread waiters[3];
	int places[3];

	for (EACH_MUTEX(&mutex)) {
		next = 0;
		become_realtime(LEAST + 9);
		OK(pthread_mutex_lock(&mutex));
		for (int i = 0; i < 3; i++) {
			become_realtime(LEAST + i);
			start_asleep(&waiters[i], take_place, &places[i]);
		}
		OK(pthread_mutex_unlock(&mutex));
		JOIN_ALL(waiters);
		for (int i = 0; i < 3; i++)
			if (places[i] != 2 - i)
				FAIL("waiter %d was number %d", i, places[i]);
	}
}

THREAD(unlock_eperm, void *mutex)
{
	CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
}

/* Neither another's, nor one that is free, nor one that was the caller's. */
static void check_eperm(pthread_mutex_t *mutex)
{
	CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
	OK(pthread_mutex_lock(mutex));
	in_a_thread(unlock_eperm, mutex);
	check_taken(mutex);
	OK(pthread_mutex_unlock(mutex));
	CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
	check_not_taken(mutex);
	CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
	OK(pthread_mutex_destroy(mutex));
}

#define EPERM_CLAUSE(of, says, ...)					\
	CLAUSE(pthread_mutex_unlock__err_EPERM__##of, says)		\
	{								\
		for (EACH_MADE(&mutex, __VA_ARGS__))			\
			check_eperm(&mutex);				\
	}

EPERM_CLAUSE(errorcheck,
	     "an error-checking mutex that the caller doesn't own, another's or nobody's",
	     ERRORCHECK)

EPERM_CLAUSE(recursive, "a recursive mutex that the caller doesn't own, another's or nobody's",
	     RECURSIVE)

EPERM_CLAUSE(robust,
	     "a robust mutex of whatever type that the caller doesn't own, another's or nobody's",
	     ROBUST_OF + DEFAULT, ROBUST_OF + NORMAL, ROBUST_OF + RECURSIVE, ROBUST_OF + ERRORCHECK,
	     ROBUST_OF + ADAPTIVE)

EPERM_CLAUSE(inheriting,
	     "glibc's, which asks the kernel: a mutex that inherits priorities and isn't the "
	     "caller's",
	     PI)

THREAD(unlock_ok, void *mutex)
{
	OK(pthread_mutex_unlock(mutex));
}

CLAUSE(pthread_mutex_unlock__desc_1__normal_by_another_thread,
       "table, not owner: undefined for normal and default mutexes; glibc unlocks them for any "
       "thread")
{
	for (EACH_MADE(&mutex, DEFAULT, NORMAL, ADAPTIVE)) {
		OK(pthread_mutex_lock(&mutex));
		in_a_thread(unlock_ok, &mutex);
		check_not_taken(&mutex);
	}
}

CLAUSE(pthread_mutex_unlock__desc_1__normal_that_is_free,
       "table, unlocked: undefined for normal and default mutexes; glibc says 0, and the mutex "
       "can be locked by one")
{
	for (EACH_MADE(&mutex, DEFAULT, NORMAL, ADAPTIVE)) {
		OK(pthread_mutex_unlock(&mutex));
		OK(pthread_mutex_lock(&mutex));
		check_taken_once(&mutex);
	}
}

/* ----------------------------------------------- timedlock and clocklock -- */

CLAUSE_BY(check_free_past_the_deadline(TIMEDWAIT),
	  pthread_mutex_timedlock__desc_4__free_locks_past_the_deadline,
	  "a mutex that is free is locked, though the deadline has passed")

CLAUSE_OVER(pthread_mutex_clocklock__desc_4__free_locks_past_the_deadline,
	    "new in 2024, as is the whole call: a mutex that is free is locked, though the "
	    "deadline has passed",
	    check_free_past_the_deadline, CLOCKWAIT_REALTIME, CLOCKWAIT_MONOTONIC)

TIMED_CLAUSES(desc_4__free_ignores_a_bad_deadline,
	      "the deadline needn't be valid where the mutex is free, and glibc doesn't look at it")
{
	for (EACH_OWN(kind)) {
		OK(make_mutex(&mutex, kind));
		for (EACH(i, invalid_deadlines)) {
			OK(lock_until(call, &mutex, &invalid_deadlines[i]));
			OK(pthread_mutex_unlock(&mutex));
		}
	}
}

TIMED_CLAUSES(desc_1__blocks_until_available,
	      "it blocks while another has the mutex, and locks it when it becomes available "
	      "before the deadline")
{
	check_blocks(call, 1);
}

CLAUSE_BY(check_elsewhere(time_out, TIMEDWAIT),
	  pthread_mutex_timedlock__err_ETIMEDOUT__at_the_deadline,
	  "the deadline, a time of CLOCK_REALTIME, is reached, and not before, without the mutex "
	  "being available")

CLAUSE(pthread_mutex_clocklock__err_ETIMEDOUT__at_the_deadline,
       "the deadline, a time of the clock that is named, is reached, and not before, without the "
       "mutex being available")
{
	check_elsewhere(time_out, CLOCKWAIT_REALTIME);
	check_elsewhere(time_out, CLOCKWAIT_MONOTONIC);
}

TIMED_CLAUSES(desc_2__deadline_already_passed,
	      "a deadline that has passed before the call is reached")
{
	check_elsewhere(find_it_passed, call);
}

#define WITHOUT_PROTOCOL \
	DEFAULT, NORMAL, RECURSIVE, ERRORCHECK, ADAPTIVE, PSHARED, ROBUST

/* The kernel refuses these for PI mutexes, and glibc passes that on. */
TIMED_CLAUSES(desc_2__negative_seconds_are_past, "so is one before the clock's beginning")
{
	for (EACH_MADE(&mutex, WITHOUT_PROTOCOL))
		run_elsewhere(find_it_negative, call);
}

TIMED_CLAUSES(desc_2__far_deadline_isnt_reached,
	      "a deadline as far off as there is isn't reached, whatever that comes to in "
	      "nanoseconds")
{
	for (EACH_MADE(&mutex, DEFAULT, ERRORCHECK, RECURSIVE, ROBUST))
		check_far(call);
}

TIMED_CLAUSES(err_EINVAL__bad_nanoseconds,
	      "it would have to wait, and the nanoseconds are negative or a second and more")
{
	check_elsewhere(refuse_nanoseconds, call);
}

CLAUSE(pthread_mutex_clocklock__err_EINVAL__bad_clock,
       "the clock is none that can be waited on; glibc says so of a free mutex and of the "
       "caller's own, too")
{
	struct timespec at = in_ms(CLOCK_MONOTONIC, 1000);

	for (EACH_MUTEX(&mutex)) {
		for (int own = 0; own < 2; own++) {
			if (own)
				OK(pthread_mutex_trylock(&mutex));
			for (EACH(i, invalid_clocks))
				CHECK_ERR(pthread_mutex_clocklock(&mutex, invalid_clocks[i], &at),
					  EINVAL);
		}
		OK(pthread_mutex_unlock(&mutex));
	}
}

TIMED_CLAUSES(err_EDEADLK__errorcheck_relock,
	      "an error-checking mutex that the caller owns isn't waited for")
{
	struct timespec at;

	for (EACH_MADE(&mutex, ERRORCHECK, ROBUST_OF + ERRORCHECK)) {
		at = in_ms(clock_of(call), LONG_MS);
		OK(lock_until(call, &mutex, &at));
		CHECK_ERR(lock_until(call, &mutex, &at), EDEADLK);
		/* Whatever the deadline. */
		at.tv_sec = 0;
		CHECK_ERR(lock_until(call, &mutex, &at), EDEADLK);
		check_taken_once(&mutex);
	}
}

TIMED_CLAUSES(err_ETIMEDOUT__own_normal_mutex,
	      "a normal mutex that the caller has itself isn't available in time, and stays the "
	      "caller's")
{
	struct timespec at;

	for (EACH_MADE(&mutex, NORMAL, DEFAULT, ADAPTIVE, ROBUST_OF + NORMAL)) {
		OK(pthread_mutex_lock(&mutex));
		at = in_ms(clock_of(call), 10);
		CHECK_ERR(lock_until(call, &mutex, &at), ETIMEDOUT);
		check_taken_once(&mutex);
	}
}

TIMED_CLAUSES(desc_1__recursive_counts,
	      "on a recursive mutex of the caller's it counts one up, past the deadline too")
{
	counts(RECURSIVE, call, call);
}

THREAD(time_out_in_storm, _Atomic int *stage)
{
	clockid_t clock = clock_of(entering);
	struct timespec at = in_ms(clock, 50);

	CHECK_ERR(lock_until(entering, &mutex, &at), ETIMEDOUT);
	CHECK(now_ns(clock) >= ns_of(&at));
	*stage = 1;
	/* The storm's victim has to be there until it is over. */
	UNTIL(*stage == 2);
}

TIMED_CLAUSES(desc_2__handlers_dont_move_the_deadline,
	      "signal handlers move the deadline neither forth nor back")
{
	_Atomic int stage = 0;
	struct storm storm;

	entering = call;
	OK(make_mutex(&mutex, DEFAULT));
	OK(pthread_mutex_lock(&mutex));
	start(&waiter, time_out_in_storm, (void *)&stage);
	begin_storm(&storm, &waiter);
	UNTIL(stage == 1);
	end_storm(&storm);
	stage = 2;
	join(&waiter);
	OK(pthread_mutex_unlock(&mutex));
}

TIMED_CLAUSES(err_EINTR__never,
	      "never EINTR: a thread that waits goes on waiting when a signal handler returns")
{
	check_storm(call);
}

/* ---------------------------------------------- errors of all that lock -- */

LOCK_CLAUSES(err_EAGAIN__recursive_count_is_full,
	     "a recursive mutex that can count no further isn't locked once more")
{
	OK(make_mutex(&mutex, RECURSIVE));
	OK(pthread_mutex_lock(&mutex));
	/* Four thousand million locks take too long. */
	mutex.__data.__count = UINT_MAX;
	CHECK_ERR(lock_by(call, &mutex), EAGAIN);
	CHECK_EQ(mutex.__data.__count, UINT_MAX);
	mutex.__data.__count = 1;
	OK(pthread_mutex_unlock(&mutex));
	check_not_taken(&mutex);
}

LOCK_CLAUSES(err_EINVAL__above_the_ceiling,
	     "the caller's priority is higher than the ceiling of a priority-protected mutex")
{
	become_realtime(LEAST + 3);
	make_protected(&mutex, PTHREAD_MUTEX_NORMAL, LEAST + 2);
	CHECK_ERR(lock_by(call, &mutex), EINVAL);
	become_realtime(LEAST + 2);
	OK(lock_by(call, &mutex));
	OK(pthread_mutex_unlock(&mutex));
	OK(pthread_mutex_destroy(&mutex));
}

struct mourner {
	pthread_mutex_t *mutex;
	enum call call;
	int wanted;
};

THREAD(lock_wanted, struct mourner *mourner)
{
	CHECK_ERR(lock_by(mourner->call, mourner->mutex), mourner->wanted);
}

static void wait_as_the_owner_is_killed(enum call call)
{
	pthread_mutex_t *mutex = shared_memory(sizeof(*mutex));
	_Atomic bool *locked = shared_memory(sizeof(*locked));
	struct mourner mourner = { mutex, call, EOWNERDEAD };
	struct thread waiter;
	pid_t child;
	int status;

	make_robust(mutex, PTHREAD_MUTEX_DEFAULT, true);
	IN_CHILD(child) {
		OK(pthread_mutex_lock(mutex));
		*locked = true;
		for (;;)
			pause();
	}
	UNTIL(*locked);
	start_asleep(&waiter, lock_wanted, &mourner);
	CHECK(!kill(child, SIGKILL));
	CHECK_EQ(waitpid(child, &status, 0), child);
	join(&waiter);
}

CLAUSE_BY(wait_as_the_owner_is_killed(WAIT),
	  pthread_mutex_lock__err_EOWNERDEAD__process_killed_while_waiting,
	  "the owner's process is killed while the caller waits already")

LOCK_CLAUSES(err_EOWNERDEAD__process_ended,
	     "the robust mutex's owner was in a process that has ended; the caller has the lock")
{
	pthread_mutex_t *mutex = shared_memory(sizeof(*mutex));

	make_robust(mutex, PTHREAD_MUTEX_DEFAULT, true);
	IN_A_CHILD
		OK(pthread_mutex_lock(mutex));
	CHECK_ERR(lock_by(call, mutex), EOWNERDEAD);
	OK(pthread_mutex_consistent(mutex));
	OK(pthread_mutex_unlock(mutex));
	OK(lock_by(call, mutex));
	OK(pthread_mutex_unlock(mutex));
	OK(pthread_mutex_destroy(mutex));
	if (call != TRY)
		wait_as_the_owner_is_killed(call);
}

LOCK_CLAUSES(err_EOWNERDEAD__thread_ended,
	     "may fail, which glibc does: the robust mutex's owner was a thread that has ended; "
	     "the caller has the lock")
{
	for (EACH_MADE(&mutex, ROBUST_OF + DEFAULT, ROBUST_OF + NORMAL, ROBUST_OF + RECURSIVE,
		       ROBUST_OF + ERRORCHECK)) {
		orphan(&mutex);
		CHECK_ERR(lock_by(call, &mutex), EOWNERDEAD);
		/* The caller owns it, though the call says an error. */
		check_taken(&mutex);
		OK(pthread_mutex_consistent(&mutex));
		OK(pthread_mutex_unlock(&mutex));
		CHECK_ERR(pthread_mutex_unlock(&mutex), EPERM);
		check_not_taken(&mutex);
		OK(pthread_mutex_destroy(&mutex));
	}
}

static void make_inconsistent(pthread_mutex_t *mutex)
{
	make_robust(mutex, PTHREAD_MUTEX_DEFAULT, false);
	orphan(mutex);
	CHECK_ERR(pthread_mutex_lock(mutex), EOWNERDEAD);
}

/* An owner didn't make it consistent: no thread can lock it ever after. */
static void make_unrecoverable(pthread_mutex_t *mutex)
{
	make_inconsistent(mutex);
	OK(pthread_mutex_unlock(mutex));
}

LOCK_CLAUSES(err_ENOTRECOVERABLE__not_made_consistent,
	     "unlocked by an owner that didn't make it consistent, the mutex can't be locked again")
{
	make_unrecoverable(&mutex);
	CHECK_ERR(lock_by(call, &mutex), ENOTRECOVERABLE);
	/*
	 * For good, and without being locked. glibc's trylock, which is
	 * furwock's too for these, does lock it, and says EBUSY from then on.
	 */
	if (call != TRY) {
		CHECK_ERR(lock_by(call, &mutex), ENOTRECOVERABLE);
		CHECK_ERR(pthread_mutex_unlock(&mutex), EPERM);
	}
	OK(pthread_mutex_destroy(&mutex));
}

CLAUSE(pthread_mutex_lock__desc_8__usable_after_consistent,
       "once consistent, the mutex is as before, and the death of its next owner is told again")
{
	make_robust(&mutex, PTHREAD_MUTEX_ERRORCHECK, false);
	for (int i = 0; i < 5; i++) {
		orphan(&mutex);
		CHECK_ERR(pthread_mutex_lock(&mutex), EOWNERDEAD);
		OK(pthread_mutex_consistent(&mutex));
		CHECK_ERR(pthread_mutex_lock(&mutex), EDEADLK);
		OK(pthread_mutex_unlock(&mutex));
		CHECK_USABLE(&mutex);
	}
}

CLAUSE(pthread_mutex_lock__desc_8__second_owner_dies_too,
       "an owner that has been told of the death and dies too, without having made it consistent, "
       "leaves it inconsistent to the next")
{
	struct mourner second = { &mutex, WAIT, EOWNERDEAD };

	make_robust(&mutex, PTHREAD_MUTEX_DEFAULT, false);
	orphan(&mutex);
	in_a_thread(lock_wanted, &second);
	CHECK_ERR(pthread_mutex_lock(&mutex), EOWNERDEAD);
	OK(pthread_mutex_consistent(&mutex));
	OK(pthread_mutex_unlock(&mutex));
	OK(pthread_mutex_lock(&mutex));
}

CLAUSE(pthread_mutex_lock__desc_8__waiter_learns_it_is_not_recoverable,
       "a thread that waits already for a mutex that becomes unusable is told so")
{
	struct mourner mourner = { &mutex, WAIT, ENOTRECOVERABLE };
	struct thread waiter;

	make_inconsistent(&mutex);
	/* One only: glibc, whose mutex this is on both sides, forgets others. */
	start_asleep(&waiter, lock_wanted, &mourner);
	OK(pthread_mutex_unlock(&mutex));
	join(&waiter);
}

CLAUSE(pthread_mutex_lock__desc_8__unusable_can_be_destroyed,
       "a mutex that is unusable can be destroyed, and be initialised anew")
{
	make_unrecoverable(&mutex);
	OK(pthread_mutex_destroy(&mutex));
	make_robust(&mutex, PTHREAD_MUTEX_DEFAULT, false);
	CHECK_USABLE(&mutex);
}

struct inheritance {
	pthread_mutex_t mutex;
	_Atomic int stage;
	_Atomic bool seen;
};

THREAD(hold_and_inherit, struct inheritance *inheritance)
{
	OK(pthread_mutex_lock(&inheritance->mutex));
	inheritance->stage = 1;
	UNTIL(inheritance->stage == 2);
	OK(pthread_mutex_unlock(&inheritance->mutex));
	inheritance->stage = 3;
	UNTIL(inheritance->stage == 4);
}

/* Until it has been seen to pass on its priority. */
THREAD(time_out_with_priority, struct inheritance *inheritance)
{
	struct timespec at;

	do {
		at = in_ms(CLOCK_REALTIME, 100);
		CHECK_ERR(pthread_mutex_timedlock(&inheritance->mutex, &at),
			  ETIMEDOUT);
	} while (!inheritance->seen);
}

CLAUSE(pthread_mutex_timedlock__desc_5__owner_loses_what_it_inherited,
       "when the wait for an inheriting mutex ends by its deadline, the owner runs on without the "
       "priority that it inherited")
{
	struct inheritance inheritance = { .stage = 0 };
	struct thread owner, waiter;

	OK(make_mutex(&inheritance.mutex, PI));
	/* Started threads have the priority that the starter has. */
	become_realtime(LEAST);
	start(&owner, hold_and_inherit, &inheritance);
	UNTIL(inheritance.stage == 1);
	CHECK_EQ(priority_of(owner.tid), -1 - LEAST);
	become_realtime(LEAST + 4);
	start(&waiter, time_out_with_priority, &inheritance);
	UNTIL(priority_of(owner.tid) == -1 - (LEAST + 4));
	inheritance.seen = true;
	join(&waiter);
	CHECK_EQ(priority_of(owner.tid), -1 - LEAST);
	inheritance.stage = 2;
	UNTIL(inheritance.stage == 3);
	inheritance.stage = 4;
	join(&owner);
}

/* ----------------------------------------------------------- consistent -- */

CLAUSE(pthread_mutex_consistent__desc_1__makes_it_usable,
       "it makes the state that a dead owner left consistent, and the mutex usable again")
{
	make_inconsistent(&mutex);
	OK(pthread_mutex_consistent(&mutex));
	OK(pthread_mutex_unlock(&mutex));
	CHECK_USABLE(&mutex);
	check_not_taken(&mutex);
}

CLAUSE(pthread_mutex_consistent__desc_1__keeps_it_locked,
       "it doesn't unlock: the caller keeps the mutex")
{
	make_robust(&mutex, PTHREAD_MUTEX_ERRORCHECK, false);
	orphan(&mutex);
	CHECK_ERR(pthread_mutex_trylock(&mutex), EOWNERDEAD);
	errno = 4711;
	OK(pthread_mutex_consistent(&mutex));
	CHECK_EQ(errno, 4711);
	check_taken(&mutex);
	CHECK_ERR(pthread_mutex_lock(&mutex), EDEADLK);
	OK(pthread_mutex_unlock(&mutex));
}

CLAUSE(pthread_mutex_consistent__desc_1__recursive_has_one_lock,
       "of a recursive mutex that was locked more than once, one lock is left, the caller's")
{
	pthread_mutex_t *mutex = shared_memory(sizeof(*mutex));

	make_robust(mutex, PTHREAD_MUTEX_RECURSIVE, true);
	IN_A_CHILD
		for (int i = 0; i < 3; i++)
			OK(pthread_mutex_lock(mutex));
	CHECK_ERR(pthread_mutex_lock(mutex), EOWNERDEAD);
	OK(pthread_mutex_consistent(mutex));
	OK(pthread_mutex_unlock(mutex));
	check_not_taken(mutex);
}

CLAUSE(pthread_mutex_consistent__err_EINVAL__not_robust, "the mutex isn't robust")
{
	for (EACH_MADE(&mutex, NOT_ROBUST)) {
		CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
		OK(pthread_mutex_lock(&mutex));
		CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
		OK(pthread_mutex_unlock(&mutex));
	}
}

CLAUSE(pthread_mutex_consistent__err_EINVAL__not_inconsistent,
       "the mutex protects a state that is consistent, whether nobody or the caller has it")
{
	make_robust(&mutex, PTHREAD_MUTEX_DEFAULT, false);
	CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
	OK(pthread_mutex_lock(&mutex));
	CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
	OK(pthread_mutex_unlock(&mutex));
	orphan(&mutex);
	/* No thread has been told yet. */
	CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
	CHECK_ERR(pthread_mutex_lock(&mutex), EOWNERDEAD);
	OK(pthread_mutex_consistent(&mutex));
	CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
	OK(pthread_mutex_unlock(&mutex));
}

CLAUSE(pthread_mutex_consistent__err_EINVAL__not_recoverable,
       "it is too late for a mutex that can't be recovered")
{
	make_unrecoverable(&mutex);
	CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
	CHECK_ERR(pthread_mutex_lock(&mutex), ENOTRECOVERABLE);
}

CLAUSE_IN("glibc extension", pthread_mutex_consistent__desc_1__old_name,
	  "the older name with _np, which old programs call, does the same")
{
	int (*consistent_np)(pthread_mutex_t *mutex);

	consistent_np = dlvsym(RTLD_DEFAULT, "pthread_mutex_consistent_np", "GLIBC_2.4");
	if (!consistent_np)
		SKIP("this glibc has no pthread_mutex_consistent_np");
	make_robust(&mutex, PTHREAD_MUTEX_DEFAULT, false);
	CHECK_ERR(consistent_np(&mutex), EINVAL);
	orphan(&mutex);
	CHECK_ERR(pthread_mutex_lock(&mutex), EOWNERDEAD);
	OK(consistent_np(&mutex));
	OK(pthread_mutex_unlock(&mutex));
	OK(pthread_mutex_lock(&mutex));
}

/* ------------------------------------------------------ priority ceilings -- */

CLAUSE(pthread_mutex_getprioceiling__desc_1__tells_the_ceiling,
       "it tells the mutex's ceiling, the attributes' at first")
{
	int most = sched_get_priority_max(SCHED_FIFO);
	int told;

	for (int ceiling = LEAST; ceiling <= most; ceiling += 7) {
		make_protected(&mutex, PTHREAD_MUTEX_NORMAL, ceiling);
		errno = 4711;
		told = -1;
		OK(pthread_mutex_getprioceiling(&mutex, &told));
		CHECK_EQ(told, ceiling);
		CHECK_EQ(errno, 4711);
		OK(pthread_mutex_destroy(&mutex));
	}
}

CLAUSE(pthread_mutex_getprioceiling__err_EINVAL__no_protocol,
       "the mutex has no protocol and so no ceiling")
{
	int told = -17;

	for (EACH_MADE(&mutex, WITHOUT_PROTOCOL)) {
		CHECK_ERR(pthread_mutex_getprioceiling(&mutex, &told), EINVAL);
		CHECK_EQ(told, -17);
	}
}

CLAUSE(pthread_mutex_setprioceiling__desc_2__changes_it,
       "it changes the ceiling and tells the one before")
{
	int told = -1;

	become_realtime(LEAST);
	make_protected(&mutex, PTHREAD_MUTEX_NORMAL, LEAST + 3);
	errno = 4711;
	OK(pthread_mutex_setprioceiling(&mutex, LEAST + 5, &told));
	CHECK_EQ(told, LEAST + 3);
	OK(pthread_mutex_setprioceiling(&mutex, LEAST + 2, &told));
	OK(pthread_mutex_getprioceiling(&mutex, &told));
	CHECK_EQ(told, LEAST + 2);
	CHECK_EQ(errno, 4711);
	/* It is in effect, and the mutex is free. */
	become_realtime(LEAST + 3);
	CHECK_ERR(pthread_mutex_lock(&mutex), EINVAL);
	become_realtime(LEAST + 2);
	OK(pthread_mutex_trylock(&mutex));
	OK(pthread_mutex_unlock(&mutex));
}

struct change {
	struct held held;
	_Atomic bool changed;
	int ceiling, before;
};

THREAD(change_ceiling, struct change *change)
{
	OK(pthread_mutex_setprioceiling(&change->held.mutex, change->ceiling, &change->before));
	change->changed = true;
}

CLAUSE(pthread_mutex_setprioceiling__desc_2__waits_for_the_mutex,
       "it waits until it can lock the mutex, and unlocks it afterwards")
{
	struct thread holder, changer;
	struct change change = { .ceiling = LEAST + 6 };
	int told;

	become_realtime(LEAST);
	make_protected(&change.held.mutex, PTHREAD_MUTEX_NORMAL, LEAST + 3);
	hold_made(&change.held, &holder);
	start_asleep(&changer, change_ceiling, &change);
	CHECK(!change.changed);
	change.held.release = true;
	join(&changer);
	OK(pthread_mutex_getprioceiling(&change.held.mutex, &told));
	CHECK_EQ(told, LEAST + 6);
	let_go(&change.held, &holder);
}

CLAUSE(pthread_mutex_setprioceiling__desc_2__from_above_the_ceiling,
       "it isn't bound by the old ceiling when it locks: a thread above that can raise it")
{
	int told;

	become_realtime(LEAST + 5);
	make_protected(&mutex, PTHREAD_MUTEX_NORMAL, LEAST + 1);
	CHECK_ERR(pthread_mutex_lock(&mutex), EINVAL);
	OK(pthread_mutex_setprioceiling(&mutex, LEAST + 6, &told));
	CHECK_USABLE(&mutex);
}

CLAUSE(pthread_mutex_setprioceiling__err_EINVAL__out_of_range,
       "the ceiling is out of range, and the old one stays")
{
	int most = sched_get_priority_max(SCHED_FIFO);
	const int bad[] = { LEAST - 1, most + 1, -1, INT_MAX, INT_MIN };
	int told = -17;

	make_protected(&mutex, PTHREAD_MUTEX_NORMAL, LEAST + 2);
	for (EACH(i, bad)) {
		CHECK_ERR(pthread_mutex_setprioceiling(&mutex, bad[i], &told), EINVAL);
		CHECK_EQ(told, -17);
	}
	OK(pthread_mutex_getprioceiling(&mutex, &told));
	CHECK_EQ(told, LEAST + 2);
}

CLAUSE(pthread_mutex_setprioceiling__err_EINVAL__no_protocol,
       "the mutex has no protocol and so no ceiling")
{
	int told = -17;

	for (EACH_MADE(&mutex, WITHOUT_PROTOCOL)) {
		CHECK_ERR(pthread_mutex_setprioceiling(&mutex, 1, &told), EINVAL);
		CHECK_EQ(told, -17);
		OK(pthread_mutex_trylock(&mutex));
		OK(pthread_mutex_unlock(&mutex));
	}
}

CLAUSE(pthread_mutex_setprioceiling__err_EDEADLK__own_errorcheck,
       "an error-checking mutex that the caller owns keeps its ceiling")
{
	int told;

	become_realtime(LEAST);
	make_protected(&mutex, PTHREAD_MUTEX_ERRORCHECK, LEAST + 2);
	OK(pthread_mutex_lock(&mutex));
	CHECK_ERR(pthread_mutex_setprioceiling(&mutex, LEAST + 3, &told), EDEADLK);
	OK(pthread_mutex_getprioceiling(&mutex, &told));
	CHECK_EQ(told, LEAST + 2);
	OK(pthread_mutex_unlock(&mutex));
}
