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

static const struct timespec long_past[] UNUSED = {
	{ 0, 0 }, { 1, 0 }, { 0, 999999999 }, { 1, 999999999 },
};

/* Before the clock's beginning. */
static const struct timespec negative[] UNUSED = {
	{ -1, 0 }, { -1, 999999999 }, { INT_MIN, 1 }, { LONG_MIN, 0 }, { LONG_MIN, 999999999 },
};

/* Some overflow when they are counted in nanoseconds, or in 32 bits. */
static const struct timespec farthest[] UNUSED = {
	{ LONG_MAX, 999999999 }, { LONG_MAX, 0 }, { LONG_MAX / NS_PER_S, 999999999 },
	{ LONG_MAX / NS_PER_S + 1, 0 }, { 1L << 40, 0 }, { (long)UINT_MAX + 1, 0 },
	{ LONG_MAX / NS_PER_S, 854775808 }, { LONG_MAX - 1, 5 }, { LONG_MAX / 2, 0 },
	{ 1L << 33, 0 },
};

static const long invalid_nanoseconds[] UNUSED = {
	-1, NS_PER_S, LONG_MAX, LONG_MIN, 1L << 32, -(1L << 32),
};

/* That nothing waits on. */
static const clockid_t invalid_clocks[] UNUSED = {
	CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_BOOTTIME, CLOCK_MONOTONIC_RAW,
	CLOCK_REALTIME_COARSE, CLOCK_TAI, 12345, 77, INT_MAX, -1,
};

#endif
