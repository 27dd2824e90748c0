/* XSH, the pages of rwlocks; their attributes' are in rwlockattr.c. */
#include "clause.h"
#include "crowd.h"
#include "deadlines.h"
#include "enough.h"
#include "handlers.h"
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

/* ------------------------------------- pthread_rwlock_init, _destroy -- */

CLAUSE(pthread_rwlock_init__desc_1__is_unlocked,
       "the lock is made unlocked; NULL for the attributes is the same as their defaults")
{
	pthread_rwlockattr_t attr;

	OK(pthread_rwlockattr_init(&attr));
	for (int i = 0; i < 2; i++) {
		OK(pthread_rwlock_init(&lock, i ? &attr : NULL));
		check_free(&lock);
		OK(pthread_rwlock_destroy(&lock));
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
		check_free(&lock);
		OK(pthread_rwlock_destroy(&lock));
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
	check_free(&memory.object);
	OK(pthread_rwlock_destroy(&memory.object));
	CHECK_GUARDED(memory);
}

CLAUSE(pthread_rwlock_init__desc_4__static_initialiser,
       "PTHREAD_RWLOCK_INITIALIZER makes a lock with default attributes")
{
	static pthread_rwlock_t in_data = PTHREAD_RWLOCK_INITIALIZER;
	pthread_rwlock_t on_stack = PTHREAD_RWLOCK_INITIALIZER;

	check_free(&in_data);
	check_free(&on_stack);
	OK(pthread_rwlock_destroy(&in_data));
	OK(pthread_rwlock_destroy(&on_stack));
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

CLAUSE(pthread_rwlock_rdlock__desc_1__locks_for_reading,
       "the caller reads when no writer has it or waits")
{
	init(&lock);
	OK(pthread_rwlock_rdlock(&lock));
	CHECK_ERR(elsewhere(&lock, TRYWRLOCK), EBUSY);
	OK(elsewhere(&lock, TRYRDLOCK));
	OK(pthread_rwlock_unlock(&lock));
	check_free(&lock);
}

CLAUSE(pthread_rwlock_rdlock__desc_3__waits_for_the_writer, "it blocks while a writer has the lock")
{
	struct holder waiter;

	init(&lock);
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
CLAUSE(pthread_rwlock_rdlock__desc_3__passes_waiting_writers,
       "whether writers that wait keep readers out is the implementation's: in glibc's default "
       "kind they don't")
{
	struct holder writer;
	enum rw_call call;

	init(&lock);
	OK(pthread_rwlock_rdlock(&lock));
	wait_elsewhere(&writer, &lock, WRLOCK);
	for (call = 0; call < RW_CALLS; call++) {
		if (is_write(call))
			continue;
		OK(elsewhere(&lock, call));
	}
	CHECK(!writer.done);
	OK(pthread_rwlock_unlock(&lock));
	let_go(&writer);
	check_free(&lock);
}

CLAUSE(pthread_rwlock_rdlock__desc_4__many_times_by_one_thread,
       "a thread may read many times over, and unlocks as often")
{
	init(&lock);
	for (int i = 0; i < 1000; i++)
		OK(take(&lock, read_waits[i % 3], LONG_MS));
	for (int i = 0; i < 1000; i++) {
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		OK(pthread_rwlock_unlock(&lock));
	}
	check_free(&lock);
}

CLAUSE(pthread_rwlock_rdlock__desc_4__readers_at_a_time, "many threads read at a time")
{
	struct holder readers[8];

	init(&lock);
	for (int i = 0; i < 8; i++)
		hold_elsewhere(&readers[i], &lock, read_waits[i % 3]);
	for (int i = 0; i < 8; i++) {
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		let_go(&readers[i]);
	}
	check_free(&lock);
}

CLAUSE(pthread_rwlock_tryrdlock__desc_6__locks_or_returns,
       "pthread_rwlock_tryrdlock reads or fails where rdlock would block; it never blocks")
{
	struct holder reader, writer;

	init(&lock);
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
	check_free(&lock);
}

CLAUSE(pthread_rwlock_tryrdlock__err_EBUSY__a_writer_has_it,
       "pthread_rwlock_tryrdlock finds a writer, also the caller")
{
	init(&lock);
	OK(pthread_rwlock_wrlock(&lock));
	for (int i = 0; i < 100; i++)
		CHECK_ERR(pthread_rwlock_tryrdlock(&lock), EBUSY);
	CHECK_ERR(elsewhere(&lock, TRYRDLOCK), EBUSY);
	OK(pthread_rwlock_unlock(&lock));
	check_free(&lock);
}

CLAUSE(pthread_rwlock_rdlock__err_EDEADLK__the_caller_writes,
       "the caller has it to write (a \"may\" that glibc does)")
{
	init(&lock);
	OK(pthread_rwlock_wrlock(&lock));
	CHECK_ERR(pthread_rwlock_rdlock(&lock), EDEADLK);
	OK(pthread_rwlock_unlock(&lock));
	check_free(&lock);
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

CLAUSE(pthread_rwlock_rdlock__desc_8__waits_on_after_a_handler,
       "after a handler it waits on; never EINTR")
{
	check_handlers(&read_waits[0], 1);
}

CLAUSE(pthread_rwlock_timedrdlock__desc_4__waits_on_after_a_handler,
       "after a handler it waits on; never EINTR")
{
	check_handlers(&read_waits[1], 2);
}

CLAUSE(pthread_rwlock_wrlock__desc_4__waits_on_after_a_handler,
       "after a handler it waits on; never EINTR")
{
	check_handlers(&write_waits[0], 1);
}

CLAUSE(pthread_rwlock_timedwrlock__desc_4__waits_on_after_a_handler,
       "after a handler it waits on; never EINTR")
{
	check_handlers(&write_waits[1], 2);
}

/* ------------------------------------ pthread_rwlock_wrlock, _trywrlock -- */

CLAUSE(pthread_rwlock_wrlock__desc_1__locks_for_writing,
       "the caller writes when no other thread has it")
{
	init(&lock);
	OK(pthread_rwlock_wrlock(&lock));
	CHECK_ERR(elsewhere(&lock, TRYWRLOCK), EBUSY);
	CHECK_ERR(elsewhere(&lock, TRYRDLOCK), EBUSY);
	OK(pthread_rwlock_unlock(&lock));
	check_free(&lock);
}

CLAUSE(pthread_rwlock_wrlock__desc_1__waits_for_every_reader,
       "it blocks while any reader has the lock")
{
	struct holder readers[3], writer;

	init(&lock);
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

CLAUSE(pthread_rwlock_wrlock__desc_1__waits_for_the_writer, "it blocks while a writer has the lock")
{
	struct holder first, second;

	init(&lock);
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

CLAUSE(pthread_rwlock_trywrlock__desc_2__locks_or_returns,
       "pthread_rwlock_trywrlock writes, or fails when anybody has it; it never blocks")
{
	struct holder holder;

	init(&lock);
	OK(pthread_rwlock_trywrlock(&lock));
	CHECK_ERR(elsewhere(&lock, TRYRDLOCK), EBUSY);
	OK(pthread_rwlock_unlock(&lock));
	hold_elsewhere(&holder, &lock, RDLOCK);
	CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
	let_go(&holder);
	hold_elsewhere(&holder, &lock, WRLOCK);
	CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
	let_go(&holder);
	check_free(&lock);
}

CLAUSE(pthread_rwlock_trywrlock__err_EBUSY__the_caller_has_it,
       "pthread_rwlock_trywrlock finds it with any thread, also the caller")
{
	init(&lock);
	OK(pthread_rwlock_rdlock(&lock));
	CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
	OK(pthread_rwlock_unlock(&lock));
	OK(pthread_rwlock_wrlock(&lock));
	CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
	OK(pthread_rwlock_unlock(&lock));
	check_free(&lock);
}

CLAUSE(pthread_rwlock_wrlock__err_EDEADLK__the_caller_writes,
       "the caller has it to write (a \"may\" that glibc does)")
{
	init(&lock);
	OK(pthread_rwlock_wrlock(&lock));
	CHECK_ERR(pthread_rwlock_wrlock(&lock), EDEADLK);
	CHECK_ERR(elsewhere(&lock, TRYRDLOCK), EBUSY);
	OK(pthread_rwlock_unlock(&lock));
	check_free(&lock);
}

struct message {
	pthread_rwlock_t lock;
	uint32_t words[16];
	long written;
	int turns;
};

THREAD(read_and_write, struct message *message)
{
	uint32_t state = 4711 + gettid();
	enum rw_call call;

	for (int i = 0; i < message->turns; i++) {
		call = waits[next_random(&state) % 6];
		OK(take(&message->lock, call, LONG_MS));
		for (int j = 1; j < 16; j++)
			CHECK_EQ(message->words[j], message->words[0]);
		if (is_write(call)) {
			message->written++;
			for (int j = 0; j < 16; j++)
				message->words[j]++;
		}
		OK(pthread_rwlock_unlock(&message->lock));
	}
}

CLAUSE(pthread_rwlock_wrlock__desc_1__excludes_all_others,
       "nobody else reads or writes meanwhile, and what writers wrote is seen (XBD, Memory "
       "Synchronization)")
{
	struct message message = { .turns = 2000 };

	init(&message.lock);
	run_together(6, read_and_write, &message);
	CHECK(message.written > 0);
	CHECK_EQ(message.words[0], message.written);
	check_free(&message.lock);
}

/* ----------------------- pthread_rwlock_timedrdlock, _timedwrlock, _clock... -- */

#define EACH_TIMED(call, write)						\
	enum rw_call call = TIMEDRDLOCK + (write); call < RW_CALLS; call += 2

/* Clauses that the pages share of what waits to read and of what waits to write. */
#define TIMED_CLAUSES(part, says)					\
	static void part(bool write);					\
	CLAUSE_BY(part(false), pthread_rwlock_timedrdlock__##part, says) \
	CLAUSE_BY(part(true), pthread_rwlock_timedwrlock__##part, says)	\
	static void part(bool write)

#define CLOCK_CLAUSES(part, says_of_rdlock, says_of_wrlock)		\
	static void part(bool write);					\
	CLAUSE_BY(part(false), pthread_rwlock_clockrdlock__##part, says_of_rdlock) \
	CLAUSE_BY(part(true), pthread_rwlock_clockwrlock__##part, says_of_wrlock) \
	static void part(bool write)

TIMED_CLAUSES(err_ETIMEDOUT__at_the_deadline,
	      "it ends at its deadline, on either clock, not before")
{
	struct holder holder;
	struct timespec at;

	/* A writer keeps readers out; a reader keeps writers out, too. */
	for (int read = 0; read <= write; read++) {
		init(&lock);
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
	static const struct timespec passed[] = {
		{ 0, 0 }, { 1, 0 }, { -1, 0 }, { -1, 999999999 }, { INT64_MIN, 0 },
	};
	struct holder holder;

	init(&lock);
	for (EACH_TIMED(call, write)) {
		for (EACH(i, passed)) {
			/* Free, it is taken. */
			OK(take_until(&lock, call, &passed[i]));
			OK(pthread_rwlock_unlock(&lock));
		}
		hold_elsewhere(&holder, &lock, WRLOCK);
		for (EACH(i, passed))
			CHECK_ERR(take_until(&lock, call, &passed[i]), ETIMEDOUT);
		let_go(&holder);
	}
	check_free(&lock);
}

struct far_waiter {
	pthread_rwlock_t *lock;
	enum rw_call call;
	size_t at;
};

THREAD(wait_far, struct far_waiter *far)
{
	OK(take_until(far->lock, far->call, &farthest[far->at]));
	OK(pthread_rwlock_unlock(far->lock));
}

TIMED_CLAUSES(desc_2__far_deadlines,
	      "a deadline doesn't expire before it is there, however far it is")
{
	struct thread thread;
	struct far_waiter far;

	init(&lock);
	for (EACH_TIMED(call, write)) {
		for (EACH(i, farthest)) {
			far = (struct far_waiter){ &lock, call, i };
			OK(pthread_rwlock_wrlock(&lock));
			start_asleep(&thread, wait_far, &far);
			OK(pthread_rwlock_unlock(&lock));
			join(&thread);
		}
	}
	check_free(&lock);
}

TIMED_CLAUSES(err_EINVAL__nanoseconds,
	      "it would wait, and the nanoseconds are less than 0 or not less than 1000 million; "
	      "when it needn't wait, both are allowed")
{
	struct holder holder;
	struct timespec at;
	int error;

	init(&lock);
	for (EACH_TIMED(call, write)) {
		for (EACH(i, invalid_nanoseconds)) {
			at = in_ms(clock_of(call), 1000);
			at.tv_nsec = invalid_nanoseconds[i];
			/* While the lock is free, success is allowed as well. */
			error = take_until(&lock, call, &at);
			if (!error)
				OK(pthread_rwlock_unlock(&lock));
			else
				CHECK_EQ(error, EINVAL);
			check_free(&lock);
			hold_elsewhere(&holder, &lock, WRLOCK);
			CHECK_ERR(take_until(&lock, call, &at), EINVAL);
			at.tv_sec = -5;
			CHECK_ERR(take_until(&lock, call, &at), EINVAL);
			let_go(&holder);
		}
	}
	check_free(&lock);
}

static int clocklock(bool write, clockid_t clock, const struct timespec *at)
{
	return write ? pthread_rwlock_clockwrlock(&lock, clock, at) :
		       pthread_rwlock_clockrdlock(&lock, clock, at);
}

#define NO_CLOCK "the clock is neither CLOCK_REALTIME nor CLOCK_MONOTONIC: glibc has no others " \
		 "here, and looks at it first"

CLOCK_CLAUSES(err_EINVAL__clock, NO_CLOCK, NO_CLOCK)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 1000);
	struct holder holder;

	init(&lock);
	hold_elsewhere(&holder, &lock, write ? RDLOCK : WRLOCK);
	for (int released = 0; released < 2; released++) {
		for (EACH(i, invalid_clocks))
			CHECK_ERR(clocklock(write, invalid_clocks[i], &at), EINVAL);
		if (!released)
			let_go(&holder);
	}
	check_free(&lock);
}

CLOCK_CLAUSES(desc_2__realtime_clock,
	      "pthread_rwlock_clockrdlock counts by the clock that it names",
	      "pthread_rwlock_clockwrlock counts by the clock that it names")
{
	/* It lies decades ahead of the other clock's now. */
	static const struct timespec passed = { .tv_sec = 1000000000 };
	struct holder holder;
	struct timespec at;

	init(&lock);
	hold_elsewhere(&holder, &lock, write ? RDLOCK : WRLOCK);
	at = in_ms(CLOCK_REALTIME, 10);
	CHECK_ERR(clocklock(write, CLOCK_REALTIME, &at), ETIMEDOUT);
	CHECK(now_ns(CLOCK_REALTIME) >= ns_of(&at));
	CHECK_ERR(clocklock(write, CLOCK_REALTIME, &passed), ETIMEDOUT);
	let_go(&holder);
	check_free(&lock);
}

TIMED_CLAUSES(err_EDEADLK__the_caller_writes,
	      "the caller has it to write (a \"may\" that glibc does)")
{
	init(&lock);
	OK(pthread_rwlock_wrlock(&lock));
	for (EACH_TIMED(call, write))
		CHECK_ERR(take(&lock, call, LONG_MS), EDEADLK);
	OK(pthread_rwlock_unlock(&lock));
	check_free(&lock);
}

/* What a writer that gave up leaves behind keeps no reader out. */
CLAUSE(pthread_rwlock_timedwrlock__ret__given_up_is_gone,
       "a writer that timed out keeps no reader out, of any kind of lock")
{
	struct holder writer, reader;
	enum rw_kind kind;

	for (kind = 0; kind < RW_KINDS; kind++) {
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

CLAUSE(pthread_rwlock_unlock__desc_2__stays_locked_by_other_readers,
       "while others read it stays locked for reading")
{
	struct holder reader;

	init(&lock);
	hold_elsewhere(&reader, &lock, RDLOCK);
	OK(pthread_rwlock_rdlock(&lock));
	OK(pthread_rwlock_unlock(&lock));
	CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
	OK(elsewhere(&lock, TRYRDLOCK));
	let_go(&reader);
	check_free(&lock);
}

CLAUSE(pthread_rwlock_unlock__desc_2__last_reader_frees_it, "the last of the readers frees it")
{
	struct holder reader, writer;

	init(&lock);
	hold_elsewhere(&reader, &lock, RDLOCK);
	OK(pthread_rwlock_rdlock(&lock));
	wait_elsewhere(&writer, &lock, WRLOCK);
	OK(pthread_rwlock_unlock(&lock));
	sleep_ms(2);
	CHECK(!writer.done);
	let_go(&reader);
	UNTIL(writer.done);
	let_go(&writer);
	check_free(&lock);
}

CLAUSE(pthread_rwlock_unlock__desc_3__writer_frees_it, "the writer frees it")
{
	init(&lock);
	for (int i = 0; i < 100; i++) {
		OK(take(&lock, write_waits[i % 3], LONG_MS));
		OK(pthread_rwlock_unlock(&lock));
	}
	check_free(&lock);
}

CLAUSE(pthread_rwlock_unlock__desc_4__all_that_wait_have_it_in_the_end,
       "threads that wait have it one after another, all in the end")
{
	struct holder waiters[12];

	init(&lock);
	OK(pthread_rwlock_wrlock(&lock));
	for (int i = 0; i < 12; i++)
		wait_elsewhere(&waiters[i], &lock, waits[i % 6]);
	OK(pthread_rwlock_unlock(&lock));
	for (int i = 0; i < 12; i++)
		waiters[i].release = true;
	for (int i = 0; i < 12; i++)
		let_go(&waiters[i]);
	check_free(&lock);
}

CLAUSE(pthread_rwlock_unlock__desc_4__lets_all_readers_in, "readers that wait are let in together")
{
	struct holder readers[6];

	init(&lock);
	OK(pthread_rwlock_wrlock(&lock));
	for (int i = 0; i < 6; i++)
		wait_elsewhere(&readers[i], &lock, read_waits[i % 3]);
	OK(pthread_rwlock_unlock(&lock));
	for (int i = 0; i < 6; i++)
		UNTIL(readers[i].done);
	for (int i = 0; i < 6; i++)
		let_go(&readers[i]);
	check_free(&lock);
}

CLAUSE(pthread_rwlock_unlock__desc_4__lets_one_writer_in, "writers that wait are let in one by one")
{
	struct holder writers[3];
	int i, done;

	init(&lock);
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
	check_free(&lock);
}

static _Atomic int let_in;

/* Long enough that the next one has to be woken. */
static void write_ranked(void *lock)
{
	int turn;

	OK(pthread_rwlock_wrlock(lock));
	turn = ++let_in;
	sleep_ms(1);
	CHECK_EQ(turn, let_in);
	OK(pthread_rwlock_unlock(lock));
}

static void release_ranked(void *lock)
{
	static bool released;

	/* One after another, they release it themselves. */
	if (!released)
		OK(pthread_rwlock_unlock(lock));
	released = true;
}

CLAUSE(pthread_rwlock_unlock__desc_4__highest_priority_first,
       "of writers with priorities (SCHED_FIFO) that wait, the highest goes first")
{
	init(&lock);
	OK(pthread_rwlock_wrlock(&lock));
	check_ranks((const int[]){ 1, 3, 2, 5, 4 },
		    (const int[]){ 5, 3, 4, 1, 2 }, write_ranked,
		    release_ranked, &lock);
	check_free(&lock);
}

CLAUSE(pthread_rwlock_unlock__ret__zero_and_errno_alone,
       "0 on success; none of the calls touches errno")
{
	enum rw_call call;

	init(&lock);
	for (call = 0; call < RW_CALLS; call++) {
		errno = 4721;
		CHECK_EQ(take(&lock, call, LONG_MS), 0);
		CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
		CHECK_EQ(errno, 4721);
	}
	CHECK_EQ(pthread_rwlock_destroy(&lock), 0);
	CHECK_EQ(errno, 4721);
}
