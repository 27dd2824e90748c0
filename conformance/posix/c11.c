/* XSH (2024), the pages of <threads.h>: mutexes and condition variables of C11. */
#include "clause.h"
#include "mutexes.h"

#include <threads.h>

static const int all_types[] = {
	mtx_plain, mtx_timed, mtx_plain | mtx_recursive,
	mtx_timed | mtx_recursive,
};

#define IS(call, wanted) CHECK_EQ(call, thrd_##wanted)

static void make(mtx_t *mutex, int type)
{
	IS(mtx_init(mutex, type), success);
}

static void *try_busy(void *mutex)
{
	IS(mtx_trylock(mutex), busy);
	return NULL;
}

static void check_taken(mtx_t *mutex)
{
	struct thread other;

	start(&other, try_busy, mutex);
	join(&other);
}

static void *lock_once(void *mutex)
{
	IS(mtx_lock(mutex), success);
	IS(mtx_unlock(mutex), success);
	return NULL;
}

static void check_not_taken(mtx_t *mutex)
{
	struct thread other;

	start(&other, lock_once, mutex);
	join(&other);
}

/* --------------------------------------------------------------- mutexes -- */

CLAUSE(mtx_init__desc_1__every_type,
       "C11, and with the other calls of threads.h in POSIX since 2024: it makes a mutex of each "
       "type that there is, free, whatever the memory held, and returns thrd_success")
{
	static const int fills[] = { 0x00, 0xff, 0xa5 };
	mtx_t mutex;

	errno = 4711;
	for (EACH(i, all_types)) {
		for (EACH(j, fills)) {
			memset(&mutex, fills[j], sizeof(mutex));
			make(&mutex, all_types[i]);
			IS(mtx_trylock(&mutex), success);
			check_taken(&mutex);
			IS(mtx_unlock(&mutex), success);
			check_not_taken(&mutex);
			mtx_destroy(&mutex);
		}
	}
	CHECK_EQ(errno, 4711);
}

CLAUSE(mtx_init__desc_1__recursive_or_not,
       "a mutex with mtx_recursive is recursive, one without isn't")
{
	mtx_t mutex;

	for (EACH(i, all_types)) {
		make(&mutex, all_types[i]);
		IS(mtx_lock(&mutex), success);
		if (all_types[i] & mtx_recursive) {
			IS(mtx_trylock(&mutex), success);
			IS(mtx_unlock(&mutex), success);
		} else {
			IS(mtx_trylock(&mutex), busy);
		}
		check_taken(&mutex);
		IS(mtx_unlock(&mutex), success);
		check_not_taken(&mutex);
	}
}

CLAUSE(mtx_destroy__desc_1__can_be_made_anew, "a destroyed mutex can be made anew, of another type")
{
	mtx_t mutex;

	errno = 4711;
	for (EACH(i, all_types)) {
		for (EACH(j, all_types)) {
			make(&mutex, all_types[i]);
			IS(mtx_lock(&mutex), success);
			IS(mtx_unlock(&mutex), success);
			mtx_destroy(&mutex);
			make(&mutex, all_types[j]);
			IS(mtx_lock(&mutex), success);
			if (all_types[j] & mtx_recursive) {
				IS(mtx_trylock(&mutex), success);
				IS(mtx_unlock(&mutex), success);
			} else {
				IS(mtx_trylock(&mutex), busy);
			}
			IS(mtx_unlock(&mutex), success);
			mtx_destroy(&mutex);
		}
	}
	CHECK_EQ(errno, 4711);
}

struct object {
	mtx_t mutex;
	int references;
};

static void *drop_reference(void *argument)
{
	struct object *object = argument;
	int left;

	IS(mtx_lock(&object->mutex), success);
	left = --object->references;
	IS(mtx_unlock(&object->mutex), success);
	if (left)
		return NULL;
	mtx_destroy(&object->mutex);
	CHECK(!munmap(object, 4096));
	return NULL;
}

CLAUSE(mtx_destroy__desc_1__at_once_after_the_unlock,
       "it can be destroyed at once by who got it last, while others return from its unlock")
{
	struct thread threads[3];
	struct object *object;
	int i, round;

	for (round = 0; round < 60; round++) {
		object = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(object != MAP_FAILED);
		make(&object->mutex, all_types[round % 4]);
		object->references = 3;
		IS(mtx_lock(&object->mutex), success);
		for (i = 0; i < 3; i++)
			start(&threads[i], drop_reference, object);
		IS(mtx_unlock(&object->mutex), success);
		for (i = 0; i < 3; i++)
			join(&threads[i]);
	}
}

struct entry {
	mtx_t mutex;
	int (*lock)(mtx_t *mutex);
	_Atomic int entered;
};

static void *enter(void *argument)
{
	struct entry *entry = argument;

	errno = 4712;
	IS(entry->lock(&entry->mutex), success);
	CHECK_EQ(errno, 4712);
	CHECK_EQ(entry->entered++ % 2, 0);
	sched_yield();
	CHECK_EQ(entry->entered++ % 2, 1);
	IS(mtx_unlock(&entry->mutex), success);
	return NULL;
}

static int lock_far(mtx_t *mutex)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 15000);

	return mtx_timedlock(mutex, &at);
}

static void check_blocks(int (*lock)(mtx_t *mutex))
{
	struct thread waiters[3];
	struct entry entry = { .lock = lock };
	int i;

	for (EACH(t, all_types)) {
		entry.entered = 0;
		make(&entry.mutex, all_types[t]);
		IS(mtx_lock(&entry.mutex), success);
		for (i = 0; i < 3; i++)
			start(&waiters[i], enter, &entry);
		for (i = 0; i < 3; i++)
			until_asleep(&waiters[i]);
		CHECK_EQ(entry.entered, 0);
		IS(mtx_unlock(&entry.mutex), success);
		for (i = 0; i < 3; i++)
			join(&waiters[i]);
		CHECK_EQ(entry.entered, 6);
		mtx_destroy(&entry.mutex);
	}
}

CLAUSE(mtx_lock__desc_1__blocks_until_available,
       "it blocks until it has locked the mutex, which one thread has at a time")
{
	check_blocks(mtx_lock);
}

static void check_counts(int (*lock)(mtx_t *mutex))
{
	mtx_t mutex;
	int i;

	make(&mutex, mtx_timed | mtx_recursive);
	for (i = 0; i < 4; i++)
		IS(lock(&mutex), success);
	for (i = 0; i < 4; i++) {
		check_taken(&mutex);
		IS(mtx_unlock(&mutex), success);
	}
	check_not_taken(&mutex);
}

CLAUSE(mtx_lock__desc_1__recursive_counts, "it locks a recursive mutex of the caller's once more")
{
	check_counts(mtx_lock);
}

static struct {
	mtx_t mutex;
	long counter;
} counted;

static void *count_3000(void *argument UNUSED)
{
	int i;

	for (i = 0; i < 3000; i++) {
		if (i % 3 == 0)
			IS(lock_far(&counted.mutex), success);
		else
			IS(mtx_lock(&counted.mutex), success);
		counted.counter++;
		IS(mtx_unlock(&counted.mutex), success);
	}
	return NULL;
}

CLAUSE(mtx_lock__desc_1__sees_what_was_written,
       "unlocks by others synchronise with it: what they have written before is seen")
{
	struct thread threads[6];
	int i;

	for (EACH(t, all_types)) {
		counted.counter = 0;
		make(&counted.mutex, all_types[t]);
		for (i = 0; i < 6; i++)
			start(&threads[i], count_3000, NULL);
		for (i = 0; i < 6; i++)
			join(&threads[i]);
		CHECK_EQ(counted.counter, 6 * 3000);
	}
}

/* The victim waits for what this thread has. */
static void check_storm(int (*lock)(mtx_t *mutex))
{
	struct entry entry = { .lock = lock };
	struct thread waiter;
	struct storm storm;

	for (EACH(t, all_types)) {
		entry.entered = 0;
		handled = 0;
		make(&entry.mutex, all_types[t]);
		IS(mtx_lock(&entry.mutex), success);
		start(&waiter, enter, &entry);
		until_asleep(&waiter);
		begin_storm(&storm, &waiter);
		end_storm(&storm);
		CHECK_EQ(entry.entered, 0);
		IS(mtx_unlock(&entry.mutex), success);
		join(&waiter);
	}
}

CLAUSE(mtx_lock__desc_2__handlers_dont_end_the_wait,
       "signal handlers that run meanwhile don't affect it")
{
	check_storm(mtx_lock);
}

static void *lock_cancelled(void *argument)
{
	struct entry *entry = argument;

	entry->entered = 0;
	IS(entry->lock(&entry->mutex), success);
	entry->entered = 1;
	IS(mtx_unlock(&entry->mutex), success);
	pthread_testcancel();
	return NULL;
}

CLAUSE_IN("XSH 2.9.5.2", mtx_lock__desc_1__is_no_cancellation_point,
          "neither it nor mtx_timedlock is a cancellation point: who is cancelled in them gets "
          "the mutex first")
{
	static int (*const calls[])(mtx_t *mutex) = { mtx_lock, lock_far };
	struct thread waiter;
	struct entry entry;

	for (EACH(i, calls)) {
		entry.lock = calls[i];
		make(&entry.mutex, mtx_timed);
		IS(mtx_lock(&entry.mutex), success);
		start(&waiter, lock_cancelled, &entry);
		until_asleep(&waiter);
		OK(pthread_cancel(waiter.pthread));
		sleep_ms(2);
		CHECK_EQ(entry.entered, 0);
		IS(mtx_unlock(&entry.mutex), success);
		CHECK(join(&waiter) == PTHREAD_CANCELED);
		CHECK_EQ(entry.entered, 1);
	}
}

CLAUSE(mtx_trylock__ret__busy,
       "thrd_busy at once when another has the mutex, or the caller a mutex that isn't recursive")
{
	mtx_t mutex;

	errno = 4711;
	for (EACH(t, all_types)) {
		make(&mutex, all_types[t]);
		IS(mtx_trylock(&mutex), success);
		check_taken(&mutex);
		if (!(all_types[t] & mtx_recursive))
			IS(mtx_trylock(&mutex), busy);
		IS(mtx_unlock(&mutex), success);
		check_not_taken(&mutex);
	}
	CHECK_EQ(errno, 4711);
}

CLAUSE(mtx_trylock__desc_1__recursive_counts,
       "it locks a recursive mutex of the caller's once more")
{
	check_counts(mtx_trylock);
}

CLAUSE(mtx_timedlock__desc_1__blocks_until_available,
       "it blocks until it has locked the mutex, if that is before the deadline")
{
	check_blocks(lock_far);
}

CLAUSE(mtx_timedlock__desc_1__recursive_counts,
       "it locks a recursive mutex of the caller's once more")
{
	check_counts(lock_far);
}

static void *time_out(void *argument)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 15);
	struct timespec past = in_ms(CLOCK_REALTIME, -1000);
	struct timespec negative = { -1, 0 }, first = { 0, 0 };

	errno = 4711;
	IS(mtx_timedlock(argument, &at), timedout);
	CHECK(now_ns(CLOCK_REALTIME) >= at.tv_sec * NS_PER_S + at.tv_nsec);
	IS(mtx_timedlock(argument, &past), timedout);
	IS(mtx_timedlock(argument, &first), timedout);
	IS(mtx_timedlock(argument, &negative), timedout);
	IS(mtx_trylock(argument), busy);
	CHECK_EQ(errno, 4711);
	return NULL;
}

CLAUSE(mtx_timedlock__ret__timedout,
       "thrd_timedout when the deadline, a time of TIME_UTC's, is reached, not before, or has "
       "passed before the call")
{
	struct thread other;
	mtx_t mutex;

	for (EACH(t, all_types)) {
		make(&mutex, all_types[t]);
		IS(mtx_lock(&mutex), success);
		start(&other, time_out, &mutex);
		join(&other);
		IS(mtx_unlock(&mutex), success);
		check_not_taken(&mutex);
	}
}

CLAUSE(mtx_timedlock__desc_1__free_locks_past_the_deadline,
       "a mutex that is free is locked whatever the deadline")
{
	struct timespec past = in_ms(CLOCK_REALTIME, -1000);
	struct timespec bad = { .tv_nsec = NS_PER_S };
	mtx_t mutex;

	for (EACH(t, all_types)) {
		make(&mutex, all_types[t]);
		IS(mtx_timedlock(&mutex, &past), success);
		check_taken(&mutex);
		IS(mtx_unlock(&mutex), success);
		IS(mtx_timedlock(&mutex, &bad), success);
		IS(mtx_unlock(&mutex), success);
	}
}

static int far_at;

static int lock_very_far(mtx_t *mutex)
{
	static const struct timespec farthest[] = {
		{ LONG_MAX, 999999999 }, { LONG_MAX / NS_PER_S + 1, 0 },
		{ 1L << 40, 0 },
	};

	return mtx_timedlock(mutex, &farthest[far_at]);
}

CLAUSE(mtx_timedlock__desc_1__far_deadline_isnt_reached,
       "a deadline as far off as there is isn't reached")
{
	for (far_at = 0; far_at < 3; far_at++)
		check_blocks(lock_very_far);
}

static void *refuse_nanoseconds(void *argument)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 1000);

	for (EACH(i, bad_nanoseconds)) {
		at.tv_nsec = bad_nanoseconds[i];
		IS(mtx_timedlock(argument, &at), error);
	}
	return NULL;
}

CLAUSE(mtx_timedlock__ret__error_bad_nanoseconds,
       "thrd_error when it would have to wait and the nanoseconds are negative or a second and "
       "more")
{
	struct thread other;
	mtx_t mutex;

	for (EACH(t, all_types)) {
		make(&mutex, all_types[t]);
		IS(mtx_lock(&mutex), success);
		start(&other, refuse_nanoseconds, &mutex);
		join(&other);
		IS(mtx_unlock(&mutex), success);
	}
}

CLAUSE(mtx_timedlock__desc_2__handlers_dont_end_the_wait,
       "signal handlers that run meanwhile don't affect it")
{
	check_storm(lock_far);
}

static void *unlock_anothers(void *mutex)
{
	IS(mtx_unlock(mutex), error);
	return NULL;
}

CLAUSE(mtx_unlock__desc_1__unlocks, "it unlocks the mutex that the caller has")
{
	mtx_t mutex;

	errno = 4711;
	for (EACH(t, all_types)) {
		make(&mutex, all_types[t]);
		IS(mtx_lock(&mutex), success);
		check_taken(&mutex);
		IS(mtx_unlock(&mutex), success);
		check_not_taken(&mutex);
	}
	CHECK_EQ(errno, 4711);
}

CLAUSE(mtx_unlock__ret__error_not_the_callers,
       "thrd_error, as glibc has it, of a recursive mutex that the caller doesn't have, "
       "another's or nobody's")
{
	struct thread other;
	mtx_t mutex;

	make(&mutex, mtx_plain | mtx_recursive);
	IS(mtx_unlock(&mutex), error);
	IS(mtx_lock(&mutex), success);
	start(&other, unlock_anothers, &mutex);
	join(&other);
	check_taken(&mutex);
	IS(mtx_unlock(&mutex), success);
	IS(mtx_unlock(&mutex), error);
	check_not_taken(&mutex);
}

CLAUSE_IN("glibc extension", mtx_init__desc_1__is_a_pthread_mutex,
          "an mtx_t is a pthread mutex: the calls of both kinds may be mixed")
{
	pthread_mutex_t *same;
	mtx_t mutex;

	for (EACH(t, all_types)) {
		make(&mutex, all_types[t]);
		same = (pthread_mutex_t *)&mutex;
		OK(pthread_mutex_lock(same));
		check_taken(&mutex);
		IS(mtx_unlock(&mutex), success);
		IS(mtx_lock(&mutex), success);
		check_locked(same);
		OK(pthread_mutex_unlock(same));
		check_free(same);
	}
}

/* --------------------------------------------------------------- condvars -- */

struct scene {
	mtx_t mutex;
	cnd_t cond;
	bool timed;
	int waiting, permits, passed;
	_Atomic int cleaned, returned;
};

static void make_scene(struct scene *scene, int type, bool timed)
{
	*scene = (struct scene){ .timed = timed };
	make(&scene->mutex, type);
	memset(&scene->cond, 0xff, sizeof(scene->cond));
	IS(cnd_init(&scene->cond), success);
}

static int wait_once(struct scene *scene)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 15000);

	return scene->timed ?
		       cnd_timedwait(&scene->cond, &scene->mutex, &at) :
		       cnd_wait(&scene->cond, &scene->mutex);
}

static void *take_permit(void *argument)
{
	struct scene *scene = argument;

	IS(mtx_lock(&scene->mutex), success);
	scene->waiting++;
	errno = 4714;
	while (!scene->permits)
		IS(wait_once(scene), success);
	CHECK_EQ(errno, 4714);
	check_taken(&scene->mutex);
	scene->permits--;
	scene->passed++;
	IS(mtx_unlock(&scene->mutex), success);
	scene->returned++;
	return NULL;
}

static int look(struct scene *scene, const int *number)
{
	int result;

	IS(mtx_lock(&scene->mutex), success);
	result = *number;
	IS(mtx_unlock(&scene->mutex), success);
	return result;
}

static void until_scene_waits(struct scene *scene, int count)
{
	UNTIL(look(scene, &scene->waiting) == count);
}

static void permit(struct scene *scene, int permits)
{
	IS(mtx_lock(&scene->mutex), success);
	scene->permits += permits;
	IS(cnd_broadcast(&scene->cond), success);
	IS(mtx_unlock(&scene->mutex), success);
}

static void check_wait(bool timed)
{
	struct thread waiter;
	struct scene scene;

	for (EACH(t, all_types)) {
		make_scene(&scene, all_types[t], timed);
		start(&waiter, take_permit, &scene);
		until_scene_waits(&scene, 1);
		until_asleep(&waiter);
		CHECK_EQ(scene.passed, 0);
		permit(&scene, 1);
		join(&waiter);
		check_not_taken(&scene.mutex);
		cnd_destroy(&scene.cond);
		mtx_destroy(&scene.mutex);
	}
}

CLAUSE(cnd_wait__desc_1__releases_and_blocks,
       "it releases the mutex and blocks, and has the mutex when it returns thrd_success because "
       "of a signal")
{
	check_wait(false);
}

CLAUSE(cnd_timedwait__desc_1__releases_and_blocks,
       "it releases the mutex and blocks, and has the mutex when it returns thrd_success because "
       "of a signal")
{
	check_wait(true);
}

struct turns {
	mtx_t mutex;
	cnd_t conds[2];
	bool timed;
	int turn;
};

static void take_turns(struct turns *turns, int mine)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 15000);
	int i;

	for (i = 0; i < 400; i++) {
		IS(mtx_lock(&turns->mutex), success);
		while (turns->turn != mine)
			IS(turns->timed ?
				   cnd_timedwait(&turns->conds[mine],
						 &turns->mutex, &at) :
				   cnd_wait(&turns->conds[mine],
					    &turns->mutex),
			   success);
		turns->turn = !mine;
		IS(mtx_unlock(&turns->mutex), success);
		IS(cnd_signal(&turns->conds[!mine]), success);
	}
}

static void *take_second_turns(void *argument)
{
	take_turns(argument, 1);
	return NULL;
}

static void check_atomic(bool timed)
{
	struct turns turns = { .timed = timed };
	struct thread other;
	int i;

	for (EACH(t, all_types)) {
		turns.turn = 0;
		make(&turns.mutex, all_types[t]);
		for (i = 0; i < 2; i++)
			IS(cnd_init(&turns.conds[i]), success);
		start(&other, take_second_turns, &turns);
		take_turns(&turns, 0);
		join(&other);
	}
}

CLAUSE(cnd_wait__desc_1__atomically,
       "release and block are one: a thread that gets the mutex after the waiter, and signals, "
       "finds it blocked")
{
	check_atomic(false);
}

CLAUSE(cnd_timedwait__desc_1__atomically,
       "release and block are one: a thread that gets the mutex after the waiter, and signals, "
       "finds it blocked")
{
	check_atomic(true);
}

static int until_ended(struct scene *scene, const struct timespec *at)
{
	int tries, result = thrd_success;

	for (tries = 0; tries < 100 && result == thrd_success; tries++)
		result = cnd_timedwait(&scene->cond, &scene->mutex, at);
	return result;
}

CLAUSE(cnd_timedwait__ret__timedout,
       "thrd_timedout, with the mutex, when the deadline, a time of TIME_UTC's, is reached, not "
       "before, or has passed before the call")
{
	struct timespec past[] = { { 0, 0 }, { -1, 0 }, { 1, 999999999 } };
	struct timespec at;
	struct scene scene;

	for (EACH(t, all_types)) {
		make_scene(&scene, all_types[t], true);
		IS(mtx_lock(&scene.mutex), success);
		errno = 4711;
		at = in_ms(CLOCK_REALTIME, 15);
		IS(until_ended(&scene, &at), timedout);
		CHECK(now_ns(CLOCK_REALTIME) >=
		      at.tv_sec * NS_PER_S + at.tv_nsec);
		for (EACH(i, past))
			IS(until_ended(&scene, &past[i]), timedout);
		CHECK_EQ(errno, 4711);
		check_taken(&scene.mutex);
		IS(mtx_unlock(&scene.mutex), success);
		check_not_taken(&scene.mutex);
	}
}

CLAUSE(cnd_timedwait__ret__error_bad_nanoseconds,
       "thrd_error, with the mutex, when the nanoseconds are negative or a second and more")
{
	struct timespec at = in_ms(CLOCK_REALTIME, 1000);
	struct scene scene;

	for (EACH(t, all_types)) {
		make_scene(&scene, all_types[t], true);
		IS(mtx_lock(&scene.mutex), success);
		for (EACH(i, bad_nanoseconds)) {
			at.tv_nsec = bad_nanoseconds[i];
			IS(cnd_timedwait(&scene.cond, &scene.mutex, &at), error);
		}
		check_taken(&scene.mutex);
		IS(mtx_unlock(&scene.mutex), success);
	}
}

CLAUSE(cnd_wait__ret__error_not_the_callers,
       "thrd_error, as glibc has it, with a recursive mutex that the caller doesn't have")
{
	struct scene scene;
	int timed;

	for (timed = 0; timed < 2; timed++) {
		make_scene(&scene, mtx_plain | mtx_recursive, timed);
		IS(wait_once(&scene), error);
		check_not_taken(&scene.mutex);
	}
}

static void cleanup(void *argument)
{
	struct scene *scene = argument;

	check_taken(&scene->mutex);
	scene->cleaned++;
	IS(mtx_unlock(&scene->mutex), success);
}

static void *wait_to_be_cancelled(void *argument)
{
	struct scene *scene = argument;

	IS(mtx_lock(&scene->mutex), success);
	pthread_cleanup_push(cleanup, scene);
	scene->waiting++;
	while (!scene->permits)
		IS(wait_once(scene), success);
	pthread_cleanup_pop(0);
	IS(mtx_unlock(&scene->mutex), success);
	scene->returned++;
	return NULL;
}

static void check_cancel(bool timed)
{
	struct thread waiter;
	struct scene scene;

	for (EACH(t, all_types)) {
		make_scene(&scene, all_types[t], timed);
		start(&waiter, wait_to_be_cancelled, &scene);
		until_scene_waits(&scene, 1);
		until_asleep(&waiter);
		OK(pthread_cancel(waiter.pthread));
		CHECK(join(&waiter) == PTHREAD_CANCELED);
		CHECK_EQ(scene.cleaned, 1);
		CHECK_EQ(scene.returned, 0);
		check_not_taken(&scene.mutex);
		cnd_destroy(&scene.cond);
	}
}

CLAUSE_IN("XSH 2.9.5.2", cnd_wait__desc_1__cancelled_with_the_mutex,
          "it is a cancellation point, and has the mutex again before the first cleanup handler "
          "runs")
{
	check_cancel(false);
}

CLAUSE_IN("XSH 2.9.5.2", cnd_timedwait__desc_1__cancelled_with_the_mutex,
          "it is a cancellation point, and has the mutex again before the first cleanup handler "
          "runs")
{
	check_cancel(true);
}

static void check_storm_of_waits(bool timed)
{
	struct thread waiter;
	struct scene scene;
	struct storm storm;

	for (EACH(t, all_types)) {
		make_scene(&scene, all_types[t], timed);
		handled = 0;
		start(&waiter, take_permit, &scene);
		until_scene_waits(&scene, 1);
		begin_storm(&storm, &waiter);
		end_storm(&storm);
		CHECK_EQ(scene.returned, 0);
		permit(&scene, 1);
		join(&waiter);
	}
}

CLAUSE(cnd_wait__desc_2__handlers_cause_no_error,
       "signal handlers that run meanwhile cause no error")
{
	check_storm_of_waits(false);
}

CLAUSE(cnd_timedwait__desc_2__handlers_cause_no_error,
       "signal handlers that run meanwhile cause no error")
{
	check_storm_of_waits(true);
}

#define WAITERS 5

static void start_waiters(struct scene *scene, struct thread *waiters)
{
	int i;

	for (i = 0; i < WAITERS; i++)
		start(&waiters[i], take_permit, scene);
	until_scene_waits(scene, WAITERS);
}

CLAUSE(cnd_signal__desc_1__unblocks_one_at_least,
       "it unblocks one waiter at least, called with the mutex or without")
{
	struct thread waiters[WAITERS];
	struct scene scene;
	int i;

	for (EACH(t, all_types)) {
		make_scene(&scene, all_types[t], t % 2);
		start_waiters(&scene, waiters);
		for (i = 0; i < WAITERS; i++) {
			IS(mtx_lock(&scene.mutex), success);
			scene.permits++;
			if (i % 2)
				IS(cnd_signal(&scene.cond), success);
			IS(mtx_unlock(&scene.mutex), success);
			if (!(i % 2))
				IS(cnd_signal(&scene.cond), success);
			UNTIL(look(&scene, &scene.passed) == i + 1);
		}
		for (i = 0; i < WAITERS; i++)
			join(&waiters[i]);
	}
}

static void check_without_waiters(int (*notify)(cnd_t *cond))
{
	struct timespec at;
	struct scene scene;
	int i;

	make_scene(&scene, mtx_plain, true);
	errno = 4711;
	for (i = 0; i < 5; i++)
		IS(notify(&scene.cond), success);
	CHECK_EQ(errno, 4711);
	IS(mtx_lock(&scene.mutex), success);
	at = in_ms(CLOCK_REALTIME, 20);
	IS(until_ended(&scene, &at), timedout);
	IS(mtx_unlock(&scene.mutex), success);
}

CLAUSE(cnd_signal__desc_1__without_waiters,
       "it does nothing and returns thrd_success when nobody waits: it isn't kept for later")
{
	check_without_waiters(cnd_signal);
}

CLAUSE(cnd_broadcast__desc_1__unblocks_all,
       "it unblocks all waiters, called with the mutex or without")
{
	struct thread waiters[WAITERS];
	struct scene scene;
	int i, held;

	for (EACH(t, all_types)) {
		for (held = 0; held < 2; held++) {
			make_scene(&scene, all_types[t], t % 2);
			start_waiters(&scene, waiters);
			IS(mtx_lock(&scene.mutex), success);
			scene.permits = WAITERS;
			if (held)
				IS(cnd_broadcast(&scene.cond), success);
			IS(mtx_unlock(&scene.mutex), success);
			if (!held)
				IS(cnd_broadcast(&scene.cond), success);
			for (i = 0; i < WAITERS; i++)
				join(&waiters[i]);
			CHECK_EQ(scene.passed, WAITERS);
		}
	}
}

CLAUSE(cnd_broadcast__desc_1__without_waiters,
       "it does nothing and returns thrd_success when nobody waits: it isn't kept for later")
{
	check_without_waiters(cnd_broadcast);
}

CLAUSE(cnd_init__desc_1__makes_and_makes_anew,
       "it makes a condvar on which nobody waits, whatever the memory held, again after it was "
       "destroyed too")
{
	struct timespec at;
	struct scene scene;
	int i;

	make_scene(&scene, mtx_plain, true);
	errno = 4711;
	for (i = 0; i < 3; i++) {
		IS(cnd_signal(&scene.cond), success);
		IS(mtx_lock(&scene.mutex), success);
		at = in_ms(CLOCK_REALTIME, 3);
		IS(until_ended(&scene, &at), timedout);
		IS(mtx_unlock(&scene.mutex), success);
		cnd_destroy(&scene.cond);
		memset(&scene.cond, 0xa5, sizeof(scene.cond));
		IS(cnd_init(&scene.cond), success);
	}
	CHECK_EQ(errno, 4711);
}

CLAUSE(cnd_destroy__desc_1__at_once_after_a_broadcast,
       "it can be destroyed as soon as all waiters have been awakened, though they have yet to "
       "get the mutex")
{
	struct thread waiters[WAITERS];
	struct scene scene;
	int i, round;

	for (round = 0; round < 40; round++) {
		make_scene(&scene, all_types[round % 4], round % 2);
		start_waiters(&scene, waiters);
		IS(mtx_lock(&scene.mutex), success);
		scene.permits = WAITERS;
		IS(cnd_broadcast(&scene.cond), success);
		cnd_destroy(&scene.cond);
		memset(&scene.cond, 0xff, sizeof(scene.cond));
		IS(mtx_unlock(&scene.mutex), success);
		for (i = 0; i < WAITERS; i++)
			join(&waiters[i]);
		CHECK_EQ(scene.passed, WAITERS);
	}
}

CLAUSE_IN("glibc extension", cnd_init__desc_1__is_a_pthread_condvar,
          "a cnd_t is a pthread condvar: the calls of both kinds may be mixed")
{
	struct thread waiter;
	struct scene scene;

	make_scene(&scene, mtx_plain, false);
	start(&waiter, take_permit, &scene);
	until_scene_waits(&scene, 1);
	IS(mtx_lock(&scene.mutex), success);
	scene.permits = 1;
	OK(pthread_cond_signal((pthread_cond_t *)&scene.cond));
	IS(mtx_unlock(&scene.mutex), success);
	join(&waiter);
}
