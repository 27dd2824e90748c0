/*
 * Signals that come at any moment of a wait: before it, as it begins, while it
 * lasts, as it ends. A timer sends them to each thread at random intervals.
 */
#include "../posix/handlers.h"
#include "objects.h"

#define ROUNDS 400

static struct objects objects;
static _Atomic int seeds;

/* Each thread has a timer of its own, which this sets anew now and then. */
static timer_t begin_signals(void)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = SIGUSR1,
	};
	timer_t timer;

	event._sigev_un._tid = gettid();
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	return timer;
}

static void signal_soon(timer_t timer, uint32_t *state)
{
	struct itimerspec in = { 0 };

	in.it_value.tv_nsec = 1000 + next_random(state) % 60000;
	in.it_interval.tv_nsec = 30000 + next_random(state) % 100000;
	CHECK_EQ(timer_settime(timer, 0, &in, NULL), 0);
}

static void lock_mutex(int side UNUSED, uint32_t *state)
{
	OK(pthread_mutex_lock(&objects.mutex));
	CHECK_EQ(objects.counter++, 0);
	if (next_random(state) % 4 == 0)
		usleep(20);
	objects.counter--;
	OK(pthread_mutex_unlock(&objects.mutex));
}

static void lock_rwlock(int side UNUSED, uint32_t *state)
{
	if (next_random(state) % 2) {
		OK(pthread_rwlock_rdlock(&objects.rwlock));
		CHECK_EQ(objects.counter, 0);
	} else {
		OK(pthread_rwlock_wrlock(&objects.rwlock));
		CHECK_EQ(objects.counter++, 0);
		if (next_random(state) % 4 == 0)
			usleep(20);
		objects.counter--;
	}
	OK(pthread_rwlock_unlock(&objects.rwlock));
}

static void wait_for_turn(int side, uint32_t *state)
{
	OK(pthread_mutex_lock(&objects.mutex));
	while (objects.turn != side)
		OK(pthread_cond_wait(&objects.cond, &objects.mutex));
	objects.turn = !side;
	OK(pthread_cond_signal(&objects.cond));
	if (next_random(state) % 4 == 0)
		usleep(20);
	OK(pthread_mutex_unlock(&objects.mutex));
}

static void meet(int side UNUSED, uint32_t *state)
{
	int ended;

	if (next_random(state) % 2)
		usleep(20);
	ended = pthread_barrier_wait(&objects.barrier);
	CHECK(!ended || ended == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void (*use)(int side, uint32_t *state);

THREAD(use_it, void *side)
{
	timer_t timer = begin_signals();
	uint32_t state = 4711 + ++seeds;

	for (int i = 0; i < ROUNDS; i++) {
		if (i % 4 == 0)
			signal_soon(timer, &state);
		use((int)(intptr_t)side, &state);
	}
	CHECK_EQ(timer_delete(timer), 0);
}

static void check(void (*what)(int side, uint32_t *state), int flags)
{
	struct thread threads[2];
	intptr_t i;

	handle(flags);
	set_up(&objects);
	handled = 0;
	use = what;
	for (i = 0; i < 2; i++)
		start(&threads[i], use_it, (void *)i);
	join_all(threads, 2);
	CHECK(handled > 10);
}

static void check_both(void (*what)(int side, uint32_t *state))
{
	check(what, 0);
	check(what, SA_RESTART);
}

TEST(posix_pthread_mutex_lock__signals_at_any_moment)
{
	check_both(lock_mutex);
}

TEST(posix_pthread_rwlock__signals_at_any_moment)
{
	check_both(lock_rwlock);
}

TEST(posix_pthread_cond_wait__signals_at_any_moment)
{
	check_both(wait_for_turn);
}

TEST(posix_pthread_barrier_wait__signals_at_any_moment)
{
	check_both(meet);
}

RUN_TESTS()
