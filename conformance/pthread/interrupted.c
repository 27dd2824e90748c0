/*
 * Signals that come at any moment of a wait: before it, as it begins, while it
 * lasts, as it ends. A timer sends them to each thread at random distances.
 */
#include "../posix/crowd.h"

#include <semaphore.h>

#define ROUNDS 400

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	pthread_barrier_t barrier;
	sem_t permits[2];
	int turn;
	long counter;
} scene;

static _Atomic long handled;
static _Atomic int seeds;

static void on_signal(int signal UNUSED)
{
	handled++;
}

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
	OK(pthread_mutex_lock(&scene.mutex));
	CHECK_EQ(scene.counter++, 0);
	if (next_random(state) % 4 == 0)
		usleep(20);
	scene.counter--;
	OK(pthread_mutex_unlock(&scene.mutex));
}

static void lock_rwlock(int side UNUSED, uint32_t *state)
{
	if (next_random(state) % 2) {
		OK(pthread_rwlock_rdlock(&scene.rwlock));
		CHECK_EQ(scene.counter, 0);
	} else {
		OK(pthread_rwlock_wrlock(&scene.rwlock));
		CHECK_EQ(scene.counter++, 0);
		if (next_random(state) % 4 == 0)
			usleep(20);
		scene.counter--;
	}
	OK(pthread_rwlock_unlock(&scene.rwlock));
}

static void wait_for_turn(int side, uint32_t *state)
{
	OK(pthread_mutex_lock(&scene.mutex));
	while (scene.turn != side)
		OK(pthread_cond_wait(&scene.cond, &scene.mutex));
	scene.turn = !side;
	OK(pthread_cond_signal(&scene.cond));
	if (next_random(state) % 4 == 0)
		usleep(20);
	OK(pthread_mutex_unlock(&scene.mutex));
}

/* The only one of them whose wait a handler ends. */
static void pass_permit(int side, uint32_t *state UNUSED)
{
	while (sem_wait(&scene.permits[side]))
		CHECK_EQ(errno, EINTR);
	OK(sem_post(&scene.permits[!side]));
}

static void meet(int side UNUSED, uint32_t *state)
{
	int ended;

	if (next_random(state) % 2)
		usleep(20);
	ended = pthread_barrier_wait(&scene.barrier);
	CHECK(!ended || ended == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void (*use)(int side, uint32_t *state);

THREAD(use_it, void *side)
{
	timer_t timer = begin_signals();
	uint32_t state = 4711 + ++seeds;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (i % 4 == 0)
			signal_soon(timer, &state);
		use((int)(intptr_t)side, &state);
	}
	CHECK_EQ(timer_delete(timer), 0);
}

static void check(void (*what)(int side, uint32_t *state), int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
	struct thread threads[2];
	intptr_t i;

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	OK(pthread_mutex_init(&scene.mutex, NULL));
	OK(pthread_cond_init(&scene.cond, NULL));
	OK(pthread_rwlock_init(&scene.rwlock, NULL));
	OK(pthread_barrier_init(&scene.barrier, NULL, 2));
	OK(sem_init(&scene.permits[0], 0, 1));
	OK(sem_init(&scene.permits[1], 0, 0));
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

TEST(posix_sem_wait__signals_at_any_moment)
{
	check_both(pass_permit);
}

TEST(posix_pthread_barrier_wait__signals_at_any_moment)
{
	check_both(meet);
}

RUN_TESTS()
