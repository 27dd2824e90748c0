/*
 * What comes after a wait that a handler left by siglongjmp: the thread goes on
 * and ends, other threads come, and new objects lie where the old ones were.
 * (longjmp.c checks what becomes of the old ones.)
 */
#include "objects.h"

#include <setjmp.h>

#define TIMES 20

static __thread sigjmp_buf out;

static struct objects abandoned, other;
static _Atomic int left;
static _Atomic bool go_on;

static void leave(int signal UNUSED)
{
	siglongjmp(out, 1);
}

/* ------------------------------------------- waits that are left -- */

static void wait_for_mutex(void)
{
	OK(pthread_mutex_lock(&abandoned.mutex));
	FAIL("the mutex was locked, though it is never unlocked");
}

static void wait_for_reading(void)
{
	OK(pthread_rwlock_rdlock(&abandoned.rwlock));
	FAIL("the lock was taken, though it is never unlocked");
}

static void wait_for_semaphore(void)
{
	OK(sem_wait(&abandoned.semaphore));
	FAIL("the wait ended without a post");
}

static void wait_for_condvar(void)
{
	OK(pthread_mutex_lock(&abandoned.mutex));
	for (;;)
		OK(pthread_cond_wait(&abandoned.cond, &abandoned.mutex));
}

/* ----------------------------------------------- what follows -- */

static void (*wait_somewhere)(void);

static void *leave_and_go_on(void *argument)
{
	volatile int times;

	for (times = 0; times < TIMES; times++)
		if (!sigsetjmp(out, 1))
			wait_somewhere();
		else
			left++;
	UNTIL(go_on);
	return use_all(argument);
}

static void drive_out(struct thread *thread)
{
	for (int i = 0; i < TIMES; i++) {
		until_asleep(thread);
		CHECK_EQ(left, i);
		OK(pthread_kill(thread->pthread, SIGUSR1));
		UNTIL(left > i);
	}
}

static void check_left(void (*wait)(void), bool held)
{
	struct sigaction action = { .sa_handler = leave };
	struct partner partners[2] = { { &other, 0 }, { &other, 1 } };
	struct thread thread;

	sigaction(SIGUSR1, &action, NULL);
	wait_somewhere = wait;
	set_up(&abandoned);
	set_up(&other);
	if (held) {
		OK(pthread_mutex_lock(&abandoned.mutex));
		OK(pthread_rwlock_wrlock(&abandoned.rwlock));
	}
	start(&thread, leave_and_go_on, &partners[1]);
	drive_out(&thread);
	go_on = true;
	use_all(&partners[0]);
	/* New objects in the place of those that it has left. */
	use_all_anew(&abandoned);
	join(&thread);
	/* Other threads, which reuse what the ended thread had. */
	use_all_anew(&other);
	use_all_anew(&abandoned);
}

TEST(glibc_siglongjmp__out_of_a_wait_for_a_semaphore)
{
	check_left(wait_for_semaphore, false);
}

TEST(glibc_siglongjmp__out_of_a_wait_for_a_mutex)
{
	check_left(wait_for_mutex, true);
}

TEST(glibc_siglongjmp__out_of_a_wait_for_an_rwlock)
{
	check_left(wait_for_reading, true);
}

TEST(glibc_siglongjmp__out_of_a_wait_for_a_condvar)
{
	check_left(wait_for_condvar, false);
}

RUN_TESTS()
