/*
 * Children of a process with busy threads. Some only post and exit, some have
 * threads of their own and use what was held for them across the fork, and some
 * become another program.
 */
#include "stress.h"

#include <spawn.h>

enum {
	FORKERS = 1,
	CONTENDERS = 2,
	CHILD_THREADS = 4,
	CHILD_ROUNDS = 50,
};

extern char **environ;

static _Atomic long children;

/* ------------------------------------------------------- across the fork -- */

/* Contended here, held by the forking thread, contended again in the child. */
static pthread_mutex_t across_fork = PTHREAD_MUTEX_INITIALIZER;
/* The same, by handlers of pthread_atfork. */
static pthread_mutex_t by_handlers = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock_by_handlers = PTHREAD_RWLOCK_INITIALIZER;
static int guarded[2];

static void before_fork(void)
{
	OK(pthread_mutex_lock(&by_handlers));
	OK(pthread_rwlock_wrlock(&rwlock_by_handlers));
}

static void after_fork(void)
{
	CHECK_EQ(guarded[0], guarded[1]);
	OK(pthread_rwlock_unlock(&rwlock_by_handlers));
	OK(pthread_mutex_unlock(&by_handlers));
}

/* glibc's rwlock counts readers in before it has let them in: the parent's stay. */
static void in_child(void)
{
	CHECK_EQ(guarded[0], guarded[1]);
	OK(pthread_rwlock_init(&rwlock_by_handlers, NULL));
	OK(pthread_mutex_unlock(&by_handlers));
}

static void use_guarded(void)
{
	OK(pthread_mutex_lock(&by_handlers));
	guarded[0]++;
	sched_yield();
	guarded[1]++;
	OK(pthread_mutex_unlock(&by_handlers));
	OK(pthread_rwlock_rdlock(&rwlock_by_handlers));
	sched_yield();
	OK(pthread_rwlock_unlock(&rwlock_by_handlers));
}

ACTOR(contend_for_fork, "contender", void *argument UNUSED)
{
	while (!stop) {
		does(actor, "locks for fork", 0);
		OK(pthread_mutex_lock(&across_fork));
		dawdle(actor);
		OK(pthread_mutex_unlock(&across_fork));
		does(actor, "locks what handlers lock", 0);
		use_guarded();
		got_on(actor);
		dawdle(actor);
	}
}

/* --------------------------------------------------------------- children -- */

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	sem_t semaphore;
	pthread_barrier_t barrier;
	pthread_once_t once;
	int permits, calls;
	long counter;
} child_work = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.cond = PTHREAD_COND_INITIALIZER,
	.once = PTHREAD_ONCE_INIT,
	.permits = 1,
};

/* Many threads of the parent wait for it when it forks. */
static sem_t parents;

static void called_in_child(void)
{
	child_work.calls++;
}

static void work(void)
{
	OK(pthread_mutex_lock(&across_fork));
	child_work.counter++;
	OK(pthread_mutex_unlock(&across_fork));
	OK(pthread_mutex_lock(&child_work.mutex));
	while (!child_work.permits)
		OK(pthread_cond_wait(&child_work.cond, &child_work.mutex));
	child_work.permits--;
	OK(pthread_mutex_unlock(&child_work.mutex));
	OK(pthread_mutex_lock(&child_work.mutex));
	child_work.permits++;
	OK(pthread_cond_signal(&child_work.cond));
	OK(pthread_mutex_unlock(&child_work.mutex));
	while (sem_wait(&child_work.semaphore))
		CHECK_EQ(errno, EINTR);
	CHECK_EQ(sem_post(&child_work.semaphore), 0);
	OK(pthread_once(&child_work.once, called_in_child));
	use_guarded();
}

THREAD(work_in_child, void *argument UNUSED)
{
	for (int i = 0; i < CHILD_ROUNDS; i++)
		work();
	pthread_barrier_wait(&child_work.barrier);
	/* It is posted once for each of these threads. */
	while (sem_wait(&parents))
		CHECK_EQ(errno, EINTR);
}

static void __attribute__((noreturn)) be_a_family(void)
{
	struct thread threads[CHILD_THREADS];
	int value;

	CHECK_EQ(sem_init(&child_work.semaphore, 0, 1), 0);
	OK(pthread_barrier_init(&child_work.barrier, NULL, CHILD_THREADS));
	CHECK_EQ(sem_getvalue(&parents, &value), 0);
	while (value-- > 0)
		CHECK_EQ(sem_trywait(&parents), 0);
	start_all(threads, CHILD_THREADS, work_in_child, NULL);
	for (int i = 0; i < CHILD_THREADS; i++)
		CHECK_EQ(sem_post(&parents), 0);
	join_all(threads, CHILD_THREADS);
	CHECK_EQ(child_work.counter, CHILD_THREADS * CHILD_ROUNDS);
	CHECK_EQ(child_work.calls, 1);
	CHECK_EQ(sem_getvalue(&parents, &value), 0);
	CHECK_EQ(value, 0);
	_exit(0);
}

/* It calls only what may be called between fork and exec. */
static void __attribute__((noreturn)) post_and_exit(void)
{
	for (int i = 0; i < 10; i++)
		if (sem_post(&parents))
			_exit(1);
	_exit(0);
}

static void __attribute__((noreturn)) have_a_child(void)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		arm_watchdog(STUCK_S - 2);
		be_a_family();
	}
	REAP(child);
	_exit(0);
}

static const char *const nothing[] = { "/bin/true", NULL };

static void __attribute__((noreturn)) become_another(void)
{
	execve(nothing[0], (char **)nothing, environ);
	_exit(127);
}

static pid_t fork_child(uint32_t choice)
{
	pid_t child;

	OK(pthread_mutex_lock(&across_fork));
	child = fork();
	CHECK(child >= 0);
	if (child == 0)
		arm_watchdog(STUCK_S - 1);
	OK(pthread_mutex_unlock(&across_fork));
	if (child)
		return child;
	switch (choice) {
	case 0:
		post_and_exit();
	case 1:
		become_another();
	case 2:
		have_a_child();
	default:
		be_a_family();
	}
}

static pid_t vfork_child(void)
{
	pid_t child = vfork();

	CHECK(child >= 0);
	if (child == 0) {
		execve(nothing[0], (char **)nothing, environ);
		_exit(127);
	}
	return child;
}

ACTOR(keep_forking, "forker", void *argument UNUSED)
{
	uint32_t choice;
	pid_t child;

	while (!stop) {
		choice = next_random(&actor->random) % 8;
		does(actor, "has a child of kind", choice);
		if (choice == 6)
			child = vfork_child();
		else if (choice == 7)
			CHECK_EQ(posix_spawn(&child, nothing[0], NULL, NULL,
					     (char **)nothing, environ), 0);
		else
			child = fork_child(choice);
		does(actor, "waits for a child of kind", choice);
		REAP(child);
		children++;
		got_on(actor);
		usleep(next_random(&actor->random) % 20000);
	}
}

/* ------------------------------------------------------------- waiters -- */

ACTOR(wait_while_they_fork, "fork waiter", void *argument UNUSED)
{
	block_storm();
	while (!stop) {
		does(actor, "waits for the posts of", 0);
		while (sem_wait(&parents))
			CHECK_EQ(errno, EINTR);
		got_on(actor);
	}
}

ACTOR(post_while_they_fork, "fork poster", void *argument UNUSED)
{
	while (!stop) {
		CHECK_EQ(sem_post(&parents), 0);
		got_on(actor);
		usleep(next_random(&actor->random) % 1000);
	}
}

static void begin(int strength)
{
	CHECK_EQ(sem_init(&parents, 0, 0), 0);
	OK(pthread_atfork(before_fork, after_fork, in_child));
	for (int i = 0; i < FORKERS * strength; i++)
		enlist(keep_forking, NULL);
	for (int i = 0; i < CONTENDERS; i++) {
		enlist(contend_for_fork, NULL);
		enlist(wait_while_they_fork, NULL);
	}
	enlist(post_while_they_fork, NULL);
}

static void finish(void)
{
	for (int i = 0; i < CONTENDERS; i++)
		CHECK_EQ(sem_post(&parents), 0);
}

static void check(void)
{
	CHECK_EQ(guarded[0], guarded[1]);
	OK(pthread_mutex_destroy(&by_handlers));
	OK(pthread_mutex_destroy(&across_fork));
}

static void report(void)
{
	printf("forked: %ld children\n", children);
}

const struct subject forks_subject = {
	.name = "fork",
	.is_storm = true,
	.begin = begin,
	.finish = finish,
	.check = check,
	.report = report,
};
