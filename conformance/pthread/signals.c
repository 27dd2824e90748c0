/*
 * Handlers that lock a mutex which the interrupted code doesn't use. POSIX
 * doesn't allow that, but programs do it, and glibc bears it at any point.
 */
#include "../posix/crowd.h"

static _Atomic long handled;

struct scene {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int permits;
	_Atomic int done;
	long counter;
	_Atomic bool stop;
};

THREAD(lock_once, struct scene *scene)
{
	errno = 4715;
	OK(pthread_mutex_lock(&scene->mutex));
	CHECK_EQ(errno, 4715);
	scene->done++;
	OK(pthread_mutex_unlock(&scene->mutex));
}

THREAD(wait_once, struct scene *scene)
{
	OK(pthread_mutex_lock(&scene->mutex));
	while (!scene->permits) {
		/* Never EINTR. */
		OK(pthread_cond_wait(&scene->cond, &scene->mutex));
		CHECK_EQ(scene->mutex.__data.__owner, gettid());
	}
	scene->done++;
	OK(pthread_mutex_unlock(&scene->mutex));
}

THREAD(count, struct scene *scene)
{
	while (!scene->stop) {
		OK(pthread_mutex_lock(&scene->mutex));
		scene->counter++;
		if (scene->counter % 16 == 0)
			OK(pthread_cond_signal(&scene->cond));
		OK(pthread_mutex_unlock(&scene->mutex));
		scene->done++;
	}
}

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

	handle_by_locking();
	if (locked)
		OK(pthread_mutex_lock(&scene.mutex));
	start_asleep(&thread, interrupted, &scene);
	for (int i = 0; i < 20; i++) {
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

TEST(glibc_pthread_mutex_lock__handler_waits_inside_a_mutex_wait)
{
	check_handler_waits(lock_once, true);
}

TEST(glibc_pthread_mutex_lock__handler_waits_inside_a_condvar_wait)
{
	check_handler_waits(wait_once, false);
}

TEST(glibc_pthread_mutex_lock__in_thousands_of_handlers)
{
	struct scene scene = {
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.cond = PTHREAD_COND_INITIALIZER,
	};
	struct thread threads[4];

	handle_by_locking();
	handled = 0;
	start_all(threads, 4, count, &scene);
	for (int i = 0; i < 4000; i++) {
		OK(pthread_kill(threads[i % 4].pthread, SIGUSR1));
		if (i % 4 == 0)
			usleep(50);
	}
	scene.stop = true;
	join_all(threads, 4);
	CHECK_EQ(scene.counter, scene.done);
	CHECK_EQ(of_handler.counter, handled);
}

RUN_TESTS()
