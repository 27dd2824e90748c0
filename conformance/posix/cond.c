/* XSH, the pages of condition variables. */
#include "clause.h"
#include "mutexes.h"

enum call {
	WAIT, TIMEDWAIT, CLOCKWAIT_REALTIME, CLOCKWAIT_MONOTONIC, CALLS,
};

static clockid_t clock_of(enum call call)
{
	return call == CLOCKWAIT_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

static int wait_until(enum call call, pthread_cond_t *cond,
		      pthread_mutex_t *mutex, const struct timespec *at)
{
	switch (call) {
	case WAIT:
		return pthread_cond_wait(cond, mutex);
	case TIMEDWAIT:
		return pthread_cond_timedwait(cond, mutex, at);
	default:
		return pthread_cond_clockwait(cond, mutex, clock_of(call), at);
	}
}

/* With a deadline that no test reaches. */
static int wait_long(enum call call, pthread_cond_t *cond,
		     pthread_mutex_t *mutex)
{
	struct timespec at = in_ms(clock_of(call), 15000);

	return wait_until(call, cond, mutex, &at);
}

/* Nobody signals: what returns 0 does so for no reason, which is allowed. */
static void until_timed_out(enum call call, pthread_cond_t *cond,
			    pthread_mutex_t *mutex, const struct timespec *at)
{
	int tries, error = 0;

	for (tries = 0; tries < 100 && !error; tries++)
		error = wait_until(call, cond, mutex, at);
	CHECK_ERR(error, ETIMEDOUT);
}

/* The mutex and the condvar, a waiter's call, and what has become of it. */
struct scene {
	struct gate gate;
	enum kind kind;
	enum call call;
	_Atomic int stage, cleaned, returned;
};

static void make_scene(struct scene *scene, enum kind kind, enum call call)
{
	*scene = (struct scene){ .kind = kind, .call = call };
	make_gate(&scene->gate, kind);
}

/* The caller has the mutex: others don't get it, and it can be given back. */
static void check_own(struct scene *scene)
{
	check_locked(&scene->gate.mutex);
	if (scene->kind == ERRORCHECK)
		CHECK_ERR(pthread_mutex_lock(&scene->gate.mutex), EDEADLK);
}

static void *wait_in_scene(void *argument)
{
	struct scene *scene = argument;
	struct gate *gate = &scene->gate;

	OK(pthread_mutex_lock(&gate->mutex));
	gate->waiting++;
	errno = 4714;
	while (!gate->permits)
		OK(wait_long(scene->call, &gate->cond, &gate->mutex));
	CHECK_EQ(errno, 4714);
	check_own(scene);
	gate->permits--;
	gate->passed++;
	OK(pthread_mutex_unlock(&gate->mutex));
	scene->returned++;
	return NULL;
}

static void permit(struct gate *gate, int permits)
{
	OK(pthread_mutex_lock(&gate->mutex));
	gate->permits += permits;
	OK(pthread_cond_broadcast(&gate->cond));
	OK(pthread_mutex_unlock(&gate->mutex));
}

/* ----------------------------------------------------- init and destroy -- */

/* Signals and waiters of one condvar do what they should. */
static void check_works(pthread_cond_t *cond)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 5);
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	OK(pthread_cond_signal(cond));
	OK(pthread_cond_broadcast(cond));
	OK(pthread_mutex_lock(&mutex));
	until_timed_out(TIMEDWAIT, cond, &mutex, &at);
	OK(pthread_mutex_unlock(&mutex));
}

CLAUSE(pthread_cond_init__desc_3__is_initialised,
       "the condvar is initialised, without waiters or signals, whatever the memory held")
{
	static const int fills[] = { 0x00, 0xff, 0xa5, 0x01 };
	pthread_condattr_t attr;
	pthread_cond_t cond;

	OK(pthread_condattr_init(&attr));
	errno = 4711;
	for (EACH(i, fills)) {
		memset(&cond, fills[i], sizeof(cond));
		OK(pthread_cond_init(&cond, NULL));
		check_works(&cond);
		OK(pthread_cond_destroy(&cond));
		memset(&cond, fills[i], sizeof(cond));
		OK(pthread_cond_init(&cond, &attr));
		check_works(&cond);
		OK(pthread_cond_destroy(&cond));
	}
	CHECK_EQ(errno, 4711);
}

CLAUSE(pthread_cond_init__desc_3__null_stands_for_the_defaults,
       "without an attributes object it has the defaults: its deadlines are times of "
       "CLOCK_REALTIME")
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct timespec at = in_ms(CLOCK_REALTIME, 20);
	pthread_cond_t cond;

	OK(pthread_cond_init(&cond, NULL));
	OK(pthread_mutex_lock(&mutex));
	until_timed_out(TIMEDWAIT, &cond, &mutex, &at);
	CHECK(now_ns(CLOCK_REALTIME) >= at.tv_sec * NS_PER_S + at.tv_nsec);
	CHECK(now_ns(CLOCK_REALTIME) <
	      at.tv_sec * NS_PER_S + at.tv_nsec + LATE_MS * NS_PER_MS);
	OK(pthread_mutex_unlock(&mutex));
}

static pthread_cond_t initialised_static = PTHREAD_COND_INITIALIZER;

CLAUSE(pthread_cond_init__desc_6__initialiser_is_init_with_null,
       "the initialiser makes what init without attributes makes, in static memory and in "
       "automatic")
{
	pthread_cond_t automatic = PTHREAD_COND_INITIALIZER, assigned;
	pthread_cond_t *all[] = { &initialised_static, &automatic, &assigned };
	struct thread waiter;
	struct gate gate;

	memset(&assigned, 0xff, sizeof(assigned));
	assigned = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	for (EACH(i, all)) {
		check_works(all[i]);
		OK(pthread_cond_destroy(all[i]));
	}
	/* That of a gate is made by the initialiser, too. */
	make_gate(&gate, DEFAULT);
	start(&waiter, wait_for_permit, &gate);
	until_waiting(&gate, 1);
	permit(&gate, 1);
	join(&waiter);
}

CLAUSE(pthread_cond_destroy__desc_1__can_be_initialised_again,
       "a destroyed condvar can be initialised again, and its old attributes are gone")
{
	pthread_cond_t cond;
	int i;

	errno = 4711;
	for (i = 0; i < 3; i++) {
		make_cond(&cond, CLOCK_MONOTONIC, i % 2);
		OK(pthread_cond_destroy(&cond));
		make_cond(&cond, CLOCK_REALTIME, false);
		check_works(&cond);
		OK(pthread_cond_destroy(&cond));
	}
	CHECK_EQ(errno, 4711);
}

CLAUSE(pthread_cond_destroy__desc_2__without_waiters,
       "it can be destroyed when nobody is blocked on it, after waits that were signalled and "
       "that timed out")
{
	struct timespec at = in_ms(CLOCK_REALTIME, 5);
	struct thread waiter;
	struct gate gate;

	for (EACH(i, ordinary)) {
		make_gate(&gate, ordinary[i]);
		start(&waiter, wait_for_permit, &gate);
		until_waiting(&gate, 1);
		permit(&gate, 1);
		join(&waiter);
		OK(pthread_mutex_lock(&gate.mutex));
		until_timed_out(TIMEDWAIT, &gate.cond, &gate.mutex, &at);
		OK(pthread_mutex_unlock(&gate.mutex));
		OK(pthread_cond_destroy(&gate.cond));
	}
}

static void check_destroy_after_broadcast(enum kind kind, bool held)
{
	struct thread waiters[4];
	struct gate gate;
	int i;

	make_gate(&gate, kind);
	for (i = 0; i < 4; i++)
		start(&waiters[i], wait_for_permit, &gate);
	until_waiting(&gate, 4);
	OK(pthread_mutex_lock(&gate.mutex));
	gate.open = true;
	OK(pthread_cond_broadcast(&gate.cond));
	if (!held)
		OK(pthread_mutex_unlock(&gate.mutex));
	OK(pthread_cond_destroy(&gate.cond));
	/* The memory is somebody else's from here on. */
	memset(&gate.cond, 0xff, sizeof(gate.cond));
	if (held)
		OK(pthread_mutex_unlock(&gate.mutex));
	for (i = 0; i < 4; i++)
		join(&waiters[i]);
	CHECK_EQ(gate.passed, 4);
}

CLAUSE(pthread_cond_destroy__desc_2__at_once_after_a_broadcast,
       "it can be destroyed as soon as all waiters have been awakened, though they have yet to "
       "get the mutex")
{
	int round;

	for (round = 0; round < 10; round++) {
		for (EACH(i, ordinary)) {
			check_destroy_after_broadcast(ordinary[i], true);
			check_destroy_after_broadcast(ordinary[i], false);
		}
	}
}

/* ----------------------------------------------------------------- wait -- */

static void check_releases_and_blocks(enum call call)
{
	struct thread waiter;
	struct scene scene;

	for (EACH(i, ordinary)) {
		make_scene(&scene, ordinary[i], call);
		start(&waiter, wait_in_scene, &scene);
		/* Takes the mutex, which the waiter doesn't give otherwise. */
		until_waiting(&scene.gate, 1);
		until_asleep(&waiter);
		CHECK_EQ(scene.returned, 0);
		permit(&scene.gate, 1);
		join(&waiter);
		CHECK_EQ(scene.returned, 1);
		OK(pthread_cond_destroy(&scene.gate.cond));
		OK(pthread_mutex_destroy(&scene.gate.mutex));
	}
}

CLAUSE(pthread_cond_wait__desc_1__releases_and_blocks,
       "it blocks on the condvar with the mutex released, and returns 0 with the mutex locked "
       "and owned when signalled")
{
	check_releases_and_blocks(WAIT);
}

CLAUSE(pthread_cond_timedwait__desc_1__releases_and_blocks,
       "it blocks on the condvar with the mutex released, and returns 0 with the mutex locked "
       "and owned when signalled")
{
	check_releases_and_blocks(TIMEDWAIT);
}

CLAUSE(pthread_cond_clockwait__desc_1__releases_and_blocks,
       "new in 2024, as is the whole call: it blocks on the condvar with the mutex released, and "
       "returns 0 with the mutex locked and owned when signalled")
{
	check_releases_and_blocks(CLOCKWAIT_REALTIME);
	check_releases_and_blocks(CLOCKWAIT_MONOTONIC);
}

struct turns {
	pthread_mutex_t mutex;
	pthread_cond_t conds[2];
	enum call call;
	int turn;
};

#define TURNS 400

static void take_turns(struct turns *turns, int mine)
{
	int i;

	for (i = 0; i < TURNS; i++) {
		OK(pthread_mutex_lock(&turns->mutex));
		while (turns->turn != mine)
			OK(wait_long(turns->call, &turns->conds[mine],
				     &turns->mutex));
		turns->turn = !mine;
		OK(pthread_mutex_unlock(&turns->mutex));
		/*
		 * One signal only, and by who has had the mutex after the
		 * other: were that one not blocked by then, both would hang.
		 */
		OK(pthread_cond_signal(&turns->conds[!mine]));
	}
}

static void *take_second_turns(void *argument)
{
	take_turns(argument, 1);
	return NULL;
}

static void check_atomic(enum call call)
{
	struct turns turns = { .call = call };
	struct thread other;
	int i;

	for (EACH(k, ordinary)) {
		turns.turn = 0;
		OK(make_mutex(&turns.mutex, ordinary[k]));
		for (i = 0; i < 2; i++)
			OK(pthread_cond_init(&turns.conds[i], NULL));
		start(&other, take_second_turns, &turns);
		take_turns(&turns, 0);
		join(&other);
	}
}

CLAUSE(pthread_cond_wait__desc_2__atomically,
       "release and block are one: a thread that gets the mutex after the waiter, and signals, "
       "finds it blocked")
{
	check_atomic(WAIT);
}

CLAUSE(pthread_cond_timedwait__desc_2__atomically,
       "release and block are one: a thread that gets the mutex after the waiter, and signals, "
       "finds it blocked")
{
	check_atomic(TIMEDWAIT);
}

CLAUSE(pthread_cond_clockwait__desc_2__atomically,
       "release and block are one: a thread that gets the mutex after the waiter, and signals, "
       "finds it blocked")
{
	check_atomic(CLOCKWAIT_REALTIME);
	check_atomic(CLOCKWAIT_MONOTONIC);
}

static void check_waits_for_the_mutex(enum call call)
{
	struct thread waiter;
	struct scene scene;

	for (EACH(i, ordinary)) {
		make_scene(&scene, ordinary[i], call);
		start(&waiter, wait_in_scene, &scene);
		until_waiting(&scene.gate, 1);
		OK(pthread_mutex_lock(&scene.gate.mutex));
		scene.gate.permits = 1;
		OK(pthread_cond_signal(&scene.gate.cond));
		sleep_ms(3);
		CHECK_EQ(scene.gate.passed, 0);
		OK(pthread_mutex_unlock(&scene.gate.mutex));
		join(&waiter);
		CHECK_EQ(scene.gate.passed, 1);
	}
}

CLAUSE(pthread_cond_wait__desc_3__waits_for_the_mutex,
       "who is awakened doesn't return before it has the mutex")
{
	check_waits_for_the_mutex(WAIT);
}

CLAUSE(pthread_cond_timedwait__desc_3__waits_for_the_mutex,
       "who is awakened doesn't return before it has the mutex")
{
	check_waits_for_the_mutex(TIMEDWAIT);
}

CLAUSE(pthread_cond_clockwait__desc_3__waits_for_the_mutex,
       "who is awakened doesn't return before it has the mutex")
{
	check_waits_for_the_mutex(CLOCKWAIT_MONOTONIC);
}

CLAUSE(pthread_cond_wait__desc_6__another_mutex_once_nobody_waits,
       "once nobody waits any more, the next may wait with another mutex")
{
	struct thread waiter;
	struct gate gate;

	make_gate(&gate, DEFAULT);
	for (EACH(i, ordinary)) {
		OK(make_mutex(&gate.mutex, ordinary[i]));
		start(&waiter, wait_for_permit, &gate);
		until_waiting(&gate, 1);
		permit(&gate, 1);
		join(&waiter);
		OK(pthread_mutex_destroy(&gate.mutex));
	}
}

CLAUSE(pthread_cond_wait__desc_6__several_condvars_one_mutex,
       "one mutex serves several condvars, and a signal to one wakes none of the others' waiters")
{
	struct timespec at = in_ms(CLOCK_REALTIME, 20);
	pthread_cond_t other = PTHREAD_COND_INITIALIZER;
	struct thread waiter;
	struct gate gate;
	int i;

	make_gate(&gate, DEFAULT);
	start(&waiter, wait_for_permit, &gate);
	until_waiting(&gate, 1);
	/* Had these woken it, the one below would be lost. */
	OK(pthread_mutex_lock(&gate.mutex));
	for (i = 0; i < 10; i++)
		OK(pthread_cond_broadcast(&other));
	until_timed_out(TIMEDWAIT, &other, &gate.mutex, &at);
	OK(pthread_mutex_unlock(&gate.mutex));
	until_asleep(&waiter);
	CHECK_EQ(gate.passed, 0);
	permit(&gate, 1);
	join(&waiter);
}

CLAUSE(pthread_cond_wait__desc_1__recursive_locked_once,
       "with a recursive mutex that is locked once, the wait releases it, and has it once again "
       "afterwards")
{
	struct thread waiter;
	struct gate gate;

	make_gate(&gate, RECURSIVE);
	start(&waiter, wait_for_permit, &gate);
	until_waiting(&gate, 1);
	/* Free: another thread locks it, and more than once. */
	OK(pthread_mutex_lock(&gate.mutex));
	OK(pthread_mutex_lock(&gate.mutex));
	gate.permits = 1;
	OK(pthread_cond_signal(&gate.cond));
	OK(pthread_mutex_unlock(&gate.mutex));
	sleep_ms(3);
	CHECK_EQ(gate.passed, 0);
	OK(pthread_mutex_unlock(&gate.mutex));
	join(&waiter);
	/* Its one unlock has freed it. */
	OK(pthread_mutex_lock(&gate.mutex));
	OK(pthread_mutex_unlock(&gate.mutex));
	CHECK_ERR(pthread_mutex_unlock(&gate.mutex), EPERM);
}

CLAUSE(pthread_cond_wait__desc_1__recursive_locked_more_than_once,
       "undefined with a recursive mutex that is locked more than once: glibc takes off one "
       "lock, and puts it back")
{
	struct timespec at = in_ms(CLOCK_REALTIME, 10);
	struct gate gate;
	int i;

	make_gate(&gate, RECURSIVE);
	for (i = 0; i < 3; i++)
		OK(pthread_mutex_lock(&gate.mutex));
	until_timed_out(TIMEDWAIT, &gate.cond, &gate.mutex, &at);
	for (i = 0; i < 3; i++) {
		check_locked(&gate.mutex);
		OK(pthread_mutex_unlock(&gate.mutex));
	}
	CHECK_ERR(pthread_mutex_unlock(&gate.mutex), EPERM);
	check_free(&gate.mutex);
}

static void check_eperm(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	enum call call;

	for (call = 0; call < CALLS; call++)
		CHECK_ERR(wait_long(call, cond, mutex), EPERM);
}

static void check_not_owned(pthread_mutex_t *mutex)
{
	struct held held;
	struct thread holder;
	pthread_cond_t cond;
	int shared;

	for (shared = 0; shared < 2; shared++) {
		make_cond(&cond, CLOCK_REALTIME, shared);
		check_eperm(&cond, mutex);
		/* Nor has that locked it. */
		check_free(mutex);
		/* The mutex is moved while it is free, as glibc allows. */
		held.mutex = *mutex;
		hold_made(&held, &holder);
		check_eperm(&cond, &held.mutex);
		CHECK_ERR(pthread_mutex_trylock(&held.mutex), EBUSY);
		let_go(&held, &holder);
		OK(pthread_cond_destroy(&cond));
	}
}

CLAUSE(pthread_cond_wait__err_EPERM__errorcheck,
       "the mutex is error-checking and not the caller's, but another's or nobody's; every call "
       "says so")
{
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, ERRORCHECK));
	check_not_owned(&mutex);
}

CLAUSE(pthread_cond_wait__err_EPERM__robust,
       "the mutex is robust, of whatever type, and not the caller's")
{
	pthread_mutex_t mutex;
	size_t type;

	for (type = 0; type < TYPES; type++) {
		make_robust(&mutex, types[type], false);
		check_not_owned(&mutex);
	}
}

CLAUSE(pthread_cond_wait__err_EPERM__recursive,
       "glibc's: the mutex is recursive and not the caller's")
{
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, RECURSIVE));
	check_not_owned(&mutex);
}

CLAUSE(pthread_cond_wait__err_EPERM__leaves_all_as_it_was,
       "an error from before the wait leaves condvar and mutex as they were, and consumes no "
       "signal")
{
	struct thread waiter;
	struct scene scene;

	make_scene(&scene, ERRORCHECK, WAIT);
	start(&waiter, wait_in_scene, &scene);
	until_waiting(&scene.gate, 1);
	check_eperm(&scene.gate.cond, &scene.gate.mutex);
	OK(pthread_mutex_lock(&scene.gate.mutex));
	scene.gate.permits = 1;
	OK(pthread_mutex_unlock(&scene.gate.mutex));
	OK(pthread_cond_signal(&scene.gate.cond));
	check_eperm(&scene.gate.cond, &scene.gate.mutex);
	join(&waiter);
}

CLAUSE(pthread_cond_wait__err_EINVAL__destroyed_mutex,
       "glibc's: the mutex is destroyed; there is nothing to wait for then")
{
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	enum call call;
	int shared;

	OK(make_mutex(&mutex, DEFAULT));
	OK(pthread_mutex_destroy(&mutex));
	for (shared = 0; shared < 2; shared++) {
		make_cond(&cond, CLOCK_REALTIME, shared);
		for (call = 0; call < CALLS; call++)
			CHECK_ERR(wait_long(call, &cond, &mutex), EINVAL);
	}
}

/* In the wait it doesn't hold the mutex, and runs at its own priority. */
static void *wait_below_the_ceiling(void *argument)
{
	struct gate *gate = argument;
	int least = sched_get_priority_min(SCHED_FIFO);

	OK(pthread_mutex_lock(&gate->mutex));
	CHECK_EQ(priority_of(gettid()), -1 - (least + 5));
	gate->waiting++;
	while (!gate->permits)
		OK(pthread_cond_wait(&gate->cond, &gate->mutex));
	CHECK_EQ(priority_of(gettid()), -1 - (least + 5));
	gate->passed++;
	OK(pthread_mutex_unlock(&gate->mutex));
	CHECK_EQ(priority_of(gettid()), -1 - least);
	return NULL;
}

CLAUSE(pthread_cond_wait__desc_1__protected_mutex,
       "with a priority-protected mutex, the wait gives back the mutex's ceiling, and has it "
       "again afterwards")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	struct thread waiter;
	struct gate gate;
	int shared;

	become_realtime(least);
	for (shared = 0; shared < 2; shared++) {
		make_gate(&gate, DEFAULT);
		make_protected(&gate.mutex, PTHREAD_MUTEX_NORMAL, least + 5);
		make_cond(&gate.cond, CLOCK_REALTIME, shared);
		start(&waiter, wait_below_the_ceiling, &gate);
		until_waiting(&gate, 1);
		until_asleep(&waiter);
		CHECK_EQ(priority_of(waiter.tid), -1 - least);
		permit(&gate, 1);
		join(&waiter);
		CHECK_EQ(gate.passed, 1);
	}
}

/* -------------------------------------------------- robust: owners that die -- */

struct robust_scene {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	enum call call;
	_Atomic int stage;
	int permits, wanted;
};

static void *signal_and_die(void *argument)
{
	struct robust_scene *scene = argument;

	OK(pthread_mutex_lock(&scene->mutex));
	scene->permits = 1;
	OK(pthread_cond_signal(&scene->cond));
	return NULL;
}

static void *wait_for_the_dead(void *argument)
{
	struct robust_scene *scene = argument;
	int error;

	OK(pthread_mutex_lock(&scene->mutex));
	scene->stage = 1;
	do
		error = wait_long(scene->call, &scene->cond, &scene->mutex);
	while (!error && !scene->permits);
	CHECK_ERR(error, scene->wanted);
	if (error == EOWNERDEAD) {
		/* The wait has ended with the mutex, all the same. */
		check_locked(&scene->mutex);
		OK(pthread_mutex_consistent(&scene->mutex));
		OK(pthread_mutex_unlock(&scene->mutex));
	} else {
		CHECK_ERR(pthread_mutex_unlock(&scene->mutex), EPERM);
	}
	return NULL;
}

static void check_eownerdead(enum call call)
{
	struct robust_scene scene = { .call = call, .wanted = EOWNERDEAD };
	struct thread waiter, dying;
	int shared;

	for (shared = 0; shared < 2; shared++) {
		make_robust(&scene.mutex, PTHREAD_MUTEX_DEFAULT, shared);
		make_cond(&scene.cond, CLOCK_REALTIME, shared);
		scene.stage = scene.permits = 0;
		start(&waiter, wait_for_the_dead, &scene);
		UNTIL(scene.stage);
		until_asleep(&waiter);
		start(&dying, signal_and_die, &scene);
		join(&dying);
		join(&waiter);
		check_free(&scene.mutex);
	}
}

CLAUSE(pthread_cond_wait__err_EOWNERDEAD__last_owner_died,
       "who had the robust mutex when the wait was to end has died; the caller has the mutex")
{
	check_eownerdead(WAIT);
}

CLAUSE(pthread_cond_timedwait__err_EOWNERDEAD__last_owner_died,
       "who had the robust mutex when the wait was to end has died; the caller has the mutex")
{
	check_eownerdead(TIMEDWAIT);
}

CLAUSE(pthread_cond_clockwait__err_EOWNERDEAD__last_owner_died,
       "who had the robust mutex when the wait was to end has died; the caller has the mutex")
{
	check_eownerdead(CLOCKWAIT_REALTIME);
	check_eownerdead(CLOCKWAIT_MONOTONIC);
}

static void check_enotrecoverable(enum call call)
{
	struct robust_scene scene = { .call = call, .wanted = ENOTRECOVERABLE };
	struct thread waiter;

	make_robust(&scene.mutex, PTHREAD_MUTEX_DEFAULT, false);
	OK(pthread_cond_init(&scene.cond, NULL));
	start(&waiter, wait_for_the_dead, &scene);
	UNTIL(scene.stage);
	until_asleep(&waiter);
	orphan(&scene.mutex);
	CHECK_ERR(pthread_mutex_lock(&scene.mutex), EOWNERDEAD);
	scene.permits = 1;
	OK(pthread_mutex_unlock(&scene.mutex));
	OK(pthread_cond_signal(&scene.cond));
	join(&waiter);
}

CLAUSE(pthread_cond_wait__err_ENOTRECOVERABLE__mutex_unusable,
       "the robust mutex has become unusable meanwhile; the caller doesn't have it")
{
	check_enotrecoverable(WAIT);
}

CLAUSE(pthread_cond_timedwait__err_ENOTRECOVERABLE__mutex_unusable,
       "the robust mutex has become unusable meanwhile; the caller doesn't have it")
{
	check_enotrecoverable(TIMEDWAIT);
}

CLAUSE(pthread_cond_clockwait__err_ENOTRECOVERABLE__mutex_unusable,
       "the robust mutex has become unusable meanwhile; the caller doesn't have it")
{
	check_enotrecoverable(CLOCKWAIT_MONOTONIC);
}

/* --------------------------------------------------------- cancellation -- */

static void cleanup(void *argument)
{
	struct scene *scene = argument;

	check_own(scene);
	scene->cleaned++;
	OK(pthread_mutex_unlock(&scene->gate.mutex));
}

static void *wait_to_be_cancelled(void *argument)
{
	struct scene *scene = argument;
	struct gate *gate = &scene->gate;

	OK(pthread_mutex_lock(&gate->mutex));
	pthread_cleanup_push(cleanup, scene);
	gate->waiting++;
	scene->stage = 1;
	while (!gate->permits)
		OK(wait_long(scene->call, &gate->cond, &gate->mutex));
	gate->permits--;
	gate->passed++;
	pthread_cleanup_pop(0);
	OK(pthread_mutex_unlock(&gate->mutex));
	scene->returned++;
	return NULL;
}

static void check_cancelled(struct scene *scene, struct thread *waiter)
{
	CHECK(join(waiter) == PTHREAD_CANCELED);
	CHECK_EQ(scene->cleaned, 1);
	CHECK_EQ(scene->returned, 0);
	check_free(&scene->gate.mutex);
	OK(pthread_cond_destroy(&scene->gate.cond));
	OK(pthread_mutex_destroy(&scene->gate.mutex));
}

static void check_cancel(enum call call)
{
	struct thread waiter;
	struct scene scene;

	for (EACH(i, ordinary)) {
		make_scene(&scene, ordinary[i], call);
		start(&waiter, wait_to_be_cancelled, &scene);
		UNTIL(scene.stage);
		until_asleep(&waiter);
		OK(pthread_cancel(waiter.pthread));
		check_cancelled(&scene, &waiter);
	}
}

CLAUSE(pthread_cond_wait__desc_7__cancelled_with_the_mutex,
       "it is a cancellation point, and has the mutex again before the first cleanup handler "
       "runs")
{
	check_cancel(WAIT);
}

CLAUSE(pthread_cond_timedwait__desc_7__cancelled_with_the_mutex,
       "it is a cancellation point, and has the mutex again before the first cleanup handler "
       "runs")
{
	check_cancel(TIMEDWAIT);
}

CLAUSE(pthread_cond_clockwait__desc_7__cancelled_with_the_mutex,
       "it is a cancellation point, and has the mutex again before the first cleanup handler "
       "runs")
{
	check_cancel(CLOCKWAIT_REALTIME);
	check_cancel(CLOCKWAIT_MONOTONIC);
}

CLAUSE(pthread_cond_wait__desc_7__cancelled_while_the_mutex_is_taken,
       "a thread that is cancelled while another has the mutex waits for that, and is cancelled "
       "then")
{
	struct thread waiter;
	struct scene scene;
	enum call call;

	for (EACH(i, ordinary)) {
		for (call = 0; call < CALLS; call++) {
			make_scene(&scene, ordinary[i], call);
			start(&waiter, wait_to_be_cancelled, &scene);
			UNTIL(scene.stage);
			OK(pthread_mutex_lock(&scene.gate.mutex));
			OK(pthread_cancel(waiter.pthread));
			sleep_ms(2);
			CHECK_EQ(scene.cleaned, 0);
			OK(pthread_mutex_unlock(&scene.gate.mutex));
			check_cancelled(&scene, &waiter);
		}
	}
}

static void *cancel_and_wait(void *argument)
{
	struct scene *scene = argument;

	OK(pthread_mutex_lock(&scene->gate.mutex));
	pthread_cleanup_push(cleanup, scene);
	OK(pthread_cancel(pthread_self()));
	wait_long(scene->call, &scene->gate.cond, &scene->gate.mutex);
	scene->returned++;
	pthread_cleanup_pop(0);
	return NULL;
}

CLAUSE(pthread_cond_wait__desc_7__pending_cancellation_acts,
       "a cancellation that is pending acts when the wait is called, with the mutex held")
{
	struct thread waiter;
	struct scene scene;
	enum call call;

	for (EACH(i, ordinary)) {
		for (call = 0; call < CALLS; call++) {
			make_scene(&scene, ordinary[i], call);
			start(&waiter, cancel_and_wait, &scene);
			check_cancelled(&scene, &waiter);
		}
	}
}

static void *wait_disabled(void *argument)
{
	int old;

	OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
	wait_to_be_cancelled(argument);
	OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
	pthread_testcancel();
	return NULL;
}

CLAUSE(pthread_cond_wait__desc_7__disabled_cancellation_waits,
       "it isn't cancelled while that is disabled, and the cancellation stays pending")
{
	struct thread waiter;
	struct scene scene;
	enum call call;

	for (call = 0; call < CALLS; call++) {
		make_scene(&scene, ERRORCHECK, call);
		start(&waiter, wait_disabled, &scene);
		UNTIL(scene.stage);
		until_asleep(&waiter);
		OK(pthread_cancel(waiter.pthread));
		sleep_ms(5);
		CHECK_EQ(scene.cleaned, 0);
		permit(&scene.gate, 1);
		CHECK(join(&waiter) == PTHREAD_CANCELED);
		CHECK_EQ(scene.returned, 1);
	}
}

/* The cancelled one is signalled at about the same time. */
static void check_cancel_consumes_nothing(enum kind kind, enum call call)
{
	struct thread waiters[2];
	struct scene scene;
	int i, round;

	for (round = 0; round < 60; round++) {
		make_scene(&scene, kind, call);
		for (i = 0; i < 2; i++)
			start(&waiters[i], wait_to_be_cancelled, &scene);
		until_waiting(&scene.gate, 2);
		OK(pthread_mutex_lock(&scene.gate.mutex));
		scene.gate.permits = 1;
		if (round % 3 == 0)
			OK(pthread_mutex_unlock(&scene.gate.mutex));
		if (round % 2)
			OK(pthread_cancel(waiters[0].pthread));
		OK(pthread_cond_signal(&scene.gate.cond));
		if (!(round % 2))
			OK(pthread_cancel(waiters[0].pthread));
		if (round % 3)
			OK(pthread_mutex_unlock(&scene.gate.mutex));
		/* One of them comes for it: or else the signal is lost. */
		UNTIL(passed(&scene.gate) == 1);
		permit(&scene.gate, 1);
		for (i = 0; i < 2; i++)
			join(&waiters[i]);
	}
}

CLAUSE(pthread_cond_wait__desc_8__cancelled_consumes_no_signal,
       "a thread that is cancelled consumes no signal that another waiter could have had")
{
	check_cancel_consumes_nothing(DEFAULT, WAIT);
	check_cancel_consumes_nothing(ERRORCHECK, WAIT);
	check_cancel_consumes_nothing(PSHARED, WAIT);
}

CLAUSE(pthread_cond_timedwait__desc_8__cancelled_consumes_no_signal,
       "a thread that is cancelled consumes no signal that another waiter could have had")
{
	check_cancel_consumes_nothing(DEFAULT, TIMEDWAIT);
	check_cancel_consumes_nothing(RECURSIVE, TIMEDWAIT);
}

CLAUSE(pthread_cond_clockwait__desc_8__cancelled_consumes_no_signal,
       "a thread that is cancelled consumes no signal that another waiter could have had")
{
	check_cancel_consumes_nothing(DEFAULT, CLOCKWAIT_MONOTONIC);
	check_cancel_consumes_nothing(ROBUST, CLOCKWAIT_REALTIME);
}

/* ------------------------------------------------------------ deadlines -- */

static void check_times_out(enum call call, clockid_t condvars)
{
	clockid_t clock = call == TIMEDWAIT ? condvars : clock_of(call);
	struct timespec at;
	struct scene scene;
	int64_t took;

	for (EACH(i, ordinary)) {
		make_scene(&scene, ordinary[i], call);
		make_cond(&scene.gate.cond, condvars, false);
		OK(pthread_mutex_lock(&scene.gate.mutex));
		at = in_ms(clock, 10);
		took = -now_ns(CLOCK_MONOTONIC);
		errno = 4711;
		until_timed_out(call, &scene.gate.cond, &scene.gate.mutex, &at);
		CHECK_EQ(errno, 4711);
		CHECK(now_ns(clock) >= at.tv_sec * NS_PER_S + at.tv_nsec);
		took += now_ns(CLOCK_MONOTONIC);
		CHECK(took < LATE_MS * NS_PER_MS);
		check_own(&scene);
		OK(pthread_mutex_unlock(&scene.gate.mutex));
		check_free(&scene.gate.mutex);
	}
}

CLAUSE(pthread_cond_timedwait__err_ETIMEDOUT__at_the_deadline,
       "the deadline is reached, and not before, without a signal; the caller has the mutex")
{
	check_times_out(TIMEDWAIT, CLOCK_REALTIME);
}

CLAUSE(pthread_cond_timedwait__desc_10__on_the_condvars_clock,
       "the deadline is a time of the clock that the condvar's attributes say")
{
	check_times_out(TIMEDWAIT, CLOCK_MONOTONIC);
}

CLAUSE(pthread_cond_clockwait__err_ETIMEDOUT__at_the_deadline,
       "the deadline is reached, and not before, without a signal; the caller has the mutex")
{
	check_times_out(CLOCKWAIT_REALTIME, CLOCK_REALTIME);
	check_times_out(CLOCKWAIT_MONOTONIC, CLOCK_MONOTONIC);
}

CLAUSE(pthread_cond_clockwait__desc_10__on_the_calls_clock,
       "the deadline is a time of the clock that the call names, whatever the condvar's "
       "attributes say")
{
	check_times_out(CLOCKWAIT_REALTIME, CLOCK_MONOTONIC);
	check_times_out(CLOCKWAIT_MONOTONIC, CLOCK_REALTIME);
}

static void check_past(enum call call)
{
	const struct timespec past[] = {
		in_ms(clock_of(call), -1), in_ms(clock_of(call), -5000),
		{ 0, 0 }, { 0, 999999999 }, { -1, 0 }, { -1, 999999999 },
		{ INT_MIN, 1 }, { LONG_MIN, 0 },
	};
	struct scene scene;
	int shared;

	for (EACH(i, ordinary)) {
		for (shared = 0; shared < 2; shared++) {
			make_scene(&scene, ordinary[i], call);
			make_cond(&scene.gate.cond, CLOCK_REALTIME, shared);
			OK(pthread_mutex_lock(&scene.gate.mutex));
			for (EACH(j, past))
				until_timed_out(call, &scene.gate.cond,
						&scene.gate.mutex, &past[j]);
			check_own(&scene);
			OK(pthread_mutex_unlock(&scene.gate.mutex));
		}
	}
}

CLAUSE(pthread_cond_timedwait__desc_9__deadline_already_passed,
       "a deadline that has passed before the call, be it before the clock's beginning, is "
       "reached")
{
	check_past(TIMEDWAIT);
}

CLAUSE(pthread_cond_clockwait__desc_9__deadline_already_passed,
       "a deadline that has passed before the call, be it before the clock's beginning, is "
       "reached")
{
	check_past(CLOCKWAIT_REALTIME);
	check_past(CLOCKWAIT_MONOTONIC);
}

struct far {
	struct gate gate;
	struct timespec at;
	enum call call;
};

static void *wait_until_far(void *argument)
{
	struct far *far = argument;
	struct gate *gate = &far->gate;

	OK(pthread_mutex_lock(&gate->mutex));
	gate->waiting++;
	while (!gate->permits)
		OK(wait_until(far->call, &gate->cond, &gate->mutex, &far->at));
	gate->passed++;
	OK(pthread_mutex_unlock(&gate->mutex));
	return NULL;
}

static void check_far(enum call call)
{
	static const struct timespec farthest[] = {
		{ LONG_MAX, 999999999 }, { LONG_MAX, 0 },
		{ LONG_MAX / NS_PER_S, 999999999 },
		{ LONG_MAX / NS_PER_S + 1, 0 }, { 1L << 40, 0 },
		{ (long)UINT_MAX + 1, 0 },
	};
	struct far far = { .call = call };
	struct thread waiter;

	for (EACH(i, farthest)) {
		far.at = farthest[i];
		make_gate(&far.gate, ordinary[i]);
		make_cond(&far.gate.cond, clock_of(call), i % 2);
		start(&waiter, wait_until_far, &far);
		until_waiting(&far.gate, 1);
		until_asleep(&waiter);
		sleep_ms(2);
		CHECK(is_asleep(waiter.tid));
		permit(&far.gate, 1);
		join(&waiter);
	}
}

CLAUSE(pthread_cond_timedwait__desc_9__far_deadline_isnt_reached,
       "a deadline as far off as there is isn't reached, whatever that comes to in nanoseconds")
{
	check_far(TIMEDWAIT);
}

CLAUSE(pthread_cond_clockwait__desc_9__far_deadline_isnt_reached,
       "a deadline as far off as there is isn't reached, whatever that comes to in nanoseconds")
{
	check_far(CLOCKWAIT_REALTIME);
	check_far(CLOCKWAIT_MONOTONIC);
}

static void *get_in(void *argument)
{
	struct scene *scene = argument;

	scene->stage = 1;
	OK(pthread_mutex_lock(&scene->gate.mutex));
	scene->gate.passed = 1;
	OK(pthread_mutex_unlock(&scene->gate.mutex));
	return NULL;
}

static void check_lets_others_in(enum call call)
{
	struct timespec past = in_ms(clock_of(call), -1000);
	struct thread other;
	struct scene scene;

	for (EACH(i, ordinary)) {
		make_scene(&scene, ordinary[i], call);
		OK(pthread_mutex_lock(&scene.gate.mutex));
		start(&other, get_in, &scene);
		UNTIL(scene.stage);
		/* It has the mutex all the time, but for these calls. */
		while (!scene.gate.passed)
			until_timed_out(call, &scene.gate.cond,
					&scene.gate.mutex, &past);
		OK(pthread_mutex_unlock(&scene.gate.mutex));
		join(&other);
	}
}

CLAUSE(pthread_cond_timedwait__desc_11__releases_past_the_deadline,
       "a wait whose deadline has passed before releases the mutex and takes it again none the "
       "less")
{
	check_lets_others_in(TIMEDWAIT);
}

CLAUSE(pthread_cond_clockwait__desc_11__releases_past_the_deadline,
       "a wait whose deadline has passed before releases the mutex and takes it again none the "
       "less")
{
	check_lets_others_in(CLOCKWAIT_REALTIME);
	check_lets_others_in(CLOCKWAIT_MONOTONIC);
}

static void *time_out_late(void *argument)
{
	struct scene *scene = argument;
	struct timespec at;

	OK(pthread_mutex_lock(&scene->gate.mutex));
	at = in_ms(clock_of(scene->call), 10);
	scene->stage = 1;
	until_timed_out(scene->call, &scene->gate.cond, &scene->gate.mutex,
			&at);
	scene->gate.passed = 1;
	OK(pthread_mutex_unlock(&scene->gate.mutex));
	return NULL;
}

/* Whether this thread had the mutex before the deadline, and kept it past it. */
static bool times_out_late(enum kind kind, enum call call)
{
	struct thread waiter;
	struct scene scene;
	bool in_time;

	make_scene(&scene, kind, call);
	start(&waiter, time_out_late, &scene);
	UNTIL(scene.stage);
	OK(pthread_mutex_lock(&scene.gate.mutex));
	/* A busy machine may have kept this thread off till then. */
	in_time = !scene.gate.passed;
	sleep_ms(15);
	CHECK_EQ(scene.gate.passed, !in_time);
	OK(pthread_mutex_unlock(&scene.gate.mutex));
	join(&waiter);
	CHECK_EQ(scene.gate.passed, 1);
	return in_time;
}

static void check_times_out_late(enum call call)
{
	for (EACH(i, ordinary))
		UNTIL(times_out_late(ordinary[i], call));
}

CLAUSE(pthread_cond_timedwait__desc_11__waits_for_the_mutex,
       "a wait that has timed out has the mutex when it returns, however long past the deadline "
       "that is")
{
	check_times_out_late(TIMEDWAIT);
}

CLAUSE(pthread_cond_clockwait__desc_11__waits_for_the_mutex,
       "a wait that has timed out has the mutex when it returns, however long past the deadline "
       "that is")
{
	check_times_out_late(CLOCKWAIT_MONOTONIC);
}

static void check_bad_nanoseconds(enum call call)
{
	struct timespec at;
	struct scene scene;
	int shared;

	for (EACH(i, ordinary)) {
		for (shared = 0; shared < 2; shared++) {
			make_scene(&scene, ordinary[i], call);
			make_cond(&scene.gate.cond, CLOCK_REALTIME, shared);
			OK(pthread_mutex_lock(&scene.gate.mutex));
			for (EACH(j, bad_nanoseconds)) {
				at = in_ms(clock_of(call), 1000);
				at.tv_nsec = bad_nanoseconds[j];
				CHECK_ERR(wait_until(call, &scene.gate.cond,
						     &scene.gate.mutex, &at),
					  EINVAL);
				at.tv_sec = -1;
				CHECK_ERR(wait_until(call, &scene.gate.cond,
						     &scene.gate.mutex, &at),
					  EINVAL);
			}
			check_own(&scene);
			OK(pthread_mutex_unlock(&scene.gate.mutex));
		}
	}
}

CLAUSE(pthread_cond_timedwait__err_EINVAL__bad_nanoseconds,
       "the nanoseconds are negative or a second and more; the caller has the mutex")
{
	check_bad_nanoseconds(TIMEDWAIT);
}

CLAUSE(pthread_cond_clockwait__err_EINVAL__bad_nanoseconds,
       "the nanoseconds are negative or a second and more; the caller has the mutex")
{
	check_bad_nanoseconds(CLOCKWAIT_REALTIME);
	check_bad_nanoseconds(CLOCKWAIT_MONOTONIC);
}

CLAUSE(pthread_cond_clockwait__err_EINVAL__bad_clock,
       "the clock is none that can be waited on; the caller has the mutex")
{
	struct timespec at = in_ms(CLOCK_MONOTONIC, 1000);
	struct scene scene;
	int shared;

	for (EACH(i, ordinary)) {
		for (shared = 0; shared < 2; shared++) {
			make_scene(&scene, ordinary[i], CLOCKWAIT_REALTIME);
			make_cond(&scene.gate.cond, CLOCK_REALTIME, shared);
			OK(pthread_mutex_lock(&scene.gate.mutex));
			for (EACH(j, bad_clocks))
				CHECK_ERR(pthread_cond_clockwait(
						  &scene.gate.cond,
						  &scene.gate.mutex,
						  bad_clocks[j], &at),
					  EINVAL);
			check_own(&scene);
			OK(pthread_mutex_unlock(&scene.gate.mutex));
		}
	}
}

/* -------------------------------------------------------------- signals -- */

static void check_storm(enum call call)
{
	struct thread waiter;
	struct scene scene;
	struct storm storm;

	for (EACH(i, ordinary)) {
		make_scene(&scene, ordinary[i], call);
		handled = 0;
		start(&waiter, wait_in_scene, &scene);
		until_waiting(&scene.gate, 1);
		begin_storm(&storm, &waiter);
		end_storm(&storm);
		CHECK_EQ(scene.returned, 0);
		permit(&scene.gate, 1);
		join(&waiter);
	}
}

CLAUSE(pthread_cond_wait__desc_12__handlers_cause_no_error,
       "when a signal handler returns the thread waits on or returns 0 as if awakened for no "
       "reason, and never EINTR")
{
	check_storm(WAIT);
}

CLAUSE(pthread_cond_timedwait__desc_12__handlers_cause_no_error,
       "when a signal handler returns the thread waits on or returns 0 as if awakened for no "
       "reason, and never EINTR")
{
	check_storm(TIMEDWAIT);
}

CLAUSE(pthread_cond_clockwait__desc_12__handlers_cause_no_error,
       "when a signal handler returns the thread waits on or returns 0 as if awakened for no "
       "reason, and never EINTR")
{
	check_storm(CLOCKWAIT_REALTIME);
	check_storm(CLOCKWAIT_MONOTONIC);
}

struct stormy {
	struct scene scene;
	_Atomic bool done, over;
};

static void *time_out_in_storm(void *argument)
{
	struct stormy *stormy = argument;
	struct scene *scene = &stormy->scene;
	struct timespec at = in_ms(clock_of(scene->call), 40);
	int error = 0;

	OK(pthread_mutex_lock(&scene->gate.mutex));
	while (!error)
		error = wait_until(scene->call, &scene->gate.cond,
				   &scene->gate.mutex, &at);
	CHECK_ERR(error, ETIMEDOUT);
	CHECK(now_ns(clock_of(scene->call)) >=
	      at.tv_sec * NS_PER_S + at.tv_nsec);
	OK(pthread_mutex_unlock(&scene->gate.mutex));
	stormy->done = true;
	UNTIL(stormy->over);
	return NULL;
}

static void check_deadline_in_a_storm(enum call call)
{
	struct stormy stormy = { .done = false };
	struct thread waiter;
	struct storm storm;

	make_scene(&stormy.scene, DEFAULT, call);
	handled = 0;
	handle_with(SIGUSR1, count_signal);
	start(&waiter, time_out_in_storm, &stormy);
	begin_storm(&storm, &waiter);
	UNTIL(stormy.done);
	end_storm(&storm);
	stormy.over = true;
	join(&waiter);
}

CLAUSE(pthread_cond_timedwait__desc_12__handlers_dont_move_the_deadline,
       "signal handlers move the deadline neither forth nor back")
{
	check_deadline_in_a_storm(TIMEDWAIT);
}

CLAUSE(pthread_cond_clockwait__desc_12__handlers_dont_move_the_deadline,
       "signal handlers move the deadline neither forth nor back")
{
	check_deadline_in_a_storm(CLOCKWAIT_REALTIME);
	check_deadline_in_a_storm(CLOCKWAIT_MONOTONIC);
}

/* ------------------------------------------------- signal and broadcast -- */

#define WAITERS 6

static void start_waiters(struct gate *gate, struct thread *waiters)
{
	int i;

	for (i = 0; i < WAITERS; i++)
		start(&waiters[i], wait_for_permit, gate);
	until_waiting(gate, WAITERS);
}

static void join_waiters(struct gate *gate, struct thread *waiters)
{
	int i;

	for (i = 0; i < WAITERS; i++)
		join(&waiters[i]);
	CHECK_EQ(gate->passed, WAITERS);
	OK(pthread_cond_destroy(&gate->cond));
	OK(pthread_mutex_destroy(&gate->mutex));
}

static void check_signals(bool held, bool shared)
{
	struct thread waiters[WAITERS];
	struct gate gate;
	int i;

	for (EACH(k, ordinary)) {
		make_gate(&gate, ordinary[k]);
		make_cond(&gate.cond, CLOCK_REALTIME, shared);
		start_waiters(&gate, waiters);
		for (i = 0; i < WAITERS; i++) {
			OK(pthread_mutex_lock(&gate.mutex));
			gate.permits++;
			if (!held)
				OK(pthread_mutex_unlock(&gate.mutex));
			OK(pthread_cond_signal(&gate.cond));
			if (held)
				OK(pthread_mutex_unlock(&gate.mutex));
			UNTIL(passed(&gate) == i + 1);
		}
		join_waiters(&gate, waiters);
	}
}

CLAUSE(pthread_cond_signal__desc_2__unblocks_one_at_least,
       "it unblocks one waiter at least, called with the mutex")
{
	check_signals(true, false);
	check_signals(true, true);
}

CLAUSE(pthread_cond_signal__desc_4__without_the_mutex, "and called without it")
{
	check_signals(false, false);
	check_signals(false, true);
}

CLAUSE(pthread_cond_signal__desc_2__each_unblocks_another,
       "as many signals as there are waiters, one right after the other, unblock them all")
{
	struct thread waiters[WAITERS];
	struct gate gate;
	int i, held;

	for (EACH(k, ordinary)) {
		for (held = 0; held < 2; held++) {
			make_gate(&gate, ordinary[k]);
			start_waiters(&gate, waiters);
			OK(pthread_mutex_lock(&gate.mutex));
			gate.permits = WAITERS;
			if (!held)
				OK(pthread_mutex_unlock(&gate.mutex));
			for (i = 0; i < WAITERS; i++)
				OK(pthread_cond_signal(&gate.cond));
			if (held)
				OK(pthread_mutex_unlock(&gate.mutex));
			join_waiters(&gate, waiters);
		}
	}
}

/* Signals whoever waits now, and waits itself. */
static void *signal_and_wait(void *argument)
{
	struct gate *gate = argument;

	OK(pthread_mutex_lock(&gate->mutex));
	gate->permits = 1;
	OK(pthread_cond_signal(&gate->cond));
	while (gate->permits)
		OK(pthread_cond_wait(&gate->cond, &gate->mutex));
	OK(pthread_mutex_unlock(&gate->mutex));
	return NULL;
}

static void *take_and_signal(void *argument)
{
	struct gate *gate = argument;

	OK(pthread_mutex_lock(&gate->mutex));
	gate->waiting = 1;
	while (!gate->permits)
		OK(pthread_cond_wait(&gate->cond, &gate->mutex));
	gate->permits = 0;
	OK(pthread_cond_signal(&gate->cond));
	OK(pthread_mutex_unlock(&gate->mutex));
	return NULL;
}

CLAUSE(pthread_cond_signal__desc_2__later_waiters_dont_take_it,
       "in so many words since 2024: it unblocks one of those that were blocked by then: who "
       "begins to wait later can't take the signal from them")
{
	struct thread earlier, later;
	struct gate gate;
	int round;

	for (round = 0; round < 100; round++) {
		make_gate(&gate, ordinary[round % 6]);
		start(&earlier, take_and_signal, &gate);
		until_waiting(&gate, 1);
		start(&later, signal_and_wait, &gate);
		join(&earlier);
		join(&later);
	}
}

CLAUSE(pthread_cond_signal__desc_5__without_waiters,
       "it has no effect when nobody waits: it isn't kept for later")
{
	struct timespec at;
	struct gate gate;
	int i;

	make_gate(&gate, DEFAULT);
	errno = 4711;
	for (i = 0; i < 5; i++)
		OK(pthread_cond_signal(&gate.cond));
	CHECK_EQ(errno, 4711);
	OK(pthread_mutex_lock(&gate.mutex));
	at = in_ms(CLOCK_REALTIME, 20);
	/* No more than a few returns for no reason. */
	until_timed_out(TIMEDWAIT, &gate.cond, &gate.mutex, &at);
	OK(pthread_mutex_unlock(&gate.mutex));
}

struct rank {
	struct gate *gate;
	int place;
};

static void *take_place(void *argument)
{
	struct rank *rank = argument;
	struct gate *gate = rank->gate;

	OK(pthread_mutex_lock(&gate->mutex));
	gate->waiting++;
	while (!gate->permits)
		OK(pthread_cond_wait(&gate->cond, &gate->mutex));
	gate->permits--;
	rank->place = gate->passed++;
	OK(pthread_mutex_unlock(&gate->mutex));
	return NULL;
}

static void check_ranks(bool shared)
{
	int least = sched_get_priority_min(SCHED_FIFO);
	struct thread waiters[3];
	struct rank ranks[3];
	struct gate gate;
	int i;

	for (EACH(k, ordinary)) {
		make_gate(&gate, ordinary[k]);
		make_cond(&gate.cond, CLOCK_REALTIME, shared);
		for (i = 0; i < 3; i++) {
			ranks[i] = (struct rank){ &gate, -1 };
			become_realtime(least + i);
			start(&waiters[i], take_place, &ranks[i]);
			until_waiting(&gate, i + 1);
			until_asleep(&waiters[i]);
		}
		become_realtime(least + 9);
		for (i = 0; i < 3; i++) {
			OK(pthread_mutex_lock(&gate.mutex));
			gate.permits++;
			OK(pthread_cond_signal(&gate.cond));
			OK(pthread_mutex_unlock(&gate.mutex));
			UNTIL(passed(&gate) > i);
		}
		for (i = 0; i < 3; i++)
			join(&waiters[i]);
		for (i = 0; i < 3; i++)
			if (ranks[i].place != 2 - i)
				FAIL("%s: waiter %d was number %d",
				     kind_names[ordinary[k]], i, ranks[i].place);
	}
}

CLAUSE(pthread_cond_signal__desc_3__by_priority,
       "of real-time threads that wait, the one with the highest priority is unblocked first, "
       "however late it came")
{
	check_ranks(false);
	check_ranks(true);
}

static void check_broadcast(bool held, bool shared)
{
	struct thread waiters[WAITERS];
	struct gate gate;

	for (EACH(k, ordinary)) {
		make_gate(&gate, ordinary[k]);
		make_cond(&gate.cond, CLOCK_REALTIME, shared);
		start_waiters(&gate, waiters);
		OK(pthread_mutex_lock(&gate.mutex));
		gate.open = true;
		if (!held)
			OK(pthread_mutex_unlock(&gate.mutex));
		OK(pthread_cond_broadcast(&gate.cond));
		if (held)
			OK(pthread_mutex_unlock(&gate.mutex));
		join_waiters(&gate, waiters);
	}
}

CLAUSE(pthread_cond_broadcast__desc_1__unblocks_all,
       "it unblocks all waiters, called with the mutex")
{
	check_broadcast(true, false);
	check_broadcast(true, true);
}

CLAUSE(pthread_cond_broadcast__desc_4__without_the_mutex, "and called without it")
{
	check_broadcast(false, false);
	check_broadcast(false, true);
}

struct crowd {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	_Atomic int next;
	int waiting, inside, passed;
	bool open;
};

static void *wait_in_crowd(void *argument)
{
	struct crowd *crowd = argument;
	enum call call = crowd->next++ % CALLS;

	OK(pthread_mutex_lock(&crowd->mutex));
	crowd->waiting++;
	while (!crowd->open)
		OK(wait_long(call, &crowd->cond, &crowd->mutex));
	CHECK_EQ(crowd->inside++, 0);
	sched_yield();
	CHECK_EQ(--crowd->inside, 0);
	crowd->passed++;
	OK(pthread_mutex_unlock(&crowd->mutex));
	return NULL;
}

CLAUSE(pthread_cond_broadcast__desc_3__one_has_the_mutex_at_a_time,
       "those that it unblocks have the mutex one after the other, as if each had locked it, by "
       "whichever call they wait")
{
	struct crowd crowd;
	struct thread waiters[16];
	int i, waiting;

	for (EACH(k, ordinary)) {
		crowd = (struct crowd){ .cond = PTHREAD_COND_INITIALIZER };
		OK(make_mutex(&crowd.mutex, ordinary[k]));
		for (i = 0; i < 16; i++)
			start(&waiters[i], wait_in_crowd, &crowd);
		do {
			usleep(200);
			OK(pthread_mutex_lock(&crowd.mutex));
			waiting = crowd.waiting;
			OK(pthread_mutex_unlock(&crowd.mutex));
		} while (waiting != 16);
		OK(pthread_mutex_lock(&crowd.mutex));
		crowd.open = true;
		OK(pthread_cond_broadcast(&crowd.cond));
		OK(pthread_mutex_unlock(&crowd.mutex));
		for (i = 0; i < 16; i++)
			join(&waiters[i]);
		CHECK_EQ(crowd.passed, 16);
	}
}

CLAUSE(pthread_cond_broadcast__desc_5__without_waiters,
       "it has no effect when nobody waits: it isn't kept for later")
{
	struct timespec at;
	struct gate gate;
	int i;

	make_gate(&gate, DEFAULT);
	errno = 4711;
	for (i = 0; i < 5; i++)
		OK(pthread_cond_broadcast(&gate.cond));
	CHECK_EQ(errno, 4711);
	OK(pthread_mutex_lock(&gate.mutex));
	at = in_ms(CLOCK_REALTIME, 20);
	until_timed_out(TIMEDWAIT, &gate.cond, &gate.mutex, &at);
	OK(pthread_mutex_unlock(&gate.mutex));
}

static void *broadcast_later(void *argument)
{
	struct gate *gate = argument;

	OK(pthread_mutex_lock(&gate->mutex));
	gate->open = true;
	OK(pthread_mutex_unlock(&gate->mutex));
	/* In a thread that never waits for it and has no lock. */
	OK(pthread_cond_broadcast(&gate->cond));
	return NULL;
}

CLAUSE(pthread_cond_broadcast__desc_4__is_no_cancellation_point,
       "neither is a cancellation point: a thread with a cancellation pending comes through both")
{
	struct thread waiters[WAITERS], broadcaster;
	struct gate gate;

	make_gate(&gate, DEFAULT);
	start_waiters(&gate, waiters);
	OK(pthread_mutex_lock(&gate.mutex));
	start(&broadcaster, broadcast_later, &gate);
	until_asleep(&broadcaster);
	OK(pthread_cancel(broadcaster.pthread));
	OK(pthread_mutex_unlock(&gate.mutex));
	CHECK(join(&broadcaster) == NULL);
	join_waiters(&gate, waiters);
}
