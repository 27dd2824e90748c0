/* XSH, the pages of rwlocks; their attributes' are in rwlockattr.c. */
#include "clause.h"
#include "../pthread/rwlock.h"
#include "enough.h"
#include "handlers.h"
#include "priority.h"

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
	pthread_rwlock_t lock;
	int i;

	OK(pthread_rwlockattr_init(&attr));
	for (i = 0; i < 2; i++) {
		OK(pthread_rwlock_init(&lock, i ? &attr : NULL));
		check_free(&lock);
		OK(pthread_rwlock_destroy(&lock));
	}
	OK(pthread_rwlockattr_destroy(&attr));
}

CLAUSE(pthread_rwlock_init__desc_1__what_was_there_does_not_matter,
       "the memory may hold anything before")
{
	static const int filling[] = { 0x00, 0x55, 0xaa, 0xff };
	struct holder waiter;
	pthread_rwlock_t lock;

	for (EACH(i, filling)) {
		memset(&lock, filling[i], sizeof(lock));
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
	struct {
		unsigned char before[64];
		pthread_rwlock_t lock;
		unsigned char after[64];
	} memory;
	struct holder waiters[2];
	int i;

	memset(&memory, 0x5a, sizeof(memory));
	init(&memory.lock);
	OK(pthread_rwlock_wrlock(&memory.lock));
	wait_elsewhere(&waiters[0], &memory.lock, RDLOCK);
	wait_elsewhere(&waiters[1], &memory.lock, TIMEDWRLOCK);
	OK(pthread_rwlock_unlock(&memory.lock));
	let_go(&waiters[0]);
	let_go(&waiters[1]);
	check_free(&memory.lock);
	OK(pthread_rwlock_destroy(&memory.lock));
	for (i = 0; i < 64; i++)
		CHECK(memory.before[i] == 0x5a && memory.after[i] == 0x5a);
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
	pthread_rwlock_t lock;
	struct holder waiter;
	int i;

	for (i = 0; i < 5; i++) {
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

static void *unlock_what_vanishes(void *argument)
{
	struct vanishing *vanishing = argument;
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
	return NULL;
}

/* An unlock touches the lock no more once a writer can have it. */
CLAUSE(pthread_rwlock_destroy__desc_1__right_after_the_last_unlock,
       "a writer may destroy it after its unlock and free its memory, though the one before is "
       "still in its own")
{
	struct vanishing vanishing = { .lock = NULL };
	pthread_rwlock_t *lock;
	struct thread other;
	size_t size = sizeof(*lock);
	int i;

	start(&other, unlock_what_vanishes, &vanishing);
	for (i = 0; i < 900 && !enough(); i++) {
		lock = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(lock != MAP_FAILED);
		init(lock);
		vanishing.has = false;
		vanishing.call = waits[i % 6];
		vanishing.lock = lock;
		while (!vanishing.has)
			sched_yield();
		OK(take(lock, write_waits[i % 3], LONG_MS));
		OK(pthread_rwlock_unlock(lock));
		OK(pthread_rwlock_destroy(lock));
		CHECK_EQ(munmap(lock, size), 0);
	}
	vanishing.stop = true;
	join(&other);
}

/* ------------------------------------ pthread_rwlock_rdlock, _tryrdlock -- */

CLAUSE(pthread_rwlock_rdlock__desc_1__locks_for_reading,
       "the caller reads when no writer has it or waits")
{
	pthread_rwlock_t lock;

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
	pthread_rwlock_t lock;

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
	pthread_rwlock_t lock;
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
	pthread_rwlock_t lock;
	int i;

	init(&lock);
	for (i = 0; i < 1000; i++)
		OK(take(&lock, read_waits[i % 3], LONG_MS));
	for (i = 0; i < 1000; i++) {
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		OK(pthread_rwlock_unlock(&lock));
	}
	check_free(&lock);
}

CLAUSE(pthread_rwlock_rdlock__desc_4__readers_at_a_time, "many threads read at a time")
{
	struct holder readers[8];
	pthread_rwlock_t lock;
	int i;

	init(&lock);
	for (i = 0; i < 8; i++)
		hold_elsewhere(&readers[i], &lock, read_waits[i % 3]);
	for (i = 0; i < 8; i++) {
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		let_go(&readers[i]);
	}
	check_free(&lock);
}

CLAUSE(pthread_rwlock_tryrdlock__desc_6__locks_or_returns,
       "pthread_rwlock_tryrdlock reads or fails where rdlock would block; it never blocks")
{
	struct holder reader, writer;
	pthread_rwlock_t lock;

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
	pthread_rwlock_t lock;
	int i;

	init(&lock);
	OK(pthread_rwlock_wrlock(&lock));
	for (i = 0; i < 100; i++)
		CHECK_ERR(pthread_rwlock_tryrdlock(&lock), EBUSY);
	CHECK_ERR(elsewhere(&lock, TRYRDLOCK), EBUSY);
	OK(pthread_rwlock_unlock(&lock));
	check_free(&lock);
}

CLAUSE(pthread_rwlock_rdlock__err_EDEADLK__the_caller_writes,
       "the caller has it to write (a \"may\" that glibc does)")
{
	pthread_rwlock_t lock;

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
	pthread_rwlock_t lock;
	int i, shot;

	init(&lock);
	for (i = 0; i < 2 * count; i++) {
		handle(flags[i % 2]);
		OK(pthread_rwlock_wrlock(&lock));
		wait_elsewhere(&waiter, &lock, calls[i / 2]);
		for (shot = 0; shot < 30; shot++) {
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
	pthread_rwlock_t lock;

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
	pthread_rwlock_t lock;
	int i;

	init(&lock);
	for (EACH(call, write_waits)) {
		for (i = 0; i < 3; i++)
			hold_elsewhere(&readers[i], &lock, RDLOCK);
		wait_elsewhere(&writer, &lock, write_waits[call]);
		for (i = 0; i < 3; i++) {
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
	pthread_rwlock_t lock;

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
	pthread_rwlock_t lock;

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
	pthread_rwlock_t lock;

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
	pthread_rwlock_t lock;

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

static void *read_and_write(void *argument)
{
	struct message *message = argument;
	uint32_t state = 4711 + gettid();
	enum rw_call call;
	int i, j;

	for (i = 0; i < message->turns; i++) {
		call = waits[next_random(&state) % 6];
		OK(take(&message->lock, call, LONG_MS));
		for (j = 1; j < 16; j++)
			CHECK_EQ(message->words[j], message->words[0]);
		if (is_write(call)) {
			message->written++;
			for (j = 0; j < 16; j++)
				message->words[j]++;
		}
		OK(pthread_rwlock_unlock(&message->lock));
	}
	return NULL;
}

CLAUSE(pthread_rwlock_wrlock__desc_1__excludes_all_others,
       "nobody else reads or writes meanwhile, and what writers wrote is seen (XBD, Memory "
       "Synchronization)")
{
	struct message message = { .turns = 2000 };
	struct thread threads[6];
	int i;

	init(&message.lock);
	for (i = 0; i < 6; i++)
		start(&threads[i], read_and_write, &message);
	for (i = 0; i < 6; i++)
		join(&threads[i]);
	CHECK(message.written > 0);
	CHECK_EQ(message.words[0], message.written);
	check_free(&message.lock);
}

/* ----------------------- pthread_rwlock_timedrdlock, _timedwrlock, _clock... -- */

/* The page's calls, on a lock that others have so that they must wait. */
static void time_out(bool write, enum rw_call held)
{
	struct holder holder;
	pthread_rwlock_t lock;
	struct timespec at;
	enum rw_call call;
	int64_t deadline;
	int i;

	init(&lock);
	hold_elsewhere(&holder, &lock, held);
	for (call = TIMEDRDLOCK; call < RW_CALLS; call++) {
		if (is_write(call) != write)
			continue;
		for (i = 0; i < 4; i++) {
			at = in_ms(clock_of(call), 6 * i);
			deadline = at.tv_sec * NS_PER_S + at.tv_nsec;
			CHECK_ERR(take_until(&lock, call, &at), ETIMEDOUT);
			CHECK(now_ns(clock_of(call)) >= deadline);
			CHECK(now_ns(clock_of(call)) <
			      deadline + LATE_MS * NS_PER_MS);
		}
	}
	let_go(&holder);
	check_free(&lock);
}

CLAUSE(pthread_rwlock_timedrdlock__err_ETIMEDOUT__at_the_deadline,
       "it ends at its deadline, on either clock, not before")
{
	time_out(false, WRLOCK);
}

CLAUSE(pthread_rwlock_timedwrlock__err_ETIMEDOUT__at_the_deadline,
       "it ends at its deadline, on either clock, not before")
{
	time_out(true, WRLOCK);
	time_out(true, RDLOCK);
}

static const struct timespec longs_ago[] = {
	{ 0, 0 }, { 1, 0 }, { -1, 0 }, { -1, 999999999 }, { INT64_MIN, 0 },
};

static void expired(bool write)
{
	struct holder holder;
	pthread_rwlock_t lock;
	enum rw_call call;

	init(&lock);
	for (call = TIMEDRDLOCK; call < RW_CALLS; call++) {
		if (is_write(call) != write)
			continue;
		for (EACH(i, longs_ago)) {
			/* Free, it is taken. */
			OK(take_until(&lock, call, &longs_ago[i]));
			OK(pthread_rwlock_unlock(&lock));
		}
		hold_elsewhere(&holder, &lock, WRLOCK);
		for (EACH(i, longs_ago))
			CHECK_ERR(take_until(&lock, call, &longs_ago[i]),
				  ETIMEDOUT);
		let_go(&holder);
	}
	check_free(&lock);
}

CLAUSE(pthread_rwlock_timedrdlock__desc_3__no_timeout_when_free,
       "it never times out when it can lock at once; ETIMEDOUT at once when it can't and the "
       "deadline has passed")
{
	expired(false);
}

CLAUSE(pthread_rwlock_timedwrlock__desc_3__no_timeout_when_free,
       "it never times out when it can lock at once; ETIMEDOUT at once when it can't and the "
       "deadline has passed")
{
	expired(true);
}

static const struct timespec far_away[] = {
	{ INT64_MAX, 999999999 }, { INT64_MAX, 0 }, { INT64_MAX / 2, 0 },
	{ INT64_MAX / NS_PER_S, 854775808 }, { INT64_MAX / NS_PER_S + 1, 0 },
	{ 1LL << 33, 0 },
};

struct far_waiter {
	pthread_rwlock_t *lock;
	enum rw_call call;
	size_t at;
};

static void *wait_far(void *argument)
{
	struct far_waiter *far = argument;

	OK(take_until(far->lock, far->call, &far_away[far->at]));
	OK(pthread_rwlock_unlock(far->lock));
	return NULL;
}

static void wait_for_far_deadlines(bool write)
{
	pthread_rwlock_t lock;
	struct thread thread;
	struct far_waiter far;
	enum rw_call call;

	init(&lock);
	for (call = TIMEDRDLOCK; call < RW_CALLS; call++) {
		if (is_write(call) != write)
			continue;
		for (EACH(i, far_away)) {
			far = (struct far_waiter){ &lock, call, i };
			OK(pthread_rwlock_wrlock(&lock));
			start(&thread, wait_far, &far);
			until_asleep(&thread);
			OK(pthread_rwlock_unlock(&lock));
			join(&thread);
		}
	}
	check_free(&lock);
}

CLAUSE(pthread_rwlock_timedrdlock__desc_2__far_deadlines,
       "a deadline doesn't expire before it is there, however far it is")
{
	wait_for_far_deadlines(false);
}

CLAUSE(pthread_rwlock_timedwrlock__desc_2__far_deadlines,
       "a deadline doesn't expire before it is there, however far it is")
{
	wait_for_far_deadlines(true);
}

static const long bad_nanoseconds[] = {
	-1, 1000000000, LONG_MIN, LONG_MAX, 4294967296, -4294967296,
};

static void try_bad_nanoseconds(bool write)
{
	struct holder holder;
	pthread_rwlock_t lock;
	struct timespec at;
	enum rw_call call;
	int error;

	init(&lock);
	for (call = TIMEDRDLOCK; call < RW_CALLS; call++) {
		if (is_write(call) != write)
			continue;
		for (EACH(i, bad_nanoseconds)) {
			at = in_ms(clock_of(call), 1000);
			at.tv_nsec = bad_nanoseconds[i];
			/* Free, both are right; taken is what says so. */
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

CLAUSE(pthread_rwlock_timedrdlock__err_EINVAL__nanoseconds,
       "it would wait, and the nanoseconds are less than 0 or not less than 1000 million; when "
       "it needn't wait, both are allowed")
{
	try_bad_nanoseconds(false);
}

CLAUSE(pthread_rwlock_timedwrlock__err_EINVAL__nanoseconds,
       "it would wait, and the nanoseconds are less than 0 or not less than 1000 million; when "
       "it needn't wait, both are allowed")
{
	try_bad_nanoseconds(true);
}

static const clockid_t bad_clocks[] = {
	CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_BOOTTIME,
	CLOCK_MONOTONIC_RAW, -1, 77, INT_MAX,
};

CLAUSE(pthread_rwlock_clockrdlock__err_EINVAL__clock,
       "the clock is neither CLOCK_REALTIME nor CLOCK_MONOTONIC: glibc has no others here, and "
       "looks at it first")
{
	struct timespec at = in_ms(CLOCK_REALTIME, 1000);
	pthread_rwlock_t lock;
	struct holder holder;
	int round;

	init(&lock);
	hold_elsewhere(&holder, &lock, WRLOCK);
	for (round = 0; round < 2; round++) {
		for (EACH(i, bad_clocks))
			CHECK_ERR(pthread_rwlock_clockrdlock(
					  &lock, bad_clocks[i], &at), EINVAL);
		if (!round)
			let_go(&holder);
	}
	check_free(&lock);
}

CLAUSE(pthread_rwlock_clockwrlock__err_EINVAL__clock,
       "the clock is neither CLOCK_REALTIME nor CLOCK_MONOTONIC: glibc has no others here, and "
       "looks at it first")
{
	struct timespec at = in_ms(CLOCK_REALTIME, 1000);
	pthread_rwlock_t lock;
	struct holder holder;
	int round;

	init(&lock);
	hold_elsewhere(&holder, &lock, RDLOCK);
	for (round = 0; round < 2; round++) {
		for (EACH(i, bad_clocks))
			CHECK_ERR(pthread_rwlock_clockwrlock(
					  &lock, bad_clocks[i], &at), EINVAL);
		if (!round)
			let_go(&holder);
	}
	check_free(&lock);
}

/* Both clocks, by the same name as the other calls'. */
CLAUSE(pthread_rwlock_clockrdlock__desc_2__realtime_clock,
       "pthread_rwlock_clockrdlock counts by the clock that it names")
{
	struct timespec at;
	pthread_rwlock_t lock;
	struct holder holder;
	int64_t deadline;

	init(&lock);
	hold_elsewhere(&holder, &lock, WRLOCK);
	at = in_ms(CLOCK_REALTIME, 10);
	deadline = at.tv_sec * NS_PER_S + at.tv_nsec;
	CHECK_ERR(pthread_rwlock_clockrdlock(&lock, CLOCK_REALTIME, &at),
		  ETIMEDOUT);
	CHECK(now_ns(CLOCK_REALTIME) >= deadline);
	/* Its now lies decades ahead of the other clock's. */
	CHECK_ERR(pthread_rwlock_clockrdlock(&lock, CLOCK_REALTIME, &(
			  struct timespec){ .tv_sec = 1000000000 }), ETIMEDOUT);
	let_go(&holder);
	check_free(&lock);
}

CLAUSE(pthread_rwlock_clockwrlock__desc_2__realtime_clock,
       "pthread_rwlock_clockwrlock counts by the clock that it names")
{
	struct timespec at;
	pthread_rwlock_t lock;
	struct holder holder;
	int64_t deadline;

	init(&lock);
	hold_elsewhere(&holder, &lock, RDLOCK);
	at = in_ms(CLOCK_REALTIME, 10);
	deadline = at.tv_sec * NS_PER_S + at.tv_nsec;
	CHECK_ERR(pthread_rwlock_clockwrlock(&lock, CLOCK_REALTIME, &at),
		  ETIMEDOUT);
	CHECK(now_ns(CLOCK_REALTIME) >= deadline);
	CHECK_ERR(pthread_rwlock_clockwrlock(&lock, CLOCK_REALTIME, &(
			  struct timespec){ .tv_sec = 1000000000 }), ETIMEDOUT);
	let_go(&holder);
	check_free(&lock);
}

static void deadlock(bool write)
{
	pthread_rwlock_t lock;
	enum rw_call call;

	init(&lock);
	OK(pthread_rwlock_wrlock(&lock));
	for (call = TIMEDRDLOCK; call < RW_CALLS; call++)
		if (is_write(call) == write)
			CHECK_ERR(take(&lock, call, LONG_MS), EDEADLK);
	OK(pthread_rwlock_unlock(&lock));
	check_free(&lock);
}

CLAUSE(pthread_rwlock_timedrdlock__err_EDEADLK__the_caller_writes,
       "the caller has it to write (a \"may\" that glibc does)")
{
	deadlock(false);
}

CLAUSE(pthread_rwlock_timedwrlock__err_EDEADLK__the_caller_writes,
       "the caller has it to write (a \"may\" that glibc does)")
{
	deadlock(true);
}

/* What a writer that gave up leaves behind keeps no reader out. */
CLAUSE(pthread_rwlock_timedwrlock__ret__given_up_is_gone,
       "a writer that timed out keeps no reader out, of any kind of lock")
{
	struct holder writer, reader;
	pthread_rwlock_t lock;
	enum rw_kind kind;

	for (kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		hold_elsewhere(&reader, &lock, RDLOCK);
		writer = (struct holder){
			.lock = &lock,
			.call = TIMEDWRLOCK,
			.ms = 15,
		};
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
	pthread_rwlock_t lock;

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
	pthread_rwlock_t lock;

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
	pthread_rwlock_t lock;
	int i;

	init(&lock);
	for (i = 0; i < 100; i++) {
		OK(take(&lock, write_waits[i % 3], LONG_MS));
		OK(pthread_rwlock_unlock(&lock));
	}
	check_free(&lock);
}

CLAUSE(pthread_rwlock_unlock__desc_4__all_that_wait_have_it_in_the_end,
       "threads that wait have it one after another, all in the end")
{
	struct holder waiters[12];
	pthread_rwlock_t lock;
	int i;

	init(&lock);
	OK(pthread_rwlock_wrlock(&lock));
	for (i = 0; i < 12; i++)
		wait_elsewhere(&waiters[i], &lock, waits[i % 6]);
	OK(pthread_rwlock_unlock(&lock));
	for (i = 0; i < 12; i++)
		waiters[i].release = true;
	for (i = 0; i < 12; i++)
		let_go(&waiters[i]);
	check_free(&lock);
}

/* All that wait to read do so at a time. */
CLAUSE(pthread_rwlock_unlock__desc_4__lets_all_readers_in, "readers that wait are let in together")
{
	struct holder readers[6];
	pthread_rwlock_t lock;
	int i;

	init(&lock);
	OK(pthread_rwlock_wrlock(&lock));
	for (i = 0; i < 6; i++)
		wait_elsewhere(&readers[i], &lock, read_waits[i % 3]);
	OK(pthread_rwlock_unlock(&lock));
	for (i = 0; i < 6; i++)
		UNTIL(readers[i].done);
	for (i = 0; i < 6; i++)
		let_go(&readers[i]);
	check_free(&lock);
}

CLAUSE(pthread_rwlock_unlock__desc_4__lets_one_writer_in, "writers that wait are let in one by one")
{
	struct holder writers[3];
	pthread_rwlock_t lock;
	int i, left, done;

	init(&lock);
	OK(pthread_rwlock_wrlock(&lock));
	for (i = 0; i < 3; i++)
		wait_elsewhere(&writers[i], &lock, write_waits[i]);
	OK(pthread_rwlock_unlock(&lock));
	for (left = 3; left; left--) {
		/* Of those that haven't left, one has it. */
		do {
			usleep(300);
			for (done = -1, i = 0; i < 3; i++)
				if (writers[i].done && !writers[i].release)
					done = i;
		} while (done < 0);
		sleep_ms(3);
		for (i = 0; i < 3; i++)
			CHECK(i == done || !writers[i].done ||
			      writers[i].release);
		let_go(&writers[done]);
	}
	check_free(&lock);
}

static _Atomic int let_in;

/* Long enough that whoever is next has to be woken. */
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
	pthread_rwlock_t lock;

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
	pthread_rwlock_t lock;
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
