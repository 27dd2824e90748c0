/* What a forked child may still use, and what processes started inherit. */
#include "../posix/children.h"
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
	for (int i = 0; i < ROUNDS; i++) {
		OK(pthread_mutex_lock(&scene->mutex));
		scene->counter++;
		if (i % 50 == 0)
			sched_yield();
		OK(pthread_mutex_unlock(&scene->mutex));
	}
}

static void end(struct scene *scene)
{
	OK(pthread_mutex_lock(&scene->mutex));
	scene->stop = true;
	OK(pthread_cond_broadcast(&scene->cond));
	OK(pthread_mutex_unlock(&scene->mutex));
}

/* The scene's mutex must be free, and its condvar without waiters of ours. */
static void use_heavily(struct scene *scene)
{
	struct thread threads[6], waiters[4];

	scene->counter = 0;
	scene->permits = 1;
	scene->turns = 0;
	scene->stop = false;
	START_ALL(threads, count_to, scene);
	START_ALL(waiters, wait_and_pass_on, scene);
	JOIN_ALL(threads);
	CHECK_EQ(scene->counter, 6 * ROUNDS);
	end(scene);
	JOIN_ALL(waiters);
}

/* --------------------------------------- held by the forking thread -- */

TEST(posix_fork__child_unlocks_what_the_forking_thread_held)
{
	struct thread threads[4];
	pid_t child;

	for (int round = 0; round < 6; round++) {
		global.stop = false;
		START_ALL(threads, contend, &global);
		OK(pthread_mutex_lock(&global.mutex));
		/* Waiters are asleep, spin, or are about to sleep. */
		usleep(round * 700);
		IN_CHILD(child) {
			CHECK_ERR(pthread_mutex_trylock(&global.mutex), EBUSY);
			OK(pthread_mutex_unlock(&global.mutex));
			use_heavily(&global);
		}
		OK(pthread_mutex_unlock(&global.mutex));
		REAP(child);
		global.stop = true;
		JOIN_ALL(threads);
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
	for (int round = 0; round < rounds; round++) {
		IN_A_CHILD {
			use_heavily(&global);
			if (depth)
				check_atfork(1, depth - 1);
		}
	}
}

static void run_with_atfork(void *(*others)(void *), int rounds, int depth)
{
	struct thread threads[5];

	OK(pthread_atfork(lock_global, unlock_global, unlock_global));
	global.permits = 1;
	START_ALL(threads, others, &global);
	usleep(2000);
	check_atfork(rounds, depth);
	end(&global);
	JOIN_ALL(threads);
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

	START_ALL(threads, wait_and_pass_on, &global);
	ALL_ASLEEP(threads);
	OK(pthread_mutex_lock(&global.mutex));
	IN_CHILD(child) {
		OK(pthread_cond_signal(&global.cond));
		OK(pthread_cond_broadcast(&global.cond));
		OK(pthread_mutex_unlock(&global.mutex));
		use_heavily(&global);
	}
	OK(pthread_mutex_unlock(&global.mutex));
	REAP(child);
	end(&global);
	JOIN_ALL(threads);
}

/* The child's only thread has an id of its own. */
TEST(glibc_fork__owner_in_the_child_is_the_child)
{
	static pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

	OK(pthread_mutex_lock(&checked));
	OK(pthread_mutex_unlock(&checked));
	IN_A_CHILD {
		OK(pthread_mutex_lock(&checked));
		CHECK_EQ(checked.__data.__owner, gettid());
		CHECK_ERR(pthread_mutex_lock(&checked), EDEADLK);
		OK(pthread_mutex_unlock(&checked));
	}
}

/* The owner has another id in the child, so that glibc refuses, as it may. */
TEST(glibc_fork__eperm_for_checked_mutexes_locked_by_the_parent)
{
	static const enum kind checked[] = { ERRORCHECK, RECURSIVE };
	pthread_mutex_t mutex;

	for (int i = 0; i < 2; i++) {
		OK(make_mutex(&mutex, checked[i]));
		OK(pthread_mutex_lock(&mutex));
		IN_A_CHILD {
			CHECK_ERR(pthread_mutex_unlock(&mutex), EPERM);
			CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
			/* Programs make them anew. */
			OK(make_mutex(&mutex, checked[i]));
			OK(pthread_mutex_lock(&mutex));
			OK(pthread_mutex_unlock(&mutex));
		}
		OK(pthread_mutex_unlock(&mutex));
	}
}

/*
 * The parent's other threads start and end threads while children are forked.
 */
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

	for (int i = 0; i < 10; i++) {
		IN_A_CHILD
			use_heavily(&own);
	}
}

TEST(posix_fork__from_several_threads_while_others_come_and_go)
{
	struct thread threads[3], forking[2];

	for (int i = 0; i < 3; i++)
		start(&threads[i], i < 2 ? come_and_go : contend, &global);
	START_ALL(forking, fork_often, NULL);
	JOIN_ALL(forking);
	global.stop = true;
	JOIN_ALL(threads);
}

/*
 * Threads that wait for the first time, and end: their nodes are set up then.
 */
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

	START_ALL(threads, keep_waiting_once, NULL);
	for (int i = 0; i < 400; i++) {
		IN_A_CHILD {
			alarm(bound_s(5));
			start(&threads[0], wait_once, &global);
			join(&threads[0]);
		}
	}
	global.stop = true;
	JOIN_ALL(threads);
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

	OK(make_mutex(&scene->mutex, PSHARED));
	make_cond(&scene->cond, CLOCK_REALTIME, true);
	START_ALL(threads, signal_shared, scene);
	for (int i = 0; i < 150; i++) {
		IN_A_CHILD {
			alarm(bound_s(5));
			OK(pthread_cond_signal(&scene->cond));
			OK(pthread_cond_broadcast(&scene->cond));
		}
	}
	scene->stop = true;
	JOIN_ALL(threads);
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
	pid_t child;
	FILE *pipe;

	for (int i = 0; i < 2; i++) {
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
		REAP(child);

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

	START_ALL(threads, contend, &global);
	START_ALL(starters, start_programs, NULL);
	JOIN_ALL(starters);
	global.stop = true;
	JOIN_ALL(threads);
}

RUN_TESTS()
