/* XSH, the pages of condition variables. */
#include "calls.h"
#include "memory.h"
#include "mutexes.h"
#include "../pthread/held.h"

/* Clauses that the pages share, of all three waits or of those with a deadline. */
#define WAIT_CLAUSES(part, says)					\
	CLAUSES_WAITING(pthread_cond_wait, pthread_cond_timedwait,	\
			pthread_cond_clockwait, part, says)
#define WAIT_CLAUSES_BY(check, part, says)				\
	CLAUSES_WAITING_BY(check, pthread_cond_wait, pthread_cond_timedwait, \
			   pthread_cond_clockwait, part, says)
#define TIMED_CLAUSES(part, says) \
	CLAUSES_TIMED(pthread_cond_timedwait, pthread_cond_clockwait, part, says)
#define TIMED_CLAUSES_BY(check, part, says)				\
	CLAUSES_TIMED_BY(check, pthread_cond_timedwait,			\
			 pthread_cond_clockwait, part, says)

static int wait_until(enum call call, pthread_cond_t *cond,
		      pthread_mutex_t *mutex, const struct timespec *at)
{
	switch (call) {
	case WAIT:
		return pthread_cond_wait(cond, mutex);
	case TIMEDWAIT:
		return pthread_cond_timedwait(cond, mutex, at);
	default:
		return pthread_cond_clockwait(cond, mutex, clock_of(call), at);
	}
}

#define lock pthread_mutex_lock
#define trylock pthread_mutex_trylock
#define unlock pthread_mutex_unlock
#define destroy_mutex pthread_mutex_destroy
#define init_cond(cond) pthread_cond_init(cond, NULL)
#define destroy_cond pthread_cond_destroy
#define signal_one pthread_cond_signal
#define broadcast pthread_cond_broadcast
#include "condvars.h"

static void make_scene_of(enum kind kind, enum call call)
{
	memset(&scene, 0, sizeof(scene));
	scene.kind = kind;
	scene.call = call;
	OK(make_mutex(MUTEX, kind));
	OK(init_cond(COND));
}

/* With each ordinary mutex, and a condvar of the process's own or a shared one. */
static bool make_scene(size_t nth, enum call call)
{
	if (!at_ordinary(nth / 2))
		return false;
	make_scene_of(ordinary[nth / 2], call);
	if (nth % 2)
		make_cond(COND, CLOCK_REALTIME, true);
	return true;
}

/* for (EACH_SHARED(shared)): a condvar of the process's own, and a shared one. */
#define EACH_SHARED(shared)						\
	int shared = 0;							\
	shared < 2 && (make_cond(COND, CLOCK_REALTIME, shared), true); shared++

/* The waiter has got as far as to its wait, and sleeps. */
static void sleep_in_scene(void *(*run)(void *argument))
{
	start(&waiter, run, NULL);
	UNTIL(scene.stage);
	until_asleep(&waiter);
}

/* ----------------------------------------------------- init and destroy -- */

/* Notifications do no harm, and a wait that none ends is ended by its deadline. */
static void check_works(pthread_cond_t *cond)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 5);
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	OK(pthread_cond_signal(cond));
	OK(pthread_cond_broadcast(cond));
	OK(pthread_mutex_lock(&mutex));
	until_timed_out(TIMEDWAIT, cond, &mutex, &at);
	OK(pthread_mutex_unlock(&mutex));
}

CLAUSE(pthread_cond_init__desc_3__is_initialised,
       "the condvar is initialised, without waiters or signals, whatever the memory held")
{
	pthread_condattr_t attr;
	pthread_cond_t cond;

	OK(pthread_condattr_init(&attr));
	errno = 4711;
	for (int with = 0; with < 2; with++) {
		for (EACH_FILLING(cond)) {
			OK(pthread_cond_init(&cond, with ? &attr : NULL));
			check_works(&cond);
			OK(pthread_cond_destroy(&cond));
		}
	}
	CHECK_EQ(errno, 4711);
}

CLAUSE(pthread_cond_init__desc_3__null_stands_for_the_defaults,
       "without an attributes object it has the defaults: its deadlines are times of "
       "CLOCK_REALTIME")
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct timespec at = in_ms(CLOCK_REALTIME, 20);
	pthread_cond_t cond;

	OK(pthread_cond_init(&cond, NULL));
	OK(pthread_mutex_lock(&mutex));
	until_timed_out(TIMEDWAIT, &cond, &mutex, &at);
	CHECK_REACHED(CLOCK_REALTIME, at);
	OK(pthread_mutex_unlock(&mutex));
}

static pthread_cond_t initialised_static = PTHREAD_COND_INITIALIZER;

CLAUSE(pthread_cond_init__desc_6__initialiser_is_init_with_null,
       "the initialiser makes what init without attributes makes, in static memory and in "
       "automatic")
{
	pthread_cond_t automatic = PTHREAD_COND_INITIALIZER, assigned;
	pthread_cond_t *all[] = { &initialised_static, &automatic, &assigned };

	memset(&assigned, 0xff, sizeof(assigned));
	assigned = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	for (EACH(i, all)) {
		check_works(all[i]);
		OK(pthread_cond_destroy(all[i]));
	}
	/* Threads wait by it, too. */
	make_scene_of(DEFAULT, WAIT);
	scene.cond = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	start_waiter(wait_in_scene);
	permit_and_join();
}

CLAUSE(pthread_cond_destroy__desc_1__can_be_initialised_again,
       "a destroyed condvar can be initialised again, and its old attributes are gone")
{
	pthread_cond_t cond;

	errno = 4711;
	for (int i = 0; i < 3; i++) {
		make_cond(&cond, CLOCK_MONOTONIC, i % 2);
		OK(pthread_cond_destroy(&cond));
		make_cond(&cond, CLOCK_REALTIME, false);
		check_works(&cond);
		OK(pthread_cond_destroy(&cond));
	}
	CHECK_EQ(errno, 4711);
}

CLAUSE(pthread_cond_destroy__desc_2__without_waiters,
       "it can be destroyed when nobody is blocked on it, after waits that were signalled and "
       "that timed out")
{
	struct timespec at = in_ms(CLOCK_REALTIME, 5);

	for (EACH_SCENE(WAIT)) {
		start_waiter(wait_in_scene);
		permit_and_join();
		time_out_in_scene(TIMEDWAIT, &at);
		OK(pthread_cond_destroy(COND));
	}
}

CLAUSE(pthread_cond_destroy__desc_2__at_once_after_a_broadcast,
       "it can be destroyed as soon as all waiters have been awakened, though they have yet to "
       "get the mutex")
{
	for (int round = 0; round < 10; round++)
		destroy_after_broadcast(round % 2);
}

/* ----------------------------------------------------------------- wait -- */

#define RELEASES							\
	"it blocks on the condvar with the mutex released, and returns 0 with the mutex " \
	"locked and owned when signalled"

CLAUSE_BY(releases_and_blocks(WAIT), pthread_cond_wait__desc_1__releases_and_blocks, RELEASES)

CLAUSE_BY(releases_and_blocks(TIMEDWAIT), pthread_cond_timedwait__desc_1__releases_and_blocks,
	  RELEASES)

CLAUSE_OVER(pthread_cond_clockwait__desc_1__releases_and_blocks,
	    "new in 2024, as is the whole call: " RELEASES,
	    releases_and_blocks, CLOCKWAIT_REALTIME, CLOCKWAIT_MONOTONIC)

WAIT_CLAUSES_BY(atomically, desc_2__atomically,
		"release and block are one: a thread that gets the mutex after the waiter, and "
		"signals, finds it blocked")

WAIT_CLAUSES(desc_3__waits_for_the_mutex,
	     "a thread that is awakened doesn't return before it has the mutex")
{
	for (EACH_SCENE(call)) {
		start_waiter(wait_in_scene);
		OK(pthread_mutex_lock(MUTEX));
		scene.permits = 1;
		OK(pthread_cond_signal(COND));
		sleep_ms(3);
		CHECK_EQ(scene.passed, 0);
		OK(pthread_mutex_unlock(MUTEX));
		join(&waiter);
		CHECK_EQ(scene.passed, 1);
	}
}

CLAUSE(pthread_cond_wait__desc_6__another_mutex_once_nobody_waits,
       "once nobody waits any more, the next may wait with another mutex")
{
	make_scene_of(DEFAULT, WAIT);
	for (EACH_MADE(MUTEX, ORDINARY)) {
		scene.waiting = 0;
		start_waiter(wait_in_scene);
		permit_and_join();
		OK(pthread_mutex_destroy(MUTEX));
	}
}

CLAUSE(pthread_cond_wait__desc_6__several_condvars_one_mutex,
       "one mutex serves several condvars, and a signal to one wakes none of the others' waiters")
{
	struct timespec at = in_ms(CLOCK_REALTIME, 20);
	pthread_cond_t other = PTHREAD_COND_INITIALIZER;

	make_scene_of(DEFAULT, WAIT);
	start_waiter(wait_in_scene);
	/* Had these woken it, the permit below would be lost. */
	OK(pthread_mutex_lock(MUTEX));
	for (int i = 0; i < 10; i++)
		OK(pthread_cond_broadcast(&other));
	until_timed_out(TIMEDWAIT, &other, MUTEX, &at);
	OK(pthread_mutex_unlock(MUTEX));
	until_asleep(&waiter);
	CHECK_EQ(scene.passed, 0);
	permit_and_join();
}

CLAUSE(pthread_cond_wait__desc_1__recursive_locked_once,
       "with a recursive mutex that is locked once, the wait releases it, and has it once again "
       "afterwards")
{
	make_scene_of(RECURSIVE, WAIT);
	start_waiter(wait_in_scene);
	/* Free: another thread locks it, and more than once. */
	OK(pthread_mutex_lock(MUTEX));
	OK(pthread_mutex_lock(MUTEX));
	scene.permits = 1;
	OK(pthread_cond_signal(COND));
	OK(pthread_mutex_unlock(MUTEX));
	sleep_ms(3);
	CHECK_EQ(scene.passed, 0);
	OK(pthread_mutex_unlock(MUTEX));
	join(&waiter);
	/* Its one unlock has freed it. */
	CHECK_USABLE(MUTEX);
	CHECK_ERR(pthread_mutex_unlock(MUTEX), EPERM);
}

CLAUSE(pthread_cond_wait__desc_1__recursive_locked_more_than_once,
       "undefined with a recursive mutex that is locked more than once: glibc takes off one lock, "
       "and puts it back")
{
	struct timespec at = in_ms(CLOCK_REALTIME, 10);

	make_scene_of(RECURSIVE, WAIT);
	for (int i = 0; i < 3; i++)
		OK(pthread_mutex_lock(MUTEX));
	until_timed_out(TIMEDWAIT, COND, MUTEX, &at);
	for (int i = 0; i < 3; i++) {
		check_taken(MUTEX);
		OK(pthread_mutex_unlock(MUTEX));
	}
	CHECK_ERR(pthread_mutex_unlock(MUTEX), EPERM);
	check_not_taken(MUTEX);
}

/* By every call. */
static void check_refused(pthread_cond_t *cond, pthread_mutex_t *mutex, int error)
{
	for (EACH_CALL(call))
		CHECK_ERR(wait_long(call, cond, mutex), error);
}

static void check_not_owned(int kind)
{
	struct held held;
	struct thread holder;

	for (EACH_SHARED(shared)) {
		CHECK(made(&held.mutex, kind));
		check_refused(COND, &held.mutex, EPERM);
		/* Nor has that locked it. */
		check_not_taken(&held.mutex);
		hold_made(&held, &holder);
		check_refused(COND, &held.mutex, EPERM);
		CHECK_ERR(pthread_mutex_trylock(&held.mutex), EBUSY);
		let_go(&held, &holder);
		OK(pthread_cond_destroy(COND));
	}
}

CLAUSE_BY(check_not_owned(ERRORCHECK), pthread_cond_wait__err_EPERM__errorcheck,
	  "the mutex is error-checking and not the caller's, but another's or nobody's; every "
	  "call says so")

CLAUSE(pthread_cond_wait__err_EPERM__robust,
       "the mutex is robust, of whatever type, and not the caller's")
{
	for (EACH(type, types))
		check_not_owned(ROBUST_OF + type);
}

CLAUSE_BY(check_not_owned(RECURSIVE), pthread_cond_wait__err_EPERM__recursive,
	  "glibc's: the mutex is recursive and not the caller's")

CLAUSE(pthread_cond_wait__err_EPERM__leaves_all_as_it_was,
       "an error from before the wait leaves condvar and mutex as they were, and consumes no "
       "signal")
{
	make_scene_of(ERRORCHECK, WAIT);
	start_waiter(wait_in_scene);
	check_refused(COND, MUTEX, EPERM);
	permit_by(pthread_cond_signal, 1, false);
	check_refused(COND, MUTEX, EPERM);
	join(&waiter);
}

CLAUSE(pthread_cond_wait__err_EINVAL__destroyed_mutex,
       "glibc's: the mutex is destroyed; there is nothing to wait for then")
{
	for (EACH_SHARED(shared)) {
		OK(make_mutex(MUTEX, DEFAULT));
		OK(pthread_mutex_destroy(MUTEX));
		check_refused(COND, MUTEX, EINVAL);
	}
}

/* In the wait it doesn't hold the mutex, and runs at its own priority. */
THREAD(wait_below_the_ceiling, void *argument UNUSED)
{
	OK(pthread_mutex_lock(MUTEX));
	CHECK_EQ(priority_of(gettid()), -1 - (LEAST + 5));
	scene.waiting++;
	while (!scene.permits)
		OK(pthread_cond_wait(COND, MUTEX));
	CHECK_EQ(priority_of(gettid()), -1 - (LEAST + 5));
	scene.passed++;
	OK(pthread_mutex_unlock(MUTEX));
	CHECK_EQ(priority_of(gettid()), -1 - LEAST);
}

CLAUSE(pthread_cond_wait__desc_1__protected_mutex,
       "with a priority-protected mutex, the wait gives back the mutex's ceiling, and has it "
       "again afterwards")
{
	become_realtime(LEAST);
	for (EACH_SHARED(shared)) {
		scene.waiting = scene.permits = scene.passed = 0;
		make_protected(MUTEX, PTHREAD_MUTEX_NORMAL, LEAST + 5);
		start_waiter(wait_below_the_ceiling);
		until_asleep(&waiter);
		CHECK_EQ(priority_of(waiter.tid), -1 - LEAST);
		permit_and_join();
		CHECK_EQ(scene.passed, 1);
	}
}

/* -------------------------------------------------- robust: owners that die -- */

THREAD(signal_and_die, void *argument UNUSED)
{
	OK(pthread_mutex_lock(MUTEX));
	scene.permits = 1;
	OK(pthread_cond_signal(COND));
}

static int wanted;

THREAD(wait_for_the_dead, void *argument UNUSED)
{
	int error;

	OK(pthread_mutex_lock(MUTEX));
	scene.stage = 1;
	do
		error = wait_long(scene.call, COND, MUTEX);
	while (!error && !scene.permits);
	CHECK_ERR(error, wanted);
	if (error == EOWNERDEAD) {
		/* The wait has ended with the mutex, all the same. */
		check_taken(MUTEX);
		OK(pthread_mutex_consistent(MUTEX));
		OK(pthread_mutex_unlock(MUTEX));
	} else {
		CHECK_ERR(pthread_mutex_unlock(MUTEX), EPERM);
	}
}

static void start_to_wait_for_the_dead(enum call call, bool shared, int error)
{
	make_robust(MUTEX, PTHREAD_MUTEX_DEFAULT, shared);
	scene.call = call;
	scene.stage = scene.permits = 0;
	wanted = error;
	sleep_in_scene(wait_for_the_dead);
}

WAIT_CLAUSES(err_EOWNERDEAD__last_owner_died,
	     "the thread that had the robust mutex when the wait was to end has died; the caller "
	     "has the mutex")
{
	for (EACH_SHARED(shared)) {
		start_to_wait_for_the_dead(call, shared, EOWNERDEAD);
		in_a_thread(signal_and_die, NULL);
		join(&waiter);
		check_not_taken(MUTEX);
	}
}

WAIT_CLAUSES(err_ENOTRECOVERABLE__mutex_unusable,
	     "the robust mutex has become unusable meanwhile; the caller doesn't have it")
{
	OK(pthread_cond_init(COND, NULL));
	start_to_wait_for_the_dead(call, false, ENOTRECOVERABLE);
	orphan(MUTEX);
	CHECK_ERR(pthread_mutex_lock(MUTEX), EOWNERDEAD);
	scene.permits = 1;
	OK(pthread_mutex_unlock(MUTEX));
	OK(pthread_cond_signal(COND));
	join(&waiter);
}

/* --------------------------------------------------------- cancellation -- */

WAIT_CLAUSES_BY(cancelled_with_the_mutex, desc_7__cancelled_with_the_mutex,
		"it is a cancellation point, and has the mutex again before the first cleanup "
		"handler runs")

CLAUSE(pthread_cond_wait__desc_7__cancelled_while_the_mutex_is_taken,
       "a thread that is cancelled while another has the mutex waits for that, and is cancelled "
       "then")
{
	for (EACH_CALL(call)) {
		for (EACH_SCENE(call)) {
			start_waiter(wait_to_be_cancelled);
			OK(pthread_mutex_lock(MUTEX));
			OK(pthread_cancel(waiter.pthread));
			sleep_ms(2);
			CHECK_EQ(scene.cleaned, 0);
			OK(pthread_mutex_unlock(MUTEX));
			check_cancelled();
		}
	}
}

static void *cancel_and_wait(void *argument UNUSED)
{
	OK(pthread_mutex_lock(MUTEX));
	pthread_cleanup_push(cleanup, NULL);
	OK(pthread_cancel(pthread_self()));
	wait_long(scene.call, COND, MUTEX);
	scene.returned++;
	pthread_cleanup_pop(0);
	return NULL;
}

CLAUSE(pthread_cond_wait__desc_7__pending_cancellation_acts,
       "a cancellation that is pending acts when the wait is called, with the mutex held")
{
	for (EACH_CALL(call)) {
		for (EACH_SCENE(call)) {
			start(&waiter, cancel_and_wait, NULL);
			check_cancelled();
		}
	}
}

THREAD(wait_disabled, void *argument)
{
	int old;

	OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
	wait_to_be_cancelled(argument);
	OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
	pthread_testcancel();
}

CLAUSE(pthread_cond_wait__desc_7__disabled_cancellation_waits,
       "it isn't cancelled while that is disabled, and the cancellation stays pending")
{
	for (EACH_CALL(call)) {
		make_scene_of(ERRORCHECK, call);
		start_waiter(wait_disabled);
		until_asleep(&waiter);
		OK(pthread_cancel(waiter.pthread));
		sleep_ms(5);
		CHECK_EQ(scene.cleaned, 0);
		permit_by(pthread_cond_broadcast, 1, true);
		CHECK(join(&waiter) == PTHREAD_CANCELED);
		CHECK_EQ(scene.returned, 1);
	}
}

/* The thread that is cancelled is signalled at about the same time. */
static void cancel_beside_signals(enum kind kind, enum call call)
{
	struct thread waiters[2];

	for (int round = 0; round < 60; round++) {
		make_scene_of(kind, call);
		START_ALL(waiters, wait_to_be_cancelled, NULL);
		UNTIL(look(&scene.waiting) == 2);
		OK(pthread_mutex_lock(MUTEX));
		scene.permits = 1;
		if (round % 3 == 0)
			OK(pthread_mutex_unlock(MUTEX));
		if (round % 2)
			OK(pthread_cancel(waiters[0].pthread));
		OK(pthread_cond_signal(COND));
		if (!(round % 2))
			OK(pthread_cancel(waiters[0].pthread));
		if (round % 3)
			OK(pthread_mutex_unlock(MUTEX));
		/* One of them takes the permit: or else the signal is lost. */
		UNTIL(look(&scene.passed) == 1);
		permit_by(pthread_cond_broadcast, 1, true);
		JOIN_ALL(waiters);
	}
}

WAIT_CLAUSES(desc_8__cancelled_consumes_no_signal,
	     "a thread that is cancelled consumes no signal that another waiter could have had")
{
	static const enum kind kinds[CALLS][3] = {
		[WAIT] = { DEFAULT, ERRORCHECK, PSHARED },
		[TIMEDWAIT] = { DEFAULT, RECURSIVE },
		[CLOCKWAIT_REALTIME] = { DEFAULT, ROBUST },
	};

	for (int i = 0; i < 3 && (i == 0 || kinds[call][i] != DEFAULT); i++)
		cancel_beside_signals(kinds[call][i], call);
}

/* ------------------------------------------------------------ deadlines -- */

static void time_out(enum call call, clockid_t condvars)
{
	for (EACH_SCENE(call)) {
		make_cond(COND, condvars, nth_ % 2);
		times_out(call, call == TIMEDWAIT ? condvars : clock_of(call));
	}
}

TIMED_CLAUSES(err_ETIMEDOUT__at_the_deadline,
	      "the deadline is reached, and not before, without a signal; the caller has the mutex")
{
	time_out(call, clock_of(call));
}

CLAUSE_BY(time_out(TIMEDWAIT, CLOCK_MONOTONIC),
	  pthread_cond_timedwait__desc_10__on_the_condvars_clock,
	  "the deadline is a time of the clock that the condvar's attributes say")

CLAUSE(pthread_cond_clockwait__desc_10__on_the_calls_clock,
       "the deadline is a time of the clock that the call names, whatever the condvar's "
       "attributes say")
{
	time_out(CLOCKWAIT_REALTIME, CLOCK_MONOTONIC);
	time_out(CLOCKWAIT_MONOTONIC, CLOCK_REALTIME);
}

TIMED_CLAUSES_BY(deadline_already_passed, desc_9__deadline_already_passed,
		 "a deadline that has passed before the call, be it before the clock's beginning, "
		 "is reached")

static struct timespec far;

THREAD(wait_until_far, void *argument UNUSED)
{
	OK(pthread_mutex_lock(MUTEX));
	scene.waiting++;
	while (!scene.permits)
		OK(wait_until(scene.call, COND, MUTEX, &far));
	scene.passed++;
	OK(pthread_mutex_unlock(MUTEX));
}

TIMED_CLAUSES(desc_9__far_deadline_isnt_reached,
	      "a deadline as far off as there is isn't reached, whatever that comes to in "
	      "nanoseconds")
{
	for (EACH(i, farthest)) {
		far = farthest[i];
		make_scene_of(i % 6, call);
		make_cond(COND, clock_of(call), i % 2);
		start_waiter(wait_until_far);
		until_asleep(&waiter);
		sleep_ms(2);
		CHECK(is_asleep(waiter.tid));
		permit_and_join();
	}
}

THREAD(get_in, void *argument UNUSED)
{
	scene.stage = 1;
	OK(pthread_mutex_lock(MUTEX));
	scene.passed = 1;
	OK(pthread_mutex_unlock(MUTEX));
}

TIMED_CLAUSES(desc_11__releases_past_the_deadline,
	      "a wait whose deadline has passed before releases the mutex and takes it again none "
	      "the less")
{
	struct timespec past = in_ms(clock_of(call), -1000);

	for (EACH_SCENE(call)) {
		OK(pthread_mutex_lock(MUTEX));
		start(&waiter, get_in, NULL);
		UNTIL(scene.stage);
		/* This thread has the mutex all the time, but for these calls. */
		while (!scene.passed)
			until_timed_out(call, COND, MUTEX, &past);
		OK(pthread_mutex_unlock(MUTEX));
		join(&waiter);
	}
}

THREAD(time_out_late, void *argument UNUSED)
{
	struct timespec at;

	OK(pthread_mutex_lock(MUTEX));
	at = in_ms(clock_of(scene.call), 10);
	scene.stage = 1;
	until_timed_out(scene.call, COND, MUTEX, &at);
	scene.passed = 1;
	OK(pthread_mutex_unlock(MUTEX));
}

/* Whether this thread had the mutex before the deadline, and kept it past it. */
static bool times_out_late(enum kind kind, enum call call)
{
	bool in_time;

	make_scene_of(kind, call);
	start(&waiter, time_out_late, NULL);
	UNTIL(scene.stage);
	OK(pthread_mutex_lock(MUTEX));
	/* A busy machine may have kept this thread off till then. */
	in_time = !scene.passed;
	sleep_ms(15);
	CHECK_EQ(scene.passed, !in_time);
	OK(pthread_mutex_unlock(MUTEX));
	join(&waiter);
	CHECK_EQ(scene.passed, 1);
	return in_time;
}

TIMED_CLAUSES(desc_11__waits_for_the_mutex,
	      "a wait that has timed out has the mutex when it returns, however long past the "
	      "deadline that is")
{
	for (EACH_ORDINARY(i))
		UNTIL(times_out_late(ordinary[i], call));
}

TIMED_CLAUSES_BY(refuses_nanoseconds, err_EINVAL__bad_nanoseconds,
		 "the nanoseconds are negative or a second and more; the caller has the mutex")

CLAUSE(pthread_cond_clockwait__err_EINVAL__bad_clock,
       "the clock is none that can be waited on; the caller has the mutex")
{
	struct timespec at = in_ms(CLOCK_MONOTONIC, 1000);

	for (EACH_SCENE(CLOCKWAIT_REALTIME)) {
		OK(pthread_mutex_lock(MUTEX));
		for (EACH(i, invalid_clocks))
			CHECK_ERR(pthread_cond_clockwait(COND, MUTEX,
							 invalid_clocks[i], &at),
				  EINVAL);
		check_own();
		OK(pthread_mutex_unlock(MUTEX));
	}
}

/* -------------------------------------------------------------- signals -- */

WAIT_CLAUSES_BY(handlers_cause_no_error, desc_12__handlers_cause_no_error,
		"when a signal handler returns the thread waits on or returns 0 as if awakened "
		"for no reason, and never EINTR")

THREAD(time_out_in_storm, void *argument UNUSED)
{
	clockid_t clock = clock_of(scene.call);
	struct timespec at = in_ms(clock, 40);
	int error = 0;

	OK(pthread_mutex_lock(MUTEX));
	while (!error)
		error = wait_until(scene.call, COND, MUTEX, &at);
	CHECK_ERR(error, ETIMEDOUT);
	CHECK(now_ns(clock) >= ns_of(&at));
	OK(pthread_mutex_unlock(MUTEX));
	scene.returned = 1;
	/* The storm's victim has to be there until it is over. */
	UNTIL(scene.stage);
}

TIMED_CLAUSES(desc_12__handlers_dont_move_the_deadline,
	      "signal handlers move the deadline neither forth nor back")
{
	struct storm storm;

	make_scene_of(DEFAULT, call);
	start(&waiter, time_out_in_storm, NULL);
	begin_storm(&storm, &waiter);
	UNTIL(scene.returned);
	end_storm(&storm);
	scene.stage = 1;
	join(&waiter);
}

/* ------------------------------------------------- signal and broadcast -- */

CLAUSE_BY(signal_one_by_one(WAIT, true), pthread_cond_signal__desc_2__unblocks_one_at_least,
	  "it unblocks one waiter at least, called with the mutex")

CLAUSE_BY(signal_one_by_one(WAIT, false), pthread_cond_signal__desc_4__without_the_mutex,
	  "and called without it")

static int signal_to_each(pthread_cond_t *cond)
{
	for (int i = 0; i < WAITERS; i++)
		OK(pthread_cond_signal(cond));
	return 0;
}

CLAUSE(pthread_cond_signal__desc_2__each_unblocks_another,
       "as many signals as there are waiters, one right after the other, unblock them all")
{
	notify_all_by(signal_to_each, WAIT, true);
	notify_all_by(signal_to_each, WAIT, false);
}

/* Signals the thread that waits by now, and waits itself. */
THREAD(signal_and_wait, void *argument UNUSED)
{
	OK(pthread_mutex_lock(MUTEX));
	scene.permits = 1;
	OK(pthread_cond_signal(COND));
	while (scene.permits)
		OK(pthread_cond_wait(COND, MUTEX));
	OK(pthread_mutex_unlock(MUTEX));
}

THREAD(take_and_signal, void *argument UNUSED)
{
	OK(pthread_mutex_lock(MUTEX));
	scene.waiting = 1;
	while (!scene.permits)
		OK(pthread_cond_wait(COND, MUTEX));
	scene.permits = 0;
	OK(pthread_cond_signal(COND));
	OK(pthread_mutex_unlock(MUTEX));
}

CLAUSE(pthread_cond_signal__desc_2__later_waiters_dont_take_it,
       "in so many words since 2024: it unblocks one of those that were blocked by then: a thread "
       "that begins to wait later can't take the signal from them")
{
	for (int round = 0; round < 100; round++) {
		make_scene_of(round % 6, WAIT);
		start_waiter(take_and_signal);
		in_a_thread(signal_and_wait, NULL);
		join(&waiter);
	}
}

CLAUSE_BY(notify_none_by(pthread_cond_signal), pthread_cond_signal__desc_5__without_waiters,
	  "it has no effect when nobody waits: it isn't kept for later")

static int places[3];

THREAD(take_place, int *place)
{
	OK(pthread_mutex_lock(MUTEX));
	scene.waiting++;
	while (!scene.permits)
		OK(pthread_cond_wait(COND, MUTEX));
	scene.permits--;
	*place = scene.passed++;
	OK(pthread_mutex_unlock(MUTEX));
}

CLAUSE(pthread_cond_signal__desc_3__by_priority,
       "of real-time threads that wait, the one with the highest priority is unblocked first, "
       "however late it came")
{
	for (EACH_SCENE(WAIT)) {
		for (int i = 0; i < 3; i++) {
			become_realtime(LEAST + i);
			start(&waiters[i], take_place, &places[i]);
			UNTIL(look(&scene.waiting) == i + 1);
			until_asleep(&waiters[i]);
		}
		become_realtime(LEAST + 9);
		for (int i = 0; i < 3; i++) {
			permit_by(pthread_cond_signal, 1, true);
			UNTIL(look(&scene.passed) > i);
		}
		join_all(waiters, 3);
		for (int i = 0; i < 3; i++)
			if (places[i] != 2 - i)
				FAIL("waiter %d was number %d", i, places[i]);
	}
}

CLAUSE_BY(notify_all_by(broadcast, WAIT, true), pthread_cond_broadcast__desc_1__unblocks_all,
	  "it unblocks all waiters, called with the mutex")

CLAUSE_BY(notify_all_by(broadcast, WAIT, false), pthread_cond_broadcast__desc_4__without_the_mutex,
	  "and called without it")

static _Atomic int next_call;
static int inside;

THREAD(wait_in_crowd, void *argument UNUSED)
{
	enum call call = next_call++ % CALLS;

	OK(pthread_mutex_lock(MUTEX));
	scene.waiting++;
	while (!scene.permits)
		OK(wait_long(call, COND, MUTEX));
	CHECK_EQ(inside++, 0);
	sched_yield();
	CHECK_EQ(--inside, 0);
	scene.passed++;
	OK(pthread_mutex_unlock(MUTEX));
}

CLAUSE(pthread_cond_broadcast__desc_3__one_has_the_mutex_at_a_time,
       "those that it unblocks have the mutex one after the other, as if each had locked it, by "
       "whichever call they wait")
{
	struct thread crowd[16];

	for (EACH_SCENE(WAIT)) {
		START_ALL(crowd, wait_in_crowd, NULL);
		UNTIL(look(&scene.waiting) == 16);
		permit_by(pthread_cond_broadcast, 1, true);
		JOIN_ALL(crowd);
		CHECK_EQ(scene.passed, 16);
	}
}

CLAUSE_BY(notify_none_by(pthread_cond_broadcast), pthread_cond_broadcast__desc_5__without_waiters,
	  "it has no effect when nobody waits: it isn't kept for later")

THREAD(broadcast_later, void *argument UNUSED)
{
	OK(pthread_mutex_lock(MUTEX));
	scene.permits = WAITERS;
	OK(pthread_mutex_unlock(MUTEX));
	/* In a thread that never waits for it and has no lock. */
	OK(pthread_cond_broadcast(COND));
}

CLAUSE(pthread_cond_broadcast__desc_4__is_no_cancellation_point,
       "neither is a cancellation point: a thread with a cancellation pending comes through both")
{
	struct thread broadcaster;

	make_scene_of(DEFAULT, WAIT);
	start_waiters();
	OK(pthread_mutex_lock(MUTEX));
	start_asleep(&broadcaster, broadcast_later, NULL);
	OK(pthread_cancel(broadcaster.pthread));
	OK(pthread_mutex_unlock(MUTEX));
	CHECK(join(&broadcaster) == NULL);
	join_waiters();
}
