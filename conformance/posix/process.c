/* XSH, fork, pthread_atfork, exec, posix_spawn and exit, where locks are used. */
#include "children.h"
#include "clause.h"
#include "crowd.h"
#include "enough.h"
#include "handlers.h"
#include "semaphore.h"

#include <spawn.h>

/* Everything that a process may have as it forks. */
struct locks {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	pthread_barrier_t barrier;
	pthread_spinlock_t spin;
	sem_t sem;
	int permits;
	_Atomic bool stop;
	_Atomic long turns;
};

/* Each clause runs in a process of its own, with these. */
static struct locks all;

static void make_locks(struct locks *locks)
{
	OK(pthread_mutex_init(&locks->mutex, NULL));
	OK(pthread_cond_init(&locks->cond, NULL));
	OK(pthread_rwlock_init(&locks->rwlock, NULL));
	OK(pthread_barrier_init(&locks->barrier, NULL, 2));
	OK(pthread_spin_init(&locks->spin, 0));
	SEM_INIT(&locks->sem, 0);
}

THREAD(wait_for_cond, struct locks *locks)
{
	OK(pthread_mutex_lock(&locks->mutex));
	while (!locks->permits)
		OK(pthread_cond_wait(&locks->cond, &locks->mutex));
	locks->permits--;
	OK(pthread_mutex_unlock(&locks->mutex));
}

THREAD(wait_for_sem, struct locks *locks)
{
	CHECK_EQ(sem_wait(&locks->sem), 0);
}

THREAD(wait_at_barrier, struct locks *locks)
{
	meet_at(&locks->barrier);
}

THREAD(wait_to_write, struct locks *locks)
{
	OK(pthread_rwlock_wrlock(&locks->rwlock));
	OK(pthread_rwlock_unlock(&locks->rwlock));
}

/* A thread waits for each, and sleeps by now if it is to. */
static void start_all_waits(struct locks *locks, bool asleep)
{
	static void *(*const waits[])(void *) = {
		wait_for_cond, wait_for_sem, wait_at_barrier, wait_to_write,
	};
	static struct thread threads[COUNT(waits)];

	OK(pthread_rwlock_rdlock(&locks->rwlock));
	for (EACH(i, waits))
		start(&threads[i], waits[i], locks);
	if (asleep)
		ALL_ASLEEP(threads);
}

static void permit(struct locks *locks)
{
	OK(pthread_mutex_lock(&locks->mutex));
	locks->permits = 1;
	OK(pthread_cond_signal(&locks->cond));
	OK(pthread_mutex_unlock(&locks->mutex));
}

/* All of them work, with threads that sleep and are woken. */
static void check_locks(struct locks *locks)
{
	struct thread thread;

	for (int i = 0; i < 3; i++) {
		start_asleep(&thread, wait_for_cond, locks);
		permit(locks);
		join(&thread);
		start_asleep(&thread, wait_for_sem, locks);
		POST(&locks->sem);
		join(&thread);
		check_free(&locks->sem, 0);
		start_asleep(&thread, wait_at_barrier, locks);
		wait_at_barrier(locks);
		join(&thread);
		OK(pthread_rwlock_rdlock(&locks->rwlock));
		start_asleep(&thread, wait_to_write, locks);
		OK(pthread_rwlock_unlock(&locks->rwlock));
		join(&thread);
		OK(pthread_spin_trylock(&locks->spin));
		OK(pthread_spin_unlock(&locks->spin));
	}
}

/* A clause of all of them, which are made before the check and work after it. */
#define LOCKS_CLAUSE(test, says) \
	CLAUSE_WITHIN(make_locks(&all), check_locks(&all), test, says)

/* ----------------------------------------------------------------- fork -- */

LOCKS_CLAUSE(fork__desc_2__child_has_its_own_of_all,
	     "the child is a copy: its mutexes, condvars, rwlocks, barriers, spin locks and "
	     "semaphores work, apart from the parent's")
{
	pid_t child;

	check_locks(&all);
	child = fork_watched();
	check_locks(&all);
	if (child == 0)
		_exit(0);
	REAP(child);
}

CLAUSE(fork__desc_2__semaphores_value_is_copied,
       "a private semaphore has its value in the child, and changes there only")
{
	sem_t sem;

	SEM_INIT(&sem, 3);
	IN_A_CHILD {
		check_free(&sem, 3);
		for (int i = 0; i < 3; i++)
			CHECK_EQ(take(&sem, i, LONG_MS), 0);
		CHECK_ERRNO(take(&sem, TIMEDWAIT, 1), ETIMEDOUT);
	}
	/* The child's doings are its own. */
	check_free(&sem, 3);
}

CLAUSE(fork__desc_2__waiters_stay_in_the_parent,
       "the child has the thread that forked only: nobody waits in its copy of a semaphore")
{
	struct waiter waiters[CALLS], own;
	sem_t sem;

	SEM_INIT(&sem, 0);
	for (int i = 0; i < CALLS; i++)
		wait_elsewhere(&waiters[i], &sem, i);
	IN_A_CHILD {
		check_free(&sem, 0);
		POST(&sem);
		check_free(&sem, 1);
		CHECK_EQ(sem_wait(&sem), 0);
		for (int i = 0; i < CALLS; i++) {
			wait_elsewhere(&own, &sem, i);
			POST(&sem);
			check_ended(&own, 0);
		}
		check_free(&sem, 0);
		DESTROY(&sem);
		SEM_INIT(&sem, 2);
		check_free(&sem, 2);
	}
	for (int i = 0; i < CALLS; i++)
		CHECK(!waiters[i].done);
	for (int i = 0; i < CALLS; i++)
		POST(&sem);
	CHECK_ALL_ENDED(waiters);
	check_free(&sem, 0);
}

/* One had arrived: two more complete the round in either process. */
CLAUSE(fork__desc_2__barriers_arrivals_are_copied,
       "a barrier that threads have arrived at has counted them in the child too")
{
	struct thread threads[2];
	pid_t child;

	make_locks(&all);
	OK(pthread_barrier_destroy(&all.barrier));
	OK(pthread_barrier_init(&all.barrier, NULL, 3));
	start(&threads[0], wait_at_barrier, &all);
	until_asleep(&threads[0]);
	child = fork_watched();
	start(&threads[1], wait_at_barrier, &all);
	wait_at_barrier(&all);
	join(&threads[1]);
	if (child == 0)
		_exit(0);
	join(&threads[0]);
	REAP(child);
	OK(pthread_barrier_destroy(&all.barrier));
}

LOCKS_CLAUSE(fork__desc_2__child_unlocks_what_the_thread_held,
	     "what the thread that forked has locked, its copy in the child unlocks")
{
	struct thread waiter;
	pid_t child;

	OK(pthread_mutex_lock(&all.mutex));
	OK(pthread_rwlock_rdlock(&all.rwlock));
	OK(pthread_spin_lock(&all.spin));
	start_asleep(&waiter, wait_to_write, &all);
	child = fork_watched();
	CHECK_ERR(pthread_mutex_trylock(&all.mutex), EBUSY);
	CHECK_ERR(pthread_spin_trylock(&all.spin), EBUSY);
	if (child != 0)
		REAP(child);
	OK(pthread_mutex_unlock(&all.mutex));
	OK(pthread_spin_unlock(&all.spin));
	OK(pthread_mutex_trylock(&all.mutex));
	OK(pthread_mutex_unlock(&all.mutex));
	if (child == 0)
		_exit(0);
	OK(pthread_rwlock_unlock(&all.rwlock));
	join(&waiter);
}

CLAUSE(fork__desc_2__named_semaphores_stay_open,
       "named semaphores that are open are so in the child")
{
	char name[64];
	sem_t *sem;
	pid_t child;

	snprintf(name, sizeof(name), "/furwock-conformance-fork-%d", getpid());
	sem = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
	CHECK(sem != SEM_FAILED);
	CHECK_EQ(sem_unlink(name), 0);
	IN_CHILD(child) {
		POST(sem);
		/* This exit closes the child's only. */
		exit(0);
	}
	CHECK_EQ(sem_wait(sem), 0);
	REAP(child);
	check_free(sem, 0);
	CHECK_EQ(sem_close(sem), 0);
}

/* A thread that keeps all of the locks in use. */
THREAD(keep_busy, struct locks *locks)
{
	while (!locks->stop) {
		OK(pthread_mutex_lock(&locks->mutex));
		OK(pthread_cond_signal(&locks->cond));
		OK(pthread_mutex_unlock(&locks->mutex));
		POST(&locks->sem);
		CHECK_EQ(sem_wait(&locks->sem), 0);
		OK(pthread_rwlock_rdlock(&locks->rwlock));
		OK(pthread_rwlock_unlock(&locks->rwlock));
		OK(pthread_spin_lock(&locks->spin));
		OK(pthread_spin_unlock(&locks->spin));
		locks->turns++;
	}
}

/* The child may call what is async-signal-safe: sem_post, and no other lock's. */
LOCKS_CLAUSE(fork__desc_3__threads_child_posts,
	     "the child of a process with threads may call what is async-signal-safe: sem_post, "
	     "whatever the others do at the fork")
{
	sem_t *shared = shared_memory(sizeof(*shared));
	struct thread threads[3];
	pid_t child;

	SEM_INIT_SHARED(shared, 0);
	START_ALL(threads, keep_busy, &all);
	for (int i = 0; i < 40 && !enough(); i++) {
		IN_CHILD(child) {
			POST(&all.sem);
			POST(shared);
		}
		while (take(shared, i % CALLS, LONG_MS))
			CHECK_EQ(errno, EINTR);
		REAP(child);
	}
	all.stop = true;
	JOIN_ALL(threads);
	check_free(shared, 0);
}

static sem_t *posted_by_child;
static _Atomic pid_t forked_by_handler;

static void fork_and_post(int signal UNUSED)
{
	int saved = errno;
	pid_t child = _Fork();

	if (child == 0)
		_exit(sem_post(posted_by_child) ? 1 : 0);
	forked_by_handler = child;
	errno = saved;
}

/* Since 2024 _Fork is what a handler may call. */
LOCKS_CLAUSE(fork__desc_4__handler_forks_and_the_child_posts,
	     "_Fork (of 2024) in a handler: its child may post, in whichever call the handler came")
{
	struct thread thread;

	posted_by_child = shared_memory(sizeof(*posted_by_child));
	SEM_INIT_SHARED(posted_by_child, 0);
	handle_by(SIGUSR1, fork_and_post, SA_RESTART);
	start(&thread, keep_busy, &all);
	UNTIL(all.turns > 10);
	for (int i = 0; i < 40 && !enough(); i++) {
		forked_by_handler = 0;
		OK(pthread_kill(thread.pthread, SIGUSR1));
		UNTIL(forked_by_handler);
		CHECK(forked_by_handler > 0);
		CHECK_EQ(take(posted_by_child, TIMEDWAIT, LONG_MS), 0);
		REAP(forked_by_handler);
	}
	all.stop = true;
	join(&thread);
}

/* Every thread is in the midst of the same semaphore's wakes as it forks. */
THREAD(pass_on, struct locks *locks)
{
	while (!locks->stop) {
		CHECK_EQ(sem_wait(&locks->sem), 0);
		locks->turns++;
		POST(&locks->sem);
	}
}

static void fork_and_post_private(pid_t (*fork_so)(void))
{
	struct thread threads[4];
	pid_t child;

	make_locks(&all);
	POST(&all.sem);
	START_ALL(threads, pass_on, &all);
	UNTIL(all.turns > 100);
	for (int i = 0; i < 150 && !enough(); i++) {
		child = fork_so();
		CHECK(child >= 0);
		if (child == 0) {
			/* It dies of this if it hangs. */
			signal(SIGALRM, SIG_DFL);
			alarm(bound_s(5));
			POST(&all.sem);
			POST(&all.sem);
			_exit(0);
		}
		REAP(child);
	}
	all.stop = true;
	for (int i = 0; i < 4; i++)
		POST(&all.sem);
	JOIN_ALL(threads);
}

CLAUSE_BY(fork_and_post_private(fork), fork__desc_3__child_posts_to_what_others_wait_for,
	  "the same for a private semaphore that threads of the parent are about to wait for, or "
	  "be woken from")

/* No handlers run at a _Fork: what a post needs must be in the child. */
CLAUSE_BY(fork_and_post_private(_Fork), fork__desc_4__child_posts_to_what_others_wait_for,
	  "the same in the child of a _Fork (of 2024), at which no handlers of pthread_atfork are "
	  "called")

/* ------------------------------------------------------- pthread_atfork -- */

static char trail[64];

#define LEAVES(name, letter)						\
	static void name(void)						\
	{								\
		CHECK(strlen(trail) + 1 < sizeof(trail));		\
		trail[strlen(trail)] = letter;				\
	}

LEAVES(prepare_a, 'a')
LEAVES(prepare_b, 'b')
LEAVES(prepare_c, 'c')
LEAVES(parent_a, '1')
LEAVES(parent_b, '2')
LEAVES(child_a, '4')
LEAVES(child_b, '5')
LEAVES(child_c, '6')

CLAUSE(pthread_atfork__desc_3__order,
       "prepare handlers are called last first, the others first first; NULL is none")
{
	pid_t child;

	OK(pthread_atfork(prepare_a, parent_a, child_a));
	OK(pthread_atfork(prepare_b, parent_b, child_b));
	OK(pthread_atfork(prepare_c, NULL, child_c));
	OK(pthread_atfork(NULL, NULL, NULL));
	child = fork_watched();
	CHECK(!strcmp(trail, child ? "cba12" : "cba456"));
	if (child == 0)
		_exit(0);
	REAP(child);
}

static _Atomic pid_t prepared_by;

static void prepare_locks(void)
{
	prepared_by = gettid();
	OK(pthread_rwlock_wrlock(&all.rwlock));
	OK(pthread_mutex_lock(&all.mutex));
	CHECK_EQ(sem_wait(&all.sem), 0);
	OK(pthread_spin_lock(&all.spin));
}

static void release_locks(void)
{
	OK(pthread_spin_unlock(&all.spin));
	POST(&all.sem);
	OK(pthread_mutex_unlock(&all.mutex));
}

static void release_in_parent(void)
{
	CHECK_EQ(prepared_by, gettid());
	release_locks();
	OK(pthread_rwlock_unlock(&all.rwlock));
}

/* A writer's lock isn't glibc's child's to unlock: it is made anew. */
static void release_in_child(void)
{
	release_locks();
	OK(pthread_rwlock_init(&all.rwlock, NULL));
}

THREAD(keep_busy_one_by_one, struct locks *locks)
{
	while (!locks->stop) {
		OK(pthread_rwlock_wrlock(&locks->rwlock));
		OK(pthread_rwlock_unlock(&locks->rwlock));
		OK(pthread_mutex_lock(&locks->mutex));
		OK(pthread_mutex_unlock(&locks->mutex));
		CHECK_EQ(sem_wait(&locks->sem), 0);
		POST(&locks->sem);
		OK(pthread_spin_lock(&locks->spin));
		OK(pthread_spin_unlock(&locks->spin));
		locks->turns++;
	}
}

LOCKS_CLAUSE(pthread_atfork__desc_1__locks_taken_before_and_released_after,
	     "handlers that take locks before the fork, and release them after it in parent and "
	     "child, keep others out of it")
{
	struct thread threads[3];

	POST(&all.sem);
	OK(pthread_atfork(prepare_locks, release_in_parent, release_in_child));
	START_ALL(threads, keep_busy_one_by_one, &all);
	for (int i = 0; i < 8; i++) {
		IN_A_CHILD {
			CHECK_EQ(sem_wait(&all.sem), 0);
			check_locks(&all);
		}
	}
	all.stop = true;
	JOIN_ALL(threads);
	CHECK_EQ(sem_wait(&all.sem), 0);
}

CLAUSE(pthread_atfork__desc_1__not_for_the_other_calls,
       "the handlers are fork's: _Fork, and in glibc posix_spawn, vfork and system, don't call "
       "them")
{
	char *argv[] = { "true", NULL };
	pid_t child;

	OK(pthread_atfork(prepare_a, parent_a, child_a));
	child = _Fork();
	CHECK(child >= 0);
	if (child == 0)
		_exit(trail[0] != '\0');
	REAP(child);
	OK(posix_spawnp(&child, "true", NULL, NULL, argv, environ));
	REAP(child);
	child = vfork();
	if (child == 0)
		_exit(0);
	REAP(child);
	CHECK_EQ(system("true"), 0);
	CHECK(!strcmp(trail, ""));
}

CLAUSE(pthread_atfork__ret__zero, "0 on success")
{
	CHECK_EQ(pthread_atfork(NULL, NULL, NULL), 0);
	CHECK_EQ(pthread_atfork(prepare_a, NULL, NULL), 0);
}

/* ----------------------------------------------------------------- exec -- */

/* Runs a test of this program in the process's place. */
static void become(const char *test)
{
	char *argv[] = { "again", (char *)test, NULL };

	execv("/proc/self/exe", argv);
	FAIL("exec: %s", strerror(errno));
}

LOCKS_CLAUSE(exec__desc_1__locks_begin_anew, "the new image begins with locks of its own")
{
	/* What is to be seen is that they work. */
}

CLAUSE(exec__desc_1__ends_threads_that_wait, "threads of the old image are gone, in whatever wait")
{
	static struct locks others;
	struct thread busy;

	for (int i = 0; i < 5; i++) {
		IN_A_CHILD {
			make_locks(&all);
			start_all_waits(&all, i % 2);
			make_locks(&others);
			start(&busy, keep_busy_one_by_one, &others);
			if (i == 4) {
				OK(pthread_mutex_lock(&all.mutex));
				OK(pthread_spin_lock(&all.spin));
			}
			become("exec__desc_1__locks_begin_anew");
		}
	}
}

THREAD(become_another, void *argument UNUSED)
{
	become("exec__desc_1__locks_begin_anew");
}

LOCKS_CLAUSE(exec__desc_1__by_another_thread_than_the_first,
	     "any thread may call it, though the first one waits")
{
	struct thread thread;

	IN_A_CHILD {
		start(&thread, become_another, NULL);
		/* The first one waits for what never comes. */
		CHECK_EQ(sem_wait(&all.sem), 0);
		FAIL("woken");
	}
}

CLAUSE(exec__desc_2__shared_memory_outlives_it,
       "semaphores in memory that both images map are the same")
{
	const char *inherited = getenv("CONFORMANCE_FD");
	int fd = inherited ? atoi(inherited) : memfd_create("sems", 0);
	char number[16];
	sem_t *sems;
	pid_t child;

	CHECK(fd >= 0);
	if (!inherited)
		CHECK_EQ(ftruncate(fd, 2 * sizeof(*sems)), 0);
	sems = mmap(NULL, 2 * sizeof(*sems), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(sems != MAP_FAILED);
	if (inherited) {
		CHECK_EQ(sem_wait(&sems[0]), 0);
		POST(&sems[1]);
		return;
	}
	SEM_INIT_SHARED(&sems[0], 0);
	SEM_INIT_SHARED(&sems[1], 0);
	IN_CHILD(child) {
		snprintf(number, sizeof(number), "%d", fd);
		setenv("CONFORMANCE_FD", number, 1);
		become("exec__desc_2__shared_memory_outlives_it");
	}
	POST(&sems[0]);
	CHECK_EQ(sem_wait(&sems[1]), 0);
	REAP(child);
	check_free(&sems[0], 0);
	check_free(&sems[1], 0);
}

/* ---------------------------------------------------- posix_spawn, vfork -- */

static bool vforks;

THREAD(spawn_often, struct locks *locks)
{
	char *argv[] = { "true", NULL };
	pid_t child;

	for (int i = 0; i < 10; i++) {
		/* Held by this thread, and so it stays. */
		OK(pthread_mutex_lock(&locks->mutex));
		if (!vforks) {
			OK(posix_spawnp(&child, "true", NULL, NULL, argv, environ));
		} else {
			child = vfork();
			if (child == 0) {
				execvp("true", argv);
				_exit(127);
			}
			CHECK(child > 0);
		}
		OK(pthread_mutex_unlock(&locks->mutex));
		REAP(child);
	}
}

static void spawn_beside_others(bool by_vfork)
{
	struct thread busy[2];

	make_locks(&all);
	vforks = by_vfork;
	START_ALL(busy, keep_busy, &all);
	UNTIL(all.turns > 0);
	run_together(2, spawn_often, &all);
	all.stop = true;
	JOIN_ALL(busy);
	check_locks(&all);
}

CLAUSE_BY(spawn_beside_others(false), posix_spawn__desc_1__beside_threads_that_contend,
	  "it disturbs no locks of the process, also with a mutex held")

CLAUSE_BY(spawn_beside_others(true), vfork__desc_1__beside_threads_that_contend,
	  "it disturbs no locks of the process, also with a mutex held")

LOCKS_CLAUSE(posix_spawn__desc_1__programs_locks_begin_anew,
	     "the new program begins with locks of its own")
{
	char *argv[] = { "again", "exec__desc_1__locks_begin_anew", NULL };
	pid_t child;

	OK(pthread_mutex_lock(&all.mutex));
	OK(pthread_rwlock_wrlock(&all.rwlock));
	OK(posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ));
	REAP(child);
	CHECK_ERR(pthread_mutex_trylock(&all.mutex), EBUSY);
	OK(pthread_mutex_unlock(&all.mutex));
	OK(pthread_rwlock_unlock(&all.rwlock));
}

/* ------------------------------------------------------------------ exit -- */

static void use_at_exit(void)
{
	/* The others still wait. */
	POST(&all.sem);
	OK(pthread_mutex_lock(&all.mutex));
	OK(pthread_cond_broadcast(&all.cond));
	OK(pthread_mutex_unlock(&all.mutex));
	_exit(42);
}

static void check_exits_with_42(pid_t child)
{
	int status;

	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 42);
}

CLAUSE(exit__desc_1__while_threads_wait,
       "threads that wait keep no process from its exit, and handlers of atexit can use locks")
{
	pid_t child;

	for (int how = 0; how < 3; how++) {
		IN_CHILD(child) {
			make_locks(&all);
			start_all_waits(&all, true);
			if (how == 0)
				_exit(42);
			if (how == 1)
				CHECK_EQ(atexit(use_at_exit), 0);
			exit(42);
		}
		check_exits_with_42(child);
	}
}

THREAD(wait_and_exit, struct locks *locks)
{
	wait_for_sem(locks);
	wait_for_cond(locks);
	exit(42);
}

THREAD(post_and_permit, struct locks *locks)
{
	sleep_ms(5);
	POST(&locks->sem);
	permit(locks);
}

CLAUSE(pthread_exit__desc_4__of_the_first_thread,
       "when the first thread ends, the others' locks work on")
{
	static struct thread threads[2];
	pid_t child;

	IN_CHILD(child) {
		make_locks(&all);
		start(&threads[0], wait_and_exit, &all);
		start(&threads[1], post_and_permit, &all);
		pthread_exit(NULL);
	}
	check_exits_with_42(child);
}

THREAD(lock_and_exit, struct locks *locks)
{
	OK(pthread_mutex_lock(&locks->mutex));
	OK(pthread_rwlock_wrlock(&locks->rwlock));
	CHECK_EQ(sem_wait(&locks->sem), 0);
	OK(pthread_spin_lock(&locks->spin));
	pthread_exit(NULL);
}

CLAUSE(pthread_exit__desc_2__releases_no_locks, "a thread that ends releases nothing")
{
	struct thread thread;

	make_locks(&all);
	POST(&all.sem);
	start(&thread, lock_and_exit, &all);
	join(&thread);
	CHECK_ERR(pthread_mutex_trylock(&all.mutex), EBUSY);
	CHECK_ERR(pthread_rwlock_tryrdlock(&all.rwlock), EBUSY);
	CHECK_ERRNO(sem_trywait(&all.sem), EAGAIN);
	CHECK_ERR(pthread_spin_trylock(&all.spin), EBUSY);
}
