/*
 * What waiters that gave up at their deadline leave behind. (When a deadline
 * ends a wait is rwlock_states.c's.)
 */
#include "rwlock.h"

/* The timed call, and the clock call by the one clock and by the other. */
static const enum rw_call timed_writes[] = { TIMEDWRLOCK, CLOCKWRLOCK,
					     REALCLOCKWRLOCK };

/* Here a writer that waits keeps readers out; one that waited must not. */
TEST(glibc_pthread_rwlock_timedwrlock__given_up_lets_readers_in)
{
	struct holder reader, late[3], writer;
	pthread_rwlock_t lock;
	int i;

	for (EACH(way, timed_writes)) {
		make_rwlock(&lock, NONRECURSIVE, way == 1);
		hold_elsewhere(&reader, &lock, RDLOCK);
		writer = (struct holder){
			.lock = &lock,
			.call = timed_writes[way],
			.ms = 500,
		};
		start(&writer.thread, holder_run, &writer);
		/* On a busy machine it may have given up by now. */
		UNTIL(writer.done || is_asleep(writer.thread.tid));
		for (i = 0; i < 3; i++)
			start_holder(&late[i], &lock, i ? RDLOCK : TIMEDRDLOCK);
		/* They sleep, if the machine is in time, and get up by themselves. */
		for (i = 0; i < 3; i++)
			UNTIL(late[i].done);
		join(&writer.thread);
		CHECK_ERR(writer.error, ETIMEDOUT);
		/* No reader has gone, and there are new ones. */
		OK(elsewhere(&lock, TRYRDLOCK));
		OK(pthread_rwlock_rdlock(&lock));
		OK(pthread_rwlock_rdlock(&lock));
		OK(pthread_rwlock_unlock(&lock));
		OK(pthread_rwlock_unlock(&lock));
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		let_all_go(late, 3);
		let_go(&reader);
		check_free(&lock);
	}
}

/* The others that wait, wait on, and get it in the end. */
TEST(posix_pthread_rwlock_timedwrlock__given_up_beside_other_writers)
{
	struct holder holder, writers[3];
	pthread_rwlock_t lock;
	enum rw_kind kind;
	enum rw_call held;
	int i;

	for (kind = 0; kind < RW_KINDS; kind++)
		for (held = RDLOCK; held <= WRLOCK; held++) {
			make_rwlock(&lock, kind, false);
			hold_elsewhere(&holder, &lock, held);
			/* First, in the midst, and last of those that wait. */
			CHECK_ERR(take(&lock, TIMEDWRLOCK, 3), ETIMEDOUT);
			for (i = 0; i < 3; i++) {
				wait_elsewhere(&writers[i], &lock, WRLOCK);
				CHECK_ERR(take(&lock, CLOCKWRLOCK, 3), ETIMEDOUT);
			}
			if (kind == NONRECURSIVE || held == WRLOCK)
				CHECK_ERR(pthread_rwlock_tryrdlock(&lock), EBUSY);
			for (i = 0; i < 3; i++)
				CHECK(!writers[i].done);
			let_go(&holder);
			let_all_go(writers, 3);
			check_free(&lock);
		}
}

TEST(posix_pthread_rwlock_timedrdlock__given_up_disturbs_nobody)
{
	struct holder holder, readers[3], writer;
	pthread_rwlock_t lock;
	enum rw_kind kind;
	int i;

	for (kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		hold_elsewhere(&holder, &lock, WRLOCK);
		CHECK_ERR(take(&lock, TIMEDRDLOCK, 3), ETIMEDOUT);
		for (i = 0; i < 3; i++) {
			wait_elsewhere(&readers[i], &lock, RDLOCK);
			CHECK_ERR(take(&lock, CLOCKRDLOCK, 3), ETIMEDOUT);
		}
		wait_elsewhere(&writer, &lock, WRLOCK);
		CHECK_ERR(take(&lock, TIMEDRDLOCK, 3), ETIMEDOUT);
		for (i = 0; i < 3; i++)
			CHECK(!readers[i].done);
		CHECK(!writer.done);
		writer.release = true;
		let_go(&holder);
		let_all_go(readers, 3);
		let_go(&writer);
		/* It isn't counted among the readers: writers come in. */
		check_free(&lock);

		/* The last reader that waited is gone when the writer goes. */
		hold_elsewhere(&holder, &lock, WRLOCK);
		CHECK_ERR(take(&lock, TIMEDRDLOCK, 3), ETIMEDOUT);
		let_go(&holder);
		check_free(&lock);
	}
}

THREAD(give_up_or_take, pthread_rwlock_t *lock)
{
	uint32_t random = (uint32_t)gettid() * 2654435761u;
	struct timespec at;
	int i, error;

	for (i = 0; i < 1200; i++) {
		at = in_ns(CLOCK_MONOTONIC, next_random(&random) % 200000);
		error = take_until(lock, i % 3 ? CLOCKRDLOCK : CLOCKWRLOCK, &at);
		if (error) {
			CHECK_ERR(error, ETIMEDOUT);
			continue;
		}
		if (next_random(&random) % 8 == 0)
			usleep(50);
		OK(pthread_rwlock_unlock(lock));
	}
}

THREAD(take_often, void *lock)
{
	int i;

	for (i = 0; i < 400; i++) {
		OK(take(lock, i % 2 ? WRLOCK : RDLOCK, 0));
		OK(pthread_rwlock_unlock(lock));
		if (i % 4 == 0)
			usleep(20);
	}
}

TEST(posix_pthread_rwlock_timedlock__giving_up_strands_nobody)
{
	struct thread threads[10];
	pthread_rwlock_t lock;
	enum rw_kind kind;
	int i;

	for (kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		for (i = 0; i < 10; i++)
			start(&threads[i],
			      i < 5 ? give_up_or_take : take_often, &lock);
		join_all(threads, 10);
		check_free(&lock);
	}
}

RUN_TESTS()
