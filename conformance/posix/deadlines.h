/* Deadlines: reached, passed, far away and invalid ones. */
#ifndef CONFORMANCE_DEADLINES_H
#define CONFORMANCE_DEADLINES_H

#include "../pthread/harness.h"

/* The deadline is reached, and not long ago. */
#define CHECK_REACHED(clock, at)					\
	do {								\
		struct timespec at_ = at;				\
		int64_t now_ = now_ns(clock);				\
		CHECK(now_ >= ns_of(&at_));				\
		CHECK(now_ < ns_of(&at_) + LATE_MS * NS_PER_MS);	\
	} while (0)

#define LONG_PAST { 0, 0 }, { 1, 0 }, { 0, 999999999 }, { 1, 999999999 }

/* Before the clock's beginning. */
#define NEGATIVE							\
	{ -1, 0 }, { -1, 999999999 }, { INT_MIN, 1 }, { LONG_MIN, 0 },	\
	{ LONG_MIN, 999999999 }

static const struct timespec long_past[] UNUSED = { LONG_PAST };
static const struct timespec negative[] UNUSED = { NEGATIVE };
static const struct timespec passed_deadlines[] UNUSED = { LONG_PAST, NEGATIVE };

/* Some overflow when they are counted in nanoseconds, or in 32 bits. */
static const struct timespec farthest[] UNUSED = {
	{ LONG_MAX, 999999999 }, { LONG_MAX, 0 }, { LONG_MAX / NS_PER_S, 999999999 },
	{ LONG_MAX / NS_PER_S + 1, 0 }, { 1L << 40, 0 }, { (long)UINT_MAX + 1, 0 },
	{ LONG_MAX / NS_PER_S, 854775808 }, { LONG_MAX - 1, 5 }, { LONG_MAX / 2, 0 },
	{ 1L << 33, 0 },
};

#define INVALID_AT(seconds)						\
	{ seconds, -1 }, { seconds, NS_PER_S }, { seconds, LONG_MAX },	\
	{ seconds, LONG_MIN }, { seconds, 1L << 32 }, { seconds, -(1L << 32) }

/* Invalid by their nanoseconds, in a year to come and in times that have passed. */
static const struct timespec invalid_deadlines[] UNUSED = {
	INVALID_AT(1L << 32), INVALID_AT(1), INVALID_AT(-5),
};

/* Those that aren't before the clock's beginning as well. */
static const struct timespec invalid_nanoseconds[] UNUSED = {
	INVALID_AT(1L << 32), INVALID_AT(1),
};

/* That nothing waits on. */
static const clockid_t invalid_clocks[] UNUSED = {
	CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_BOOTTIME, CLOCK_MONOTONIC_RAW,
	CLOCK_REALTIME_COARSE, CLOCK_TAI, 12345, 77, INT_MAX, -1,
};

#endif
