/* Rounds of mutexes, rwlocks and spinlocks. */
#include "fresh.h"

/* ---------------------------------------------------------------- mutexes -- */

enum { STATIC = OWN_KINDS, STATIC_KINDS = 4 };

static void init_mutex(void *at, struct round *round)
{
	static const pthread_mutex_t initialisers[STATIC_KINDS] = {
		PTHREAD_MUTEX_INITIALIZER,
		PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
		PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
		PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP,
	};
	int kind = round->choice % (OWN_KINDS + STATIC_KINDS);

	if (kind < STATIC)
		OK(make_mutex(at, kind));
	else
		memcpy(at, &initialisers[kind - STATIC],
		       sizeof(pthread_mutex_t));
}

static int lock_mutex(pthread_mutex_t *mutex, struct seat *seat)
{
	struct timespec at;

	switch (draw(seat, 8)) {
	case 0:
		return pthread_mutex_trylock(mutex);
	case 1:
		at = shortly(seat, CLOCK_REALTIME);
		return pthread_mutex_timedlock(mutex, &at);
	case 2:
		at = shortly(seat, CLOCK_MONOTONIC);
		return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &at);
	default:
		return pthread_mutex_lock(mutex);
	}
}

static void meet_mutex(void *at, struct round *round, struct seat *seat)
{
	int i, error;

	for (i = 0; i <= (int)(round->choice >> 8) % 12; i++) {
		error = lock_mutex(at, seat);
		if (error) {
			MUST(error == EBUSY || error == ETIMEDOUT);
			continue;
		}
		write_pair(round, seat);
		OK(pthread_mutex_unlock(at));
	}
}

static void end_mutex(void *at, struct round *round)
{
	MUST(pthread_mutex_trylock(at) == 0);
	OK(pthread_mutex_unlock(at));
	check_sums(round);
	/* EBUSY if somebody is thought to hold it, or to wait. */
	if (round->choice & 1u << 20)
		MUST(pthread_mutex_destroy(at) == 0);
}

const struct fresh_kind mutex_kind = {
	"mutex", init_mutex, meet_mutex, end_mutex,
};

/* ---------------------------------------------------------------- rwlocks -- */

/* A thread that ends with a read lock keeps its reader slots for ever. */
enum { FORGETTERS = 64, HOT = 128 };

static _Atomic int forgotten;

static void init_rwlock(void *at, struct round *round)
{
	static const pthread_rwlock_t initialisers[2] = {
		PTHREAD_RWLOCK_INITIALIZER,
		PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP,
	};
	static const int kinds[3] = {
		PTHREAD_RWLOCK_PREFER_READER_NP,
		PTHREAD_RWLOCK_PREFER_WRITER_NP,
		PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP,
	};
	int kind = round->choice % 6;
	pthread_rwlockattr_t attr;

	if (kind == 0) {
		OK(pthread_rwlock_init(at, NULL));
	} else if (kind < 3) {
		memcpy(at, &initialisers[kind - 1], sizeof(pthread_rwlock_t));
	} else {
		OK(pthread_rwlockattr_init(&attr));
		OK(pthread_rwlockattr_setkind_np(&attr, kinds[kind - 3]));
		OK(pthread_rwlock_init(at, &attr));
		OK(pthread_rwlockattr_destroy(&attr));
	}
}

static int rdlock(pthread_rwlock_t *lock, struct seat *seat)
{
	struct timespec at;

	switch (draw(seat, 8)) {
	case 0:
		return pthread_rwlock_tryrdlock(lock);
	case 1:
		at = shortly(seat, CLOCK_REALTIME);
		return pthread_rwlock_timedrdlock(lock, &at);
	case 2:
		at = shortly(seat, CLOCK_MONOTONIC);
		return pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &at);
	default:
		return pthread_rwlock_rdlock(lock);
	}
}

static int wrlock(pthread_rwlock_t *lock, struct seat *seat)
{
	struct timespec at;

	switch (draw(seat, 8)) {
	case 0:
		return pthread_rwlock_trywrlock(lock);
	case 1:
		at = shortly(seat, CLOCK_REALTIME);
		return pthread_rwlock_timedwrlock(lock, &at);
	case 2:
		at = shortly(seat, CLOCK_MONOTONIC);
		return pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &at);
	default:
		return pthread_rwlock_wrlock(lock);
	}
}

static void read_somehow(void *at, struct round *round, struct seat *seat)
{
	int error = rdlock(at, seat);

	if (error) {
		MUST(error == EBUSY || error == ETIMEDOUT);
		return;
	}
	read_pair(round, seat);
	OK(pthread_rwlock_unlock(at));
}

static void write_somehow(void *at, struct round *round, struct seat *seat)
{
	int error = wrlock(at, seat);

	if (error) {
		MUST(error == EBUSY || error == ETIMEDOUT);
		return;
	}
	write_pair(round, seat);
	OK(pthread_rwlock_unlock(at));
}

static void meet_rwlock(void *at, struct round *round, struct seat *seat)
{
	static const int many[8] = { 1, 40, 64, 70, 100, 130, 150, 200 };
	uint32_t shape = round->choice >> 8;
	int i, reads = many[shape % 8];

	/* Others end as the lock gets hot, and write while some still read. */
	if (shape & 32)
		reads = HOT / round->seats + (int)draw(seat, 12) - 2;
	/* Some rounds read only, as fast as they can. */
	for (i = 0; i < reads && !(shape & 8); i++) {
		OK(pthread_rwlock_rdlock(at));
		OK(pthread_rwlock_unlock(at));
	}
	for (i = 0; i < reads && shape & 8; i++)
		read_somehow(at, round, seat);
	if (shape & 16) {
		for (i = draw(seat, 4); i >= 0; i--)
			write_somehow(at, round, seat);
	} else if (round->mortal && draw(seat, 8) == 0 &&
		   forgotten++ < FORGETTERS) {
		OK(pthread_rwlock_rdlock(at));
		round->count++;
	}
}

static void end_rwlock(void *at, struct round *round)
{
	int error = pthread_rwlock_trywrlock(at);

	MUST(error == (round->count ? EBUSY : 0));
	if (!error)
		OK(pthread_rwlock_unlock(at));
	check_sums(round);
	/* Or its memory goes to another use without. */
	if (round->choice & 1u << 20 || round->count)
		pthread_rwlock_destroy(at);
}

const struct fresh_kind rwlock_kind = {
	"rwlock", init_rwlock, meet_rwlock, end_rwlock,
};

/* -------------------------------------------------------------- spinlocks -- */

static void init_spin(void *at, struct round *round UNUSED)
{
	OK(pthread_spin_init(at, PTHREAD_PROCESS_PRIVATE));
}

static void meet_spin(void *at, struct round *round, struct seat *seat)
{
	int i;

	for (i = 0; i <= (int)round->choice % 4; i++) {
		if (draw(seat, 4) == 0) {
			if (pthread_spin_trylock(at))
				continue;
		} else {
			OK(pthread_spin_lock(at));
		}
		write_pair(round, seat);
		OK(pthread_spin_unlock(at));
	}
}

static void end_spin(void *at, struct round *round)
{
	MUST(pthread_spin_trylock(at) == 0);
	check_sums(round);
}

const struct fresh_kind spin_kind = { "spin", init_spin, meet_spin, end_spin };
