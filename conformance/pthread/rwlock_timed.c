/*
 * What waiters leave behind that gave up at their deadline. (rwlock_states.c
 * checks when a deadline ends a wait.)
 */
#include "rwlock.h"

/* The timed call, and the clock call by either clock. */
static const enum rw_call timed_writes[] = { TIMEDWRLOCK, CLOCKWRLOCK,
					     REALCLOCKWRLOCK };

/* Waiting writers of this kind keep readers out, but not once they give up. */
TEST(glibc_pthread_rwlock_timedwrlock__given_up_lets_readers_in)
{
	struct holder reader, late[3], writer;
	pthread_rwlock_t lock;

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
		for (int i = 0; i < 3; i++)
			start_holder(&late[i], &lock, i ? RDLOCK : TIMEDRDLOCK);
		/* Those that sleep are woken when the writer gives up. */
		for (int i = 0; i < 3; i++)
			UNTIL(late[i].done);
		join(&writer.thread);
		CHECK_ERR(writer.error, ETIMEDOUT);
		/* No reader has left, and others can come. */
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

/* The other writers wait on, and get the lock in the end. */
TEST(posix_pthread_rwlock_timedwrlock__given_up_beside_other_writers)
{
	struct holder holder, writers[3];
	pthread_rwlock_t lock;

	for (enum rw_kind kind = 0; kind < RW_KINDS; kind++)
		for (enum rw_call held = RDLOCK; held <= WRLOCK; held++) {
			make_rwlock(&lock, kind, false);
			hold_elsewhere(&holder, &lock, held);
			/* First, in the midst, and last of those that wait. */
			CHECK_ERR(take(&lock, TIMEDWRLOCK, 3), ETIMEDOUT);
			for (int i = 0; i < 3; i++) {
				wait_elsewhere(&writers[i], &lock, WRLOCK);
				CHECK_ERR(take(&lock, CLOCKWRLOCK, 3), ETIMEDOUT);
			}
			if (kind == NONRECURSIVE || held == WRLOCK)
				CHECK_ERR(pthread_rwlock_tryrdlock(&lock), EBUSY);
			for (int i = 0; i < 3; i++)
				CHECK(!writers[i].done);
			let_go(&holder);
			let_all_go(writers, 3);
			check_free(&lock);
		}
}

TEST(posix_pthread_rwlock_timedrdlock__given_up_disturbs_no_thread)
{
	struct holder holder, readers[3], writer;
	pthread_rwlock_t lock;

	for (enum rw_kind kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		hold_elsewhere(&holder, &lock, WRLOCK);
		CHECK_ERR(take(&lock, TIMEDRDLOCK, 3), ETIMEDOUT);
		for (int i = 0; i < 3; i++) {
			wait_elsewhere(&readers[i], &lock, RDLOCK);
			CHECK_ERR(take(&lock, CLOCKRDLOCK, 3), ETIMEDOUT);
		}
		wait_elsewhere(&writer, &lock, WRLOCK);
		CHECK_ERR(take(&lock, TIMEDRDLOCK, 3), ETIMEDOUT);
		for (int i = 0; i < 3; i++)
			CHECK(!readers[i].done);
		CHECK(!writer.done);
		writer.release = true;
		let_go(&holder);
		/* All readers come in, though none goes. */
		for (int i = 0; i < 3; i++)
			UNTIL(readers[i].done);
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
	int error;

	for (int i = 0; i < 1200; i++) {
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
	for (int i = 0; i < 400; i++) {
		OK(take(lock, i % 2 ? WRLOCK : RDLOCK, 0));
		OK(pthread_rwlock_unlock(lock));
		if (i % 4 == 0)
			usleep(20);
	}
}

TEST(posix_pthread_rwlock_timedlock__giving_up_strands_no_thread)
{
	struct thread threads[10];
	pthread_rwlock_t lock;

	for (enum rw_kind kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		for (int i = 0; i < 10; i++)
			start(&threads[i],
			      i < 5 ? give_up_or_take : take_often, &lock);
		join_all(threads, 10);
		check_free(&lock);
	}
}

RUN_TESTS()
