/*
 * A routine of pthread_once whose frames can't be unwound: this program is built
 * without unwind tables. What leaves it ends the call all the same, once.
 */
#include "../posix/crowd.h"

#include <setjmp.h>

static pthread_once_t control = PTHREAD_ONCE_INIT;
static _Atomic int calls;
static _Atomic bool is_inside;
static sigjmp_buf out;

static void stay(void)
{
	calls++;
	is_inside = true;
	for (;;)
		pause();
}

static void leave_by_exit(void)
{
	calls++;
	pthread_exit(NULL);
}

static void leave_by_jump(void)
{
	calls++;
	siglongjmp(out, 1);
}

static void succeed(void)
{
	calls++;
}

THREAD(call, void *routine)
{
	if (!sigsetjmp(out, 0))
		OK(pthread_once(&control, (void (*)(void))routine));
}

/* A second thread waits for the call that is left, and makes its own then. */
static void check_left(void (*routine)(void), bool is_to_be_cancelled)
{
	struct thread first, second;

	start(&first, call, (void *)routine);
	if (is_to_be_cancelled) {
		UNTIL(is_inside);
		start_asleep(&second, call, (void *)succeed);
		OK(pthread_cancel(first.pthread));
	} else {
		UNTIL(calls == 1);
		start(&second, call, (void *)succeed);
	}
	join(&first);
	join(&second);
	CHECK_EQ(calls, 2);
	OK(pthread_once(&control, succeed));
	CHECK_EQ(calls, 2);
}

TEST(posix_pthread_once__cancelled_counts_as_not_called)
{
	check_left(stay, true);
}

TEST(glibc_pthread_once__left_by_pthread_exit_counts_as_not_called)
{
	check_left(leave_by_exit, false);
}

TEST(glibc_pthread_once__left_by_a_jump_counts_as_not_called)
{
	check_left(leave_by_jump, false);
}

RUN_TESTS()
