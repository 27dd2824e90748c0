/*
 * What a program can ask about its signal handlers, and how they are called:
 * the answers are the kernel's, whatever stands between. And handlers that
 * interrupt a thread in the middle of a lock are called once each, with the
 * value that was sent, on the right stack, under the right mask.
 */
#include "../posix/crowd.h"

#include <ucontext.h>

/* Some of these functions are deprecated. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static _Atomic int handled;

static void count(int signal UNUSED)
{
	handled++;
}

static void count_info(int signal UNUSED, siginfo_t *info UNUSED,
		       void *context UNUSED)
{
	handled++;
}

static struct sigaction asked(int number)
{
	struct sigaction action;

	OK(sigaction(number, NULL, &action));
	return action;
}

TEST(posix_sigaction__tells_what_was_installed)
{
	static const int flags[] = {
		0, SA_RESTART, SA_ONSTACK | SA_NODEFER, SA_RESETHAND,
	};
	struct sigaction action, old, plain = { .sa_handler = count };

	for (size_t i = 0; i < 8; i++) {
		action = (struct sigaction){ .sa_flags = flags[i / 2] };
		sigemptyset(&action.sa_mask);
		sigaddset(&action.sa_mask, SIGUSR2);
		if (i % 2) {
			action.sa_sigaction = count_info;
			action.sa_flags |= SA_SIGINFO;
		} else {
			action.sa_handler = count;
		}
		OK(sigaction(SIGUSR1, &action, NULL));
		old = asked(SIGUSR1);
		CHECK(old.sa_sigaction == action.sa_sigaction);
		CHECK_EQ(old.sa_flags & ~0x04000000, action.sa_flags);
		CHECK(sigismember(&old.sa_mask, SIGUSR2) == 1);
		CHECK(sigismember(&old.sa_mask, SIGHUP) == 0);
		OK(sigaction(SIGUSR1, &plain, &old));
		CHECK(old.sa_sigaction == action.sa_sigaction);
		/* As programs put back what they found. */
		OK(sigaction(SIGUSR1, &old, &action));
		CHECK(action.sa_handler == count);
		CHECK_EQ(action.sa_flags & SA_SIGINFO, 0);
		CHECK(asked(SIGUSR1).sa_sigaction == old.sa_sigaction);
		handled = 0;
		OK(raise(SIGUSR1));
		CHECK_EQ(handled, 1);
	}
}

TEST(posix_sigaction__refuses_what_the_kernel_refuses)
{
	struct sigaction action = { .sa_handler = count };
	static const int refused[] = { 0, -1, 65, 32, 33, SIGKILL, SIGSTOP };

	for (EACH(i, refused)) {
		errno = 0;
		CHECK_EQ(sigaction(refused[i], &action, NULL), -1);
		CHECK_EQ(errno, EINVAL);
		errno = 0;
		CHECK(signal(refused[i], count) == SIG_ERR);
		CHECK_EQ(errno, EINVAL);
	}
	CHECK(signal(SIGUSR1, SIG_ERR) == SIG_ERR);
}

TEST(posix_signal__and_its_kin_return_the_handler_before)
{
	static struct {
		sighandler_t (*install)(int, sighandler_t);
		int flags;
	} kin[] = {
		{ signal, SA_RESTART },
		{ ssignal, SA_RESTART },
		{ sysv_signal, SA_RESETHAND | SA_NODEFER },
		{ sigset, 0 },
	};
	const int all = SA_RESTART | SA_RESETHAND | SA_NODEFER | SA_ONSTACK |
			SA_SIGINFO;

	for (EACH(i, kin)) {
		CHECK(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
		CHECK(kin[i].install(SIGUSR1, count) == SIG_DFL);
		CHECK(asked(SIGUSR1).sa_handler == count);
		CHECK_EQ(asked(SIGUSR1).sa_flags & all, kin[i].flags);
		handled = 0;
		OK(raise(SIGUSR1));
		CHECK_EQ(handled, 1);
		CHECK(kin[i].install(SIGUSR1, SIG_IGN) ==
		      (kin[i].flags & SA_RESETHAND ? SIG_DFL : count));
		CHECK(kin[i].install(SIGUSR1, count) == SIG_IGN);
	}
	OK(siginterrupt(SIGUSR1, 1));
	CHECK_EQ(asked(SIGUSR1).sa_flags & SA_RESTART, 0);
	CHECK(asked(SIGUSR1).sa_handler == count);
	CHECK(signal(SIGUSR1, count) == count);
	CHECK_EQ(asked(SIGUSR1).sa_flags & SA_RESTART, 0);
	OK(siginterrupt(SIGUSR1, 0));
	CHECK(signal(SIGUSR1, count) == count);
	CHECK(asked(SIGUSR1).sa_flags & SA_RESTART);
}

TEST(posix_sigset__holds_and_releases)
{
	sigset_t mask;

	CHECK(sigset(SIGUSR1, count) == SIG_DFL);
	CHECK(sigset(SIGUSR1, SIG_HOLD) == count);
	CHECK(sigset(SIGUSR1, SIG_HOLD) == SIG_HOLD);
	OK(pthread_sigmask(0, NULL, &mask));
	CHECK(sigismember(&mask, SIGUSR1) == 1);
	handled = 0;
	OK(raise(SIGUSR1));
	CHECK_EQ(handled, 0);
	CHECK(sigset(SIGUSR1, count) == SIG_HOLD);
	CHECK_EQ(handled, 1);
}

/* As Python's subprocess and many others do before they execute. */
TEST(linux_vfork__a_child_that_resets_handlers_leaves_its_parents)
{
	struct sigaction action = { .sa_handler = count };
	volatile int i;
	int status;
	pid_t child;

	OK(sigaction(SIGUSR1, &action, NULL));
	for (i = 0; i < 100; i++) {
		child = vfork();
		if (child == 0) {
			action.sa_handler = i % 2 ? SIG_DFL : SIG_IGN;
			sigaction(SIGUSR1, &action, NULL);
			sigaction(SIGUSR1, NULL, &action);
			_exit(action.sa_handler == (i % 2 ? SIG_DFL : SIG_IGN));
		}
		CHECK(child > 0);
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(WEXITSTATUS(status), 1);
		CHECK(asked(SIGUSR1).sa_handler == count);
		handled = 0;
		OK(raise(SIGUSR1));
		CHECK_EQ(handled, 1);
	}
}

static void handler_of_many(int signal UNUSED)
{
	handled += 1000;
}

/* More handlers than a table has room for: code at a thousand places. */
TEST(linux_sigaction__more_handlers_than_there_can_be_a_table_for)
{
	/* endbr64; movabs $handler_of_many, %rax; jmp *%rax */
	static const unsigned char code[] = {
		0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0,
	};
	void (*handler)(int) = handler_of_many;
	unsigned char *page;

	page = mmap(NULL, 3000 * 16, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		SKIP("no memory that can be executed");
	for (int i = 0; i < 3000; i++) {
		memcpy(page + 16 * i, code, sizeof(code));
		memcpy(page + 16 * i + 6, &handler, sizeof(handler));
		CHECK(signal(SIGUSR1, (sighandler_t)(page + 16 * i)) ==
		      (i ? (sighandler_t)(page + 16 * (i - 1)) : SIG_DFL));
		handled = 0;
		OK(raise(SIGUSR1));
		CHECK_EQ(handled, 1000);
	}
}

/* ------------------------------------ handlers amid contended locks -- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool stop;
static _Atomic int contending, turns;

THREAD(contend, void *argument UNUSED)
{
	sigset_t before, after;

	OK(pthread_sigmask(0, NULL, &before));
	contending++;
	while (!stop) {
		OK(pthread_mutex_lock(&mutex));
		turns++;
		OK(pthread_mutex_unlock(&mutex));
	}
	OK(pthread_sigmask(0, NULL, &after));
	for (int number = 1; number < 65; number++)
		CHECK_EQ(sigismember(&after, number), sigismember(&before, number));
}

static struct thread threads[3];

/* For as long as a storm lasts. */
static bool goes_on(void)
{
	static int64_t end;

	if (!end)
		end = now_ns(CLOCK_MONOTONIC) + 2 * NS_PER_S;
	return now_ns(CLOCK_MONOTONIC) < end;
}

/* Until all contend: new threads aren't yet ready for signals. */
static void contend_begins(void *(*run)(void *))
{
	stop = false;
	start_all(threads, 3, run, NULL);
	UNTIL(contending == 3 && turns > 1000);
}

static void contend_ends(void)
{
	stop = true;
	join_all(threads, 3);
}

static _Atomic int next_value[3];
static _Atomic int wrong;

static void check_value(int signal UNUSED, siginfo_t *info, void *context UNUSED)
{
	int thread = info->si_value.sival_int & 3;
	int value = info->si_value.sival_int >> 2;

	if (info->si_code != SI_QUEUE || info->si_pid != getpid() ||
	    !pthread_equal(pthread_self(), threads[thread].pthread))
		wrong++;
	if (value != next_value[thread]++)
		wrong++;
	handled++;
}

/* One at a time for each thread, so that its values arrive in order. */
TEST(posix_sigqueue__a_value_arrives_once_amid_locks)
{
	struct sigaction action = {
		.sa_sigaction = check_value, .sa_flags = SA_SIGINFO | SA_RESTART,
	};
	int sent = 0;

	OK(sigaction(SIGRTMIN, &action, NULL));
	contend_begins(contend);
	for (int i = 0; goes_on(); i++) {
		int to = i % 3;
		union sigval value = { .sival_int = i / 3 << 2 | to };

		while (next_value[to] != i / 3)
			sched_yield();
		OK(pthread_sigqueue(threads[to].pthread, SIGRTMIN, value));
		sent++;
	}
	UNTIL(handled == sent);
	contend_ends();
	CHECK_EQ(wrong, 0);
	CHECK_EQ(handled, sent);
}

static void once_only(int signal UNUSED)
{
	handled++;
}

/* The kernel resets such a handler as it calls it. */
TEST(posix_SA_RESETHAND__amid_locks_is_called_once)
{
	struct sigaction action = {
		.sa_handler = once_only, .sa_flags = SA_RESETHAND | SA_RESTART,
	};

	contend_begins(contend);
	for (int i = 0; goes_on(); i++) {
		OK(sigaction(SIGUSR1, &action, NULL));
		OK(pthread_kill(threads[i % 3].pthread, SIGUSR1));
		while (handled != i + 1)
			sched_yield();
		CHECK(asked(SIGUSR1).sa_handler == SIG_DFL);
	}
	contend_ends();
}

static void nest(int signal UNUSED)
{
	int depth = ++handled;

	if (depth % 4)
		raise(SIGUSR1);
}

TEST(posix_SA_NODEFER__amid_locks_nests)
{
	struct sigaction action = {
		.sa_handler = nest, .sa_flags = SA_NODEFER | SA_RESTART,
	};

	OK(sigaction(SIGUSR1, &action, NULL));
	contend_begins(contend);
	for (int i = 0; goes_on(); i++) {
		OK(pthread_kill(threads[i % 3].pthread, SIGUSR1));
		while (handled != 4 * (i + 1))
			sched_yield();
	}
	contend_ends();
}

static _Thread_local stack_t stack;

static void on_stack(int signal UNUSED, siginfo_t *info UNUSED, void *context)
{
	ucontext_t *interrupted = context;
	char here;

	if (&here < (char *)stack.ss_sp || &here > (char *)stack.ss_sp + stack.ss_size)
		wrong++;
	/* The interrupted code runs on the thread's own stack. */
	if ((char *)interrupted->uc_mcontext.gregs[REG_RSP] >= (char *)stack.ss_sp &&
	    (char *)interrupted->uc_mcontext.gregs[REG_RSP] <
		    (char *)stack.ss_sp + stack.ss_size)
		wrong++;
	if (sigismember(&interrupted->uc_sigmask, SIGUSR2) ||
	    sigismember(&interrupted->uc_sigmask, SIGUSR1))
		wrong++;
	handled++;
}

static void *contend_on_stack(void *argument)
{
	static _Thread_local char memory[1 << 16];

	stack = (stack_t){ .ss_sp = memory, .ss_size = sizeof(memory) };
	OK(sigaltstack(&stack, NULL));
	return contend(argument);
}

TEST(posix_SA_ONSTACK__amid_locks_has_its_stack_and_context)
{
	struct sigaction action = {
		.sa_sigaction = on_stack,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART,
	};

	OK(sigaction(SIGUSR1, &action, NULL));
	contend_begins(contend_on_stack);
	for (int i = 0; goes_on(); i++) {
		OK(pthread_kill(threads[i % 3].pthread, SIGUSR1));
		while (handled != i + 1)
			sched_yield();
	}
	contend_ends();
	CHECK_EQ(wrong, 0);
}

RUN_TESTS()
