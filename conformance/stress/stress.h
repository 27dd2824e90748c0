/*
 * What the subjects of the stress share: actors that the watchdog sees, and the
 * few functions that the main program calls to begin, to end, and to check the
 * sums.
 */
#ifndef CONFORMANCE_STRESS_H
#define CONFORMANCE_STRESS_H

#include "../posix/crowd.h"

#include <semaphore.h>
#include <stdatomic.h>

#define STUCK_S 10

enum {
	ACTORS = 512,
	SHORT_LIVED = 3,	/* threads that a starter has at a time */
};

/* What the watchdog sees of a thread. */
struct actor {
	const char *_Atomic role;	/* NULL: free */
	const char *_Atomic doing;
	_Atomic int with;
	_Atomic long progress;
	_Atomic pid_t tid;
	uint32_t random;
	/* The watchdog's own. */
	long seen;
	int64_t seen_ns;
};

extern struct actor actors[ACTORS];
extern _Atomic bool stop;

struct actor *appear(const char *role);
void vanish(struct actor *actor);
void does(struct actor *actor, const char *what, int with);
void got_on(struct actor *actor);

/* Defines what a thread does as an actor of this role, as THREAD does. */
#define ACTOR(name, role, parameter)					\
	static void name##_acts(struct actor *actor, parameter);	\
	THREAD(name, void *argument)					\
	{								\
		struct actor *actor = appear(role);			\
									\
		name##_acts(actor, argument);				\
		vanish(actor);						\
	}								\
	static void name##_acts(struct actor *actor, parameter)

/* Starts a thread that the main program joins once it has said stop. */
void enlist(void *(*run)(void *), void *argument);

/* A deadline within 2 ms. */
struct timespec soon(struct actor *actor, clockid_t clock);

/* A few probes, a yield, or a short sleep: sections of all lengths. */
void dawdle(struct actor *actor);

struct subject {
	const char *name;
	/* Only as part of the mix, or if asked for by name. */
	bool is_storm;
	void (*begin)(int strength);
	/* After stop: lets waiters go that no other thread will wake. */
	void (*finish)(void);
	/* After all have ended. */
	void (*check)(void);
	/* Prints what it did. */
	void (*report)(void);
};

extern const struct subject locks_subject;
extern const struct subject semaphores_subject;
extern const struct subject barriers_subject;
extern const struct subject rwlocks_subject;
extern const struct subject cancels_subject;
extern const struct subject forks_subject;
extern const struct subject signals_subject;

/* locks.c: an operation on one of the locks, and one on one of the gates. */
void use_lock(struct actor *actor);
/* May be cancelled at any point of it, without a permit getting lost. */
void pass_gate(struct actor *actor);
/* semaphores.c: the same of one of the semaphores. */
void use_semaphore(struct actor *actor);

/*
 * signals.c: blocks this storm's signals in the caller. A handler ends a wait
 * for a semaphore, and so hides a lost wakeup: some threads have to wait
 * undisturbed.
 */
void block_storm(void);

#endif
