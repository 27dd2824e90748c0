/*
 * Signals to all threads, whatever they do, by a timer and by other threads.
 * The handlers post semaphores, and each post reaches a waiter.
 */
#include "stress.h"

enum {
	SIGNALLERS = 1,
	BASINS = 4,
	DRAINERS = 3,		/* of each basin */
	TIMER_NS = 400000,
};

/* Filled by handlers. */
static struct basin {
	sem_t semaphore;
	_Atomic long in, out;
} basins[BASINS];

static _Atomic uint32_t handled;
static timer_t timer;

static const int storm[] = { SIGUSR1, SIGUSR2 };

void block_storm(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, storm[0]);
	sigaddset(&set, storm[1]);
	OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
}

static void post(struct basin *basin)
{
	basin->in++;
	if (sem_post(&basin->semaphore))
		_exit(1);
}

static void handle(int signal UNUSED)
{
	uint32_t number = handled++;
	int error = errno, state;

	/* glibc makes the type asynchronous while a thread waits. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	post(&basins[number % BASINS]);
	/* Sometimes more than one, of several objects. */
	if (number % 8 == 0)
		post(&basins[number / 8 % BASINS]);
	pthread_setcancelstate(state, &state);
	errno = error;
}

static int drain_somehow(struct actor *actor, struct basin *basin)
{
	struct timespec at;

	switch (next_random(&actor->random) % 4) {
	case 0:
		at = soon(actor, CLOCK_REALTIME);
		return sem_timedwait(&basin->semaphore, &at);
	case 1:
		return sem_trywait(&basin->semaphore);
	default:
		return sem_wait(&basin->semaphore);
	}
}

ACTOR(drain, "drainer", struct basin *basin)
{
	if (next_random(&actor->random) % 2)
		block_storm();
	while (!stop) {
		does(actor, "drains basin", basin - basins);
		if (drain_somehow(actor, basin) == 0)
			basin->out++;
		else
			CHECK(errno == EINTR || errno == ETIMEDOUT ||
			      errno == EAGAIN);
		got_on(actor);
		dawdle(actor);
	}
}

/*
 * An actor may have ended since, so that the signal goes nowhere, or to another
 * thread of this process.
 */
ACTOR(keep_signalling, "signaller", void *argument UNUSED)
{
	uint32_t choice;
	pid_t tid;

	while (!stop) {
		choice = next_random(&actor->random);
		tid = actors[choice % ACTORS].tid;
		does(actor, "signals", tid);
		if (tid && actors[choice % ACTORS].role)
			syscall(SYS_tgkill, getpid(), tid,
				storm[choice / ACTORS % 2]);
		got_on(actor);
		if (choice / ACTORS % 16 == 0)
			usleep(next_random(&actor->random) % 200);
	}
}

static void begin(int strength)
{
	struct sigaction action = { .sa_handler = handle };
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL,
		.sigev_signo = SIGUSR1,
	};
	struct itimerspec often = {
		.it_interval.tv_nsec = TIMER_NS / strength,
		.it_value.tv_nsec = TIMER_NS,
	};

	for (int i = 0; i < BASINS; i++)
		CHECK_EQ(sem_init(&basins[i].semaphore, 0, 0), 0);
	CHECK_EQ(sigaction(storm[0], &action, NULL), 0);
	action.sa_flags = SA_RESTART;
	CHECK_EQ(sigaction(storm[1], &action, NULL), 0);
	for (int i = 0; i < BASINS * DRAINERS; i++)
		enlist(drain, &basins[i % BASINS]);
	for (int i = 0; i < SIGNALLERS * strength; i++)
		enlist(keep_signalling, NULL);
	/* The timer's are for any thread but the one that does nothing. */
	block_storm();
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	CHECK_EQ(timer_settime(timer, 0, &often, NULL), 0);
}

static void finish(void)
{
	CHECK_EQ(timer_delete(timer), 0);
	for (int i = 0; i < BASINS * DRAINERS; i++)
		post(&basins[i % BASINS]);
}

static void check(void)
{
	int value;

	for (int i = 0; i < BASINS; i++) {
		CHECK_EQ(sem_getvalue(&basins[i].semaphore, &value), 0);
		CHECK_EQ(basins[i].in - basins[i].out, value);
	}
}

static void report(void)
{
	printf("handled: %u signals\n", handled);
}

const struct subject signals_subject = {
	.name = "signal",
	.is_storm = true,
	.begin = begin,
	.finish = finish,
	.check = check,
	.report = report,
};
