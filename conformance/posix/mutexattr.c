/* XSH, the pages of mutex attributes. */
#include "clause.h"
#include "mutexes.h"

/* What an attribute is set and asked by. */
typedef int set_call(pthread_mutexattr_t *attr, int value);
typedef int get_call(const pthread_mutexattr_t *attr, int *value);

static int get(get_call *call, const pthread_mutexattr_t *attr)
{
	int value = -17;

	OK(call(attr, &value));
	return value;
}

static const int all_types[] = {
	PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_RECURSIVE,
	PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP,
};
static const int all_pshared[] = {
	PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED,
};
static const int all_protocols[] = {
	PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT, PTHREAD_PRIO_PROTECT,
};
static const int all_robust[] = {
	PTHREAD_MUTEX_STALLED, PTHREAD_MUTEX_ROBUST,
};
static const int bad_values[] = { -1, 4, 99, INT_MAX, INT_MIN };

struct values {
	int type, pshared, protocol, ceiling, robust;
};

static struct values values_of(const pthread_mutexattr_t *attr)
{
	return (struct values){
		get(pthread_mutexattr_gettype, attr),
		get(pthread_mutexattr_getpshared, attr),
		get(pthread_mutexattr_getprotocol, attr),
		get(pthread_mutexattr_getprioceiling, attr),
		get(pthread_mutexattr_getrobust, attr),
	};
}

static void check_values(const pthread_mutexattr_t *attr, struct values wanted)
{
	struct values got = values_of(attr);

	CHECK_EQ(got.type, wanted.type);
	CHECK_EQ(got.pshared, wanted.pshared);
	CHECK_EQ(got.protocol, wanted.protocol);
	CHECK_EQ(got.ceiling, wanted.ceiling);
	CHECK_EQ(got.robust, wanted.robust);
}

/* Whether each value comes back, and nothing else of the object changes. */
static void check_round_trip(set_call *set, get_call *call, const int *all,
			     size_t count)
{
	pthread_mutexattr_t attr;
	size_t i, j;

	OK(pthread_mutexattr_init(&attr));
	errno = 4711;
	for (i = 0; i < count; i++) {
		for (j = 0; j < count; j++) {
			OK(set(&attr, all[i]));
			CHECK_EQ(get(call, &attr), all[i]);
			OK(set(&attr, all[j]));
			CHECK_EQ(get(call, &attr), all[j]);
		}
	}
	CHECK_EQ(errno, 4711);
	OK(pthread_mutexattr_destroy(&attr));
}

#define CHECK_ROUND_TRIP(set, get, all)					\
	check_round_trip(set, get, all, sizeof(all) / sizeof((all)[0]))

static void check_refused(set_call *set, get_call *call, int good,
			  const int *bad, size_t count)
{
	pthread_mutexattr_t attr;
	struct values before;
	size_t i;

	OK(pthread_mutexattr_init(&attr));
	OK(set(&attr, good));
	before = values_of(&attr);
	for (i = 0; i < count; i++) {
		CHECK_ERR(set(&attr, bad[i]), EINVAL);
		CHECK_EQ(get(call, &attr), good);
		check_values(&attr, before);
	}
}

#define CHECK_REFUSED(set, get, good, bad)				\
	check_refused(set, get, good, bad, sizeof(bad) / sizeof((bad)[0]))

/* Sets it to the second value with all else away from its default. */
static void check_alone(set_call *set, get_call *call, int first, int second)
{
	int ceiling = sched_get_priority_min(SCHED_FIFO) + 4;
	struct values before, after;
	pthread_mutexattr_t attr;

	OK(pthread_mutexattr_init(&attr));
	OK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK));
	OK(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	OK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT));
	OK(pthread_mutexattr_setprioceiling(&attr, ceiling));
	OK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	OK(set(&attr, first));
	before = values_of(&attr);
	OK(set(&attr, second));
	CHECK_EQ(get(call, &attr), second);
	OK(set(&attr, first));
	after = values_of(&attr);
	CHECK(!memcmp(&before, &after, sizeof(before)));
}

/* ----------------------------------------------------- init and destroy -- */

CLAUSE(pthread_mutexattr_init__desc_1__defaults,
       "all attributes have their defaults: default type, private, no protocol, a ceiling that "
       "may be, stalled")
{
	static const int fills[] = { 0x00, 0xff, 0xa5 };
	pthread_mutexattr_t attr;
	struct values got;

	for (EACH(i, fills)) {
		memset(&attr, fills[i], sizeof(attr));
		OK(pthread_mutexattr_init(&attr));
		got = values_of(&attr);
		CHECK_EQ(got.type, PTHREAD_MUTEX_DEFAULT);
		CHECK_EQ(got.pshared, PTHREAD_PROCESS_PRIVATE);
		CHECK_EQ(got.protocol, PTHREAD_PRIO_NONE);
		CHECK(got.ceiling >= sched_get_priority_min(SCHED_FIFO));
		CHECK(got.ceiling <= sched_get_priority_max(SCHED_FIFO));
		CHECK_EQ(got.robust, PTHREAD_MUTEX_STALLED);
	}
}

CLAUSE(pthread_mutexattr_init__desc_3__makes_many_mutexes,
       "one object serves any number of mutexes")
{
	pthread_mutexattr_t attr;
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
	pthread_mutexattr_t attr;

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
	check_locked(&after);
	OK(pthread_mutex_unlock(&after));
	CHECK_ERR(pthread_mutex_consistent(&after), EINVAL);
	orphan(&last);
	CHECK_ERR(pthread_mutex_lock(&last), EOWNERDEAD);
	OK(pthread_mutex_lock(&last));
}

CLAUSE(pthread_mutexattr_init__ret__0, "0, and errno is left alone")
{
	pthread_mutexattr_t attrs[3];

	errno = 4711;
	for (EACH(i, attrs))
		OK(pthread_mutexattr_init(&attrs[i]));
	for (EACH(i, attrs))
		OK(pthread_mutexattr_destroy(&attrs[i]));
	CHECK_EQ(errno, 4711);
}

CLAUSE(pthread_mutexattr_destroy__desc_2__can_be_initialised_again,
       "a destroyed object can be initialised again, and has the defaults then")
{
	pthread_mutexattr_t attr;
	struct values defaults;

	OK(pthread_mutexattr_init(&attr));
	defaults = values_of(&attr);
	OK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE));
	OK(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	OK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	OK(pthread_mutexattr_destroy(&attr));
	OK(pthread_mutexattr_init(&attr));
	check_values(&attr, defaults);
	OK(pthread_mutexattr_destroy(&attr));
}

/* ----------------------------------------------------------------- type -- */

CLAUSE(pthread_mutexattr_gettype__desc_1__tells_the_type,
       "it tells the type, which is the default one at first")
{
	pthread_mutexattr_t attr;

	OK(pthread_mutexattr_init(&attr));
	CHECK_EQ(get(pthread_mutexattr_gettype, &attr), PTHREAD_MUTEX_DEFAULT);
	CHECK_ROUND_TRIP(pthread_mutexattr_settype, pthread_mutexattr_gettype,
			 all_types);
}

CLAUSE(pthread_mutexattr_settype__desc_1__sets_the_type_alone,
       "it sets the type and no other attribute")
{
	for (EACH(i, all_types))
		check_alone(pthread_mutexattr_settype,
			    pthread_mutexattr_gettype, PTHREAD_MUTEX_ERRORCHECK,
			    all_types[i]);
}

CLAUSE(pthread_mutexattr_settype__desc_1__is_in_effect,
       "each type is in effect in the mutexes that are made with it")
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);
	pthread_mutexattr_t attr;
	pthread_mutex_t mutex;
	int error;

	OK(pthread_mutexattr_init(&attr));
	for (EACH(i, all_types)) {
		OK(pthread_mutexattr_settype(&attr, all_types[i]));
		OK(pthread_mutex_init(&mutex, &attr));
		OK(pthread_mutex_lock(&mutex));
		error = pthread_mutex_timedlock(&mutex, &soon);
		if (all_types[i] == PTHREAD_MUTEX_RECURSIVE)
			CHECK_ERR(error, 0);
		else if (all_types[i] == PTHREAD_MUTEX_ERRORCHECK)
			CHECK_ERR(error, EDEADLK);
		else
			CHECK_ERR(error, ETIMEDOUT);
	}
}

CLAUSE(pthread_mutexattr_settype__err_EINVAL__no_such_type,
       "there is no such type, and the one before stays")
{
	CHECK_REFUSED(pthread_mutexattr_settype, pthread_mutexattr_gettype,
		      PTHREAD_MUTEX_RECURSIVE, bad_values);
}

CLAUSE_IN("glibc extension", pthread_mutexattr_settype__desc_1__old_names,
          "the older names with kind and _np, which old programs call, set and tell the type")
{
	pthread_mutexattr_t attr;
	set_call *set = dlvsym(RTLD_DEFAULT, "pthread_mutexattr_setkind_np",
			       "GLIBC_2.2.5");
	get_call *call = dlvsym(RTLD_DEFAULT, "pthread_mutexattr_getkind_np",
				"GLIBC_2.2.5");

	if (!set || !call)
		SKIP("this glibc has no pthread_mutexattr_setkind_np");
	CHECK_ROUND_TRIP(set, call, all_types);
	CHECK_REFUSED(set, pthread_mutexattr_gettype, PTHREAD_MUTEX_ERRORCHECK,
		      bad_values);
	OK(pthread_mutexattr_init(&attr));
	OK(set(&attr, PTHREAD_MUTEX_RECURSIVE));
	CHECK_EQ(get(pthread_mutexattr_gettype, &attr),
		 PTHREAD_MUTEX_RECURSIVE);
	OK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK));
	CHECK_EQ(get(call, &attr), PTHREAD_MUTEX_ERRORCHECK);
}

/* -------------------------------------------------------------- pshared -- */

CLAUSE(pthread_mutexattr_getpshared__desc_1__tells_it,
       "it tells whether processes share the mutex, which they don't at first")
{
	pthread_mutexattr_t attr;

	OK(pthread_mutexattr_init(&attr));
	CHECK_EQ(get(pthread_mutexattr_getpshared, &attr),
		 PTHREAD_PROCESS_PRIVATE);
	CHECK_ROUND_TRIP(pthread_mutexattr_setpshared,
			 pthread_mutexattr_getpshared, all_pshared);
}

CLAUSE(pthread_mutexattr_setpshared__desc_1__sets_it_alone, "it sets that and no other attribute")
{
	check_alone(pthread_mutexattr_setpshared, pthread_mutexattr_getpshared,
		    PTHREAD_PROCESS_SHARED, PTHREAD_PROCESS_PRIVATE);
}

struct shared {
	pthread_mutex_t mutex;
	long counter;
	_Atomic int stage;
};

static void make_shared(struct shared *shared, int type)
{
	pthread_mutexattr_t attr;

	OK(pthread_mutexattr_init(&attr));
	OK(pthread_mutexattr_settype(&attr, type));
	OK(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	OK(pthread_mutex_init(&shared->mutex, &attr));
	OK(pthread_mutexattr_destroy(&attr));
	shared->counter = shared->stage = 0;
}

static void count(struct shared *shared)
{
	int i;

	for (i = 0; i < 3000; i++) {
		OK(pthread_mutex_lock(&shared->mutex));
		shared->counter++;
		OK(pthread_mutex_unlock(&shared->mutex));
	}
}

CLAUSE(pthread_mutexattr_setpshared__desc_2__excludes_between_processes,
       "a shared mutex excludes threads of all processes that have its memory")
{
	struct shared *shared = shared_memory(sizeof(*shared));
	pid_t children[3];
	size_t type;
	int i;

	for (type = 0; type < TYPES; type++) {
		make_shared(shared, types[type]);
		for (i = 0; i < 3; i++) {
			children[i] = fork_watched();
			if (children[i] == 0) {
				count(shared);
				_exit(0);
			}
		}
		count(shared);
		for (i = 0; i < 3; i++)
			REAP(children[i]);
		CHECK_EQ(shared->counter, 4 * 3000);
		OK(pthread_mutex_destroy(&shared->mutex));
	}
}

CLAUSE(pthread_mutexattr_setpshared__desc_2__wakes_between_processes,
       "a thread that waits for a shared mutex gets it when a thread of another process unlocks "
       "it")
{
	struct shared *shared = shared_memory(sizeof(*shared));
	struct thread waiter;
	size_t type;
	pid_t child;

	for (type = 0; type < TYPES; type++) {
		make_shared(shared, types[type]);
		child = fork_watched();
		if (child == 0) {
			OK(pthread_mutex_lock(&shared->mutex));
			shared->stage = 1;
			UNTIL(shared->stage == 2);
			OK(pthread_mutex_unlock(&shared->mutex));
			_exit(0);
		}
		UNTIL(shared->stage == 1);
		CHECK_ERR(pthread_mutex_trylock(&shared->mutex), EBUSY);
		start(&waiter, lock_and_unlock, &shared->mutex);
		until_asleep(&waiter);
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
	pid_t child;

	make_shared(shared, PTHREAD_MUTEX_ERRORCHECK);
	OK(pthread_mutex_lock(&shared->mutex));
	child = fork_watched();
	if (child == 0) {
		CHECK_ERR(pthread_mutex_unlock(&shared->mutex), EPERM);
		CHECK_ERR(pthread_mutex_trylock(&shared->mutex), EBUSY);
		_exit(0);
	}
	REAP(child);
	OK(pthread_mutex_unlock(&shared->mutex));
	CHECK_ERR(pthread_mutex_unlock(&shared->mutex), EPERM);
}

CLAUSE(pthread_mutexattr_setpshared__desc_2__at_another_address,
       "the mutex is the same wherever a process has it mapped")
{
	int fd = memfd_create("mutex", MFD_CLOEXEC);
	struct shared *here, *there;
	pid_t child;

	CHECK(fd >= 0 && !ftruncate(fd, 4096));
	here = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	there = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(here != MAP_FAILED && there != MAP_FAILED && here != there);
	make_shared(here, PTHREAD_MUTEX_NORMAL);
	child = fork_watched();
	if (child == 0) {
		CHECK(!munmap(here, 4096));
		count(there);
		_exit(0);
	}
	count(here);
	REAP(child);
	CHECK_EQ(here->counter, 2 * 3000);
	OK(pthread_mutex_lock(&here->mutex));
	CHECK_ERR(pthread_mutex_trylock(&there->mutex), EBUSY);
	OK(pthread_mutex_unlock(&there->mutex));
}

CLAUSE(pthread_mutexattr_setpshared__err_EINVAL__no_such_value,
       "the value is neither shared nor private, and the one before stays")
{
	static const int bad[] = { -1, 2, 99, INT_MAX, INT_MIN };

	CHECK_REFUSED(pthread_mutexattr_setpshared,
		      pthread_mutexattr_getpshared, PTHREAD_PROCESS_SHARED, bad);
}

/* ------------------------------------------------------------- protocol -- */

CLAUSE(pthread_mutexattr_getprotocol__desc_1__tells_it,
       "it tells the protocol, which is none at first")
{
	pthread_mutexattr_t attr;

	OK(pthread_mutexattr_init(&attr));
	CHECK_EQ(get(pthread_mutexattr_getprotocol, &attr), PTHREAD_PRIO_NONE);
	CHECK_ROUND_TRIP(pthread_mutexattr_setprotocol,
			 pthread_mutexattr_getprotocol, all_protocols);
}

CLAUSE(pthread_mutexattr_setprotocol__desc_1__sets_it_alone,
       "it sets the protocol and no other attribute")
{
	for (EACH(i, all_protocols))
		check_alone(pthread_mutexattr_setprotocol,
			    pthread_mutexattr_getprotocol, PTHREAD_PRIO_INHERIT,
			    all_protocols[i]);
}

struct ranks {
	pthread_mutex_t mutexes[2];
	_Atomic int stage;
	_Atomic int got[3];
};

static void *hold_both(void *argument)
{
	struct ranks *ranks = argument;

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
	return NULL;
}

static void *want_first(void *argument)
{
	struct ranks *ranks = argument;

	return lock_and_unlock(&ranks->mutexes[0]);
}

static void *want_second(void *argument)
{
	struct ranks *ranks = argument;

	return lock_and_unlock(&ranks->mutexes[1]);
}

CLAUSE(pthread_mutexattr_setprotocol__desc_3__none_changes_no_priority,
       "no protocol: who holds the mutex runs at its own priority, whoever waits")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	struct ranks ranks = { .stage = 0 };
	struct thread holder, waiter;
	int i;

	for (i = 0; i < 2; i++)
		OK(make_mutex(&ranks.mutexes[i], NORMAL));
	become_realtime(least);
	start(&holder, hold_both, &ranks);
	UNTIL(ranks.stage == 1);
	become_realtime(least + 4);
	start(&waiter, want_first, &ranks);
	until_asleep(&waiter);
	sleep_ms(5);
	CHECK_EQ(priority_of(holder.tid), -1 - least);
	ranks.stage = 2;
	UNTIL(ranks.stage == 3);
	ranks.stage = 4;
	UNTIL(ranks.stage == 5);
	join(&waiter);
	ranks.stage = 6;
	join(&holder);
}

CLAUSE(pthread_mutexattr_setprotocol__desc_4__inherits,
       "inheritance: who holds the mutex runs at the highest priority of those that wait for any "
       "it holds, until it unlocks")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	struct ranks ranks = { .stage = 0 };
	struct thread holder, first, second;
	int i;

	for (i = 0; i < 2; i++)
		OK(make_mutex(&ranks.mutexes[i], PI));
	become_realtime(least);
	start(&holder, hold_both, &ranks);
	UNTIL(ranks.stage == 1);
	CHECK_EQ(priority_of(holder.tid), -1 - least);
	become_realtime(least + 3);
	start(&first, want_first, &ranks);
	UNTIL(priority_of(holder.tid) == -1 - (least + 3));
	become_realtime(least + 6);
	start(&second, want_second, &ranks);
	UNTIL(priority_of(holder.tid) == -1 - (least + 6));
	ranks.stage = 2;
	UNTIL(ranks.stage == 3);
	CHECK_EQ(priority_of(holder.tid), -1 - (least + 3));
	ranks.stage = 4;
	UNTIL(ranks.stage == 5);
	CHECK_EQ(priority_of(holder.tid), -1 - least);
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
static void *hold_and_want(void *argument)
{
	struct chain *chain = argument;

	OK(pthread_mutex_lock(&chain->middle));
	chain->holds = true;
	lock_and_unlock(&chain->ranks.mutexes[1]);
	OK(pthread_mutex_unlock(&chain->middle));
	return NULL;
}

CLAUSE(pthread_mutexattr_setprotocol__desc_5__inherits_along_a_chain,
       "inheritance goes on: from who waits for the holder of a mutex to the holder that that "
       "one waits for")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	struct chain chain = { .holds = false };
	struct thread holder, middle, last;

	OK(make_mutex(&chain.ranks.mutexes[0], PI));
	OK(make_mutex(&chain.ranks.mutexes[1], PI));
	OK(make_mutex(&chain.middle, PI));
	become_realtime(least);
	start(&holder, hold_both, &chain.ranks);
	UNTIL(chain.ranks.stage == 1);
	become_realtime(least + 1);
	start(&middle, hold_and_want, &chain);
	UNTIL(chain.holds);
	UNTIL(priority_of(holder.tid) == -1 - (least + 1));
	become_realtime(least + 5);
	start(&last, lock_and_unlock, &chain.middle);
	UNTIL(priority_of(middle.tid) == -1 - (least + 5));
	UNTIL(priority_of(holder.tid) == -1 - (least + 5));
	chain.ranks.stage = 2;
	UNTIL(chain.ranks.stage == 3);
	CHECK_EQ(priority_of(holder.tid), -1 - least);
	join(&middle);
	join(&last);
	chain.ranks.stage = 4;
	UNTIL(chain.ranks.stage == 5);
	chain.ranks.stage = 6;
	join(&holder);
}

CLAUSE(pthread_mutexattr_setprotocol__desc_6__runs_at_the_ceiling,
       "protection: who holds the mutex runs at its ceiling, the highest of those that it holds, "
       "waited for or not")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	pthread_mutex_t lower, higher;

	become_realtime(least);
	make_protected(&lower, PTHREAD_MUTEX_NORMAL, least + 3);
	make_protected(&higher, PTHREAD_MUTEX_NORMAL, least + 7);
	OK(pthread_mutex_lock(&higher));
	CHECK_EQ(priority_of(gettid()), -1 - (least + 7));
	/* Its own priority counts for the ceiling, not the one it runs at. */
	OK(pthread_mutex_lock(&lower));
	CHECK_EQ(priority_of(gettid()), -1 - (least + 7));
	OK(pthread_mutex_unlock(&higher));
	CHECK_EQ(priority_of(gettid()), -1 - (least + 3));
	OK(pthread_mutex_unlock(&lower));
	CHECK_EQ(priority_of(gettid()), -1 - least);
}

CLAUSE(pthread_mutexattr_setprotocol__err_EINVAL__no_such_protocol,
       "there is no such protocol, and the one before stays")
{
	static const int bad[] = { -1, 3, 99, INT_MAX, INT_MIN };

	CHECK_REFUSED(pthread_mutexattr_setprotocol,
		      pthread_mutexattr_getprotocol, PTHREAD_PRIO_INHERIT, bad);
}

/* ------------------------------------------------------ priority ceiling -- */

CLAUSE(pthread_mutexattr_getprioceiling__desc_1__tells_it,
       "it tells the ceiling, and each of the range can be set")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	int most = sched_get_priority_max(SCHED_FIFO);
	pthread_mutexattr_t attr;
	int ceiling;

	OK(pthread_mutexattr_init(&attr));
	for (ceiling = least; ceiling <= most; ceiling++) {
		OK(pthread_mutexattr_setprioceiling(&attr, ceiling));
		CHECK_EQ(get(pthread_mutexattr_getprioceiling, &attr), ceiling);
	}
}

CLAUSE(pthread_mutexattr_setprioceiling__desc_1__sets_it_alone,
       "it sets the ceiling and no other attribute")
{
	int least = sched_get_priority_min(SCHED_FIFO);

	check_alone(pthread_mutexattr_setprioceiling,
		    pthread_mutexattr_getprioceiling, least + 4, least);
	check_alone(pthread_mutexattr_setprioceiling,
		    pthread_mutexattr_getprioceiling, least + 4,
		    sched_get_priority_max(SCHED_FIFO));
}

CLAUSE(pthread_mutexattr_setprioceiling__desc_2__is_in_effect,
       "the ceiling is in effect in the mutexes that are made with it, not in those made before")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	pthread_mutex_t before, after;
	pthread_mutexattr_t attr;
	int told = -1;

	OK(pthread_mutexattr_init(&attr));
	OK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT));
	OK(pthread_mutexattr_setprioceiling(&attr, least + 2));
	OK(pthread_mutex_init(&before, &attr));
	OK(pthread_mutexattr_setprioceiling(&attr, least + 9));
	OK(pthread_mutex_init(&after, &attr));
	OK(pthread_mutex_getprioceiling(&before, &told));
	CHECK_EQ(told, least + 2);
	OK(pthread_mutex_getprioceiling(&after, &told));
	CHECK_EQ(told, least + 9);
	become_realtime(least + 5);
	CHECK_ERR(pthread_mutex_trylock(&before), EINVAL);
	OK(pthread_mutex_trylock(&after));
	OK(pthread_mutex_unlock(&after));
}

CLAUSE(pthread_mutexattr_setprioceiling__err_EINVAL__out_of_range,
       "the ceiling is no priority of SCHED_FIFO's, and the one before stays")
{
	int least = sched_get_priority_min(SCHED_FIFO);
	const int bad[] = {
		least - 1, sched_get_priority_max(SCHED_FIFO) + 1, -1, INT_MAX,
		INT_MIN,
	};

	CHECK_REFUSED(pthread_mutexattr_setprioceiling,
		      pthread_mutexattr_getprioceiling, least + 4, bad);
}

/* --------------------------------------------------------------- robust -- */

CLAUSE(pthread_mutexattr_getrobust__desc_1__tells_it,
       "it tells the robustness, which is stalled at first")
{
	pthread_mutexattr_t attr;

	OK(pthread_mutexattr_init(&attr));
	CHECK_EQ(get(pthread_mutexattr_getrobust, &attr),
		 PTHREAD_MUTEX_STALLED);
	CHECK_ROUND_TRIP(pthread_mutexattr_setrobust,
			 pthread_mutexattr_getrobust, all_robust);
}

CLAUSE(pthread_mutexattr_setrobust__desc_1__sets_it_alone,
       "it sets the robustness and no other attribute")
{
	check_alone(pthread_mutexattr_setrobust, pthread_mutexattr_getrobust,
		    PTHREAD_MUTEX_ROBUST, PTHREAD_MUTEX_STALLED);
}

CLAUSE(pthread_mutexattr_setrobust__desc_2__stalled_stays_locked,
       "stalled: nothing is done when the owner dies, and the mutex stays locked")
{
	static const enum kind kinds[] = { DEFAULT, NORMAL, PSHARED };
	pthread_mutex_t mutex;
	struct timespec at;

	for (EACH(i, kinds)) {
		OK(make_mutex(&mutex, kinds[i]));
		orphan(&mutex);
		CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
		at = in_ms(CLOCK_REALTIME, 20);
		CHECK_ERR(pthread_mutex_timedlock(&mutex, &at), ETIMEDOUT);
	}
}

/*
 * The owner's tid may be a living thread's by now. That is not this thread,
 * so that its errors don't depend on it.
 */
CLAUSE(pthread_mutexattr_setrobust__desc_2__stalled_keeps_its_owner,
       "stalled: an error-checking or recursive mutex of a dead owner's can be neither locked "
       "nor unlocked by others")
{
	static const enum kind kinds[] = { ERRORCHECK, RECURSIVE };
	pthread_mutex_t mutex;
	struct timespec at;

	for (EACH(i, kinds)) {
		OK(make_mutex(&mutex, kinds[i]));
		orphan(&mutex);
		CHECK_ERR(pthread_mutex_unlock(&mutex), EPERM);
		CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
		at = in_ms(CLOCK_REALTIME, 20);
		CHECK_ERR(pthread_mutex_timedlock(&mutex, &at), ETIMEDOUT);
		CHECK_ERR(pthread_mutex_unlock(&mutex), EPERM);
	}
}

CLAUSE(pthread_mutexattr_setrobust__desc_3__robust_tells_of_the_death,
       "robust: the owner's death is told to the next one that locks, of every type and "
       "protocol, shared or not")
{
	pthread_mutexattr_t attr;
	pthread_mutex_t mutex;

	OK(pthread_mutexattr_init(&attr));
	OK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	for (EACH(type, all_types)) {
		OK(pthread_mutexattr_settype(&attr, all_types[type]));
		for (EACH(pshared, all_pshared)) {
			OK(pthread_mutexattr_setpshared(&attr,
							all_pshared[pshared]));
			/* Not with protection: that is refused. */
			for (int protocol = 0; protocol < 2; protocol++) {
				OK(pthread_mutexattr_setprotocol(
					&attr, all_protocols[protocol]));
				OK(pthread_mutex_init(&mutex, &attr));
				orphan(&mutex);
				CHECK_ERR(pthread_mutex_lock(&mutex),
					  EOWNERDEAD);
				OK(pthread_mutex_consistent(&mutex));
				OK(pthread_mutex_unlock(&mutex));
				check_free(&mutex);
				OK(pthread_mutex_destroy(&mutex));
			}
		}
	}
}

CLAUSE(pthread_mutexattr_setrobust__err_EINVAL__no_such_value,
       "there is no such robustness, and the one before stays")
{
	static const int bad[] = { -1, 2, 99, INT_MAX, INT_MIN };

	CHECK_REFUSED(pthread_mutexattr_setrobust, pthread_mutexattr_getrobust,
		      PTHREAD_MUTEX_ROBUST, bad);
}

CLAUSE_IN("glibc extension", pthread_mutexattr_setrobust__desc_1__old_names,
          "the older names with _np, which old programs call, set and tell the robustness")
{
	set_call *set = dlvsym(RTLD_DEFAULT, "pthread_mutexattr_setrobust_np",
			       "GLIBC_2.4");
	get_call *call = dlvsym(RTLD_DEFAULT, "pthread_mutexattr_getrobust_np",
				"GLIBC_2.4");
	pthread_mutexattr_t attr;
	pthread_mutex_t mutex;

	if (!set || !call)
		SKIP("this glibc has no pthread_mutexattr_setrobust_np");
	CHECK_ROUND_TRIP(set, call, all_robust);
	OK(pthread_mutexattr_init(&attr));
	OK(set(&attr, PTHREAD_MUTEX_ROBUST));
	OK(pthread_mutex_init(&mutex, &attr));
	orphan(&mutex);
	CHECK_ERR(pthread_mutex_lock(&mutex), EOWNERDEAD);
}
