/* Signal handlers that come upon a thread in sem_wait. */
#include "harness.h"

#include <semaphore.h>

static sem_t semaphore;
static _Atomic bool handling, cancelled;
static _Atomic int got;

static void *wait_for_it(void *argument UNUSED)
{
	while (sem_wait(&semaphore))
		CHECK_EQ(errno, EINTR);
	got++;
	return NULL;
}

/* usleep is a cancellation point. */
static void linger(int signal UNUSED)
{
	handling = true;
	UNTIL(cancelled);
	usleep(1000);
}

static void wait_and_be_cancelled_in_a_handler(int flags)
{
	struct sigaction action = { .sa_handler = linger, .sa_flags = flags };
	struct thread first, second;

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_EQ(sem_init(&semaphore, 0, 0), 0);
	start(&first, wait_for_it, NULL);
	until_asleep(&first);
	start(&second, wait_for_it, NULL);
	until_asleep(&second);
	OK(pthread_kill(first.pthread, SIGUSR1));
	UNTIL(handling);
	OK(pthread_cancel(first.pthread));
	cancelled = true;
	CHECK(join(&first) == PTHREAD_CANCELED);
	/* The post is for the second, whatever the first left behind. */
	CHECK_EQ(sem_post(&semaphore), 0);
	join(&second);
	CHECK_EQ(got, 1);
}

static void a_thread_cancelled_in_a_handler_takes_no_post(void)
{
	wait_and_be_cancelled_in_a_handler(0);
}

static void nor_where_the_wait_goes_on_after_the_handler(void)
{
	wait_and_be_cancelled_in_a_handler(SA_RESTART);
}

static const struct test tests[] = {
	TEST(a_thread_cancelled_in_a_handler_takes_no_post),
	TEST(nor_where_the_wait_goes_on_after_the_handler),
};

TEST_MAIN(tests)
