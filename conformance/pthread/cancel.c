/* Cancellation of threads that wait: what POSIX.1-2017 2.9.5.2 asks for. */
#include "../posix/crowd.h"

#include <threads.h>

enum call { WAIT, TIMEDWAIT, CLOCKWAIT, CND_WAIT, CND_TIMEDWAIT, CALLS };

struct scene {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	enum kind kind;
	enum call call;
	int permits, consumed;
	_Atomic int cleaned, returned, stage;
	bool exit_in_cleanup;
};

static void make_scene(struct scene *scene, enum kind kind, enum call call)
{
	*scene = (struct scene){
		.cond = PTHREAD_COND_INITIALIZER,
		.kind = kind,
		.call = call,
	};
	OK(make_mutex(&scene->mutex, kind));
}

static int wait_once(struct scene *scene)
{
	struct timespec real = in_ms(CLOCK_REALTIME, 15000);
	struct timespec mono = in_ms(CLOCK_MONOTONIC, 15000);

	switch (scene->call) {
	case WAIT:
		return pthread_cond_wait(&scene->cond, &scene->mutex);
	case TIMEDWAIT:
		return pthread_cond_timedwait(&scene->cond, &scene->mutex,
					      &real);
	case CLOCKWAIT:
		return pthread_cond_clockwait(&scene->cond, &scene->mutex,
					      CLOCK_MONOTONIC, &mono);
	case CND_WAIT:
		return cnd_wait((cnd_t *)&scene->cond, (mtx_t *)&scene->mutex);
	default:
		return cnd_timedwait((cnd_t *)&scene->cond,
				     (mtx_t *)&scene->mutex, &real);
	}
}

THREAD(trylock_ebusy, void *mutex)
{
	CHECK_ERR(pthread_mutex_trylock(mutex), EBUSY);
}

/* Runs on the way out of a wait: the mutex must be this thread's. */
static void cleanup(void *argument)
{
	struct scene *scene = argument;

	/* In glibc, pthread_exit below runs it once more. */
	if (scene->exit_in_cleanup && scene->cleaned)
		return;
	CHECK_EQ(scene->mutex.__data.__owner, gettid());
	if (scene->kind == ERRORCHECK)
		CHECK_ERR(pthread_mutex_lock(&scene->mutex), EDEADLK);
	in_a_thread(trylock_ebusy, &scene->mutex);
	scene->cleaned++;
	OK(pthread_mutex_unlock(&scene->mutex));
	if (scene->exit_in_cleanup)
		pthread_exit((void *)0x77);
}

THREAD(wait_to_be_cancelled, struct scene *scene)
{
	OK(pthread_mutex_lock(&scene->mutex));
	pthread_cleanup_push(cleanup, scene);
	scene->stage = 1;
	while (!scene->permits)
		OK(wait_once(scene));
	scene->permits--;
	scene->consumed++;
	pthread_cleanup_pop(0);
	OK(pthread_mutex_unlock(&scene->mutex));
	scene->returned++;
}

/* Sleeps in the wait when this returns. */
static void start_waiting(struct thread *waiter, void *(*run)(void *), struct scene *scene)
{
	start(waiter, run, scene);
	UNTIL(scene->stage);
	until_asleep(waiter);
}

static void permit(struct scene *scene, int permits, int (*notify)(pthread_cond_t *))
{
	OK(pthread_mutex_lock(&scene->mutex));
	scene->permits = permits;
	OK(notify(&scene->cond));
	OK(pthread_mutex_unlock(&scene->mutex));
}

static void check_cancelled(struct scene *scene, struct thread *waiter)
{
	CHECK(join(waiter) == PTHREAD_CANCELED);
	CHECK_EQ(scene->cleaned, 1);
	CHECK_EQ(scene->returned, 0);
	/* It left nothing behind. */
	OK(pthread_mutex_trylock(&scene->mutex));
	OK(pthread_mutex_unlock(&scene->mutex));
	OK(pthread_cond_destroy(&scene->cond));
	OK(pthread_mutex_destroy(&scene->mutex));
}

/* ------------------------------------------------------- pending, disabled -- */

THREAD(cancel_oneself_and_wait, struct scene *scene)
{
	OK(pthread_mutex_lock(&scene->mutex));
	pthread_cleanup_push(cleanup, scene);
	OK(pthread_cancel(pthread_self()));
	scene->stage = 1;
	wait_once(scene);
	scene->returned++;
	pthread_cleanup_pop(0);
}

/* (The suite of POSIX's clauses checks the pthread calls.) */
TEST(glibc_cnd_wait__pending_cancellation_acts_at_once)
{
	struct thread waiter;
	struct scene scene;

	for (enum call call = CND_WAIT; call < CALLS; call++) {
		make_scene(&scene, ERRORCHECK, call);
		start(&waiter, cancel_oneself_and_wait, &scene);
		check_cancelled(&scene, &waiter);
	}
}

THREAD(wait_once_disabled, struct scene *scene)
{
	OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
	OK(pthread_mutex_lock(&scene->mutex));
	scene->stage = 1;
	OK(wait_once(scene));
	scene->returned = 1;
	OK(pthread_mutex_unlock(&scene->mutex));
}

/* POSIX would allow a spurious wakeup; glibc's waits go on. */
TEST(glibc_pthread_cancel__ends_no_wait_of_a_thread_that_disabled_it)
{
	struct thread waiter;
	struct scene scene;

	for (enum call call = WAIT; call < CALLS; call++) {
		make_scene(&scene, DEFAULT, call);
		start_waiting(&waiter, wait_once_disabled, &scene);
		OK(pthread_cancel(waiter.pthread));
		sleep_ms(3);
		CHECK_EQ(scene.returned, 0);
		until_asleep(&waiter);
		OK(pthread_cond_signal(&scene.cond));
		CHECK(join(&waiter) == NULL);
		CHECK_EQ(scene.returned, 1);
	}
}

THREAD(lock_pending, struct scene *scene)
{
	pthread_cancel(pthread_self());
	scene->stage = 1;
	OK(pthread_mutex_lock(&scene->mutex));
	scene->returned = 1;
	OK(pthread_mutex_unlock(&scene->mutex));
	OK(pthread_cond_signal(&scene->cond));
	pthread_testcancel();
}

TEST(posix_pthread_mutex_lock__is_no_cancellation_point)
{
	struct thread waiter;
	struct scene scene;

	for (enum kind kind = 0; kind < OWN_KINDS; kind++) {
		make_scene(&scene, kind, WAIT);
		OK(pthread_mutex_lock(&scene.mutex));
		start_waiting(&waiter, lock_pending, &scene);
		OK(pthread_cancel(waiter.pthread));
		sleep_ms(2);
		CHECK_EQ(scene.returned, 0);
		OK(pthread_mutex_unlock(&scene.mutex));
		CHECK(join(&waiter) == PTHREAD_CANCELED);
		CHECK_EQ(scene.returned, 1);
	}
}

/* --------------------------------------------------------- asynchronous -- */

THREAD(wait_asynchronously, struct scene *scene)
{
	int old;

	OK(pthread_mutex_lock(&scene->mutex));
	pthread_cleanup_push(cleanup, scene);
	OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
	scene->stage = 1;
	while (!scene->permits)
		wait_once(scene);
	/* The type is still what it was. */
	OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
	CHECK_EQ(old, PTHREAD_CANCEL_ASYNCHRONOUS);
	scene->returned++;
	pthread_cleanup_pop(0);
	OK(pthread_mutex_unlock(&scene->mutex));
}

TEST(glibc_pthread_cond_wait__asynchronous_type_is_cancelled)
{
	struct thread waiter;
	struct scene scene;

	make_scene(&scene, ERRORCHECK, WAIT);
	start_waiting(&waiter, wait_asynchronously, &scene);
	OK(pthread_cancel(waiter.pthread));
	check_cancelled(&scene, &waiter);
}

TEST(posix_pthread_cond_wait__leaves_the_cancel_type_alone)
{
	struct thread waiter;
	struct scene scene;

	make_scene(&scene, ERRORCHECK, WAIT);
	start_waiting(&waiter, wait_asynchronously, &scene);
	permit(&scene, 1, pthread_cond_signal);
	CHECK(join(&waiter) == NULL);
	CHECK_EQ(scene.returned, 1);
}

THREAD(spin_asynchronously, struct scene *scene)
{
	int old;

	OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
	scene->stage = 1;
	for (;;)
		__asm__ volatile("" ::: "memory");
}

TEST(posix_pthread_cancel__asynchronous_needs_no_cancellation_point)
{
	struct thread thread;
	struct scene scene;

	make_scene(&scene, DEFAULT, WAIT);
	start(&thread, spin_asynchronously, &scene);
	UNTIL(scene.stage);
	cancel_and_join(&thread);
}

/* ------------------------------------------------------ cleanup handlers -- */

TEST(glibc_pthread_exit__from_a_cleanup_handler_of_a_wait)
{
	struct thread waiter;
	struct scene scene;

	make_scene(&scene, DEFAULT, WAIT);
	scene.exit_in_cleanup = true;
	start_waiting(&waiter, wait_to_be_cancelled, &scene);
	OK(pthread_cancel(waiter.pthread));
	CHECK(join(&waiter) == (void *)0x77);
	CHECK_EQ(scene.cleaned, 1);
	OK(pthread_mutex_trylock(&scene.mutex));
}

/*
 * A cleanup handler may lock, wait and signal: cancellation is disabled in it.
 */
static void wait_in_cleanup(void *argument)
{
	struct scene *scene = argument;

	scene->stage = 2;
	while (!scene->permits)
		OK(wait_once(scene));
	scene->cleaned++;
	OK(pthread_mutex_unlock(&scene->mutex));
}

THREAD(wait_and_wait_again, struct scene *scene)
{
	OK(pthread_mutex_lock(&scene->mutex));
	pthread_cleanup_push(wait_in_cleanup, scene);
	scene->stage = 1;
	for (;;)
		OK(wait_once(scene));
	pthread_cleanup_pop(0);
}

TEST(posix_pthread_cond_wait__works_in_a_cleanup_handler)
{
	struct thread waiter;
	struct scene scene;

	make_scene(&scene, ERRORCHECK, WAIT);
	start_waiting(&waiter, wait_and_wait_again, &scene);
	OK(pthread_cancel(waiter.pthread));
	UNTIL(scene.stage == 2);
	until_asleep(&waiter);
	permit(&scene, 1, pthread_cond_signal);
	check_cancelled(&scene, &waiter);
}

/* ---------------------------------------- a signal must not be swallowed -- */

static void unlock(void *mutex)
{
	OK(pthread_mutex_unlock(mutex));
}

THREAD(take_permit, struct scene *scene)
{
	OK(pthread_mutex_lock(&scene->mutex));
	pthread_cleanup_push(unlock, &scene->mutex);
	scene->stage++;
	while (!scene->permits)
		OK(wait_once(scene));
	scene->permits--;
	scene->consumed++;
	pthread_cleanup_pop(1);
}

THREAD(cancel_at_once, struct thread *thread)
{
	OK(pthread_cancel(thread->pthread));
}

enum { WAITERS = 4 };

static int consumed(struct scene *scene)
{
	int result;

	OK(pthread_mutex_lock(&scene->mutex));
	result = scene->consumed;
	OK(pthread_mutex_unlock(&scene->mutex));
	return result;
}

/*
 * One permit and one signal for several waiters, one of which is cancelled at
 * that moment. Either it had the permit, or another has it: were the signal
 * used up by the cancelled thread, no other would come for the permit.
 */
static void race_cancel_and_signal(enum kind kind, enum call call, bool held,
				   int rounds)
{
	struct thread waiters[WAITERS], canceller, *victim;
	struct scene scene;

	for (int round = 0; round < rounds; round++) {
		victim = &waiters[round / 4 % WAITERS];
		make_scene(&scene, kind, call);
		START_ALL(waiters, take_permit, &scene);
		UNTIL(scene.stage == WAITERS);
		if (round % 2)
			start(&canceller, cancel_at_once, victim);
		OK(pthread_mutex_lock(&scene.mutex));
		scene.permits = 1;
		if (!held)
			OK(pthread_mutex_unlock(&scene.mutex));
		if (round % 4 == 0)
			OK(pthread_cancel(victim->pthread));
		OK(pthread_cond_signal(&scene.cond));
		if (round % 4 == 2)
			OK(pthread_cancel(victim->pthread));
		if (held)
			OK(pthread_mutex_unlock(&scene.mutex));
		if (round % 2)
			join(&canceller);
		/* The watchdog bites here if the signal is lost. */
		while (!consumed(&scene))
			sched_yield();
		CHECK_EQ(scene.consumed, 1);
		/* The others are left alone, wherever the victim waited. */
		permit(&scene, WAITERS, pthread_cond_broadcast);
		JOIN_ALL(waiters);
		CHECK(scene.consumed >= WAITERS - 1);
	}
}

TEST(posix_pthread_cancel__swallows_no_signal_sent_with_the_mutex)
{
	race_cancel_and_signal(DEFAULT, WAIT, true, 700);
	race_cancel_and_signal(RECURSIVE, TIMEDWAIT, true, 300);
}

TEST(posix_pthread_cancel__swallows_no_signal_sent_without_the_mutex)
{
	race_cancel_and_signal(DEFAULT, WAIT, false, 700);
	race_cancel_and_signal(ERRORCHECK, CND_WAIT, false, 300);
}

/* Threads that have never waited, cancelled at whatever point they are at. */
TEST(posix_pthread_cancel__at_any_moment_leaves_the_mutex_usable)
{
	struct thread waiters[WAITERS];
	struct scene scene;

	make_scene(&scene, DEFAULT, WAIT);
	for (int round = 0; round < 400; round++) {
		START_ALL(waiters, take_permit, &scene);
		for (EACH(i, waiters)) {
			OK(pthread_cancel(waiters[i].pthread));
			if (round % 3 == 0)
				OK(pthread_cond_signal(&scene.cond));
		}
		for (EACH(i, waiters))
			CHECK(join(&waiters[i]) == PTHREAD_CANCELED);
		OK(pthread_mutex_lock(&scene.mutex));
		OK(pthread_mutex_unlock(&scene.mutex));
	}
}

RUN_TESTS()
