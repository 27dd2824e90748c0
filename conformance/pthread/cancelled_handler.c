/*
 * Signal handlers that interrupt a wait, and reach a cancellation point of
 * their own after the thread has been cancelled.
 */
#include "../posix/crowd.h"

#include <semaphore.h>

static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool ready;
static _Atomic bool handling, cancelled;
static _Atomic int got;

THREAD(take_post, void *argument UNUSED)
{
	while (sem_wait(&semaphore))
		CHECK_EQ(errno, EINTR);
	got++;
}

static void unlock(void *argument UNUSED)
{
	OK(pthread_mutex_unlock(&mutex));
}

THREAD(take_signal, void *argument UNUSED)
{
	OK(pthread_mutex_lock(&mutex));
	pthread_cleanup_push(unlock, NULL);
	while (!ready)
		OK(pthread_cond_wait(&cond, &mutex));
	ready = false;
	got++;
	pthread_cleanup_pop(1);
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;

THREAD(take_mutex, void *argument UNUSED)
{
	OK(pthread_mutex_lock(&held));
	got++;
	OK(pthread_mutex_unlock(&held));
}

THREAD(read_once, void *argument UNUSED)
{
	OK(pthread_rwlock_rdlock(&written));
	got++;
	OK(pthread_rwlock_unlock(&written));
}

/* usleep is a cancellation point. */
static void linger(int signal UNUSED)
{
	handling = true;
	UNTIL(cancelled);
	usleep(1000);
}

static sem_t over;

/* sem_wait is one, too, and a wait of its own inside that of the thread. */
static void rest(int signal UNUSED)
{
	handling = true;
	UNTIL(cancelled);
	while (sem_wait(&over))
		CHECK_EQ(errno, EINTR);
}

static void (*handler)(int) = linger;

static void post(void)
{
	OK(sem_post(&semaphore));
}

static void signal_one(void)
{
	OK(pthread_mutex_lock(&mutex));
	ready = true;
	OK(pthread_mutex_unlock(&mutex));
	OK(pthread_cond_signal(&cond));
}

static void let_mutex_go(void)
{
	OK(pthread_mutex_unlock(&held));
}

static void let_rwlock_go(void)
{
	OK(pthread_rwlock_unlock(&written));
}

/* The first of two that wait is cancelled in a handler; the wake is for the second. */
static void cancel_in_a_handler(void *(*wait)(void *), void (*wake)(void), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	struct thread first, second;

	sigemptyset(&action.sa_mask);
	OK(sigaction(SIGUSR1, &action, NULL));
	OK(sem_init(&semaphore, 0, 0));
	OK(sem_init(&over, 0, 0));
	start_asleep(&first, wait, NULL);
	start_asleep(&second, wait, NULL);
	OK(pthread_kill(first.pthread, SIGUSR1));
	UNTIL(handling);
	OK(pthread_cancel(first.pthread));
	cancelled = true;
	sleep_ms(handler == rest ? 20 : 0);
	OK(sem_post(&over));
	CHECK(join(&first) == PTHREAD_CANCELED);
	/* This works whatever the first one left behind. */
	wake();
	join(&second);
	CHECK_EQ(got, 1);
}

TEST(posix_sem_wait__cancelled_in_a_handler_takes_no_post)
{
	cancel_in_a_handler(take_post, post, 0);
}

TEST(posix_sem_wait__cancelled_in_a_handler_that_restarts_it)
{
	cancel_in_a_handler(take_post, post, SA_RESTART);
}

TEST(posix_pthread_cond_wait__cancelled_in_a_handler_takes_no_signal)
{
	cancel_in_a_handler(take_signal, signal_one, 0);
}

TEST(posix_pthread_cond_wait__cancelled_as_its_handler_waits)
{
	handler = rest;
	cancel_in_a_handler(take_signal, signal_one, 0);
}

TEST(posix_sem_wait__cancelled_as_its_handler_waits)
{
	handler = rest;
	cancel_in_a_handler(take_post, post, SA_RESTART);
}

/* These waits are no cancellation points, but the handler's sleep is one. */
TEST(glibc_pthread_mutex_lock__cancelled_in_a_handler_leaves_it_usable)
{
	OK(pthread_mutex_lock(&held));
	cancel_in_a_handler(take_mutex, let_mutex_go, 0);
	OK(pthread_mutex_lock(&held));
}

TEST(glibc_pthread_rwlock_rdlock__cancelled_in_a_handler_leaves_it_usable)
{
	OK(pthread_rwlock_wrlock(&written));
	cancel_in_a_handler(read_once, let_rwlock_go, 0);
}

RUN_TESTS()
