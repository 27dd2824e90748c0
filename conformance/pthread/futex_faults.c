/*
 * Addresses that can't be read or written give EFAULT, whatever a program does
 * about SIGSEGV. And what it does about SIGSEGV works as before.
 */
#include "../posix/children.h"
#include "futex.h"

#include <setjmp.h>

#define PAGE 4096

static char *map(int protection)
{
	char *page = mmap(NULL, PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	CHECK(page != MAP_FAILED);
	return page;
}

static char *unmapped(void)
{
	char *page = map(PROT_READ);

	CHECK_EQ(munmap(page, PAGE), 0);
	return page;
}

#define ADD_1 FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0)

static word good;

static void check_unreadable(void *bad)
{
	struct waitv waitv = WAITV_ON(bad);

	CHECK_EQ(futex(bad, FUTEX_WAIT | PRIVATE, 0, NULL, NULL, 0), -EFAULT);
	CHECK_EQ(futex(bad, FUTEX_WAIT_BITSET | PRIVATE, 0, NULL, NULL, 1),
		 -EFAULT);
	/* No thread can wait there, and there is no need to look. */
	CHECK_EQ(wake(bad, 1), 0);
	CHECK_EQ(futex(bad, FUTEX_REQUEUE | PRIVATE, 1, VAL2(1), &good, 0), 0);
	CHECK_EQ(futex(bad, FUTEX_CMP_REQUEUE | PRIVATE, 1, VAL2(1), &good, 0),
		 -EFAULT);
	CHECK_EQ(futex(&good, FUTEX_CMP_REQUEUE | PRIVATE, 1, VAL2(1), bad, 0),
		 0);
	CHECK_EQ(futex(&good, FUTEX_WAKE_OP | PRIVATE, 1, VAL2(1), bad, ADD_1),
		 -EFAULT);
	if (bad)
		CHECK_EQ(futex(&good, FUTEX_WAIT | PRIVATE, 0, bad, NULL, 0),
			 -EFAULT);
	if (!kernel_has(SYS_WAITV))
		return;
	CHECK_EQ(libc_call(SYS_WAITV, (long)&waitv, 1, 0, 0, 0, 0), -EFAULT);
	CHECK_EQ(libc_call(SYS_WAITV, (long)bad, 1, 0, 0, 0, 0),
		 bad ? -EFAULT : -EINVAL);
}

static void check_unwritable(void *bad)
{
	CHECK_EQ(futex(bad, FUTEX_WAIT | PRIVATE, 1, NULL, NULL, 0), -EAGAIN);
	CHECK_EQ(futex(&good, FUTEX_WAKE_OP | PRIVATE, 1, VAL2(1), bad, ADD_1),
		 -EFAULT);
	CHECK_EQ(futex(bad, FUTEX_WAIT | PRIVATE, 1, NULL, NULL, 0), -EAGAIN);
}

/* Addresses that were never any good. */
static void check_bad_addresses(void)
{
	char *edge;

	check_unreadable(NULL);
	check_unreadable(map(PROT_NONE));
	check_unreadable(unmapped());
	check_unwritable(map(PROT_READ));
	/* A structure that begins well. */
	edge = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(edge != MAP_FAILED);
	CHECK_EQ(munmap(edge + PAGE, PAGE), 0);
	CHECK_EQ(futex(&good, FUTEX_WAIT | PRIVATE, 0, edge + PAGE - 8, NULL, 0),
		 -EFAULT);
}

static void use_futexes(void)
{
	struct timespec ns = { .tv_nsec = 1 };

	CHECK_EQ(futex(&good, FUTEX_WAIT | PRIVATE, 1, NULL, NULL, 0), -EAGAIN);
	CHECK_EQ(futex(&good, FUTEX_WAIT | PRIVATE, 0, &ns, NULL, 0), -ETIMEDOUT);
	CHECK_EQ(futex(&good, FUTEX_WAKE_OP | PRIVATE, 1, VAL2(1), &good, 0), 0);
}

TEST(futex__bad_addresses)
{
	check_bad_addresses();
	use_futexes();
	check_bad_addresses();
}

/* Pages that were good at first. */
TEST(futex__pages_that_go_away)
{
	char *page = map(PROT_READ | PROT_WRITE);
	word *at = (word *)(page + 64);
	int fd;

	for (int i = 0; i < 3; i++) {
		CHECK_EQ(futex(at, FUTEX_WAIT | PRIVATE, 1, NULL, NULL, 0),
			 -EAGAIN);
		CHECK_EQ(futex(&good, FUTEX_WAKE_OP | PRIVATE, 1, VAL2(1), at, 0),
			 0);
		CHECK_EQ(mprotect(page, PAGE, PROT_READ), 0);
		check_unwritable(at);
		CHECK_EQ(mprotect(page, PAGE, PROT_NONE), 0);
		check_unreadable(at);
		CHECK_EQ(mprotect(page, PAGE, PROT_READ | PROT_WRITE), 0);
	}
	CHECK_EQ(munmap(page, PAGE), 0);
	check_unreadable(at);
	/* A file's page beyond its end: SIGBUS for a reader. */
	fd = memfd_create("short", MFD_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, PAGE), 0);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(page != MAP_FAILED);
	CHECK_EQ(futex(page, FUTEX_WAIT | PRIVATE, 1, NULL, NULL, 0), -EAGAIN);
	CHECK_EQ(ftruncate(fd, 0), 0);
	check_unreadable(page);
}

static void fail_once(int signal UNUSED)
{
	static const char text[] = "the program's SIGBUS handler ran\n";

	(void)!write(STDERR_FILENO, text, sizeof text - 1);
	_exit(1);
}

/* The program handles SIGBUS, but only once: no futex uses that up. */
TEST(futex__pages_that_go_away_before_a_handler_for_once)
{
	struct sigaction action = { .sa_handler = fail_once,
				    .sa_flags = SA_RESETHAND };

	OK(sigaction(SIGBUS, &action, NULL));
	futex__pages_that_go_away();
}

/* ------------------------------------------------- the program's handler -- */

static sigjmp_buf back;
static void *expected_fault;
static _Atomic int seen, wants_altstack;
static char *altstack;

static void jump_back(int signal)
{
	char here;

	CHECK_EQ(signal, SIGSEGV);
	if (wants_altstack)
		CHECK(&here >= altstack && &here < altstack + 16 * PAGE);
	seen++;
	siglongjmp(back, 1);
}

static void jump_back_informed(int signal, siginfo_t *info, void *context)
{
	CHECK(context);
	CHECK_EQ(info->si_signo, SIGSEGV);
	CHECK(info->si_addr == expected_fault);
	jump_back(signal);
}

/* Mends the page, and returns to the access. */
static void mend(int signal UNUSED, siginfo_t *info, void *context UNUSED)
{
	CHECK(info->si_addr == expected_fault);
	seen++;
	CHECK_EQ(mprotect(expected_fault, PAGE, PROT_READ | PROT_WRITE), 0);
}

enum style { PLAIN, INFORMED, ONSTACK, MENDING, ONCE, STYLES };

static void install(enum style style)
{
	struct sigaction action = { .sa_flags = 0 };
	stack_t stack = { .ss_size = 16 * PAGE };

	if (style == INFORMED || style == ONSTACK) {
		action.sa_sigaction = jump_back_informed;
		action.sa_flags = SA_SIGINFO;
	} else if (style == MENDING) {
		action.sa_sigaction = mend;
		action.sa_flags = SA_SIGINFO;
	} else {
		action.sa_handler = jump_back;
		action.sa_flags = style == ONCE ? SA_RESETHAND : 0;
	}
	wants_altstack = style == ONSTACK;
	if (style == ONSTACK) {
		altstack = malloc(stack.ss_size);
		CHECK(altstack);
		stack.ss_sp = altstack;
		CHECK_EQ(sigaltstack(&stack, NULL), 0);
		action.sa_flags |= SA_ONSTACK;
	}
	CHECK_EQ(sigaction(SIGSEGV, &action, NULL), 0);
}

static void check_handled(enum style style)
{
	char *page = map(PROT_NONE);

	expected_fault = page;
	for (int i = 0; i < (style == ONCE ? 1 : 3); i++) {
		seen = 0;
		if (style == MENDING) {
			CHECK_EQ(mprotect(page, PAGE, PROT_NONE), 0);
			*(volatile char *)page = 1;
		} else if (!sigsetjmp(back, 1)) {
			*(volatile char *)page = 1;
			FAIL("written to what can't be");
		}
		CHECK_EQ(seen, 1);
	}
	if (style == ONCE) {
		struct sigaction left;

		OK(sigaction(SIGSEGV, NULL, &left));
		CHECK(left.sa_handler == SIG_DFL);
	}
}

/* Each in a child, since the first use of a futex in a process matters. */
static void in_a_child(void (*run)(enum style), enum style style)
{
	pid_t child = fork_watched();

	if (child == 0) {
		run(style);
		_exit(0);
	}
	REAP(child);
}

static void handler_first(enum style style)
{
	char *page = map(PROT_READ | PROT_WRITE);

	install(style);
	check_bad_addresses();
	use_futexes();
	CHECK_EQ(futex(page, FUTEX_WAIT | PRIVATE, 1, NULL, NULL, 0), -EAGAIN);
	check_bad_addresses();
	check_handled(style);
	/* A handler for once has had its call by now. */
	CHECK_EQ(munmap(page, PAGE), 0);
	check_unreadable(page);
	futex__pages_that_go_away();
	if (style != ONCE)
		check_handled(style);
}

static void futex_first(enum style style)
{
	use_futexes();
	install(style);
	check_bad_addresses();
	check_handled(style);
	if (style == ONCE)
		return;
	check_bad_addresses();
	use_futexes();
	check_handled(style);
}

TEST(signal_sigsegv__handler_before_the_first_futex)
{
	for (enum style style = 0; style < STYLES; style++)
		in_a_child(handler_first, style);
}

TEST(signal_sigsegv__handler_after_the_first_futex)
{
	for (enum style style = 0; style < STYLES; style++)
		in_a_child(futex_first, style);
}

/* ------------------------------------------------------- no handler -- */

static void crash(void)
{
	*(volatile char *)map(PROT_NONE) = 1;
}

static void be_sent_it(void)
{
	kill(getpid(), SIGSEGV);
	sleep_ms(15000);
}

static void raise_it(void)
{
	raise(SIGSEGV);
}

THREAD(crash_elsewhere, void *unused UNUSED)
{
	crash();
}

static void crash_in_a_thread(void)
{
	struct thread thread;

	start(&thread, crash_elsewhere, NULL);
	join(&thread);
}

static void trap(void)
{
	/* A fault without an address: a general protection. */
	*(volatile char *)0x8000000000000000 = 1;
}

static void dies_by_sigsegv(void (*run)(void), void (*disposition)(int))
{
	pid_t child;
	int status;

	IN_CHILD(child) {
		signal(SIGSEGV, disposition);
		use_futexes();
		check_bad_addresses();
		run();
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV)
		FAIL("the child ended with status %#x", status);
}

TEST(signal_sigsegv__default_is_death)
{
	dies_by_sigsegv(crash, SIG_DFL);
	dies_by_sigsegv(trap, SIG_DFL);
	dies_by_sigsegv(be_sent_it, SIG_DFL);
	dies_by_sigsegv(raise_it, SIG_DFL);
	dies_by_sigsegv(crash_in_a_thread, SIG_DFL);
	/* An ignored signal can be sent, but a fault still kills. */
	dies_by_sigsegv(crash, SIG_IGN);
}

TEST(signal_sigsegv__ignored_when_sent)
{
	signal(SIGSEGV, SIG_IGN);
	use_futexes();
	CHECK_EQ(raise(SIGSEGV), 0);
	CHECK_EQ(kill(getpid(), SIGSEGV), 0);
	CHECK_EQ(raise(SIGSEGV), 0);
	check_bad_addresses();
}

RUN_TESTS()
