/* XSH, the pages of mutex attributes. */
#include "attributes.h"
#include "children.h"
#include "clause.h"
#include "mutexes.h"

#define lock pthread_mutex_lock
#define trylock pthread_mutex_trylock
#define unlock pthread_mutex_unlock
#include "taken.h"

/* Each clause runs in a process of its own, with these. */
static pthread_mutex_t mutex;
static pthread_mutexattr_t attr;

ATTRIBUTE(mutexattr, type,
	  LIST(PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
	       PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_ERRORCHECK),
	  LIST(-1, 4, 99, INT_MAX, INT_MIN), false)
ATTRIBUTE(mutexattr, pshared, LIST(PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED),
	  LIST(-1, 2, 99, INT_MAX, INT_MIN), false)
ATTRIBUTE(mutexattr, protocol,
	  LIST(PTHREAD_PRIO_NONE, PTHREAD_PRIO_PROTECT, PTHREAD_PRIO_INHERIT),
	  LIST(-1, 3, 99, INT_MAX, INT_MIN), false)
/* Linux's range of SCHED_FIFO is from 1 to 99. */
ATTRIBUTE(mutexattr, prioceiling, LIST(1, 99, 5), LIST(0, 100, -1, INT_MAX, INT_MIN), true)
ATTRIBUTE(mutexattr, robust, LIST(PTHREAD_MUTEX_STALLED, PTHREAD_MUTEX_ROBUST),
	  LIST(-1, 2, 99, INT_MAX, INT_MIN), false)
ATTRIBUTES(mutexattr, &attr_type, &attr_pshared, &attr_protocol, &attr_prioceiling, &attr_robust)

/* ----------------------------------------------------- init and destroy -- */

CLAUSE(pthread_mutexattr_init__desc_1__defaults,
       "all attributes have their defaults: default type, private, no protocol, a ceiling that "
       "may be, stalled")
{
	int ceiling;

	check_defaults();
	OK(pthread_mutexattr_init(&attr));
	OK(pthread_mutexattr_getprioceiling(&attr, &ceiling));
	CHECK(ceiling >= sched_get_priority_min(SCHED_FIFO));
	CHECK(ceiling <= sched_get_priority_max(SCHED_FIFO));
}

CLAUSE(pthread_mutexattr_init__desc_3__makes_many_mutexes,
       "one object serves any number of mutexes")
{
	pthread_mutex_t mutexes[20];

	OK(pthread_mutexattr_init(&attr));
	OK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK));
	for (EACH(i, mutexes)) {
		OK(pthread_mutex_init(&mutexes[i], &attr));
		OK(pthread_mutex_lock(&mutexes[i]));
	}
	for (EACH(i, mutexes))
		CHECK_ERR(pthread_mutex_lock(&mutexes[i]), EDEADLK);
}

CLAUSE(pthread_mutexattr_init__desc_3__later_changes_touch_no_mutex,
       "what happens to the object afterwards, destruction too, changes no mutex that it has "
       "made, only those made later")
{
	pthread_mutex_t before, after, last;

	OK(pthread_mutexattr_init(&attr));
	OK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK));
	OK(pthread_mutex_init(&before, &attr));
	OK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE));
	OK(pthread_mutex_init(&after, &attr));
	OK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	OK(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	OK(pthread_mutex_init(&last, &attr));
	OK(pthread_mutexattr_destroy(&attr));
	memset(&attr, 0xff, sizeof(attr));
	OK(pthread_mutex_lock(&before));
	CHECK_ERR(pthread_mutex_lock(&before), EDEADLK);
	OK(pthread_mutex_lock(&after));
	OK(pthread_mutex_lock(&after));
	OK(pthread_mutex_unlock(&after));
	check_taken(&after);
	OK(pthread_mutex_unlock(&after));
	CHECK_ERR(pthread_mutex_consistent(&after), EINVAL);
	orphan(&last);
	CHECK_ERR(pthread_mutex_lock(&last), EOWNERDEAD);
	OK(pthread_mutex_lock(&last));
}

CLAUSE_BY(check_defaults(), pthread_mutexattr_init__ret__0, "0, and errno is left alone")

CLAUSE_BY(check_initialised_again(), pthread_mutexattr_destroy__desc_2__can_be_initialised_again,
	  "a destroyed object can be initialised again, and has the defaults then")

/* ----------------------------------------------------------------- type -- */

CLAUSE_BY(check_told(&attr_type), pthread_mutexattr_gettype__desc_1__tells_the_type,
	  "it tells the type, which is the default one at first")

CLAUSE_BY(check_set_alone(&attr_type), pthread_mutexattr_settype__desc_1__sets_the_type_alone,
	  "it sets the type and no other attribute")

CLAUSE(pthread_mutexattr_settype__desc_1__is_in_effect,
       "each type is in effect in the mutexes that are made with it")
{
	static const int relocked[][2] = {
		{ PTHREAD_MUTEX_NORMAL, ETIMEDOUT },
		{ PTHREAD_MUTEX_DEFAULT, ETIMEDOUT },
		{ PTHREAD_MUTEX_ADAPTIVE_NP, ETIMEDOUT },
		{ PTHREAD_MUTEX_RECURSIVE, 0 },
		{ PTHREAD_MUTEX_ERRORCHECK, EDEADLK },
	};
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);

	OK(pthread_mutexattr_init(&attr));
	for (EACH(i, relocked)) {
		OK(pthread_mutexattr_settype(&attr, relocked[i][0]));
		OK(pthread_mutex_init(&mutex, &attr));
		OK(pthread_mutex_lock(&mutex));
		CHECK_ERR(pthread_mutex_timedlock(&mutex, &soon), relocked[i][1]);
	}
}

CLAUSE_BY(check_refused(&attr_type), pthread_mutexattr_settype__err_EINVAL__no_such_type,
	  "there is no such type, and the one before stays")

/* The same attribute by functions of other names, which are glibc's only. */
static struct attribute by_old_names(const struct attribute *attribute, const char *set,
				     const char *get, const char *version)
{
	struct attribute old = *attribute;

	old.set = dlvsym(RTLD_DEFAULT, set, version);
	old.get = dlvsym(RTLD_DEFAULT, get, version);
	if (!old.set || !old.get)
		SKIP("this glibc has no %s", set);
	return old;
}

/* What one of them sets the other tells, by old names and new. */
static void check_old_names(struct attribute old, struct attribute new)
{
	struct attribute set_by_old = new, told_by_old = new;

	set_by_old.set = old.set;
	told_by_old.get = old.get;
	check_told(&old);
	check_told(&set_by_old);
	check_told(&told_by_old);
	check_refused(&set_by_old);
}

CLAUSE_IN("glibc extension", pthread_mutexattr_settype__desc_1__old_names,
	  "the older names with kind and _np, which old programs call, set and tell the type")
{
	check_old_names(by_old_names(&attr_type, "pthread_mutexattr_setkind_np",
				     "pthread_mutexattr_getkind_np", "GLIBC_2.2.5"), attr_type);
}

/* -------------------------------------------------------------- pshared -- */

CLAUSE_BY(check_told(&attr_pshared), pthread_mutexattr_getpshared__desc_1__tells_it,
	  "it tells whether processes share the mutex, which they don't at first")

CLAUSE_BY(check_set_alone(&attr_pshared), pthread_mutexattr_setpshared__desc_1__sets_it_alone,
	  "it sets that and no other attribute")

struct shared {
	pthread_mutex_t mutex;
	long counter;
	_Atomic int stage;
};

static void make_shared(struct shared *shared, int type)
{
	OK(pthread_mutexattr_init(&attr));
	OK(pthread_mutexattr_settype(&attr, type));
	OK(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	OK(pthread_mutex_init(&shared->mutex, &attr));
	OK(pthread_mutexattr_destroy(&attr));
	shared->counter = shared->stage = 0;
}

THREAD(count, struct shared *shared)
{
	for (int i = 0; i < 3000; i++) {
		OK(pthread_mutex_lock(&shared->mutex));
		shared->counter++;
		OK(pthread_mutex_unlock(&shared->mutex));
	}
}

CLAUSE(pthread_mutexattr_setpshared__desc_2__excludes_between_processes,
       "a shared mutex excludes threads of all processes that have its memory")
{
	struct shared *shared = shared_memory(sizeof(*shared));

	for (EACH(type, types)) {
		make_shared(shared, types[type]);
		run_in_processes(4, count, shared);
		CHECK_EQ(shared->counter, 4 * 3000);
		OK(pthread_mutex_destroy(&shared->mutex));
	}
}

CLAUSE(pthread_mutexattr_setpshared__desc_2__wakes_between_processes,
       "a thread that waits for a shared mutex gets it when a thread of another process unlocks it")
{
	struct shared *shared = shared_memory(sizeof(*shared));
	struct thread waiter;
	pid_t child;

	for (EACH(type, types)) {
		make_shared(shared, types[type]);
		IN_CHILD(child) {
			OK(pthread_mutex_lock(&shared->mutex));
			shared->stage = 1;
			UNTIL(shared->stage == 2);
			OK(pthread_mutex_unlock(&shared->mutex));
		}
		UNTIL(shared->stage == 1);
		CHECK_ERR(pthread_mutex_trylock(&shared->mutex), EBUSY);
		start_asleep(&waiter, find_free, &shared->mutex);
		shared->stage = 2;
		join(&waiter);
		REAP(child);
	}
}

CLAUSE(pthread_mutexattr_setpshared__desc_2__owner_is_of_one_process,
       "ownership counts between processes: another's thread may not unlock an error-checking "
       "mutex")
{
	struct shared *shared = shared_memory(sizeof(*shared));

	make_shared(shared, PTHREAD_MUTEX_ERRORCHECK);
	OK(pthread_mutex_lock(&shared->mutex));
	IN_A_CHILD {
		CHECK_ERR(pthread_mutex_unlock(&shared->mutex), EPERM);
		CHECK_ERR(pthread_mutex_trylock(&shared->mutex), EBUSY);
	}
	OK(pthread_mutex_unlock(&shared->mutex));
	CHECK_ERR(pthread_mutex_unlock(&shared->mutex), EPERM);
}

CLAUSE(pthread_mutexattr_setpshared__desc_2__at_another_address,
       "the mutex is the same wherever a process has it mapped")
{
	struct shared *here, *there;
	pid_t child;

	map_twice((void **)&here, (void **)&there);
	make_shared(here, PTHREAD_MUTEX_NORMAL);
	IN_CHILD(child) {
		give_back(here);
		count(there);
	}
	count(here);
	REAP(child);
	CHECK_EQ(here->counter, 2 * 3000);
	OK(pthread_mutex_lock(&here->mutex));
	CHECK_ERR(pthread_mutex_trylock(&there->mutex), EBUSY);
	OK(pthread_mutex_unlock(&there->mutex));
}

CLAUSE_BY(check_refused(&attr_pshared), pthread_mutexattr_setpshared__err_EINVAL__no_such_value,
	  "the value is neither shared nor private, and the one before stays")

/* ------------------------------------------------------------- protocol -- */

CLAUSE_BY(check_told(&attr_protocol), pthread_mutexattr_getprotocol__desc_1__tells_it,
	  "it tells the protocol, which is none at first")

CLAUSE_BY(check_set_alone(&attr_protocol), pthread_mutexattr_setprotocol__desc_1__sets_it_alone,
	  "it sets the protocol and no other attribute")

struct ranks {
	pthread_mutex_t mutexes[2];
	_Atomic int stage;
};

/* Lets the holder go on, and returns once it has done its next step. */
static void next_stage(struct ranks *ranks)
{
	int next = ranks->stage + 2;

	ranks->stage++;
	UNTIL(ranks->stage == next);
}

THREAD(hold_both, struct ranks *ranks)
{
	OK(pthread_mutex_lock(&ranks->mutexes[0]));
	OK(pthread_mutex_lock(&ranks->mutexes[1]));
	ranks->stage = 1;
	UNTIL(ranks->stage == 2);
	OK(pthread_mutex_unlock(&ranks->mutexes[1]));
	ranks->stage = 3;
	UNTIL(ranks->stage == 4);
	OK(pthread_mutex_unlock(&ranks->mutexes[0]));
	ranks->stage = 5;
	UNTIL(ranks->stage == 6);
}

CLAUSE(pthread_mutexattr_setprotocol__desc_3__none_changes_no_priority,
       "no protocol: a thread that holds the mutex runs at its own priority, whatever waits")
{
	struct ranks ranks = { .stage = 0 };
	struct thread holder, waiter;

	for (int i = 0; i < 2; i++)
		OK(make_mutex(&ranks.mutexes[i], NORMAL));
	become_realtime(LEAST);
	start(&holder, hold_both, &ranks);
	UNTIL(ranks.stage == 1);
	become_realtime(LEAST + 4);
	start_asleep(&waiter, find_free, &ranks.mutexes[0]);
	sleep_ms(5);
	CHECK_EQ(priority_of(holder.tid), -1 - LEAST);
	next_stage(&ranks);
	next_stage(&ranks);
	join(&waiter);
	ranks.stage = 6;
	join(&holder);
}

CLAUSE(pthread_mutexattr_setprotocol__desc_4__inherits,
       "inheritance: a thread that holds the mutex runs at the highest priority of those that "
       "wait for any it holds, until it unlocks")
{
	struct ranks ranks = { .stage = 0 };
	struct thread holder, first, second;

	for (int i = 0; i < 2; i++)
		OK(make_mutex(&ranks.mutexes[i], PI));
	become_realtime(LEAST);
	start(&holder, hold_both, &ranks);
	UNTIL(ranks.stage == 1);
	CHECK_EQ(priority_of(holder.tid), -1 - LEAST);
	become_realtime(LEAST + 3);
	start(&first, find_free, &ranks.mutexes[0]);
	UNTIL(priority_of(holder.tid) == -1 - (LEAST + 3));
	become_realtime(LEAST + 6);
	start(&second, find_free, &ranks.mutexes[1]);
	UNTIL(priority_of(holder.tid) == -1 - (LEAST + 6));
	next_stage(&ranks);
	CHECK_EQ(priority_of(holder.tid), -1 - (LEAST + 3));
	next_stage(&ranks);
	CHECK_EQ(priority_of(holder.tid), -1 - LEAST);
	ranks.stage = 6;
	join(&holder);
	join(&first);
	join(&second);
}

struct chain {
	struct ranks ranks;
	pthread_mutex_t middle;
	_Atomic bool holds;
};

/* Holds one, and waits for another, of a holder that doesn't wait. */
THREAD(hold_and_want, struct chain *chain)
{
	OK(pthread_mutex_lock(&chain->middle));
	chain->holds = true;
	find_free(&chain->ranks.mutexes[1]);
	OK(pthread_mutex_unlock(&chain->middle));
}

CLAUSE(pthread_mutexattr_setprotocol__desc_5__inherits_along_a_chain,
       "inheritance goes along a chain: to the holder of a mutex, and to the holder of the one "
       "that it waits for")
{
	struct chain chain = { .holds = false };
	struct thread holder, middle, last;

	OK(make_mutex(&chain.ranks.mutexes[0], PI));
	OK(make_mutex(&chain.ranks.mutexes[1], PI));
	OK(make_mutex(&chain.middle, PI));
	become_realtime(LEAST);
	start(&holder, hold_both, &chain.ranks);
	UNTIL(chain.ranks.stage == 1);
	become_realtime(LEAST + 1);
	start(&middle, hold_and_want, &chain);
	UNTIL(chain.holds);
	UNTIL(priority_of(holder.tid) == -1 - (LEAST + 1));
	become_realtime(LEAST + 5);
	start(&last, find_free, &chain.middle);
	UNTIL(priority_of(middle.tid) == -1 - (LEAST + 5));
	UNTIL(priority_of(holder.tid) == -1 - (LEAST + 5));
	next_stage(&chain.ranks);
	CHECK_EQ(priority_of(holder.tid), -1 - LEAST);
	join(&middle);
	join(&last);
	next_stage(&chain.ranks);
	chain.ranks.stage = 6;
	join(&holder);
}

CLAUSE(pthread_mutexattr_setprotocol__desc_6__runs_at_the_ceiling,
       "protection: a thread that holds the mutex runs at its ceiling, the highest of those that "
       "it holds, waited for or not")
{
	pthread_mutex_t lower, higher;

	become_realtime(LEAST);
	make_protected(&lower, PTHREAD_MUTEX_NORMAL, LEAST + 3);
	make_protected(&higher, PTHREAD_MUTEX_NORMAL, LEAST + 7);
	OK(pthread_mutex_lock(&higher));
	CHECK_EQ(priority_of(gettid()), -1 - (LEAST + 7));
	/* Its own priority counts for the ceiling, not the one it runs at. */
	OK(pthread_mutex_lock(&lower));
	CHECK_EQ(priority_of(gettid()), -1 - (LEAST + 7));
	OK(pthread_mutex_unlock(&higher));
	CHECK_EQ(priority_of(gettid()), -1 - (LEAST + 3));
	OK(pthread_mutex_unlock(&lower));
	CHECK_EQ(priority_of(gettid()), -1 - LEAST);
}

CLAUSE_BY(check_refused(&attr_protocol),
	  pthread_mutexattr_setprotocol__err_EINVAL__no_such_protocol,
	  "there is no such protocol, and the one before stays")

/* ------------------------------------------------------ priority ceiling -- */

CLAUSE(pthread_mutexattr_getprioceiling__desc_1__tells_it,
       "it tells the ceiling, and each of the range can be set")
{
	int most = sched_get_priority_max(SCHED_FIFO);

	check_told(&attr_prioceiling);
	OK(pthread_mutexattr_init(&attr));
	for (int ceiling = LEAST; ceiling <= most; ceiling++) {
		OK(pthread_mutexattr_setprioceiling(&attr, ceiling));
		CHECK_EQ(told(&attr_prioceiling, &attr), ceiling);
	}
}

CLAUSE_BY(check_set_alone(&attr_prioceiling),
	  pthread_mutexattr_setprioceiling__desc_1__sets_it_alone,
	  "it sets the ceiling and no other attribute")

CLAUSE(pthread_mutexattr_setprioceiling__desc_2__is_in_effect,
       "the ceiling is in effect in the mutexes that are made with it, not in those made before")
{
	pthread_mutex_t before, after;
	int told = -1;

	OK(pthread_mutexattr_init(&attr));
	OK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT));
	OK(pthread_mutexattr_setprioceiling(&attr, LEAST + 2));
	OK(pthread_mutex_init(&before, &attr));
	OK(pthread_mutexattr_setprioceiling(&attr, LEAST + 9));
	OK(pthread_mutex_init(&after, &attr));
	OK(pthread_mutex_getprioceiling(&before, &told));
	CHECK_EQ(told, LEAST + 2);
	OK(pthread_mutex_getprioceiling(&after, &told));
	CHECK_EQ(told, LEAST + 9);
	become_realtime(LEAST + 5);
	CHECK_ERR(pthread_mutex_trylock(&before), EINVAL);
	OK(pthread_mutex_trylock(&after));
	OK(pthread_mutex_unlock(&after));
}

CLAUSE_BY(check_refused(&attr_prioceiling),
	  pthread_mutexattr_setprioceiling__err_EINVAL__out_of_range,
	  "the ceiling is no priority of SCHED_FIFO's, and the one before stays")

/* --------------------------------------------------------------- robust -- */

CLAUSE_BY(check_told(&attr_robust), pthread_mutexattr_getrobust__desc_1__tells_it,
	  "it tells the robustness, which is stalled at first")

CLAUSE_BY(check_set_alone(&attr_robust), pthread_mutexattr_setrobust__desc_1__sets_it_alone,
	  "it sets the robustness and no other attribute")

static void check_stalled(enum kind kind)
{
	struct timespec at;

	OK(make_mutex(&mutex, kind));
	orphan(&mutex);
	CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
	at = in_ms(CLOCK_REALTIME, 20);
	CHECK_ERR(pthread_mutex_timedlock(&mutex, &at), ETIMEDOUT);
}

CLAUSE(pthread_mutexattr_setrobust__desc_2__stalled_stays_locked,
       "stalled: nothing is done when the owner dies, and the mutex stays locked")
{
	check_stalled(DEFAULT);
	check_stalled(NORMAL);
	check_stalled(PSHARED);
}

/*
 * The owner's tid may be a living thread's by now. That is not this thread,
 * so that its errors don't depend on it.
 */
CLAUSE(pthread_mutexattr_setrobust__desc_2__stalled_keeps_its_owner,
       "stalled: an error-checking or recursive mutex of a dead owner's can be neither locked nor "
       "unlocked by others")
{
	static const enum kind kinds[] = { ERRORCHECK, RECURSIVE };

	for (EACH(i, kinds)) {
		check_stalled(kinds[i]);
		CHECK_ERR(pthread_mutex_unlock(&mutex), EPERM);
		CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
		CHECK_ERR(pthread_mutex_unlock(&mutex), EPERM);
	}
}

CLAUSE(pthread_mutexattr_setrobust__desc_3__robust_tells_of_the_death,
       "robust: the owner's death is told to the next one that locks, of every type and protocol, "
       "shared or not")
{
	/* Not with protection: that is refused. */
	static const int protocols[] = { PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT };

	OK(pthread_mutexattr_init(&attr));
	OK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	for (size_t i = 0; i < attr_type.count * 4; i++) {
		OK(pthread_mutexattr_settype(&attr, attr_type.values[i / 4]));
		OK(pthread_mutexattr_setpshared(&attr, attr_pshared.values[i / 2 % 2]));
		OK(pthread_mutexattr_setprotocol(&attr, protocols[i % 2]));
		OK(pthread_mutex_init(&mutex, &attr));
		orphan(&mutex);
		CHECK_ERR(pthread_mutex_lock(&mutex), EOWNERDEAD);
		OK(pthread_mutex_consistent(&mutex));
		OK(pthread_mutex_unlock(&mutex));
		check_not_taken(&mutex);
		OK(pthread_mutex_destroy(&mutex));
	}
}

CLAUSE_BY(check_refused(&attr_robust), pthread_mutexattr_setrobust__err_EINVAL__no_such_value,
	  "there is no such robustness, and the one before stays")

CLAUSE_IN("glibc extension", pthread_mutexattr_setrobust__desc_1__old_names,
	  "the older names with _np, which old programs call, set and tell the robustness")
{
	struct attribute old = by_old_names(&attr_robust, "pthread_mutexattr_setrobust_np",
					    "pthread_mutexattr_getrobust_np", "GLIBC_2.4");

	check_old_names(old, attr_robust);
	OK(pthread_mutexattr_init(&attr));
	OK(old.set(&attr, PTHREAD_MUTEX_ROBUST));
	OK(pthread_mutex_init(&mutex, &attr));
	orphan(&mutex);
	CHECK_ERR(pthread_mutex_lock(&mutex), EOWNERDEAD);
}
