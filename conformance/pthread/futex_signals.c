/* Signals and futex(2): what ends a wait, and calls from handlers. */
#include "../posix/children.h"
#include "../posix/handlers.h"
#include "futex.h"

#include <stdatomic.h>
#include <sys/time.h>

/* ------------------------------------------------------------- EINTR -- */

static word at;
static struct waitv pair[2] = { WAITV_ON(&at), WAITV_ON(&at) };
static struct timespec far_off, long_time = { .tv_sec = 60 };

struct wait {
	long number, arguments[6];
	/* With a handler that says SA_RESTART. */
	bool restarts;
};

static struct wait waits[] = {
	{ SYS_futex, { (long)&at, FUTEX_WAIT | PRIVATE }, true },
	{ SYS_futex, { (long)&at, FUTEX_WAIT | PRIVATE, 0, (long)&long_time },
	  false },
	{ SYS_futex, { (long)&at, FUTEX_WAIT_BITSET | PRIVATE, 0, 0, 0, 1 },
	  true },
	{ SYS_futex,
	  { (long)&at, FUTEX_WAIT_BITSET | PRIVATE, 0, (long)&far_off, 0, 1 },
	  false },
	{ SYS_futex,
	  { (long)&at, FUTEX_WAIT_BITSET | PRIVATE | REALTIME, 0,
	    (long)&far_off, 0, 1 },
	  false },
	{ SYS_WAITV, { (long)pair, 2 }, true },
	{ SYS_WAITV, { (long)pair, 2, 0, (long)&far_off, CLOCK_MONOTONIC },
	  true },
	{ SYS_WAIT, { (long)&at, 0, 1, PRIVATE_32 }, true },
	{ SYS_WAIT,
	  { (long)&at, 0, 1, PRIVATE_32, (long)&far_off, CLOCK_MONOTONIC },
	  true },
};

static void check_interrupted(const struct wait *wait, int flags)
{
	const long *a = wait->arguments;
	struct waiter waiter;

	if (!kernel_has(wait->number))
		return;
	start_call(&waiter, libc_call, wait->number, a[0], a[1], a[2], a[3],
		   a[4], a[5]);
	if (flags & SA_RESTART && wait->restarts) {
		for (int i = 0; i < 20; i++) {
			shoot(&waiter.thread);
			until_asleep(&waiter.thread);
		}
		CHECK_EQ(waiter.turn, 0);
		CHECK_EQ(wake(&at, 1), 1);
		CHECK_EQ(finish(&waiter), 0);
		return;
	}
	shoot(&waiter.thread);
	CHECK_EQ(finish(&waiter), -EINTR);
	/* It is no longer there to be woken. */
	CHECK_EQ(wake(&at, 1), 0);
}

static void check_interruptions(int flags)
{
	handle(flags);
	far_off = in_ms(CLOCK_REALTIME, 60000);
	for (EACH(i, waits))
		check_interrupted(&waits[i], flags);
}

TEST(futex_wait__ended_by_a_handler)
{
	check_interruptions(0);
}

TEST(futex_wait__restarted_after_a_handler)
{
	check_interruptions(SA_RESTART);
}

/* Stopping, and signals without a handler, end no wait. */
TEST(futex_wait__not_ended_by_a_stop)
{
	struct waiter waiter;
	pid_t parent = getpid();

	start_call(&waiter, libc_call, SYS_futex, (long)&at,
		   FUTEX_WAIT | PRIVATE, 0, (long)&long_time, 0, 0);
	IN_A_CHILD {
		for (int i = 0; i < 5; i++) {
			CHECK_EQ(kill(parent, SIGSTOP), 0);
			sleep_ms(2);
			CHECK_EQ(kill(parent, SIGCONT), 0);
			sleep_ms(2);
		}
	}
	CHECK_EQ(waiter.turn, 0);
	CHECK_EQ(wake(&at, 1), 1);
	CHECK_EQ(finish(&waiter), 0);
}

/* ------------------------------------------------------ from handlers -- */

static word inner;
static _Atomic long inner_result;

static void wait_inside(int signal UNUSED)
{
	handled++;
	inner_result = futex(&inner, FUTEX_WAIT | PRIVATE, 0, NULL, NULL, 0);
}

/* The handler waits on a thread that waits already. */
TEST(futex_wait__inside_a_wait)
{
	struct waiter waiter;

	handle_by(SIGUSR1, wait_inside, SA_RESTART);
	for (int i = 0; i < 10; i++) {
		inner_result = 1;
		start_wait(&waiter, libc_call, &at);
		shoot(&waiter.thread);
		until_asleep(&waiter.thread);
		CHECK_EQ(wake(&inner, INT_MAX), 1);
		UNTIL(inner_result == 0);
		CHECK_EQ(waiter.turn, 0);
		until_asleep(&waiter.thread);
		CHECK_EQ(wake(&at, INT_MAX), 1);
		CHECK_EQ(finish(&waiter), 0);
	}
}

/* The outer wait is woken while the handler waits. */
TEST(futex_wait__woken_during_a_handler)
{
	struct waiter waiter;

	handle_by(SIGUSR1, wait_inside, 0);
	start_wait(&waiter, libc_call, &at);
	shoot(&waiter.thread);
	until_asleep(&waiter.thread);
	/* The kernel may have taken it off the queue by then. */
	CHECK(wake(&at, INT_MAX) <= 1);
	CHECK_EQ(wake(&inner, 1), 1);
	CHECK(finish(&waiter) == 0 || waiter.result == -EINTR);
}

/*
 * The storm: permits at two words. A thread that wants one takes it or waits
 * for it, and may be moved on to a third word. Handlers and threads hand
 * permits out, at any moment. At the end as many were taken as were handed out,
 * without a further wake: a lost one hangs.
 */
#define WORDS 2
#define TAKERS 4

static word permits[WORDS], elsewhere;
static _Atomic long given, taken;
/* Nothing is given any more; nothing has to be taken any more. */
static _Atomic bool over, done;
/* Handlers that may still give. */
static _Atomic int giving;
static struct thread takers[TAKERS], givers[2], shooter;

static void give(int where)
{
	given++;
	permits[where]++;
	futex(&permits[where], FUTEX_WAKE | PRIVATE, 1, NULL, NULL, 0);
	futex(&elsewhere, FUTEX_WAKE | PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Only while the takers keep up. */
static bool may_give(void)
{
	return given - taken < 50;
}

static void give_inside(int signal UNUSED)
{
	static _Atomic uint32_t turn;
	int saved = errno;

	giving++;
	handled++;
	if (!over && may_give())
		give(turn++ % WORDS);
	giving--;
	errno = saved;
}

static void *take(void *number)
{
	uint32_t random = 77 + (uintptr_t)number, seen;
	int where = (uintptr_t)number % WORDS;
	struct timespec soon = { .tv_nsec = 100000 };

	for (;;) {
		seen = permits[where];
		while (seen)
			if (atomic_compare_exchange_weak(&permits[where], &seen,
							 seen - 1))
				break;
		if (seen) {
			taken++;
			if (done)
				return NULL;
			continue;
		}
		/* Now and then with a limit, unless that hid a loss. */
		futex(&permits[where], FUTEX_WAIT | PRIVATE, 0,
		      !over && next_random(&random) % 4 == 0 ? &soon : NULL,
		      NULL, 0);
	}
}

THREAD(give_and_move, void *number)
{
	uint32_t random = 99 + (uintptr_t)number;

	while (!over) {
		int where = next_random(&random) % WORDS;

		switch (next_random(&random) % 4) {
		case 0:
			futex(&permits[where], FUTEX_CMP_REQUEUE | PRIVATE, 0,
			      VAL2(1), &elsewhere, 0);
			break;
		case 1:
			futex(&permits[where], FUTEX_WAKE | PRIVATE, INT_MAX,
			      NULL, NULL, 0);
			break;
		default:
			if (may_give())
				give(where);
			else
				sched_yield();
		}
	}
}

THREAD(shoot_all, void *unused UNUSED)
{
	while (!over) {
		for (int i = 0; i < TAKERS; i++)
			pthread_kill(takers[i].pthread, SIGUSR1);
		for (int i = 0; i < 2; i++)
			pthread_kill(givers[i].pthread, SIGUSR1);
		usleep(20);
	}
}

TEST(futex__a_storm_of_handlers)
{
	struct itimerval often = { { 0, 250 }, { 0, 250 } }, never = { 0 };
	intptr_t i;

	handle_by(SIGUSR1, give_inside, 0);
	/* Interrupts the other handler as well. */
	handle_by(SIGVTALRM, give_inside, SA_RESTART);
	for (i = 0; i < TAKERS; i++)
		start(&takers[i], take, (void *)i);
	for (i = 0; i < 2; i++)
		start(&givers[i], give_and_move, (void *)i);
	start(&shooter, shoot_all, NULL);
	CHECK_EQ(setitimer(ITIMER_VIRTUAL, &often, NULL), 0);
	sleep_ms(2000);
	CHECK_EQ(setitimer(ITIMER_VIRTUAL, &never, NULL), 0);
	over = true;
	join(&shooter);
	join_all(givers, 2);
	UNTIL(!giving);
	/* All that was given is taken, by the waiters woken for it. */
	UNTIL(taken == given);
	CHECK_EQ(permits[0] + permits[1], 0);
	CHECK(handled > 100 && given > 100);
	/* The last permits, which say that there are no others. */
	done = true;
	for (i = 0; i < WORDS; i++) {
		permits[i] = TAKERS;
		futex(&permits[i], FUTEX_WAKE | PRIVATE, INT_MAX, NULL, NULL, 0);
	}
	futex(&elsewhere, FUTEX_WAKE | PRIVATE, INT_MAX, NULL, NULL, 0);
	join_all(takers, TAKERS);
}

/*
 * One permit at a time, from handlers only: the next is given when this one has
 * been taken, so that a single lost wakeup stops everything. The interrupted
 * thread is busy at the same word, and wakes no waiter.
 */
static void give_one_inside(int signal UNUSED)
{
	long last = taken;

	giving++;
	handled++;
	if (!over && atomic_compare_exchange_strong(&given, &last, last + 1)) {
		permits[0]++;
		futex(&permits[0], FUTEX_WAKE | PRIVATE, 1, NULL, NULL, 0);
	}
	giving--;
}

THREAD(take_each, void *unused UNUSED)
{
	uint32_t one;

	while (!done) {
		one = 1;
		if (atomic_compare_exchange_strong(&permits[0], &one, 0))
			taken++;
		else
			futex(&permits[0], FUTEX_WAIT | PRIVATE, 0, NULL, NULL,
			      0);
	}
}

THREAD(wake_none, void *unused UNUSED)
{
	while (!over)
		CHECK_EQ(futex(&permits[0], FUTEX_REQUEUE | PRIVATE, 0, VAL2(0),
			       &elsewhere, 0),
			 0);
}

THREAD(shoot_givers, void *unused UNUSED)
{
	while (!over) {
		pthread_kill(givers[0].pthread, SIGUSR1);
		usleep(20);
	}
}

TEST(futex_wake__by_a_handler_is_not_lost)
{
	handle_by(SIGUSR1, give_one_inside, 0);
	start_all(takers, 2, take_each, NULL);
	start(&givers[0], wake_none, NULL);
	start(&shooter, shoot_givers, NULL);
	sleep_ms(1500);
	over = true;
	join(&shooter);
	join(&givers[0]);
	UNTIL(!giving && taken == given);
	CHECK(taken > 10);
	done = true;
	permits[0] = 2;
	CHECK(wake(&permits[0], INT_MAX) <= 2);
	join_all(takers, 2);
}

/* Handlers wait, and threads wait and wake, at one word. */
THREAD(wait_and_wake, void *unused UNUSED)
{
	while (!over) {
		struct timespec soon = { .tv_nsec = 50000 };

		futex(&at, FUTEX_WAIT | PRIVATE, 0, &soon, NULL, 0);
		futex(&at, FUTEX_WAKE | PRIVATE, 1, NULL, NULL, 0);
	}
}

static void wait_briefly_inside(int signal UNUSED)
{
	struct timespec soon = { .tv_nsec = 20000 };
	int saved = errno;

	handled++;
	futex(&at, FUTEX_WAIT | PRIVATE, 0, &soon, NULL, 0);
	errno = saved;
}

TEST(futex__a_storm_of_waits_in_handlers)
{
	handle_by(SIGUSR1, wait_briefly_inside, 0);
	start_all(takers, TAKERS, wait_and_wake, NULL);
	start_all(givers, 2, wait_and_wake, NULL);
	start(&shooter, shoot_all, NULL);
	sleep_ms(1000);
	over = true;
	join(&shooter);
	join_all(takers, TAKERS);
	join_all(givers, 2);
	CHECK(handled > 20);
	CHECK_EQ(wake(&at, INT_MAX), 0);
}

/* ----------------------------------------- many wakes in one handler -- */

#define MANY 1000

static _Atomic long found;

static void wake_many_inside(int signal UNUSED)
{
	handled++;
	for (int i = 0; i < MANY; i++)
		found += futex(&at, FUTEX_WAKE_BITSET | PRIVATE, 1, NULL, NULL,
			       2);
}

/*
 * The interrupted thread is busy at the same word. It isn't the waiter: that
 * wouldn't wait while its handler runs, as on the kernel.
 */
TEST(futex_wake__many_in_a_handler)
{
	struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { 0 };
	struct waiter waiter;
	sigset_t timers;

	handle_by(SIGVTALRM, wake_many_inside, SA_RESTART);
	sigemptyset(&timers);
	sigaddset(&timers, SIGVTALRM);
	OK(pthread_sigmask(SIG_BLOCK, &timers, NULL));
	start_wait_for(&waiter, libc_call, &at, 1, NULL);
	OK(pthread_sigmask(SIG_UNBLOCK, &timers, NULL));
	CHECK_EQ(setitimer(ITIMER_VIRTUAL, &often, NULL), 0);
	while (handled < 100)
		found += futex(&at, FUTEX_WAKE_BITSET | PRIVATE, 1, NULL, NULL,
			       4);
	CHECK_EQ(setitimer(ITIMER_VIRTUAL, &never, NULL), 0);
	CHECK_EQ(found, 0);
	CHECK_EQ(waiter.turn, 0);
	CHECK_EQ(wake(&at, INT_MAX), 1);
	CHECK_EQ(finish(&waiter), 0);
}

RUN_TESTS()
