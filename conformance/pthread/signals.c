/* Signal handlers that interrupt those who lock and wait. */
#include "harness.h"

static _Atomic long handled;

static void on_signal(int signal UNUSED)
{
	/* A handler may change errno only if it puts it back. */
	int saved = errno;

	handled++;
	errno = saved;
}

static void handle(int signal, int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	CHECK_EQ(sigaction(signal, &action, NULL), 0);
}

struct scene {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int permits;
	_Atomic int done;
	long counter;
	_Atomic bool stop;
};

static void *lock_once(void *argument)
{
	struct scene *scene = argument;

	errno = 4715;
	OK(pthread_mutex_lock(&scene->mutex));
	CHECK_EQ(errno, 4715);
	scene->done++;
	OK(pthread_mutex_unlock(&scene->mutex));
	return NULL;
}

static void *timed_lock_once(void *argument)
{
	struct scene *scene = argument;
	struct timespec at = in_ms(CLOCK_REALTIME, 15000);

	OK(pthread_mutex_timedlock(&scene->mutex, &at));
	scene->done++;
	OK(pthread_mutex_unlock(&scene->mutex));
	return NULL;
}

/* Shoots at a sleeping thread until the handler has run often enough. */
static void shoot(struct thread *thread, int times)
{
	long before;
	int i;

	for (i = 0; i < times; i++) {
		before = handled;
		OK(pthread_kill(thread->pthread, SIGUSR1));
		UNTIL(handled != before);
	}
}

static void check_lock(int flags)
{
	static void *(*const calls[])(void *) = { lock_once, timed_lock_once };
	struct scene scene;
	struct thread thread;
	int i;

	handle(SIGUSR1, flags);
	for (i = 0; i < 2; i++) {
		scene = (struct scene){ .mutex = PTHREAD_MUTEX_INITIALIZER };
		OK(pthread_mutex_lock(&scene.mutex));
		start(&thread, calls[i], &scene);
		until_asleep(&thread);
		shoot(&thread, 100);
		CHECK_EQ(scene.done, 0);
		OK(pthread_mutex_unlock(&scene.mutex));
		join(&thread);
		CHECK_EQ(scene.done, 1);
	}
}

static void posix_pthread_mutex_lock__waits_on_after_a_handler(void)
{
	check_lock(0);
	check_lock(SA_RESTART);
}

static void *wait_once(void *argument)
{
	struct scene *scene = argument;

	OK(pthread_mutex_lock(&scene->mutex));
	while (!scene->permits) {
		/* Never EINTR. */
		OK(pthread_cond_wait(&scene->cond, &scene->mutex));
		CHECK_EQ(scene->mutex.__data.__owner, gettid());
	}
	scene->done++;
	OK(pthread_mutex_unlock(&scene->mutex));
	return NULL;
}

static void check_wait(int flags)
{
	struct scene scene = {
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.cond = PTHREAD_COND_INITIALIZER,
	};
	struct thread thread;

	handle(SIGUSR1, flags);
	start(&thread, wait_once, &scene);
	until_asleep(&thread);
	shoot(&thread, 100);
	OK(pthread_mutex_lock(&scene.mutex));
	CHECK_EQ(scene.done, 0);
	scene.permits = 1;
	OK(pthread_cond_signal(&scene.cond));
	OK(pthread_mutex_unlock(&scene.mutex));
	join(&thread);
}

static void posix_pthread_cond_wait__no_eintr(void)
{
	check_wait(0);
	check_wait(SA_RESTART);
}

static void *time_out(void *argument)
{
	struct scene *scene = argument;
	struct timespec at = in_ms(CLOCK_REALTIME, 60);
	int error = 0;

	OK(pthread_mutex_lock(&scene->mutex));
	while (!error)
		error = pthread_cond_timedwait(&scene->cond, &scene->mutex, &at);
	CHECK_ERR(error, ETIMEDOUT);
	CHECK(now_ns(CLOCK_REALTIME) >= at.tv_sec * NS_PER_S + at.tv_nsec);
	OK(pthread_mutex_unlock(&scene->mutex));
	scene->done = 1;
	return NULL;
}

static void posix_pthread_cond_timedwait__handlers_leave_the_deadline_alone(void)
{
	struct scene scene = {
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.cond = PTHREAD_COND_INITIALIZER,
	};
	struct thread thread;

	handle(SIGUSR1, 0);
	start(&thread, time_out, &scene);
	until_asleep(&thread);
	while (!scene.done) {
		OK(pthread_kill(thread.pthread, SIGUSR1));
		usleep(500);
	}
	join(&thread);
}

/* ------------------------------------------------ thousands of interruptions -- */

static void *count(void *argument)
{
	struct scene *scene = argument;

	while (!scene->stop) {
		OK(pthread_mutex_lock(&scene->mutex));
		scene->counter++;
		if (scene->counter % 16 == 0)
			OK(pthread_cond_signal(&scene->cond));
		OK(pthread_mutex_unlock(&scene->mutex));
		scene->done++;
	}
	return NULL;
}

static void *wait_again_and_again(void *argument)
{
	struct scene *scene = argument;

	OK(pthread_mutex_lock(&scene->mutex));
	while (!scene->stop)
		OK(pthread_cond_wait(&scene->cond, &scene->mutex));
	OK(pthread_mutex_unlock(&scene->mutex));
	return NULL;
}

static void check_storm(int signals, int wanted)
{
	struct scene scene = {
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.cond = PTHREAD_COND_INITIALIZER,
	};
	struct thread threads[6];
	int i;

	handle(SIGUSR1, 0);
	handled = 0;
	for (i = 0; i < 6; i++)
		start(&threads[i], i < 4 ? count : wait_again_and_again, &scene);
	for (i = 0; i < signals || handled < wanted; i++) {
		OK(pthread_kill(threads[i % 6].pthread, SIGUSR1));
		if (i % 8 == 0)
			usleep(50);
	}
	OK(pthread_mutex_lock(&scene.mutex));
	scene.stop = true;
	OK(pthread_cond_broadcast(&scene.cond));
	OK(pthread_mutex_unlock(&scene.mutex));
	for (i = 0; i < 6; i++)
		join(&threads[i]);
	CHECK_EQ(scene.counter, scene.done);
}

static void posix_pthread_mutex__thousands_of_handlers_break_nothing(void)
{
	check_storm(6000, 3000);
}

/*
 * Not async-signal-safe by POSIX, and yet programs do it: a handler that locks
 * a mutex which the interrupted code doesn't use. glibc bears it at any point.
 */
static struct scene of_handler = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.cond = PTHREAD_COND_INITIALIZER,
};

static void lock_in_handler(int signal UNUSED)
{
	int saved = errno;

	OK(pthread_mutex_lock(&of_handler.mutex));
	of_handler.counter++;
	handled++;
	OK(pthread_mutex_unlock(&of_handler.mutex));
	errno = saved;
}

static void handle_by_locking(void)
{
	struct sigaction action = { .sa_handler = lock_in_handler };

	/* Only one of several signals at a time runs the handler. */
	sigfillset(&action.sa_mask);
	sigdelset(&action.sa_mask, SIGALRM);
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
}

/* The handler has to wait while what it interrupted waits. */
static void check_handler_waits(void *(*interrupted)(void *), bool locked)
{
	struct scene scene = {
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.cond = PTHREAD_COND_INITIALIZER,
	};
	struct thread thread;
	int i;

	handle_by_locking();
	if (locked)
		OK(pthread_mutex_lock(&scene.mutex));
	start(&thread, interrupted, &scene);
	until_asleep(&thread);
	for (i = 0; i < 20; i++) {
		handled = 0;
		OK(pthread_mutex_lock(&of_handler.mutex));
		OK(pthread_kill(thread.pthread, SIGUSR1));
		usleep(2000);
		CHECK_EQ(handled, 0);
		OK(pthread_mutex_unlock(&of_handler.mutex));
		UNTIL(handled);
	}
	if (!locked)
		OK(pthread_mutex_lock(&scene.mutex));
	CHECK_EQ(scene.done, 0);
	scene.permits = 1;
	OK(pthread_cond_signal(&scene.cond));
	OK(pthread_mutex_unlock(&scene.mutex));
	join(&thread);
}

static void glibc_pthread_mutex_lock__handler_waits_inside_a_mutex_wait(void)
{
	check_handler_waits(lock_once, true);
}

static void glibc_pthread_mutex_lock__handler_waits_inside_a_condvar_wait(void)
{
	check_handler_waits(wait_once, false);
}

static void glibc_pthread_mutex_lock__in_thousands_of_handlers(void)
{
	struct scene scene = {
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.cond = PTHREAD_COND_INITIALIZER,
	};
	struct thread threads[4];
	int i;

	handle_by_locking();
	handled = 0;
	for (i = 0; i < 4; i++)
		start(&threads[i], count, &scene);
	for (i = 0; i < 4000; i++) {
		OK(pthread_kill(threads[i % 4].pthread, SIGUSR1));
		if (i % 4 == 0)
			usleep(50);
	}
	scene.stop = true;
	for (i = 0; i < 4; i++)
		join(&threads[i]);
	CHECK_EQ(scene.counter, scene.done);
	CHECK_EQ(of_handler.counter, handled);
}

static const struct test tests[] = {
	TEST(posix_pthread_mutex_lock__waits_on_after_a_handler),
	TEST(posix_pthread_cond_wait__no_eintr),
	TEST(posix_pthread_cond_timedwait__handlers_leave_the_deadline_alone),
	TEST(posix_pthread_mutex__thousands_of_handlers_break_nothing),
	TEST(glibc_pthread_mutex_lock__handler_waits_inside_a_mutex_wait),
	TEST(glibc_pthread_mutex_lock__handler_waits_inside_a_condvar_wait),
	TEST(glibc_pthread_mutex_lock__in_thousands_of_handlers),
};

TEST_MAIN(tests)
