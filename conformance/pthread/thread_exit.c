/* Threads that end: what they may still do, and what they leave behind. */
#include "../posix/crowd.h"

#include <sys/resource.h>

struct scene {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	long counter;
	int waiting, permits;
	_Atomic int destroyed, stage;
	_Atomic bool stop;
};

static struct scene scene = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.cond = PTHREAD_COND_INITIALIZER,
};
static pthread_key_t key;

/* -------------------------------------------------- thread-specific data -- */

static void wait_briefly(void)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 1);

	OK(pthread_mutex_lock(&scene.mutex));
	scene.counter++;
	while (pthread_cond_timedwait(&scene.cond, &scene.mutex, &at) == 0)
		;
	OK(pthread_mutex_unlock(&scene.mutex));
}

/* Is called again, for as many rounds as the value says. */
static void destroy(void *value)
{
	intptr_t rounds = (intptr_t)value;

	wait_briefly();
	scene.destroyed++;
	if (rounds > 1)
		OK(pthread_setspecific(key, (void *)(rounds - 1)));
}

THREAD(set_and_end, void *argument)
{
	OK(pthread_setspecific(key, argument));
	OK(pthread_mutex_lock(&scene.mutex));
	OK(pthread_mutex_unlock(&scene.mutex));
}

THREAD(contend, void *argument UNUSED)
{
	while (!scene.stop) {
		OK(pthread_mutex_lock(&scene.mutex));
		scene.counter++;
		OK(pthread_mutex_unlock(&scene.mutex));
		usleep(10);
	}
}

static void check_destructors(intptr_t rounds, int threads)
{
	struct thread ending[10], contending[2];

	OK(pthread_key_create(&key, destroy));
	start_all(contending, 2, contend, NULL);
	for (int i = 0; i < threads; i += 10) {
		start_all(ending, 10, set_and_end, (void *)rounds);
		join_all(ending, 10);
	}
	scene.stop = true;
	join_all(contending, 2);
	CHECK_EQ(scene.destroyed, threads * rounds);
}

TEST(posix_pthread_key_create__destructors_lock_and_wait)
{
	check_destructors(1, 200);
}

TEST(posix_pthread_key_create__destructors_lock_and_wait_in_each_round)
{
	check_destructors(PTHREAD_DESTRUCTOR_ITERATIONS, 100);
}

/* ----------------------------------------------------------- many threads -- */

THREAD(wait_once, void *argument UNUSED)
{
	OK(pthread_mutex_lock(&scene.mutex));
	scene.waiting++;
	while (!scene.permits)
		OK(pthread_cond_wait(&scene.cond, &scene.mutex));
	scene.permits--;
	OK(pthread_mutex_unlock(&scene.mutex));
}

/* A lot of threads that have all waited before the first of them ends. */
static void come_and_go(const pthread_attr_t *attr)
{
	struct thread threads[20];
	int waiting;

	for (EACH(i, threads))
		start_with(&threads[i], attr, wait_once, NULL);
	do {
		usleep(50);
		OK(pthread_mutex_lock(&scene.mutex));
		waiting = scene.waiting;
		OK(pthread_mutex_unlock(&scene.mutex));
	} while (waiting != COUNT(threads));
	OK(pthread_mutex_lock(&scene.mutex));
	scene.waiting = 0;
	scene.permits = COUNT(threads);
	OK(pthread_cond_broadcast(&scene.cond));
	OK(pthread_mutex_unlock(&scene.mutex));
	JOIN_ALL(threads);
}

static void come_and_go_often(const pthread_attr_t *attr)
{
	for (int i = 0; i < 20; i++)
		come_and_go(attr);
}

/* Of 3000 threads and more, a node of 256 bytes each would be 750 KiB. */
static void check_growth(void (*begin_and_end)(void), int rounds)
{
	long before;

	for (int i = 0; i < 20; i++)
		begin_and_end();
	before = resident_kb();
	for (int i = 0; i < rounds; i++)
		begin_and_end();
	CHECK(resident_kb() - before < 400);
}

static void wait_and_go(void)
{
	come_and_go(NULL);
}

TEST(posix_pthread_create__thousands_that_wait_once_leave_no_memory)
{
	check_growth(wait_and_go, 200);
}

/* The last destructors register the thread anew; that is given back, too. */
THREAD(set_wait_and_end, void *argument)
{
	OK(pthread_setspecific(key, argument));
}

static void go_by_destructors(void)
{
	run_together(20, set_wait_and_end,
		     (void *)(intptr_t)PTHREAD_DESTRUCTOR_ITERATIONS);
}

TEST(posix_pthread_create__waiting_destructors_leave_no_memory)
{
	OK(pthread_key_create(&key, destroy));
	check_growth(go_by_destructors, 150);
}

static void unlock(void *mutex)
{
	OK(pthread_mutex_unlock(mutex));
}

THREAD(wait_to_be_cancelled, void *argument UNUSED)
{
	OK(pthread_mutex_lock(&scene.mutex));
	pthread_cleanup_push(unlock, &scene.mutex);
	scene.stage++;
	for (;;)
		OK(pthread_cond_wait(&scene.cond, &scene.mutex));
	pthread_cleanup_pop(1);
}

static void go_by_cancellation(void)
{
	struct thread threads[10];

	scene.stage = 0;
	START_ALL(threads, wait_to_be_cancelled, NULL);
	UNTIL(scene.stage == 10);
	for (EACH(i, threads))
		OK(pthread_cancel(threads[i].pthread));
	for (EACH(i, threads))
		CHECK(join(&threads[i]) == PTHREAD_CANCELED);
}

TEST(posix_pthread_cancel__thousands_leave_no_memory)
{
	check_growth(go_by_cancellation, 300);
}

THREAD(detached, void *argument UNUSED)
{
	OK(pthread_mutex_lock(&scene.mutex));
	scene.counter++;
	OK(pthread_mutex_unlock(&scene.mutex));
	scene.stage++;
}

TEST(posix_pthread_detach__threads_that_lock_and_end)
{
	pthread_t thread;

	for (int i = 0; i < 1000; i++) {
		OK(pthread_create(&thread, NULL, detached, NULL));
		OK(pthread_detach(thread));
		UNTIL(scene.stage > i - 10);
	}
	UNTIL(scene.stage == 1000);
	CHECK_EQ(scene.counter, 1000);
}

/* --------------------------------------------------------- small resources -- */

TEST(posix_pthread_attr_setstacksize__least_stack_is_enough)
{
	pthread_attr_t attr;

	OK(pthread_attr_init(&attr));
	OK(pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN));
	come_and_go_often(&attr);
	OK(pthread_attr_destroy(&attr));
}

THREAD(wait_without_end, void *argument UNUSED)
{
	while (!scene.stage)
		sleep_ms(20);
	/* First contact with a lock that another thread has. */
	OK(pthread_mutex_lock(&scene.mutex));
	scene.counter++;
	while (!scene.permits)
		OK(pthread_cond_wait(&scene.cond, &scene.mutex));
	OK(pthread_mutex_unlock(&scene.mutex));
}

THREAD(time_out, void *argument UNUSED)
{
	struct timespec at;
	int error = 0;

	while (scene.stage < 2)
		sleep_ms(20);
	at = in_ms(CLOCK_REALTIME, 100);
	OK(pthread_mutex_lock(&scene.mutex));
	while (!scene.permits && !error)
		error = pthread_cond_timedwait(&scene.cond, &scene.mutex, &at);
	/* A wait for which there is no memory also times out. */
	CHECK_ERR(error, ETIMEDOUT);
	OK(pthread_mutex_unlock(&scene.mutex));
	scene.destroyed++;
}

/* The first waiters use up what was mapped before. */
TEST(posix_rlimit_as__exhausted_when_threads_first_wait)
{
	enum { THREADS = 340, TIMED = 20 };
	static struct thread threads[THREADS + TIMED];
	struct rlimit limit = { .rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY };
	pthread_attr_t attr;

	OK(pthread_attr_init(&attr));
	OK(pthread_attr_setstacksize(&attr, 2 * PTHREAD_STACK_MIN));
	for (int i = 0; i < THREADS + TIMED; i++)
		start_with(&threads[i], &attr,
			   i < THREADS ? wait_without_end : time_out, NULL);
	for (int i = 0; i < THREADS + TIMED; i++)
		UNTIL(threads[i].tid);
	OK(pthread_mutex_lock(&scene.mutex));
	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	      MAP_FAILED);
	scene.stage = 1;
	sleep_ms(50);
	OK(pthread_mutex_unlock(&scene.mutex));
	for (int i = 0; i < THREADS;) {
		usleep(1000);
		OK(pthread_mutex_lock(&scene.mutex));
		i = scene.counter;
		OK(pthread_mutex_unlock(&scene.mutex));
	}
	scene.stage = 2;
	UNTIL(scene.destroyed == TIMED);
	OK(pthread_mutex_lock(&scene.mutex));
	scene.permits = 1;
	OK(pthread_cond_broadcast(&scene.cond));
	OK(pthread_mutex_unlock(&scene.mutex));
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_AS, &limit);
	join_all(threads, THREADS + TIMED);
}

/*
 * How many keys a program can have that has called dlsym, as the preload does:
 * before 2.34 that takes key 0.
 */
#if __GLIBC_PREREQ(2, 34)
#define FIRST_KEY 0
#else
#define FIRST_KEY 1
#endif
#define PROGRAMS_KEYS (PTHREAD_KEYS_MAX - FIRST_KEY)

/* The program has taken all keys of the process. */
TEST(posix_pthread_key_create__none_left_when_threads_wait)
{
	pthread_key_t taken;
	int count = 0;

	dlsym(RTLD_DEFAULT, "no_such_name");
	while (pthread_key_create(&taken, NULL) == 0)
		count++;
	CHECK_EQ(count, PROGRAMS_KEYS);
	come_and_go_often(NULL);
}

/* The locks need no key: the program can have them all. */
TEST(posix_pthread_key_create__all_are_left_once_threads_have_waited)
{
	pthread_key_t taken;
	int count = 0;

	dlsym(RTLD_DEFAULT, "no_such_name");
	come_and_go_often(NULL);
	while (pthread_key_create(&taken, NULL) == 0)
		count++;
	CHECK_EQ(count, PROGRAMS_KEYS);
}

THREAD(use_first_key, void *argument)
{
	wait_briefly();
	CHECK(pthread_getspecific(FIRST_KEY) == NULL);
	CHECK_ERR(pthread_setspecific(FIRST_KEY, argument), EINVAL);
	wait_briefly();
}

/* A key that was never created. A zeroed static names it, in newer glibcs. */
TEST(glibc_pthread_getspecific__first_key_is_never_created)
{
	struct thread threads[4];

	for (int i = 0; i < 4; i++)
		start(&threads[i], use_first_key, &threads[i]);
	join_all(threads, 4);
	use_first_key(&key);
}

/* Ends by the bare system call, so that no destructor runs. */
THREAD(wait_and_vanish, void *argument UNUSED)
{
	wait_briefly();
	scene.stage++;
	syscall(SYS_exit, 0);
}

static void vanish(void)
{
	run_together(20, wait_and_vanish, NULL);
}

TEST(linux_exit__threads_that_vanish_leave_no_memory)
{
	check_growth(vanish, 150);
	CHECK_EQ(scene.stage, (20 + 150) * 20);
}

RUN_TESTS()
