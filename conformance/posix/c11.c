/* XSH (2024), the pages of <threads.h>: mutexes and condition variables of C11. */
#include "clause.h"
#include "deadlines.h"
#include "memory.h"
#include "mutexes.h"

#include <threads.h>

#define IS(call, wanted) CHECK_EQ(call, thrd_##wanted)

static const int types_of_mtx[] = {
	mtx_plain, mtx_timed, mtx_plain | mtx_recursive, mtx_timed | mtx_recursive,
};
static const char *const names_of_types[] = {
	"plain", "timed", "plain recursive", "timed recursive",
};

/* The mutex that a clause is about, and a thread that waits for it. */
static mtx_t mutex;
static struct thread waiter;

static bool make(int type)
{
	IS(mtx_init(&mutex, type), success);
	return true;
}

static bool make_nth(size_t nth)
{
	at_column = nth < 4 ? names_of_types[nth] : "";
	return nth < 4 && make(types_of_mtx[nth]);
}

/* for (EACH_TYPE(type)): the mutex is made anew of each. */
#define EACH_TYPE(type)							\
	size_t nth_ = 0, type UNUSED;					\
	make_nth(nth_) && ((type = types_of_mtx[nth_]), true); nth_++

THREAD(try_busy, void *argument UNUSED)
{
	IS(mtx_trylock(&mutex), busy);
}

static void check_taken(void)
{
	in_a_thread(try_busy, NULL);
}

THREAD(lock_once, void *argument UNUSED)
{
	IS(mtx_lock(&mutex), success);
	IS(mtx_unlock(&mutex), success);
}

static void check_not_taken(void)
{
	in_a_thread(lock_once, NULL);
}

#define CHECK_HELD_ONCE_AS_MTX()					\
	do {								\
		check_taken();						\
		IS(mtx_unlock(&mutex), success);			\
		check_not_taken();					\
	} while (0)

/* The caller locks it once more, or doesn't. */
static void check_type(int type)
{
	IS(mtx_lock(&mutex), success);
	if (type & mtx_recursive) {
		IS(mtx_trylock(&mutex), success);
		IS(mtx_unlock(&mutex), success);
	} else {
		IS(mtx_trylock(&mutex), busy);
	}
	CHECK_HELD_ONCE_AS_MTX();
}

/* --------------------------------------------------------------- mutexes -- */

CLAUSE(mtx_init__desc_1__every_type,
       "C11, and with the other calls of threads.h in POSIX since 2024: it makes a mutex of each "
       "type that there is, free, whatever the memory held, and returns thrd_success")
{
	errno = 4711;
	for (EACH_TYPE(type)) {
		for (EACH_FILLING(mutex)) {
			make(type);
			IS(mtx_trylock(&mutex), success);
			CHECK_HELD_ONCE_AS_MTX();
			mtx_destroy(&mutex);
		}
	}
	CHECK_EQ(errno, 4711);
}

CLAUSE(mtx_init__desc_1__recursive_or_not,
       "a mutex with mtx_recursive is recursive, one without isn't")
{
	for (EACH_TYPE(type))
		check_type(type);
}

CLAUSE(mtx_destroy__desc_1__can_be_made_anew, "a destroyed mutex can be made anew, of another type")
{
	errno = 4711;
	for (EACH_TYPE(type)) {
		for (EACH(i, types_of_mtx)) {
			make(type);
			lock_once(NULL);
			mtx_destroy(&mutex);
			make(types_of_mtx[i]);
			check_type(types_of_mtx[i]);
			mtx_destroy(&mutex);
		}
	}
	CHECK_EQ(errno, 4711);
}

struct object {
	mtx_t mutex;
	int references;
};

THREAD(drop_reference, struct object *object)
{
	int left;

	IS(mtx_lock(&object->mutex), success);
	left = --object->references;
	IS(mtx_unlock(&object->mutex), success);
	if (left)
		return;
	mtx_destroy(&object->mutex);
	give_back(object);
}

CLAUSE(mtx_destroy__desc_1__at_once_after_the_unlock,
       "it can be destroyed at once by the thread that had it last, while others return from its "
       "unlock")
{
	struct thread threads[3];
	struct object *object;

	for (int round = 0; round < 60; round++) {
		object = new_page();
		IS(mtx_init(&object->mutex, types_of_mtx[round % 4]), success);
		object->references = 3;
		IS(mtx_lock(&object->mutex), success);
		START_ALL(threads, drop_reference, object);
		IS(mtx_unlock(&object->mutex), success);
		JOIN_ALL(threads);
	}
}

typedef int lock_call(mtx_t *mutex);

static lock_call *lock_by;
static _Atomic int entered;

THREAD(enter, void *argument UNUSED)
{
	errno = 4712;
	IS(lock_by(&mutex), success);
	CHECK_EQ(errno, 4712);
	CHECK_EQ(entered++ % 2, 0);
	sched_yield();
	CHECK_EQ(entered++ % 2, 1);
	IS(mtx_unlock(&mutex), success);
}

static int lock_far(mtx_t *mutex)
{
	struct timespec at = in_ms(CLOCK_REALTIME, LONG_MS);

	return mtx_timedlock(mutex, &at);
}

static void check_blocks(lock_call *lock)
{
	struct thread waiters[3];

	lock_by = lock;
	for (EACH_TYPE(type)) {
		entered = 0;
		IS(mtx_lock(&mutex), success);
		START_ALL(waiters, enter, NULL);
		ALL_ASLEEP(waiters);
		CHECK_EQ(entered, 0);
		IS(mtx_unlock(&mutex), success);
		JOIN_ALL(waiters);
		CHECK_EQ(entered, 6);
		mtx_destroy(&mutex);
	}
}

CLAUSE_BY(check_blocks(mtx_lock), mtx_lock__desc_1__blocks_until_available,
	  "it blocks until it has locked the mutex, which one thread has at a time")

static void check_counts(lock_call *lock)
{
	make(mtx_timed | mtx_recursive);
	for (int i = 0; i < 4; i++)
		IS(lock(&mutex), success);
	for (int i = 0; i < 4; i++) {
		check_taken();
		IS(mtx_unlock(&mutex), success);
	}
	check_not_taken();
}

CLAUSE_BY(check_counts(mtx_lock), mtx_lock__desc_1__recursive_counts,
	  "it locks a recursive mutex of the caller's once more")

static long counter;

THREAD(count_3000, void *argument UNUSED)
{
	for (int i = 0; i < 3000; i++) {
		IS(i % 3 ? mtx_lock(&mutex) : lock_far(&mutex), success);
		counter++;
		IS(mtx_unlock(&mutex), success);
	}
}

CLAUSE(mtx_lock__desc_1__sees_what_was_written,
       "unlocks by others synchronise with it: what they have written before is seen")
{
	for (EACH_TYPE(type)) {
		counter = 0;
		run_together(6, count_3000, NULL);
		CHECK_EQ(counter, 6 * 3000);
	}
}

/* The victim waits for what this thread has. */
static void check_storm(lock_call *lock)
{
	lock_by = lock;
	for (EACH_TYPE(type)) {
		entered = 0;
		IS(mtx_lock(&mutex), success);
		start_asleep(&waiter, enter, NULL);
		storm_at(&waiter);
		CHECK_EQ(entered, 0);
		IS(mtx_unlock(&mutex), success);
		join(&waiter);
	}
}

CLAUSE_BY(check_storm(mtx_lock), mtx_lock__desc_2__handlers_dont_end_the_wait,
	  "signal handlers that run meanwhile don't affect it")

THREAD(lock_cancelled, void *argument)
{
	enter(argument);
	pthread_testcancel();
}

CLAUSE_IN("XSH 2.9.5.2", mtx_lock__desc_1__is_no_cancellation_point,
	  "neither it nor mtx_timedlock is a cancellation point: a thread that is cancelled in "
	  "them gets the mutex first")
{
	static lock_call *const calls[] = { mtx_lock, lock_far };

	for (EACH(i, calls)) {
		lock_by = calls[i];
		entered = 0;
		make(mtx_timed);
		IS(mtx_lock(&mutex), success);
		start_asleep(&waiter, lock_cancelled, NULL);
		OK(pthread_cancel(waiter.pthread));
		sleep_ms(2);
		CHECK_EQ(entered, 0);
		IS(mtx_unlock(&mutex), success);
		CHECK(join(&waiter) == PTHREAD_CANCELED);
		CHECK_EQ(entered, 2);
	}
}

CLAUSE(mtx_trylock__ret__busy,
       "thrd_busy at once when another has the mutex, or the caller a mutex that isn't recursive")
{
	errno = 4711;
	for (EACH_TYPE(type)) {
		IS(mtx_trylock(&mutex), success);
		check_taken();
		if (!(type & mtx_recursive))
			IS(mtx_trylock(&mutex), busy);
		IS(mtx_unlock(&mutex), success);
		check_not_taken();
	}
	CHECK_EQ(errno, 4711);
}

CLAUSE_BY(check_counts(mtx_trylock), mtx_trylock__desc_1__recursive_counts,
	  "it locks a recursive mutex of the caller's once more")

CLAUSE_BY(check_blocks(lock_far), mtx_timedlock__desc_1__blocks_until_available,
	  "it blocks until it has locked the mutex, if that is before the deadline")

CLAUSE_BY(check_counts(lock_far), mtx_timedlock__desc_1__recursive_counts,
	  "it locks a recursive mutex of the caller's once more")

THREAD(time_out, void *argument UNUSED)
{
	const struct timespec soon = in_ms(CLOCK_REALTIME, 15);

	errno = 4711;
	IS(mtx_timedlock(&mutex, &soon), timedout);
	CHECK_REACHED(CLOCK_REALTIME, soon);
	for (EACH(i, passed_deadlines))
		IS(mtx_timedlock(&mutex, &passed_deadlines[i]), timedout);
	IS(mtx_trylock(&mutex), busy);
	CHECK_EQ(errno, 4711);
}

THREAD(refuse_nanoseconds, void *argument UNUSED)
{
	for (EACH(i, invalid_nanoseconds))
		IS(mtx_timedlock(&mutex, &invalid_nanoseconds[i]), error);
}

/* In another thread, while this one has the mutex. */
static void run_while_locked(void *(*run)(void *argument))
{
	for (EACH_TYPE(type)) {
		IS(mtx_lock(&mutex), success);
		in_a_thread(run, NULL);
		IS(mtx_unlock(&mutex), success);
		check_not_taken();
	}
}

CLAUSE_BY(run_while_locked(time_out), mtx_timedlock__ret__timedout,
	  "thrd_timedout when the deadline, a time of TIME_UTC's, is reached, not before, or has "
	  "passed before the call")

CLAUSE(mtx_timedlock__desc_1__free_locks_past_the_deadline,
       "a mutex that is free is locked whatever the deadline")
{
	for (EACH_TYPE(type)) {
		for (EACH(i, passed_deadlines)) {
			IS(mtx_timedlock(&mutex, &passed_deadlines[i]), success);
			CHECK_HELD_ONCE_AS_MTX();
		}
		for (EACH(i, invalid_deadlines)) {
			IS(mtx_timedlock(&mutex, &invalid_deadlines[i]), success);
			IS(mtx_unlock(&mutex), success);
		}
	}
}

static size_t far_at;

static int lock_very_far(mtx_t *mutex)
{
	return mtx_timedlock(mutex, &farthest[far_at]);
}

CLAUSE(mtx_timedlock__desc_1__far_deadline_isnt_reached,
       "a deadline as far off as there is isn't reached")
{
	for (far_at = 0; far_at < COUNT(farthest); far_at++)
		check_blocks(lock_very_far);
}

CLAUSE_BY(run_while_locked(refuse_nanoseconds), mtx_timedlock__ret__error_bad_nanoseconds,
	  "thrd_error when it would have to wait and the nanoseconds are negative or a second and "
	  "more")

CLAUSE_BY(check_storm(lock_far), mtx_timedlock__desc_2__handlers_dont_end_the_wait,
	  "signal handlers that run meanwhile don't affect it")

CLAUSE(mtx_unlock__desc_1__unlocks, "it unlocks the mutex that the caller has")
{
	errno = 4711;
	for (EACH_TYPE(type)) {
		IS(mtx_lock(&mutex), success);
		CHECK_HELD_ONCE_AS_MTX();
	}
	CHECK_EQ(errno, 4711);
}

THREAD(unlock_anothers, void *argument UNUSED)
{
	IS(mtx_unlock(&mutex), error);
}

CLAUSE(mtx_unlock__ret__error_not_the_callers,
       "thrd_error, as glibc has it, of a recursive mutex that the caller doesn't have, another's "
       "or nobody's")
{
	make(mtx_plain | mtx_recursive);
	IS(mtx_unlock(&mutex), error);
	IS(mtx_lock(&mutex), success);
	in_a_thread(unlock_anothers, NULL);
	check_taken();
	IS(mtx_unlock(&mutex), success);
	IS(mtx_unlock(&mutex), error);
	check_not_taken();
}

CLAUSE_IN("glibc extension", mtx_init__desc_1__is_a_pthread_mutex,
	  "an mtx_t is a pthread mutex: the calls of both kinds may be mixed")
{
	pthread_mutex_t *same = (pthread_mutex_t *)&mutex;

	for (EACH_TYPE(type)) {
		OK(pthread_mutex_lock(same));
		check_taken();
		IS(mtx_unlock(&mutex), success);
		IS(mtx_lock(&mutex), success);
		CHECK_HELD_ONCE(same);
	}
}

/* --------------------------------------------------------------- condvars -- */

/* Waits with the mutex, with a deadline or without, and what becomes of them. */
static cnd_t cond;
static bool timed;
static int waiting, permits, passed_by;
static _Atomic int cleaned, returned;

static void make_cond_of_cnd(bool with_deadline)
{
	timed = with_deadline;
	waiting = permits = passed_by = cleaned = returned = 0;
	memset(&cond, 0xff, sizeof(cond));
	IS(cnd_init(&cond), success);
}

static int wait_once(void)
{
	struct timespec at = in_ms(CLOCK_REALTIME, LONG_MS);

	return timed ? cnd_timedwait(&cond, &mutex, &at) : cnd_wait(&cond, &mutex);
}

THREAD(take_permit, void *argument UNUSED)
{
	IS(mtx_lock(&mutex), success);
	waiting++;
	errno = 4714;
	while (!permits)
		IS(wait_once(), success);
	CHECK_EQ(errno, 4714);
	check_taken();
	permits--;
	passed_by++;
	IS(mtx_unlock(&mutex), success);
	returned++;
}

static int look(const int *number)
{
	int result;

	IS(mtx_lock(&mutex), success);
	result = *number;
	IS(mtx_unlock(&mutex), success);
	return result;
}

/* Notifies with the mutex, or right after it has been given back. */
static void permit_by(int (*notify)(cnd_t *cond), int more, bool held)
{
	IS(mtx_lock(&mutex), success);
	permits += more;
	if (held)
		IS(notify(&cond), success);
	IS(mtx_unlock(&mutex), success);
	if (!held)
		IS(notify(&cond), success);
}

static void start_waiter(void *(*run)(void *argument))
{
	start(&waiter, run, NULL);
	UNTIL(look(&waiting) == 1);
}

/* Clauses that the pages of both waits share. */
#define CND_CLAUSE(section, test, says, part, with_deadline)		\
	CLAUSE_IN(section, test, says)					\
	{								\
		for (EACH_TYPE(type)) {					\
			make_cond_of_cnd(with_deadline);		\
			part();						\
		}							\
	}
#define CND_CLAUSES_IN(section, part, says)				\
	static void part(void);						\
	CND_CLAUSE(section, cnd_wait__##part, says, part, false)	\
	CND_CLAUSE(section, cnd_timedwait__##part, says, part, true)	\
	static void part(void)
/* In the section that the name says. */
#define CND_CLAUSES(part, says) CND_CLAUSES_IN(NULL, part, says)

CND_CLAUSES(desc_1__releases_and_blocks,
	    "it releases the mutex and blocks, and has the mutex when it returns thrd_success "
	    "because of a signal")
{
	start_waiter(take_permit);
	until_asleep(&waiter);
	CHECK_EQ(passed_by, 0);
	permit_by(cnd_broadcast, 1, true);
	join(&waiter);
	check_not_taken();
	cnd_destroy(&cond);
	mtx_destroy(&mutex);
}

static cnd_t conds[2];
static int turn;

static void take_turns(int mine)
{
	struct timespec at = in_ms(CLOCK_REALTIME, LONG_MS);

	for (int i = 0; i < 400; i++) {
		IS(mtx_lock(&mutex), success);
		while (turn != mine)
			IS(timed ? cnd_timedwait(&conds[mine], &mutex, &at) :
				   cnd_wait(&conds[mine], &mutex), success);
		turn = !mine;
		IS(mtx_unlock(&mutex), success);
		IS(cnd_signal(&conds[!mine]), success);
	}
}

THREAD(take_second_turns, void *argument UNUSED)
{
	take_turns(1);
}

CND_CLAUSES(desc_1__atomically,
	    "release and block are one: a thread that gets the mutex after the waiter, and "
	    "signals, finds it blocked")
{
	turn = 0;
	for (int i = 0; i < 2; i++)
		IS(cnd_init(&conds[i]), success);
	start(&waiter, take_second_turns, NULL);
	take_turns(0);
	join(&waiter);
}

static int until_ended(const struct timespec *at)
{
	int result = thrd_success;

	for (int tries = 0; tries < 100 && result == thrd_success; tries++)
		result = cnd_timedwait(&cond, &mutex, at);
	return result;
}

CLAUSE(cnd_timedwait__ret__timedout,
       "thrd_timedout, with the mutex, when the deadline, a time of TIME_UTC's, is reached, not "
       "before, or has passed before the call")
{
	struct timespec soon;

	for (EACH_TYPE(type)) {
		make_cond_of_cnd(true);
		IS(mtx_lock(&mutex), success);
		errno = 4711;
		soon = in_ms(CLOCK_REALTIME, 15);
		IS(until_ended(&soon), timedout);
		CHECK_REACHED(CLOCK_REALTIME, soon);
		for (EACH(i, passed_deadlines))
			IS(until_ended(&passed_deadlines[i]), timedout);
		CHECK_EQ(errno, 4711);
		CHECK_HELD_ONCE_AS_MTX();
	}
}

CLAUSE(cnd_timedwait__ret__error_bad_nanoseconds,
       "thrd_error, with the mutex, when the nanoseconds are negative or a second and more")
{
	for (EACH_TYPE(type)) {
		make_cond_of_cnd(true);
		IS(mtx_lock(&mutex), success);
		for (EACH(i, invalid_deadlines))
			IS(cnd_timedwait(&cond, &mutex, &invalid_deadlines[i]),
			   error);
		check_taken();
		IS(mtx_unlock(&mutex), success);
	}
}

CLAUSE(cnd_wait__ret__error_not_the_callers,
       "thrd_error, as glibc has it, with a recursive mutex that the caller doesn't have")
{
	for (int with = 0; with < 2; with++) {
		make(mtx_plain | mtx_recursive);
		make_cond_of_cnd(with);
		IS(wait_once(), error);
		check_not_taken();
	}
}

static void cleanup(void *argument UNUSED)
{
	check_taken();
	cleaned++;
	IS(mtx_unlock(&mutex), success);
}

THREAD(wait_to_be_cancelled, void *argument UNUSED)
{
	IS(mtx_lock(&mutex), success);
	pthread_cleanup_push(cleanup, NULL);
	waiting++;
	while (!permits)
		IS(wait_once(), success);
	pthread_cleanup_pop(0);
	IS(mtx_unlock(&mutex), success);
	returned++;
}

CND_CLAUSES_IN("XSH 2.9.5.2", desc_1__cancelled_with_the_mutex,
	       "it is a cancellation point, and has the mutex again before the first cleanup "
	       "handler runs")
{
	start_waiter(wait_to_be_cancelled);
	until_asleep(&waiter);
	cancel_and_join(&waiter);
	CHECK_EQ(cleaned, 1);
	CHECK_EQ(returned, 0);
	check_not_taken();
	cnd_destroy(&cond);
}

CND_CLAUSES(desc_2__handlers_cause_no_error, "signal handlers that run meanwhile cause no error")
{
	start_waiter(take_permit);
	storm_at(&waiter);
	CHECK_EQ(returned, 0);
	permit_by(cnd_broadcast, 1, true);
	join(&waiter);
}

#define WAITERS 5

static struct thread waiters[WAITERS];

static void start_waiters(void)
{
	START_ALL(waiters, take_permit, NULL);
	UNTIL(look(&waiting) == WAITERS);
}

CLAUSE(cnd_signal__desc_1__unblocks_one_at_least,
       "it unblocks one waiter at least, called with the mutex or without")
{
	for (EACH_TYPE(type)) {
		make_cond_of_cnd(type & mtx_timed);
		start_waiters();
		for (int i = 0; i < WAITERS; i++) {
			permit_by(cnd_signal, 1, i % 2);
			UNTIL(look(&passed_by) == i + 1);
		}
		JOIN_ALL(waiters);
	}
}

static void notify_none(int (*notify)(cnd_t *cond))
{
	struct timespec at;

	make(mtx_plain);
	make_cond_of_cnd(true);
	errno = 4711;
	for (int i = 0; i < 5; i++)
		IS(notify(&cond), success);
	CHECK_EQ(errno, 4711);
	IS(mtx_lock(&mutex), success);
	at = in_ms(CLOCK_REALTIME, 20);
	IS(until_ended(&at), timedout);
	IS(mtx_unlock(&mutex), success);
}

CLAUSE_BY(notify_none(cnd_signal), cnd_signal__desc_1__without_waiters,
	  "it does nothing and returns thrd_success when nobody waits: it isn't kept for later")

CLAUSE(cnd_broadcast__desc_1__unblocks_all,
       "it unblocks all waiters, called with the mutex or without")
{
	for (int held = 0; held < 2; held++) {
		for (EACH_TYPE(type)) {
			make_cond_of_cnd(type & mtx_timed);
			start_waiters();
			permit_by(cnd_broadcast, WAITERS, held);
			JOIN_ALL(waiters);
			CHECK_EQ(passed_by, WAITERS);
		}
	}
}

CLAUSE_BY(notify_none(cnd_broadcast), cnd_broadcast__desc_1__without_waiters,
	  "it does nothing and returns thrd_success when nobody waits: it isn't kept for later")

CLAUSE(cnd_init__desc_1__makes_and_makes_anew,
       "it makes a condvar on which nobody waits, whatever the memory held, again after it was "
       "destroyed too")
{
	struct timespec at;

	make(mtx_plain);
	errno = 4711;
	for (EACH_FILLING(cond)) {
		IS(cnd_init(&cond), success);
		IS(cnd_signal(&cond), success);
		IS(mtx_lock(&mutex), success);
		at = in_ms(CLOCK_REALTIME, 3);
		IS(until_ended(&at), timedout);
		IS(mtx_unlock(&mutex), success);
		cnd_destroy(&cond);
	}
	CHECK_EQ(errno, 4711);
}

CLAUSE(cnd_destroy__desc_1__at_once_after_a_broadcast,
       "it can be destroyed as soon as all waiters have been awakened, though they have yet to "
       "get the mutex")
{
	for (int round = 0; round < 40; round++) {
		make_nth(round % 4);
		make_cond_of_cnd(round % 2);
		start_waiters();
		IS(mtx_lock(&mutex), success);
		permits = WAITERS;
		IS(cnd_broadcast(&cond), success);
		cnd_destroy(&cond);
		memset(&cond, 0xff, sizeof(cond));
		IS(mtx_unlock(&mutex), success);
		JOIN_ALL(waiters);
		CHECK_EQ(passed_by, WAITERS);
	}
}

CLAUSE_IN("glibc extension", cnd_init__desc_1__is_a_pthread_condvar,
	  "a cnd_t is a pthread condvar: the calls of both kinds may be mixed")
{
	make(mtx_plain);
	make_cond_of_cnd(false);
	start_waiter(take_permit);
	IS(mtx_lock(&mutex), success);
	permits = 1;
	OK(pthread_cond_signal((pthread_cond_t *)&cond));
	IS(mtx_unlock(&mutex), success);
	join(&waiter);
}
