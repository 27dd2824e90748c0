/* XSH, the pages of rwlocks; their attributes' are in rwlockattr.c. */
#include "clause.h"
#include "crowd.h"
#include "deadlines.h"
#include "enough.h"
#include "handlers.h"
#include "ledger.h"
#include "memory.h"
#include "priority.h"
#include "../pthread/rwlock.h"

/* Each clause runs in a process of its own, with these. */
static pthread_rwlock_t lock;
static const enum rw_call read_waits[] = { RDLOCK, TIMEDRDLOCK, CLOCKRDLOCK };
static const enum rw_call write_waits[] = { WRLOCK, TIMEDWRLOCK, CLOCKWRLOCK };
static const enum rw_call waits[] = {
	RDLOCK, WRLOCK, TIMEDRDLOCK, TIMEDWRLOCK, CLOCKRDLOCK, CLOCKWRLOCK,
};

static void init(pthread_rwlock_t *lock)
{
	OK(pthread_rwlock_init(lock, NULL));
}

/* No thread has it or waits for it any more. */
static void check_and_destroy(pthread_rwlock_t *lock)
{
	check_free(lock);
	OK(pthread_rwlock_destroy(lock));
}

/* A clause of `lock`, which is made before the check and free after it. */
#define LOCK_CLAUSE(test, says) \
	CLAUSE_WITHIN(init(&lock), check_and_destroy(&lock), test, says)

/* ------------------------------------- pthread_rwlock_init, _destroy -- */

CLAUSE(pthread_rwlock_init__desc_1__is_unlocked,
       "the lock is made unlocked; NULL for the attributes is the same as their defaults")
{
	pthread_rwlockattr_t attr;

	OK(pthread_rwlockattr_init(&attr));
	for (int i = 0; i < 2; i++) {
		OK(pthread_rwlock_init(&lock, i ? &attr : NULL));
		check_and_destroy(&lock);
	}
	OK(pthread_rwlockattr_destroy(&attr));
}

CLAUSE(pthread_rwlock_init__desc_1__what_was_there_does_not_matter,
       "the memory may hold anything before")
{
	struct holder waiter;

	for (EACH_FILLING(lock)) {
		init(&lock);
		OK(pthread_rwlock_rdlock(&lock));
		wait_elsewhere(&waiter, &lock, WRLOCK);
		OK(pthread_rwlock_unlock(&lock));
		let_go(&waiter);
		check_and_destroy(&lock);
	}
}

CLAUSE(pthread_rwlock_init__desc_1__writes_only_where_it_lies, "nothing beside the lock is written")
{
	GUARDED(pthread_rwlock_t) memory;
	struct holder waiters[2];

	GUARD(memory);
	init(&memory.object);
	OK(pthread_rwlock_wrlock(&memory.object));
	wait_elsewhere(&waiters[0], &memory.object, RDLOCK);
	wait_elsewhere(&waiters[1], &memory.object, TIMEDWRLOCK);
	OK(pthread_rwlock_unlock(&memory.object));
	let_go(&waiters[0]);
	let_go(&waiters[1]);
	check_and_destroy(&memory.object);
	CHECK_GUARDED(memory);
}

CLAUSE(pthread_rwlock_init__desc_4__static_initialiser,
       "PTHREAD_RWLOCK_INITIALIZER makes a lock with default attributes")
{
	static pthread_rwlock_t in_data = PTHREAD_RWLOCK_INITIALIZER;
	pthread_rwlock_t on_stack = PTHREAD_RWLOCK_INITIALIZER;

	check_and_destroy(&in_data);
	check_and_destroy(&on_stack);
}

CLAUSE(pthread_rwlock_destroy__desc_1__may_be_initialised_again,
       "a destroyed lock may be initialised again")
{
	struct holder waiter;

	for (int i = 0; i < 5; i++) {
		init(&lock);
		OK(pthread_rwlock_wrlock(&lock));
		wait_elsewhere(&waiter, &lock, i % 2 ? RDLOCK : WRLOCK);
		OK(pthread_rwlock_unlock(&lock));
		let_go(&waiter);
		CHECK_EQ(pthread_rwlock_destroy(&lock), 0);
	}
}

struct vanishing {
	pthread_rwlock_t *_Atomic lock;
	_Atomic bool has, stop;
	enum rw_call call;
};

THREAD(unlock_what_vanishes, struct vanishing *vanishing)
{
	pthread_rwlock_t *lock;

	while (!vanishing->stop) {
		lock = vanishing->lock;
		if (!lock) {
			sched_yield();
			continue;
		}
		vanishing->lock = NULL;
		OK(take(lock, vanishing->call, LONG_MS));
		vanishing->has = true;
		sched_yield();
		OK(pthread_rwlock_unlock(lock));
	}
}

/* An unlock touches the lock no more once a writer can have it. */
CLAUSE(pthread_rwlock_destroy__desc_1__right_after_the_last_unlock,
       "a writer may destroy it after its unlock and free its memory, though the one before is "
       "still in its own")
{
	pthread_rwlock_t *lock;
	struct vanishing vanishing = { .lock = NULL };
	struct thread other;

	start(&other, unlock_what_vanishes, &vanishing);
	for (int i = 0; i < 900 && !enough(); i++) {
		lock = new_page();
		init(lock);
		vanishing.has = false;
		vanishing.call = waits[i % 6];
		vanishing.lock = lock;
		while (!vanishing.has)
			sched_yield();
		OK(take(lock, write_waits[i % 3], LONG_MS));
		OK(pthread_rwlock_unlock(lock));
		OK(pthread_rwlock_destroy(lock));
		give_back(lock);
	}
	vanishing.stop = true;
	join(&other);
}

/* ------------------------------------ pthread_rwlock_rdlock, _tryrdlock -- */

LOCK_CLAUSE(pthread_rwlock_rdlock__desc_1__locks_for_reading,
	    "the caller reads when no writer has it or waits")
{
	OK(pthread_rwlock_rdlock(&lock));
	CHECK_ERR(elsewhere(&lock, TRYWRLOCK), EBUSY);
	OK(elsewhere(&lock, TRYRDLOCK));
	OK(pthread_rwlock_unlock(&lock));
}

LOCK_CLAUSE(pthread_rwlock_rdlock__desc_3__waits_for_the_writer,
	    "it blocks while a writer has the lock")
{
	struct holder waiter;

	for (EACH(i, read_waits)) {
		OK(pthread_rwlock_wrlock(&lock));
		wait_elsewhere(&waiter, &lock, read_waits[i]);
		sleep_ms(2);
		CHECK(!waiter.done);
		OK(pthread_rwlock_unlock(&lock));
		let_go(&waiter);
		check_free(&lock);
	}
}

/* Up to the implementation; glibc's default prefers readers. */
LOCK_CLAUSE(pthread_rwlock_rdlock__desc_3__passes_waiting_writers,
	    "whether writers that wait keep readers out is the implementation's: in glibc's "
	    "default kind they don't")
{
	struct holder writer;

	OK(pthread_rwlock_rdlock(&lock));
	wait_elsewhere(&writer, &lock, WRLOCK);
	for (enum rw_call call = RDLOCK; call < RW_CALLS; call += 2)
		OK(elsewhere(&lock, call));
	CHECK(!writer.done);
	OK(pthread_rwlock_unlock(&lock));
	let_go(&writer);
}

LOCK_CLAUSE(pthread_rwlock_rdlock__desc_4__many_times_by_one_thread,
	    "a thread may read many times over, and unlocks as often")
{
	for (int i = 0; i < 1000; i++)
		OK(take(&lock, read_waits[i % 3], LONG_MS));
	for (int i = 0; i < 1000; i++) {
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		OK(pthread_rwlock_unlock(&lock));
	}
}

LOCK_CLAUSE(pthread_rwlock_rdlock__desc_4__readers_at_a_time, "many threads read at a time")
{
	struct holder readers[8];

	for (int i = 0; i < 8; i++)
		hold_elsewhere(&readers[i], &lock, read_waits[i % 3]);
	for (int i = 0; i < 8; i++) {
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		let_go(&readers[i]);
	}
}

LOCK_CLAUSE(pthread_rwlock_tryrdlock__desc_6__locks_or_returns,
	    "pthread_rwlock_tryrdlock reads or fails where rdlock would block; it never blocks")
{
	struct holder reader, writer;

	OK(pthread_rwlock_tryrdlock(&lock));
	CHECK_ERR(elsewhere(&lock, TRYWRLOCK), EBUSY);
	OK(pthread_rwlock_unlock(&lock));
	hold_elsewhere(&reader, &lock, RDLOCK);
	OK(pthread_rwlock_tryrdlock(&lock));
	OK(pthread_rwlock_unlock(&lock));
	let_go(&reader);
	hold_elsewhere(&writer, &lock, WRLOCK);
	CHECK_ERR(pthread_rwlock_tryrdlock(&lock), EBUSY);
	let_go(&writer);
}

LOCK_CLAUSE(pthread_rwlock_tryrdlock__err_EBUSY__a_writer_has_it,
	    "pthread_rwlock_tryrdlock finds a writer, also the caller")
{
	OK(pthread_rwlock_wrlock(&lock));
	for (int i = 0; i < 100; i++)
		CHECK_ERR(pthread_rwlock_tryrdlock(&lock), EBUSY);
	CHECK_ERR(elsewhere(&lock, TRYRDLOCK), EBUSY);
	OK(pthread_rwlock_unlock(&lock));
}

LOCK_CLAUSE(pthread_rwlock_rdlock__err_EDEADLK__the_caller_writes,
	    "the caller has it to write (a \"may\" that glibc does)")
{
	OK(pthread_rwlock_wrlock(&lock));
	CHECK_ERR(pthread_rwlock_rdlock(&lock), EDEADLK);
	OK(pthread_rwlock_unlock(&lock));
}

static void check_handlers(const enum rw_call *calls, int count)
{
	static const int flags[] = { 0, SA_RESTART };
	struct holder waiter;

	init(&lock);
	for (int i = 0; i < 2 * count; i++) {
		handle(flags[i % 2]);
		OK(pthread_rwlock_wrlock(&lock));
		wait_elsewhere(&waiter, &lock, calls[i / 2]);
		for (int shot = 0; shot < 30; shot++) {
			shoot(&waiter.thread);
			CHECK(!waiter.done);
		}
		OK(pthread_rwlock_unlock(&lock));
		let_go(&waiter);
		check_free(&lock);
	}
}

#define NEVER_EINTR "after a handler it waits on; never EINTR"

CLAUSE_BY(check_handlers(&read_waits[0], 1),
	  pthread_rwlock_rdlock__desc_8__waits_on_after_a_handler, NEVER_EINTR)

CLAUSE_BY(check_handlers(&read_waits[1], 2),
	  pthread_rwlock_timedrdlock__desc_4__waits_on_after_a_handler,
	  NEVER_EINTR)

CLAUSE_BY(check_handlers(&write_waits[0], 1),
	  pthread_rwlock_wrlock__desc_4__waits_on_after_a_handler, NEVER_EINTR)

CLAUSE_BY(check_handlers(&write_waits[1], 2),
	  pthread_rwlock_timedwrlock__desc_4__waits_on_after_a_handler,
	  NEVER_EINTR)

/* ------------------------------------ pthread_rwlock_wrlock, _trywrlock -- */

LOCK_CLAUSE(pthread_rwlock_wrlock__desc_1__locks_for_writing,
	    "the caller writes when no other thread has it")
{
	OK(pthread_rwlock_wrlock(&lock));
	CHECK_ERR(elsewhere(&lock, TRYWRLOCK), EBUSY);
	CHECK_ERR(elsewhere(&lock, TRYRDLOCK), EBUSY);
	OK(pthread_rwlock_unlock(&lock));
}

LOCK_CLAUSE(pthread_rwlock_wrlock__desc_1__waits_for_every_reader,
	    "it blocks while any reader has the lock")
{
	struct holder readers[3], writer;

	for (EACH(call, write_waits)) {
		for (int i = 0; i < 3; i++)
			hold_elsewhere(&readers[i], &lock, RDLOCK);
		wait_elsewhere(&writer, &lock, write_waits[call]);
		for (int i = 0; i < 3; i++) {
			sleep_ms(2);
			CHECK(!writer.done);
			let_go(&readers[i]);
		}
		let_go(&writer);
		check_free(&lock);
	}
}

LOCK_CLAUSE(pthread_rwlock_wrlock__desc_1__waits_for_the_writer,
	    "it blocks while a writer has the lock")
{
	struct holder first, second;

	for (EACH(call, write_waits)) {
		hold_elsewhere(&first, &lock, WRLOCK);
		wait_elsewhere(&second, &lock, write_waits[call]);
		sleep_ms(2);
		CHECK(!second.done);
		let_go(&first);
		let_go(&second);
		check_free(&lock);
	}
}

LOCK_CLAUSE(pthread_rwlock_trywrlock__desc_2__locks_or_returns,
	    "pthread_rwlock_trywrlock writes, or fails when anybody has it; it never blocks")
{
	struct holder holder;

	OK(pthread_rwlock_trywrlock(&lock));
	CHECK_ERR(elsewhere(&lock, TRYRDLOCK), EBUSY);
	OK(pthread_rwlock_unlock(&lock));
	hold_elsewhere(&holder, &lock, RDLOCK);
	CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
	let_go(&holder);
	hold_elsewhere(&holder, &lock, WRLOCK);
	CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
	let_go(&holder);
}

LOCK_CLAUSE(pthread_rwlock_trywrlock__err_EBUSY__the_caller_has_it,
	    "pthread_rwlock_trywrlock finds it with any thread, also the caller")
{
	OK(pthread_rwlock_rdlock(&lock));
	CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
	OK(pthread_rwlock_unlock(&lock));
	OK(pthread_rwlock_wrlock(&lock));
	CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
	OK(pthread_rwlock_unlock(&lock));
}

LOCK_CLAUSE(pthread_rwlock_wrlock__err_EDEADLK__the_caller_writes,
	    "the caller has it to write (a \"may\" that glibc does)")
{
	OK(pthread_rwlock_wrlock(&lock));
	CHECK_ERR(pthread_rwlock_wrlock(&lock), EDEADLK);
	CHECK_ERR(elsewhere(&lock, TRYRDLOCK), EBUSY);
	OK(pthread_rwlock_unlock(&lock));
}

CLAUSE(pthread_rwlock_wrlock__desc_1__excludes_all_others,
	    "nobody else reads or writes meanwhile, and what writers wrote is seen (XBD, Memory "
	    "Synchronization)")
{
	struct ledger ledger = { .written = 0 };

	init(&ledger.lock);
	run_together(6, read_and_write, &ledger);
	CHECK(ledger.written > 0);
	check_and_destroy(&ledger.lock);
}

/* ----------------------- pthread_rwlock_timedrdlock, _timedwrlock, _clock... -- */

#define EACH_TIMED(call, write)						\
	enum rw_call call = TIMEDRDLOCK + (write); call < RW_CALLS; call += 2

/*
 * Clauses that the pages share of what waits to read and of what waits to write:
 * each of a `lock` of its own.
 */
#define BOTH_CLAUSES(of, part, says_of_rdlock, says_of_wrlock)		\
	static void part(bool write);					\
	LOCK_CLAUSE(pthread_rwlock_##of##rdlock__##part, says_of_rdlock) \
	{								\
		part(false);						\
	}								\
	LOCK_CLAUSE(pthread_rwlock_##of##wrlock__##part, says_of_wrlock) \
	{								\
		part(true);						\
	}								\
	static void part(bool write)

#define TIMED_CLAUSES(part, says) BOTH_CLAUSES(timed, part, says, says)

TIMED_CLAUSES(err_ETIMEDOUT__at_the_deadline,
	      "it ends at its deadline, on either clock, not before")
{
	struct holder holder;
	struct timespec at;

	/* A writer keeps readers out; a reader keeps writers out, too. */
	for (int read = 0; read <= write; read++) {
		hold_elsewhere(&holder, &lock, read ? RDLOCK : WRLOCK);
		for (EACH_TIMED(call, write)) {
			for (int i = 0; i < 4; i++) {
				at = in_ms(clock_of(call), 6 * i);
				CHECK_ERR(take_until(&lock, call, &at), ETIMEDOUT);
				CHECK_REACHED(clock_of(call), at);
			}
		}
		let_go(&holder);
		check_free(&lock);
	}
}

TIMED_CLAUSES(desc_3__no_timeout_when_free,
	      "it never times out when it can lock at once; ETIMEDOUT at once when it can't and "
	      "the deadline has passed")
{
	const struct timespec *at;
	struct holder holder;

	for (EACH_TIMED(call, write)) {
		for (EACH(i, passed_deadlines)) {
			at = &passed_deadlines[i];
			/* Free, it is taken. */
			OK(take_until(&lock, call, at));
			OK(pthread_rwlock_unlock(&lock));
			hold_elsewhere(&holder, &lock, WRLOCK);
			CHECK_ERR(take_until(&lock, call, at), ETIMEDOUT);
			let_go(&holder);
		}
	}
}

static const struct timespec *far;

THREAD(wait_far, enum rw_call *call)
{
	OK(take_until(&lock, *call, far));
	OK(pthread_rwlock_unlock(&lock));
}

TIMED_CLAUSES(desc_2__far_deadlines,
	      "a deadline doesn't expire before it is there, however far it is")
{
	struct thread thread;

	for (EACH_TIMED(call, write)) {
		for (EACH(i, farthest)) {
			far = &farthest[i];
			OK(pthread_rwlock_wrlock(&lock));
			start_asleep(&thread, wait_far, &call);
			OK(pthread_rwlock_unlock(&lock));
			join(&thread);
		}
	}
}

TIMED_CLAUSES(err_EINVAL__nanoseconds,
	      "it would wait, and the nanoseconds are less than 0 or not less than 1000 million; "
	      "when it needn't wait, both are allowed")
{
	const struct timespec *at;
	struct holder holder;
	int error;

	for (EACH_TIMED(call, write)) {
		for (EACH(i, invalid_deadlines)) {
			at = &invalid_deadlines[i];
			/* While the lock is free, success is allowed as well. */
			error = take_until(&lock, call, at);
			if (!error)
				OK(pthread_rwlock_unlock(&lock));
			else
				CHECK_EQ(error, EINVAL);
			check_free(&lock);
			hold_elsewhere(&holder, &lock, WRLOCK);
			CHECK_ERR(take_until(&lock, call, at), EINVAL);
			let_go(&holder);
		}
	}
}

static int clocklock(bool write, clockid_t clock, const struct timespec *at)
{
	return write ? pthread_rwlock_clockwrlock(&lock, clock, at) :
		       pthread_rwlock_clockrdlock(&lock, clock, at);
}

#define NO_CLOCK "the clock is neither CLOCK_REALTIME nor CLOCK_MONOTONIC: glibc has no others " \
		 "here, and looks at it first"

BOTH_CLAUSES(clock, err_EINVAL__clock, NO_CLOCK, NO_CLOCK)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 1000);
	struct holder holder;

	hold_elsewhere(&holder, &lock, write ? RDLOCK : WRLOCK);
	for (int released = 0; released < 2; released++) {
		for (EACH(i, invalid_clocks))
			CHECK_ERR(clocklock(write, invalid_clocks[i], &at), EINVAL);
		if (!released)
			let_go(&holder);
	}
}

BOTH_CLAUSES(clock, desc_2__realtime_clock,
	     "pthread_rwlock_clockrdlock counts by the clock that it names",
	     "pthread_rwlock_clockwrlock counts by the clock that it names")
{
	/* It lies decades ahead of the other clock's now. */
	static const struct timespec passed = { .tv_sec = 1000000000 };
	struct holder holder;
	struct timespec at;

	hold_elsewhere(&holder, &lock, write ? RDLOCK : WRLOCK);
	at = in_ms(CLOCK_REALTIME, 10);
	CHECK_ERR(clocklock(write, CLOCK_REALTIME, &at), ETIMEDOUT);
	CHECK(now_ns(CLOCK_REALTIME) >= ns_of(&at));
	CHECK_ERR(clocklock(write, CLOCK_REALTIME, &passed), ETIMEDOUT);
	let_go(&holder);
}

TIMED_CLAUSES(err_EDEADLK__the_caller_writes,
	      "the caller has it to write (a \"may\" that glibc does)")
{
	OK(pthread_rwlock_wrlock(&lock));
	for (EACH_TIMED(call, write))
		CHECK_ERR(take(&lock, call, LONG_MS), EDEADLK);
	OK(pthread_rwlock_unlock(&lock));
}

/* What a writer that gave up leaves behind keeps no reader out. */
CLAUSE(pthread_rwlock_timedwrlock__ret__given_up_is_gone,
       "a writer that timed out keeps no reader out, of any kind of lock")
{
	struct holder writer, reader;

	for (enum rw_kind kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		hold_elsewhere(&reader, &lock, RDLOCK);
		writer = (struct holder){ .lock = &lock, .call = TIMEDWRLOCK, .ms = 15 };
		start(&writer.thread, holder_run, &writer);
		join(&writer.thread);
		CHECK_ERR(writer.error, ETIMEDOUT);
		OK(elsewhere(&lock, TRYRDLOCK));
		OK(elsewhere(&lock, RDLOCK));
		CHECK_ERR(elsewhere(&lock, TRYWRLOCK), EBUSY);
		let_go(&reader);
		check_free(&lock);
	}
}

/* ------------------------------------------------ pthread_rwlock_unlock -- */

LOCK_CLAUSE(pthread_rwlock_unlock__desc_2__stays_locked_by_other_readers,
	    "while others read it stays locked for reading")
{
	struct holder reader;

	hold_elsewhere(&reader, &lock, RDLOCK);
	OK(pthread_rwlock_rdlock(&lock));
	OK(pthread_rwlock_unlock(&lock));
	CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
	OK(elsewhere(&lock, TRYRDLOCK));
	let_go(&reader);
}

LOCK_CLAUSE(pthread_rwlock_unlock__desc_2__last_reader_frees_it, "the last of the readers frees it")
{
	struct holder reader, writer;

	hold_elsewhere(&reader, &lock, RDLOCK);
	OK(pthread_rwlock_rdlock(&lock));
	wait_elsewhere(&writer, &lock, WRLOCK);
	OK(pthread_rwlock_unlock(&lock));
	sleep_ms(2);
	CHECK(!writer.done);
	let_go(&reader);
	UNTIL(writer.done);
	let_go(&writer);
}

LOCK_CLAUSE(pthread_rwlock_unlock__desc_3__writer_frees_it, "the writer frees it")
{
	for (int i = 0; i < 100; i++) {
		OK(take(&lock, write_waits[i % 3], LONG_MS));
		OK(pthread_rwlock_unlock(&lock));
	}
}

LOCK_CLAUSE(pthread_rwlock_unlock__desc_4__all_that_wait_have_it_in_the_end,
	    "threads that wait have it one after another, all in the end")
{
	struct holder waiters[12];

	OK(pthread_rwlock_wrlock(&lock));
	for (int i = 0; i < 12; i++)
		wait_elsewhere(&waiters[i], &lock, waits[i % 6]);
	OK(pthread_rwlock_unlock(&lock));
	let_all_go(waiters, 12);
}

LOCK_CLAUSE(pthread_rwlock_unlock__desc_4__lets_all_readers_in,
	    "readers that wait are let in together")
{
	struct holder readers[6];

	OK(pthread_rwlock_wrlock(&lock));
	for (int i = 0; i < 6; i++)
		wait_elsewhere(&readers[i], &lock, read_waits[i % 3]);
	OK(pthread_rwlock_unlock(&lock));
	for (int i = 0; i < 6; i++)
		UNTIL(readers[i].done);
	let_all_go(readers, 6);
}

LOCK_CLAUSE(pthread_rwlock_unlock__desc_4__lets_one_writer_in,
	    "writers that wait are let in one by one")
{
	struct holder writers[3];
	int i, done;

	OK(pthread_rwlock_wrlock(&lock));
	for (i = 0; i < 3; i++)
		wait_elsewhere(&writers[i], &lock, write_waits[i]);
	OK(pthread_rwlock_unlock(&lock));
	for (int left = 3; left; left--) {
		/* Of those that haven't left, one has it. */
		do {
			usleep(300);
			for (done = -1, i = 0; i < 3; i++)
				if (writers[i].done && !writers[i].release)
					done = i;
		} while (done < 0);
		sleep_ms(3);
		for (i = 0; i < 3; i++)
			CHECK(i == done || !writers[i].done || writers[i].release);
		let_go(&writers[done]);
	}
}

/* Long enough that the next one has to be woken. */
static void write_ranked(struct ranked *ranked)
{
	OK(pthread_rwlock_wrlock(ranked->object));
	take_turn(ranked);
	sleep_ms(1);
	CHECK_EQ(ranked->turn, *ranked->turns);
	OK(pthread_rwlock_unlock(ranked->object));
}

static void release_ranked(void *lock, int turn)
{
	/* After the first one, they release it themselves. */
	if (turn == 0)
		OK(pthread_rwlock_unlock(lock));
}

LOCK_CLAUSE(pthread_rwlock_unlock__desc_4__highest_priority_first,
	    "of writers with priorities (SCHED_FIFO) that wait, the highest goes first")
{
	OK(pthread_rwlock_wrlock(&lock));
	check_ranks((const int[]){ 1, 3, 2, 5, 4 },
		    (const int[]){ 5, 3, 4, 1, 2 }, write_ranked,
		    release_ranked, &lock);
}

CLAUSE(pthread_rwlock_unlock__ret__zero_and_errno_alone,
       "0 on success; none of the calls touches errno")
{
	init(&lock);
	for (enum rw_call call = 0; call < RW_CALLS; call++) {
		errno = 4721;
		CHECK_EQ(take(&lock, call, LONG_MS), 0);
		CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
		CHECK_EQ(errno, 4721);
	}
	CHECK_EQ(pthread_rwlock_destroy(&lock), 0);
	CHECK_EQ(errno, 4721);
}
