/*
 * Life cycles of rwlocks of each kind, locks that are handed on, and many at a
 * time. (rwlock_states.c checks what each call returns.)
 */
#include "../posix/enough.h"
#include "../posix/memory.h"
#include "rwlock.h"

/* ---------------------------------------------------------- made anew -- */

static void check_new(pthread_rwlock_t *lock)
{
	OK(pthread_rwlock_rdlock(lock));
	CHECK_ERR(elsewhere(lock, TRYWRLOCK), EBUSY);
	OK(elsewhere(lock, TRYRDLOCK));
	OK(pthread_rwlock_unlock(lock));
	OK(pthread_rwlock_wrlock(lock));
	CHECK_ERR(elsewhere(lock, TRYWRLOCK), EBUSY);
	CHECK_ERR(elsewhere(lock, TRYRDLOCK), EBUSY);
	OK(pthread_rwlock_unlock(lock));
	check_free(lock);
	OK(pthread_rwlock_destroy(lock));
}

/* The memory may hold any bytes, or a destroyed lock of another kind. */
TEST(posix_pthread_rwlock_init__ignores_what_was_there)
{
	pthread_rwlock_t lock;

	for (enum rw_kind kind = 0; kind < RW_KINDS; kind++)
		for (int fill = 0; fill < 256; fill += 15) {
			memset(&lock, fill, sizeof(lock));
			make_rwlock(&lock, kind, kind == PREFER_WRITER);
			check_new(&lock);
			make_rwlock(&lock, (kind + 1) % RW_KINDS, false);
			check_new(&lock);
		}
}

/* Undefined in POSIX. glibc's destroy checks nothing and has no error. */
TEST(glibc_pthread_rwlock_destroy__held_is_no_error)
{
	pthread_rwlock_t lock;

	for (enum rw_kind kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		OK(pthread_rwlock_rdlock(&lock));
		OK(pthread_rwlock_destroy(&lock));
		make_rwlock(&lock, kind, false);
		OK(pthread_rwlock_wrlock(&lock));
		OK(pthread_rwlock_destroy(&lock));
		OK(pthread_rwlock_init(&lock, NULL));
		check_new(&lock);
	}
}

TEST(glibc_pthread_rwlock__may_be_copied_while_free)
{
	pthread_rwlock_t first = PTHREAD_RWLOCK_INITIALIZER, second;

	OK(pthread_rwlock_wrlock(&first));
	OK(pthread_rwlock_unlock(&first));
	OK(pthread_rwlock_rdlock(&first));
	OK(pthread_rwlock_unlock(&first));
	memcpy(&second, &first, sizeof(second));
	OK(pthread_rwlock_wrlock(&first));
	check_new(&second);
	OK(pthread_rwlock_unlock(&first));
}

/* ---------------------------------------------------------- own locks -- */

/* pthread_rwlock_rdlock: n locks by one thread take n unlocks. */
TEST(posix_pthread_rwlock_rdlock__as_many_unlocks_as_locks)
{
	static const enum rw_call calls[] = { RDLOCK, TRYRDLOCK, TIMEDRDLOCK,
					      CLOCKRDLOCK };
	enum { TIMES = 100000 };
	pthread_rwlock_t lock;

	for (enum rw_kind kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		for (int i = 0; i < TIMES; i++)
			OK(take(&lock, i % 16 ? RDLOCK : calls[i / 16 % 4],
				1000));
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		CHECK_ERR(elsewhere(&lock, TRYWRLOCK), EBUSY);
		OK(elsewhere(&lock, RDLOCK));
		for (int i = 0; i < TIMES - 1; i++)
			OK(pthread_rwlock_unlock(&lock));
		CHECK_ERR(elsewhere(&lock, TRYWRLOCK), EBUSY);
		OK(pthread_rwlock_unlock(&lock));
		check_free(&lock);
		OK(pthread_rwlock_destroy(&lock));
	}
}

/* ---------------------------------------------------------- handed on -- */

/*
 * pthread_rwlock_unlock by a thread that doesn't hold the lock: undefined in
 * POSIX. glibc only counts its readers, and programs hand read locks on.
 */
THREAD(unlock, pthread_rwlock_t *lock)
{
	OK(pthread_rwlock_unlock(lock));
}

TEST(glibc_pthread_rwlock_unlock__read_lock_by_another_thread)
{
	struct holder writer;
	pthread_rwlock_t lock;

	for (enum rw_kind kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		OK(pthread_rwlock_rdlock(&lock));
		OK(pthread_rwlock_rdlock(&lock));
		in_a_thread(unlock, &lock);
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		wait_elsewhere(&writer, &lock, WRLOCK);
		in_a_thread(unlock, &lock);
		UNTIL(writer.done);
		let_go(&writer);
		check_free(&lock);
	}
}

static pthread_rwlock_t handed_over = PTHREAD_RWLOCK_INITIALIZER;
static _Atomic int to_give_back;
static _Atomic bool all_taken;

THREAD(give_read_locks_back, void *argument UNUSED)
{
	while (!all_taken || to_give_back)
		if (to_give_back) {
			OK(pthread_rwlock_unlock(&handed_over));
			to_give_back--;
		}
}

/* One thread takes read locks that another gives back, and meanwhile takes and
   gives back some itself. The first is handed over while nothing else happens:
   ORDERING.md, "Known to be broken", says why. */
TEST(glibc_pthread_rwlock_unlock__read_locks_handed_over_all_the_time)
{
	struct thread other;

	OK(pthread_rwlock_rdlock(&handed_over));
	in_a_thread(unlock, &handed_over);
	start(&other, give_read_locks_back, NULL);
	for (int round = 0; round < 100000 && !enough(); round++) {
		OK(pthread_rwlock_rdlock(&handed_over));
		to_give_back++;
		OK(pthread_rwlock_rdlock(&handed_over));
		OK(pthread_rwlock_unlock(&handed_over));
		while (to_give_back > 3)
			sched_yield();
	}
	all_taken = true;
	join(&other);
	check_free(&handed_over);
}

/* ------------------------------------------------------------ many locks -- */

/* Each of many locks is a lock of its own, however many one thread has. */
enum { LOCKS = 600 };
static struct { pthread_rwlock_t lock; int writes; } many[LOCKS];

THREAD(take_many, void *writes_in_all)
{
	uint32_t random = (uint32_t)gettid();
	bool writes[LOCKS];
	int at;

	for (int round = 0; round < 5; round++) {
		/* In one order, so that threads don't wait for each other. */
		for (int i = 0; i < LOCKS; i++) {
			writes[i] = next_random(&random) % 2;
			OK(take(&many[i].lock, writes[i] ? WRLOCK : RDLOCK, 0));
			if (!writes[i])
				continue;
			many[i].writes++;
			++*(_Atomic int *)writes_in_all;
		}
		for (int i = 0; i < LOCKS; i++)
			CHECK_ERR(pthread_rwlock_trywrlock(&many[i].lock), EBUSY);
		for (int i = 0; i < LOCKS; i++) {
			at = (i * 7 + round) % LOCKS;
			if (writes[at])
				CHECK_ERR(pthread_rwlock_rdlock(&many[at].lock),
					  EDEADLK);
			OK(pthread_rwlock_unlock(&many[at].lock));
		}
	}
}

TEST(posix_pthread_rwlock__hundreds_held_by_one_thread)
{
	_Atomic int writes_in_all = 0;
	struct thread threads[4];
	int writes = 0;

	for (int i = 0; i < LOCKS; i++)
		make_rwlock(&many[i].lock, i % RW_KINDS, false);
	take_many(&writes_in_all);
	start_all(threads, 4, take_many, &writes_in_all);
	join_all(threads, 4);
	for (int i = 0; i < LOCKS; i++) {
		writes += many[i].writes;
		check_free(&many[i].lock);
	}
	CHECK_EQ(writes, writes_in_all);
}

/* ---------------------------------------------------------- destruction -- */

/*
 * Memory that is gone as soon as its last user has unlocked: a page of its
 * own for each object, without access from then on.
 */
struct object {
	pthread_rwlock_t lock;
	/* Written under the write lock only. */
	int users;
};

enum { OBJECTS = 4000, USERS = 3, OBJECTS_MS = 3000 };
static struct object *_Atomic objects[OBJECTS];
static _Atomic int object_count = OBJECTS;

/* On a busy machine, as many as there is time for. */
static bool makes_another(int at, int64_t began)
{
	if (at < OBJECTS &&
	    now_ns(CLOCK_MONOTONIC) < began + OBJECTS_MS * NS_PER_MS)
		return true;
	object_count = at;
	return false;
}

/* NULL where no more are made. */
static struct object *await_object(int at)
{
	struct object *object = NULL;

	while (at < object_count && !(object = objects[at]))
		sched_yield();
	return object;
}

static struct object *map_object(enum rw_kind kind)
{
	struct object *object = new_page();

	make_rwlock(&object->lock, kind, false);
	return object;
}

/* The last to leave destroys it, right after the others' unlocks let it in. */
static void leave(struct object *object)
{
	int left = --object->users;

	OK(pthread_rwlock_unlock(&object->lock));
	if (left == 0) {
		OK(pthread_rwlock_destroy(&object->lock));
		leave_hole(object);
	}
}

THREAD(use_and_leave, void *reads_first)
{
	struct object *object;

	for (int i = 0; (object = await_object(i)); i++) {
		if (reads_first && i % 2) {
			OK(pthread_rwlock_rdlock(&object->lock));
			OK(pthread_rwlock_unlock(&object->lock));
		}
		OK(take(&object->lock, i % 3 ? WRLOCK : CLOCKWRLOCK, LONG_MS));
		leave(object);
	}
}

static void check_users(void *reads_first)
{
	int64_t began = now_ns(CLOCK_MONOTONIC);
	struct thread threads[USERS];
	struct object *object;

	start_all(threads, USERS, use_and_leave, reads_first);
	for (int i = 0; makes_another(i, began); i++) {
		object = map_object(i % RW_KINDS);
		object->users = 1 + USERS;
		/* Held, so that they queue up and come out together. */
		OK(pthread_rwlock_wrlock(&object->lock));
		objects[i] = object;
		if (i % 4 == 0)
			usleep(50);
		leave(object);
	}
	join_all(threads, USERS);
}

/* pthread_rwlock_destroy: allowed once a thread knows that no other uses it. */
TEST(posix_pthread_rwlock_destroy__after_the_last_write_unlock)
{
	check_users(NULL);
}

TEST(posix_pthread_rwlock_destroy__after_readers_and_writers)
{
	check_users("");
}

/* One thread locks by `first`; the other one locks by `last`, and frees it. */
static enum rw_call first, last;

THREAD(make_and_leave, void *argument UNUSED)
{
	int64_t began = now_ns(CLOCK_MONOTONIC);
	struct object *object;

	for (int i = 0; makes_another(i, began); i++) {
		object = map_object(i % RW_KINDS);
		OK(take(&object->lock, first, 0));
		objects[i] = object;
		if (i % 2)
			sched_yield();
		OK(pthread_rwlock_unlock(&object->lock));
	}
}

static void check_heir(void)
{
	struct object *object;
	struct thread maker;

	start(&maker, make_and_leave, NULL);
	for (int i = 0; (object = await_object(i)); i++) {
		OK(take(&object->lock, last, 0));
		OK(pthread_rwlock_unlock(&object->lock));
		OK(pthread_rwlock_destroy(&object->lock));
		leave_hole(object);
	}
	join(&maker);
}

TEST(posix_pthread_rwlock_destroy__by_a_writer_that_a_reader_let_in)
{
	first = RDLOCK;
	last = WRLOCK;
	check_heir();
}

TEST(posix_pthread_rwlock_destroy__by_a_reader_that_a_writer_let_in)
{
	first = WRLOCK;
	last = RDLOCK;
	check_heir();
}

RUN_TESTS()
