/*
 * What furwock.h promises of versions, initialisers, semaphores, barriers, PI
 * and robust locks, and of words that processes share.
 */
#include "harness.h"

#include <furwock.h>
#include <stdatomic.h>

#define FOREVER ((const furwock_deadline *)NULL)

static furwock_deadline past(void)
{
	return (furwock_deadline){ .clock = CLOCK_MONOTONIC };
}

static furwock_deadline malformed(void)
{
	return (furwock_deadline){ .at = { .tv_nsec = -1 } };
}

static furwock_deadline soon(void)
{
	return furwock_after_ns(2 * NS_PER_MS);
}

/* A time of day, which is converted for no call. */
static furwock_deadline soon_by_date(void)
{
	return (furwock_deadline){ .clock = CLOCK_REALTIME,
				   .at = in_ms(CLOCK_REALTIME, 2) };
}

/* One call by a thread of its own, which ends without undoing it. */
struct call {
	struct thread thread;
	int (*function)(void *);
	void *object;
	int result;
};

static void *make_call(void *argument)
{
	struct call *call = argument;

	call->result = call->function(call->object);
	return NULL;
}

static int by_a_thread_that_ends(int (*function)(void *), void *object)
{
	struct call call = { .function = function, .object = object };

	start(&call.thread, make_call, &call);
	join(&call.thread);
	return call.result;
}

/* A call's function, for an object of any type. */
#define CALL_OF(name, type, function)					\
	static int name(void *object)					\
	{								\
		return function((type *)object);			\
	}

/* ------------------------------------------------------------- version -- */

TEST(version__is_the_headers)
{
	char text[32];

	CHECK_EQ(furwock_version(), FURWOCK_VERSION);
	CHECK(!strcmp(furwock_version_string(), FURWOCK_VERSION_STRING));
	snprintf(text, sizeof(text), "%d.%d.%d", FURWOCK_VERSION_MAJOR,
		 FURWOCK_VERSION_MINOR, FURWOCK_VERSION_PATCH);
	CHECK(!strncmp(text, FURWOCK_VERSION_STRING, strlen(text)));
}

/* -------------------------------------------------------- initialisers -- */

#define CHECK_INIT(type, initialiser, ...)				\
	do {								\
		static const type constant = initialiser;		\
		static type object;					\
									\
		memset(&object, 0xa5, sizeof(object));			\
		OK(type##_init(&object __VA_ARGS__));			\
		CHECK(!memcmp(&object, &constant, sizeof(object)));	\
		CHECK_ERR(type##_init(NULL __VA_ARGS__), EINVAL);	\
		CHECK_ERR(type##_init((type *)((char *)&object + 1)	\
				      __VA_ARGS__), EINVAL);		\
	} while (0)

TEST(init__does_what_the_initialiser_does)
{
	CHECK_INIT(furwock_mutex, FURWOCK_MUTEX_INIT);
	CHECK_INIT(furwock_condvar, FURWOCK_CONDVAR_INIT);
	CHECK_INIT(furwock_rwlock, FURWOCK_RWLOCK_INIT, ,
		   FURWOCK_RWLOCK_PHASE_FAIR);
	CHECK_INIT(furwock_rwlock, FURWOCK_RWLOCK_PREFER_WRITERS_INIT, ,
		   FURWOCK_RWLOCK_PREFER_WRITERS);
	CHECK_INIT(furwock_semaphore, FURWOCK_SEMAPHORE_INIT(7), , 7);
	CHECK_INIT(furwock_barrier, FURWOCK_BARRIER_INIT(3), , 3);
	CHECK_INIT(furwock_pi_mutex, FURWOCK_PI_MUTEX_INIT, , false);
	CHECK_INIT(furwock_pi_mutex, FURWOCK_PI_MUTEX_SHARED_INIT, , true);
	CHECK_INIT(furwock_pi_condvar, FURWOCK_PI_CONDVAR_INIT);
	CHECK_INIT(furwock_robust_mutex, FURWOCK_ROBUST_MUTEX_INIT);
	CHECK_INIT(furwock_robust_rwlock, FURWOCK_ROBUST_RWLOCK_INIT);
}

/* ---------------------------------------------------------- semaphores -- */

static furwock_semaphore semaphore = FURWOCK_SEMAPHORE_INIT(2);

CALL_OF(acquire, furwock_semaphore, furwock_semaphore_acquire)

TEST(semaphore__counts)
{
	furwock_deadline at = past(), near = soon(), date = soon_by_date();

	CHECK_EQ(furwock_semaphore_available(&semaphore), 2);
	OK(furwock_semaphore_acquire(&semaphore));
	OK(furwock_semaphore_acquire_until(&semaphore, &at));
	CHECK_ERR(furwock_semaphore_tryacquire(&semaphore), EAGAIN);
	CHECK_ERR(furwock_semaphore_acquire_until(&semaphore, &at), ETIMEDOUT);
	CHECK_ERR(furwock_semaphore_acquire_until(&semaphore, &near), ETIMEDOUT);
	CHECK_ERR(furwock_semaphore_acquire_until(&semaphore, &date), ETIMEDOUT);
	OK(furwock_semaphore_release(&semaphore));
	OK(furwock_semaphore_acquire_until(&semaphore, FOREVER));
	OK(furwock_semaphore_release_many(&semaphore, 3));
	CHECK_EQ(furwock_semaphore_available(&semaphore), 3);
	OK(furwock_semaphore_tryacquire(&semaphore));
	OK(furwock_semaphore_release_many(&semaphore, 0));
	CHECK_EQ(furwock_semaphore_available(&semaphore), 2);
}

TEST(semaphore__release_many_wakes_as_many)
{
	struct call calls[3];

	OK(furwock_semaphore_init(&semaphore, 0));
	for (EACH(i, calls)) {
		calls[i] = (struct call){ .function = acquire,
					  .object = &semaphore,
					  .result = -1 };
		start_asleep(&calls[i].thread, make_call, &calls[i]);
	}
	CHECK_EQ(furwock_semaphore_available(&semaphore), 0);
	OK(furwock_semaphore_release_many(&semaphore, 2));
	OK(furwock_semaphore_release(&semaphore));
	for (EACH(i, calls)) {
		join(&calls[i].thread);
		OK(calls[i].result);
	}
	CHECK_EQ(furwock_semaphore_available(&semaphore), 0);
}

TEST(semaphore__what_is_malformed_is_refused)
{
	furwock_deadline bad = malformed();

	CHECK_ERR(furwock_semaphore_init(&semaphore, FURWOCK_SEMAPHORE_MOST + 1u),
		  EINVAL);
	OK(furwock_semaphore_init(&semaphore, FURWOCK_SEMAPHORE_MOST));
	CHECK_ERR(furwock_semaphore_release(&semaphore), EOVERFLOW);
	CHECK_EQ(furwock_semaphore_available(&semaphore), FURWOCK_SEMAPHORE_MOST);
	CHECK_ERR(furwock_semaphore_acquire_until(&semaphore, &bad), EINVAL);
	CHECK_ERR(furwock_semaphore_acquire(NULL), EINVAL);
	CHECK_ERR(furwock_semaphore_tryacquire((void *)4), EINVAL);
	CHECK_ERR(furwock_semaphore_acquire_until(NULL, FOREVER), EINVAL);
	CHECK_ERR(furwock_semaphore_release(NULL), EINVAL);
	CHECK_ERR(furwock_semaphore_release_many(NULL, 1), EINVAL);
	CHECK_EQ(furwock_semaphore_available(NULL), 0);
	OK(furwock_semaphore_name(&semaphore, "permits"));
	OK(furwock_semaphore_name(&semaphore, NULL));
	CHECK_ERR(furwock_semaphore_name(NULL, "permits"), EINVAL);
}

/* ------------------------------------------------------------ barriers -- */

enum { ROUND_THREADS = 3, ROUNDS = 300 };

static furwock_barrier barrier = FURWOCK_BARRIER_INIT(ROUND_THREADS);
static _Atomic int arrived, last_ones;

static void *go_round(void *unused)
{
	int round;

	for (round = 1; round <= ROUNDS; round++) {
		bool last;

		arrived++;
		OK(furwock_barrier_wait(&barrier, &last));
		last_ones += last;
		CHECK(arrived >= round * ROUND_THREADS);
	}
	return unused;
}

TEST(barrier__opens_once_all_have_arrived)
{
	struct thread threads[ROUND_THREADS];

	start_all(threads, ROUND_THREADS, go_round, NULL);
	join_all(threads, ROUND_THREADS);
	CHECK_EQ(last_ones, ROUNDS);
	OK(furwock_barrier_init(&barrier, 1));
	OK(furwock_barrier_wait(&barrier, NULL));
}

TEST(barrier__what_is_malformed_is_einval)
{
	furwock_barrier zero = { 0, 0, 0 };

	CHECK_ERR(furwock_barrier_init(&barrier, 0), EINVAL);
	CHECK_ERR(furwock_barrier_wait(&zero, NULL), EINVAL);
	CHECK_ERR(furwock_barrier_wait(NULL, NULL), EINVAL);
	CHECK_ERR(furwock_barrier_wait((void *)((char *)&barrier + 4), NULL),
		  EINVAL);
	OK(furwock_barrier_name(&barrier, "start"));
	OK(furwock_barrier_name(&barrier, NULL));
}

/* ------------------------------------------------------------- PI locks -- */

static furwock_pi_mutex pi = FURWOCK_PI_MUTEX_INIT;
static furwock_pi_condvar pi_changed = FURWOCK_PI_CONDVAR_INIT;

CALL_OF(pi_lock, furwock_pi_mutex, furwock_pi_mutex_lock)
CALL_OF(pi_trylock, furwock_pi_mutex, furwock_pi_mutex_trylock)
CALL_OF(pi_unlock, furwock_pi_mutex, furwock_pi_mutex_unlock)

static int pi_lock_soon(void *mutex)
{
	furwock_deadline near = soon_by_date();

	return furwock_pi_mutex_lock_until(mutex, &near);
}

TEST(pi_mutex__is_held_by_one)
{
	furwock_deadline at = past(), bad = malformed();

	CHECK(!furwock_pi_mutex_is_locked(&pi));
	OK(furwock_pi_mutex_lock(&pi));
	CHECK(furwock_pi_mutex_is_locked(&pi));
	CHECK_EQ(furwock_pi_mutex_owner(&pi), gettid());
	CHECK_ERR(furwock_pi_mutex_lock(&pi), EDEADLK);
	CHECK_ERR(by_a_thread_that_ends(pi_trylock, &pi), EBUSY);
	CHECK_ERR(by_a_thread_that_ends(pi_lock_soon, &pi), ETIMEDOUT);
	CHECK_ERR(by_a_thread_that_ends(pi_unlock, &pi), EPERM);
	OK(furwock_pi_mutex_unlock(&pi));
	CHECK_ERR(furwock_pi_mutex_unlock(&pi), EPERM);
	CHECK_EQ(furwock_pi_mutex_owner(&pi), 0);
	OK(furwock_pi_mutex_trylock(&pi));
	OK(furwock_pi_mutex_unlock(&pi));
	OK(furwock_pi_mutex_lock_until(&pi, &at));
	OK(furwock_pi_mutex_unlock(&pi));
	OK(furwock_pi_mutex_lock_until(&pi, FOREVER));
	OK(furwock_pi_mutex_unlock(&pi));
	CHECK_ERR(furwock_pi_mutex_lock_until(&pi, &bad), EINVAL);
	CHECK_ERR(furwock_pi_mutex_lock(NULL), EINVAL);
	CHECK_ERR(furwock_pi_mutex_trylock((void *)2), EINVAL);
	CHECK_ERR(furwock_pi_mutex_unlock(NULL), EINVAL);
	CHECK_EQ(furwock_pi_mutex_owner(NULL), 0);
	CHECK(!furwock_pi_mutex_is_locked(NULL));
	OK(furwock_pi_mutex_name(&pi, "urgent"));
	OK(furwock_pi_mutex_name(&pi, NULL));
}

/* Its owner ends, and the kernel hands it to the thread that waits. */
static void *hold_until_awaited(void *thread)
{
	OK(furwock_pi_mutex_lock(&pi));
	until_asleep(thread);
	return NULL;
}

TEST(pi_mutex__a_waiter_learns_of_the_owners_death)
{
	struct call waiter = { .function = pi_lock, .object = &pi };
	struct thread owner;

	start(&owner, hold_until_awaited, &waiter.thread);
	UNTIL(furwock_pi_mutex_is_locked(&pi));
	start(&waiter.thread, make_call, &waiter);
	join(&waiter.thread);
	CHECK_ERR(waiter.result, EOWNERDEAD);
	join(&owner);
	/* The waiter has ended, too, while no thread waited. */
	CHECK_ERR(furwock_pi_mutex_trylock(&pi), EBUSY);
	CHECK_ERR(furwock_pi_mutex_lock(&pi), ENOTRECOVERABLE);
}

static int turn;

static void *take_turns(void *unused)
{
	int i;

	OK(furwock_pi_mutex_lock(&pi));
	for (i = 0; i < 200; i++) {
		while (turn % 2 == 0)
			OK(furwock_pi_condvar_wait(&pi_changed, &pi));
		turn++;
		OK(furwock_pi_condvar_broadcast(&pi_changed));
	}
	OK(furwock_pi_mutex_unlock(&pi));
	return unused;
}

TEST(pi_condvar__signals_are_not_lost)
{
	struct thread other;
	int i;

	start(&other, take_turns, NULL);
	OK(furwock_pi_mutex_lock(&pi));
	for (i = 0; i < 200; i++) {
		turn++;
		OK(furwock_pi_condvar_signal(&pi_changed));
		while (turn % 2 == 1)
			OK(furwock_pi_condvar_wait(&pi_changed, &pi));
	}
	OK(furwock_pi_mutex_unlock(&pi));
	join(&other);
	CHECK_EQ(turn, 400);
}

static void *wait_until_stopped(void *unused)
{
	OK(furwock_pi_mutex_lock(&pi));
	while (turn == 0)
		OK(furwock_pi_condvar_wait(&pi_changed, &pi));
	OK(furwock_pi_mutex_unlock(&pi));
	return unused;
}

TEST(pi_condvar__errors_leave_the_mutex_as_it_was)
{
	furwock_pi_mutex second = FURWOCK_PI_MUTEX_INIT;
	furwock_deadline near = soon(), date = soon_by_date(), bad = malformed();
	struct thread other;

	CHECK_ERR(furwock_pi_condvar_wait(&pi_changed, &pi), EPERM);
	CHECK_ERR(furwock_pi_condvar_signal(NULL), EINVAL);
	CHECK_ERR(furwock_pi_condvar_broadcast(NULL), EINVAL);
	OK(furwock_pi_condvar_broadcast(&pi_changed));
	OK(furwock_pi_mutex_lock(&pi));
	CHECK_ERR(furwock_pi_condvar_wait_until(&pi_changed, &pi, &near),
		  ETIMEDOUT);
	CHECK_ERR(furwock_pi_condvar_wait_until(&pi_changed, &pi, &date),
		  ETIMEDOUT);
	CHECK_ERR(furwock_pi_condvar_wait_until(&pi_changed, &pi, &bad), EINVAL);
	CHECK_ERR(furwock_pi_condvar_wait(NULL, &pi), EINVAL);
	CHECK_ERR(furwock_pi_condvar_wait(&pi_changed, NULL), EINVAL);
	CHECK_EQ(furwock_pi_mutex_owner(&pi), gettid());
	OK(furwock_pi_mutex_unlock(&pi));

	start_asleep(&other, wait_until_stopped, NULL);
	OK(furwock_pi_mutex_lock(&second));
	CHECK_ERR(furwock_pi_condvar_wait(&pi_changed, &second), EINVAL);
	CHECK_EQ(furwock_pi_mutex_owner(&second), gettid());
	OK(furwock_pi_mutex_unlock(&second));
	OK(furwock_pi_mutex_lock(&pi));
	turn = 1;
	OK(furwock_pi_condvar_signal(&pi_changed));
	OK(furwock_pi_mutex_unlock(&pi));
	join(&other);
}

/* In a mapping that a child has, too. */
TEST(pi_locks__processes_share_them)
{
	struct {
		furwock_pi_mutex mutex;
		furwock_pi_condvar changed;
		int turn;
	} *shared = shared_memory(sizeof(*shared));
	pid_t child;

	OK(furwock_pi_mutex_init(&shared->mutex, true));
	OK(furwock_pi_condvar_init(&shared->changed));
	child = fork_watched();
	OK(furwock_pi_mutex_lock(&shared->mutex));
	if (child == 0) {
		while (shared->turn == 0)
			OK(furwock_pi_condvar_wait(&shared->changed,
						   &shared->mutex));
		shared->turn = 2;
	} else {
		shared->turn = 1;
	}
	OK(furwock_pi_condvar_signal(&shared->changed));
	while (child != 0 && shared->turn == 1)
		OK(furwock_pi_condvar_wait(&shared->changed, &shared->mutex));
	OK(furwock_pi_mutex_unlock(&shared->mutex));
	if (child == 0)
		_exit(0);
	REAP(child);
	CHECK_EQ(shared->turn, 2);
}

/* --------------------------------------------------------- robust locks -- */

static furwock_robust_mutex robust = FURWOCK_ROBUST_MUTEX_INIT;
static furwock_robust_rwlock rwlock = FURWOCK_ROBUST_RWLOCK_INIT;

CALL_OF(lock, furwock_robust_mutex, furwock_robust_mutex_lock)
CALL_OF(trylock, furwock_robust_mutex, furwock_robust_mutex_trylock)
CALL_OF(unlock, furwock_robust_mutex, furwock_robust_mutex_unlock)
CALL_OF(rdlock, furwock_robust_rwlock, furwock_robust_rwlock_rdlock)
CALL_OF(tryrdlock, furwock_robust_rwlock, furwock_robust_rwlock_tryrdlock)
CALL_OF(rdunlock, furwock_robust_rwlock, furwock_robust_rwlock_rdunlock)
CALL_OF(wrlock, furwock_robust_rwlock, furwock_robust_rwlock_wrlock)
CALL_OF(trywrlock, furwock_robust_rwlock, furwock_robust_rwlock_trywrlock)
CALL_OF(wrunlock, furwock_robust_rwlock, furwock_robust_rwlock_wrunlock)

static int lock_soon(void *mutex)
{
	furwock_deadline near = soon();

	return furwock_robust_mutex_lock_until(mutex, &near);
}

static int rdlock_soon(void *object)
{
	furwock_deadline near = soon();

	return furwock_robust_rwlock_rdlock_until(object, &near);
}

static int wrlock_soon(void *object)
{
	furwock_deadline near = soon();

	return furwock_robust_rwlock_wrlock_until(object, &near);
}

/* musl registers no list of them. */
static void skip_without_robust_locks(void)
{
	if (furwock_robust_mutex_trylock(&robust) == ENOTSUP) {
		CHECK_ERR(furwock_robust_mutex_lock(&robust), ENOTSUP);
		CHECK_ERR(furwock_robust_rwlock_rdlock(&rwlock), ENOTSUP);
		CHECK_ERR(furwock_robust_rwlock_wrlock(&rwlock), ENOTSUP);
		SKIP("the C library has no robust list to share");
	}
	OK(furwock_robust_mutex_unlock(&robust));
}

TEST(robust_mutex__is_held_by_one)
{
	furwock_deadline at = past(), bad = malformed();

	skip_without_robust_locks();
	OK(furwock_robust_mutex_lock(&robust));
	CHECK_EQ(furwock_robust_mutex_owner(&robust), gettid());
	CHECK(furwock_robust_mutex_is_locked(&robust));
	CHECK_ERR(by_a_thread_that_ends(trylock, &robust), EBUSY);
	CHECK_ERR(by_a_thread_that_ends(lock_soon, &robust), ETIMEDOUT);
	CHECK_ERR(by_a_thread_that_ends(unlock, &robust), EPERM);
	CHECK_ERR(furwock_robust_mutex_consistent(&robust), EINVAL);
	OK(furwock_robust_mutex_unlock(&robust));
	CHECK_ERR(furwock_robust_mutex_unlock(&robust), EPERM);
	CHECK(!furwock_robust_mutex_is_locked(&robust));
	OK(furwock_robust_mutex_lock_until(&robust, &at));
	OK(furwock_robust_mutex_unlock(&robust));
	OK(furwock_robust_mutex_lock_until(&robust, FOREVER));
	OK(furwock_robust_mutex_unlock(&robust));
	CHECK_ERR(furwock_robust_mutex_lock_until(&robust, &bad), EINVAL);
	CHECK_ERR(furwock_robust_mutex_lock(NULL), EINVAL);
	CHECK_ERR(furwock_robust_mutex_trylock((void *)4), EINVAL);
	CHECK_ERR(furwock_robust_mutex_unlock(NULL), EINVAL);
	CHECK_ERR(furwock_robust_mutex_consistent(NULL), EINVAL);
	CHECK_EQ(furwock_robust_mutex_owner(NULL), 0);
	OK(furwock_robust_mutex_name(&robust, "ledger"));
	OK(furwock_robust_mutex_name(&robust, NULL));
}

TEST(robust_mutex__tells_of_a_threads_death)
{
	skip_without_robust_locks();
	OK(by_a_thread_that_ends(lock, &robust));
	CHECK_ERR(furwock_robust_mutex_lock(&robust), EOWNERDEAD);
	OK(furwock_robust_mutex_consistent(&robust));
	OK(furwock_robust_mutex_unlock(&robust));
	OK(furwock_robust_mutex_lock(&robust));
	OK(furwock_robust_mutex_unlock(&robust));

	OK(by_a_thread_that_ends(lock, &robust));
	CHECK_ERR(furwock_robust_mutex_lock(&robust), EOWNERDEAD);
	CHECK(!furwock_robust_mutex_is_lost(&robust));
	OK(furwock_robust_mutex_unlock(&robust));
	CHECK(furwock_robust_mutex_is_lost(&robust));
	CHECK_ERR(furwock_robust_mutex_lock(&robust), ENOTRECOVERABLE);
	CHECK_ERR(furwock_robust_mutex_trylock(&robust), ENOTRECOVERABLE);
	CHECK_ERR(furwock_robust_mutex_unlock(&robust), EPERM);
	OK(furwock_robust_mutex_init(&robust));
	OK(furwock_robust_mutex_lock(&robust));
	OK(furwock_robust_mutex_unlock(&robust));
}

TEST(robust_mutex__tells_of_a_killed_process)
{
	furwock_robust_mutex *mutex = shared_memory(sizeof(*mutex));
	pid_t child;
	int status;

	skip_without_robust_locks();
	child = fork_watched();
	if (child == 0) {
		OK(furwock_robust_mutex_lock(mutex));
		for (;;)
			pause();
	}
	UNTIL(furwock_robust_mutex_owner(mutex) == child);
	CHECK_ERR(furwock_robust_mutex_trylock(mutex), EBUSY);
	CHECK(!kill(child, SIGKILL));
	CHECK_ERR(furwock_robust_mutex_lock(mutex), EOWNERDEAD);
	OK(furwock_robust_mutex_consistent(mutex));
	OK(furwock_robust_mutex_unlock(mutex));
	CHECK_EQ(waitpid(child, &status, 0), child);
}

static int rdlock_twice(void *object)
{
	OK(rdlock(object));
	CHECK_EQ(furwock_robust_rwlock_readers(object), 2);
	OK(tryrdlock(object));
	CHECK_EQ(furwock_robust_rwlock_readers(object), 3);
	OK(rdunlock(object));
	OK(rdunlock(object));
	CHECK_EQ(furwock_robust_rwlock_readers(object), 1);
	return rdunlock(object);
}

TEST(robust_rwlock__is_shared_by_readers)
{
	furwock_deadline at = past(), bad = malformed();

	skip_without_robust_locks();
	OK(furwock_robust_rwlock_rdlock(&rwlock));
	CHECK_ERR(by_a_thread_that_ends(rdlock_twice, &rwlock), EPERM);
	CHECK_ERR(by_a_thread_that_ends(trywrlock, &rwlock), EBUSY);
	CHECK_ERR(by_a_thread_that_ends(wrlock_soon, &rwlock), ETIMEDOUT);
	CHECK_ERR(furwock_robust_rwlock_wrunlock(&rwlock), EPERM);
	CHECK_EQ(furwock_robust_rwlock_owner(&rwlock), 0);
	OK(furwock_robust_rwlock_rdunlock(&rwlock));
	CHECK_ERR(furwock_robust_rwlock_rdunlock(&rwlock), EPERM);

	OK(furwock_robust_rwlock_wrlock(&rwlock));
	CHECK_EQ(furwock_robust_rwlock_owner(&rwlock), gettid());
	CHECK_ERR(by_a_thread_that_ends(tryrdlock, &rwlock), EBUSY);
	CHECK_ERR(by_a_thread_that_ends(rdlock_soon, &rwlock), ETIMEDOUT);
	CHECK_ERR(by_a_thread_that_ends(wrunlock, &rwlock), EPERM);
	CHECK_ERR(furwock_robust_rwlock_rdunlock(&rwlock), EPERM);
	CHECK_ERR(furwock_robust_rwlock_consistent(&rwlock), EINVAL);
	OK(furwock_robust_rwlock_wrunlock(&rwlock));

	OK(furwock_robust_rwlock_trywrlock(&rwlock));
	OK(furwock_robust_rwlock_wrunlock(&rwlock));
	OK(furwock_robust_rwlock_wrlock_until(&rwlock, &at));
	OK(furwock_robust_rwlock_wrunlock(&rwlock));
	OK(furwock_robust_rwlock_rdlock_until(&rwlock, &at));
	OK(furwock_robust_rwlock_rdunlock(&rwlock));
	OK(furwock_robust_rwlock_rdlock_until(&rwlock, FOREVER));
	OK(furwock_robust_rwlock_rdunlock(&rwlock));
	CHECK_ERR(furwock_robust_rwlock_wrlock_until(&rwlock, &bad), EINVAL);
	CHECK_ERR(furwock_robust_rwlock_rdlock_until(&rwlock, &bad), EINVAL);
	CHECK_ERR(furwock_robust_rwlock_rdlock(NULL), EINVAL);
	CHECK_ERR(furwock_robust_rwlock_wrlock((void *)8), EINVAL);
	CHECK_ERR(furwock_robust_rwlock_tryrdlock(NULL), EINVAL);
	CHECK_ERR(furwock_robust_rwlock_trywrlock(NULL), EINVAL);
	CHECK_ERR(furwock_robust_rwlock_rdunlock(NULL), EINVAL);
	CHECK_ERR(furwock_robust_rwlock_wrunlock(NULL), EINVAL);
	CHECK_ERR(furwock_robust_rwlock_consistent(NULL), EINVAL);
	CHECK_EQ(furwock_robust_rwlock_readers(NULL), 0);
	OK(furwock_robust_rwlock_name(&rwlock, "index"));
	OK(furwock_robust_rwlock_name(&rwlock, NULL));
}

TEST(robust_rwlock__survives_its_users)
{
	skip_without_robust_locks();
	/* A reader's death is no event. */
	OK(by_a_thread_that_ends(rdlock, &rwlock));
	OK(furwock_robust_rwlock_wrlock(&rwlock));
	OK(furwock_robust_rwlock_wrunlock(&rwlock));

	OK(by_a_thread_that_ends(wrlock, &rwlock));
	CHECK_ERR(furwock_robust_rwlock_rdlock(&rwlock), EOWNERDEAD);
	CHECK_ERR(by_a_thread_that_ends(tryrdlock, &rwlock), EBUSY);
	OK(furwock_robust_rwlock_consistent(&rwlock));
	OK(furwock_robust_rwlock_wrunlock(&rwlock));

	OK(by_a_thread_that_ends(wrlock, &rwlock));
	CHECK_ERR(furwock_robust_rwlock_wrlock(&rwlock), EOWNERDEAD);
	OK(furwock_robust_rwlock_wrunlock(&rwlock));
	CHECK(furwock_robust_rwlock_is_lost(&rwlock));
	CHECK_ERR(furwock_robust_rwlock_rdlock(&rwlock), ENOTRECOVERABLE);
	CHECK_ERR(furwock_robust_rwlock_wrlock(&rwlock), ENOTRECOVERABLE);
	OK(furwock_robust_rwlock_init(&rwlock));
	OK(furwock_robust_rwlock_wrlock(&rwlock));
	OK(furwock_robust_rwlock_wrunlock(&rwlock));
}

/* A reader's slot is found wherever it is: others have the first ones. */
static furwock_semaphore inside = FURWOCK_SEMAPHORE_INIT(0);
static furwock_semaphore leave = FURWOCK_SEMAPHORE_INIT(0);

static void *read_for_a_while(void *unused)
{
	OK(furwock_robust_rwlock_rdlock(&rwlock));
	OK(furwock_semaphore_release(&inside));
	OK(furwock_semaphore_acquire(&leave));
	OK(furwock_robust_rwlock_rdunlock(&rwlock));
	return unused;
}

TEST(robust_rwlock__has_room_for_so_many_readers)
{
	struct thread threads[FURWOCK_ROBUST_READERS];

	skip_without_robust_locks();
	start_all(threads, COUNT(threads), read_for_a_while, NULL);
	for (EACH(i, threads))
		OK(furwock_semaphore_acquire(&inside));
	CHECK_EQ(furwock_robust_rwlock_readers(&rwlock), COUNT(threads));
	CHECK_ERR(furwock_robust_rwlock_tryrdlock(&rwlock), EBUSY);
	OK(furwock_semaphore_release_many(&leave, COUNT(threads)));
	join_all(threads, COUNT(threads));
	CHECK_EQ(furwock_robust_rwlock_readers(&rwlock), 0);
}

/* -------------------------------------------------------- shared words -- */

struct words {
	_Atomic uint32_t narrow;
	_Atomic uint64_t wide;
};

static bool has_waits_on_wide_words(void)
{
	uint64_t word = 0;

	return furwock_shared_wait64(&word, 1, NULL) == EAGAIN &&
	       syscall(449, NULL, 0, 0, NULL, 0) < 0 && errno != ENOSYS;
}

TEST(shared__a_wait_ends_as_it_should)
{
	_Atomic uint32_t narrow = 1;
	_Atomic uint64_t wide = UINT64_C(1) << 32;
	furwock_deadline at = past(), near = soon(), date = soon_by_date(),
			 bad = malformed();
	size_t woken = 7;

	CHECK_ERR(furwock_shared_wait32(&narrow, 2, NULL), EAGAIN);
	CHECK_ERR(furwock_shared_wait32(&narrow, 1, &near), ETIMEDOUT);
	CHECK_ERR(furwock_shared_wait32(&narrow, 1, &date), ETIMEDOUT);
	CHECK_ERR(furwock_shared_wait32(&narrow, 1, &at), ETIMEDOUT);
	CHECK_ERR(furwock_shared_wait32(&narrow, 1, &bad), EINVAL);
	CHECK_ERR(furwock_shared_wait32(NULL, 1, NULL), EINVAL);
	CHECK_ERR(furwock_shared_wait32((char *)&narrow + 1, 1, NULL), EINVAL);
	/* The halves count for themselves. */
	CHECK_ERR(furwock_shared_wait64(&wide, 0, NULL), EAGAIN);
	CHECK_ERR(furwock_shared_wait64(&wide, 1, NULL), EAGAIN);
	CHECK_ERR(furwock_shared_wait64((char *)&wide + 4, 1, NULL), EINVAL);
	if (has_waits_on_wide_words()) {
		CHECK_ERR(furwock_shared_wait64(&wide, wide, &near), ETIMEDOUT);
		CHECK_ERR(furwock_shared_wait64(&wide, wide, &date), ETIMEDOUT);
	} else {
		CHECK_ERR(furwock_shared_wait64(&wide, wide, &near), ENOTSUP);
	}
	OK(furwock_shared_wake(&narrow, SIZE_MAX, &woken));
	CHECK_EQ(woken, 0);
	OK(furwock_shared_wake(&wide, 0, NULL));
	CHECK_ERR(furwock_shared_wake(NULL, 1, NULL), EINVAL);
	CHECK_ERR(furwock_shared_wake((char *)&narrow + 2, 1, NULL), EINVAL);
}

TEST(shared__a_wake_reaches_another_process)
{
	struct words *words = shared_memory(sizeof(*words));
	bool has_wide = has_waits_on_wide_words();
	pid_t child = fork_watched();
	size_t woken = 0;

	if (child == 0) {
		while (words->narrow == 0)
			OK(furwock_shared_wait32(&words->narrow, 0, NULL));
		while (has_wide && words->wide == 0)
			OK(furwock_shared_wait64(&words->wide, 0, NULL));
		_exit(0);
	}
	until_tid_asleep(child);
	words->narrow = 1;
	OK(furwock_shared_wake(&words->narrow, 1, &woken));
	CHECK_EQ(woken, 1);
	if (has_wide) {
		until_tid_asleep(child);
		/* A change in the upper half alone. */
		words->wide = UINT64_C(1) << 40;
		OK(furwock_shared_wake(&words->wide, 1, &woken));
		CHECK_EQ(woken, 1);
	}
	REAP(child);
}

RUN_TESTS()
