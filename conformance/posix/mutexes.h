/*
 * Mutexes of any mixture of attributes, and what several of the suite's
 * programs do with them.
 */
#ifndef CONFORMANCE_MUTEXES_H
#define CONFORMANCE_MUTEXES_H

#include "crowd.h"
#include "handlers.h"
#include "../pthread/gate.h"
#include "../pthread/harness.h"

/* The types, by the kinds that have them and nothing else. */
static const int types[] UNUSED = {
	[DEFAULT] = PTHREAD_MUTEX_DEFAULT,
	[NORMAL] = PTHREAD_MUTEX_NORMAL,
	[RECURSIVE] = PTHREAD_MUTEX_RECURSIVE,
	[ERRORCHECK] = PTHREAD_MUTEX_ERRORCHECK,
	[ADAPTIVE] = PTHREAD_MUTEX_ADAPTIVE_NP,
};

/* Notes what a loop is at, for failures to tell. */
static bool UNUSED at_kind(enum kind kind, enum kind end)
{
	at_column = kind < end ? kind_names[kind] : "";
	return kind < end;
}

#define EACH_KIND(kind) enum kind kind = DEFAULT; at_kind(kind, KINDS); kind++
#define EACH_OWN(kind) enum kind kind = DEFAULT; at_kind(kind, OWN_KINDS); kind++

/* Kinds whose mutexes any thread may lock: all but the priority-protected. */
#define ORDINARY							\
	DEFAULT, NORMAL, RECURSIVE, ERRORCHECK, ADAPTIVE, PSHARED, ROBUST, PI, \
	PSHARED_ROBUST_PI

static const enum kind ordinary[] UNUSED = { ORDINARY };

static bool UNUSED at_ordinary(size_t nth)
{
	return at_kind(nth < COUNT(ordinary) ? ordinary[nth] : KINDS, KINDS);
}

#define EACH_ORDINARY(nth) size_t nth = 0; at_ordinary(nth); nth++

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

/* ROBUST_OF + a type's kind: robust mutexes of that type. */
#define ROBUST_OF KINDS

/* Makes it and notes of what kind it is, unless that is negative. */
static bool UNUSED made(pthread_mutex_t *mutex, int kind)
{
	static char name[40];

	at_column = "";
	if (kind < 0)
		return false;
	snprintf(name, sizeof(name), "%s%s", kind < ROBUST_OF ? "" : "robust ",
		 kind_names[kind % ROBUST_OF]);
	at_column = name;
	if (kind < ROBUST_OF)
		OK(make_mutex(mutex, kind));
	else
		make_robust(mutex, types[kind - ROBUST_OF], false);
	return true;
}

/* for (EACH_MADE(&mutex, NORMAL, ROBUST_OF + NORMAL)): it is made anew of each kind. */
#define EACH_MADE(mutex, ...)						\
	const int *kind_ = (const int[]){ __VA_ARGS__, -1 }; made(mutex, *kind_); kind_++

#define LEAST sched_get_priority_min(SCHED_FIFO)

/* A real-time priority of this thread's own, or no test: a privilege. */
static void UNUSED become_realtime(int priority)
{
	struct sched_param param = { .sched_priority = priority };
	int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);

	if (error == EPERM)
		SKIP("no privilege to use real-time priorities");
	OK(error);
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
	CHECK(name && sscanf(name + 2,
			     "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %ld",
			     &priority) == 1);
	return priority;
}

/* It can be locked and unlocked. */
#define CHECK_USABLE(mutex)						\
	do {								\
		OK(pthread_mutex_lock(mutex));				\
		OK(pthread_mutex_unlock(mutex));			\
	} while (0)

/* -------------------------------------------------- owners that have died -- */

static UNUSED void *die_holding(void *mutex)
{
	OK(pthread_mutex_lock(mutex));
	return NULL;
}

static void UNUSED orphan(pthread_mutex_t *mutex)
{
	in_a_thread(die_holding, mutex);
}

/* ------------------------------------------------- waiters at a gate, let by -- */

/* It notifies with the mutex held. */
static void UNUSED permit(struct gate *gate, int permits,
			  int (*notify)(pthread_cond_t *cond))
{
	OK(pthread_mutex_lock(&gate->mutex));
	gate->permits += permits;
	OK(notify(&gate->cond));
	OK(pthread_mutex_unlock(&gate->mutex));
}

/* ------------------------------------------------------ a storm of signals -- */

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
	handled = 0;
	handle(0);
	start(&storm->thread, send_signals, storm);
}

/* While the victim still exists. */
static void UNUSED end_storm(struct storm *storm)
{
	UNTIL(handled > 20);
	storm->over = true;
	join(&storm->thread);
}

static void UNUSED storm_at(struct thread *victim)
{
	struct storm storm;

	begin_storm(&storm, victim);
	end_storm(&storm);
}

#endif
