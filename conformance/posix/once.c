/* XSH, pthread_once and call_once. */
#include "children.h"
#include "clause.h"
#include "crowd.h"
#include "handlers.h"

#include <threads.h>

/* What init routines know: they have no arguments. */
static struct {
	pthread_once_t control;
	_Atomic int begun, ended, returned, cleaned;
	_Atomic bool go;
	/* Plain: written by the routine, read by those that return. */
	int written[16];
} scene = { .control = PTHREAD_ONCE_INIT };

static void init_quickly(void)
{
	scene.begun++;
	for (int i = 0; i < 16; i++)
		scene.written[i] = i + 1;
	scene.ended++;
}

static void init_slowly(void)
{
	scene.begun++;
	UNTIL(scene.go);
	scene.written[15] = 16;
	scene.ended++;
}

static void check_written(void)
{
	for (int i = 0; i < 16; i++)
		CHECK_EQ(scene.written[i], i + 1);
}

THREAD(once_quickly, void *argument UNUSED)
{
	OK(pthread_once(&scene.control, init_quickly));
	CHECK_EQ(scene.ended, 1);
	check_written();
	scene.returned++;
}

THREAD(once_slowly, void *argument UNUSED)
{
	errno = 4720;
	OK(pthread_once(&scene.control, init_slowly));
	CHECK_EQ(errno, 4720);
	CHECK_EQ(scene.ended, 1);
	CHECK_EQ(scene.written[15], 16);
	scene.returned++;
}

CLAUSE(pthread_once__desc_1__first_call_calls_it,
       "the first call for a control calls the routine; each control counts for itself")
{
	pthread_once_t local = PTHREAD_ONCE_INIT;

	OK(pthread_once(&scene.control, init_quickly));
	CHECK_EQ(scene.ended, 1);
	/* Each control counts for itself. */
	OK(pthread_once(&local, init_quickly));
	CHECK_EQ(scene.ended, 2);
}

static void never(void)
{
	FAIL("called");
}

/* The control is as if it had never been used. */
static void check_fresh(void)
{
	OK(pthread_once(&scene.control, init_quickly));
	CHECK_EQ(scene.ended, 1);
	OK(pthread_once(&scene.control, never));
}

/* A thread that is within the routine until the scene goes on. */
static struct thread slow;

static void start_slow(void)
{
	start(&slow, once_slowly, NULL);
	UNTIL(scene.begun);
}

static void end_slow(void)
{
	scene.go = true;
	join(&slow);
}

CLAUSE(pthread_once__desc_1__later_calls_do_not, "later calls for the control call nothing")
{
	OK(pthread_once(&scene.control, init_quickly));
	for (int i = 0; i < 1000; i++)
		OK(pthread_once(&scene.control, never));
	CHECK_EQ(scene.begun, 1);
}

/* Each clause runs in a process of its own, with these. */
static struct {
	pthread_once_t controls[150];
	_Atomic int at[4];
} race;
static _Atomic int called[150];
static __thread int controls_turn;

static void count_call(void)
{
	called[controls_turn]++;
	scene.written[controls_turn % 16] = controls_turn + 1;
}

THREAD(race_through, _Atomic int *at)
{
	for (int i = 0; i < 150; i++) {
		controls_turn = i;
		*at = i;
		/* Side by side, as far as that goes. */
		while (race.at[0] < i || race.at[1] < i || race.at[2] < i || race.at[3] < i)
			sched_yield();
		OK(pthread_once(&race.controls[i], count_call));
		CHECK_EQ(called[i], 1);
	}
}

CLAUSE(pthread_once__desc_1__once_though_many_race,
       "the routine is called once, though many threads call at a time")
{
	static const pthread_once_t fresh = PTHREAD_ONCE_INIT;
	struct thread threads[4];

	for (EACH(i, race.controls))
		race.controls[i] = fresh;
	for (int i = 0; i < 4; i++)
		start(&threads[i], race_through, (void *)&race.at[i]);
	JOIN_ALL(threads);
	for (int i = 0; i < 150; i++)
		CHECK_EQ(called[i], 1);
}

CLAUSE(pthread_once__desc_1__what_it_wrote_is_seen,
       "what the routine wrote is seen by all that return (XBD, Memory Synchronization)")
{
	run_together(8, once_quickly, NULL);
	CHECK_EQ(scene.begun, 1);
	CHECK_EQ(scene.returned, 8);
}

CLAUSE(pthread_once__desc_1__others_wait_until_it_is_complete,
       "no call returns before the routine has")
{
	struct thread others[5];

	start_slow();
	START_ALL(others, once_slowly, NULL);
	ALL_ASLEEP(others);
	CHECK_EQ(scene.returned, 0);
	end_slow();
	JOIN_ALL(others);
	CHECK_EQ(scene.begun, 1);
	CHECK_EQ(scene.returned, 6);
}

static pthread_once_t inner = PTHREAD_ONCE_INIT;

static void init_outer(void)
{
	OK(pthread_once(&inner, init_quickly));
	check_written();
	scene.cleaned++;
}

CLAUSE(pthread_once__desc_1__within_another_ones_routine,
       "a routine may call it for another control")
{
	OK(pthread_once(&scene.control, init_outer));
	CHECK_EQ(scene.begun, 1);
	CHECK_EQ(scene.cleaned, 1);
	OK(pthread_once(&inner, never));
	OK(pthread_once(&scene.control, never));
}

/* Others' controls don't wait for this one's. */
CLAUSE(pthread_once__desc_1__controls_are_independent,
       "a routine that lasts keeps back no other control's")
{
	start_slow();
	OK(pthread_once(&inner, init_quickly));
	CHECK_EQ(scene.ended, 1);
	scene.ended = 0;
	end_slow();
}

CLAUSE(pthread_once__desc_1__lies_in_a_few_bytes, "nothing beside the control is written")
{
	struct {
		int before;
		pthread_once_t control;
		int after;
	} memory = { 0x5a5a5a5a, PTHREAD_ONCE_INIT, 0x5a5a5a5a };

	CHECK_EQ(sizeof(memory), 3 * sizeof(int));
	OK(pthread_once(&memory.control, init_quickly));
	OK(pthread_once(&memory.control, never));
	CHECK_EQ(memory.before, 0x5a5a5a5a);
	CHECK_EQ(memory.after, 0x5a5a5a5a);
}

/* In memory of zeros, which is what the initialiser is. */
CLAUSE(pthread_once__desc_1__zeroed_memory_is_a_fresh_control,
       "PTHREAD_ONCE_INIT makes a control fresh; in glibc that is all zeros")
{
	pthread_once_t *control = calloc(1, sizeof(*control));
	static const pthread_once_t fresh = PTHREAD_ONCE_INIT;

	CHECK(control && !memcmp(control, &fresh, sizeof(fresh)));
	OK(pthread_once(control, init_quickly));
	OK(pthread_once(control, never));
	free(control);
	CHECK_EQ(scene.begun, 1);
}

/* ---------------------------------------------------------- cancellation -- */

THREAD(pending_then_once, void *argument UNUSED)
{
	OK(pthread_cancel(pthread_self()));
	OK(pthread_once(&scene.control, init_quickly));
	OK(pthread_once(&scene.control, never));
	scene.returned++;
	pthread_testcancel();
	FAIL("not cancelled");
}

CLAUSE(pthread_once__desc_2__pending_cancellation_is_left_pending,
       "it is no cancellation point: a pending request stays pending")
{
	struct thread thread;

	start(&thread, pending_then_once, NULL);
	CHECK(join(&thread) == PTHREAD_CANCELED);
	CHECK_EQ(scene.ended, 1);
	CHECK_EQ(scene.returned, 1);
}

THREAD(once_slowly_then_point, void *argument)
{
	once_slowly(argument);
	pthread_testcancel();
	FAIL("not cancelled");
}

CLAUSE(pthread_once__desc_2__waiting_is_no_cancellation_point,
       "it is no cancellation point: neither when it waits for another thread's call")
{
	struct thread waiter;

	start_slow();
	start_asleep(&waiter, once_slowly_then_point, NULL);
	OK(pthread_cancel(waiter.pthread));
	sleep_ms(5);
	CHECK_EQ(scene.returned, 0);
	end_slow();
	CHECK(join(&waiter) == PTHREAD_CANCELED);
	CHECK_EQ(scene.returned, 2);
}

static void init_and_be_cancelled(void)
{
	scene.begun++;
	for (;;)
		pause();
}

THREAD(once_cancelled, void *argument UNUSED)
{
	OK(pthread_once(&scene.control, init_and_be_cancelled));
	FAIL("returned");
}

/* It is cancelled once the routine has begun. */
static void cancel_within(void *(*run)(void *argument))
{
	struct thread thread;
	int before = scene.begun;

	start(&thread, run, NULL);
	UNTIL(scene.begun > before);
	cancel_and_join(&thread);
}

CLAUSE(pthread_once__desc_2__cancelled_is_as_if_never_called,
       "a routine that is cancelled leaves the control as if it had never been called")
{
	for (int i = 0; i < 3; i++)
		cancel_within(once_cancelled);
	check_fresh();
}

/* Those that wait when it is cancelled: one of them runs its own, once. */
CLAUSE(pthread_once__desc_2__cancelled_is_done_by_one_that_waits,
       "one of those that wait calls its routine when the one before is cancelled")
{
	struct thread cancelled, waiters[5];

	start(&cancelled, once_cancelled, NULL);
	UNTIL(scene.begun == 1);
	START_ALL(waiters, once_quickly, NULL);
	ALL_ASLEEP(waiters);
	CHECK_EQ(scene.begun, 1);
	cancel_and_join(&cancelled);
	JOIN_ALL(waiters);
	CHECK_EQ(scene.begun, 2);
	CHECK_EQ(scene.ended, 1);
	CHECK_EQ(scene.returned, 5);
}

static void clean(void *argument UNUSED)
{
	scene.cleaned++;
}

THREAD(once_cancelled_and_cleaned, void *argument)
{
	pthread_cleanup_push(clean, NULL);
	once_cancelled(argument);
	pthread_cleanup_pop(0);
}

CLAUSE(pthread_once__desc_2__cancelled_runs_the_callers_handlers,
       "cancelled in the routine, the caller's cleanup handlers run")
{
	cancel_within(once_cancelled_and_cleaned);
	CHECK_EQ(scene.cleaned, 1);
	check_fresh();
}

static void init_and_exit(void)
{
	scene.begun++;
	pthread_exit((void *)0x77);
}

THREAD(once_exits, void *argument UNUSED)
{
	pthread_once(&scene.control, init_and_exit);
	FAIL("returned");
}

CLAUSE(pthread_once__desc_2__exited_is_as_if_never_called,
       "the same when the routine ends by pthread_exit: the standard speaks of cancellation, "
       "glibc does both")
{
	struct thread thread;

	for (int i = 0; i < 3; i++) {
		start(&thread, once_exits, NULL);
		CHECK(join(&thread) == (void *)0x77);
	}
	CHECK_EQ(scene.begun, 3);
	check_fresh();
}

static void init_by_waiting(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

	scene.begun++;
	OK(pthread_mutex_lock(&mutex));
	for (;;)
		OK(pthread_cond_wait(&cond, &mutex));
}

THREAD(once_waits, void *argument UNUSED)
{
	OK(pthread_once(&scene.control, init_by_waiting));
	FAIL("returned");
}

/* The cancellation point is one of the locks' own. */
CLAUSE(pthread_once__desc_2__cancelled_in_a_condvars_wait,
       "the same when the routine is cancelled in pthread_cond_wait")
{
	struct thread thread;

	start(&thread, once_waits, NULL);
	UNTIL(scene.begun);
	until_asleep(&thread);
	cancel_and_join(&thread);
	check_fresh();
}

/* --------------------------------------------------------- handlers, fork -- */

static void wait_through_handlers(int flags)
{
	static const pthread_once_t fresh = PTHREAD_ONCE_INIT;
	struct thread waiter;

	handle(flags);
	scene.control = fresh;
	scene.go = false;
	scene.begun = scene.ended = scene.returned = 0;
	start_slow();
	start_asleep(&waiter, once_slowly, NULL);
	for (int i = 0; i < 50; i++) {
		shoot(&waiter);
		CHECK_EQ(scene.returned, 0);
	}
	end_slow();
	join(&waiter);
	CHECK_EQ(scene.begun, 1);
}

CLAUSE(pthread_once__ret__waits_on_after_a_handler,
       "it never fails with EINTR: after a handler it waits on")
{
	wait_through_handlers(0);
	wait_through_handlers(SA_RESTART);
}

/* The thread that ran it isn't in the child, which must not wait for it. */
CLAUSE(pthread_once__desc_1__child_of_a_fork_during_it_can_do_it,
       "a forked child does what a thread that it doesn't have had begun: glibc's doing, so that "
       "libraries work there")
{
	struct thread waiter;

	start_slow();
	start_asleep(&waiter, once_slowly, NULL);
	IN_A_CHILD {
		check_fresh();
		check_written();
	}
	CHECK_EQ(scene.returned, 0);
	end_slow();
	join(&waiter);
	CHECK_EQ(scene.begun, 1);
}

static pid_t forked_within;

static void init_by_forking(void)
{
	scene.begun++;
	forked_within = fork_watched();
	scene.ended++;
}

/* The thread that runs it forks: both processes complete theirs. */
CLAUSE(pthread_once__desc_1__routine_may_fork,
       "a routine that forks is completed in both processes")
{
	OK(pthread_once(&scene.control, init_by_forking));
	CHECK_EQ(scene.begun, 1);
	CHECK_EQ(scene.ended, 1);
	scene.written[0] = 0;
	OK(pthread_once(&scene.control, never));
	if (forked_within == 0) {
		scene.written[15] = 16;
		in_a_thread(once_slowly, NULL);
		CHECK_EQ(scene.begun, 1);
		_exit(0);
	}
	REAP(forked_within);
}

CLAUSE(pthread_once__desc_1__complete_in_the_child_too,
       "what is complete is so in a forked child, and the child's is its own")
{
	OK(pthread_once(&scene.control, init_quickly));
	IN_A_CHILD {
		OK(pthread_once(&scene.control, never));
		check_written();
	}
	/* And what the child completes isn't complete here. */
	IN_A_CHILD
		OK(pthread_once(&inner, init_quickly));
	OK(pthread_once(&inner, init_quickly));
	CHECK_EQ(scene.ended, 2);
}

CLAUSE(pthread_once__ret__zero, "0 on success")
{
	CHECK_EQ(pthread_once(&scene.control, init_quickly), 0);
	CHECK_EQ(pthread_once(&scene.control, never), 0);
}

/* -------------------------------------------------------------- call_once -- */

static once_flag flag = ONCE_FLAG_INIT;

static int call_slowly(void *argument UNUSED)
{
	call_once(&flag, init_slowly);
	CHECK_EQ(scene.ended, 1);
	CHECK_EQ(scene.written[15], 16);
	return ++scene.returned;
}

CLAUSE(call_once__desc_1__once_for_a_flag, "the function is called once for a flag")
{
	once_flag other = ONCE_FLAG_INIT;

	for (int i = 0; i < 100; i++)
		call_once(&flag, i ? never : init_quickly);
	CHECK_EQ(scene.ended, 1);
	call_once(&other, init_quickly);
	CHECK_EQ(scene.ended, 2);
}

CLAUSE(call_once__desc_1__others_wait_until_it_is_complete,
       "no call returns before the function has")
{
	thrd_t threads[5];
	int returned, sum = 0;

	for (int i = 0; i < 5; i++)
		CHECK_EQ(thrd_create(&threads[i], call_slowly, NULL), thrd_success);
	UNTIL(scene.begun);
	sleep_ms(5);
	CHECK_EQ(scene.returned, 0);
	scene.go = true;
	for (int i = 0; i < 5; i++) {
		CHECK_EQ(thrd_join(threads[i], &returned), thrd_success);
		sum += returned;
	}
	CHECK_EQ(sum, 1 + 2 + 3 + 4 + 5);
	CHECK_EQ(scene.begun, 1);
}

THREAD(call_waiting, void *argument UNUSED)
{
	call_once(&flag, init_and_be_cancelled);
	FAIL("returned");
}

/* POSIX has it be like pthread_once. */
CLAUSE(call_once__desc_2__cancelled_is_as_if_never_called,
       "cancelled, it leaves the flag as if it had never been called, like pthread_once")
{
	cancel_within(call_waiting);
	call_once(&flag, init_quickly);
	CHECK_EQ(scene.ended, 1);
	call_once(&flag, never);
}

THREAD(call_pending, void *argument UNUSED)
{
	OK(pthread_cancel(pthread_self()));
	call_once(&flag, init_quickly);
	call_once(&flag, never);
	scene.returned++;
	pthread_testcancel();
	FAIL("not cancelled");
}

CLAUSE(call_once__desc_2__is_no_cancellation_point,
       "it is no cancellation point, like pthread_once")
{
	struct thread thread;

	start(&thread, call_pending, NULL);
	CHECK(join(&thread) == PTHREAD_CANCELED);
	CHECK_EQ(scene.returned, 1);
}
