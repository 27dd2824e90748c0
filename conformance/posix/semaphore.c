/* XSH, the pages of semaphores: the unnamed ones, and named ones beside them. */
#include "children.h"
#include "clause.h"
#include "crowd.h"
#include "deadlines.h"
#include "enough.h"
#include "handlers.h"
#include "memory.h"
#include "priority.h"
#include "semaphore.h"

#include <setjmp.h>
#include <stdatomic.h>

/* Each clause runs in a process of its own, with these. */
static struct waiter waiter;
static sem_t sem;

/*
 * A clause of `sem`, which has the first value before the check and the last one
 * after it, when no thread may wait any more.
 */
#define SEM_CLAUSE(test, first, last, says)				\
	CLAUSE_WITHIN(SEM_INIT(&sem, first), end_with(last), test, says)

static void end_with(int value)
{
	check_free(&sem, value);
	DESTROY(&sem);
}

/* ------------------------------------------------------------ sem_init -- */

CLAUSE(sem_init__desc_1__value_is_the_one_given,
       "the semaphore's value is the one given, up to SEM_VALUE_MAX")
{
	static const unsigned int values[] = { 0, 1, 2, 1000, SEM_VALUE_MAX };

	for (EACH(i, values)) {
		SEM_INIT(&sem, values[i]);
		CHECK_VALUE(&sem, values[i]);
		DESTROY(&sem);
	}
}

SEM_CLAUSE(sem_init__desc_1__serves_every_call, 1, 0,
	   "what it has made serves sem_wait, sem_timedwait, sem_clockwait, sem_trywait, sem_post "
	   "and sem_destroy")
{
	for (EACH_CALL(call)) {
		CHECK_EQ(take(&sem, call, LONG_MS), 0);
		CHECK_VALUE(&sem, 0);
		POST(&sem);
	}
	CHECK_EQ(sem_trywait(&sem), 0);
}

CLAUSE(sem_init__desc_1__what_was_there_does_not_matter, "the memory may hold anything before")
{
	for (EACH_FILLING(sem)) {
		SEM_INIT(&sem, 0);
		check_post_ends(&sem, WAIT);
		check_free(&sem, 0);
		DESTROY(&sem);
	}
}

CLAUSE(sem_init__desc_1__writes_only_where_it_lies, "nothing beside the semaphore is written")
{
	GUARDED(sem_t) memory;

	GUARD(memory);
	SEM_INIT(&memory.object, 1);
	CHECK_EQ(sem_wait(&memory.object), 0);
	check_post_ends(&memory.object, TIMEDWAIT);
	DESTROY(&memory.object);
	CHECK_GUARDED(memory);
}

THREAD(post_ten_times, void *sem)
{
	for (int i = 0; i < 10; i++)
		POST(sem);
}

CLAUSE(sem_init__desc_2__shared_by_processes,
       "with pshared, processes that share the memory use it like threads")
{
	sem_t *sems = shared_memory(2 * sizeof(*sems));
	pid_t child;

	SEM_INIT_SHARED(&sems[0], 0);
	SEM_INIT_SHARED(&sems[1], 0);
	child = fork_watched();
	for (int i = 0; i < 500; i++) {
		POST(&sems[child == 0]);
		while (take(&sems[child != 0], i % CALLS, LONG_MS))
			CHECK_EQ(errno, EINTR);
	}
	if (child == 0)
		_exit(0);
	REAP(child);
	check_free(&sems[0], 0);
	check_free(&sems[1], 0);
}

CLAUSE(sem_init__desc_2__posts_reach_waiting_processes,
       "with pshared, each post lets one waiting process go on")
{
	struct {
		sem_t sem;
		_Atomic int done;
	} *shared = shared_memory(sizeof(*shared));
	pid_t children[CALLS];

	SEM_INIT_SHARED(&shared->sem, 0);
	for (int i = 0; i < CALLS; i++) {
		IN_CHILD(children[i]) {
			CHECK_EQ(take(&shared->sem, i, LONG_MS), 0);
			shared->done++;
		}
	}
	sleep_ms(30);
	for (int i = 0; i < CALLS; i++) {
		CHECK_EQ(shared->done, i);
		POST(&shared->sem);
		UNTIL(shared->done == i + 1);
		sleep_ms(5);
	}
	REAP_ALL(children);
	check_free(&shared->sem, 0);
}

CLAUSE(sem_init__desc_2__shared_has_no_address,
       "with pshared, every mapping of the memory is the same semaphore")
{
	void *one, *other;

	map_twice(&one, &other);
	SEM_INIT_SHARED(one, 0);
	for (EACH_CALL(call)) {
		wait_elsewhere(&waiter, one, call);
		POST(other);
		check_ended(&waiter, 0);
	}
	check_free(other, 0);
}

CLAUSE(sem_init__desc_2__shared_survives_a_waiters_death,
       "with pshared, a process that is killed as it waits takes nothing with it")
{
	sem_t *sem = shared_memory(sizeof(*sem));
	int status;
	pid_t child;

	SEM_INIT_SHARED(sem, 0);
	IN_CHILD(child)
		take(sem, WAIT, 0);
	sleep_ms(30);
	CHECK_EQ(kill(child, SIGKILL), 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status));
	CHECK_VALUE(sem, 0);
	check_post_ends(sem, WAIT);
	check_free(sem, 0);
}

SEM_CLAUSE(sem_init__desc_3__any_thread_of_the_process, 0, 0,
	   "without pshared, every thread of the process may wait and post")
{
	struct thread threads[4];

	START_ALL(threads, post_ten_times, &sem);
	for (int i = 0; i < 40; i++)
		CHECK_EQ(take(&sem, i % CALLS, LONG_MS), 0);
	JOIN_ALL(threads);
}

CLAUSE(sem_init__err_EINVAL__value_beyond_the_maximum, "the value is greater than SEM_VALUE_MAX")
{
	CHECK_ERRNO(sem_init(&sem, 0, SEM_VALUE_MAX + 1U), EINVAL);
	CHECK_ERRNO(sem_init(&sem, 1, SEM_VALUE_MAX + 1U), EINVAL);
	CHECK_ERRNO(sem_init(&sem, 0, UINT_MAX), EINVAL);
}

CLAUSE(sem_init__ret__zero, "0 on success, whatever pshared is")
{
	CHECK_EQ(sem_init(&sem, 0, 7), 0);
	CHECK_EQ(sem_destroy(&sem), 0);
	/* Any value but zero makes it a shared one. */
	CHECK_EQ(sem_init(&sem, -3, 7), 0);
	CHECK_EQ(sem_destroy(&sem), 0);
}

/* --------------------------------------------------------- sem_destroy -- */

CLAUSE(sem_destroy__desc_1__may_be_initialised_again,
       "after it, sem_init makes the memory a semaphore anew")
{
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(sem_init(&sem, i % 2, i), 0);
		check_free(&sem, i);
		DESTROY(&sem);
	}
	SEM_INIT(&sem, 0);
	check_post_ends(&sem, WAIT);
	DESTROY(&sem);
}

THREAD(take_nothing, void *sem)
{
	CHECK_ERRNO(take(sem, TIMEDWAIT, 10), ETIMEDOUT);
}

CLAUSE(sem_destroy__desc_2__after_waits_that_gave_up,
       "it is safe once nobody waits: threads that timed out are gone")
{
	for (int round = 0; round < 5; round++) {
		SEM_INIT(&sem, 0);
		run_together(4, take_nothing, &sem);
		DESTROY(&sem);
		memset(&sem, 0xff, sizeof(sem));
	}
}

static _Atomic bool stop;

/* Posts to what it is offered, which may be gone right after. */
THREAD(post_to, sem_t *_Atomic *offered)
{
	sem_t *sem;

	while (!stop) {
		sem = atomic_exchange(offered, NULL);
		if (sem)
			POST(sem);
		else
			sched_yield();
	}
}

/*
 * A thread that takes what a post gives may destroy the semaphore and free its
 * memory while the poster is still in sem_post.
 */
static void destroy_after_post(int rounds, bool asleep)
{
	sem_t *sem, *_Atomic offered = NULL;
	struct thread poster;

	start(&poster, post_to, (void *)&offered);
	for (int i = 0; i < rounds && !enough(); i++) {
		sem = new_page();
		SEM_INIT(sem, 0);
		if (asleep) {
			start_waiter(&waiter, sem, i % CALLS);
			usleep(i % 3 * 200);
		}
		offered = sem;
		if (asleep)
			UNTIL(waiter.done);
		else
			CHECK_EQ(take(sem, i % CALLS, LONG_MS), 0);
		if (asleep || i % 2)
			DESTROY(sem);
		give_back(sem);
		if (asleep)
			check_ended(&waiter, 0);
	}
	stop = true;
	join(&poster);
}

CLAUSE_BY(destroy_after_post(3000, false),
	  sem_destroy__desc_2__right_after_the_wait_that_a_post_ended,
	  "it is safe once nobody waits, though the poster hasn't returned; its memory may go too")

CLAUSE_BY(destroy_after_post(300, true), sem_destroy__desc_2__right_after_a_sleep,
	  "the same, after waits that have slept")

CLAUSE(sem_destroy__ret__zero, "0 on success")
{
	SEM_INIT(&sem, SEM_VALUE_MAX);
	CHECK_EQ(sem_destroy(&sem), 0);
	SEM_INIT_SHARED(&sem, 0);
	CHECK_EQ(sem_destroy(&sem), 0);
}

/* --------------------------------------------------------- sem_trywait -- */

SEM_CLAUSE(sem_trywait__desc_1__takes_one, 3, 0,
	   "sem_trywait locks the semaphore if it isn't locked")
{
	CHECK_EQ(sem_trywait(&sem), 0);
	CHECK_VALUE(&sem, 2);
	CHECK_EQ(sem_trywait(&sem), 0);
	CHECK_EQ(sem_trywait(&sem), 0);
}

static _Atomic long taken;
static _Atomic bool go;

THREAD(try_often, void *argument UNUSED)
{
	UNTIL(go);
	for (int i = 0; i < 3000; i++) {
		if (!sem_trywait(&sem))
			taken++;
		else
			CHECK_EQ(errno, EAGAIN);
	}
}

SEM_CLAUSE(sem_trywait__desc_1__as_many_as_there_are, 5000, 0,
	   "as many calls of sem_trywait succeed as the value allows, from any number of threads")
{
	struct thread threads[4];

	START_ALL(threads, try_often, NULL);
	go = true;
	JOIN_ALL(threads);
	CHECK_EQ(taken, 5000);
}

SEM_CLAUSE(sem_trywait__err_EAGAIN__locked, 0, 0, "sem_trywait finds the value 0, and leaves it")
{
	for (int i = 0; i < 100; i++)
		CHECK_ERRNO(sem_trywait(&sem), EAGAIN);
	CHECK_VALUE(&sem, 0);
	POST(&sem);
	CHECK_EQ(sem_trywait(&sem), 0);
}

SEM_CLAUSE(sem_trywait__err_EAGAIN__others_wait, 0, 0,
	   "sem_trywait finds it locked when others wait, and disturbs them not")
{
	wait_elsewhere(&waiter, &sem, WAIT);
	CHECK_ERRNO(sem_trywait(&sem), EAGAIN);
	CHECK(!waiter.done);
	POST(&sem);
	check_ended(&waiter, 0);
}

/* ------------------------------------------------------------ sem_wait -- */

SEM_CLAUSE(sem_wait__desc_2__returns_at_once_when_unlocked, 100, 0,
	   "a positive value goes down by one, without a wait")
{
	for (int i = 99; i >= 0; i--) {
		CHECK_EQ(sem_wait(&sem), 0);
		CHECK_VALUE(&sem, i);
	}
}

SEM_CLAUSE(sem_wait__desc_2__blocks_until_a_post, 0, 0, "at 0 it doesn't return before it can lock")
{
	for (int i = 0; i < 10; i++) {
		wait_elsewhere(&waiter, &sem, WAIT);
		sleep_ms(2);
		CHECK(!waiter.done);
		POST(&sem);
		check_ended(&waiter, 0);
		check_free(&sem, 0);
	}
}

SEM_CLAUSE(sem_wait__desc_2__many_waiters_and_as_many_posts, 0, 0,
	   "as many waits end as there are posts")
{
	struct waiter waiters[24];

	for (int i = 0; i < 24; i++)
		wait_elsewhere(&waiters[i], &sem, i % CALLS);
	for (int i = 0; i < 24; i++)
		POST(&sem);
	CHECK_ALL_ENDED(waiters);
}

/* Plain: only one thread at a time may use them. */
static long inside, counter;

THREAD(count, void *argument UNUSED)
{
	for (int i = 0; i < 3000; i++) {
		CHECK_EQ(take(&sem, i % CALLS, LONG_MS), 0);
		CHECK_EQ(inside++, 0);
		counter++;
		if (i % 64 == 0)
			sched_yield();
		CHECK_EQ(--inside, 0);
		POST(&sem);
	}
}

/* One is locked until it is posted; what was written before is seen after. */
SEM_CLAUSE(sem_wait__desc_3__stays_locked_until_posted, 1, 1,
	   "what it has locked stays so until sem_post")
{
	run_together(6, count, NULL);
	CHECK_EQ(counter, 6 * 3000);
}

THREAD(enter_pool, _Atomic int *inside)
{
	for (int i = 0; i < 1000; i++) {
		CHECK_EQ(sem_wait(&sem), 0);
		CHECK(++*inside <= 3);
		if (i % 16 == 0)
			sched_yield();
		--*inside;
		POST(&sem);
	}
}

SEM_CLAUSE(sem_wait__desc_3__lets_in_as_many_as_its_value, 3, 3,
	   "no more than its value are in at a time")
{
	_Atomic int inside = 0;

	run_together(8, enter_pool, (void *)&inside);
}

SEM_CLAUSE(sem_wait__desc_3__has_no_owner, 1, 0, "another thread than the one that locked may post")
{
	struct thread other;

	CHECK_EQ(sem_wait(&sem), 0);
	start(&other, post_ten_times, &sem);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(sem_wait(&sem), 0);
	join(&other);
}

SEM_CLAUSE(sem_wait__err_EINTR__handler_without_SA_RESTART, 0, 0,
	   "a handler has run (a \"may\" of 2017 that glibc does)")
{
	handle(0);
	for (int i = 0; i < 20; i++) {
		wait_elsewhere(&waiter, &sem, WAIT);
		shoot(&waiter.thread);
		check_ended(&waiter, EINTR);
		check_free(&sem, 0);
	}
}

SEM_CLAUSE(sem_wait__desc_4__handler_with_SA_RESTART_waits_on, 0, 0,
	   "a signal can interrupt it; with SA_RESTART it goes on waiting after the handler")
{
	handle(SA_RESTART);
	wait_elsewhere(&waiter, &sem, WAIT);
	for (int i = 0; i < 100; i++) {
		shoot(&waiter.thread);
		CHECK(!waiter.done);
		if (i % 10 == 0)
			until_asleep(&waiter.thread);
	}
	CHECK_VALUE(&sem, 0);
	POST(&sem);
	check_ended(&waiter, 0);
}

static void *wait_with_signals_blocked(void *argument)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	OK(pthread_sigmask(SIG_BLOCK, &signals, NULL));
	return waiter_run(argument);
}

/* No handler runs, and the wait goes on. */
static void check_undisturbed(void *(*run)(void *waiter), int signal)
{
	for (EACH_CALL(call)) {
		waiter = (struct waiter){
			.sem = &sem, .call = call, .ms = LONG_MS,
		};
		start_asleep(&waiter.thread, run, &waiter);
		OK(pthread_kill(waiter.thread.pthread, signal));
		sleep_ms(3);
		CHECK(!waiter.done);
		CHECK_EQ(handled, 0);
		POST(&sem);
		check_ended(&waiter, 0);
	}
}

SEM_CLAUSE(sem_wait__desc_4__blocked_signal_ends_no_wait, 0, 0,
	   "signals that the thread blocks interrupt nothing")
{
	handle(0);
	check_undisturbed(wait_with_signals_blocked, SIGUSR1);
}

SEM_CLAUSE(sem_wait__desc_4__ignored_signal_ends_no_wait, 0, 0, "ignored signals interrupt nothing")
{
	handle_by(SIGUSR1, SIG_IGN, 0);
	check_undisturbed(waiter_run, SIGUSR1);
	/* Its default is to be ignored. */
	check_undisturbed(waiter_run, SIGWINCH);
}

/* Stopped and continued, it waits on: no handler has run. */
CLAUSE(sem_wait__desc_4__stop_and_continue_end_no_wait,
       "to be stopped and continued interrupts nothing")
{
	struct {
		sem_t sem, ready;
		_Atomic int error, done;
	} *shared = shared_memory(sizeof(*shared));
	int status;
	pid_t child;

	SEM_INIT_SHARED(&shared->sem, 0);
	IN_CHILD(child) {
		shared->error = take(&shared->sem, WAIT, 0) ? errno : 0;
		shared->done = 1;
	}
	sleep_ms(20);
	CHECK_EQ(kill(child, SIGSTOP), 0);
	CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
	CHECK(WIFSTOPPED(status));
	CHECK_EQ(kill(child, SIGCONT), 0);
	sleep_ms(10);
	CHECK(!shared->done);
	POST(&shared->sem);
	REAP(child);
	CHECK_EQ(shared->error, 0);
	check_free(&shared->sem, 0);
}

SEM_CLAUSE(sem_wait__ret__interrupted_leaves_the_value, 0, 0,
	   "a call that fails leaves the semaphore as it is, and the others that wait")
{
	struct waiter waiters[3];

	handle(0);
	for (int i = 0; i < 3; i++)
		wait_elsewhere(&waiters[i], &sem, WAIT);
	shoot(&waiters[1].thread);
	check_ended(&waiters[1], EINTR);
	CHECK_VALUE(&sem, 0);
	CHECK(!waiters[0].done && !waiters[2].done);
	/* Its post goes to those that still wait. */
	POST(&sem);
	POST(&sem);
	check_ended(&waiters[0], 0);
	check_ended(&waiters[2], 0);
}

THREAD(take_until_stopped, struct waiter *how)
{
	while (!stop) {
		if (!take(&sem, how->call, how->ms))
			taken++;
		else
			CHECK(errno == EINTR || errno == ETIMEDOUT);
	}
}

/* No post is lost to a wait that gives up as it comes, and none counts twice. */
static void weather(enum call call, int64_t ms, bool signals)
{
	struct waiter how = { .call = call, .ms = ms };
	struct thread threads[4];
	uint32_t state = 4711;
	int posted, value;

	stop = false;
	taken = 0;
	SEM_INIT(&sem, 0);
	START_ALL(threads, take_until_stopped, &how);
	for (posted = 0; posted < 2000 && (posted < 50 || !enough()); posted++) {
		POST(&sem);
		if (signals)
			OK(pthread_kill(threads[posted % 4].pthread, SIGUSR1));
		if (next_random(&state) % 4 == 0)
			usleep(next_random(&state) % 100);
	}
	/* Each of them reaches a thread, though no more posts come. */
	UNTIL(taken == posted);
	stop = true;
	for (int i = 0; i < 4; i++)
		POST(&sem);
	JOIN_ALL(threads);
	CHECK_EQ(sem_getvalue(&sem, &value), 0);
	CHECK_EQ(taken + value, posted + 4);
	DESTROY(&sem);
}

CLAUSE(sem_wait__ret__interrupted_swallows_no_post,
       "a call that fails leaves the semaphore as it is, though a post comes as it is interrupted")
{
	handle(0);
	weather(WAIT, 0, true);
	CHECK(handled > 0);
	handle(SA_RESTART);
	weather(WAIT, 0, true);
}

static __thread sigjmp_buf out_of_here;

static void jump(int signal UNUSED)
{
	siglongjmp(out_of_here, 1);
}

THREAD(jump_out_of_wait, struct waiter *waiter)
{
	int saves_mask = 1;

	if (sigsetjmp(out_of_here, saves_mask)) {
		waiter->done = true;
		return;
	}
	take(&sem, waiter->call, LONG_MS);
	FAIL("returned");
}

/* A wait that a handler has left by a jump waits no more: posts are others'. */
SEM_CLAUSE(sem_wait__desc_4__handler_may_jump_out_of_it, 0, 0,
	   "a handler that interrupts it may leave by siglongjmp; the wait is over, and no post "
	   "goes there")
{
	handle_by(SIGUSR1, jump, 0);
	for (int i = 0; i < 2 * CALLS; i++) {
		struct waiter jumper = { .call = i % CALLS };

		start_asleep(&jumper.thread, jump_out_of_wait, &jumper);
		OK(pthread_kill(jumper.thread.pthread, SIGUSR1));
		join(&jumper.thread);
		CHECK(jumper.done);
		if (i < CALLS) {
			check_free(&sem, 0);
			POST(&sem);
			CHECK_EQ(sem_trywait(&sem), 0);
		}
		check_post_ends(&sem, WAIT);
	}
}

static __thread volatile sig_atomic_t may_jump;

static void jump_if_within(int signal UNUSED)
{
	handled++;
	if (may_jump)
		siglongjmp(out_of_here, 1);
}

THREAD(jump_out_often, void *argument UNUSED)
{
	int saves_mask = 1;

	while (!stop) {
		if (!sigsetjmp(out_of_here, saves_mask)) {
			may_jump = 1;
			if (!sem_wait(&sem))
				taken++;
		}
		may_jump = 0;
	}
}

SEM_CLAUSE(sem_wait__desc_4__handler_may_jump_out_of_it_at_any_moment, 0, 0,
	   "the same, when the handler came before the wait had fallen asleep, or as it was woken "
	   "(XSH 2.4.3 leaves undefined what follows; glibc goes on)")
{
	struct thread threads[3];
	uint32_t state = 4711;

	handle_by(SIGUSR1, jump_if_within, 0);
	START_ALL(threads, jump_out_often, NULL);
	POST(&sem);
	UNTIL(taken);
	for (int i = 0; i < 15000 && !enough(); i++) {
		POST(&sem);
		if (i % 3 == 0)
			OK(pthread_kill(threads[i / 3 % 3].pthread, SIGUSR1));
		for (int pause = next_random(&state) % 300; pause; pause--)
			__asm__ volatile("");
	}
	stop = true;
	for (int i = 0; i < 3; i++) {
		while (pthread_tryjoin_np(threads[i].pthread, NULL)) {
			POST(&sem);
			usleep(200);
		}
	}
	while (!sem_trywait(&sem))
		;
	check_post_ends(&sem, WAIT);
}

static sem_t given;

static void destroy_by_waiting(void *rounds)
{
	pthread_key_t *key = rounds;
	static __thread int round;

	POST(&given);
	CHECK_EQ(take(&sem, round % CALLS, LONG_MS), 0);
	if (++round < PTHREAD_DESTRUCTOR_ITERATIONS)
		OK(pthread_setspecific(*key, key));
}

THREAD(set_key, pthread_key_t *key)
{
	OK(pthread_setspecific(*key, key));
}

/* The last that runs of a thread, in each of its rounds. */
SEM_CLAUSE(sem_wait__desc_2__in_a_destructor_of_thread_specific_data, 0, 0,
	   "it waits in a destructor of thread-specific data, in every round of them")
{
	struct thread threads[3];
	pthread_key_t key;

	SEM_INIT(&given, 0);
	OK(pthread_key_create(&key, destroy_by_waiting));
	START_ALL(threads, set_key, &key);
	for (int round = 0; round < 3 * PTHREAD_DESTRUCTOR_ITERATIONS; round++) {
		CHECK_EQ(sem_wait(&given), 0);
		sleep_ms(1);
		POST(&sem);
	}
	JOIN_ALL(threads);
	check_free(&given, 0);
}

SEM_CLAUSE(sem_wait__ret__zero_when_locked, 1, 0, "0 when it has locked")
{
	CHECK_EQ(sem_wait(&sem), 0);
	POST(&sem);
	CHECK_EQ(sem_trywait(&sem), 0);
}

/* -------------------------------------------------------- sem_timedwait -- */

SEM_CLAUSE(sem_timedwait__desc_1__waits_for_a_post, 0, 0, "it waits like sem_wait, for a post")
{
	for (EACH_TIMED(call)) {
		wait_elsewhere(&waiter, &sem, call);
		sleep_ms(2);
		CHECK(!waiter.done);
		POST(&sem);
		check_ended(&waiter, 0);
	}
}

static void time_out(enum call call)
{
	struct timespec at;

	SEM_INIT(&sem, 0);
	for (int i = 0; i < 5; i++) {
		at = in_ms(clock_of(call), 5 * i);
		CHECK_ERRNO(take_until(&sem, call, &at), ETIMEDOUT);
		CHECK_REACHED(clock_of(call), at);
	}
	check_free(&sem, 0);
}

CLAUSE_BY(time_out(TIMEDWAIT), sem_timedwait__err_ETIMEDOUT__at_the_deadline,
	  "sem_timedwait ends at its deadline on CLOCK_REALTIME, not before")

CLAUSE_BY(time_out(CLOCKWAIT_REALTIME), sem_clockwait__err_ETIMEDOUT__on_the_realtime_clock,
	  "sem_clockwait ends at its deadline on CLOCK_REALTIME, not before")

CLAUSE_BY(time_out(CLOCKWAIT_MONOTONIC), sem_clockwait__err_ETIMEDOUT__on_the_monotonic_clock,
	  "sem_clockwait ends at its deadline on CLOCK_MONOTONIC, not before")

SEM_CLAUSE(sem_timedwait__err_ETIMEDOUT__deadline_has_passed, 0, 0,
	   "the deadline has passed at the call, by any length of time")
{
	int64_t before = now_ns(CLOCK_MONOTONIC);

	for (EACH_TIMED(call)) {
		for (EACH(i, passed_deadlines))
			CHECK_ERRNO(take_until(&sem, call, &passed_deadlines[i]),
				    ETIMEDOUT);
		CHECK_ERRNO(take(&sem, call, -1), ETIMEDOUT);
		CHECK_ERRNO(take(&sem, call, 0), ETIMEDOUT);
	}
	CHECK(now_ns(CLOCK_MONOTONIC) < before + LATE_MS * NS_PER_MS);
}

SEM_CLAUSE(sem_timedwait__desc_4__no_timeout_when_unlocked, 1, 1,
	   "it never times out when it can lock at once")
{
	for (EACH_TIMED(call)) {
		for (EACH(i, passed_deadlines)) {
			CHECK_EQ(take_until(&sem, call, &passed_deadlines[i]), 0);
			CHECK_VALUE(&sem, 0);
			POST(&sem);
		}
	}
}

static const struct timespec *far;

THREAD(wait_far, enum call *call)
{
	CHECK_EQ(take_until(&sem, *call, far), 0);
}

SEM_CLAUSE(sem_timedwait__desc_2__far_deadlines_wait_for_the_post, 0, 0,
	   "a deadline doesn't expire before it is there, however far it is")
{
	struct thread thread;

	for (EACH_TIMED(call)) {
		for (EACH(i, farthest)) {
			far = &farthest[i];
			start_asleep(&thread, wait_far, &call);
			POST(&sem);
			join(&thread);
		}
	}
}

SEM_CLAUSE(sem_timedwait__err_EINVAL__nanoseconds_when_it_would_block, 0, 0,
	   "it would wait, and the nanoseconds are less than 0 or not less than 1000 million")
{
	for (EACH_TIMED(call))
		for (EACH(i, invalid_deadlines))
			CHECK_ERRNO(take_until(&sem, call, &invalid_deadlines[i]),
				    EINVAL);
}

/* The deadline's validity need not matter then. If it does, nothing is taken. */
SEM_CLAUSE(sem_timedwait__desc_4__bad_nanoseconds_when_unlocked, 1, 1,
	   "the deadline need not be valid when it can lock at once; if that is an error, nothing "
	   "is locked")
{
	for (EACH_TIMED(call)) {
		for (EACH(i, invalid_deadlines)) {
			if (!take_until(&sem, call, &invalid_deadlines[i])) {
				CHECK_VALUE(&sem, 0);
				POST(&sem);
				continue;
			}
			CHECK_EQ(errno, EINVAL);
			CHECK_VALUE(&sem, 1);
		}
	}
}

CLAUSE_FURWOCK_ONLY(sem_timedwait__err_EINVAL__not_when_unlocked,
		    "bad nanoseconds are an error of calls that would wait, not of one that can "
		    "lock at once",
		    "the page's condition is furwock's; glibc looks at the nanoseconds first, "
		    "which XSH 2.3 lets it: an error listed may come under other circumstances")
{
	SEM_INIT(&sem, 1);
	for (EACH_TIMED(call)) {
		for (EACH(i, invalid_deadlines)) {
			CHECK_EQ(take_until(&sem, call, &invalid_deadlines[i]), 0);
			CHECK_VALUE(&sem, 0);
			POST(&sem);
		}
	}
	check_free(&sem, 1);
}

CLAUSE(sem_clockwait__err_EINVAL__clock,
       "the clock is neither CLOCK_REALTIME nor CLOCK_MONOTONIC: glibc has no others here, and "
       "looks at it first")
{
	struct timespec at = in_ms(CLOCK_REALTIME, 1000);

	for (int value = 0; value < 2; value++) {
		SEM_INIT(&sem, value);
		for (EACH(i, invalid_clocks))
			CHECK_ERRNO(sem_clockwait(&sem, invalid_clocks[i], &at), EINVAL);
		check_free(&sem, value);
	}
}

/* Linux restarts no wait with a deadline, whatever the handler's flags. */
SEM_CLAUSE(sem_timedwait__err_EINTR__any_handler, 0, 0,
	   "a handler has run (a \"may\"; glibc does it with SA_RESTART too, since the kernel "
	   "restarts no wait with a deadline)")
{
	static const int flags[] = { 0, SA_RESTART };

	for (int i = 0; i < 2; i++) {
		handle(flags[i]);
		for (EACH_TIMED(call)) {
			wait_elsewhere(&waiter, &sem, call);
			shoot(&waiter.thread);
			check_ended(&waiter, EINTR);
			check_free(&sem, 0);
		}
	}
}

SEM_CLAUSE(sem_timedwait__ret__timed_out_leaves_the_others_waiting, 0, 0,
	   "a call that fails leaves the semaphore as it is, and the others that wait")
{
	struct waiter other;

	for (EACH_TIMED(call)) {
		wait_elsewhere(&other, &sem, WAIT);
		waiter = (struct waiter){ .sem = &sem, .call = call, .ms = 15 };
		start(&waiter.thread, waiter_run, &waiter);
		check_ended(&waiter, ETIMEDOUT);
		CHECK(!other.done);
		POST(&sem);
		check_ended(&other, 0);
		check_free(&sem, 0);
	}
}

CLAUSE(sem_timedwait__ret__timed_out_swallows_no_post,
       "a call that fails leaves the semaphore as it is, though a post comes at its deadline")
{
	handle(0);
	weather(TIMEDWAIT, 1, false);
	weather(CLOCKWAIT_MONOTONIC, 0, true);
	weather(CLOCKWAIT_MONOTONIC, 1, false);
}

/* ------------------------------------------------------------ sem_post -- */

SEM_CLAUSE(sem_post__desc_2__value_grows_when_nobody_waits, 0, 1000,
	   "the value goes up by one when nobody waits")
{
	for (int i = 0; i < 1000; i++) {
		CHECK_VALUE(&sem, i);
		POST(&sem);
	}
}

SEM_CLAUSE(sem_post__desc_2__of_many_threads_add_up, 3, 83,
	   "no post is lost, from any number of threads")
{
	run_together(8, post_ten_times, &sem);
}

static int count_done(struct waiter *waiters, int of)
{
	int done = 0;

	for (int i = 0; i < of; i++)
		done += waiters[i].done;
	return done;
}

SEM_CLAUSE(sem_post__desc_3__one_waiter_returns_for_each, 0, 0,
	   "one of those that wait returns for each post")
{
	struct waiter waiters[5];

	for (int i = 0; i < 5; i++)
		wait_elsewhere(&waiters[i], &sem, i % CALLS);
	for (int i = 1; i <= 5; i++) {
		POST(&sem);
		UNTIL(count_done(waiters, 5) == i);
		sleep_ms(3);
		CHECK_EQ(count_done(waiters, 5), i);
		CHECK_VALUE(&sem, 0);
	}
	CHECK_ALL_ENDED(waiters);
}

SEM_CLAUSE(sem_post__desc_3__two_posts_reach_two, 0, 0,
	   "two posts in a row reach two of those that wait")
{
	struct waiter waiters[3];

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 3; i++)
			wait_elsewhere(&waiters[i], &sem, WAIT);
		POST(&sem);
		POST(&sem);
		UNTIL(count_done(waiters, 3) == 2);
		POST(&sem);
		CHECK_ALL_ENDED(waiters);
		check_free(&sem, 0);
	}
}

static void wait_ranked(struct ranked *ranked)
{
	CHECK_EQ(sem_wait(ranked->object), 0);
	take_turn(ranked);
}

static void post_ranked(void *sem, int turn UNUSED)
{
	POST(sem);
}

SEM_CLAUSE(sem_post__desc_3__highest_priority_first, 0, 0,
	   "of threads with priorities (SCHED_FIFO) that wait, the highest goes first")
{
	check_ranks((const int[]){ 1, 3, 2, 5, 4 },
		    (const int[]){ 5, 3, 4, 1, 2 }, wait_ranked, post_ranked,
		    &sem);
}

SEM_CLAUSE(sem_post__desc_3__longest_wait_first_of_a_priority, 0, 0,
	   "of threads with the same priority (SCHED_FIFO) that wait, the one that has waited "
	   "longest goes first")
{
	check_ranks((const int[]){ 2, 2, 2, 2, 2 },
		    (const int[]){ 1, 2, 3, 4, 5 }, wait_ranked, post_ranked,
		    &sem);
}

struct ring {
	sem_t filled, empty;
	uint32_t items[8];
	uint64_t sum;
};

THREAD(produce, struct ring *ring)
{
	for (uint32_t i = 0; i < 20000; i++) {
		CHECK_EQ(sem_wait(&ring->empty), 0);
		ring->items[i % 8] = i + 1;
		POST(&ring->filled);
	}
}

CLAUSE(sem_post__desc_3__what_came_before_it_is_seen,
       "what was written before it is seen after the wait that it ends (XBD, Memory "
       "Synchronization)")
{
	struct ring ring = { .sum = 0 };
	struct thread producer;

	SEM_INIT(&ring.filled, 0);
	SEM_INIT(&ring.empty, 8);
	start(&producer, produce, &ring);
	for (uint32_t i = 0; i < 20000; i++) {
		CHECK_EQ(take(&ring.filled, i % CALLS, LONG_MS), 0);
		CHECK_EQ(ring.items[i % 8], i + 1);
		POST(&ring.empty);
	}
	join(&producer);
	check_free(&ring.filled, 0);
	check_free(&ring.empty, 8);
}

CLAUSE(sem_post__err_EOVERFLOW__at_the_maximum, "the value is SEM_VALUE_MAX, and stays so")
{
	for (int pshared = 0; pshared < 2; pshared++) {
		CHECK_EQ(sem_init(&sem, pshared, SEM_VALUE_MAX - 1U), 0);
		POST(&sem);
		CHECK_ERRNO(sem_post(&sem), EOVERFLOW);
		CHECK_ERRNO(sem_post(&sem), EOVERFLOW);
		CHECK_VALUE(&sem, SEM_VALUE_MAX);
		CHECK_EQ(sem_wait(&sem), 0);
		POST(&sem);
		CHECK_VALUE(&sem, SEM_VALUE_MAX);
		DESTROY(&sem);
	}
}

static void post_it(int signal)
{
	if (sem_post(&sem))
		abort();
	count_signal(signal);
}

SEM_CLAUSE(sem_post__desc_4__handler_ends_others_waits, 0, 0,
	   "it is async-signal-safe: a handler's post ends waits of others")
{
	handle_by(SIGUSR1, post_it, 0);
	for (int i = 0; i < 50; i++) {
		start_waiter(&waiter, &sem, i % CALLS);
		if (i % 2)
			until_asleep(&waiter.thread);
		OK(pthread_kill(pthread_self(), SIGUSR1));
		check_ended(&waiter, 0);
	}
}

/* The post comes from within the wait. If that goes on, it finds the post. */
SEM_CLAUSE(sem_post__desc_4__handler_posts_to_the_interrupted_wait, 0, 0,
	   "it is async-signal-safe: in a handler that interrupted a wait for the same semaphore")
{
	handle_by(SIGUSR1, post_it, SA_RESTART);
	wait_elsewhere(&waiter, &sem, WAIT);
	shoot(&waiter.thread);
	check_ended(&waiter, 0);
	check_free(&sem, 0);
	handle_by(SIGUSR1, post_it, 0);
	for (EACH_CALL(call)) {
		wait_elsewhere(&waiter, &sem, call);
		shoot(&waiter.thread);
		join(&waiter.thread);
		/* Either it took the post or it left it. */
		CHECK(!waiter.error || waiter.error == EINTR);
		check_free(&sem, waiter.error ? 1 : 0);
		if (waiter.error)
			CHECK_EQ(sem_wait(&sem), 0);
	}
}

/* What a thread does while it is interrupted by handlers that post. */
static struct {
	struct thread thread;
	void (*step)(int turn);
	_Atomic int turns;
	_Atomic bool stop;
	long posts, takes;
} interrupted;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

THREAD(be_interrupted, void *argument UNUSED)
{
	for (; !interrupted.stop; interrupted.turns++)
		interrupted.step(interrupted.turns);
}

THREAD(drain, _Atomic long *drained)
{
	for (;;) {
		if (take(&sem, TIMEDWAIT, LONG_MS))
			CHECK_EQ(errno, EINTR);
		else if (++*drained < 0)
			return;
	}
}

/* Each post of the handler reaches the thread that drains them. */
static void interrupt(void (*step)(int turn))
{
	_Atomic long drained = 0;
	struct thread drainer;
	long left;

	interrupted.step = step;
	handle_by(SIGUSR1, post_it, SA_RESTART);
	SEM_INIT(&sem, 0);
	start(&drainer, drain, &drained);
	start(&interrupted.thread, be_interrupted, NULL);
	UNTIL(interrupted.turns > 0);
	for (int i = 0; i < 1500 && (i < 50 || !enough()); i++) {
		OK(pthread_kill(interrupted.thread.pthread, SIGUSR1));
		if (i % 4 == 0)
			usleep(50);
	}
	interrupted.stop = true;
	join(&interrupted.thread);
	CHECK(handled > 0);
	left = handled + interrupted.posts - interrupted.takes;
	UNTIL(drained >= left);
	CHECK_EQ(drained, left);
	check_free(&sem, 0);
	drained = LONG_MIN / 2;
	POST(&sem);
	join(&drainer);
}

#define IN_A_HANDLER "it is async-signal-safe: in a handler that interrupted "

static void step_post(int turn)
{
	POST(&sem);
	interrupted.posts++;
	if (turn % 16 == 0)
		sched_yield();
}

CLAUSE_BY(interrupt(step_post), sem_post__desc_4__handler_interrupts_sem_post,
	  IN_A_HANDLER "sem_post on the same semaphore")

static void step_take(int turn)
{
	enum call call = turn % CALLS ? TIMEDWAIT : CLOCKWAIT_MONOTONIC;

	if (!take(&sem, call, 1))
		interrupted.takes++;
	if (!sem_trywait(&sem))
		interrupted.takes++;
}

CLAUSE_BY(interrupt(step_take), sem_post__desc_4__handler_interrupts_waits,
	  IN_A_HANDLER "waits for the same semaphore in any place")

static void step_mutex(int turn)
{
	OK(pthread_mutex_lock(&mutex));
	if (turn % 3 == 0)
		OK(pthread_cond_signal(&cond));
	OK(pthread_mutex_unlock(&mutex));
	if (turn % 3 == 1)
		OK(pthread_cond_broadcast(&cond));
}

THREAD(contend, void *argument UNUSED)
{
	struct timespec at;
	int error;

	while (!interrupted.stop) {
		OK(pthread_mutex_lock(&mutex));
		at = in_ms(CLOCK_REALTIME, 1);
		error = pthread_cond_timedwait(&cond, &mutex, &at);
		CHECK(!error || error == ETIMEDOUT);
		OK(pthread_mutex_unlock(&mutex));
	}
}

CLAUSE(sem_post__desc_4__handler_interrupts_mutexes_and_condvars,
       IN_A_HANDLER "calls on mutexes and condvars in any place")
{
	struct thread contender;

	start(&contender, contend, NULL);
	interrupt(step_mutex);
	join(&contender);
}

static void step_heap(int turn)
{
	/* The allocator's locks are held at times; a post needs none of them. */
	void *volatile memory = malloc(turn % 100000 + 1);

	free(memory);
}

CLAUSE_BY(interrupt(step_heap),
	  sem_post__desc_4__handler_interrupts_the_allocator,
	  IN_A_HANDLER "malloc or free")

/*
 * The thread that a handler's post comes from sleeps on until that post has
 * reached another one, which then lets it go: a wake that was put off because
 * the handler had interrupted the lock's own doings may not be put off for long.
 */
static struct {
	struct thread sleeper, answerer;
	void (*sleep)(int turn), (*answer)(int turn);
	sem_t answers;
	pthread_barrier_t barrier;
	pthread_mutex_t turns[2];
	pthread_rwlock_t rwlocks[2];
	int permits;
	_Atomic int answered, slept, last;
} pingpong = {
	.turns = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER },
	.rwlocks = { PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER },
	.last = 1499,
	.answered = -1,
};

THREAD(pingpong_sleep, void *argument UNUSED)
{
	for (int i = 0; i <= pingpong.last; i++) {
		pingpong.sleep(i);
		pingpong.slept++;
	}
}

THREAD(pingpong_answer, void *argument UNUSED)
{
	OK(pthread_mutex_lock(&pingpong.turns[0]));
	OK(pthread_rwlock_wrlock(&pingpong.rwlocks[0]));
	pingpong.answered = 0;
	for (int i = 0; i <= pingpong.last; i++) {
		CHECK_EQ(sem_wait(&sem), 0);
		pingpong.answer(i);
		pingpong.answered++;
	}
}

static void play(void (*sleep)(int turn), void (*answer)(int turn))
{
	uint32_t state = 4711;

	pingpong.sleep = sleep;
	pingpong.answer = answer;
	handle_by(SIGUSR1, post_it, SA_RESTART);
	SEM_INIT(&sem, 0);
	SEM_INIT(&pingpong.answers, 0);
	OK(pthread_barrier_init(&pingpong.barrier, NULL, 2));
	start(&pingpong.answerer, pingpong_answer, NULL);
	UNTIL(pingpong.answered == 0);
	start(&pingpong.sleeper, pingpong_sleep, NULL);
	for (int i = 0; i <= pingpong.last; i++) {
		if (enough())
			pingpong.last = i;
		/* On its way to sleep, at any point of that. */
		while (pingpong.slept < i)
			sched_yield();
		for (int pause = next_random(&state) % 500; pause; pause--)
			__asm__ volatile("");
		OK(pthread_kill(pingpong.sleeper.pthread, SIGUSR1));
		while (pingpong.answered <= i)
			sched_yield();
	}
	join(&pingpong.sleeper);
	join(&pingpong.answerer);
	CHECK_EQ(handled, pingpong.last + 1);
	check_free(&sem, 0);
}

#define BEFORE_SLEEP							\
	"it is async-signal-safe: a handler's post reaches another thread " \
	"before its own goes to sleep "

static void sleep_for_sem(int turn UNUSED)
{
	CHECK_EQ(sem_wait(&pingpong.answers), 0);
}

static void answer_by_sem(int turn UNUSED)
{
	POST(&pingpong.answers);
}

CLAUSE_BY(play(sleep_for_sem, answer_by_sem),
	  sem_post__desc_4__before_its_thread_sleeps_for_another,
	  BEFORE_SLEEP "for another semaphore")

static void meet(int turn UNUSED)
{
	meet_at(&pingpong.barrier);
}

CLAUSE_BY(play(meet, meet),
	  sem_post__desc_4__before_its_thread_sleeps_at_a_barrier,
	  BEFORE_SLEEP "at a barrier")

static void sleep_for_cond(int turn UNUSED)
{
	OK(pthread_mutex_lock(&mutex));
	while (!pingpong.permits)
		OK(pthread_cond_wait(&cond, &mutex));
	pingpong.permits--;
	OK(pthread_mutex_unlock(&mutex));
}

static void answer_by_cond(int turn UNUSED)
{
	OK(pthread_mutex_lock(&mutex));
	pingpong.permits++;
	OK(pthread_cond_signal(&cond));
	OK(pthread_mutex_unlock(&mutex));
}

CLAUSE_BY(play(sleep_for_cond, answer_by_cond),
	  sem_post__desc_4__before_its_thread_sleeps_for_a_condvar,
	  BEFORE_SLEEP "for a condvar")

static void sleep_for_mutex(int turn)
{
	OK(pthread_mutex_lock(&pingpong.turns[turn % 2]));
	OK(pthread_mutex_unlock(&pingpong.turns[turn % 2]));
}

/* The answering thread always has the mutex that is waited for next. */
static void answer_by_mutex(int turn)
{
	OK(pthread_mutex_lock(&pingpong.turns[(turn + 1) % 2]));
	OK(pthread_mutex_unlock(&pingpong.turns[turn % 2]));
}

CLAUSE_BY(play(sleep_for_mutex, answer_by_mutex),
	  sem_post__desc_4__before_its_thread_sleeps_for_a_mutex,
	  BEFORE_SLEEP "for a mutex")

static void sleep_for_rwlock(int turn)
{
	pthread_rwlock_t *lock = &pingpong.rwlocks[turn % 2];

	OK(turn % 4 < 2 ? pthread_rwlock_rdlock(lock) : pthread_rwlock_wrlock(lock));
	OK(pthread_rwlock_unlock(lock));
}

static void answer_by_rwlock(int turn)
{
	OK(pthread_rwlock_wrlock(&pingpong.rwlocks[(turn + 1) % 2]));
	OK(pthread_rwlock_unlock(&pingpong.rwlocks[turn % 2]));
}

CLAUSE_BY(play(sleep_for_rwlock, answer_by_rwlock),
	  sem_post__desc_4__before_its_thread_sleeps_for_an_rwlock,
	  BEFORE_SLEEP "for an rwlock")

SEM_CLAUSE(sem_post__ret__zero, 0, 2, "0 on success")
{
	CHECK_EQ(sem_post(&sem), 0);
	CHECK_EQ(sem_post(&sem), 0);
}

/* -------------------------------------------------------- sem_getvalue -- */

SEM_CLAUSE(sem_getvalue__desc_1__changes_nothing, 2, 2, "it tells the value and leaves it")
{
	for (int i = 0; i < 100; i++)
		CHECK_VALUE(&sem, 2);
}

SEM_CLAUSE(sem_getvalue__desc_2__zero_when_threads_wait, 0, 0,
	   "when others wait it tells 0 or how many they are, less than 0: glibc, 0")
{
	struct waiter waiters[3];

	for (int i = 0; i < 3; i++) {
		wait_elsewhere(&waiters[i], &sem, i);
		CHECK_VALUE(&sem, 0);
	}
	for (int i = 0; i < 3; i++)
		POST(&sem);
	CHECK_ALL_ENDED(waiters);
}

CLAUSE(sem_getvalue__ret__zero, "0 on success")
{
	int value = -1;

	SEM_INIT(&sem, SEM_VALUE_MAX);
	CHECK_EQ(sem_getvalue(&sem, &value), 0);
	CHECK_EQ(value, SEM_VALUE_MAX);
	DESTROY(&sem);
}

/* --------------------------------------- sem_open, sem_close, sem_unlink -- */

static const char *make_name(void)
{
	static char name[64];

	snprintf(name, sizeof(name), "/furwock-conformance-%d", getpid());
	sem_unlink(name);
	return name;
}

#define OPEN(sem, ...)							\
	do {								\
		(sem) = sem_open(__VA_ARGS__);				\
		if ((sem) == SEM_FAILED)				\
			FAIL("sem_open: %s", strerror(errno));		\
	} while (0)

#define CHECK_OPEN_FAILS(wanted, ...)					\
	do {								\
		errno = 0;						\
		CHECK(sem_open(__VA_ARGS__) == SEM_FAILED);		\
		CHECK_EQ(errno, wanted);				\
	} while (0)

/* A clause of `named`, which is made with a value, and unlinked and closed. */
static const char *name;
static sem_t *named;

static void open_named(int value)
{
	name = make_name();
	OPEN(named, name, O_CREAT | O_EXCL, 0600, value);
}

static void close_named(void)
{
	CHECK_EQ(sem_unlink(name), 0);
	CHECK_EQ(sem_close(named), 0);
}

#define NAMED_CLAUSE(test, value, says) \
	CLAUSE_WITHIN(open_named(value), close_named(), test, says)

NAMED_CLAUSE(sem_open__desc_2__creates_with_a_value, 3,
	     "with O_CREAT it is made, with the value given")
{
	check_free(named, 3);
	while (!sem_trywait(named))
		;
	for (EACH_CALL(call))
		check_post_ends(named, call);
}

CLAUSE(sem_open__desc_5__same_name_same_address,
       "to open a name again gives the same address, and leaves the value")
{
	const char *name = make_name();
	sem_t *one, *other;

	OPEN(one, name, O_CREAT, 0600, 1);
	OPEN(other, name, 0);
	CHECK(one == other);
	/* What is there keeps its value. */
	OPEN(other, name, O_CREAT, 0600, 7);
	CHECK(one == other);
	CHECK_VALUE(one, 1);
	CHECK_EQ(sem_unlink(name), 0);
	CHECK_EQ(sem_close(one), 0);
	CHECK_EQ(sem_close(one), 0);
	check_free(one, 1);
	CHECK_EQ(sem_close(one), 0);
}

NAMED_CLAUSE(sem_open__err_EEXIST__exclusive, 1,
	     "O_CREAT and O_EXCL are given and the name is taken")
{
	CHECK_OPEN_FAILS(EEXIST, name, O_CREAT | O_EXCL, 0600, 1);
}

CLAUSE(sem_open__err_ENOENT__not_there, "O_CREAT isn't given and the name isn't there")
{
	CHECK_OPEN_FAILS(ENOENT, make_name(), 0);
}

CLAUSE(sem_open__err_EINVAL__value_beyond_the_maximum,
       "it is to be made with a value greater than SEM_VALUE_MAX")
{
	CHECK_OPEN_FAILS(EINVAL, make_name(), O_CREAT, 0600, SEM_VALUE_MAX + 1U);
}

/* Private semaphores beside it, of the same threads. */
NAMED_CLAUSE(sem_open__desc_1__beside_unnamed_ones, 0,
	     "named semaphores work beside private ones, and belong to forked children as well, "
	     "unlike those")
{
	struct waiter on_private, on_named;
	sem_t private;

	SEM_INIT(&private, 0);
	for (int i = 0; i < 10; i++) {
		wait_elsewhere(&on_private, &private, i % CALLS);
		wait_elsewhere(&on_named, named, i % CALLS);
		/* Another process posts what belongs to both. */
		IN_A_CHILD {
			POST(&private);
			POST(named);
		}
		check_ended(&on_named, 0);
		CHECK(!on_private.done);
		POST(&private);
		check_ended(&on_private, 0);
	}
	check_free(named, 0);
	check_free(&private, 0);
}

CLAUSE(sem_open__desc_1__opened_by_another_process,
       "processes that open the same name have the same semaphore")
{
	sem_t *sem;
	const char *name = make_name();
	sem_t *theirs;
	pid_t child;

	IN_CHILD(child) {
		/* The parent's, which had not been opened at the fork. */
		while ((theirs = sem_open(name, 0)) == SEM_FAILED) {
			CHECK_EQ(errno, ENOENT);
			usleep(500);
		}
		POST(theirs);
	}
	OPEN(sem, name, O_CREAT | O_EXCL, 0600, 0);
	start_waiter(&waiter, sem, WAIT);
	check_ended(&waiter, 0);
	REAP(child);
	CHECK_EQ(sem_unlink(name), 0);
	CHECK_EQ(sem_close(sem), 0);
}

NAMED_CLAUSE(sem_close__desc_1__others_stay_open, 0, "it ends this process's use of it only")
{
	IN_A_CHILD {
		CHECK_EQ(sem_close(named), 0);
		OPEN(named, name, 0);
		POST(named);
	}
	CHECK_EQ(sem_wait(named), 0);
}

SEM_CLAUSE(sem_close__err_EINVAL__not_a_named_one, 1, 1,
	   "it isn't one that sem_open gave (a \"may\" that glibc does)")
{
	CHECK_ERRNO(sem_close(&sem), EINVAL);
}

CLAUSE(sem_unlink__desc_1__name_is_free_and_the_semaphore_works,
       "the name is gone at once; those that have it open go on with it")
{
	const char *name = make_name();
	sem_t *old, *new;

	OPEN(old, name, O_CREAT | O_EXCL, 0600, 1);
	CHECK_EQ(sem_unlink(name), 0);
	CHECK_OPEN_FAILS(ENOENT, name, 0);
	OPEN(new, name, O_CREAT | O_EXCL, 0600, 5);
	CHECK(old != new);
	check_free(old, 1);
	check_free(new, 5);
	POST(old);
	CHECK_VALUE(new, 5);
	CHECK_EQ(sem_unlink(name), 0);
	CHECK_EQ(sem_close(old), 0);
	CHECK_EQ(sem_close(new), 0);
}

CLAUSE(sem_unlink__err_ENOENT__not_there, "there is none of that name")
{
	CHECK_ERRNO(sem_unlink(make_name()), ENOENT);
}
