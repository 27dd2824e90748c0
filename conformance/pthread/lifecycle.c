/* Threads and processes that begin, change and end amid locks. */
#include "../posix/children.h"
#include "objects.h"

static struct objects global;
static _Atomic bool stop;
static _Atomic int contending;

/* Contends for the mutex and the rwlock until told to stop. */
THREAD(contend, struct objects *objects)
{
	contending++;
	while (!stop) {
		OK(pthread_mutex_lock(&objects->mutex));
		objects->counter++;
		OK(pthread_mutex_unlock(&objects->mutex));
		OK(pthread_rwlock_rdlock(&objects->rwlock));
		OK(pthread_rwlock_unlock(&objects->rwlock));
	}
}

THREAD(contend_for_mutex, struct objects *objects)
{
	contending++;
	while (!stop) {
		OK(pthread_mutex_lock(&objects->mutex));
		objects->counter++;
		OK(pthread_mutex_unlock(&objects->mutex));
	}
}

/* ------------------------------------------------ threads that begin -- */

/* The first locks of the process are made by several threads at once. */
TEST(posix_pthread_create__first_locks_are_threads)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct thread threads[6];

	global.mutex = mutex;
	OK(pthread_rwlock_init(&global.rwlock, NULL));
	start_all(threads, 6, contend, &global);
	UNTIL(contending == 6);
	usleep(20000);
	stop = true;
	join_all(threads, 6);
	stop = false;
	use_all_anew(&global);
}

/* -------------------------------------------------- threads that end -- */

/* Is cancelled at any instruction of code for which POSIX allows that. */
THREAD(compute, struct objects *objects)
{
	volatile long number = 1;
	int old;

	OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
	for (;;) {
		OK(pthread_mutex_lock(&objects->mutex));
		objects->counter++;
		OK(pthread_mutex_unlock(&objects->mutex));
		OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
		OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
		for (int i = 0; i < 2000; i++)
			number = number * 3 + 1;
		OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
		OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
	}
}

TEST(posix_pthread_setcanceltype__asynchronously_between_locks)
{
	struct thread threads[4];

	set_up(&global);
	for (int round = 0; round < 25; round++) {
		start_all(threads, 4, compute, &global);
		usleep(round * 30);
		for (int i = 0; i < 4; i++)
			OK(pthread_cancel(threads[i].pthread));
		join_all(threads, 4);
		OK(pthread_mutex_trylock(&global.mutex));
		OK(pthread_mutex_unlock(&global.mutex));
	}
	use_all_anew(&global);
}

/* --------------------------------------------------------- children -- */

static void begin_daemon(void)
{
	pid_t child = fork_watched();

	/* As daemons do: the parent ends, the child leads a session. */
	if (child)
		_exit(0);
	CHECK(setsid() == getpid());
}

static void check_daemon(void (*begin)(void), bool contended)
{
	_Atomic bool *done = shared_memory(sizeof(*done));
	struct thread threads[2];

	use_all_anew(&global);
	for (int i = 0; contended && i < 2; i++)
		start(&threads[i], contend_for_mutex, &global);
	/* Held at the fork, and given back by the daemon. */
	OK(pthread_mutex_lock(&global.mutex));
	OK(pthread_rwlock_rdlock(&global.rwlock));
	UNTIL(contending == (contended ? 2 : 0));
	IN_A_CHILD {
		begin();
		OK(pthread_rwlock_unlock(&global.rwlock));
		OK(pthread_mutex_unlock(&global.mutex));
		use_all_on(&global);
		use_all_anew(&global);
		*done = true;
	}
	OK(pthread_rwlock_unlock(&global.rwlock));
	OK(pthread_mutex_unlock(&global.mutex));
	stop = true;
	for (int i = 0; contended && i < 2; i++)
		join(&threads[i]);
	/* No process waits for the grandchild, which came to its end. */
	UNTIL(*done);
}

TEST(posix_setsid__daemon_goes_on_with_what_its_parent_locked)
{
	check_daemon(begin_daemon, false);
}

TEST(posix_setsid__daemon_of_a_parent_whose_threads_contended)
{
	check_daemon(begin_daemon, true);
}

static void begin_by_libc(void)
{
	CHECK_EQ(daemon(1, 1), 0);
	arm_watchdog(WATCHDOG_S * 3 / 4);
}

TEST(glibc_daemon__goes_on_with_what_its_parent_locked)
{
	check_daemon(begin_by_libc, true);
}

/* ----------------------------------------------------- credentials -- */

THREAD(wait_for_semaphore, struct objects *objects)
{
	OK(sem_wait(&objects->semaphore));
}

THREAD(wait_for_mutex, struct objects *objects)
{
	OK(pthread_mutex_lock(&objects->mutex));
	OK(pthread_mutex_unlock(&objects->mutex));
}

THREAD(wait_for_turn, struct objects *objects)
{
	OK(pthread_rwlock_rdlock(&objects->rwlock));
	OK(pthread_rwlock_unlock(&objects->rwlock));
	OK(pthread_mutex_lock(&objects->mutex));
	while (!objects->turn)
		OK(pthread_cond_wait(&objects->cond, &objects->mutex));
	OK(pthread_mutex_unlock(&objects->mutex));
}

THREAD(wait_at_barrier, struct objects *objects)
{
	pthread_barrier_wait(&objects->barrier);
}

/* glibc has every thread change its own, by a signal that no program sees. */
TEST(glibc_setresuid__while_threads_wait)
{
	static void *(*const waits[])(void *) = {
		wait_for_semaphore, wait_for_mutex, wait_for_turn,
		wait_at_barrier,
	};
	struct thread threads[4];

	set_up(&global);
	OK(pthread_mutex_lock(&global.mutex));
	OK(pthread_rwlock_wrlock(&global.rwlock));
	for (EACH(i, waits))
		start_asleep(&threads[i], waits[i], &global);
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(setresuid(getuid(), geteuid(), -1), 0);
		CHECK_EQ(setresgid(getgid(), getegid(), -1), 0);
	}
	ALL_ASLEEP(threads);
	global.turn = 1;
	OK(pthread_rwlock_unlock(&global.rwlock));
	OK(pthread_mutex_unlock(&global.mutex));
	OK(sem_post(&global.semaphore));
	pthread_barrier_wait(&global.barrier);
	join_all(threads, 4);
}

TEST(glibc_setresuid__while_threads_contend)
{
	struct thread threads[4];

	set_up(&global);
	START_ALL(threads, contend, &global);
	UNTIL(contending == 4);
	for (int i = 0; i < 50; i++)
		CHECK_EQ(setresuid(getuid(), geteuid(), -1), 0);
	stop = true;
	join_all(threads, 4);
	stop = false;
	use_all_anew(&global);
}

/* ----------------------------------------------------- processes' ends -- */

/* The exit status of a process that has come to the end it was meant to. */
#define ENDED_WELL 7

static void use_all_at_the_end(void)
{
	use_all_anew(&global);
	_exit(ENDED_WELL);
}

static void check_ending(void (*end)(void))
{
	static struct objects busy;
	struct thread threads[3];
	pid_t child;
	int ended;

	IN_CHILD(child) {
		set_up(&busy);
		START_ALL(threads, contend, &busy);
		UNTIL(contending == 3);
		usleep(2000);
		end();
	}
	CHECK_EQ(waitpid(child, &ended, 0), child);
	CHECK(WIFEXITED(ended));
	CHECK_EQ(WEXITSTATUS(ended), ENDED_WELL);
}

static void end_by_exit(void)
{
	CHECK_EQ(atexit(use_all_at_the_end), 0);
	exit(0);
}

TEST(posix_atexit__handlers_use_all_while_threads_contend)
{
	check_ending(end_by_exit);
}

static void end_quickly(void)
{
	CHECK_EQ(at_quick_exit(use_all_at_the_end), 0);
	quick_exit(0);
}

TEST(c11_quick_exit__handlers_use_all_while_threads_contend)
{
	check_ending(end_quickly);
}

static bool at_the_end;

static __attribute__((destructor)) void destroy(void)
{
	if (at_the_end)
		use_all_at_the_end();
}

static void end_by_destructor(void)
{
	at_the_end = true;
	exit(0);
}

TEST(glibc_exit__destructors_use_all_while_threads_contend)
{
	check_ending(end_by_destructor);
}

static void *end_the_process(void *argument)
{
	struct objects *objects = argument;

	OK(pthread_mutex_lock(&objects->mutex));
	_exit(ENDED_WELL);
}

static void end_by_a_thread(void)
{
	struct thread thread;

	set_up(&global);
	OK(pthread_mutex_lock(&global.mutex));
	start_asleep(&thread, end_the_process, &global);
	OK(pthread_mutex_unlock(&global.mutex));
	join(&thread);
}

TEST(posix_exit__by_a_thread_that_holds_a_mutex)
{
	check_ending(end_by_a_thread);
}

/* Without another thread, since the process would end again with that. */
static void lock_at_the_end(void)
{
	OK(pthread_mutex_lock(&global.mutex));
	OK(pthread_mutex_unlock(&global.mutex));
	_exit(ENDED_WELL);
}

/* The process goes on, and ends with its last thread. */
THREAD(end_last, void *argument UNUSED)
{
	usleep(2000);
	use_all_anew(&global);
	CHECK_EQ(atexit(lock_at_the_end), 0);
	stop = true;
}

static void end_main_alone(void)
{
	struct thread thread;

	start(&thread, end_last, NULL);
	pthread_exit(NULL);
}

TEST(posix_pthread_exit__of_main_while_threads_contend)
{
	check_ending(end_main_alone);
}

RUN_TESTS()
