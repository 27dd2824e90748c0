/*
 * Mutexes and condvars that stay glibc's under the preload, alone, between
 * processes, and each with a partner that doesn't.
 */
#include "../posix/children.h"
#include "../posix/mutexes.h"
#include "kinds.h"

struct scene {
	pthread_mutex_t mutex;
	pthread_cond_t cond, back;
	int permits, turn;
	_Atomic int stage, cleaned;
	long counter;
};

/* ------------------------------------------------- a condvar of furwock's -- */

THREAD(take_turns, struct scene *scene)
{
	for (int i = 0; i < 300; i++) {
		OK(pthread_mutex_lock(&scene->mutex));
		while (scene->turn != 1)
			OK(pthread_cond_wait(&scene->cond, &scene->mutex));
		scene->turn = 0;
		OK(pthread_cond_signal(&scene->back));
		OK(pthread_mutex_unlock(&scene->mutex));
	}
}

static void ping_pong(struct scene *scene)
{
	struct timespec at;
	struct thread other;

	start(&other, take_turns, scene);
	for (int i = 0; i < 300; i++) {
		OK(pthread_mutex_lock(&scene->mutex));
		scene->turn = 1;
		OK(pthread_cond_broadcast(&scene->cond));
		at = in_ms(CLOCK_REALTIME, 15000);
		while (scene->turn != 0)
			OK(pthread_cond_timedwait(&scene->back, &scene->mutex,
						  &at));
		OK(pthread_mutex_unlock(&scene->mutex));
	}
	join(&other);
}

static void check_pairs(bool shared_cond, enum kind kind)
{
	struct timespec at;
	struct scene scene = { .turn = 0 };
	int error = 0;

	if (!make_or_pass(&scene.mutex, kind))
		return;
	make_cond(&scene.cond, CLOCK_REALTIME, shared_cond);
	make_cond(&scene.back, CLOCK_REALTIME, shared_cond);
	ping_pong(&scene);
	/* Timing out gives the mutex back too. */
	OK(pthread_mutex_lock(&scene.mutex));
	at = in_ms(CLOCK_REALTIME, 10);
	for (int i = 0; i < 100 && !error; i++)
		error = pthread_cond_timedwait(&scene.cond, &scene.mutex, &at);
	CHECK_ERR(error, ETIMEDOUT);
	at = in_ms(CLOCK_MONOTONIC, 10);
	error = 0;
	for (int i = 0; i < 100 && !error; i++)
		error = pthread_cond_clockwait(&scene.cond, &scene.mutex,
					       CLOCK_MONOTONIC, &at);
	CHECK_ERR(error, ETIMEDOUT);
	at.tv_nsec = -1;
	CHECK_ERR(pthread_cond_timedwait(&scene.cond, &scene.mutex, &at), EINVAL);
	OK(pthread_mutex_unlock(&scene.mutex));
	OK(pthread_cond_destroy(&scene.cond));
	OK(pthread_cond_destroy(&scene.back));
	OK(pthread_mutex_destroy(&scene.mutex));
}

/* Private and shared condvars, with mutexes of every kind. */
static void with_every_mutex(void (*check)(bool shared_cond, enum kind kind))
{
	for (EACH_KIND(kind)) {
		check(false, kind);
		check(true, kind);
	}
}

TEST(posix_pthread_cond__any_condvar_with_every_mutex)
{
	with_every_mutex(check_pairs);
}

static void unlock_checked(void *argument)
{
	struct scene *scene = argument;

	scene->cleaned++;
	OK(pthread_mutex_unlock(&scene->mutex));
}

THREAD(wait_to_be_cancelled, struct scene *scene)
{
	OK(pthread_mutex_lock(&scene->mutex));
	pthread_cleanup_push(unlock_checked, scene);
	scene->stage = 1;
	while (!scene->permits)
		OK(pthread_cond_wait(&scene->cond, &scene->mutex));
	pthread_cleanup_pop(1);
}

static void check_cancel(bool shared_cond, enum kind kind)
{
	struct scene scene = { .turn = 0 };
	struct thread waiter;

	if (!make_or_pass(&scene.mutex, kind))
		return;
	make_cond(&scene.cond, CLOCK_REALTIME, shared_cond);
	start(&waiter, wait_to_be_cancelled, &scene);
	UNTIL(scene.stage);
	until_asleep(&waiter);
	cancel_and_join(&waiter);
	CHECK_EQ(scene.cleaned, 1);
	OK(pthread_mutex_trylock(&scene.mutex));
	OK(pthread_mutex_unlock(&scene.mutex));
	OK(pthread_cond_signal(&scene.cond));
	OK(pthread_cond_destroy(&scene.cond));
	OK(pthread_mutex_destroy(&scene.mutex));
}

TEST(posix_pthread_cancel__waiting_on_any_condvar_with_every_mutex)
{
	with_every_mutex(check_cancel);
}

/* The holder is checked by glibc's unlock: its answer is the wait's. */
TEST(glibc_pthread_cond_wait__eperm_when_a_pi_mutex_is_not_owned)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 2000);
	struct scene scene = { .cond = PTHREAD_COND_INITIALIZER };

	OK(make_mutex(&scene.mutex, PI));
	CHECK_ERR(pthread_cond_timedwait(&scene.cond, &scene.mutex, &at), EPERM);
	OK(pthread_mutex_trylock(&scene.mutex));
	OK(pthread_mutex_unlock(&scene.mutex));
}

/* ---------------------------------------------------------------- robust -- */

/* Dies with the mutex after it has signalled: the wait reports the death. */
THREAD(signal_and_die, struct scene *scene)
{
	OK(pthread_mutex_lock(&scene->mutex));
	scene->permits = 1;
	OK(pthread_cond_signal(&scene->cond));
}

THREAD(wait_for_the_dead, struct scene *scene)
{
	int error, old;

	OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
	OK(pthread_mutex_lock(&scene->mutex));
	scene->stage = 1;
	do
		error = pthread_cond_wait(&scene->cond, &scene->mutex);
	while (!error && !scene->permits);
	CHECK_ERR(error, EOWNERDEAD);
	OK(pthread_mutex_consistent(&scene->mutex));
	OK(pthread_mutex_unlock(&scene->mutex));
	/* An error leaves the cancel type as it was, too. */
	OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
	CHECK_EQ(old, PTHREAD_CANCEL_ASYNCHRONOUS);
}

TEST(posix_pthread_cond_wait__eownerdead_from_a_robust_mutex)
{
	struct scene scene = { .cond = PTHREAD_COND_INITIALIZER };
	struct thread waiter;

	OK(make_mutex(&scene.mutex, ROBUST));
	start(&waiter, wait_for_the_dead, &scene);
	UNTIL(scene.stage);
	until_asleep(&waiter);
	in_a_thread(signal_and_die, &scene);
	join(&waiter);
	OK(pthread_mutex_lock(&scene.mutex));
	OK(pthread_mutex_unlock(&scene.mutex));
}

TEST(posix_pthread_mutex__robust_holder_process_dies)
{
	struct scene *scene = shared_memory(sizeof(*scene));

	OK(make_mutex(&scene->mutex, PSHARED_ROBUST_PI));
	IN_A_CHILD
		OK(pthread_mutex_lock(&scene->mutex));
	CHECK_ERR(pthread_mutex_lock(&scene->mutex), EOWNERDEAD);
	OK(pthread_mutex_consistent(&scene->mutex));
	OK(pthread_mutex_unlock(&scene->mutex));
}

/* ------------------------------------------------------ protect, inherit -- */

THREAD(lock_once, pthread_mutex_t *mutex)
{
	OK(pthread_mutex_lock(mutex));
	OK(pthread_mutex_unlock(mutex));
}

/* The kernel hands a PI mutex over, so that it must know of the waiter. */
TEST(glibc_pthread_mutex__pi_waiters_queue_in_the_kernel)
{
	struct thread waiter;
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, PI));
	OK(pthread_mutex_lock(&mutex));
	start_asleep(&waiter, lock_once, &mutex);
	/* FUTEX_WAITERS, and the holder's thread id. */
	CHECK_EQ((unsigned int)mutex.__data.__lock, 0x80000000u | gettid());
	OK(pthread_mutex_unlock(&mutex));
	join(&waiter);
}

/* ------------------------------------------------------ between processes -- */

static void play(struct scene *scene, int own, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		OK(pthread_mutex_lock(&scene->mutex));
		while (scene->turn != own)
			OK(pthread_cond_wait(&scene->cond, &scene->mutex));
		scene->turn = !own;
		scene->counter++;
		OK(pthread_cond_broadcast(&scene->cond));
		OK(pthread_mutex_unlock(&scene->mutex));
	}
}

TEST(posix_process_shared__ping_pong_between_processes)
{
	static const enum kind shared[] = { PSHARED, PSHARED_ROBUST_PI };
	struct scene *scene = shared_memory(sizeof(*scene));
	pid_t child;

	for (int i = 0; i < 2; i++) {
		memset(scene, 0, sizeof(*scene));
		OK(make_mutex(&scene->mutex, shared[i]));
		make_cond(&scene->cond, CLOCK_MONOTONIC, true);
		IN_CHILD(child)
			play(scene, 1, 500);
		play(scene, 0, 500);
		REAP(child);
		CHECK_EQ(scene->counter, 1000);
	}
}

/*
 * A shared condvar that each process waits on with a private mutex of its own:
 * a broadcast of either must reach the waiters of both.
 */
THREAD(wait_privately, struct scene *scene)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct timespec at;

	OK(pthread_mutex_lock(&mutex));
	scene->stage++;
	while (!__atomic_load_n(&scene->permits, __ATOMIC_SEQ_CST)) {
		/* The other process's mutex is another: look often. */
		at = in_ms(CLOCK_REALTIME, 50);
		pthread_cond_timedwait(&scene->cond, &mutex, &at);
	}
	OK(pthread_mutex_unlock(&mutex));
}

TEST(posix_process_shared__condvar_with_private_mutexes)
{
	struct scene *scene = shared_memory(sizeof(*scene));
	struct thread threads[3];
	pid_t child;

	make_cond(&scene->cond, CLOCK_REALTIME, true);
	child = fork_watched();
	start_all(threads, 3, wait_privately, scene);
	if (child != 0) {
		UNTIL(scene->stage == 6);
		__atomic_store_n(&scene->permits, 1, __ATOMIC_SEQ_CST);
		OK(pthread_cond_broadcast(&scene->cond));
	}
	join_all(threads, 3);
	if (child == 0)
		_exit(0);
	REAP(child);
}

/* However many condvars share a queue, none may block another. */
TEST(posix_pthread_cond__many_shared_condvars_with_private_mutexes)
{
	enum { SCENES = 200 };
	static struct scene scenes[SCENES];
	static struct thread threads[SCENES];

	for (int i = 0; i < SCENES; i++) {
		OK(make_mutex(&scenes[i].mutex, i % OWN_KINDS));
		make_cond(&scenes[i].cond, CLOCK_REALTIME, true);
		start(&threads[i], wait_to_be_cancelled, &scenes[i]);
	}
	for (int i = 0; i < SCENES; i++)
		UNTIL(scenes[i].stage);
	for (int i = SCENES - 1; i >= 0; i--) {
		OK(pthread_mutex_lock(&scenes[i].mutex));
		scenes[i].permits = 1;
		OK(pthread_cond_signal(&scenes[i].cond));
		OK(pthread_mutex_unlock(&scenes[i].mutex));
		join(&threads[i]);
	}
}

RUN_TESTS()
