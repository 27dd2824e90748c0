/* XSH (2024), the pages of <threads.h>: mutexes and condition variables of C11. */
#include "calls.h"
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

/* The mutex that a clause is about. */
static pthread_mutex_t mutex;

/* The same as C11's calls have it. */
#define MTX ((mtx_t *)&mutex)

static bool make(int type)
{
	IS(mtx_init(MTX, type), success);
	return true;
}

/* Notes what a loop is at, for failures to tell. */
static bool at_type(size_t nth)
{
	at_column = nth < COUNT(types_of_mtx) ? names_of_types[nth] : "";
	return nth < COUNT(types_of_mtx);
}

static bool make_nth(size_t nth)
{
	return at_type(nth) && make(types_of_mtx[nth]);
}

/* for (EACH_TYPE(type)): the mutex is made anew of each. */
#define EACH_TYPE(type)							\
	size_t nth_ = 0, type UNUSED;					\
	make_nth(nth_) && ((type = types_of_mtx[nth_]), true); nth_++
#define EACH_MUTEX(mutex) EACH_TYPE(type)

/* The results as errors of POSIX's, of which thrd_error may stand for any. */
static int error_of(int result)
{
	switch (result) {
	case thrd_success:
		return 0;
	case thrd_busy:
		return EBUSY;
	case thrd_timedout:
		return ETIMEDOUT;
	default:
		CHECK_EQ(result, thrd_error);
		return EINVAL;
	}
}

#define lock(mutex) error_of(mtx_lock((mtx_t *)(mutex)))
#define trylock(mutex) error_of(mtx_trylock((mtx_t *)(mutex)))
#define unlock(mutex) error_of(mtx_unlock((mtx_t *)(mutex)))
#define destroy_mutex(mutex) (mtx_destroy((mtx_t *)(mutex)), 0)

static int lock_until(enum call call, pthread_mutex_t *mutex,
		      const struct timespec *at)
{
	return call == WAIT ? lock(mutex) : call == TRY ? trylock(mutex) :
	       error_of(mtx_timedlock((mtx_t *)mutex, at));
}

#include "locking.h"

/* The caller locks it once more, or doesn't. */
static void check_type(int type)
{
	IS(mtx_lock(MTX), success);
	if (type & mtx_recursive) {
		IS(mtx_trylock(MTX), success);
		IS(mtx_unlock(MTX), success);
	} else {
		IS(mtx_trylock(MTX), busy);
	}
	check_taken_once(&mutex);
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
			IS(mtx_trylock(MTX), success);
			check_taken_once(&mutex);
			mtx_destroy(MTX);
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
			find_free(&mutex);
			mtx_destroy(MTX);
			make(types_of_mtx[i]);
			check_type(types_of_mtx[i]);
			mtx_destroy(MTX);
		}
	}
	CHECK_EQ(errno, 4711);
}

static void make_mtx(pthread_mutex_t *mutex, int round)
{
	IS(mtx_init((mtx_t *)mutex, types_of_mtx[round % 4]), success);
}

CLAUSE_BY(check_destroyed_by_the_last(make_mtx), mtx_destroy__desc_1__at_once_after_the_unlock,
	  "it can be destroyed at once by the thread that had it last, while others return from "
	  "its unlock")

CLAUSE_BY(check_blocks(WAIT, 3), mtx_lock__desc_1__blocks_until_available,
	  "it blocks until it has locked the mutex, which one thread has at a time")

static void counts(enum call call)
{
	make(mtx_timed | mtx_recursive);
	check_counts(call, call);
}

#define COUNTS "it locks a recursive mutex of the caller's once more"

CLAUSE_BY(counts(WAIT), mtx_lock__desc_1__recursive_counts, COUNTS)

CLAUSE_BY(check_excludes(), mtx_lock__desc_1__sees_what_was_written,
	  "unlocks by others synchronise with it: what they have written before is seen")

CLAUSE_BY(check_storm(WAIT), mtx_lock__desc_2__handlers_dont_end_the_wait,
	  "signal handlers that run meanwhile don't affect it")

CLAUSE_IN("XSH 2.9.5.2", mtx_lock__desc_1__is_no_cancellation_point,
	  "neither it nor mtx_timedlock is a cancellation point: a thread that is cancelled in "
	  "them gets the mutex first")
{
	check_no_cancellation_point(WAIT);
	check_no_cancellation_point(TIMEDWAIT);
}

CLAUSE(mtx_trylock__ret__busy,
       "thrd_busy at once when another has the mutex, or the caller a mutex that isn't recursive")
{
	errno = 4711;
	for (EACH_TYPE(type)) {
		IS(mtx_trylock(MTX), success);
		check_taken(&mutex);
		if (!(type & mtx_recursive))
			IS(mtx_trylock(MTX), busy);
		IS(mtx_unlock(MTX), success);
		find_free(&mutex);
	}
	CHECK_EQ(errno, 4711);
}

CLAUSE_BY(counts(TRY), mtx_trylock__desc_1__recursive_counts, COUNTS)

CLAUSE_BY(check_blocks(TIMEDWAIT, 3), mtx_timedlock__desc_1__blocks_until_available,
	  "it blocks until it has locked the mutex, if that is before the deadline")

CLAUSE_BY(counts(TIMEDWAIT), mtx_timedlock__desc_1__recursive_counts, COUNTS)

CLAUSE(mtx_timedlock__ret__timedout,
       "thrd_timedout when the deadline, a time of TIME_UTC's, is reached, not before, or has "
       "passed before the call")
{
	check_elsewhere(time_out, TIMEDWAIT);
	check_elsewhere(find_it_passed, TIMEDWAIT);
	check_elsewhere(find_it_negative, TIMEDWAIT);
}

CLAUSE(mtx_timedlock__desc_1__free_locks_past_the_deadline,
       "a mutex that is free is locked whatever the deadline")
{
	check_free_past_the_deadline(TIMEDWAIT);
	for (EACH_TYPE(type)) {
		for (EACH(i, invalid_deadlines)) {
			IS(mtx_timedlock(MTX, &invalid_deadlines[i]), success);
			IS(mtx_unlock(MTX), success);
		}
	}
}

CLAUSE(mtx_timedlock__desc_1__far_deadline_isnt_reached,
       "a deadline as far off as there is isn't reached")
{
	for (EACH_TYPE(type))
		check_far(TIMEDWAIT);
}

CLAUSE_BY(check_elsewhere(refuse_nanoseconds, TIMEDWAIT), mtx_timedlock__ret__error_bad_nanoseconds,
	  "thrd_error when it would have to wait and the nanoseconds are negative or a second and "
	  "more")

CLAUSE_BY(check_storm(TIMEDWAIT), mtx_timedlock__desc_2__handlers_dont_end_the_wait,
	  "signal handlers that run meanwhile don't affect it")

CLAUSE(mtx_unlock__desc_1__unlocks, "it unlocks the mutex that the caller has")
{
	errno = 4711;
	for (EACH_TYPE(type)) {
		IS(mtx_lock(MTX), success);
		check_taken_once(&mutex);
	}
	CHECK_EQ(errno, 4711);
}

THREAD(unlock_anothers, void *argument UNUSED)
{
	IS(mtx_unlock(MTX), error);
}

CLAUSE(mtx_unlock__ret__error_not_the_callers,
       "thrd_error, as glibc has it, of a recursive mutex that the caller doesn't have, another's "
       "or nobody's")
{
	make(mtx_plain | mtx_recursive);
	IS(mtx_unlock(MTX), error);
	IS(mtx_lock(MTX), success);
	in_a_thread(unlock_anothers, NULL);
	check_taken(&mutex);
	IS(mtx_unlock(MTX), success);
	IS(mtx_unlock(MTX), error);
	check_not_taken(&mutex);
}

CLAUSE_IN("glibc extension", mtx_init__desc_1__is_a_pthread_mutex,
	  "an mtx_t is a pthread mutex: the calls of both kinds may be mixed")
{
	pthread_mutex_t *same = (pthread_mutex_t *)MTX;

	for (EACH_TYPE(type)) {
		OK(pthread_mutex_lock(same));
		check_taken(&mutex);
		IS(mtx_unlock(MTX), success);
		IS(mtx_lock(MTX), success);
		check_taken_once(same);
	}
}

/* --------------------------------------------------------------- condvars -- */

#define init_cond(cond) error_of(cnd_init((cnd_t *)(cond)))
#define destroy_cond(cond) (cnd_destroy((cnd_t *)(cond)), 0)

static int signal_one(pthread_cond_t *cond)
{
	return error_of(cnd_signal((cnd_t *)cond));
}

static int broadcast(pthread_cond_t *cond)
{
	return error_of(cnd_broadcast((cnd_t *)cond));
}

static int wait_until(enum call call, pthread_cond_t *cond,
		      pthread_mutex_t *mutex, const struct timespec *at)
{
	cnd_t *cnd = (cnd_t *)cond;
	mtx_t *mtx = (mtx_t *)mutex;

	return error_of(call == WAIT ? cnd_wait(cnd, mtx) :
				       cnd_timedwait(cnd, mtx, at));
}

#include "condvars.h"

/* With each type of mutex. */
static bool make_scene(size_t nth, enum call call)
{
	if (!at_type(nth))
		return false;
	memset(&scene, 0xff, sizeof(scene));
	IS(mtx_init((mtx_t *)MUTEX, types_of_mtx[nth]), success);
	OK(init_cond(COND));
	scene.kind = DEFAULT;
	scene.call = call;
	scene.waiting = scene.permits = scene.passed = 0;
	scene.stage = scene.cleaned = scene.returned = 0;
	return true;
}

/* Clauses that the pages of both waits share. */
#define CND_CLAUSES_IN(section, part, check, says)			\
	CLAUSE_IN(section, cnd_wait__##part, says)			\
	{								\
		check(WAIT);						\
	}								\
	CLAUSE_IN(section, cnd_timedwait__##part, says)			\
	{								\
		check(TIMEDWAIT);					\
	}
/* In the section that the name says. */
#define CND_CLAUSES(part, check, says) CND_CLAUSES_IN(NULL, part, check, says)

CND_CLAUSES(desc_1__releases_and_blocks, releases_and_blocks,
	    "it releases the mutex and blocks, and has the mutex when it returns thrd_success "
	    "because of a signal")

CND_CLAUSES(desc_1__atomically, atomically,
	    "release and block are one: a thread that gets the mutex after the waiter, and "
	    "signals, finds it blocked")

CLAUSE(cnd_timedwait__ret__timedout,
       "thrd_timedout, with the mutex, when the deadline, a time of TIME_UTC's, is reached, not "
       "before, or has passed before the call")
{
	for (EACH_SCENE(TIMEDWAIT))
		times_out(TIMEDWAIT, CLOCK_REALTIME);
	deadline_already_passed(TIMEDWAIT);
}

CLAUSE_BY(refuses_nanoseconds(TIMEDWAIT), cnd_timedwait__ret__error_bad_nanoseconds,
	  "thrd_error, with the mutex, when the nanoseconds are negative or a second and more")

CLAUSE(cnd_wait__ret__error_not_the_callers,
       "thrd_error, as glibc has it, with a recursive mutex that the caller doesn't have")
{
	for (EACH_SCENE(WAIT)) {
		if (!(types_of_mtx[nth_] & mtx_recursive))
			continue;
		for (enum call call = WAIT; call <= TIMEDWAIT; call++)
			CHECK_ERR(wait_long(call, COND, MUTEX), EINVAL);
		destroy_scene();
	}
}

CND_CLAUSES_IN("XSH 2.9.5.2", desc_1__cancelled_with_the_mutex, cancelled_with_the_mutex,
	       "it is a cancellation point, and has the mutex again before the first cleanup "
	       "handler runs")

CND_CLAUSES(desc_2__handlers_cause_no_error, handlers_cause_no_error,
	    "signal handlers that run meanwhile cause no error")

CLAUSE(cnd_signal__desc_1__unblocks_one_at_least,
       "it unblocks one waiter at least, called with the mutex or without")
{
	signal_one_by_one(WAIT, true);
	signal_one_by_one(TIMEDWAIT, false);
}

#define NOT_KEPT							\
	"it does nothing and returns thrd_success when nobody waits: it isn't " \
	"kept for later"

CLAUSE_BY(notify_none_by(signal_one), cnd_signal__desc_1__without_waiters,
	  NOT_KEPT)

CLAUSE(cnd_broadcast__desc_1__unblocks_all,
       "it unblocks all waiters, called with the mutex or without")
{
	for (enum call call = WAIT; call <= TIMEDWAIT; call++) {
		notify_all_by(broadcast, call, true);
		notify_all_by(broadcast, call, false);
	}
}

CLAUSE_BY(notify_none_by(broadcast), cnd_broadcast__desc_1__without_waiters,
	  NOT_KEPT)

CLAUSE(cnd_init__desc_1__makes_and_makes_anew,
       "it makes a condvar on which nobody waits, whatever the memory held, again after it was "
       "destroyed too")
{
	struct timespec at;

	make_scene(0, TIMEDWAIT);
	errno = 4711;
	for (EACH_FILLING(scene.cond)) {
		OK(init_cond(COND));
		OK(signal_one(COND));
		at = in_ms(CLOCK_REALTIME, 3);
		time_out_in_scene(TIMEDWAIT, &at);
		OK(destroy_cond(COND));
	}
	CHECK_EQ(errno, 4711);
}

CLAUSE(cnd_destroy__desc_1__at_once_after_a_broadcast,
       "it can be destroyed as soon as all waiters have been awakened, though they have yet to "
       "get the mutex")
{
	for (int round = 0; round < 10; round++)
		destroy_after_broadcast(true);
}

CLAUSE_IN("glibc extension", cnd_init__desc_1__is_a_pthread_condvar,
	  "a cnd_t is a pthread condvar: the calls of both kinds may be mixed")
{
	make_scene(0, WAIT);
	start_waiter(wait_in_scene);
	permit_by(pthread_cond_signal, 1, true);
	join(&waiter);
}
