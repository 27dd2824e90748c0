/* XSH, the attributes of rwlocks, and glibc's kinds of them. */
#include "attributes.h"
#include "children.h"
#include "clause.h"
#include "ledger.h"
#include "memory.h"
#include "../pthread/rwlock.h"

/* Each clause runs in a process of its own, with these. */
static pthread_rwlockattr_t attr;
static pthread_rwlock_t lock;

ATTRIBUTE(rwlockattr, pshared, LIST(PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED),
	  LIST(2, -1, 4711, INT_MIN), false)
ATTRIBUTE(rwlockattr, kind_np, LIST(PTHREAD_RWLOCK_DEFAULT_NP, PREFER_WRITER, NONRECURSIVE),
	  LIST(-1, 3, 4711, INT_MIN), false)
ATTRIBUTES(rwlockattr, &attr_pshared, &attr_kind_np)

CLAUSE_BY(check_defaults(), pthread_rwlockattr_init__desc_2__defaults,
	  "attributes begin with their defaults: PTHREAD_PROCESS_PRIVATE, and glibc's default kind")

CLAUSE(pthread_rwlockattr_init__desc_3__later_changes_touch_no_lock,
       "locks don't depend on what becomes of the attributes that they were made with")
{
	struct holder reader, writer;

	OK(pthread_rwlockattr_init(&attr));
	OK(pthread_rwlock_init(&lock, &attr));
	OK(pthread_rwlockattr_setkind_np(&attr, NONRECURSIVE));
	OK(pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	OK(pthread_rwlockattr_destroy(&attr));
	memset(&attr, 0xff, sizeof(attr));
	/* It still prefers readers. */
	hold_elsewhere(&reader, &lock, RDLOCK);
	wait_elsewhere(&writer, &lock, WRLOCK);
	OK(elsewhere(&lock, RDLOCK));
	let_go(&reader);
	let_go(&writer);
	check_free(&lock);
	OK(pthread_rwlock_destroy(&lock));
}

CLAUSE(pthread_rwlockattr_init__desc_3__serve_many_locks, "one set of attributes serves many locks")
{
	pthread_rwlock_t locks[20];
	struct holder writer;

	OK(pthread_rwlockattr_init(&attr));
	for (int i = 0; i < 20; i++)
		OK(pthread_rwlock_init(&locks[i], &attr));
	OK(pthread_rwlockattr_destroy(&attr));
	for (int i = 0; i < 20; i++) {
		OK(pthread_rwlock_rdlock(&locks[i]));
		wait_elsewhere(&writer, &locks[i], WRLOCK);
		OK(pthread_rwlock_unlock(&locks[i]));
		let_go(&writer);
		OK(pthread_rwlock_destroy(&locks[i]));
	}
}

CLAUSE_BY(check_initialised_again(), pthread_rwlockattr_destroy__desc_1__may_be_initialised_again,
	  "destroyed attributes may be initialised again, with the defaults")

CLAUSE_BY(check_told(&attr_pshared), pthread_rwlockattr_getpshared__desc_1__tells_what_was_set,
	  "getpshared tells what setpshared has set; both return 0")

CLAUSE(pthread_rwlockattr_setpshared__desc_1__shared_excludes_processes,
       "PTHREAD_PROCESS_SHARED: processes that share the memory exclude one another, readers and "
       "writers")
{
	struct ledger *ledger = shared_memory(sizeof(*ledger));

	make_rwlock(&ledger->lock, PREFER_READER, true);
	run_in_processes(4, read_and_write, ledger);
	CHECK(ledger->written > 0);
	check_free(&ledger->lock);
	OK(pthread_rwlock_destroy(&ledger->lock));
}

CLAUSE(pthread_rwlockattr_setpshared__desc_1__shared_wakes_processes,
       "PTHREAD_PROCESS_SHARED: an unlock lets waiting processes in")
{
	struct {
		pthread_rwlock_t lock;
		_Atomic int begun, got;
	} *shared = shared_memory(sizeof(*shared));
	static const enum rw_call calls[] = { RDLOCK, WRLOCK, TIMEDRDLOCK, CLOCKWRLOCK };
	pid_t children[4];

	make_rwlock(&shared->lock, PREFER_READER, true);
	OK(pthread_rwlock_wrlock(&shared->lock));
	for (int i = 0; i < 4; i++) {
		IN_CHILD(children[i]) {
			CHECK_ERR(pthread_rwlock_tryrdlock(&shared->lock), EBUSY);
			shared->begun++;
			OK(take(&shared->lock, calls[i], LONG_MS));
			shared->got++;
			OK(pthread_rwlock_unlock(&shared->lock));
		}
	}
	UNTIL(shared->begun == 4);
	sleep_ms(20);
	CHECK_EQ(shared->got, 0);
	OK(pthread_rwlock_unlock(&shared->lock));
	REAP_ALL(children);
	CHECK_EQ(shared->got, 4);
	check_free(&shared->lock);
}

CLAUSE(pthread_rwlockattr_setpshared__desc_1__shared_has_no_address,
       "PTHREAD_PROCESS_SHARED: every mapping of the memory is the same lock")
{
	void *mapped[2];
	struct holder waiter;

	map_twice(&mapped[0], &mapped[1]);
	make_rwlock(mapped[0], PREFER_READER, true);
	for (enum rw_call call = 0; call < RW_CALLS; call++) {
		if (call == TRYRDLOCK || call == TRYWRLOCK)
			continue;
		OK(pthread_rwlock_wrlock(mapped[call % 2]));
		CHECK_ERR(elsewhere(mapped[1 - call % 2], TRYRDLOCK), EBUSY);
		wait_elsewhere(&waiter, mapped[1 - call % 2], call);
		OK(pthread_rwlock_unlock(mapped[call % 2]));
		let_go(&waiter);
	}
	check_free(mapped[1]);
}

/* What a forked child has is a copy, locked as it was at the fork. */
static void in_a_child(pthread_rwlock_t *lock, enum rw_call held)
{
	make_rwlock(lock, PREFER_READER, false);
	OK(take(lock, held, LONG_MS));
	IN_A_CHILD {
		CHECK_ERR(pthread_rwlock_trywrlock(lock), EBUSY);
		OK(pthread_rwlock_unlock(lock));
		check_free(lock);
	}
	CHECK_ERR(elsewhere(lock, TRYWRLOCK), EBUSY);
	OK(pthread_rwlock_unlock(lock));
	check_free(lock);
}

CLAUSE(pthread_rwlockattr_setpshared__desc_2__private_is_this_processs,
       "PTHREAD_PROCESS_PRIVATE: the process's own; a forked child's copy is locked as it was, "
       "and its own")
{
	in_a_child(&lock, RDLOCK);
	in_a_child(&lock, TIMEDRDLOCK);
}

CLAUSE_FURWOCK_ONLY(pthread_rwlockattr_setpshared__desc_2__child_ends_its_writing,
		    "PTHREAD_PROCESS_PRIVATE: what a thread that forks has to write its copy in "
		    "the child unlocks",
		    "furwock is right: the child's thread is a copy of its owner; glibc knows a "
		    "writer by its thread id, which is another one there, and takes the unlock "
		    "for a reader's")
{
	in_a_child(&lock, WRLOCK);
	in_a_child(&lock, CLOCKWRLOCK);
}

CLAUSE_BY(check_refused(&attr_pshared),
	  pthread_rwlockattr_setpshared__err_EINVAL__neither_of_the_two,
	  "the value is neither of the two; it stays as it was")

/* --------------------------------------------------------- glibc's kinds -- */

CLAUSE_IN("manual 1", pthread_rwlockattr_setkind_np__desc_1__getkind_np_tells_it,
	  "getkind_np tells what setkind_np has set")
{
	check_told(&attr_kind_np);
}

CLAUSE_IN("manual, EINVAL", pthread_rwlockattr_setkind_np__err_EINVAL__no_kind,
	  "there is no such kind; it stays as it was")
{
	check_refused(&attr_kind_np);
}

/* A reader has it and a writer waits: may another thread read? */
static void read_past_a_writer(int wanted)
{
	struct holder reader, writer;

	hold_elsewhere(&reader, &lock, RDLOCK);
	wait_elsewhere(&writer, &lock, WRLOCK);
	CHECK_ERR(elsewhere(&lock, TRYRDLOCK), wanted);
	CHECK_ERR(elsewhere_in(&lock, TIMEDRDLOCK, wanted ? 15 : LONG_MS), wanted ? ETIMEDOUT : 0);
	CHECK(!writer.done);
	let_go(&reader);
	let_go(&writer);
	check_free(&lock);
	OK(pthread_rwlock_destroy(&lock));
}

static void read_in_kind(enum rw_kind kind, int wanted)
{
	for (int pshared = 0; pshared < 2; pshared++) {
		make_rwlock(&lock, kind, pshared);
		read_past_a_writer(wanted);
	}
}

CLAUSE_IN("manual 2", pthread_rwlockattr_setkind_np__desc_2__reader_kind_lets_readers_in,
	  "PTHREAD_RWLOCK_PREFER_READER_NP: readers come in though writers wait")
{
	read_in_kind(PREFER_READER, 0);
}

/* Its name says otherwise: readers may be so again, so that it can't. */
CLAUSE_IN("manual 2", pthread_rwlockattr_setkind_np__desc_2__writer_kind_lets_readers_in,
	  "PTHREAD_RWLOCK_PREFER_WRITER_NP: the same, whatever its name says")
{
	read_in_kind(PREFER_WRITER, 0);
}

CLAUSE_IN("manual 2", pthread_rwlockattr_setkind_np__desc_2__nonrecursive_kind,
	  "PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP: writers that wait keep readers out")
{
	read_in_kind(NONRECURSIVE, EBUSY);
}

CLAUSE_IN("manual 2", pthread_rwlockattr_setkind_np__desc_2__static_initialiser,
	  "the same from PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP")
{
	lock = (pthread_rwlock_t)
		PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
	read_past_a_writer(EBUSY);
}
