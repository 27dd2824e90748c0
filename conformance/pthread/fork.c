/* What a forked child may still use, and what processes started inherit. */
#include "../posix/crowd.h"

#include <spawn.h>
#include <sys/resource.h>

extern char **environ;

struct scene {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	long counter;
	int permits, turns;
	_Atomic bool stop;
};

/* Turns each thread takes in a child's work. */
#define ROUNDS 400

static struct scene global = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.cond = PTHREAD_COND_INITIALIZER,
};

THREAD(contend, struct scene *scene)
{
	while (!scene->stop) {
		OK(pthread_mutex_lock(&scene->mutex));
		scene->counter++;
		OK(pthread_mutex_unlock(&scene->mutex));
	}
}

THREAD(wait_and_pass_on, struct scene *scene)
{
	OK(pthread_mutex_lock(&scene->mutex));
	while (!scene->stop) {
		while (!scene->permits && !scene->stop)
			OK(pthread_cond_wait(&scene->cond, &scene->mutex));
		scene->permits--;
		scene->turns++;
		OK(pthread_mutex_unlock(&scene->mutex));
		OK(pthread_mutex_lock(&scene->mutex));
		scene->permits++;
		OK(pthread_cond_signal(&scene->cond));
	}
	OK(pthread_cond_broadcast(&scene->cond));
	OK(pthread_mutex_unlock(&scene->mutex));
}

THREAD(count_to, struct scene *scene)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		OK(pthread_mutex_lock(&scene->mutex));
		scene->counter++;
		if (i % 50 == 0)
			sched_yield();
		OK(pthread_mutex_unlock(&scene->mutex));
	}
}

/* The scene's mutex must be free, and its condvar without waiters of ours. */
static void use_heavily(struct scene *scene)
{
	struct thread threads[6], waiters[4];

	scene->counter = 0;
	scene->permits = 1;
	scene->turns = 0;
	scene->stop = false;
	start_all(threads, 6, count_to, scene);
	start_all(waiters, 4, wait_and_pass_on, scene);
	join_all(threads, 6);
	CHECK_EQ(scene->counter, 6 * ROUNDS);
	OK(pthread_mutex_lock(&scene->mutex));
	scene->stop = true;
	OK(pthread_cond_broadcast(&scene->cond));
	OK(pthread_mutex_unlock(&scene->mutex));
	join_all(waiters, 4);
}

/* --------------------------------------- held by the forking thread -- */

TEST(posix_fork__child_unlocks_what_the_forking_thread_held)
{
	struct thread threads[4];
	pid_t child;
	int round;

	for (round = 0; round < 6; round++) {
		global.stop = false;
		start_all(threads, 4, contend, &global);
		OK(pthread_mutex_lock(&global.mutex));
		/* With waiters asleep, spinning, and in between. */
		usleep(round * 700);
		child = fork_watched();
		if (child == 0) {
			CHECK_ERR(pthread_mutex_trylock(&global.mutex), EBUSY);
			OK(pthread_mutex_unlock(&global.mutex));
			use_heavily(&global);
			_exit(0);
		}
		OK(pthread_mutex_unlock(&global.mutex));
		REAP(child);
		global.stop = true;
		join_all(threads, 4);
	}
}

static void lock_global(void)
{
	OK(pthread_mutex_lock(&global.mutex));
}

static void unlock_global(void)
{
	OK(pthread_mutex_unlock(&global.mutex));
}

/* Every mutex of a library, taken by its atfork handlers: the usual way. */
static void check_atfork(int rounds, int depth)
{
	pid_t child;
	int round;

	for (round = 0; round < rounds; round++) {
		child = fork_watched();
		if (child == 0) {
			use_heavily(&global);
			if (depth)
				check_atfork(1, depth - 1);
			_exit(0);
		}
		REAP(child);
	}
}

static void run_with_atfork(void *(*others)(void *), int rounds, int depth)
{
	struct thread threads[5];

	OK(pthread_atfork(lock_global, unlock_global, unlock_global));
	global.permits = 1;
	start_all(threads, 5, others, &global);
	usleep(2000);
	check_atfork(rounds, depth);
	OK(pthread_mutex_lock(&global.mutex));
	global.stop = true;
	OK(pthread_cond_broadcast(&global.cond));
	OK(pthread_mutex_unlock(&global.mutex));
	join_all(threads, 5);
}

TEST(posix_pthread_atfork__mutex_contended_in_parent_works_in_child)
{
	run_with_atfork(contend, 10, 0);
}

TEST(posix_pthread_atfork__mutex_works_in_grandchildren)
{
	run_with_atfork(contend, 2, 3);
}

TEST_FURWOCK_ONLY(furwock_fork__condvar_waited_on_in_the_parent_works_in_child,
		  "glibc's condvar counts the parent's waiters in the child too")
{
	run_with_atfork(wait_and_pass_on, 8, 1);
}

/* Threads of the parent are asleep on the condvar; they don't exist here. */
TEST_FURWOCK_ONLY(furwock_fork__signals_in_the_child_wake_only_its_own,
		  "glibc's condvar counts the parent's waiters in the child too")
{
	struct thread threads[3];
	pid_t child;
	int i;

	start_all(threads, 3, wait_and_pass_on, &global);
	for (i = 0; i < 3; i++)
		until_asleep(&threads[i]);
	OK(pthread_mutex_lock(&global.mutex));
	child = fork_watched();
	if (child == 0) {
		OK(pthread_cond_signal(&global.cond));
		OK(pthread_cond_broadcast(&global.cond));
		OK(pthread_mutex_unlock(&global.mutex));
		use_heavily(&global);
		_exit(0);
	}
	OK(pthread_mutex_unlock(&global.mutex));
	REAP(child);
	OK(pthread_mutex_lock(&global.mutex));
	global.stop = true;
	OK(pthread_cond_broadcast(&global.cond));
	OK(pthread_mutex_unlock(&global.mutex));
	join_all(threads, 3);
}

/* The child's only thread has an id of its own. */
TEST(glibc_fork__owner_in_the_child_is_the_child)
{
	static pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	pid_t child;

	OK(pthread_mutex_lock(&checked));
	OK(pthread_mutex_unlock(&checked));
	child = fork_watched();
	if (child == 0) {
		OK(pthread_mutex_lock(&checked));
		CHECK_EQ(checked.__data.__owner, gettid());
		CHECK_ERR(pthread_mutex_lock(&checked), EDEADLK);
		OK(pthread_mutex_unlock(&checked));
		_exit(0);
	}
	REAP(child);
}

/* The holder has another id in the child, so that glibc refuses: as it may. */
TEST(glibc_fork__eperm_for_checked_mutexes_locked_by_the_parent)
{
	static const enum kind checked[] = { ERRORCHECK, RECURSIVE };
	pthread_mutex_t mutex;
	pid_t child;
	int i;

	for (i = 0; i < 2; i++) {
		OK(make_mutex(&mutex, checked[i]));
		OK(pthread_mutex_lock(&mutex));
		child = fork_watched();
		if (child == 0) {
			CHECK_ERR(pthread_mutex_unlock(&mutex), EPERM);
			CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
			/* The way out that programs take. */
			OK(make_mutex(&mutex, checked[i]));
			OK(pthread_mutex_lock(&mutex));
			OK(pthread_mutex_unlock(&mutex));
			_exit(0);
		}
		REAP(child);
		OK(pthread_mutex_unlock(&mutex));
	}
}

/* A child whose parent was in the midst of everything, again and again. */
THREAD(come_and_go, struct scene *scene)
{
	struct thread thread;

	while (!scene->stop) {
		start(&thread, count_to, scene);
		join(&thread);
	}
}

THREAD(fork_often, void *argument UNUSED)
{
	struct scene own = {
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.cond = PTHREAD_COND_INITIALIZER,
	};
	pid_t child;
	int i;

	for (i = 0; i < 10; i++) {
		child = fork_watched();
		if (child == 0) {
			use_heavily(&own);
			_exit(0);
		}
		REAP(child);
	}
}

TEST(posix_fork__from_several_threads_while_others_come_and_go)
{
	struct thread threads[3], forking[2];
	int i;

	for (i = 0; i < 3; i++)
		start(&threads[i], i < 2 ? come_and_go : contend, &global);
	start_all(forking, 2, fork_often, NULL);
	join_all(forking, 2);
	global.stop = true;
	join_all(threads, 3);
}

/* Threads that wait for the first time, and end: what each has is set up. */
THREAD(wait_once, struct scene *scene)
{
	struct timespec at = in_ms(CLOCK_MONOTONIC, 0);

	OK(pthread_mutex_lock(&scene->mutex));
	pthread_cond_clockwait(&scene->cond, &scene->mutex, CLOCK_MONOTONIC,
			       &at);
	OK(pthread_mutex_unlock(&scene->mutex));
}

THREAD(keep_waiting_once, void *argument UNUSED)
{
	struct scene own = {
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.cond = PTHREAD_COND_INITIALIZER,
	};
	struct thread thread;

	while (!global.stop) {
		start(&thread, wait_once, &own);
		join(&thread);
	}
}

TEST(posix_fork__as_threads_wait_for_the_first_time)
{
	struct thread threads[4];
	pid_t child;
	int i;

	start_all(threads, 4, keep_waiting_once, NULL);
	for (i = 0; i < 400; i++) {
		child = fork_watched();
		if (child == 0) {
			alarm(bound_s(5));
			start(&threads[0], wait_once, &global);
			join(&threads[0]);
			_exit(0);
		}
		REAP(child);
	}
	global.stop = true;
	join_all(threads, 4);
}

/*
 * A condvar that processes share lies in memory that the child keeps sharing.
 * Another thread of the parent may be inside a signal of it at the fork.
 */
THREAD(signal_shared, struct scene *scene)
{
	while (!scene->stop)
		OK(pthread_cond_signal(&scene->cond));
}

TEST(posix_fork__shared_condvar_in_use_by_the_parent_works_in_child)
{
	struct scene *scene = shared_memory(sizeof(*scene));
	struct thread threads[2];
	pid_t child;
	int i;

	OK(make_mutex(&scene->mutex, PSHARED));
	make_cond(&scene->cond, CLOCK_REALTIME, true);
	start_all(threads, 2, signal_shared, scene);
	for (i = 0; i < 150; i++) {
		child = fork_watched();
		if (child == 0) {
			alarm(bound_s(5));
			OK(pthread_cond_signal(&scene->cond));
			OK(pthread_cond_broadcast(&scene->cond));
			_exit(0);
		}
		REAP(child);
	}
	scene->stop = true;
	join_all(threads, 2);
}

/* -------------------------------------------------------- other programs -- */

TEST(child_of_exec)
{
	Dl_info info;

	CHECK(dladdr(dlsym(RTLD_DEFAULT, "pthread_mutex_lock"), &info));
	CHECK(!strstr(info.dli_fname, "furwock") == !under_furwock());
	use_heavily(&global);
}

static char *self_arguments[] = { "fork", "child_of_exec", NULL };

THREAD(start_programs, void *argument UNUSED)
{
	char line[64] = "";
	int i, status;
	pid_t child;
	FILE *pipe;

	for (i = 0; i < 2; i++) {
		CHECK_EQ(system("exit 7"), 7 << 8);

		pipe = popen("echo popped", "r");
		CHECK(pipe && fgets(line, sizeof(line), pipe));
		CHECK(!strcmp(line, "popped\n"));
		CHECK_EQ(pclose(pipe), 0);

		OK(posix_spawn(&child, "/proc/self/exe", NULL, NULL,
			       self_arguments, environ));
		REAP(child);

		child = vfork();
		if (child == 0) {
			execv("/bin/true", (char *[]){ "true", NULL });
			_exit(127);
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);

		child = fork_watched();
		if (child == 0) {
			execv("/proc/self/exe", self_arguments);
			_exit(127);
		}
		REAP(child);
	}
}

TEST(posix_exec__programs_started_by_threads_that_contend)
{
	struct thread threads[3], starters[2];

	start_all(threads, 3, contend, &global);
	start_all(starters, 2, start_programs, NULL);
	join_all(starters, 2);
	global.stop = true;
	join_all(threads, 3);
}

RUN_TESTS()
