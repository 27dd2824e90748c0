/* Rounds of condvars, barriers, semaphores, onces, and of C11's. */
#include "fresh.h"

#include <threads.h>

/* --------------------------------------------------------------- condvars -- */

struct monitor {
	pthread_cond_t cond;
	pthread_mutex_t mutex;
	int turn;
};

static void make_monitor(void *at, struct round *round)
{
	static const pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct monitor *monitor = at;

	if (round->choice & 8)
		monitor->cond = cond;
	else
		make_cond(&monitor->cond, CLOCK_REALTIME, false);
	OK(make_mutex(&monitor->mutex, (round->choice >> 8) % OWN_KINDS));
	monitor->turn = 0;
}

static void wait_somehow(struct monitor *monitor, struct seat *seat)
{
	struct timespec at;
	int error = 0;

	switch (draw(seat, 8)) {
	case 0:
		at = shortly(seat, CLOCK_REALTIME);
		error = pthread_cond_timedwait(&monitor->cond, &monitor->mutex,
					       &at);
		break;
	case 1:
		at = shortly(seat, CLOCK_MONOTONIC);
		error = pthread_cond_clockwait(&monitor->cond, &monitor->mutex,
					       CLOCK_MONOTONIC, &at);
		break;
	default:
		error = pthread_cond_wait(&monitor->cond, &monitor->mutex);
	}
	MUST(error == 0 || error == ETIMEDOUT);
}

/* Either one lets all others go on, or each the next. */
static void meet_monitor(void *at, struct round *round, struct seat *seat)
{
	struct monitor *monitor = at;
	bool in_turn = round->choice & 1, outside = round->choice & 2;
	int i;

	OK(pthread_mutex_lock(&monitor->mutex));
	while (in_turn ? monitor->turn != seat->number
		       : seat->number && !monitor->turn)
		wait_somehow(monitor, seat);
	monitor->turn++;
	write_pair(round, seat);
	if (outside)
		OK(pthread_mutex_unlock(&monitor->mutex));
	if (in_turn)
		OK(pthread_cond_broadcast(&monitor->cond));
	else if (seat->number == 0 && round->choice & 4)
		OK(pthread_cond_broadcast(&monitor->cond));
	else if (seat->number == 0)
		for (i = 1; i < round->seats; i++)
			OK(pthread_cond_signal(&monitor->cond));
	if (!outside)
		OK(pthread_mutex_unlock(&monitor->mutex));
}

static void end_monitor(void *at, struct round *round)
{
	struct monitor *monitor = at;

	MUST(pthread_mutex_trylock(&monitor->mutex) == 0);
	MUST(monitor->turn == round->seats);
	OK(pthread_mutex_unlock(&monitor->mutex));
	check_sums(round);
	if (round->choice & 1u << 20) {
		/* glibc's waits until nobody is inside any more. */
		OK(pthread_cond_destroy(&monitor->cond));
		MUST(pthread_mutex_destroy(&monitor->mutex) == 0);
	}
}

const struct fresh_kind cond_kind = {
	"condvar", make_monitor, meet_monitor, end_monitor,
};

/* --------------------------------------------------------------- barriers -- */

static int phases(struct round *round)
{
	return 1 + round->choice % 3;
}

static void make_barrier(void *at, struct round *round)
{
	OK(pthread_barrier_init(at, NULL, round->seats));
}

static void meet_barrier(void *at, struct round *round, struct seat *seat)
{
	int phase, ended;

	for (phase = 1; phase <= phases(round); phase++) {
		round->count++;
		ended = pthread_barrier_wait(at);
		MUST(!ended || ended == PTHREAD_BARRIER_SERIAL_THREAD);
		if (ended)
			round->phase++;
		MUST(round->count >= phase * round->seats);
		waver(seat);
	}
}

static void end_barrier(void *at, struct round *round)
{
	MUST(round->phase == phases(round));
	OK(pthread_barrier_destroy(at));
}

const struct fresh_kind barrier_kind = {
	"barrier", make_barrier, meet_barrier, end_barrier,
};

/* ------------------------------------------------------------- semaphores -- */

static void make_semaphore(void *at, struct round *round)
{
	MUST(sem_init(at, 0, round->choice & 1) == 0);
}

static void take(sem_t *semaphore, struct seat *seat)
{
	struct timespec at;
	int failed;

	do {
		switch (draw(seat, 8)) {
		case 0:
			failed = sem_trywait(semaphore);
			break;
		case 1:
			at = shortly(seat, CLOCK_REALTIME);
			failed = sem_timedwait(semaphore, &at);
			break;
		default:
			failed = sem_wait(semaphore);
		}
	} while (failed);
}

/* With a permit it serves as a mutex; without, one makes permits for others. */
static void meet_semaphore(void *at, struct round *round, struct seat *seat)
{
	int i;

	if (!(round->choice & 1)) {
		if (seat->number)
			take(at, seat);
		else
			for (i = 1; i < round->seats; i++)
				MUST(sem_post(at) == 0);
		return;
	}
	for (i = 0; i <= (int)(round->choice >> 8) % 8; i++) {
		take(at, seat);
		write_pair(round, seat);
		MUST(sem_post(at) == 0);
	}
}

static void end_semaphore(void *at, struct round *round)
{
	int value;

	MUST(sem_getvalue(at, &value) == 0);
	MUST(value == (int)(round->choice & 1));
	check_sums(round);
	MUST(sem_destroy(at) == 0);
}

const struct fresh_kind semaphore_kind = {
	"semaphore", make_semaphore, meet_semaphore, end_semaphore,
};

/* ------------------------------------------------------------------ onces -- */

static struct round *calling;

static void called(void)
{
	struct seat seat = { .random = calling->choice | 1 };

	write_pair(calling, &seat);
}

static void make_once(void *at, struct round *round)
{
	static const pthread_once_t once = PTHREAD_ONCE_INIT;

	memcpy(at, &once, sizeof(once));
	calling = round;
}

static void meet_once(void *at, struct round *round, struct seat *seat UNUSED)
{
	if (round->choice & 1)
		OK(pthread_once(at, called));
	else
		call_once(at, called);
	MUST(round->first == 1 && round->second == 1);
}

static void end_once(void *at UNUSED, struct round *round)
{
	MUST(round->writes == 1);
}

const struct fresh_kind once_kind = { "once", make_once, meet_once, end_once };

/* -------------------------------------------------------------------- C11 -- */

struct c11 {
	mtx_t mutex;
	cnd_t cond;
	int turn;
};

static void make_c11(void *at, struct round *round)
{
	static const int types[4] = {
		mtx_plain,
		mtx_timed,
		mtx_plain | mtx_recursive,
		mtx_timed | mtx_recursive,
	};
	struct c11 *c11 = at;

	MUST(mtx_init(&c11->mutex, types[round->choice % 4]) == thrd_success);
	MUST(cnd_init(&c11->cond) == thrd_success);
	c11->turn = 0;
}

static void meet_c11(void *at, struct round *round, struct seat *seat)
{
	struct c11 *c11 = at;
	struct timespec until;

	if (draw(seat, 4) == 0 && mtx_trylock(&c11->mutex) == thrd_success) {
		write_pair(round, seat);
		MUST(mtx_unlock(&c11->mutex) == thrd_success);
	}
	MUST(mtx_lock(&c11->mutex) == thrd_success);
	while (c11->turn != seat->number) {
		if (draw(seat, 4) == 0) {
			until = shortly(seat, CLOCK_REALTIME);
			cnd_timedwait(&c11->cond, &c11->mutex, &until);
		} else {
			MUST(cnd_wait(&c11->cond, &c11->mutex) == thrd_success);
		}
	}
	c11->turn++;
	write_pair(round, seat);
	MUST(mtx_unlock(&c11->mutex) == thrd_success);
	MUST(cnd_broadcast(&c11->cond) == thrd_success);
}

static void end_c11(void *at, struct round *round)
{
	struct c11 *c11 = at;

	MUST(mtx_trylock(&c11->mutex) == thrd_success);
	MUST(c11->turn == round->seats);
	MUST(mtx_unlock(&c11->mutex) == thrd_success);
	check_sums(round);
	cnd_destroy(&c11->cond);
	mtx_destroy(&c11->mutex);
}

const struct fresh_kind c11_kind = { "C11", make_c11, meet_c11, end_c11 };
