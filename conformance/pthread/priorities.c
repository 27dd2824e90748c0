/*
 * Every way to a real-time priority is noticed: of two waiters, the one that
 * has a priority goes before the one that came first.
 */
#include "harness.h"

struct sched_attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int turns;
static _Atomic bool comes;

static int least(void)
{
	return sched_get_priority_min(SCHED_FIFO);
}

static void need(int result, int error)
{
	if (result != 0 && error == EPERM)
		SKIP("no privilege to have a priority");
	CHECK_EQ(result, 0);
}

/* A thread that has waited before may get its priority later. */
static void wait_briefly(void)
{
	static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec at = in_ms(CLOCK_REALTIME, 1);

	OK(pthread_mutex_lock(&own));
	while (pthread_cond_timedwait(&cond, &own, &at) == 0)
		;
	OK(pthread_mutex_unlock(&own));
}

/* The argument is a function that gives the thread a priority, or NULL. */
static void *take_a_turn(void *argument)
{
	void (*become)(void) = (void (*)(void))argument;
	int turn;

	if (become) {
		wait_briefly();
		become();
	}
	comes = true;
	OK(pthread_mutex_lock(&mutex));
	turn = ++turns;
	/* The other thread waits on meanwhile. */
	sleep_ms(1);
	OK(pthread_mutex_unlock(&mutex));
	return (void *)(intptr_t)turn;
}

static void check_turns(void (*become)(void), const pthread_attr_t *attr)
{
	struct thread plain, realtime;

	OK(pthread_mutex_lock(&mutex));
	start_asleep(&plain, take_a_turn, NULL);
	comes = false;
	start_with(&realtime, attr, take_a_turn, (void *)become);
	/* Before that it sleeps in wait_briefly. */
	UNTIL(comes);
	until_asleep(&realtime);
	OK(pthread_mutex_unlock(&mutex));
	CHECK_EQ((intptr_t)join(&realtime), 1);
	CHECK_EQ((intptr_t)join(&plain), 2);
}

static void by_setschedparam(void)
{
	struct sched_param param = { .sched_priority = least() };
	int error = pthread_setschedparam(pthread_self(), SCHED_RR, &param);

	need(error, error);
}

TEST(posix_pthread_setschedparam__is_noticed)
{
	check_turns(by_setschedparam, NULL);
}

static void by_setscheduler(void)
{
	struct sched_param param = { .sched_priority = least() };
	int policy = SCHED_FIFO | SCHED_RESET_ON_FORK;

	need(sched_setscheduler(0, policy, &param), errno);
}

TEST(posix_sched_setscheduler__is_noticed)
{
	check_turns(by_setscheduler, NULL);
}

static void by_number(void)
{
	struct sched_param param = { .sched_priority = least() };

	need(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &param), errno);
}

TEST(linux_sched_setscheduler__by_number_is_noticed)
{
	check_turns(by_number, NULL);
}

static void by_attributes_by_number(void)
{
	struct sched_attributes attr = {
		.size = 48,
		.policy = SCHED_FIFO,
		.priority = least(),
	};

	need(syscall(SYS_sched_setattr, 0, &attr, 0), errno);
}

TEST(linux_sched_setattr__by_number_is_noticed)
{
	check_turns(by_attributes_by_number, NULL);
}

static int (*setattr)(pid_t, struct sched_attributes *, unsigned int);

static void by_attributes(void)
{
	struct sched_attributes attr = {
		.size = 48,
		.policy = SCHED_FIFO,
		.priority = least(),
	};

	need(setattr(0, &attr, 0), errno);
}

/* glibc has it since 2.41. */
TEST(linux_sched_setattr__is_noticed)
{
	struct sched_attributes wrong = { .size = 48, .policy = 77 };

	*(void **)&setattr = dlsym(RTLD_DEFAULT, "sched_setattr");
	if (!setattr)
		SKIP("this C library has no sched_setattr");
	errno = 0;
	CHECK_EQ(setattr(0, &wrong, 0), -1);
	CHECK_EQ(errno, EINVAL);
	check_turns(by_attributes, NULL);
}

TEST(posix_pthread_attr_setschedpolicy__is_noticed)
{
	struct sched_param param = { .sched_priority = least() };
	struct thread thread;
	pthread_attr_t attr;
	int error;

	OK(pthread_attr_init(&attr));
	OK(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED));
	OK(pthread_attr_setschedpolicy(&attr, SCHED_FIFO));
	OK(pthread_attr_setschedparam(&attr, &param));
	error = pthread_create(&thread.pthread, &attr, take_a_turn, NULL);
	need(error, error);
	CHECK_EQ((intptr_t)join(&thread), 1);
	turns = 0;
	check_turns(NULL, &attr);
	OK(pthread_attr_destroy(&attr));
}

static void leave_realtime(void)
{
	struct sched_param param = { .sched_priority = 0 };

	OK(pthread_setschedparam(pthread_self(), SCHED_OTHER, &param));
}

static void *plain_turn(void *argument)
{
	leave_realtime();
	return take_a_turn(argument);
}

/* The program was started with a real-time policy, as by chrt(1). */
TEST(linux_execve__a_policy_from_before_is_noticed)
{
	struct sched_param param = { .sched_priority = least() };
	char program[] = "/proc/self/exe";
	char *arguments[] = { program, (char *)running, NULL };
	struct thread plain, realtime;

	if (!getenv("REALTIME_FROM_BEFORE")) {
		need(sched_setscheduler(0, SCHED_FIFO, &param), errno);
		OK(setenv("REALTIME_FROM_BEFORE", "1", 1));
		execv(program, arguments);
		FAIL("execv: %s", strerror(errno));
	}
	OK(pthread_mutex_lock(&mutex));
	start_asleep(&plain, plain_turn, NULL);
	start_asleep(&realtime, take_a_turn, NULL);
	OK(pthread_mutex_unlock(&mutex));
	CHECK_EQ((intptr_t)join(&realtime), 1);
	CHECK_EQ((intptr_t)join(&plain), 2);
}

RUN_TESTS()
