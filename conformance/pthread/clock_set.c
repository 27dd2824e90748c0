/*
 * The time of day is set while threads wait: deadlines on it move along, those
 * on the monotonic clock stay. Everything on the machine sees the clock jump,
 * for a moment, so that these tests run only where CONFORMANCE_SET_CLOCK=1 says
 * that it may.
 */
#include "../posix/crowd.h"
#include <semaphore.h>

#define JUMP_S 1000

static void set_clock_by(int64_t seconds)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_sec += seconds;
	if (clock_settime(CLOCK_REALTIME, &now))
		SKIP("the clock can't be set: %s", strerror(errno));
}

static void may_set_clock(void)
{
	if (!getenv("CONFORMANCE_SET_CLOCK"))
		SKIP("sets the machine's clock: CONFORMANCE_SET_CLOCK=1 allows it");
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t none;
static clockid_t used;

static void *in_mutex(void *at)
{
	return (void *)(intptr_t)pthread_mutex_clocklock(&held, used, at);
}

static void *in_rwlock(void *at)
{
	return (void *)(intptr_t)pthread_rwlock_clockwrlock(&written, used, at);
}

static void *in_cond(void *at)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	int error;

	OK(pthread_mutex_lock(&mutex));
	do
		error = pthread_cond_clockwait(&cond, &mutex, used, at);
	while (!error);
	OK(pthread_mutex_unlock(&mutex));
	return (void *)(intptr_t)error;
}

static void *in_semaphore(void *at)
{
	return (void *)(intptr_t)(sem_clockwait(&none, used, at) ? errno : 0);
}

static void *(*const waits[])(void *) = {
	in_mutex, in_rwlock, in_cond, in_semaphore,
};
#define WAITS (sizeof(waits) / sizeof(waits[0]))

/* How long waits for deadlines that far ahead lasted. */
static int64_t wait_across_a_jump(clockid_t clock, int64_t ahead_ms,
				  int64_t jump_s)
{
	struct timespec at = in_ms(clock, ahead_ms);
	int64_t began = now_ns(CLOCK_MONOTONIC);
	struct thread threads[WAITS];

	used = clock;
	OK(sem_init(&none, 0, 0));
	OK(pthread_mutex_lock(&held));
	OK(pthread_rwlock_wrlock(&written));
	for (size_t each = 0; each < WAITS; each++)
		start(&threads[each], waits[each], &at);
	for (size_t each = 0; each < WAITS; each++)
		until_asleep(&threads[each]);
	set_clock_by(jump_s);
	for (size_t each = 0; each < WAITS; each++)
		CHECK_EQ((intptr_t)join(&threads[each]), ETIMEDOUT);
	set_clock_by(-jump_s);
	OK(pthread_rwlock_unlock(&written));
	OK(pthread_mutex_unlock(&held));
	return (now_ns(CLOCK_MONOTONIC) - began) / NS_PER_MS;
}

TEST(posix_clock_settime__forward_ends_waits_on_it)
{
	int64_t ms;

	may_set_clock();
	ms = wait_across_a_jump(CLOCK_REALTIME, JUMP_S * 1000 / 2, JUMP_S);
	CHECK(ms < WATCHDOG_S * 1000 / 2);
}

TEST(posix_clock_settime__leaves_monotonic_waits_alone)
{
	may_set_clock();
	CHECK(wait_across_a_jump(CLOCK_MONOTONIC, 700, JUMP_S) >= 700);
}

THREAD(back_again, void *argument UNUSED)
{
	sleep_ms(1200);
	set_clock_by(JUMP_S);
}

TEST(posix_clock_settime__backward_prolongs_waits_on_it)
{
	struct timespec at;
	struct thread later;
	int64_t began;

	may_set_clock();
	OK(sem_init(&none, 0, 0));
	at = in_ms(CLOCK_REALTIME, 400);
	used = CLOCK_REALTIME;
	set_clock_by(-JUMP_S);
	began = now_ns(CLOCK_MONOTONIC);
	start(&later, back_again, NULL);
	CHECK_EQ((intptr_t)in_semaphore(&at), ETIMEDOUT);
	CHECK((now_ns(CLOCK_MONOTONIC) - began) / NS_PER_MS >= 1000);
	join(&later);
}

RUN_TESTS()
