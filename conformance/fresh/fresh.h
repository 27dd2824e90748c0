/*
 * A storm of new objects of pthread's: what src/fresh is for the crate's types.
 * Each round makes an object, two to four threads meet at its first operations
 * in lockstep, and then it must be free, with exact counts.
 */
#ifndef CONFORMANCE_FRESH_H
#define CONFORMANCE_FRESH_H

#include "../pthread/harness.h"

#include <semaphore.h>
#include <stdatomic.h>

/* The places of rounds: few, so that each is used often, by all kinds. */
#define PLACE_SIZE 512

/* One of a round's threads. */
struct seat {
	int number;
	uint32_t random;
};

/* What the threads of a round share. */
struct round {
	long number;
	int seats;
	/* Its random choice, the same for all. */
	uint32_t choice;
	/* Its threads end with it. */
	bool mortal;
	/* Equal but while somebody writes. */
	volatile long first, second;
	_Atomic long writes;
	/* For the kind's own use. */
	_Atomic int count, phase;
};

struct fresh_kind {
	const char *name;
	void (*make)(void *at, struct round *round);
	void (*meet)(void *at, struct round *round, struct seat *seat);
	/* Checks that it is free; nobody uses it any more. */
	void (*end)(void *at, struct round *round);
};

extern const struct fresh_kind mutex_kind, rwlock_kind, spin_kind;
extern const struct fresh_kind cond_kind, barrier_kind, semaphore_kind;
extern const struct fresh_kind once_kind, c11_kind;

/* fresh.c: the seed, and which round it is, for a check that fails. */
void say_where(void);

#define MUST(condition)							\
	do {								\
		if (!(condition)) {					\
			say_where();					\
			FAIL("not so: %s", #condition);			\
		}							\
	} while (0)

static inline uint32_t draw(struct seat *seat, uint32_t end)
{
	return (next_random(&seat->random) >> 8) % end;
}

/* Mostly nothing, sometimes a few pauses. */
static inline void waver(struct seat *seat)
{
	uint32_t pauses = draw(seat, 128);

	if (pauses < 32)
		while (pauses--)
			__asm__ volatile("pause");
}

/* Sometimes for longer, some microseconds. */
static inline void linger(struct seat *seat)
{
	uint32_t pauses = draw(seat, 512);

	if (pauses < 128)
		while (pauses--)
			__asm__ volatile("pause");
}

/* What the object protects. */
static inline void write_pair(struct round *round, struct seat *seat)
{
	long before = round->first;

	MUST(round->second == before);
	round->first = before + 1;
	waver(seat);
	MUST(round->first == before + 1 && round->second == before);
	round->second = before + 1;
	round->writes++;
}

static inline void read_pair(struct round *round, struct seat *seat)
{
	long before = round->first;

	MUST(round->second == before);
	linger(seat);
	MUST(round->first == before && round->second == before);
}

static inline void check_sums(struct round *round)
{
	MUST(round->first == round->writes && round->second == round->writes);
}

/* Up to 60 us from now. */
static inline struct timespec shortly(struct seat *seat, clockid_t clock)
{
	struct timespec at = in_ms(clock, 0);

	at.tv_nsec += draw(seat, 60000);
	if (at.tv_nsec >= NS_PER_S) {
		at.tv_nsec -= NS_PER_S;
		at.tv_sec++;
	}
	return at;
}

#endif
