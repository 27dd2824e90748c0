/* A pattern of locking: what it is, and the parts of the program that runs it.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <stdatomic.h>
#include <stdint.h>

enum { MOST_THREADS = 32, MOST_LOCKS = 8, PARKED = 4 };

/* What a thread does inside or outside of a lock, for how long on average, and
 * how that varies. */
enum action { COMPUTES, SLEEPS, YIELDS_AND_COMPUTES };
enum spread { NOTHING, CONSTANT, EXPONENTIAL, ONE_IN_TEN_LONG };
struct work {
	enum action action;
	enum spread spread;
	double us;
};
struct works {
	struct work inside, outside;
};

enum kind {
	MUTEX,
	RWLOCK,
	SEMAPHORE,
	QUEUE,
	BARRIER,
	/* A queue of two semaphores and a mutex. */
	POOL,
	/* All wait at a condvar for the last, which broadcasts. */
	PHASES,
	/* A token goes around: each waits at its own condvar, or all at one. */
	RING,
	TURNS,
	/* Waits at a condvar that end by their deadline, beside users of the
	 * mutex. */
	DEADLINES,
	SPINLOCK,
	KINDS
};

enum mutex_type {
	NORMAL,
	RECURSIVE,
	CHECKING,
	ROBUST,
	INHERITING,
	MUTEX_TYPES
};

struct pattern {
	enum kind kind;
	int threads, locks;
	struct works works;
	/* Of a rwlock, of a semaphore, of a queue. */
	int writes_in_1000;
	int permits;
	int room, producers;
	/* A queue's producers broadcast; a condvar is notified under the
	 * mutex. */
	int broadcasts, late;
	/* Of a mutex; a rwlock's readers try, too. */
	int nests, tries, timed;
	/* Threads that use no lock; that wait for a condvar all the time. */
	int computing, parked;
	/* To one processor. */
	int bound;
	/* What the attributes of the locks say. */
	enum mutex_type type;
	int shared, writers_first;
	/* What one thread does (odd), or all do in every other time of so many
	 * milliseconds. */
	struct works others;
	int odd, changes_after_ms;
	/* A thread is followed by a new one after so many operations. */
	int lives_for;
	/* A signal's handler runs each millisecond. */
	int interrupted;
};

extern struct pattern it;

void draw_pattern(uint64_t seed);
/* Changes one number of the pattern, `NAME=VALUE`. Whether there is such a one.
 */
int change_pattern(const char *change);
void describe_pattern(void);

uint64_t draw(uint64_t *state);
double draw_share(uint64_t *state);
int draw_below(uint64_t *state, int end);

void calibrate(void);
void compute(double us);
double now_us(void);

/* Whether it is the others' time. */
extern atomic_int others_turn;

void prepare_locks(void);
/* One operation of the thread. */
void operate(int id, uint64_t *random);

_Noreturn void fail(const char *what);

#endif
