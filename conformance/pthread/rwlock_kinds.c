/*
 * The attributes of rwlocks: which readers a waiting writer keeps out, and
 * locks that several processes share.
 */
#include "../posix/children.h"
#include "rwlock.h"

/* ------------------------------------------------------- reader's kinds -- */

static const enum rw_call read_calls[] = { RDLOCK, TRYRDLOCK, TIMEDRDLOCK,
					   CLOCKRDLOCK };
static const enum rw_call write_waits[] = { WRLOCK, TIMEDWRLOCK, CLOCKWRLOCK };

/*
 * pthread_rwlock_rdlock: a thread that has a read lock may take it again. Where
 * a waiting writer stopped that, both would wait for ever.
 */
TEST(posix_pthread_rwlock_rdlock__again_while_a_writer_waits)
{
	struct holder writers[2];
	pthread_rwlock_t lock;

	for (enum rw_kind kind = 0; kind < RECURSIVE_READER_KINDS; kind++)
		for (EACH(w, write_waits)) {
			make_rwlock(&lock, kind, false);
			OK(pthread_rwlock_rdlock(&lock));
			wait_elsewhere(&writers[0], &lock, write_waits[w]);
			wait_elsewhere(&writers[1], &lock, WRLOCK);
			for (int times = 0; times < 100; times++)
				for (EACH(r, read_calls))
					OK(take(&lock, read_calls[r], LONG_MS));
			CHECK(!writers[0].done && !writers[1].done);
			for (int times = 0; times < 100; times++)
				for (EACH(r, read_calls))
					OK(pthread_rwlock_unlock(&lock));
			CHECK(!writers[0].done && !writers[1].done);
			writers[0].release = writers[1].release = true;
			OK(pthread_rwlock_unlock(&lock));
			let_go(&writers[0]);
			let_go(&writers[1]);
			check_free(&lock);
		}
}

/*
 * In these kinds all readers go first, not only those that have the lock. In
 * some programs one reader waits for another.
 */
TEST(glibc_pthread_rwlock_rdlock__new_reader_while_a_writer_waits)
{
	struct holder readers[4], writer;
	pthread_rwlock_t lock;

	for (enum rw_kind kind = 0; kind < RECURSIVE_READER_KINDS; kind++)
		for (EACH(w, write_waits)) {
			make_rwlock(&lock, kind, false);
			OK(pthread_rwlock_rdlock(&lock));
			wait_elsewhere(&writer, &lock, write_waits[w]);
			for (int i = 0; i < 4; i++)
				hold_elsewhere(&readers[i], &lock, read_calls[i]);
			/* The first one goes, and there are new ones still. */
			OK(pthread_rwlock_unlock(&lock));
			for (EACH(r, read_calls))
				OK(elsewhere(&lock, read_calls[r]));
			/* Whatever the deadline, there is nothing to wait for. */
			OK(elsewhere_in(&lock, TIMEDRDLOCK, -1000));
			OK(elsewhere_in(&lock, CLOCKRDLOCK, -1000));
			CHECK(!writer.done);
			let_all_go(readers, 4);
			UNTIL(writer.done);
			let_go(&writer);
			check_free(&lock);
		}
}

/* A reader that waits for what another reader does. */
struct relay {
	pthread_rwlock_t lock;
	_Atomic int asked, answered;
};

THREAD(answer, struct relay *relay)
{
	for (int i = 1; i <= 300; i++) {
		UNTIL(relay->asked == i);
		OK(pthread_rwlock_rdlock(&relay->lock));
		relay->answered = i;
		OK(pthread_rwlock_unlock(&relay->lock));
	}
}

THREAD(write_on, struct relay *relay)
{
	while (relay->answered < 300) {
		OK(pthread_rwlock_wrlock(&relay->lock));
		OK(pthread_rwlock_unlock(&relay->lock));
		usleep(50);
	}
}

TEST(glibc_pthread_rwlock_rdlock__readers_that_wait_for_one_another)
{
	struct thread writers[2], reader;
	struct relay relay;

	for (enum rw_kind kind = 0; kind < RECURSIVE_READER_KINDS; kind++) {
		relay = (struct relay){ .asked = 0 };
		make_rwlock(&relay.lock, kind, false);
		start(&reader, answer, &relay);
		start(&writers[0], write_on, &relay);
		start(&writers[1], write_on, &relay);
		for (int i = 1; i <= 300; i++) {
			OK(pthread_rwlock_rdlock(&relay.lock));
			if (i % 2)
				usleep(100);
			relay.asked = i;
			UNTIL(relay.answered == i);
			OK(pthread_rwlock_unlock(&relay.lock));
		}
		join(&reader);
		join(&writers[0]);
		join(&writers[1]);
		check_free(&relay.lock);
	}
}

/* ------------------------------------------------------- writer's kind -- */

/* The initialiser makes it too, and processes can share it. */
static void make_nonrecursive(pthread_rwlock_t *lock, int how)
{
	static const pthread_rwlock_t initial =
		PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

	if (how == 0)
		*lock = initial;
	else
		make_rwlock(lock, NONRECURSIVE, how == 2);
}

enum { HOWS = 3 };

/* No writer, no difference: read locks nest. */
TEST(glibc_PREFER_WRITER_NONRECURSIVE__readers_share_without_writers)
{
	struct holder other;
	pthread_rwlock_t lock;

	for (int how = 0; how < HOWS; how++) {
		make_nonrecursive(&lock, how);
		hold_elsewhere(&other, &lock, RDLOCK);
		for (int times = 0; times < 50; times++)
			for (EACH(r, read_calls))
				OK(take(&lock, read_calls[r], LONG_MS));
		let_go(&other);
		for (int times = 0; times < 50 * 4; times++)
			OK(pthread_rwlock_unlock(&lock));
		check_free(&lock);
	}
}

/* A waiting writer stops new readers, though the lock is held for reading. */
TEST(glibc_PREFER_WRITER_NONRECURSIVE__waiting_writer_stops_readers)
{
	struct holder reader, writer, late[3];
	_Atomic int turns;
	pthread_rwlock_t lock;

	for (int how = 0; how < HOWS; how++)
		for (EACH(w, write_waits)) {
			make_nonrecursive(&lock, how);
			turns = 0;
			hold_elsewhere(&reader, &lock, RDLOCK);
			wait_in_turn(&writer, &lock, write_waits[w], &turns);
			CHECK_ERR(elsewhere(&lock, TRYRDLOCK), EBUSY);
			CHECK_ERR(elsewhere_in(&lock, TIMEDRDLOCK, 5), ETIMEDOUT);
			CHECK_ERR(elsewhere_in(&lock, CLOCKRDLOCK, 5), ETIMEDOUT);
			CHECK_ERR(elsewhere_in(&lock, TIMEDRDLOCK, -5), ETIMEDOUT);
			for (int i = 0; i < 3; i++)
				wait_in_turn(&late[i], &lock,
					     (const enum rw_call[]){
						     RDLOCK, TIMEDRDLOCK,
						     CLOCKRDLOCK }[i], &turns);
			CHECK_EQ(turns, 0);
			let_go(&reader);
			UNTIL(writer.done);
			CHECK_EQ(writer.turn, 1);
			usleep(1000);
			CHECK_EQ(turns, 1);
			let_go(&writer);
			/* Now all of them, at once. */
			for (int i = 0; i < 3; i++)
				UNTIL(late[i].done);
			let_all_go(late, 3);
			check_free(&lock);
		}
}

/* It stops a reader that has the lock already, too: hence the kind's name. */
TEST(glibc_PREFER_WRITER_NONRECURSIVE__stops_readers_that_have_it)
{
	struct holder writer;
	pthread_rwlock_t lock;

	for (int how = 0; how < HOWS; how++) {
		make_nonrecursive(&lock, how);
		OK(pthread_rwlock_rdlock(&lock));
		wait_elsewhere(&writer, &lock, WRLOCK);
		CHECK_ERR(pthread_rwlock_tryrdlock(&lock), EBUSY);
		CHECK_ERR(take(&lock, TIMEDRDLOCK, 5), ETIMEDOUT);
		CHECK_ERR(take(&lock, CLOCKRDLOCK, 5), ETIMEDOUT);
		CHECK(!writer.done);
		OK(pthread_rwlock_unlock(&lock));
		let_go(&writer);
		check_free(&lock);
	}
}

/* Readers and writers that wait for a writer to unlock. */
struct queue {
	pthread_rwlock_t lock;
	struct holder readers[3], writers[2];
	_Atomic int turns;
};

static void queue_readers(struct queue *queue)
{
	for (int i = 0; i < 3; i++)
		wait_in_turn(&queue->readers[i], &queue->lock, RDLOCK,
			     &queue->turns);
}

static void queue_writers(struct queue *queue)
{
	for (int i = 0; i < 2; i++)
		wait_in_turn(&queue->writers[i], &queue->lock, WRLOCK,
			     &queue->turns);
}

static void end(struct queue *queue)
{
	queue->writers[0].release = queue->writers[1].release = true;
	let_all_go(queue->readers, 3);
	let_all_go(queue->writers, 2);
	check_free(&queue->lock);
}

/*
 * The lock goes from a writer to the next one, before readers that have waited
 * for longer, however long the writers have waited: here PREFER_WRITER does
 * differ from PREFER_READER.
 */
TEST(glibc_PREFER_WRITER__writers_before_waiting_readers)
{
	struct queue queue;

	for (enum rw_kind kind = PREFER_WRITER; kind <= NONRECURSIVE; kind++)
		/* Half of the rounds are of furwock's lock. */
		for (int round = 0; round < 31; round++) {
			queue.turns = 0;
			make_rwlock(&queue.lock, kind, round % 2);
			OK(pthread_rwlock_wrlock(&queue.lock));
			queue_readers(&queue);
			queue_writers(&queue);
			/* furwock's waiters ask for a hand-off after 5 ms. */
			usleep(round % 8 * 2000);
			OK(pthread_rwlock_unlock(&queue.lock));
			end(&queue);
			CHECK_EQ(queue.writers[0].turn + queue.writers[1].turn,
				 1 + 2);
		}
}

/* Readers come in before writers that have waited for longer. */
TEST(glibc_PREFER_READER__waiting_readers_before_writers)
{
	struct queue queue;

	for (int round = 0; round < 15; round++) {
		queue.turns = 0;
		make_rwlock(&queue.lock, PREFER_READER, round % 2);
		OK(pthread_rwlock_wrlock(&queue.lock));
		queue_writers(&queue);
		queue_readers(&queue);
		OK(pthread_rwlock_unlock(&queue.lock));
		for (int i = 0; i < 3; i++)
			UNTIL(queue.readers[i].done);
		CHECK(!queue.writers[0].done && !queue.writers[1].done);
		end(&queue);
		CHECK_EQ(queue.writers[0].turn + queue.writers[1].turn, 4 + 5);
	}
}

/* ------------------------------------------------------ shared memory -- */

struct common {
	pthread_rwlock_t lock;
	_Atomic int stage;
};

static struct common *make_common(enum rw_kind kind)
{
	struct common *common = shared_memory(sizeof(*common));

	make_rwlock(&common->lock, kind, true);
	return common;
}

static pid_t fork_to_take(struct common *common, enum rw_call call)
{
	int had = common->stage;
	pid_t child;

	IN_CHILD(child) {
		common->stage++;
		OK(take(&common->lock, call, LONG_MS));
		common->stage++;
		OK(pthread_rwlock_unlock(&common->lock));
	}
	UNTIL(common->stage == had + 1);
	until_tid_asleep(child);
	CHECK_EQ(common->stage, had + 1);
	return child;
}

/* EDEADLK is for the thread that has the lock, EBUSY for other processes. */
TEST(posix_pthread_rwlock__shared_by_processes_errors)
{
	struct common *common;

	for (enum rw_kind kind = 0; kind < RW_KINDS; kind++) {
		common = make_common(kind);
		OK(pthread_rwlock_wrlock(&common->lock));
		IN_A_CHILD {
			CHECK_ERR(pthread_rwlock_tryrdlock(&common->lock), EBUSY);
			CHECK_ERR(pthread_rwlock_trywrlock(&common->lock), EBUSY);
			CHECK_ERR(take(&common->lock, TIMEDRDLOCK, 5), ETIMEDOUT);
			CHECK_ERR(take(&common->lock, CLOCKWRLOCK, 5), ETIMEDOUT);
		}
		CHECK_ERR(pthread_rwlock_rdlock(&common->lock), EDEADLK);
		CHECK_ERR(pthread_rwlock_wrlock(&common->lock), EDEADLK);
		OK(pthread_rwlock_unlock(&common->lock));

		/* The child's read lock is still there when the child isn't. */
		IN_A_CHILD
			OK(pthread_rwlock_rdlock(&common->lock));
		CHECK_ERR(pthread_rwlock_trywrlock(&common->lock), EBUSY);
		OK(pthread_rwlock_tryrdlock(&common->lock));
		OK(pthread_rwlock_unlock(&common->lock));
	}
}

/* A writer that waits in one process, readers that come in another. */
TEST(glibc_pthread_rwlock__shared_by_processes_has_its_kind)
{
	struct common *common;
	pid_t child;

	for (enum rw_kind kind = 0; kind < RW_KINDS; kind++) {
		common = make_common(kind);
		OK(pthread_rwlock_rdlock(&common->lock));
		child = fork_to_take(common, WRLOCK);
		CHECK_ERR(elsewhere(&common->lock, TRYRDLOCK),
			  kind == NONRECURSIVE ? EBUSY : 0);
		CHECK_ERR(take(&common->lock, TIMEDRDLOCK,
			       kind == NONRECURSIVE ? 5 : LONG_MS),
			  kind == NONRECURSIVE ? ETIMEDOUT : 0);
		if (kind != NONRECURSIVE)
			OK(pthread_rwlock_unlock(&common->lock));
		CHECK_EQ(common->stage, 1);
		OK(pthread_rwlock_unlock(&common->lock));
		REAP(child);
		check_free(&common->lock);
	}
}

RUN_TESTS()
