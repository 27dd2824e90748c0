/*
 * What every test program of this folder shares: checks, threads that can be
 * watched, and a main that runs one test by its name.
 *
 * The harness synchronises by atomics and sleeps only. The functions under
 * test must not also decide whether the test of them works.
 *
 *	PROGRAM			lists the tests, a line each: name, side, reason, and the
 *				page, section and sense of the clause it is named by
 *	PROGRAM TEST		runs one; exit 0 passed, 1 failed, 77 skipped
 */
#ifndef CONFORMANCE_HARNESS_H
#define CONFORMANCE_HARNESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "bound.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

#include "older_glibc.h"

/* A test that lasts longer hangs. (Compile with less to try one out.) */
#ifndef WATCHDOG_S
#define WATCHDOG_S 20
#endif

#define EXIT_SKIPPED 77

/* How late a wait may end on a busy machine. */
#define LATE_MS 2000

/* A wait that ends in less time than the watchdog takes. */
#define LONG_MS 15000

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* for (EACH(i, list)) */
#define EACH(item, list) size_t item = 0; item < COUNT(list); item++

static const char *running = "(no test)";

/*
 * The row and column that a test of a table has come to: failures print them.
 */
static const char *at_row = "", *at_column = "";

/* ------------------------------------------------------------- failing -- */

/* One write, so that lines of several threads and processes don't mix. */
static void UNUSED say(const char *word, const char *file, int line,
		       const char *format, va_list arguments)
{
	char text[1024];
	size_t used;

	used = snprintf(text, sizeof(text), "%s %s:%d: ", word, file, line);
	if (*at_row || *at_column)
		used += snprintf(text + used, sizeof(text) - used, "[%s%s%s] ", at_row,
				 *at_row && *at_column ? ", " : "", at_column);
	used += vsnprintf(text + used, sizeof(text) - used - 1, format,
			  arguments);
	if (used > sizeof(text) - 2)
		used = sizeof(text) - 2;
	text[used++] = '\n';
	if (write(STDERR_FILENO, text, used) < 0)
		abort();
}

/* Ends the process: other threads may be stuck in what has just failed. */
static void UNUSED __attribute__((noreturn, format(printf, 3, 4)))
fail_at(const char *file, int line, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say("FAILED", file, line, format, arguments);
	va_end(arguments);
	_exit(1);
}

static void UNUSED __attribute__((noreturn, format(printf, 3, 4)))
skip_at(const char *file, int line, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say("SKIPPED", file, line, format, arguments);
	va_end(arguments);
	_exit(EXIT_SKIPPED);
}

#define FAIL(...) fail_at(__FILE__, __LINE__, __VA_ARGS__)
#define SKIP(...) skip_at(__FILE__, __LINE__, __VA_ARGS__)

#define CHECK(condition)						\
	do {								\
		if (!(condition))					\
			FAIL("not so: %s", #condition);			\
	} while (0)

/* Integers of any type; both are printed. */
#define CHECK_EQ(got, wanted)						\
	do {								\
		long long got_ = (long long)(got);			\
		long long wanted_ = (long long)(wanted);		\
		if (got_ != wanted_)					\
			FAIL("%s is %lld, not %s (%lld)", #got, got_,	\
			     #wanted, wanted_);				\
	} while (0)

/* A function that returns an error number. */
#define CHECK_ERR(call, wanted)						\
	do {								\
		int got_ = (call);					\
		if (got_ != (wanted))					\
			FAIL("%s returned %d (%s), not %s", #call, got_,\
			     strerror(got_), #wanted);			\
	} while (0)

#define OK(call) CHECK_ERR(call, 0)

/* ---------------------------------------------------------------- time -- */

#define NS_PER_S 1000000000LL
#define NS_PER_MS 1000000LL

static int64_t UNUSED now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int64_t UNUSED ns_of(const struct timespec *time)
{
	return time->tv_sec * NS_PER_S + time->tv_nsec;
}

/* A deadline; a negative number lies in the past. */
static struct timespec UNUSED in_ns(clockid_t clock, int64_t ns)
{
	int64_t at = now_ns(clock) + ns;

	return (struct timespec){
		.tv_sec = at / NS_PER_S,
		.tv_nsec = at % NS_PER_S,
	};
}

static struct timespec UNUSED in_ms(clockid_t clock, int64_t ms)
{
	return in_ns(clock, ms * NS_PER_MS);
}

/* A signal may end usleep early, so that this doesn't use it. */
static void UNUSED sleep_ms(int64_t ms)
{
	struct timespec until = in_ms(CLOCK_MONOTONIC, ms);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
		;
}

/* Pseudo-random, one state a thread. */
static uint32_t UNUSED next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* All delays of a process together: its tests have to end in time. */
#define ALL_DELAYS_MS 3000

/*
 * CONFORMANCE_DELAYS=MS delays each thread by up to so many milliseconds as it
 * begins, as it has started another, and as it has seen what it waited for. A
 * test that fails then relies on how soon a thread runs.
 */
static void UNUSED delay_at_random(void)
{
	static _Atomic int left_us = ALL_DELAYS_MS * 1000;
	const char *most_ms = getenv("CONFORMANCE_DELAYS");
	uint32_t random = (uint32_t)now_ns(CLOCK_MONOTONIC) | 1;
	struct timespec delay = { .tv_sec = 0 };
	int saved = errno;

	/* Of two threads that race only one is to be late, half of the time. */
	if (!most_ms || left_us <= 0 || next_random(&random) % 2)
		return;
	delay.tv_nsec = next_random(&random) % (atoi(most_ms) * NS_PER_MS + 1);
	left_us -= delay.tv_nsec / 1000;
	/* usleep would be a cancellation point. */
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &delay, NULL);
	errno = saved;
}

/* The watchdog ends it, if nothing else does. */
#define UNTIL(condition)						\
	do {								\
		while (!(condition))					\
			usleep(200);					\
		delay_at_random();					\
	} while (0)

/* ------------------------------------------------------------- threads -- */

/* A thread whose kernel id is known, so that others can see it sleep. */
struct thread {
	pthread_t pthread;
	_Atomic pid_t tid;
	void *(*run)(void *);
	void *argument;
};

static void *thread_entry(void *argument)
{
	struct thread *thread = argument;

	delay_at_random();
	thread->tid = gettid();
	delay_at_random();
	return thread->run(thread->argument);
}

static void UNUSED start_with(struct thread *thread, const pthread_attr_t *attr,
			      void *(*run)(void *), void *argument)
{
	thread->tid = 0;
	thread->run = run;
	thread->argument = argument;
	OK(pthread_create(&thread->pthread, attr, thread_entry, thread));
	delay_at_random();
}

static void UNUSED start(struct thread *thread, void *(*run)(void *),
			 void *argument)
{
	start_with(thread, NULL, run, argument);
}

static UNUSED void *join(struct thread *thread)
{
	void *result = NULL;

	OK(pthread_join(thread->pthread, &result));
	return result;
}

/* Threads that all do the same with the same thing. */
static void UNUSED start_all(struct thread *threads, size_t count,
			     void *(*run)(void *), void *argument)
{
	for (size_t i = 0; i < count; i++)
		start(&threads[i], run, argument);
}

static void UNUSED join_all(struct thread *threads, size_t count)
{
	for (size_t i = 0; i < count; i++)
		join(&threads[i]);
}

/* Whether the address is mapped; under qemu-user, in the program it emulates. */
static bool is_mapped(uintptr_t address)
{
	uintptr_t from, to;
	bool found = false;
	char *line = NULL;
	size_t size = 0;
	FILE *maps = fopen("/proc/self/maps", "re");

	if (!maps)
		return true;
	while (!found && getline(&line, &size, maps) > 0)
		found = sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) == 2 &&
			from <= address && address < to;
	free(line);
	fclose(maps);
	return found;
}

/*
 * What /proc/TID/syscall says: futex, futex_waitv or futex_wait. Under qemu-user
 * it tells of the host's calls: CONFORMANCE_HOST_FUTEX is the number of its
 * futex, and qemu waits for locks of its own, which lie elsewhere.
 */
static bool is_futex_wait(const char *call)
{
	const char *host = getenv("CONFORMANCE_HOST_FUTEX");
	uintptr_t word;
	int number;

	if (sscanf(call, "%d %" SCNxPTR, &number, &word) != 2)
		return false;
	if (host)
		return number == atoi(host) && is_mapped(word);
	return number == SYS_futex || number == 449 || number == 455;
}

/*
 * Whether the thread, or a child's only one, sleeps in the kernel, on a futex
 * where that is shown.
 */
static bool UNUSED is_asleep(pid_t tid)
{
	char path[64], text[512];
	const char *state;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, text, sizeof(text) - 1);
		close(fd);
		if (got > 0) {
			text[got] = '\0';
			return is_futex_wait(text);
		}
	}
	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return false;
	text[got] = '\0';
	state = strrchr(text, ')');
	return state && state[2] == 'S';
}

/* Until it sleeps, and still does a moment later. */
static void UNUSED until_tid_asleep(pid_t tid)
{
	int seen = 0;

	while (seen < 3) {
		usleep(300);
		seen = is_asleep(tid) ? seen + 1 : 0;
	}
	delay_at_random();
}

static void UNUSED until_asleep(struct thread *thread)
{
	UNTIL(thread->tid);
	until_tid_asleep(thread->tid);
}

/* Starts a thread that is going to sleep, and returns once it does. */
static void UNUSED start_asleep(struct thread *thread, void *(*run)(void *),
				void *argument)
{
	start(thread, run, argument);
	until_asleep(thread);
}

/* ----------------------------------------------------------- processes -- */

static void watchdog(int signal UNUSED)
{
	static const char words[] = "FAILED: hangs\n";

	if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0)
		abort();
	_exit(1);
}

static void UNUSED arm_watchdog(unsigned int seconds)
{
	struct sigaction action = { .sa_handler = watchdog };
	sigset_t alarms;

	sigaction(SIGALRM, &action, NULL);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	alarm(bound_s(seconds));
}

/* In a child: a failure there has to end in seconds too, and before ours. */
static pid_t UNUSED fork_watched(void)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0)
		arm_watchdog(WATCHDOG_S * 3 / 4);
	return child;
}

static void UNUSED reap_at(const char *file, int line, pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			fail_at(file, line, "waitpid: %s", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED)
		_exit(EXIT_SKIPPED);
	if (WIFSIGNALED(status))
		fail_at(file, line, "the child died of signal %d",
			WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		fail_at(file, line, "the child exited with %d",
			WEXITSTATUS(status));
}

#define REAP(child) reap_at(__FILE__, __LINE__, child)

/* Memory that forked children share. */
static UNUSED void *shared_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

/* The page is gone, and what is mapped next isn't in its place. */
static void UNUSED leave_hole(void *page)
{
	CHECK(mmap(page, 4096, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
		   0) == page);
}

static long UNUSED resident_kb(void)
{
	long pages = 0, resident = 0;
	FILE *statm = fopen("/proc/self/statm", "re");

	CHECK(statm && fscanf(statm, "%ld %ld", &pages, &resident) == 2);
	fclose(statm);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* ------------------------------------------------------------- mutexes -- */

enum kind {
	DEFAULT,	/* no attributes */
	NORMAL,
	RECURSIVE,
	ERRORCHECK,
	ADAPTIVE,
	/* These stay glibc's under the preload. */
	PSHARED,
	ROBUST,
	PI,
	PP,
	PSHARED_ROBUST_PI,
	KINDS,
	OWN_KINDS = PSHARED,
};

static const char *const kind_names[KINDS] UNUSED = {
	"default", "normal",  "recursive", "errorcheck",	"adaptive",
	"pshared", "robust",  "PI",	   "PP",		"pshared robust PI",
};

/* 0 or the error with which a mutex of this kind can't be made here. */
static int UNUSED make_mutex(pthread_mutex_t *mutex, enum kind kind)
{
	static const int types[] = {
		[NORMAL] = PTHREAD_MUTEX_NORMAL,
		[RECURSIVE] = PTHREAD_MUTEX_RECURSIVE,
		[ERRORCHECK] = PTHREAD_MUTEX_ERRORCHECK,
#ifdef __GLIBC__ /* musl has none */
		[ADAPTIVE] = PTHREAD_MUTEX_ADAPTIVE_NP,
#endif
	};
	pthread_mutexattr_t attr;
	int error;

	if (kind == DEFAULT)
		return pthread_mutex_init(mutex, NULL);
	OK(pthread_mutexattr_init(&attr));
	if (kind < PSHARED)
		OK(pthread_mutexattr_settype(&attr, types[kind]));
	if (kind == PSHARED || kind == PSHARED_ROBUST_PI)
		OK(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	if (kind == ROBUST || kind == PSHARED_ROBUST_PI)
		OK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	if (kind == PI || kind == PSHARED_ROBUST_PI)
		OK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT));
	if (kind == PP) {
		OK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT));
		OK(pthread_mutexattr_setprioceiling(
			&attr, sched_get_priority_min(SCHED_FIFO)));
	}
	error = pthread_mutex_init(mutex, &attr);
	OK(pthread_mutexattr_destroy(&attr));
	return error;
}

static void UNUSED make_cond(pthread_cond_t *cond, clockid_t clock, bool shared)
{
	pthread_condattr_t attr;

	OK(pthread_condattr_init(&attr));
	OK(pthread_condattr_setclock(&attr, clock));
	if (shared)
		OK(pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	OK(pthread_cond_init(cond, &attr));
	OK(pthread_condattr_destroy(&attr));
}

/* --------------------------------------------------------------- tests -- */

/* Whether the preload is meant to be in effect, as the runner says. */
static bool UNUSED under_furwock(void)
{
	const char *side = getenv("CONFORMANCE_SIDE");

	return side && !strcmp(side, "furwock");
}

struct test {
	const char *name;
	void (*run)(void);
	/* "both", or the only side on which the test holds, and why. */
	const char *side;
	const char *reason;
	/* The clause of the standard that it checks, in our words. */
	const char *page;
	const char *section;
	const char *says;
	int line;
};

/*
 * A test of this program: TEST(name) { ... }. A test that holds on one side
 * only says which, and why. Each has an entry in a section, where RUN_TESTS
 * finds it.
 */
#define TEST_ON(name, side, why)					\
	static void name(void);						\
	static const struct test name##_listed = {			\
		#name, name, side, why, "", "", "", __LINE__,		\
	};								\
	static const struct test *const name##_entry			\
		__attribute__((used, section("tests"))) = &name##_listed; \
	static void name(void)

#define TEST(name) TEST_ON(name, "both", "")
#define TEST_FURWOCK_ONLY(name, why) TEST_ON(name, "furwock", why)

static int UNUSED run_tests(const struct test *tests, size_t count, int argc,
			    char **argv)
{
	if (argc < 2) {
		for (size_t at = 0; at < count; at++)
			printf("%s\t%s\t%s\t%s\t%s\t%s\n",
			       tests[at].name, tests[at].side,
			       tests[at].reason, tests[at].page,
			       tests[at].section, tests[at].says);
		return 0;
	}
	for (size_t at = 0; at < count; at++) {
		if (strcmp(tests[at].name, argv[1]))
			continue;
		running = tests[at].name;
		arm_watchdog(WATCHDOG_S);
		tests[at].run();
		return 0;
	}
	fprintf(stderr, "no test named %s\n", argv[1]);
	return 2;
}

static int UNUSED by_line(const void *one, const void *other)
{
	return ((const struct test *)one)->line -
	       ((const struct test *)other)->line;
}

/* For programs whose tests are TESTs. */
#define RUN_TESTS()							\
	extern const struct test *const __start_tests[];		\
	extern const struct test *const __stop_tests[];			\
									\
	int main(int argc, char **argv)					\
	{								\
		size_t count = __stop_tests - __start_tests, at;	\
		struct test listed[count];				\
									\
		for (at = 0; at < count; at++)				\
			listed[at] = *__start_tests[at];		\
		qsort(listed, count, sizeof(listed[0]), by_line);	\
		return run_tests(listed, count, argc, argv);		\
	}

#endif
