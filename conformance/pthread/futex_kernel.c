/*
 * libc's syscall where it must reach the kernel: other calls, words that
 * processes share, and waiters that made a system call of their own.
 */
#include "../posix/children.h"
#include "futex.h"

/* ------------------------------------------------------- before main -- */

static word early_word = 3;
static long early_results[2][3];

static void call_early(long *results)
{
	results[0] = syscall(SYS_getpid);
	results[1] = futex(&early_word, FUTEX_WAIT | PRIVATE, 4, NULL, NULL, 0);
	results[2] = wake(&early_word, 1);
}

static void at_preinit(void)
{
	call_early(early_results[0]);
}

static __attribute__((used, section(".preinit_array"))) void (*preinit)(void) =
	at_preinit;

static __attribute__((constructor)) void at_start(void)
{
	call_early(early_results[1]);
}

TEST(syscall__before_main)
{
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(early_results[i][0], getpid());
		CHECK_EQ(early_results[i][1], -EAGAIN);
		CHECK_EQ(early_results[i][2], 0);
	}
}

/* -------------------------------------------------------- other calls -- */

TEST(syscall__other_numbers)
{
	struct timespec now = { 0 };
	char *page;
	long result;

	errno = 4711;
	CHECK_EQ(syscall(SYS_getpid), getpid());
	CHECK_EQ(syscall(SYS_gettid), gettid());
	CHECK_EQ(errno, 4711);
	CHECK_EQ(syscall(SYS_close, -1), -1);
	CHECK_EQ(errno, EBADF);
	CHECK_EQ(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now), 0);
	CHECK(now.tv_sec || now.tv_nsec);
	/* All six arguments arrive: the last, an offset, in the page beyond. */
	page = (char *)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	page[4095] = 1;
	errno = 4711;
	CHECK_EQ(syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 12345),
		 -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(syscall(SYS_munmap, page, 4096), 0);
	/* A result may be negative without being an errno. */
	result = syscall(SYS_lseek, open("/proc/self/mem", O_RDONLY | O_CLOEXEC),
			 LONG_MIN + 4096, SEEK_SET);
	CHECK_EQ(result, LONG_MIN + 4096);
}

/* Numbers beside those of the futex calls, and some that no kernel has. */
TEST(syscall__numbers_beside_those_taken)
{
	static const long numbers[] = {
		201,  203,  447, 448, 450, 451, 452, 453, 457, 458, 459, 460,
		461,  1000, 511, 600, -1,  -2,  INT_MAX, INT_MIN, LONG_MAX,
		LONG_MIN, 0x7fffff00L + 202, (1L << 31) + 202,
	};
	static const long taken[] = { SYS_WAITV, SYS_WAKE, SYS_WAIT, SYS_REQUEUE };

	for (EACH(i, numbers)) {
		/* time(2) takes a pointer, and answers by the clock. */
		long first = numbers[i] == 201 ? 16 : -1;

		CHECK_EQ(libc_call(numbers[i], first, -1, -1, -1, -1, -1),
			 own_call(numbers[i], first, -1, -1, -1, -1, -1));
	}
	for (size_t i = 0; i < 4; i++) {
		CHECK_EQ(libc_call(taken[i], -1, -1, -1, -1, -1, -1),
			 own_call(taken[i], -1, -1, -1, -1, -1, -1));
		CHECK_EQ(libc_call(taken[i], 0, 0, 0, 0, 0, 0),
			 own_call(taken[i], 0, 0, 0, 0, 0, 0));
	}
	CHECK_EQ(libc_call(LONG_MIN, 0, 0, 0, 0, 0, 0), own_call(LONG_MIN, 0, 0, 0, 0, 0, 0));
	CHECK_EQ(libc_call(-1, 0, 0, 0, 0, 0, 0), -ENOSYS);
	CHECK_EQ(libc_call(INT_MAX, 0, 0, 0, 0, 0, 0), -ENOSYS);
}

TEST(syscall__forks)
{
	long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	CHECK(child >= 0);
	if (child == 0)
		_exit(0);
	REAP(child);
}

static _Atomic pid_t child_of_parent;

static void child_entry(void)
{
	child_of_parent = own_call(SYS_getppid, 0, 0, 0, 0, 0, 0);
	own_call(SYS_exit, 0, 0, 0, 0, 0, 0);
	__builtin_unreachable();
}

/*
 * A child with a stack of its own returns from syscall to what lies on top of
 * that stack: nothing may have been put there, or be taken from there.
 */
TEST(syscall__clones_onto_another_stack)
{
	static _Alignas(64) void *stack[4096];
	long child;

	stack[4088] = (void *)child_entry;
	child = syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD,
			&stack[4088], NULL, NULL, NULL);
	CHECK(child > 0);
	REAP(child);
	CHECK_EQ(child_of_parent, getpid());
}

/* --------------------------------------------------- whose words whose -- */

/* A wake needn't come by libc's syscall: it may be a raw system call, or io_uring's. */
TEST(futex_wait__is_found_by_other_calls)
{
	static word at;
	struct waiter waiter;
	Dl_info info;

	CHECK(dladdr((void *)syscall, &info));
	CHECK_EQ(strstr(info.dli_fname, "furwock") != NULL, under_furwock());
	start_wait(&waiter, libc_call, &at);
	CHECK_EQ(own_wake(&at, 1), 1);
	CHECK_EQ(finish(&waiter), 0);
}

TEST(furwock_futex_0__leaves_all_to_the_kernel)
{
	static word at, to;
	static struct waitv pair[2] = { WAITV_ON(&at), WAITV_ON(&to) };
	struct waiter waiter;
	Dl_info info;

	if (!getenv("FURWOCK_FUTEX")) {
		CHECK_EQ(setenv("FURWOCK_FUTEX", "0", 1), 0);
		execl("/proc/self/exe", "again", __func__, NULL);
		FAIL("exec: %s", strerror(errno));
	}
	CHECK(dladdr((void *)syscall, &info));
	CHECK_EQ(strstr(info.dli_fname, "furwock") != NULL, under_furwock());
	start_wait(&waiter, libc_call, &at);
	CHECK_EQ(own_wake(&at, 1), 1);
	CHECK_EQ(finish(&waiter), 0);
	start_wait(&waiter, own_call, &at);
	CHECK_EQ(futex(&at, FUTEX_CMP_REQUEUE | PRIVATE, 0, VAL2(1), &to, 0), 1);
	CHECK_EQ(wake(&to, 1), 1);
	CHECK_EQ(finish(&waiter), 0);
	if (!kernel_has(SYS_WAITV))
		return;
	start_waitv(&waiter, libc_call, pair, 2);
	CHECK_EQ(own_wake(&to, 1), 1);
	CHECK_EQ(finish(&waiter), 1);
}

/* ---------------------------------------- waiters with their own calls -- */

TEST(futex_wake__finds_those_in_the_kernel)
{
	struct waiter waiters[6];
	static word at;

	start_wait(&waiters[0], own_call, &at);
	CHECK_EQ(wake(&at, 1), 1);
	CHECK_EQ(finish(&waiters[0]), 0);
	for (int i = 0; i < 6; i++)
		start_wait(&waiters[i], i % 2 ? own_call : libc_call, &at);
	CHECK_EQ(wake(&at, 2), 2);
	turns = 0;
	CHECK_EQ(wake(&at, 2), 2);
	CHECK_EQ(wake(&at, INT_MAX), 2);
	CHECK_EQ(wake(&at, INT_MAX), 0);
	finish_all(waiters, 6);
	for (int i = 0; i < 4; i++)
		start_wait_for(&waiters[i], i % 2 ? own_call : libc_call, &at,
			       1 << i / 2, NULL);
	CHECK_EQ(futex(&at, FUTEX_WAKE_BITSET | PRIVATE, INT_MAX, NULL, NULL, 2),
		 2);
	CHECK_EQ(finish(&waiters[2]) | finish(&waiters[3]), 0);
	CHECK_EQ(futex(&at, FUTEX_WAKE_BITSET | PRIVATE, INT_MAX, NULL, NULL, 1),
		 2);
	CHECK_EQ(finish(&waiters[0]) | finish(&waiters[1]), 0);
}

static void check_mixed_requeue(int op)
{
	static word from, to;
	struct waiter waiters[8];

	for (int i = 0; i < 8; i++)
		start_wait(&waiters[i], i % 2 ? own_call : libc_call, &from);
	CHECK_EQ(futex(&from, op, 1, VAL2(0), &to, 0), 1);
	CHECK_EQ(futex(&from, op, 1, VAL2(5), &to, 0), 6);
	CHECK_EQ(wake(&to, INT_MAX), 5);
	CHECK_EQ(futex(&from, op, 0, VAL2(INT_MAX), &to, 0), 1);
	CHECK_EQ(wake(&from, INT_MAX), 0);
	CHECK_EQ(wake(&to, INT_MAX), 1);
	finish_all(waiters, 8);
}

TEST(futex_requeue__finds_those_in_the_kernel)
{
	check_mixed_requeue(FUTEX_REQUEUE | PRIVATE);
	check_mixed_requeue(FUTEX_CMP_REQUEUE | PRIVATE);
}

TEST(futex_wake_op__finds_those_in_the_kernel)
{
	const uint32_t or_0_if_0 = FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0);
	const int op = FUTEX_WAKE_OP | PRIVATE;
	struct waiter first[4], second[4];
	static word at, changed;

	for (int i = 0; i < 4; i++) {
		start_wait(&first[i], i % 2 ? own_call : libc_call, &at);
		start_wait(&second[i], i % 2 ? own_call : libc_call, &changed);
	}
	CHECK_EQ(futex(&at, op, 3, VAL2(1), &changed, or_0_if_0), 4);
	changed = 1;
	CHECK_EQ(futex(&at, op, 3, VAL2(3), &changed, or_0_if_0), 1);
	changed = 0;
	CHECK_EQ(futex(&at, op, 3, VAL2(4), &changed, or_0_if_0), 3);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(finish(&first[i]) | finish(&second[i]), 0);
}

TEST(futex_waitv__in_the_kernel_is_found)
{
	static word at[2];
	struct waitv pair[2] = { WAITV_ON(&at[0]), WAITV_ON(&at[1]) };
	struct waiter waiters[2];

	if (!kernel_has(SYS_WAITV))
		SKIP("this kernel has no futex_waitv");
	start_waitv(&waiters[0], own_call, pair, 2);
	start_waitv(&waiters[1], libc_call, pair, 2);
	CHECK_EQ(wake(&at[1], INT_MAX), 2);
	CHECK_EQ(finish(&waiters[0]), 1);
	CHECK_EQ(finish(&waiters[1]), 1);
}

/* The library is bound to glibc's syscall. */
TEST(futex_wake__finds_those_of_a_deepbound_library)
{
	static word at;
	char path[PATH_MAX];
	struct waiter waiters[2];
	caller *library_call;
	void *library;

	snprintf(path, sizeof(path), "%s/libcaller.so",
		 getenv("CONFORMANCE_DIR"));
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	if (!library)
		FAIL("%s", dlerror());
	library_call = (caller *)dlsym(library, "library_call");
	CHECK(library_call);
	start_wait(&waiters[0], library_call, &at);
	start_wait(&waiters[1], libc_call, &at);
	CHECK_EQ(wake(&at, INT_MAX), 2);
	CHECK_EQ(finish(&waiters[0]) | finish(&waiters[1]), 0);
	CHECK_EQ(dlclose(library), 0);
}

/* ------------------------------------------------- priority inheritance -- */

static struct waiter pi_waiter;
static word pi_word;

TEST(futex_lock_pi__is_the_kernels)
{
	const int lock = FUTEX_LOCK_PI | PRIVATE, unlock = FUTEX_UNLOCK_PI | PRIVATE;

	CHECK_EQ(futex(&pi_word, unlock, 0, NULL, NULL, 0), -EPERM);
	CHECK_EQ(futex(&pi_word, lock, 0, NULL, NULL, 0), 0);
	CHECK_EQ(pi_word, (uint32_t)gettid());
	CHECK_EQ(futex(&pi_word, lock, 0, NULL, NULL, 0), -EDEADLK);
	CHECK_EQ(futex(&pi_word, FUTEX_TRYLOCK_PI | PRIVATE, 0, NULL, NULL, 0),
		 -EDEADLK);
	start_call(&pi_waiter, libc_call, SYS_futex, (long)&pi_word, lock, 0, 0,
		   0, 0);
	CHECK_EQ(pi_word, (uint32_t)gettid() | FUTEX_WAITERS);
	CHECK_EQ(wake(&pi_word, 1), -EINVAL);
	CHECK_EQ(pi_waiter.turn, 0);
	CHECK_EQ(futex(&pi_word, unlock, 0, NULL, NULL, 0), 0);
	CHECK_EQ(finish(&pi_waiter), 0);
	/* It ended with the lock held. */
	CHECK_EQ(pi_word & FUTEX_TID_MASK, pi_waiter.thread.tid);
	CHECK_EQ(futex(&pi_word, FUTEX_TRYLOCK_PI | PRIVATE, 0, NULL, NULL, 0),
		 -ESRCH);
}

TEST(futex_wait_requeue_pi__is_the_kernels)
{
	static word condition, lock;
	struct waiter waiter;

	start_call(&waiter, libc_call, SYS_futex, (long)&condition,
		   FUTEX_WAIT_REQUEUE_PI | PRIVATE, 0, 0, (long)&lock, 0);
	CHECK_EQ(futex(&condition, FUTEX_CMP_REQUEUE_PI | PRIVATE, 1, VAL2(0),
		       &lock, 0),
		 1);
	CHECK_EQ(finish(&waiter), 0);
	CHECK_EQ(lock & FUTEX_TID_MASK, waiter.thread.tid);
}

/* -------------------------------------------------------------- processes -- */

TEST(futex__shared_by_processes)
{
	word *at = shared_memory(4 * sizeof(*at));
	struct timespec until;
	pid_t child;

	IN_CHILD(child) {
		for (int i = 0; i < 2; i++)
			CHECK_EQ(futex(&at[0], FUTEX_WAIT, 0, NULL, NULL, 0), 0);
		at[2] = 1;
	}
	UNTIL(futex(&at[0], FUTEX_WAKE, 1, NULL, NULL, 0) == 1);
	UNTIL(futex(&at[0], FUTEX_REQUEUE, 0, VAL2(1), &at[1], 0) == 1);
	CHECK_EQ(futex(&at[0], FUTEX_WAKE, INT_MAX, NULL, NULL, 0), 0);
	CHECK_EQ(at[2], 0);
	/* A private wake isn't theirs. */
	CHECK_EQ(wake(&at[1], INT_MAX), 0);
	CHECK_EQ(futex(&at[1], FUTEX_WAKE, INT_MAX, NULL, NULL, 0), 1);
	REAP(child);
	CHECK_EQ(at[2], 1);
	until = in_ms(CLOCK_MONOTONIC, 2);
	CHECK_EQ(futex(at, FUTEX_WAIT_BITSET, 0, &until, NULL, ANY), -ETIMEDOUT);
}

TEST(futex__in_a_forked_child)
{
	static word at;
	struct waiter before, waiters[3];

	/* A thread that waits in the parent doesn't in the child. */
	start_wait(&before, libc_call, &at);
	for (int round = 0; round < 3; round++) {
		IN_A_CHILD {
			CHECK_EQ(wake(&at, INT_MAX), 0);
			for (int i = 0; i < 3; i++)
				start_wait(&waiters[i],
					   i % 2 ? own_call : libc_call, &at);
			CHECK_EQ(wake(&at, INT_MAX), 3);
			finish_all(waiters, 3);
		}
	}
	CHECK_EQ(before.turn, 0);
	CHECK_EQ(wake(&at, INT_MAX), 1);
	CHECK_EQ(finish(&before), 0);
}

/* ------------------------------------------------------- ends of threads -- */

static word handed_over;

static void wait_at_the_end(void *unused UNUSED)
{
	while (!handed_over)
		futex(&handed_over, FUTEX_WAIT | PRIVATE, 0, NULL, NULL, 0);
}

static pthread_key_t key;

THREAD(end_with_a_wait, void *unused UNUSED)
{
	OK(pthread_setspecific(key, &key));
}

/* Destructors of thread-specific data wait, and so do other threads. */
TEST(futex__while_threads_end)
{
	struct thread threads[4];

	OK(pthread_key_create(&key, wait_at_the_end));
	for (int round = 0; round < 20; round++) {
		handed_over = 0;
		start_all(threads, 4, end_with_a_wait, NULL);
		if (round % 4 == 0)
			for (int i = 0; i < 4; i++)
				until_asleep(&threads[i]);
		handed_over = 1;
		wake(&handed_over, INT_MAX);
		join_all(threads, 4);
	}
}

/* The kernel finds the list of a thread that died, and wakes at its words. */
TEST(futex__robust_lists_are_the_kernels)
{
	struct robust_list_head *head = NULL;
	size_t size = 0;

	CHECK_EQ(syscall(SYS_get_robust_list, 0, &head, &size), 0);
	CHECK(head);
	CHECK_EQ(size, sizeof(*head));
	CHECK_EQ(syscall(SYS_set_robust_list, head, size), 0);
	CHECK_EQ(syscall(SYS_set_robust_list, head, size - 1), -1);
	CHECK_EQ(errno, EINVAL);
}

RUN_TESTS()
