/*
 * Mutexes of any mixture of attributes, and what several of the suite's
 * programs do with them.
 */
#ifndef CONFORMANCE_MUTEXES_H
#define CONFORMANCE_MUTEXES_H

#include "../pthread/gate.h"
#include "../pthread/held.h"

/* The types, by the kinds that have them and nothing else. */
static const int types[] UNUSED = {
	[DEFAULT] = PTHREAD_MUTEX_DEFAULT,
	[NORMAL] = PTHREAD_MUTEX_NORMAL,
	[RECURSIVE] = PTHREAD_MUTEX_RECURSIVE,
	[ERRORCHECK] = PTHREAD_MUTEX_ERRORCHECK,
	[ADAPTIVE] = PTHREAD_MUTEX_ADAPTIVE_NP,
};

#define TYPES 5

/* Kinds whose mutexes any thread may lock: all but the priority-protected. */
static const enum kind ordinary[] UNUSED = {
	DEFAULT, NORMAL, RECURSIVE, ERRORCHECK, ADAPTIVE, PSHARED, ROBUST, PI,
	PSHARED_ROBUST_PI,
};

#define EACH_ORDINARY(kind)						\
	size_t at_ = 0;							\
	at_ < sizeof(ordinary) / sizeof(ordinary[0]) &&			\
	((kind) = ordinary[at_], true); at_++

static void UNUSED make_robust(pthread_mutex_t *mutex, int type, bool shared)
{
	pthread_mutexattr_t attr;

	OK(pthread_mutexattr_init(&attr));
	OK(pthread_mutexattr_settype(&attr, type));
	OK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	if (shared)
		OK(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	OK(pthread_mutex_init(mutex, &attr));
	OK(pthread_mutexattr_destroy(&attr));
}

/* A real-time priority of this thread's own, or no test: a privilege. */
static void UNUSED become_realtime(int priority)
{
	struct sched_param param = { .sched_priority = priority };
	int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);

	if (error == EPERM)
		SKIP("no privilege to use real-time priorities");
	OK(error);
}

static void UNUSED become_ordinary(void)
{
	struct sched_param param = { .sched_priority = 0 };

	OK(pthread_setschedparam(pthread_self(), SCHED_OTHER, &param));
}

static void UNUSED make_protected(pthread_mutex_t *mutex, int type, int ceiling)
{
	pthread_mutexattr_t attr;

	OK(pthread_mutexattr_init(&attr));
	OK(pthread_mutexattr_settype(&attr, type));
	OK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT));
	OK(pthread_mutexattr_setprioceiling(&attr, ceiling));
	OK(pthread_mutex_init(mutex, &attr));
	OK(pthread_mutexattr_destroy(&attr));
}

/*
 * The priority that the kernel runs the thread at, as it shows it: -1 less a
 * real-time priority, 20 and thereabouts for a thread that has none.
 */
static long UNUSED priority_of(pid_t tid)
{
	char path[64], text[512];
	long priority = LONG_MIN;
	const char *name;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	stat = fopen(path, "re");
	CHECK(stat && fgets(text, sizeof(text), stat));
	fclose(stat);
	name = strrchr(text, ')');
	CHECK(name && sscanf(name + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %ld",
			     &priority) == 1);
	return priority;
}

/* ----------------------------------------------------- what is one's own -- */

static UNUSED void *trylock_ebusy(void *mutex)
{
	CHECK_ERR(pthread_mutex_trylock(mutex), EBUSY);
	return NULL;
}

/* Locked, and not by the caller alone: by a thread that isn't asked for. */
static void UNUSED check_locked(pthread_mutex_t *mutex)
{
	struct thread other;

	start(&other, trylock_ebusy, mutex);
	join(&other);
}

static UNUSED void *lock_and_unlock(void *mutex)
{
	OK(pthread_mutex_lock(mutex));
	OK(pthread_mutex_unlock(mutex));
	return NULL;
}

static void UNUSED check_free(pthread_mutex_t *mutex)
{
	struct thread other;

	start(&other, lock_and_unlock, mutex);
	join(&other);
}

/* -------------------------------------------------- owners that have died -- */

static UNUSED void *die_holding(void *mutex)
{
	OK(pthread_mutex_lock(mutex));
	return NULL;
}

static void UNUSED orphan(pthread_mutex_t *mutex)
{
	struct thread owner;

	start(&owner, die_holding, mutex);
	join(&owner);
}

/* ------------------------------------------------------ a storm of signals -- */

static _Atomic int handled;

static void UNUSED count_signal(int signal UNUSED)
{
	handled++;
}

/* Without SA_RESTART: what can be interrupted is. */
static void UNUSED handle_with(int number, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	sigemptyset(&action.sa_mask);
	CHECK(!sigaction(number, &action, NULL));
}

struct storm {
	struct thread *victim;
	_Atomic bool over;
	struct thread thread;
};

static UNUSED void *send_signals(void *argument)
{
	struct storm *storm = argument;

	while (!storm->over) {
		OK(pthread_kill(storm->victim->pthread, SIGUSR1));
		usleep(100);
	}
	return NULL;
}

static void UNUSED begin_storm(struct storm *storm, struct thread *victim)
{
	storm->victim = victim;
	storm->over = false;
	handle_with(SIGUSR1, count_signal);
	start(&storm->thread, send_signals, storm);
}

/* While the victim still exists. */
static void UNUSED end_storm(struct storm *storm)
{
	UNTIL(handled > 20);
	storm->over = true;
	join(&storm->thread);
}

#endif
