/* XSH, the pages of mutexes. */
#include "clause.h"
#include "mutexes.h"

/* ---------------------------------------------------- init and destroy -- */

CLAUSE(pthread_mutex_init__desc_3__has_the_attributes,
       "the mutex has the attributes of the attributes object")
{
	pthread_mutex_t checks, counts;

	OK(make_mutex(&checks, ERRORCHECK));
	OK(make_mutex(&counts, RECURSIVE));
	OK(pthread_mutex_lock(&checks));
	CHECK_ERR(pthread_mutex_lock(&checks), EDEADLK);
	OK(pthread_mutex_lock(&counts));
	OK(pthread_mutex_lock(&counts));
}

CLAUSE(pthread_mutex_init__desc_3__null_stands_for_the_defaults,
       "without an attributes object it is as with one that holds the defaults")
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);
	pthread_mutex_t mutexes[2];
	pthread_mutexattr_t attr;
	int ceiling;

	OK(pthread_mutexattr_init(&attr));
	OK(pthread_mutex_init(&mutexes[0], NULL));
	OK(pthread_mutex_init(&mutexes[1], &attr));
	for (EACH(i, mutexes)) {
		OK(pthread_mutex_lock(&mutexes[i]));
		CHECK_ERR(pthread_mutex_trylock(&mutexes[i]), EBUSY);
		/* Neither an error nor a count: a default lock waits. */
		CHECK_ERR(pthread_mutex_timedlock(&mutexes[i], &soon),
			  ETIMEDOUT);
		OK(pthread_mutex_unlock(&mutexes[i]));
		CHECK_ERR(pthread_mutex_getprioceiling(&mutexes[i], &ceiling),
			  EINVAL);
		CHECK_ERR(pthread_mutex_consistent(&mutexes[i]), EINVAL);
	}
}

CLAUSE(pthread_mutex_init__desc_3__is_unlocked,
       "the mutex is initialised and unlocked when the call returns, whatever the memory held")
{
	static const int fills[] = { 0x00, 0xff, 0xa5, 0x01 };
	pthread_mutex_t mutex;
	enum kind kind;

	for (EACH(i, fills)) {
		for (EACH_ORDINARY(kind)) {
			memset(&mutex, fills[i], sizeof(mutex));
			OK(make_mutex(&mutex, kind));
			OK(pthread_mutex_trylock(&mutex));
			OK(pthread_mutex_unlock(&mutex));
			check_free(&mutex);
			OK(pthread_mutex_destroy(&mutex));
		}
	}
}

static pthread_mutex_t initialised_static = PTHREAD_MUTEX_INITIALIZER;

CLAUSE(pthread_mutex_init__desc_6__initialiser_is_init_with_null,
       "the initialiser makes what init without attributes makes, in static memory and in "
       "automatic")
{
	pthread_mutex_t automatic = PTHREAD_MUTEX_INITIALIZER, assigned;
	pthread_mutex_t *all[] = { &initialised_static, &automatic, &assigned };
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);

	memset(&assigned, 0xff, sizeof(assigned));
	assigned = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	for (EACH(i, all)) {
		OK(pthread_mutex_trylock(all[i]));
		CHECK_ERR(pthread_mutex_trylock(all[i]), EBUSY);
		CHECK_ERR(pthread_mutex_timedlock(all[i], &soon), ETIMEDOUT);
		check_locked(all[i]);
		OK(pthread_mutex_unlock(all[i]));
		check_free(all[i]);
		OK(pthread_mutex_destroy(all[i]));
	}
}

CLAUSE_IN("glibc extension", pthread_mutex_init__desc_6__initialisers_np,
          "the initialisers with _NP make recursive, error-checking and adaptive mutexes")
{
	static pthread_mutex_t counts = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	static pthread_mutex_t checks = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	static pthread_mutex_t spins = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

	OK(pthread_mutex_lock(&counts));
	OK(pthread_mutex_lock(&counts));
	OK(pthread_mutex_unlock(&counts));
	check_locked(&counts);
	OK(pthread_mutex_unlock(&counts));
	check_free(&counts);
	CHECK_ERR(pthread_mutex_unlock(&checks), EPERM);
	OK(pthread_mutex_lock(&checks));
	CHECK_ERR(pthread_mutex_lock(&checks), EDEADLK);
	check_locked(&checks);
	OK(pthread_mutex_unlock(&checks));
	OK(pthread_mutex_lock(&spins));
	CHECK_ERR(pthread_mutex_trylock(&spins), EBUSY);
	check_locked(&spins);
	OK(pthread_mutex_unlock(&spins));
	check_free(&spins);
}

CLAUSE(pthread_mutex_init__ret__0, "0 for every kind that there is, and errno is left alone")
{
	pthread_mutex_t mutex;
	enum kind kind;

	errno = 4711;
	for (kind = 0; kind < KINDS; kind++) {
		OK(make_mutex(&mutex, kind));
		OK(pthread_mutex_destroy(&mutex));
	}
	CHECK_EQ(errno, 4711);
}

CLAUSE_IN("glibc: ENOTSUP", pthread_mutex_init__err_ENOTSUP__robust_and_protected,
          "a mutex that is both robust and priority-protected is refused")
{
	pthread_mutexattr_t attr;
	pthread_mutex_t mutex;

	OK(pthread_mutexattr_init(&attr));
	OK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	OK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT));
	CHECK_ERR(pthread_mutex_init(&mutex, &attr), ENOTSUP);
	OK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_NONE));
	OK(pthread_mutex_init(&mutex, &attr));
}

CLAUSE(pthread_mutex_destroy__desc_1__is_uninitialised,
       "the mutex becomes uninitialised: as glibc has it, no operation takes it any more")
{
	struct timespec at = in_ms(CLOCK_REALTIME, 1000);
	struct timespec mono = in_ms(CLOCK_MONOTONIC, 1000);
	pthread_mutex_t mutex;
	enum kind kind;

	for (EACH_ORDINARY(kind)) {
		OK(make_mutex(&mutex, kind));
		OK(pthread_mutex_destroy(&mutex));
		CHECK_ERR(pthread_mutex_lock(&mutex), EINVAL);
		CHECK_ERR(pthread_mutex_trylock(&mutex), EINVAL);
		CHECK_ERR(pthread_mutex_timedlock(&mutex, &at), EINVAL);
		CHECK_ERR(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC,
						  &mono), EINVAL);
		CHECK_ERR(pthread_mutex_unlock(&mutex), EINVAL);
		CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
	}
}

CLAUSE(pthread_mutex_destroy__desc_1__can_be_initialised_again,
       "a destroyed mutex can be initialised again, and its old attributes are gone")
{
	pthread_mutex_t mutex;
	enum kind kind;

	for (EACH_ORDINARY(kind)) {
		OK(make_mutex(&mutex, kind));
		OK(pthread_mutex_lock(&mutex));
		OK(pthread_mutex_unlock(&mutex));
		OK(pthread_mutex_destroy(&mutex));
		OK(make_mutex(&mutex, ERRORCHECK));
		OK(pthread_mutex_lock(&mutex));
		CHECK_ERR(pthread_mutex_lock(&mutex), EDEADLK);
		OK(pthread_mutex_unlock(&mutex));
		OK(pthread_mutex_destroy(&mutex));
		OK(make_mutex(&mutex, kind));
		OK(pthread_mutex_trylock(&mutex));
		OK(pthread_mutex_unlock(&mutex));
		OK(pthread_mutex_destroy(&mutex));
	}
}

struct counted {
	pthread_mutex_t mutex;
	int references;
};

/* The last one out destroys it, perhaps while another is still in unlock. */
static void *drop_reference(void *argument)
{
	struct counted *counted = argument;
	int left;

	OK(pthread_mutex_lock(&counted->mutex));
	left = --counted->references;
	OK(pthread_mutex_unlock(&counted->mutex));
	if (left)
		return NULL;
	OK(pthread_mutex_destroy(&counted->mutex));
	/* Who touches it after its unlock finds no memory there. */
	CHECK(!munmap(counted, 4096));
	return NULL;
}

CLAUSE(pthread_mutex_destroy__desc_2__at_once_after_the_unlock,
       "an unlocked mutex can be destroyed at once by who got it last, while others return from "
       "its unlock")
{
	struct thread threads[3];
	struct counted *counted;
	size_t i;
	int round;

	for (round = 0; round < 100; round++) {
		counted = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(counted != MAP_FAILED);
		OK(make_mutex(&counted->mutex, round % OWN_KINDS));
		counted->references = 3;
		OK(pthread_mutex_lock(&counted->mutex));
		for (i = 0; i < 3; i++)
			start(&threads[i], drop_reference, counted);
		if (round % 4 == 0)
			usleep(300);
		OK(pthread_mutex_unlock(&counted->mutex));
		for (i = 0; i < 3; i++)
			join(&threads[i]);
	}
}

CLAUSE(pthread_mutex_destroy__ret__0,
       "0 when the mutex is unlocked and nobody uses it, and errno is left alone")
{
	pthread_mutex_t mutex;
	enum kind kind;

	errno = 4711;
	for (EACH_ORDINARY(kind)) {
		OK(make_mutex(&mutex, kind));
		OK(pthread_mutex_lock(&mutex));
		OK(pthread_mutex_unlock(&mutex));
		OK(pthread_mutex_destroy(&mutex));
	}
	CHECK_EQ(errno, 4711);
}

static bool is_robust(enum kind kind)
{
	return kind == ROBUST || kind == PSHARED_ROBUST_PI;
}

CLAUSE(pthread_mutex_destroy__err_EBUSY__locked,
       "2001's may-fail, which glibc does: a locked mutex isn't destroyed, and stays locked")
{
	struct thread holder;
	struct held held;
	enum kind kind;

	for (EACH_ORDINARY(kind)) {
		if (is_robust(kind))
			continue;
		OK(make_mutex(&held.mutex, kind));
		OK(pthread_mutex_lock(&held.mutex));
		CHECK_ERR(pthread_mutex_destroy(&held.mutex), EBUSY);
		check_locked(&held.mutex);
		OK(pthread_mutex_unlock(&held.mutex));
		/* By another thread. */
		hold_made(&held, &holder);
		CHECK_ERR(pthread_mutex_destroy(&held.mutex), EBUSY);
		CHECK_ERR(pthread_mutex_trylock(&held.mutex), EBUSY);
		let_go(&held, &holder);
	}
}

CLAUSE(pthread_mutex_destroy__err_EBUSY__recursive_until_the_last_unlock,
       "2001's may-fail, which glibc does: nor is a recursive mutex of which one lock is left")
{
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, RECURSIVE));
	OK(pthread_mutex_lock(&mutex));
	OK(pthread_mutex_lock(&mutex));
	OK(pthread_mutex_unlock(&mutex));
	CHECK_ERR(pthread_mutex_destroy(&mutex), EBUSY);
	OK(pthread_mutex_unlock(&mutex));
	OK(pthread_mutex_destroy(&mutex));
}

/* All waiters gone, the mutex can be destroyed; before that, it is in use. */
static void check_busy_while_waited_with(enum kind kind)
{
	struct thread waiter;
	struct gate gate;

	make_gate(&gate, kind);
	start(&waiter, wait_for_permit, &gate);
	until_waiting(&gate, 1);
	until_asleep(&waiter);
	CHECK_ERR(pthread_mutex_destroy(&gate.mutex), EBUSY);
	/* Nothing has changed for the waiter. */
	OK(pthread_mutex_lock(&gate.mutex));
	gate.permits = 1;
	OK(pthread_cond_signal(&gate.cond));
	OK(pthread_mutex_unlock(&gate.mutex));
	join(&waiter);
	OK(pthread_mutex_destroy(&gate.mutex));
}

CLAUSE(pthread_mutex_destroy__err_EBUSY__waited_with_on_a_condvar,
       "2001's may-fail, which glibc does: an unlocked mutex with which a thread waits on a "
       "condvar is in use")
{
	enum kind kind;

	for (kind = 0; kind < OWN_KINDS; kind++)
		check_busy_while_waited_with(kind);
}

CLAUSE(pthread_mutex_destroy__err_EBUSY__shared_or_pi_waited_with,
       "the same of mutexes that processes share or that inherit priorities")
{
	check_busy_while_waited_with(PSHARED);
	check_busy_while_waited_with(PI);
}

/* ----------------------------------------------------------------- lock -- */

CLAUSE(pthread_mutex_lock__desc_1__locks,
       "the mutex is locked, with the caller as its owner, when the call returns 0")
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	OK(pthread_mutex_lock(&mutex));
	CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
	OK(pthread_mutex_unlock(&mutex));
}

struct entry {
	struct held held;
	_Atomic int entered;
	int (*lock)(pthread_mutex_t *mutex);
};

static void *enter(void *argument)
{
	struct entry *entry = argument;

	errno = 4712;
	OK(entry->lock(&entry->held.mutex));
	CHECK_EQ(errno, 4712);
	/* Nobody else has it while we do, and the one before has left. */
	CHECK_EQ(entry->entered++ % 2, 0);
	sched_yield();
	CHECK_EQ(entry->entered++ % 2, 1);
	OK(pthread_mutex_unlock(&entry->held.mutex));
	return NULL;
}

static void check_blocks_until_available(enum kind kind,
					 int (*lock)(pthread_mutex_t *mutex))
{
	struct thread holder, waiters[3];
	struct entry entry = { .lock = lock };
	int i;

	hold_elsewhere(&entry.held, &holder, kind);
	for (i = 0; i < 3; i++)
		start(&waiters[i], enter, &entry);
	for (i = 0; i < 3; i++)
		until_asleep(&waiters[i]);
	CHECK_EQ(entry.entered, 0);
	entry.held.release = true;
	for (i = 0; i < 3; i++)
		join(&waiters[i]);
	CHECK_EQ(entry.entered, 6);
	let_go(&entry.held, &holder);
}

CLAUSE(pthread_mutex_lock__desc_1__blocks_until_available,
       "it blocks while another thread has the mutex, until that is available, one thread after "
       "the other")
{
	enum kind kind;

	for (EACH_ORDINARY(kind))
		check_blocks_until_available(kind, pthread_mutex_lock);
}

static void *lock_and_check_ownership(void *argument)
{
	struct held *held = argument;

	OK(pthread_mutex_lock(&held->mutex));
	CHECK_ERR(pthread_mutex_lock(&held->mutex), EDEADLK);
	OK(pthread_mutex_unlock(&held->mutex));
	CHECK_ERR(pthread_mutex_unlock(&held->mutex), EPERM);
	return NULL;
}

CLAUSE(pthread_mutex_lock__desc_1__owned_after_waiting,
       "who has waited for it owns it afterwards, and nobody else does")
{
	struct thread holder, waiter;
	struct held held;

	hold_elsewhere(&held, &holder, ERRORCHECK);
	start(&waiter, lock_and_check_ownership, &held);
	until_asleep(&waiter);
	CHECK_ERR(pthread_mutex_unlock(&held.mutex), EPERM);
	held.release = true;
	join(&waiter);
	let_go(&held, &holder);
}

struct shared_counter {
	pthread_mutex_t mutex;
	long counter;
};

static void count_to(struct shared_counter *shared, int rounds)
{
	int i;

	for (i = 0; i < rounds; i++) {
		OK(pthread_mutex_lock(&shared->mutex));
		shared->counter++;
		OK(pthread_mutex_unlock(&shared->mutex));
	}
}

static void *count_3000(void *argument)
{
	count_to(argument, 3000);
	return NULL;
}

CLAUSE(pthread_mutex_lock__desc_1__excludes,
       "one thread at a time has it, and sees what was written under it before (XBD 4.12)")
{
	struct shared_counter shared;
	struct thread threads[6];
	enum kind kind;
	int i;

	for (EACH_ORDINARY(kind)) {
		shared.counter = 0;
		OK(make_mutex(&shared.mutex, kind));
		for (i = 0; i < 6; i++)
			start(&threads[i], count_3000, &shared);
		for (i = 0; i < 6; i++)
			join(&threads[i]);
		CHECK_EQ(shared.counter, 6 * 3000);
	}
}

struct relock {
	pthread_mutex_t mutex;
	_Atomic bool returned;
};

static void *lock_twice(void *argument)
{
	struct relock *relock = argument;

	OK(pthread_mutex_lock(&relock->mutex));
	pthread_mutex_lock(&relock->mutex);
	relock->returned = true;
	return NULL;
}

/* The threads are stuck until the process ends. */
static void check_relock_deadlocks(struct relock *relock)
{
	struct thread thread;

	relock->returned = false;
	start(&thread, lock_twice, relock);
	until_asleep(&thread);
	sleep_ms(20);
	CHECK(!relock->returned);
	CHECK(is_asleep(thread.tid));
}

CLAUSE(pthread_mutex_lock__desc_1__relock_normal_deadlocks,
       "table, relock: a normal mutex deadlocks")
{
	static struct relock relock;

	OK(make_mutex(&relock.mutex, NORMAL));
	check_relock_deadlocks(&relock);
}

CLAUSE(pthread_mutex_lock__desc_1__relock_robust_normal_deadlocks,
       "table, relock: a robust normal mutex deadlocks")
{
	static struct relock relock;

	make_robust(&relock.mutex, PTHREAD_MUTEX_NORMAL, false);
	check_relock_deadlocks(&relock);
}

CLAUSE(pthread_mutex_lock__desc_1__relock_default_deadlocks,
       "table, relock: undefined for a default mutex; glibc's, and its adaptive one, deadlock")
{
	static struct relock relocks[2];

	OK(make_mutex(&relocks[0].mutex, DEFAULT));
	check_relock_deadlocks(&relocks[0]);
	OK(make_mutex(&relocks[1].mutex, ADAPTIVE));
	check_relock_deadlocks(&relocks[1]);
}

static void check_counts(pthread_mutex_t *mutex)
{
	int i;

	for (i = 0; i < 5; i++)
		OK(i % 2 ? pthread_mutex_trylock(mutex) :
			   pthread_mutex_lock(mutex));
	for (i = 0; i < 5; i++) {
		check_locked(mutex);
		OK(pthread_mutex_unlock(mutex));
	}
	CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
	check_free(mutex);
}

CLAUSE(pthread_mutex_lock__desc_2__recursive_counts,
       "recursive: each lock by the owner counts one up, each unlock one down, and at zero "
       "others may have it")
{
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, RECURSIVE));
	check_counts(&mutex);
}

CLAUSE(pthread_mutex_lock__desc_2__robust_recursive_counts, "a robust recursive mutex counts too")
{
	pthread_mutex_t mutex;

	make_robust(&mutex, PTHREAD_MUTEX_RECURSIVE, false);
	check_counts(&mutex);
}

CLAUSE(pthread_mutex_lock__ret__0,
       "0 when it has locked, and errno is left alone, whether it had to wait or not")
{
	pthread_mutex_t mutex;
	enum kind kind;

	errno = 4711;
	for (EACH_ORDINARY(kind)) {
		OK(make_mutex(&mutex, kind));
		OK(pthread_mutex_lock(&mutex));
		OK(pthread_mutex_unlock(&mutex));
	}
	CHECK_EQ(errno, 4711);
}

CLAUSE(pthread_mutex_lock__err_EDEADLK__errorcheck_relock,
       "an error-checking mutex that the caller owns, robust or not, isn't locked again")
{
	pthread_mutex_t mutexes[2];

	OK(make_mutex(&mutexes[0], ERRORCHECK));
	make_robust(&mutexes[1], PTHREAD_MUTEX_ERRORCHECK, false);
	for (EACH(i, mutexes)) {
		OK(pthread_mutex_lock(&mutexes[i]));
		CHECK_ERR(pthread_mutex_lock(&mutexes[i]), EDEADLK);
		CHECK_ERR(pthread_mutex_lock(&mutexes[i]), EDEADLK);
		/* Still locked, and once only. */
		check_locked(&mutexes[i]);
		OK(pthread_mutex_unlock(&mutexes[i]));
		check_free(&mutexes[i]);
	}
}

static void fill_count(pthread_mutex_t *mutex)
{
	OK(make_mutex(mutex, RECURSIVE));
	OK(pthread_mutex_lock(mutex));
	/* Four thousand million locks take too long. */
	mutex->__data.__count = UINT_MAX;
}

static void empty_count(pthread_mutex_t *mutex)
{
	CHECK_EQ(mutex->__data.__count, UINT_MAX);
	mutex->__data.__count = 1;
	OK(pthread_mutex_unlock(mutex));
	check_free(mutex);
}

CLAUSE(pthread_mutex_lock__err_EAGAIN__recursive_count_is_full,
       "a recursive mutex that can count no further isn't locked once more")
{
	pthread_mutex_t mutex;

	fill_count(&mutex);
	CHECK_ERR(pthread_mutex_lock(&mutex), EAGAIN);
	empty_count(&mutex);
}

CLAUSE(pthread_mutex_lock__err_EINVAL__above_the_ceiling,
       "the caller's priority is higher than the ceiling of a priority- protected mutex")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	pthread_mutex_t mutex;

	become_realtime(least + 3);
	make_protected(&mutex, PTHREAD_MUTEX_NORMAL, least + 2);
	CHECK_ERR(pthread_mutex_lock(&mutex), EINVAL);
	become_realtime(least + 2);
	OK(pthread_mutex_lock(&mutex));
	OK(pthread_mutex_unlock(&mutex));
	OK(pthread_mutex_destroy(&mutex));
}

/* Each of them is handled while the victim waits, and it waits on. */
static void check_storm(enum kind kind, int (*lock)(pthread_mutex_t *mutex))
{
	struct thread holder, waiter;
	struct entry entry = { .lock = lock };
	struct storm storm;

	hold_elsewhere(&entry.held, &holder, kind);
	start(&waiter, enter, &entry);
	until_asleep(&waiter);
	begin_storm(&storm, &waiter);
	end_storm(&storm);
	CHECK_EQ(entry.entered, 0);
	entry.held.release = true;
	join(&waiter);
	CHECK_EQ(entry.entered, 2);
	let_go(&entry.held, &holder);
}

CLAUSE(pthread_mutex_lock__desc_5__handlers_dont_end_the_wait,
       "a thread that waits goes on waiting when a signal handler returns, as if there had been "
       "none; there is no EINTR")
{
	enum kind kind;

	for (EACH_ORDINARY(kind))
		check_storm(kind, pthread_mutex_lock);
}

static pthread_mutex_t handlers_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int handler_locked;

static void lock_in_handler(int signal UNUSED)
{
	if (pthread_mutex_trylock(&handlers_mutex))
		return;
	handler_locked++;
	pthread_mutex_unlock(&handlers_mutex);
}

CLAUSE_IN("glibc extension", pthread_mutex_lock__desc_5__handler_uses_another_mutex,
          "a handler that interrupts the wait for one mutex may try another, and the wait goes "
          "on")
{
	struct thread holder, waiter;
	struct entry entry = { .lock = pthread_mutex_lock };

	hold_elsewhere(&entry.held, &holder, DEFAULT);
	handle_with(SIGUSR2, lock_in_handler);
	start(&waiter, enter, &entry);
	while (handler_locked < 20) {
		until_asleep(&waiter);
		OK(pthread_kill(waiter.pthread, SIGUSR2));
	}
	CHECK_EQ(entry.entered, 0);
	entry.held.release = true;
	join(&waiter);
	let_go(&entry.held, &holder);
}

static void *lock_cancelled(void *argument)
{
	struct entry *entry = argument;

	OK(pthread_mutex_lock(&entry->held.mutex));
	entry->entered = 1;
	OK(pthread_mutex_unlock(&entry->held.mutex));
	pthread_testcancel();
	return NULL;
}

CLAUSE_IN("XSH 2.9.5.2", pthread_mutex_lock__desc_1__is_no_cancellation_point,
          "it is no cancellation point: a thread that is cancelled in it gets the mutex first")
{
	struct thread holder, waiter;
	struct entry entry = { .entered = 0 };
	enum kind kind;

	for (EACH_ORDINARY(kind)) {
		entry.entered = 0;
		hold_elsewhere(&entry.held, &holder, kind);
		start(&waiter, lock_cancelled, &entry);
		until_asleep(&waiter);
		OK(pthread_cancel(waiter.pthread));
		sleep_ms(2);
		CHECK_EQ(entry.entered, 0);
		entry.held.release = true;
		CHECK(join(&waiter) == PTHREAD_CANCELED);
		CHECK_EQ(entry.entered, 1);
		let_go(&entry.held, &holder);
	}
}

/* -------------------------------------------------- robust: owners that die -- */

typedef int lock_call(pthread_mutex_t *mutex);

static int timedlock_far(pthread_mutex_t *mutex)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 15000);

	return pthread_mutex_timedlock(mutex, &at);
}

static int clocklock_far(pthread_mutex_t *mutex)
{
	struct timespec at = in_ms(CLOCK_MONOTONIC, 15000);

	return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &at);
}

static void check_eownerdead(lock_call *lock)
{
	pthread_mutex_t mutex;
	size_t type;

	for (type = 0; type < TYPES; type++) {
		if (type == ADAPTIVE)
			continue;
		make_robust(&mutex, types[type], false);
		orphan(&mutex);
		CHECK_ERR(lock(&mutex), EOWNERDEAD);
		/* The caller owns it, though the call says an error. */
		check_locked(&mutex);
		OK(pthread_mutex_consistent(&mutex));
		OK(pthread_mutex_unlock(&mutex));
		CHECK_ERR(pthread_mutex_unlock(&mutex), EPERM);
		check_free(&mutex);
		OK(pthread_mutex_destroy(&mutex));
	}
}

static void check_eownerdead_of_a_process(lock_call *lock)
{
	pthread_mutex_t *mutex = shared_memory(sizeof(*mutex));
	pid_t child;

	make_robust(mutex, PTHREAD_MUTEX_DEFAULT, true);
	child = fork_watched();
	if (child == 0) {
		OK(pthread_mutex_lock(mutex));
		_exit(0);
	}
	REAP(child);
	CHECK_ERR(lock(mutex), EOWNERDEAD);
	OK(pthread_mutex_consistent(mutex));
	OK(pthread_mutex_unlock(mutex));
	OK(lock(mutex));
	OK(pthread_mutex_unlock(mutex));
	OK(pthread_mutex_destroy(mutex));
}

/* Somebody didn't make it consistent: nobody can lock it ever after. */
static void make_unrecoverable(pthread_mutex_t *mutex)
{
	make_robust(mutex, PTHREAD_MUTEX_DEFAULT, false);
	orphan(mutex);
	CHECK_ERR(pthread_mutex_lock(mutex), EOWNERDEAD);
	OK(pthread_mutex_unlock(mutex));
}

static void check_enotrecoverable(lock_call *lock)
{
	pthread_mutex_t mutex;

	make_unrecoverable(&mutex);
	CHECK_ERR(lock(&mutex), ENOTRECOVERABLE);
	/*
	 * For good, and without being locked. glibc's trylock, which is
	 * furwock's too for these, does lock it, and says EBUSY from then on.
	 */
	if (lock != pthread_mutex_trylock) {
		CHECK_ERR(lock(&mutex), ENOTRECOVERABLE);
		CHECK_ERR(pthread_mutex_unlock(&mutex), EPERM);
	}
	OK(pthread_mutex_destroy(&mutex));
}

CLAUSE(pthread_mutex_lock__err_EOWNERDEAD__process_ended,
       "the robust mutex's owner was in a process that has ended; the caller has the lock")
{
	check_eownerdead_of_a_process(pthread_mutex_lock);
}

CLAUSE(pthread_mutex_lock__err_EOWNERDEAD__thread_ended,
       "may fail, which glibc does: the robust mutex's owner was a thread that has ended; the "
       "caller has the lock")
{
	check_eownerdead(pthread_mutex_lock);
}

struct mourner {
	pthread_mutex_t *mutex;
	lock_call *lock;
	int wanted;
};

static void *lock_wanted(void *argument)
{
	struct mourner *mourner = argument;

	CHECK_ERR(mourner->lock(mourner->mutex), mourner->wanted);
	return NULL;
}

static void check_mourner(lock_call *lock)
{
	pthread_mutex_t *mutex = shared_memory(sizeof(*mutex));
	_Atomic bool *locked = shared_memory(sizeof(*locked));
	struct mourner mourner = { mutex, lock, EOWNERDEAD };
	struct thread waiter;
	pid_t child;
	int status;

	make_robust(mutex, PTHREAD_MUTEX_DEFAULT, true);
	child = fork_watched();
	if (child == 0) {
		OK(pthread_mutex_lock(mutex));
		*locked = true;
		for (;;)
			pause();
	}
	UNTIL(*locked);
	start(&waiter, lock_wanted, &mourner);
	until_asleep(&waiter);
	CHECK(!kill(child, SIGKILL));
	CHECK_EQ(waitpid(child, &status, 0), child);
	join(&waiter);
}

CLAUSE(pthread_mutex_lock__err_EOWNERDEAD__process_killed_while_waiting,
       "the owner's process is killed while the caller waits already")
{
	check_mourner(pthread_mutex_lock);
}

CLAUSE(pthread_mutex_lock__desc_8__usable_after_consistent,
       "once consistent, the mutex is as before, and its next owner that dies is told of again")
{
	pthread_mutex_t mutex;
	int i;

	make_robust(&mutex, PTHREAD_MUTEX_ERRORCHECK, false);
	for (i = 0; i < 5; i++) {
		orphan(&mutex);
		CHECK_ERR(pthread_mutex_lock(&mutex), EOWNERDEAD);
		OK(pthread_mutex_consistent(&mutex));
		CHECK_ERR(pthread_mutex_lock(&mutex), EDEADLK);
		OK(pthread_mutex_unlock(&mutex));
		OK(pthread_mutex_lock(&mutex));
		OK(pthread_mutex_unlock(&mutex));
	}
}

static void *die_inconsistent(void *mutex)
{
	CHECK_ERR(pthread_mutex_lock(mutex), EOWNERDEAD);
	return NULL;
}

CLAUSE(pthread_mutex_lock__desc_8__second_owner_dies_too,
       "who has been told of the death and dies too, without having made it consistent, leaves "
       "it inconsistent to the next")
{
	pthread_mutex_t mutex;
	struct thread second;

	make_robust(&mutex, PTHREAD_MUTEX_DEFAULT, false);
	orphan(&mutex);
	start(&second, die_inconsistent, &mutex);
	join(&second);
	CHECK_ERR(pthread_mutex_lock(&mutex), EOWNERDEAD);
	OK(pthread_mutex_consistent(&mutex));
	OK(pthread_mutex_unlock(&mutex));
	OK(pthread_mutex_lock(&mutex));
}

CLAUSE(pthread_mutex_lock__err_ENOTRECOVERABLE__not_made_consistent,
       "unlocked by who didn't make it consistent, the mutex can't be locked again")
{
	check_enotrecoverable(pthread_mutex_lock);
}

CLAUSE(pthread_mutex_lock__desc_8__waiter_learns_it_is_not_recoverable,
       "a thread that waits already for a mutex that becomes unusable is told so")
{
	pthread_mutex_t mutex;
	struct mourner mourner = { &mutex, pthread_mutex_lock, ENOTRECOVERABLE };
	struct thread waiter;

	make_robust(&mutex, PTHREAD_MUTEX_DEFAULT, false);
	orphan(&mutex);
	CHECK_ERR(pthread_mutex_lock(&mutex), EOWNERDEAD);
	/* One only: glibc, whose mutex this is on both sides, forgets others. */
	start(&waiter, lock_wanted, &mourner);
	until_asleep(&waiter);
	OK(pthread_mutex_unlock(&mutex));
	join(&waiter);
}

CLAUSE(pthread_mutex_lock__desc_8__unusable_can_be_destroyed,
       "a mutex that is unusable can be destroyed, and be initialised anew")
{
	pthread_mutex_t mutex;

	make_unrecoverable(&mutex);
	OK(pthread_mutex_destroy(&mutex));
	make_robust(&mutex, PTHREAD_MUTEX_DEFAULT, false);
	OK(pthread_mutex_lock(&mutex));
	OK(pthread_mutex_unlock(&mutex));
}

/* -------------------------------------------------------------- trylock -- */

CLAUSE(pthread_mutex_trylock__desc_3__locks, "it locks a mutex that is free as lock does")
{
	pthread_mutex_t mutex;
	enum kind kind;

	errno = 4711;
	for (EACH_ORDINARY(kind)) {
		OK(make_mutex(&mutex, kind));
		OK(pthread_mutex_trylock(&mutex));
		check_locked(&mutex);
		OK(pthread_mutex_unlock(&mutex));
		OK(pthread_mutex_trylock(&mutex));
		OK(pthread_mutex_unlock(&mutex));
	}
	CHECK_EQ(errno, 4711);
}

CLAUSE(pthread_mutex_trylock__err_EBUSY__locked_by_another,
       "the mutex is locked by another thread; the call returns at once")
{
	struct thread holder;
	struct held held;
	enum kind kind;

	for (EACH_ORDINARY(kind)) {
		hold_elsewhere(&held, &holder, kind);
		/* The holder waits for us: to block would be to hang. */
		errno = 4711;
		CHECK_ERR(pthread_mutex_trylock(&held.mutex), EBUSY);
		CHECK_ERR(pthread_mutex_trylock(&held.mutex), EBUSY);
		CHECK_EQ(errno, 4711);
		let_go(&held, &holder);
	}
}

/* It stays locked once, whatever the answer. */
static int try_own(pthread_mutex_t *mutex)
{
	int error;

	OK(pthread_mutex_lock(mutex));
	error = pthread_mutex_trylock(mutex);
	check_locked(mutex);
	OK(pthread_mutex_unlock(mutex));
	check_free(mutex);
	return error;
}

CLAUSE(pthread_mutex_trylock__err_EBUSY__locked_by_the_caller,
       "the mutex isn't recursive and is locked by the caller itself: no deadlock, nor EDEADLK")
{
	static const enum kind kinds[] = {
		DEFAULT, NORMAL, ERRORCHECK, ADAPTIVE, PSHARED, ROBUST, PI,
	};
	pthread_mutex_t mutex;

	for (EACH(i, kinds)) {
		OK(make_mutex(&mutex, kinds[i]));
		CHECK_ERR(try_own(&mutex), EBUSY);
	}
}

CLAUSE(pthread_mutex_trylock__err_EBUSY__robust_errorcheck_of_the_caller,
       "the same of a robust error-checking mutex, of which glibc, whose mutex it is on both "
       "sides, says EDEADLK: a deviation")
{
	pthread_mutex_t mutex;
	int error;

	make_robust(&mutex, PTHREAD_MUTEX_ERRORCHECK, false);
	error = try_own(&mutex);
	CHECK(error == EBUSY || error == EDEADLK);
}

CLAUSE(pthread_mutex_trylock__err_EBUSY__recursive_of_another,
       "a recursive mutex's other locks don't let another thread in")
{
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, RECURSIVE));
	OK(pthread_mutex_trylock(&mutex));
	OK(pthread_mutex_trylock(&mutex));
	check_locked(&mutex);
	OK(pthread_mutex_unlock(&mutex));
	check_locked(&mutex);
	OK(pthread_mutex_unlock(&mutex));
	check_free(&mutex);
}

CLAUSE(pthread_mutex_trylock__desc_3__recursive_counts,
       "on a recursive mutex of the caller's it counts one up and succeeds at once")
{
	pthread_mutex_t mutexes[2];
	int j;

	OK(make_mutex(&mutexes[0], RECURSIVE));
	make_robust(&mutexes[1], PTHREAD_MUTEX_RECURSIVE, false);
	for (EACH(i, mutexes)) {
		for (j = 0; j < 4; j++)
			OK(pthread_mutex_trylock(&mutexes[i]));
		for (j = 0; j < 4; j++) {
			check_locked(&mutexes[i]);
			OK(pthread_mutex_unlock(&mutexes[i]));
		}
		CHECK_ERR(pthread_mutex_unlock(&mutexes[i]), EPERM);
		check_free(&mutexes[i]);
	}
}

CLAUSE(pthread_mutex_trylock__err_EAGAIN__recursive_count_is_full,
       "a recursive mutex that can count no further isn't locked once more")
{
	pthread_mutex_t mutex;

	fill_count(&mutex);
	CHECK_ERR(pthread_mutex_trylock(&mutex), EAGAIN);
	empty_count(&mutex);
}

CLAUSE(pthread_mutex_trylock__err_EINVAL__above_the_ceiling,
       "the caller's priority is higher than the ceiling of a priority- protected mutex")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	pthread_mutex_t mutex;

	become_realtime(least + 3);
	make_protected(&mutex, PTHREAD_MUTEX_NORMAL, least + 2);
	CHECK_ERR(pthread_mutex_trylock(&mutex), EINVAL);
	become_realtime(least + 2);
	OK(pthread_mutex_trylock(&mutex));
	OK(pthread_mutex_unlock(&mutex));
}

CLAUSE(pthread_mutex_trylock__err_EOWNERDEAD__process_ended,
       "the robust mutex's owner was in a process that has ended; the caller has the lock")
{
	check_eownerdead_of_a_process(pthread_mutex_trylock);
}

CLAUSE(pthread_mutex_trylock__err_EOWNERDEAD__thread_ended,
       "may fail, which glibc does: the robust mutex's owner was a thread that has ended; the "
       "caller has the lock")
{
	check_eownerdead(pthread_mutex_trylock);
}

CLAUSE(pthread_mutex_trylock__err_ENOTRECOVERABLE__not_made_consistent,
       "unlocked by who didn't make it consistent, the mutex can't be locked again")
{
	check_enotrecoverable(pthread_mutex_trylock);
}

/* --------------------------------------------------------------- unlock -- */

CLAUSE(pthread_mutex_unlock__desc_4__releases,
       "the mutex is free afterwards, of whatever kind and however it was locked")
{
	static lock_call *const calls[] = {
		pthread_mutex_lock, pthread_mutex_trylock, timedlock_far,
		clocklock_far,
	};
	pthread_mutex_t mutex;
	enum kind kind;

	for (EACH_ORDINARY(kind)) {
		OK(make_mutex(&mutex, kind));
		for (EACH(i, calls)) {
			OK(calls[i](&mutex));
			check_locked(&mutex);
			errno = 4711;
			OK(pthread_mutex_unlock(&mutex));
			CHECK_EQ(errno, 4711);
			check_free(&mutex);
		}
	}
}

CLAUSE(pthread_mutex_unlock__desc_4__lets_a_waiter_have_it,
       "a thread that waits gets the mutex that becomes available")
{
	struct entry entry = { .lock = pthread_mutex_lock };
	struct thread waiters[2];
	enum kind kind;
	int i;

	for (EACH_ORDINARY(kind)) {
		entry.entered = 0;
		OK(make_mutex(&entry.held.mutex, kind));
		OK(pthread_mutex_lock(&entry.held.mutex));
		for (i = 0; i < 2; i++)
			start(&waiters[i], enter, &entry);
		for (i = 0; i < 2; i++)
			until_asleep(&waiters[i]);
		OK(pthread_mutex_unlock(&entry.held.mutex));
		/* Who unlocked it does nothing more for them. */
		for (i = 0; i < 2; i++)
			join(&waiters[i]);
		CHECK_EQ(entry.entered, 4);
	}
}

CLAUSE(pthread_mutex_unlock__desc_4__recursive_waits_for_zero,
       "a recursive mutex becomes available when the count is zero, not before, and its waiters "
       "sleep on till then")
{
	struct entry entry = { .lock = pthread_mutex_lock };
	struct thread waiter;
	int i;

	OK(make_mutex(&entry.held.mutex, RECURSIVE));
	for (i = 0; i < 3; i++)
		OK(pthread_mutex_lock(&entry.held.mutex));
	start(&waiter, enter, &entry);
	for (i = 0; i < 2; i++) {
		until_asleep(&waiter);
		OK(pthread_mutex_unlock(&entry.held.mutex));
	}
	until_asleep(&waiter);
	CHECK_EQ(entry.entered, 0);
	OK(pthread_mutex_unlock(&entry.held.mutex));
	join(&waiter);
	CHECK_EQ(entry.entered, 2);
}

struct rank {
	pthread_mutex_t *mutex;
	_Atomic int *next;
	int place;
};

static void *take_place(void *argument)
{
	struct rank *rank = argument;

	OK(pthread_mutex_lock(rank->mutex));
	rank->place = (*rank->next)++;
	OK(pthread_mutex_unlock(rank->mutex));
	return NULL;
}

CLAUSE(pthread_mutex_unlock__desc_4__by_priority,
       "of real-time threads that wait, the one with the highest priority gets the mutex first, "
       "however late it came")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	struct thread waiters[3];
	struct rank ranks[3];
	pthread_mutex_t mutex;
	_Atomic int next;
	enum kind kind;
	int i;

	for (EACH_ORDINARY(kind)) {
		next = 0;
		OK(make_mutex(&mutex, kind));
		become_realtime(least + 9);
		OK(pthread_mutex_lock(&mutex));
		for (i = 0; i < 3; i++) {
			ranks[i] = (struct rank){ &mutex, &next, -1 };
			become_realtime(least + i);
			start(&waiters[i], take_place, &ranks[i]);
			until_asleep(&waiters[i]);
		}
		OK(pthread_mutex_unlock(&mutex));
		for (i = 0; i < 3; i++)
			join(&waiters[i]);
		for (i = 0; i < 3; i++)
			if (ranks[i].place != 2 - i)
				FAIL("%s: waiter %d was number %d",
				     kind_names[kind], i, ranks[i].place);
	}
}

static void *unlock_eperm(void *mutex)
{
	CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
	return NULL;
}

/* Neither another's, nor one that is free, nor one that was ours. */
static void check_eperm(pthread_mutex_t *mutex)
{
	struct thread other;

	CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
	OK(pthread_mutex_lock(mutex));
	start(&other, unlock_eperm, mutex);
	join(&other);
	check_locked(mutex);
	OK(pthread_mutex_unlock(mutex));
	CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
	check_free(mutex);
	CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
}

CLAUSE(pthread_mutex_unlock__err_EPERM__errorcheck,
       "an error-checking mutex that the caller doesn't own, another's or nobody's")
{
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, ERRORCHECK));
	check_eperm(&mutex);
}

CLAUSE(pthread_mutex_unlock__err_EPERM__recursive,
       "a recursive mutex that the caller doesn't own, another's or nobody's")
{
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, RECURSIVE));
	check_eperm(&mutex);
}

CLAUSE(pthread_mutex_unlock__err_EPERM__robust,
       "a robust mutex of whatever type that the caller doesn't own, another's or nobody's")
{
	pthread_mutex_t mutex;
	size_t type;

	for (type = 0; type < TYPES; type++) {
		make_robust(&mutex, types[type], false);
		check_eperm(&mutex);
		OK(pthread_mutex_destroy(&mutex));
	}
}

CLAUSE(pthread_mutex_unlock__err_EPERM__inheriting,
       "glibc's, which asks the kernel: a mutex that inherits priorities and isn't the caller's")
{
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, PI));
	check_eperm(&mutex);
}

static void *unlock_ok(void *mutex)
{
	OK(pthread_mutex_unlock(mutex));
	return NULL;
}

CLAUSE(pthread_mutex_unlock__desc_1__normal_by_another_thread,
       "table, not owner: undefined for normal and default mutexes; glibc unlocks them for "
       "whoever asks")
{
	static const enum kind unchecked[] = { DEFAULT, NORMAL, ADAPTIVE };
	pthread_mutex_t mutex;
	struct thread other;

	for (EACH(i, unchecked)) {
		OK(make_mutex(&mutex, unchecked[i]));
		OK(pthread_mutex_lock(&mutex));
		start(&other, unlock_ok, &mutex);
		join(&other);
		check_free(&mutex);
	}
}

CLAUSE(pthread_mutex_unlock__desc_1__normal_that_is_free,
       "table, unlocked: undefined for normal and default mutexes; glibc says 0, and the mutex "
       "can be locked by one")
{
	static const enum kind unchecked[] = { DEFAULT, NORMAL, ADAPTIVE };
	pthread_mutex_t mutex;

	for (EACH(i, unchecked)) {
		OK(make_mutex(&mutex, unchecked[i]));
		OK(pthread_mutex_unlock(&mutex));
		OK(pthread_mutex_lock(&mutex));
		check_locked(&mutex);
		OK(pthread_mutex_unlock(&mutex));
		check_free(&mutex);
	}
}

/* ----------------------------------------------- timedlock and clocklock -- */

enum how { TIMEDLOCK, CLOCKLOCK_REALTIME, CLOCKLOCK_MONOTONIC, HOWS };

static clockid_t clock_of(enum how how)
{
	return how == CLOCKLOCK_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

static int lock_until(enum how how, pthread_mutex_t *mutex,
		      const struct timespec *at)
{
	return how == TIMEDLOCK ?
		       pthread_mutex_timedlock(mutex, at) :
		       pthread_mutex_clocklock(mutex, clock_of(how), at);
}

static void check_past_deadline_locks(enum how how)
{
	struct timespec past = in_ms(clock_of(how), -1000);
	struct timespec first = { 0, 0 }, before = { -1, 0 };
	pthread_mutex_t mutex;
	enum kind kind;

	for (EACH_ORDINARY(kind)) {
		OK(make_mutex(&mutex, kind));
		OK(lock_until(how, &mutex, &past));
		check_locked(&mutex);
		OK(pthread_mutex_unlock(&mutex));
		OK(lock_until(how, &mutex, &first));
		OK(pthread_mutex_unlock(&mutex));
		OK(lock_until(how, &mutex, &before));
		OK(pthread_mutex_unlock(&mutex));
	}
}

CLAUSE(pthread_mutex_timedlock__desc_4__free_locks_past_the_deadline,
       "a mutex that is free is locked, though the deadline has passed")
{
	check_past_deadline_locks(TIMEDLOCK);
}

CLAUSE(pthread_mutex_clocklock__desc_4__free_locks_past_the_deadline,
       "new in 2024, as is the whole call: a mutex that is free is locked, though the deadline "
       "has passed")
{
	check_past_deadline_locks(CLOCKLOCK_REALTIME);
	check_past_deadline_locks(CLOCKLOCK_MONOTONIC);
}

static void check_bad_deadline_locks(enum how how)
{
	struct timespec at = in_ms(clock_of(how), 1000);
	pthread_mutex_t mutex;
	enum kind kind;

	for (kind = 0; kind < OWN_KINDS; kind++) {
		OK(make_mutex(&mutex, kind));
		for (EACH(i, bad_nanoseconds)) {
			at.tv_nsec = bad_nanoseconds[i];
			OK(lock_until(how, &mutex, &at));
			OK(pthread_mutex_unlock(&mutex));
		}
	}
}

CLAUSE(pthread_mutex_timedlock__desc_4__free_ignores_a_bad_deadline,
       "the deadline needn't be valid where the mutex is free, and glibc doesn't look at it")
{
	check_bad_deadline_locks(TIMEDLOCK);
}

CLAUSE(pthread_mutex_clocklock__desc_4__free_ignores_a_bad_deadline,
       "the deadline needn't be valid where the mutex is free, and glibc doesn't look at it")
{
	check_bad_deadline_locks(CLOCKLOCK_REALTIME);
	check_bad_deadline_locks(CLOCKLOCK_MONOTONIC);
}

static void check_waits_to_lock(enum how how)
{
	struct thread holder, waiter;
	struct entry entry = { .entered = 0 };
	enum kind kind;

	entry.lock = how == TIMEDLOCK ? timedlock_far : clocklock_far;
	for (EACH_ORDINARY(kind)) {
		entry.entered = 0;
		hold_elsewhere(&entry.held, &holder, kind);
		start(&waiter, enter, &entry);
		until_asleep(&waiter);
		CHECK_EQ(entry.entered, 0);
		entry.held.release = true;
		join(&waiter);
		CHECK_EQ(entry.entered, 2);
		let_go(&entry.held, &holder);
	}
}

CLAUSE(pthread_mutex_timedlock__desc_1__blocks_until_available,
       "it blocks while another has the mutex, and locks it when it becomes available before the "
       "deadline")
{
	check_waits_to_lock(TIMEDLOCK);
}

CLAUSE(pthread_mutex_clocklock__desc_1__blocks_until_available,
       "it blocks while another has the mutex, and locks it when it becomes available before the "
       "deadline")
{
	check_waits_to_lock(CLOCKLOCK_MONOTONIC);
}

static void check_times_out(enum how how)
{
	struct thread holder;
	struct timespec at;
	struct held held;
	enum kind kind;
	int64_t took;

	for (EACH_ORDINARY(kind)) {
		hold_elsewhere(&held, &holder, kind);
		at = in_ms(clock_of(how), 15);
		took = -now_ns(CLOCK_MONOTONIC);
		errno = 4711;
		CHECK_ERR(lock_until(how, &held.mutex, &at), ETIMEDOUT);
		CHECK_EQ(errno, 4711);
		CHECK(now_ns(clock_of(how)) >=
		      at.tv_sec * NS_PER_S + at.tv_nsec);
		took += now_ns(CLOCK_MONOTONIC);
		CHECK(took < LATE_MS * NS_PER_MS);
		/* The caller doesn't have it. */
		CHECK_ERR(pthread_mutex_trylock(&held.mutex), EBUSY);
		let_go(&held, &holder);
	}
}

CLAUSE(pthread_mutex_timedlock__err_ETIMEDOUT__at_the_deadline,
       "the deadline, a time of CLOCK_REALTIME, is reached, and not before, without the mutex "
       "being available")
{
	check_times_out(TIMEDLOCK);
}

CLAUSE(pthread_mutex_clocklock__err_ETIMEDOUT__at_the_deadline,
       "the deadline, a time of the clock that is named, is reached, and not before, without the "
       "mutex being available")
{
	check_times_out(CLOCKLOCK_REALTIME);
	check_times_out(CLOCKLOCK_MONOTONIC);
}

static void check_past_times_out(enum how how)
{
	struct thread holder;
	struct timespec at;
	struct held held;
	enum kind kind;

	for (EACH_ORDINARY(kind)) {
		hold_elsewhere(&held, &holder, kind);
		at = in_ms(clock_of(how), -1);
		CHECK_ERR(lock_until(how, &held.mutex, &at), ETIMEDOUT);
		at = (struct timespec){ 0, 0 };
		CHECK_ERR(lock_until(how, &held.mutex, &at), ETIMEDOUT);
		at = (struct timespec){ 0, 999999999 };
		CHECK_ERR(lock_until(how, &held.mutex, &at), ETIMEDOUT);
		let_go(&held, &holder);
	}
}

CLAUSE(pthread_mutex_timedlock__desc_2__deadline_already_passed,
       "a deadline that has passed before the call is reached")
{
	check_past_times_out(TIMEDLOCK);
}

CLAUSE(pthread_mutex_clocklock__desc_2__deadline_already_passed,
       "a deadline that has passed before the call is reached")
{
	check_past_times_out(CLOCKLOCK_REALTIME);
	check_past_times_out(CLOCKLOCK_MONOTONIC);
}

/* The kernel refuses these for PI mutexes, and glibc passes that on. */
static void check_negative_times_out(enum how how)
{
	static const struct timespec negative[] = {
		{ -1, 0 }, { -1, 999999999 }, { INT_MIN, 1 }, { LONG_MIN, 0 },
	};
	static const enum kind kinds[] = {
		DEFAULT, NORMAL, RECURSIVE, ERRORCHECK, ADAPTIVE, PSHARED,
		ROBUST,
	};
	struct thread holder;
	struct held held;

	for (EACH(k, kinds)) {
		hold_elsewhere(&held, &holder, kinds[k]);
		for (EACH(i, negative))
			CHECK_ERR(lock_until(how, &held.mutex, &negative[i]),
				  ETIMEDOUT);
		let_go(&held, &holder);
	}
}

CLAUSE(pthread_mutex_timedlock__desc_2__negative_seconds_are_past,
       "so is one before the clock's beginning")
{
	check_negative_times_out(TIMEDLOCK);
}

CLAUSE(pthread_mutex_clocklock__desc_2__negative_seconds_are_past,
       "so is one before the clock's beginning")
{
	check_negative_times_out(CLOCKLOCK_REALTIME);
	check_negative_times_out(CLOCKLOCK_MONOTONIC);
}

struct far {
	struct held held;
	struct timespec at;
	enum how how;
};

static void *lock_until_far(void *argument)
{
	struct far *far = argument;

	OK(lock_until(far->how, &far->held.mutex, &far->at));
	OK(pthread_mutex_unlock(&far->held.mutex));
	return NULL;
}

static void check_far(enum how how)
{
	static const struct timespec farthest[] = {
		{ LONG_MAX, 999999999 }, { LONG_MAX, 0 },
		{ LONG_MAX / NS_PER_S, 999999999 },
		{ LONG_MAX / NS_PER_S + 1, 0 }, { 1L << 40, 0 },
		{ (long)UINT_MAX + 1, 0 },
	};
	static const enum kind kinds[] = { DEFAULT, ERRORCHECK, RECURSIVE, ROBUST };
	struct thread holder, waiter;
	struct far far = { .how = how };
	enum kind kind;

	for (EACH(i, farthest)) {
		kind = kinds[i % 4];
		far.at = farthest[i];
		hold_elsewhere(&far.held, &holder, kind);
		start(&waiter, lock_until_far, &far);
		until_asleep(&waiter);
		sleep_ms(2);
		CHECK(is_asleep(waiter.tid));
		far.held.release = true;
		join(&waiter);
		let_go(&far.held, &holder);
	}
}

CLAUSE(pthread_mutex_timedlock__desc_2__far_deadline_isnt_reached,
       "a deadline as far off as there is isn't reached, whatever that comes to in nanoseconds")
{
	check_far(TIMEDLOCK);
}

CLAUSE(pthread_mutex_clocklock__desc_2__far_deadline_isnt_reached,
       "a deadline as far off as there is isn't reached, whatever that comes to in nanoseconds")
{
	check_far(CLOCKLOCK_REALTIME);
	check_far(CLOCKLOCK_MONOTONIC);
}

static void check_bad_nanoseconds(enum how how)
{
	struct thread holder;
	struct timespec at;
	struct held held;
	enum kind kind;

	for (EACH_ORDINARY(kind)) {
		hold_elsewhere(&held, &holder, kind);
		for (EACH(i, bad_nanoseconds)) {
			at = in_ms(clock_of(how), 1000);
			at.tv_nsec = bad_nanoseconds[i];
			CHECK_ERR(lock_until(how, &held.mutex, &at), EINVAL);
			/* Of a time that has passed, too. */
			at.tv_sec = 1;
			CHECK_ERR(lock_until(how, &held.mutex, &at), EINVAL);
		}
		let_go(&held, &holder);
	}
}

CLAUSE(pthread_mutex_timedlock__err_EINVAL__bad_nanoseconds,
       "it would have to wait, and the nanoseconds are negative or a second and more")
{
	check_bad_nanoseconds(TIMEDLOCK);
}

CLAUSE(pthread_mutex_clocklock__err_EINVAL__bad_nanoseconds,
       "it would have to wait, and the nanoseconds are negative or a second and more")
{
	check_bad_nanoseconds(CLOCKLOCK_REALTIME);
	check_bad_nanoseconds(CLOCKLOCK_MONOTONIC);
}

CLAUSE(pthread_mutex_clocklock__err_EINVAL__bad_clock,
       "the clock is none that can be waited on; glibc says so of a free mutex and of the "
       "caller's own, too")
{
	struct timespec at = in_ms(CLOCK_MONOTONIC, 1000);
	pthread_mutex_t mutex;
	enum kind kind;

	for (EACH_ORDINARY(kind)) {
		OK(make_mutex(&mutex, kind));
		for (EACH(i, bad_clocks))
			CHECK_ERR(pthread_mutex_clocklock(&mutex, bad_clocks[i],
							  &at), EINVAL);
		OK(pthread_mutex_trylock(&mutex));
		for (EACH(i, bad_clocks))
			CHECK_ERR(pthread_mutex_clocklock(&mutex, bad_clocks[i],
							  &at), EINVAL);
		OK(pthread_mutex_unlock(&mutex));
	}
}

static void check_own_deadlocks(enum how how)
{
	pthread_mutex_t mutexes[2];
	struct timespec at;

	OK(make_mutex(&mutexes[0], ERRORCHECK));
	make_robust(&mutexes[1], PTHREAD_MUTEX_ERRORCHECK, false);
	for (EACH(i, mutexes)) {
		at = in_ms(clock_of(how), 15000);
		OK(lock_until(how, &mutexes[i], &at));
		CHECK_ERR(lock_until(how, &mutexes[i], &at), EDEADLK);
		/* Whatever the deadline. */
		at.tv_sec = 0;
		CHECK_ERR(lock_until(how, &mutexes[i], &at), EDEADLK);
		check_locked(&mutexes[i]);
		OK(pthread_mutex_unlock(&mutexes[i]));
		check_free(&mutexes[i]);
	}
}

CLAUSE(pthread_mutex_timedlock__err_EDEADLK__errorcheck_relock,
       "an error-checking mutex that the caller owns isn't waited for")
{
	check_own_deadlocks(TIMEDLOCK);
}

CLAUSE(pthread_mutex_clocklock__err_EDEADLK__errorcheck_relock,
       "an error-checking mutex that the caller owns isn't waited for")
{
	check_own_deadlocks(CLOCKLOCK_REALTIME);
	check_own_deadlocks(CLOCKLOCK_MONOTONIC);
}

static void check_own_times_out(enum how how)
{
	pthread_mutex_t mutexes[4];
	struct timespec at;

	OK(make_mutex(&mutexes[0], NORMAL));
	OK(make_mutex(&mutexes[1], DEFAULT));
	OK(make_mutex(&mutexes[2], ADAPTIVE));
	make_robust(&mutexes[3], PTHREAD_MUTEX_NORMAL, false);
	for (EACH(i, mutexes)) {
		OK(pthread_mutex_lock(&mutexes[i]));
		at = in_ms(clock_of(how), 10);
		CHECK_ERR(lock_until(how, &mutexes[i], &at), ETIMEDOUT);
		OK(pthread_mutex_unlock(&mutexes[i]));
		check_free(&mutexes[i]);
	}
}

CLAUSE(pthread_mutex_timedlock__err_ETIMEDOUT__own_normal_mutex,
       "a normal mutex that the caller has itself isn't available in time, and stays the "
       "caller's")
{
	check_own_times_out(TIMEDLOCK);
}

CLAUSE(pthread_mutex_clocklock__err_ETIMEDOUT__own_normal_mutex,
       "a normal mutex that the caller has itself isn't available in time, and stays the "
       "caller's")
{
	check_own_times_out(CLOCKLOCK_REALTIME);
	check_own_times_out(CLOCKLOCK_MONOTONIC);
}

static void check_own_counts(enum how how)
{
	struct timespec past = { 0, 0 };
	pthread_mutex_t mutex;
	int i;

	OK(make_mutex(&mutex, RECURSIVE));
	for (i = 0; i < 3; i++)
		OK(lock_until(how, &mutex, &past));
	for (i = 0; i < 3; i++) {
		check_locked(&mutex);
		OK(pthread_mutex_unlock(&mutex));
	}
	check_free(&mutex);
}

CLAUSE(pthread_mutex_timedlock__desc_1__recursive_counts,
       "on a recursive mutex of the caller's it counts one up, past the deadline too")
{
	check_own_counts(TIMEDLOCK);
}

CLAUSE(pthread_mutex_clocklock__desc_1__recursive_counts,
       "on a recursive mutex of the caller's it counts one up, past the deadline too")
{
	check_own_counts(CLOCKLOCK_REALTIME);
	check_own_counts(CLOCKLOCK_MONOTONIC);
}

CLAUSE(pthread_mutex_timedlock__err_EAGAIN__recursive_count_is_full,
       "a recursive mutex that can count no further isn't locked once more")
{
	pthread_mutex_t mutex;

	fill_count(&mutex);
	CHECK_ERR(timedlock_far(&mutex), EAGAIN);
	empty_count(&mutex);
}

CLAUSE(pthread_mutex_clocklock__err_EAGAIN__recursive_count_is_full,
       "a recursive mutex that can count no further isn't locked once more")
{
	pthread_mutex_t mutex;

	fill_count(&mutex);
	CHECK_ERR(clocklock_far(&mutex), EAGAIN);
	empty_count(&mutex);
}

static void check_above_the_ceiling(lock_call *lock)
{
	int least = sched_get_priority_min(SCHED_FIFO);
	pthread_mutex_t mutex;

	become_realtime(least + 3);
	make_protected(&mutex, PTHREAD_MUTEX_NORMAL, least + 2);
	CHECK_ERR(lock(&mutex), EINVAL);
	become_realtime(least + 2);
	OK(lock(&mutex));
	OK(pthread_mutex_unlock(&mutex));
}

CLAUSE(pthread_mutex_timedlock__err_EINVAL__above_the_ceiling,
       "the caller's priority is higher than the ceiling of a priority- protected mutex")
{
	check_above_the_ceiling(timedlock_far);
}

CLAUSE(pthread_mutex_clocklock__err_EINVAL__above_the_ceiling,
       "the caller's priority is higher than the ceiling of a priority- protected mutex")
{
	check_above_the_ceiling(clocklock_far);
}

CLAUSE(pthread_mutex_timedlock__err_EOWNERDEAD__process_ended,
       "the robust mutex's owner was in a process that has ended; the caller has the lock")
{
	check_eownerdead_of_a_process(timedlock_far);
	check_mourner(timedlock_far);
}

CLAUSE(pthread_mutex_clocklock__err_EOWNERDEAD__process_ended,
       "the robust mutex's owner was in a process that has ended; the caller has the lock")
{
	check_eownerdead_of_a_process(clocklock_far);
	check_mourner(clocklock_far);
}

CLAUSE(pthread_mutex_timedlock__err_EOWNERDEAD__thread_ended,
       "may fail, which glibc does: the robust mutex's owner was a thread that has ended; the "
       "caller has the lock")
{
	check_eownerdead(timedlock_far);
}

CLAUSE(pthread_mutex_clocklock__err_EOWNERDEAD__thread_ended,
       "may fail, which glibc does: the robust mutex's owner was a thread that has ended; the "
       "caller has the lock")
{
	check_eownerdead(clocklock_far);
}

CLAUSE(pthread_mutex_timedlock__err_ENOTRECOVERABLE__not_made_consistent,
       "unlocked by who didn't make it consistent, the mutex can't be locked again")
{
	check_enotrecoverable(timedlock_far);
}

CLAUSE(pthread_mutex_clocklock__err_ENOTRECOVERABLE__not_made_consistent,
       "unlocked by who didn't make it consistent, the mutex can't be locked again")
{
	check_enotrecoverable(clocklock_far);
}

CLAUSE_IN("ERRORS", pthread_mutex_timedlock__err_EINTR__never,
          "never EINTR: a thread that waits goes on waiting when a signal handler returns")
{
	enum kind kind;

	for (EACH_ORDINARY(kind))
		check_storm(kind, timedlock_far);
}

CLAUSE_IN("ERRORS", pthread_mutex_clocklock__err_EINTR__never,
          "never EINTR: a thread that waits goes on waiting when a signal handler returns")
{
	enum kind kind;

	for (EACH_ORDINARY(kind))
		check_storm(kind, clocklock_far);
}

struct stormy {
	struct held held;
	enum how how;
	_Atomic bool done;
};

static void *time_out_in_storm(void *argument)
{
	struct stormy *stormy = argument;
	struct timespec at = in_ms(clock_of(stormy->how), 50);

	CHECK_ERR(lock_until(stormy->how, &stormy->held.mutex, &at), ETIMEDOUT);
	CHECK(now_ns(clock_of(stormy->how)) >=
	      at.tv_sec * NS_PER_S + at.tv_nsec);
	stormy->done = true;
	/* The storm's victim has to be there until it is over. */
	UNTIL(!stormy->done);
	return NULL;
}

static void check_deadline_in_a_storm(enum how how)
{
	struct stormy stormy = { .how = how };
	struct thread holder, waiter;
	struct storm storm;

	hold_elsewhere(&stormy.held, &holder, DEFAULT);
	handled = 0;
	handle_with(SIGUSR1, count_signal);
	start(&waiter, time_out_in_storm, &stormy);
	begin_storm(&storm, &waiter);
	UNTIL(stormy.done);
	end_storm(&storm);
	stormy.done = false;
	join(&waiter);
	let_go(&stormy.held, &holder);
}

CLAUSE(pthread_mutex_timedlock__desc_2__handlers_dont_move_the_deadline,
       "signal handlers move the deadline neither forth nor back")
{
	check_deadline_in_a_storm(TIMEDLOCK);
}

CLAUSE(pthread_mutex_clocklock__desc_2__handlers_dont_move_the_deadline,
       "signal handlers move the deadline neither forth nor back")
{
	check_deadline_in_a_storm(CLOCKLOCK_REALTIME);
	check_deadline_in_a_storm(CLOCKLOCK_MONOTONIC);
}

struct inheritance {
	pthread_mutex_t mutex;
	_Atomic int stage;
};

static void *hold_and_inherit(void *argument)
{
	struct inheritance *inheritance = argument;

	OK(pthread_mutex_lock(&inheritance->mutex));
	inheritance->stage = 1;
	UNTIL(inheritance->stage == 2);
	OK(pthread_mutex_unlock(&inheritance->mutex));
	inheritance->stage = 3;
	UNTIL(inheritance->stage == 4);
	return NULL;
}

static void *time_out_with_priority(void *argument)
{
	struct inheritance *inheritance = argument;
	struct timespec at = in_ms(CLOCK_REALTIME, 100);

	CHECK_ERR(pthread_mutex_timedlock(&inheritance->mutex, &at), ETIMEDOUT);
	return NULL;
}

/* Started threads have the priority that the starter has. */
static void start_at(struct thread *thread, int priority, void *(*run)(void *),
		     void *argument)
{
	become_realtime(priority);
	start(thread, run, argument);
}

CLAUSE(pthread_mutex_timedlock__desc_5__owner_loses_what_it_inherited,
       "when the wait for an inheriting mutex ends by its deadline, the owner runs on without "
       "the priority that it inherited")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	struct inheritance inheritance = { .stage = 0 };
	struct thread owner, waiter;

	OK(make_mutex(&inheritance.mutex, PI));
	start_at(&owner, least, hold_and_inherit, &inheritance);
	UNTIL(inheritance.stage == 1);
	CHECK_EQ(priority_of(owner.tid), -1 - least);
	start_at(&waiter, least + 4, time_out_with_priority, &inheritance);
	UNTIL(priority_of(owner.tid) == -1 - (least + 4));
	join(&waiter);
	CHECK_EQ(priority_of(owner.tid), -1 - least);
	inheritance.stage = 2;
	UNTIL(inheritance.stage == 3);
	inheritance.stage = 4;
	join(&owner);
}

/* ----------------------------------------------------------- consistent -- */

CLAUSE(pthread_mutex_consistent__desc_1__makes_it_usable,
       "it makes the state that a dead owner left consistent, and the mutex usable again")
{
	pthread_mutex_t mutex;

	make_robust(&mutex, PTHREAD_MUTEX_DEFAULT, false);
	orphan(&mutex);
	CHECK_ERR(pthread_mutex_lock(&mutex), EOWNERDEAD);
	OK(pthread_mutex_consistent(&mutex));
	OK(pthread_mutex_unlock(&mutex));
	OK(pthread_mutex_lock(&mutex));
	OK(pthread_mutex_unlock(&mutex));
	check_free(&mutex);
}

CLAUSE(pthread_mutex_consistent__desc_1__keeps_it_locked,
       "it doesn't unlock: the caller keeps the mutex")
{
	pthread_mutex_t mutex;

	make_robust(&mutex, PTHREAD_MUTEX_ERRORCHECK, false);
	orphan(&mutex);
	CHECK_ERR(pthread_mutex_trylock(&mutex), EOWNERDEAD);
	errno = 4711;
	OK(pthread_mutex_consistent(&mutex));
	CHECK_EQ(errno, 4711);
	check_locked(&mutex);
	CHECK_ERR(pthread_mutex_lock(&mutex), EDEADLK);
	OK(pthread_mutex_unlock(&mutex));
}

CLAUSE(pthread_mutex_consistent__desc_1__recursive_has_one_lock,
       "of a recursive mutex that was locked more than once, one lock is left, the caller's")
{
	pthread_mutex_t *mutex = shared_memory(sizeof(*mutex));
	pid_t child;
	int i;

	make_robust(mutex, PTHREAD_MUTEX_RECURSIVE, true);
	child = fork_watched();
	if (child == 0) {
		for (i = 0; i < 3; i++)
			OK(pthread_mutex_lock(mutex));
		_exit(0);
	}
	REAP(child);
	CHECK_ERR(pthread_mutex_lock(mutex), EOWNERDEAD);
	OK(pthread_mutex_consistent(mutex));
	OK(pthread_mutex_unlock(mutex));
	check_free(mutex);
}

CLAUSE(pthread_mutex_consistent__err_EINVAL__not_robust, "the mutex isn't robust")
{
	static const enum kind kinds[] = {
		DEFAULT, NORMAL, RECURSIVE, ERRORCHECK, ADAPTIVE, PSHARED, PI,
	};
	pthread_mutex_t mutex;

	for (EACH(i, kinds)) {
		OK(make_mutex(&mutex, kinds[i]));
		CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
		OK(pthread_mutex_lock(&mutex));
		CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
		OK(pthread_mutex_unlock(&mutex));
	}
}

CLAUSE(pthread_mutex_consistent__err_EINVAL__not_inconsistent,
       "the mutex protects a state that is consistent, whether nobody or the caller has it")
{
	pthread_mutex_t mutex;

	make_robust(&mutex, PTHREAD_MUTEX_DEFAULT, false);
	CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
	OK(pthread_mutex_lock(&mutex));
	CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
	OK(pthread_mutex_unlock(&mutex));
	orphan(&mutex);
	/* Nobody has been told yet. */
	CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
	CHECK_ERR(pthread_mutex_lock(&mutex), EOWNERDEAD);
	OK(pthread_mutex_consistent(&mutex));
	CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
	OK(pthread_mutex_unlock(&mutex));
}

CLAUSE(pthread_mutex_consistent__err_EINVAL__not_recoverable,
       "it is too late for a mutex that can't be recovered")
{
	pthread_mutex_t mutex;

	make_unrecoverable(&mutex);
	CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
	CHECK_ERR(pthread_mutex_lock(&mutex), ENOTRECOVERABLE);
}

CLAUSE_IN("glibc extension", pthread_mutex_consistent__desc_1__old_name,
          "the older name with _np, which old programs call, does the same")
{
	int (*consistent_np)(pthread_mutex_t *mutex);
	pthread_mutex_t mutex;

	consistent_np = dlvsym(RTLD_DEFAULT, "pthread_mutex_consistent_np",
			       "GLIBC_2.4");
	if (!consistent_np)
		SKIP("this glibc has no pthread_mutex_consistent_np");
	make_robust(&mutex, PTHREAD_MUTEX_DEFAULT, false);
	CHECK_ERR(consistent_np(&mutex), EINVAL);
	orphan(&mutex);
	CHECK_ERR(pthread_mutex_lock(&mutex), EOWNERDEAD);
	OK(consistent_np(&mutex));
	OK(pthread_mutex_unlock(&mutex));
	OK(pthread_mutex_lock(&mutex));
}

/* ------------------------------------------------------ priority ceilings -- */

CLAUSE(pthread_mutex_getprioceiling__desc_1__tells_the_ceiling,
       "it tells the mutex's ceiling, the attributes' at first")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	int most = sched_get_priority_max(SCHED_FIFO);
	pthread_mutex_t mutex;
	int ceiling, told;

	for (ceiling = least; ceiling <= most; ceiling += 7) {
		make_protected(&mutex, PTHREAD_MUTEX_NORMAL, ceiling);
		errno = 4711;
		told = -1;
		OK(pthread_mutex_getprioceiling(&mutex, &told));
		CHECK_EQ(told, ceiling);
		CHECK_EQ(errno, 4711);
		OK(pthread_mutex_destroy(&mutex));
	}
}

static const enum kind without_ceiling[] = {
	DEFAULT, NORMAL, RECURSIVE, ERRORCHECK, ADAPTIVE, PSHARED, ROBUST,
};

CLAUSE(pthread_mutex_getprioceiling__err_EINVAL__no_protocol,
       "the mutex has no protocol and so no ceiling")
{
	pthread_mutex_t mutex;
	int told = -17;

	for (EACH(i, without_ceiling)) {
		OK(make_mutex(&mutex, without_ceiling[i]));
		CHECK_ERR(pthread_mutex_getprioceiling(&mutex, &told), EINVAL);
		CHECK_EQ(told, -17);
	}
}

CLAUSE(pthread_mutex_setprioceiling__desc_2__changes_it,
       "it changes the ceiling and tells the one before")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	pthread_mutex_t mutex;
	int told = -1;

	become_realtime(least);
	make_protected(&mutex, PTHREAD_MUTEX_NORMAL, least + 3);
	errno = 4711;
	OK(pthread_mutex_setprioceiling(&mutex, least + 5, &told));
	CHECK_EQ(told, least + 3);
	OK(pthread_mutex_setprioceiling(&mutex, least + 2, &told));
	OK(pthread_mutex_getprioceiling(&mutex, &told));
	CHECK_EQ(told, least + 2);
	CHECK_EQ(errno, 4711);
	/* It is in effect, and the mutex is free. */
	become_realtime(least + 3);
	CHECK_ERR(pthread_mutex_lock(&mutex), EINVAL);
	become_realtime(least + 2);
	OK(pthread_mutex_trylock(&mutex));
	OK(pthread_mutex_unlock(&mutex));
}

struct change {
	struct held held;
	_Atomic bool changed;
	int ceiling, before;
};

static void *change_ceiling(void *argument)
{
	struct change *change = argument;

	OK(pthread_mutex_setprioceiling(&change->held.mutex, change->ceiling,
					&change->before));
	change->changed = true;
	return NULL;
}

CLAUSE(pthread_mutex_setprioceiling__desc_2__waits_for_the_mutex,
       "it waits until it can lock the mutex, and unlocks it afterwards")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	struct thread holder, changer;
	struct change change = { .ceiling = least + 6 };
	int told;

	become_realtime(least);
	make_protected(&change.held.mutex, PTHREAD_MUTEX_NORMAL, least + 3);
	hold_made(&change.held, &holder);
	start(&changer, change_ceiling, &change);
	until_asleep(&changer);
	CHECK(!change.changed);
	change.held.release = true;
	join(&changer);
	OK(pthread_mutex_getprioceiling(&change.held.mutex, &told));
	CHECK_EQ(told, least + 6);
	let_go(&change.held, &holder);
}

CLAUSE(pthread_mutex_setprioceiling__desc_2__from_above_the_ceiling,
       "it isn't bound by the old ceiling when it locks: who is above that can raise it")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	pthread_mutex_t mutex;
	int told;

	become_realtime(least + 5);
	make_protected(&mutex, PTHREAD_MUTEX_NORMAL, least + 1);
	CHECK_ERR(pthread_mutex_lock(&mutex), EINVAL);
	OK(pthread_mutex_setprioceiling(&mutex, least + 6, &told));
	OK(pthread_mutex_lock(&mutex));
	OK(pthread_mutex_unlock(&mutex));
}

CLAUSE(pthread_mutex_setprioceiling__err_EINVAL__out_of_range,
       "the ceiling is out of range, and the old one stays")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	int most = sched_get_priority_max(SCHED_FIFO);
	const int bad[] = { least - 1, most + 1, -1, INT_MAX, INT_MIN };
	pthread_mutex_t mutex;
	int told = -17;

	make_protected(&mutex, PTHREAD_MUTEX_NORMAL, least + 2);
	for (EACH(i, bad)) {
		CHECK_ERR(pthread_mutex_setprioceiling(&mutex, bad[i], &told),
			  EINVAL);
		CHECK_EQ(told, -17);
	}
	OK(pthread_mutex_getprioceiling(&mutex, &told));
	CHECK_EQ(told, least + 2);
}

CLAUSE(pthread_mutex_setprioceiling__err_EINVAL__no_protocol,
       "the mutex has no protocol and so no ceiling")
{
	pthread_mutex_t mutex;
	int told = -17;

	for (EACH(i, without_ceiling)) {
		OK(make_mutex(&mutex, without_ceiling[i]));
		CHECK_ERR(pthread_mutex_setprioceiling(&mutex, 1, &told),
			  EINVAL);
		CHECK_EQ(told, -17);
		OK(pthread_mutex_trylock(&mutex));
		OK(pthread_mutex_unlock(&mutex));
	}
}

CLAUSE(pthread_mutex_setprioceiling__err_EDEADLK__own_errorcheck,
       "an error-checking mutex that the caller owns keeps its ceiling")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	pthread_mutex_t mutex;
	int told;

	become_realtime(least);
	make_protected(&mutex, PTHREAD_MUTEX_ERRORCHECK, least + 2);
	OK(pthread_mutex_lock(&mutex));
	CHECK_ERR(pthread_mutex_setprioceiling(&mutex, least + 3, &told),
		  EDEADLK);
	OK(pthread_mutex_getprioceiling(&mutex, &told));
	CHECK_EQ(told, least + 2);
	OK(pthread_mutex_unlock(&mutex));
}
