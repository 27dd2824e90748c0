/*
 * pthread_rwlock_init, _destroy, _rdlock, _wrlock, _tryrdlock, _trywrlock and
 * _unlock: who excludes whom, what is refused, and where a lock may lie.
 */
#include "rwlock.h"

/* ------------------------------------------------------ one thread only -- */

/* pthread_rwlock_rdlock, _wrlock, _unlock: zero is success. */
static void posix_pthread_rwlock__locks_and_unlocks_every_kind(void)
{
	enum rw_kind kind;
	enum rw_call call;
	pthread_rwlock_t lock;
	int i;

	for (kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		for (call = 0; call < RW_CALLS; call++)
			for (i = 0; i < 300; i++) {
				OK(take(&lock, call, 1000));
				OK(pthread_rwlock_unlock(&lock));
			}
		OK(pthread_rwlock_destroy(&lock));
	}
}

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

/* pthread_rwlock_init: the initialiser does what init without attributes does. */
static void posix_pthread_rwlock_init__static_initialisers(void)
{
	static pthread_rwlock_t plain = PTHREAD_RWLOCK_INITIALIZER;
	static pthread_rwlock_t writers =
		PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

	check_new(&plain);
	check_new(&writers);
}

static void glibc_pthread_rwlock__zeroed_memory_is_an_rwlock(void)
{
	pthread_rwlock_t *lock = calloc(1, sizeof(*lock));

	check_new(lock);
	free(lock);
}

/* pthread_rwlock_init: without attributes it has the default ones. */
static void posix_pthread_rwlock_init__null_attributes(void)
{
	pthread_rwlock_t lock;

	memset(&lock, 0xa5, sizeof(lock));
	OK(pthread_rwlock_init(&lock, NULL));
	check_new(&lock);
}

/* pthread_rwlock_init: no lock has been taken yet, whatever lay there. */
static void posix_pthread_rwlock_init__ignores_what_was_there(void)
{
	pthread_rwlock_t lock;
	enum rw_kind kind;
	int fill;

	for (kind = 0; kind < RW_KINDS; kind++)
		for (fill = 0; fill < 256; fill += 15) {
			memset(&lock, fill, sizeof(lock));
			make_rwlock(&lock, kind, kind == PREFER_WRITER);
			check_new(&lock);
		}
}

/* pthread_rwlock_destroy: a destroyed lock can be initialised again. */
static void posix_pthread_rwlock_init__makes_a_destroyed_lock_new(void)
{
	pthread_rwlock_t lock;
	enum rw_kind kind;

	for (kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		OK(pthread_rwlock_wrlock(&lock));
		OK(pthread_rwlock_unlock(&lock));
		OK(pthread_rwlock_destroy(&lock));
		make_rwlock(&lock, (kind + 1) % RW_KINDS, false);
		check_new(&lock);
	}
}

/* Undefined in POSIX. glibc's destroy looks at nothing and has no error. */
static void glibc_pthread_rwlock_destroy__held_is_no_error(void)
{
	pthread_rwlock_t lock;
	enum rw_kind kind;

	for (kind = 0; kind < RW_KINDS; kind++) {
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

static void glibc_pthread_rwlock__may_be_copied_while_free(void)
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

static void posix_pthread_rwlock__leaves_errno_alone(void)
{
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	enum rw_call call;

	errno = 4717;
	for (call = 0; call < RW_CALLS; call++) {
		OK(take(&lock, call, 1000));
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		if (is_write(call))
			CHECK_ERR(pthread_rwlock_wrlock(&lock), EDEADLK);
		else
			CHECK_ERR(take(&lock, TIMEDWRLOCK, 2), ETIMEDOUT);
		OK(pthread_rwlock_unlock(&lock));
		CHECK_EQ(errno, 4717);
	}
	OK(pthread_rwlock_destroy(&lock));
	CHECK_EQ(errno, 4717);
}

/* ---------------------------------------------------------- own locks -- */

/*
 * pthread_rwlock_rdlock, _wrlock, and the timed ones: may fail with EDEADLK
 * if the caller has the lock for writing. The deadline is not waited for.
 */
static void posix_pthread_rwlock__edeadlk_for_the_writer(void)
{
	pthread_rwlock_t lock;
	enum rw_kind kind;
	enum rw_call call, first;
	int i;

	for (kind = 0; kind < RW_KINDS; kind++)
		for (first = WRLOCK; first < RW_CALLS; first += 2) {
			make_rwlock(&lock, kind, false);
			OK(take(&lock, first, 1000));
			for (i = 0; i < 3; i++)
				for (call = 0; call < RW_CALLS; call++) {
					if (call == TRYRDLOCK || call == TRYWRLOCK)
						continue;
					CHECK_ERR(take(&lock, call, LONG_MS * 2),
						  EDEADLK);
					CHECK_ERR(take(&lock, call, -1000),
						  EDEADLK);
				}
			/* Once is enough: no attempt was counted. */
			OK(pthread_rwlock_unlock(&lock));
			check_free(&lock);
			OK(pthread_rwlock_destroy(&lock));
		}
}

/* pthread_rwlock_tryrdlock, _trywrlock: EBUSY, for the writer itself too. */
static void posix_pthread_rwlock_trylock__ebusy_for_the_writer(void)
{
	pthread_rwlock_t lock;
	enum rw_kind kind;

	for (kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		OK(pthread_rwlock_wrlock(&lock));
		CHECK_ERR(pthread_rwlock_tryrdlock(&lock), EBUSY);
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		OK(pthread_rwlock_unlock(&lock));
		check_free(&lock);
	}
}

/*
 * pthread_rwlock_wrlock by a reader: undefined or a deadlock, but no EDEADLK
 * in glibc, which doesn't know its readers. Tries and deadlines show it.
 */
static void glibc_pthread_rwlock_wrlock__no_edeadlk_for_a_reader(void)
{
	pthread_rwlock_t lock;
	enum rw_kind kind;

	for (kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		OK(pthread_rwlock_rdlock(&lock));
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		CHECK_ERR(take(&lock, TIMEDWRLOCK, 5), ETIMEDOUT);
		CHECK_ERR(take(&lock, CLOCKWRLOCK, 5), ETIMEDOUT);
		/* It is a reader still, and may be one once more. */
		OK(pthread_rwlock_rdlock(&lock));
		OK(pthread_rwlock_unlock(&lock));
		CHECK_ERR(elsewhere(&lock, TRYWRLOCK), EBUSY);
		OK(pthread_rwlock_unlock(&lock));
		check_free(&lock);
	}
}

/* pthread_rwlock_rdlock: n locks by one thread take n unlocks. */
static void posix_pthread_rwlock_rdlock__as_many_unlocks_as_locks(void)
{
	static const enum rw_call calls[] = { RDLOCK, TRYRDLOCK, TIMEDRDLOCK,
					      CLOCKRDLOCK };
	enum { TIMES = 100000 };
	pthread_rwlock_t lock;
	enum rw_kind kind;
	int i;

	for (kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		for (i = 0; i < TIMES; i++)
			OK(take(&lock, i % 16 ? RDLOCK : calls[i / 16 % 4],
				1000));
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		CHECK_ERR(elsewhere(&lock, TRYWRLOCK), EBUSY);
		OK(elsewhere(&lock, RDLOCK));
		for (i = 0; i < TIMES - 1; i++)
			OK(pthread_rwlock_unlock(&lock));
		CHECK_ERR(elsewhere(&lock, TRYWRLOCK), EBUSY);
		OK(pthread_rwlock_unlock(&lock));
		check_free(&lock);
		OK(pthread_rwlock_destroy(&lock));
	}
}

/* ------------------------------------------------------------ two or more -- */

/* pthread_rwlock_rdlock: several threads may have read locks at a time. */
static void posix_pthread_rwlock_rdlock__readers_at_once(void)
{
	enum { READERS = 24 };
	struct holder readers[READERS];
	pthread_rwlock_t lock;
	enum rw_kind kind;
	int i;

	for (kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		for (i = 0; i < READERS; i++)
			hold_elsewhere(&readers[i], &lock,
				       2 * (i % (RW_CALLS / 2)));
		OK(pthread_rwlock_rdlock(&lock));
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		OK(pthread_rwlock_unlock(&lock));
		/* In another order than they came. */
		for (i = 0; i < READERS; i++) {
			CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
			let_go(&readers[i * 7 % READERS]);
		}
		check_free(&lock);
	}
}

/* The try variants: EBUSY if the lock can't be had at once. */
static void posix_pthread_rwlock_trylock__ebusy_when_locked(void)
{
	struct holder holder;
	pthread_rwlock_t lock;
	enum rw_kind kind;
	enum rw_call call;

	for (kind = 0; kind < RW_KINDS; kind++)
		for (call = 0; call < RW_CALLS; call++) {
			make_rwlock(&lock, kind, false);
			hold_elsewhere(&holder, &lock, call);
			CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
			if (is_write(call)) {
				CHECK_ERR(pthread_rwlock_tryrdlock(&lock), EBUSY);
			} else {
				OK(pthread_rwlock_tryrdlock(&lock));
				OK(pthread_rwlock_unlock(&lock));
			}
			let_go(&holder);
			check_free(&lock);
			OK(pthread_rwlock_destroy(&lock));
		}
}

/* pthread_rwlock_rdlock: the caller blocks while a writer has the lock. */
static void posix_pthread_rwlock_rdlock__waits_for_the_writer(void)
{
	enum { READERS = 12 };
	struct holder readers[READERS];
	pthread_rwlock_t lock;
	enum rw_kind kind;
	int i;

	for (kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		OK(pthread_rwlock_wrlock(&lock));
		for (i = 0; i < READERS; i++)
			wait_elsewhere(&readers[i], &lock,
				       (const enum rw_call[]){
					       RDLOCK, TIMEDRDLOCK,
					       CLOCKRDLOCK }[i % 3]);
		sleep_ms(10);
		for (i = 0; i < READERS; i++)
			CHECK(!readers[i].done);
		OK(pthread_rwlock_unlock(&lock));
		/* All of them come in, though none goes. */
		for (i = 0; i < READERS; i++)
			UNTIL(readers[i].done);
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		for (i = 0; i < READERS; i++)
			let_go(&readers[i]);
		check_free(&lock);
	}
}

/* pthread_rwlock_wrlock: the caller blocks until the last reader is gone. */
static void posix_pthread_rwlock_wrlock__waits_for_every_reader(void)
{
	static const enum rw_call calls[] = { WRLOCK, TIMEDWRLOCK, CLOCKWRLOCK };
	struct holder readers[5], writer;
	pthread_rwlock_t lock;
	enum rw_kind kind;
	int i;

	for (kind = 0; kind < RW_KINDS; kind++)
		for (EACH(c, calls)) {
			make_rwlock(&lock, kind, false);
			for (i = 0; i < 5; i++)
				hold_elsewhere(&readers[i], &lock, RDLOCK);
			wait_elsewhere(&writer, &lock, calls[c]);
			for (i = 0; i < 4; i++) {
				let_go(&readers[i]);
				sleep_ms(2);
				CHECK(!writer.done);
			}
			let_go(&readers[4]);
			UNTIL(writer.done);
			CHECK_ERR(pthread_rwlock_tryrdlock(&lock), EBUSY);
			let_go(&writer);
			check_free(&lock);
		}
}

/* pthread_rwlock_wrlock: one writer at a time; the others wait for it. */
static void posix_pthread_rwlock_wrlock__waits_for_the_writer(void)
{
	enum { WRITERS = 8 };
	struct holder writers[WRITERS];
	_Atomic int turns;
	pthread_rwlock_t lock;
	enum rw_kind kind;
	int i, turn, had;

	for (kind = 0; kind < RW_KINDS; kind++) {
		turns = 0;
		make_rwlock(&lock, kind, false);
		OK(pthread_rwlock_wrlock(&lock));
		for (i = 0; i < WRITERS; i++) {
			wait_in_turn(&writers[i], &lock,
				     i % 2 ? WRLOCK : CLOCKWRLOCK, &turns);
		}
		CHECK_EQ(turns, 0);
		OK(pthread_rwlock_unlock(&lock));
		for (turn = 1; turn <= WRITERS; turn++) {
			UNTIL(turns == turn);
			usleep(500);
			CHECK_EQ(turns, turn);
			for (i = 0, had = 0; i < WRITERS; i++)
				if (writers[i].done && !writers[i].release)
					had++, writers[i].release = true;
			/* Its turn is counted before it is done. */
			if (had == 0) {
				turn--;
				continue;
			}
			CHECK_EQ(had, 1);
		}
		for (i = 0; i < WRITERS; i++)
			let_go(&writers[i]);
		check_free(&lock);
	}
}

struct counted {
	pthread_rwlock_t lock;
	long counter, copy;
	_Atomic long seen;
};

enum { COUNTERS = 6, COUNTS = 1200 };

static void *count_or_look(void *argument)
{
	struct counted *counted = argument;
	uint32_t random = (uint32_t)gettid() * 2654435761u;
	long last = 0;
	int i;

	for (i = 0; i < COUNTS;) {
		if (next_random(&random) % 3) {
			OK(pthread_rwlock_rdlock(&counted->lock));
			CHECK_EQ(counted->counter, counted->copy);
			CHECK(counted->counter >= last);
			last = counted->counter;
			if (next_random(&random) % 64 == 0)
				sched_yield();
			CHECK_EQ(counted->counter, last);
			counted->seen++;
		} else {
			OK(pthread_rwlock_wrlock(&counted->lock));
			counted->counter++;
			if (next_random(&random) % 64 == 0)
				sched_yield();
			counted->copy++;
			i++;
		}
		OK(pthread_rwlock_unlock(&counted->lock));
	}
	return NULL;
}

static void check_count(struct counted *counted)
{
	struct thread threads[COUNTERS];
	int i;

	counted->counter = counted->copy = counted->seen = 0;
	for (i = 0; i < COUNTERS; i++)
		start(&threads[i], count_or_look, counted);
	for (i = 0; i < COUNTERS; i++)
		join(&threads[i]);
	CHECK_EQ(counted->counter, COUNTERS * COUNTS);
	CHECK(counted->seen > 0);
	check_free(&counted->lock);
}

static void posix_pthread_rwlock__writers_exclude_all_others(void)
{
	struct counted counted;
	enum rw_kind kind;

	for (kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&counted.lock, kind, false);
		check_count(&counted);
		OK(pthread_rwlock_destroy(&counted.lock));
	}
}

/*
 * pthread_rwlock_unlock by a thread that doesn't hold the lock: undefined in
 * POSIX. glibc only counts its readers, and programs hand read locks on.
 */
static void *unlock(void *lock)
{
	OK(pthread_rwlock_unlock(lock));
	return NULL;
}

static void glibc_pthread_rwlock_unlock__read_lock_by_another_thread(void)
{
	struct holder writer;
	pthread_rwlock_t lock;
	struct thread other;
	enum rw_kind kind;

	for (kind = 0; kind < RW_KINDS; kind++) {
		make_rwlock(&lock, kind, false);
		OK(pthread_rwlock_rdlock(&lock));
		OK(pthread_rwlock_rdlock(&lock));
		start(&other, unlock, &lock);
		join(&other);
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		wait_elsewhere(&writer, &lock, WRLOCK);
		start(&other, unlock, &lock);
		join(&other);
		UNTIL(writer.done);
		let_go(&writer);
		check_free(&lock);
	}
}

static pthread_rwlock_t handed_over = PTHREAD_RWLOCK_INITIALIZER;
static _Atomic int to_give_back;
static _Atomic bool all_taken;

static void *give_back(void *argument UNUSED)
{
	while (!all_taken || to_give_back)
		if (to_give_back) {
			OK(pthread_rwlock_unlock(&handed_over));
			to_give_back--;
		}
	return NULL;
}

/* One thread takes read locks that another gives back, and meanwhile takes and
   gives back some itself. */
static void glibc_pthread_rwlock_unlock__read_locks_handed_over_all_the_time(void)
{
	struct thread other;
	int round;

	start(&other, give_back, NULL);
	for (round = 0; round < 100000; round++) {
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

static void *lock_and_end(void *argument)
{
	struct holder *holder = argument;

	OK(take(holder->lock, holder->call, 1000));
	return NULL;
}

/* A thread's end unlocks nothing. */
static void posix_pthread_rwlock__stays_locked_when_its_holder_ends(void)
{
	struct holder holder;
	pthread_rwlock_t lock;
	struct thread thread;
	enum rw_call call;

	for (call = RDLOCK; call <= WRLOCK; call++) {
		OK(pthread_rwlock_init(&lock, NULL));
		holder = (struct holder){ .lock = &lock, .call = call };
		start(&thread, lock_and_end, &holder);
		join(&thread);
		CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
		CHECK_ERR(take(&lock, TIMEDWRLOCK, 5), ETIMEDOUT);
		CHECK_ERR(pthread_rwlock_tryrdlock(&lock),
			  call == WRLOCK ? EBUSY : 0);
	}
}

/* ------------------------------------------------------- where it lies -- */

#define CANARY 64


static void fill(unsigned char *bytes, size_t size, int seed)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = seed + i * 37;
}

static void check_filled(const unsigned char *bytes, size_t size, int seed)
{
	for (size_t i = 0; i < size; i++)
		CHECK_EQ(bytes[i], (unsigned char)(seed + i * 37));
}

/* Locks and canaries in a row, with no byte of padding in between. */
static void glibc_pthread_rwlock__writes_only_where_it_lies(void)
{
	struct row {
		unsigned char before[CANARY];
		pthread_rwlock_t lock;
		unsigned char after[CANARY];
	} row;
	struct holder reader, writer;
	enum rw_kind kind;
	enum rw_call call;

	CHECK_EQ(sizeof(pthread_rwlock_t), 56);
	CHECK_EQ(sizeof(row), 2 * CANARY + sizeof(pthread_rwlock_t));
	for (kind = 0; kind < RW_KINDS; kind++) {
		fill(row.before, CANARY, 1);
		fill(row.after, CANARY, 2);
		make_rwlock(&row.lock, kind, false);
		for (call = 0; call < RW_CALLS; call++) {
			OK(take(&row.lock, call, 1000));
			if (call != TRYRDLOCK && call != TRYWRLOCK)
				CHECK(elsewhere_in(&row.lock,
						   is_write(call) ? TIMEDRDLOCK :
								    TIMEDWRLOCK,
						   3) == ETIMEDOUT);
			start_holder(&reader, &row.lock, RDLOCK);
			start_holder(&writer, &row.lock, WRLOCK);
			usleep(500);
			OK(pthread_rwlock_unlock(&row.lock));
			/* Either may be the one that waits. */
			reader.release = writer.release = true;
			let_go(&reader);
			let_go(&writer);
		}
		OK(pthread_rwlock_destroy(&row.lock));
		check_filled(row.before, CANARY, 1);
		check_filled(row.after, CANARY, 2);
	}
}

/* Each of many locks is a lock of its own, however many one thread has. */
enum { LOCKS = 600 };
static struct { pthread_rwlock_t lock; int writes; } many[LOCKS];

static void *take_many(void *writes_in_all)
{
	uint32_t random = (uint32_t)gettid();
	bool writes[LOCKS];
	int i, at, round;

	for (round = 0; round < 5; round++) {
		/* In one order, so that threads don't wait for each other. */
		for (i = 0; i < LOCKS; i++) {
			writes[i] = next_random(&random) % 2;
			OK(take(&many[i].lock, writes[i] ? WRLOCK : RDLOCK, 0));
			if (!writes[i])
				continue;
			many[i].writes++;
			++*(_Atomic int *)writes_in_all;
		}
		for (i = 0; i < LOCKS; i++)
			CHECK_ERR(pthread_rwlock_trywrlock(&many[i].lock), EBUSY);
		for (i = 0; i < LOCKS; i++) {
			at = (i * 7 + round) % LOCKS;
			if (writes[at])
				CHECK_ERR(pthread_rwlock_rdlock(&many[at].lock),
					  EDEADLK);
			OK(pthread_rwlock_unlock(&many[at].lock));
		}
	}
	return NULL;
}

static void posix_pthread_rwlock__hundreds_held_by_one_thread(void)
{
	_Atomic int writes_in_all = 0;
	struct thread threads[4];
	int i, writes = 0;

	for (i = 0; i < LOCKS; i++)
		make_rwlock(&many[i].lock, i % RW_KINDS, false);
	take_many(&writes_in_all);
	for (i = 0; i < 4; i++)
		start(&threads[i], take_many, &writes_in_all);
	for (i = 0; i < 4; i++)
		join(&threads[i]);
	for (i = 0; i < LOCKS; i++) {
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
	_Atomic bool taken;
	/* Written under the write lock only. */
	int users;
};

enum { OBJECTS = 4000, USERS = 3, OBJECTS_MS = 3000 };
static struct object *_Atomic objects[OBJECTS];
static _Atomic int object_count = OBJECTS;

/* On a machine with more to do, as many as there is time for. */
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
	struct object *object = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(object != MAP_FAILED);
	make_rwlock(&object->lock, kind, false);
	return object;
}

static void unmap_object(struct object *object)
{
	CHECK(mmap(object, 4096, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
		   0) == object);
}

/* Who leaves last destroys it, right after the others' unlocks let it in. */
static void leave(struct object *object)
{
	int left = --object->users;

	OK(pthread_rwlock_unlock(&object->lock));
	if (left == 0) {
		OK(pthread_rwlock_destroy(&object->lock));
		unmap_object(object);
	}
}

static void *use_and_leave(void *reads_first)
{
	struct object *object;
	int i;

	for (i = 0; (object = await_object(i)); i++) {
		if (reads_first && i % 2) {
			OK(pthread_rwlock_rdlock(&object->lock));
			OK(pthread_rwlock_unlock(&object->lock));
		}
		OK(take(&object->lock, i % 3 ? WRLOCK : CLOCKWRLOCK, LONG_MS));
		leave(object);
	}
	return NULL;
}

static void check_users(void *reads_first)
{
	int64_t began = now_ns(CLOCK_MONOTONIC);
	struct thread threads[USERS];
	struct object *object;
	int i;

	for (i = 0; i < USERS; i++)
		start(&threads[i], use_and_leave, reads_first);
	for (i = 0; makes_another(i, began); i++) {
		object = map_object(i % RW_KINDS);
		object->users = 1 + USERS;
		/* Held, so that they queue up and come out together. */
		OK(pthread_rwlock_wrlock(&object->lock));
		objects[i] = object;
		if (i % 4 == 0)
			usleep(50);
		leave(object);
	}
	for (i = 0; i < USERS; i++)
		join(&threads[i]);
}

/* pthread_rwlock_destroy: whoever knows that nobody else uses it may. */
static void posix_pthread_rwlock_destroy__after_the_last_write_unlock(void)
{
	check_users(NULL);
}

static void posix_pthread_rwlock_destroy__after_readers_and_writers(void)
{
	check_users("");
}

/* One has it for reading and lets go; the other one gets it, and frees it. */
static void *read_and_leave(void *argument UNUSED)
{
	struct object *object;
	int i;

	for (i = 0; (object = await_object(i)); i++) {
		OK(pthread_rwlock_rdlock(&object->lock));
		object->taken = true;
		if (i % 2)
			sched_yield();
		OK(pthread_rwlock_unlock(&object->lock));
	}
	return NULL;
}

static void posix_pthread_rwlock_destroy__by_a_writer_that_a_reader_let_in(void)
{
	int64_t began = now_ns(CLOCK_MONOTONIC);
	struct thread reader;
	struct object *object;
	int i;

	start(&reader, read_and_leave, NULL);
	for (i = 0; makes_another(i, began); i++) {
		object = map_object(i % RW_KINDS);
		objects[i] = object;
		while (!object->taken)
			sched_yield();
		OK(pthread_rwlock_wrlock(&object->lock));
		OK(pthread_rwlock_unlock(&object->lock));
		OK(pthread_rwlock_destroy(&object->lock));
		unmap_object(object);
	}
	join(&reader);
}

static void *write_and_leave(void *argument UNUSED)
{
	int64_t began = now_ns(CLOCK_MONOTONIC);
	struct object *object;
	int i;

	for (i = 0; makes_another(i, began); i++) {
		object = map_object(i % RW_KINDS);
		OK(pthread_rwlock_wrlock(&object->lock));
		objects[i] = object;
		if (i % 2)
			sched_yield();
		OK(pthread_rwlock_unlock(&object->lock));
	}
	return NULL;
}

static void posix_pthread_rwlock_destroy__by_a_reader_that_a_writer_let_in(void)
{
	struct thread writer;
	struct object *object;
	int i;

	start(&writer, write_and_leave, NULL);
	for (i = 0; (object = await_object(i)); i++) {
		OK(pthread_rwlock_rdlock(&object->lock));
		OK(pthread_rwlock_unlock(&object->lock));
		OK(pthread_rwlock_destroy(&object->lock));
		unmap_object(object);
	}
	join(&writer);
}

static const struct test tests[] = {
	TEST(posix_pthread_rwlock__locks_and_unlocks_every_kind),
	TEST(posix_pthread_rwlock_init__static_initialisers),
	TEST(glibc_pthread_rwlock__zeroed_memory_is_an_rwlock),
	TEST(posix_pthread_rwlock_init__null_attributes),
	TEST(posix_pthread_rwlock_init__ignores_what_was_there),
	TEST(posix_pthread_rwlock_init__makes_a_destroyed_lock_new),
	TEST(glibc_pthread_rwlock_destroy__held_is_no_error),
	TEST(glibc_pthread_rwlock__may_be_copied_while_free),
	TEST(posix_pthread_rwlock__leaves_errno_alone),
	TEST(posix_pthread_rwlock__edeadlk_for_the_writer),
	TEST(posix_pthread_rwlock_trylock__ebusy_for_the_writer),
	TEST(glibc_pthread_rwlock_wrlock__no_edeadlk_for_a_reader),
	TEST(posix_pthread_rwlock_rdlock__as_many_unlocks_as_locks),
	TEST(posix_pthread_rwlock_rdlock__readers_at_once),
	TEST(posix_pthread_rwlock_trylock__ebusy_when_locked),
	TEST(posix_pthread_rwlock_rdlock__waits_for_the_writer),
	TEST(posix_pthread_rwlock_wrlock__waits_for_every_reader),
	TEST(posix_pthread_rwlock_wrlock__waits_for_the_writer),
	TEST(posix_pthread_rwlock__writers_exclude_all_others),
	TEST(glibc_pthread_rwlock_unlock__read_lock_by_another_thread),
	TEST(glibc_pthread_rwlock_unlock__read_locks_handed_over_all_the_time),
	TEST(posix_pthread_rwlock__stays_locked_when_its_holder_ends),
	TEST(glibc_pthread_rwlock__writes_only_where_it_lies),
	TEST(posix_pthread_rwlock__hundreds_held_by_one_thread),
	TEST(posix_pthread_rwlock_destroy__after_the_last_write_unlock),
	TEST(posix_pthread_rwlock_destroy__after_readers_and_writers),
	TEST(posix_pthread_rwlock_destroy__by_a_writer_that_a_reader_let_in),
	TEST(posix_pthread_rwlock_destroy__by_a_reader_that_a_writer_let_in),
};

TEST_MAIN(tests)
