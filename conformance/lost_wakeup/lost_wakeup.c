/*
 * A search for lost wakeups of pthread_cond_signal, such as glibc's bug 25847.
 *
 *	lost_wakeup [--seconds N] [--workers N] [--every N] [--pause US] [--seed S]
 *		    [--patience N] [--plant WHAT]
 *
 * A boss posts items, one pthread_cond_signal each, with the mutex held. Idle
 * workers wait on the one condvar until there are items, and take all of them.
 * The boss posts one or two, and no more until they are taken, for which it
 * looks at a counter. So a round can stand still only if a signal was sent
 * while workers waited, and woke none of them.
 *
 * The bug needs a waiter that is slow in between taking its signal and looking
 * whether it was its own, while the others go on for some rounds. That happens
 * by itself, when a processor is taken away in the wrong nanosecond; once in
 * hours. To see it in seconds, waiters are made slow by two means, of which
 * neither changes what a program means:
 *
 * - The condvar lies across the border of two pages, of shared memory. The boss
 *   tells the kernel to forget where the first one is, as it does by itself when
 *   memory is short: the next access takes a page fault, and a microsecond.
 * - Once in EVERY rounds, some microseconds after it posted, the boss sends a
 *   signal to the worker whose turn it is to wake; the handler sleeps for up to
 *   PAUSE microseconds. Sleeping is allowed in a handler, and after a handler
 *   pthread_cond_wait goes on to wait, or returns spuriously.
 *
 * `--every 0` does without both.
 *
 * In the bug, the slow waiter takes its own signal for one that it stole from a
 * younger group of waiters, and gives that group one more. So one of the group
 * wakes that no signal was counted for. The group seems to have a waiter left
 * when it has none; the next signal goes to it, and wakes no waiter.
 *
 * When no round has ended for two seconds, the program looks. It says "lost
 * wakeup" if there are items, every worker sleeps in pthread_cond_wait, where it
 * was when the last signal was sent, and a second later all of that still holds.
 * If not (no item is pending; a worker is elsewhere; a thread has the mutex)
 * the signals aren't to blame. The program then waits for up to PATIENCE
 * seconds, and goes on if the rounds do; the result is "inconclusive" if they
 * don't.
 *
 * `--plant WHAT` makes one of these happen after some rounds, to show that each
 * is told from the others:
 *
 *	lost	the boss posts an item and sends no signal
 *	idle	the boss posts no more; no item is pending
 *	held	the boss keeps the mutex
 *	away	items are pending, but a worker is busy elsewhere
 *	pause	the boss sleeps until the program looks, and goes on
 *
 * A run with a plant lasts until what was planted has happened.
 *
 * Prints one line. Exit 0 if every signal woke a worker, 3 if one was lost, 4 if
 * the run is inconclusive, 1 if something else failed, 2 for wrong arguments.
 */
#include "../pthread/harness.h"

#include <stdatomic.h>

#define MAX_WORKERS 64
#define STUCK_MS 2000
#define PAGE 4096
/*
 * So much of the condvar is on the first page: in glibc's, where each group of
 * waiters starts, but not the groups' signals.
 */
#define SPLIT 16
#define CONFIRM_MS 1000
#define EXIT_LOST 3
#define EXIT_INCONCLUSIVE 4
/* What is planted comes after so many rounds. */
#define PLANTED_AT 100
/* If no worker returns from a wait for so long, no signal is on its way. */
#define QUIET_MS 100

struct worker {
	struct thread thread;
	/* Whether it is between the calls around pthread_cond_wait. */
	volatile sig_atomic_t in_wait;
	uint32_t random;
	/* Protected by the mutex. */
	bool waits;
	long since;
	long returns;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t *posted;
static char *pages;
static _Atomic long taken;

/* Protected by the mutex. */
static int items;
static bool closed;
static long waits_so_far;
/* Signals that were sent, and the state when the last one was. */
static long signals;
static int waiting_then;
static long returns_then;

static struct worker workers[MAX_WORKERS];
static _Thread_local struct worker *self;
static _Atomic long rounds;
static _Atomic bool stop, boss_is_done;
/* How often the main thread has looked why no round ends. */
static _Atomic int looks_taken;

static long seconds = 60;
static int count = 5;
static long every = 4;
static long pause_us = 300;
static uint32_t seed;
static long patience = 10;

enum plant { NOTHING, LOST, IDLE, HELD, AWAY, PAUSE };
static const char *const plants[] = {
	[LOST] = "lost", [IDLE] = "idle",   [HELD] = "held",
	[AWAY] = "away", [PAUSE] = "pause",
};
static enum plant plant;

static bool planted(enum plant what)
{
	return plant == what && rounds == PLANTED_AT;
}

static long all_returns(void)
{
	long sum = 0;
	int i;

	for (i = 0; i < count; i++)
		sum += workers[i].returns;
	return sum;
}

static int all_waiting(void)
{
	int sum = 0, i;

	for (i = 0; i < count; i++)
		sum += workers[i].waits;
	return sum;
}

static void sleep_us(long us)
{
	struct timespec time = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&time, NULL);
}

static void stop_here(void)
{
	for (;;)
		pause();
}

/* Not when it is slow for all, because it has the mutex. */
static void be_slow(int signal UNUSED)
{
	int error = errno;

	if (self && self->in_wait)
		sleep_us(1 + next_random(&self->random) % pause_us);
	errno = error;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	int took;

	self = worker;
	OK(pthread_mutex_lock(&mutex));
	while (!closed) {
		while (!items && !closed) {
			worker->waits = true;
			worker->since = ++waits_so_far;
			worker->in_wait = true;
			OK(pthread_cond_wait(posted, &mutex));
			worker->in_wait = false;
			worker->waits = false;
			worker->returns++;
		}
		if (planted(AWAY)) {
			OK(pthread_mutex_unlock(&mutex));
			stop_here();
		}
		took = items;
		items = 0;
		OK(pthread_mutex_unlock(&mutex));
		taken += took;
		OK(pthread_mutex_lock(&mutex));
	}
	OK(pthread_mutex_unlock(&mutex));
	return NULL;
}

/* The thread that has waited longest: signals usually wake it. */
static struct worker *oldest(void)
{
	struct worker *found = NULL;
	int i;

	for (i = 0; i < count; i++)
		if (workers[i].waits &&
		    (!found || workers[i].since < found->since))
			found = &workers[i];
	return found;
}

/* All wait, and no signal of the rounds before is still on its way to one. */
static void until_all_wait(void)
{
	long returns = -1;
	bool quiet = false;
	int i, asleep;

	while (!quiet) {
		sleep_ms(QUIET_MS);
		asleep = 0;
		for (i = 0; i < count; i++)
			asleep += is_asleep(workers[i].thread.tid);
		OK(pthread_mutex_lock(&mutex));
		quiet = all_waiting() == count && asleep == count &&
			all_returns() == returns;
		returns = all_returns();
		OK(pthread_mutex_unlock(&mutex));
	}
}

static void until_looked_at(void)
{
	while (!looks_taken)
		sleep_ms(10);
}

static struct worker *post(void)
{
	struct worker *next;

	OK(pthread_mutex_lock(&mutex));
	if (planted(HELD))
		stop_here();
	next = oldest();
	items++;
	signals++;
	waiting_then = all_waiting();
	returns_then = all_returns();
	if (!planted(LOST))
		OK(pthread_cond_signal(posted));
	OK(pthread_mutex_unlock(&mutex));
	return next;
}

static void *lead(void *argument UNUSED)
{
	uint32_t random = seed | 1;
	struct worker *next;
	int64_t begin;
	long sent = 0, looks;
	int burst;

	while (!stop || (plant && rounds <= PLANTED_AT)) {
		if (planted(LOST))
			until_all_wait();
		if (planted(IDLE))
			stop_here();
		if (planted(PAUSE))
			until_looked_at();
		burst = 1 + next_random(&random) % 2;
		sent += burst;
		next = post();
		if (burst == 2)
			post();
		if (every)
			madvise(pages, PAGE, MADV_DONTNEED);
		if (next && every && next_random(&random) % every == 0) {
			/* As often within 1 us as within 10. */
			begin = now_ns(CLOCK_MONOTONIC) +
				next_random(&random) %
				(1 << next_random(&random) % 17);
			while (now_ns(CLOCK_MONOTONIC) < begin)
				;
			pthread_kill(next->thread.pthread, SIGUSR1);
		}
		for (looks = 0; taken != sent; looks++) {
			if (looks < 100000)
				sched_yield();
			else
				sleep_us(1000);
		}
		rounds++;
	}
	boss_is_done = true;
	return NULL;
}

/* The address on which a thread waits for a futex, or 0. */
static uintptr_t sleeps_on(pid_t tid)
{
	char path[64], text[512];
	unsigned long address = 0;
	int number = -1;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return 0;
	text[got] = '\0';
	if (sscanf(text, "%d %lx", &number, &address) != 2 ||
	    number != SYS_futex)
		return 0;
	return address;
}

/* What the program looks like when nothing has gone on for a while. */
struct state {
	bool mutex_is_free;
	int items;
	/* Workers in pthread_cond_wait, and asleep there. */
	int waiting, asleep, on_condvar;
	/* Workers that waited when the last signal was sent, and returns since. */
	int waiting_then;
	long returned;
};

static struct state look(void)
{
	struct timespec limit = in_ms(CLOCK_REALTIME, 2000);
	struct state state = { 0 };
	uintptr_t address;
	int i, error;

	error = pthread_mutex_timedlock(&mutex, &limit);
	if (error == ETIMEDOUT)
		return state;
	OK(error);
	state.mutex_is_free = true;
	state.items = items;
	state.waiting = all_waiting();
	state.waiting_then = waiting_then;
	state.returned = all_returns() - returns_then;
	OK(pthread_mutex_unlock(&mutex));
	/* A worker that was signalled has the mutex to itself now. */
	sleep_ms(CONFIRM_MS / 2);
	for (i = 0; i < count; i++) {
		state.asleep += is_asleep(workers[i].thread.tid);
		address = sleeps_on(workers[i].thread.tid);
		state.on_condvar += address >= (uintptr_t)posted &&
				    address < (uintptr_t)(posted + 1);
	}
	return state;
}

/*
 * Work is pending that a signalled waiter should have taken: a worker that
 * returned after the last item was posted would have found it.
 */
static bool is_lost(const struct state *state)
{
	return state->mutex_is_free && state->items &&
	       state->waiting == count && state->asleep == count &&
	       state->waiting_then && !state->returned;
}

static void describe(const char *judgement, double after_s,
		     const struct state *state)
{
	printf("%s after %.1f s: rounds %ld", judgement, after_s, (long)rounds);
	if (!state->mutex_is_free) {
		printf("; the mutex can't be had");
		return;
	}
	printf("; signals %ld; items %d; waiting at the last signal %d, "
	       "returned since %ld; %d s later waiting %d of %d, asleep %d, "
	       "on the condvar's words %d",
	       signals, state->items, state->waiting_then, state->returned,
	       STUCK_MS / 1000, state->waiting, count, state->asleep,
	       state->on_condvar);
}

/* No round has ended for a while. Returns 0 if they go on by themselves. */
static int examine(double after_s)
{
	struct state state, again;
	int64_t limit;
	long before = rounds;

	state = look();
	looks_taken++;
	sleep_ms(CONFIRM_MS);
	again = look();
	if (rounds != before)
		return 0;
	if (is_lost(&state) && is_lost(&again)) {
		describe("lost wakeup", after_s, &again);
		/* One more signal than items mends it. */
		OK(pthread_mutex_lock(&mutex));
		OK(pthread_cond_signal(posted));
		OK(pthread_mutex_unlock(&mutex));
		sleep_us(500000);
		printf("; one more signal: %s\n",
		       rounds > before ? "goes on" : "nothing");
		return EXIT_LOST;
	}
	limit = now_ns(CLOCK_MONOTONIC) + patience * NS_PER_S;
	while (now_ns(CLOCK_MONOTONIC) < limit) {
		sleep_ms(50);
		if (rounds != before)
			return 0;
	}
	state = look();
	if (rounds != before)
		return 0;
	describe("inconclusive", after_s, &state);
	printf("\n");
	return EXIT_INCONCLUSIVE;
}

static enum plant plant_named(const char *name)
{
	int i;

	for (i = LOST; i <= PAUSE; i++)
		if (!strcmp(name, plants[i]))
			return i;
	return NOTHING;
}

static int parse(int argc, char **argv)
{
	long value;
	int i;

	for (i = 1; i + 1 < argc; i += 2) {
		value = atol(argv[i + 1]);
		if (!strcmp(argv[i], "--seconds"))
			seconds = value;
		else if (!strcmp(argv[i], "--workers"))
			count = value;
		else if (!strcmp(argv[i], "--pause"))
			pause_us = value;
		else if (!strcmp(argv[i], "--every"))
			every = value;
		else if (!strcmp(argv[i], "--seed"))
			seed = value;
		else if (!strcmp(argv[i], "--patience"))
			patience = value;
		else if (!strcmp(argv[i], "--plant"))
			plant = plant_named(argv[i + 1]);
		else
			return -1;
		if (!strcmp(argv[i], "--plant") && !plant)
			return -1;
	}
	return i == argc && seconds > 0 && count > 1 && count <= MAX_WORKERS &&
	       every >= 0 && pause_us > 0 && patience >= 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = be_slow };
	struct thread boss;
	int64_t begin, moved;
	long seen = 0;
	int i, stuck;

	running = "lost_wakeup";
	begin = now_ns(CLOCK_MONOTONIC);
	seed = begin / 1000;
	if (parse(argc, argv)) {
		fprintf(stderr, "usage: lost_wakeup [--seconds N] [--workers N] "
				"[--every N] [--pause US] [--seed S] "
				"[--patience N] [--plant WHAT]\n");
		return 2;
	}
	pages = shared_memory(2 * PAGE);
	posted = (pthread_cond_t *)(pages + PAGE - SPLIT);
	make_cond(posted, CLOCK_REALTIME, false);
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	for (i = 0; i < count; i++) {
		workers[i].random = seed + i + 1;
		start(&workers[i].thread, work, &workers[i]);
	}
	for (i = 0; i < count; i++)
		until_asleep(&workers[i].thread);
	start(&boss, lead, NULL);

	begin = moved = now_ns(CLOCK_MONOTONIC);
	while (!boss_is_done) {
		sleep_ms(50);
		if (now_ns(CLOCK_MONOTONIC) - begin >= seconds * NS_PER_S)
			stop = true;
		if (rounds != seen) {
			seen = rounds;
			moved = now_ns(CLOCK_MONOTONIC);
		} else if (now_ns(CLOCK_MONOTONIC) - moved >
			   STUCK_MS * (NS_PER_S / 1000)) {
			stuck = examine((double)(moved - begin) / NS_PER_S);
			/* Threads that are stuck can't be joined. */
			if (stuck)
				return stuck;
		}
	}
	join(&boss);
	OK(pthread_mutex_lock(&mutex));
	closed = true;
	OK(pthread_cond_broadcast(posted));
	OK(pthread_mutex_unlock(&mutex));
	for (i = 0; i < count; i++)
		join(&workers[i].thread);
	printf("no lost wakeup in %ld s: rounds %ld; signals %ld; returns %ld\n",
	       seconds, rounds, signals, all_returns());
	return 0;
}
