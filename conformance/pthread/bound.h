/* How long a program waits before its own watchdog ends it. */
#ifndef CONFORMANCE_BOUND_H
#define CONFORMANCE_BOUND_H

#include <stdlib.h>

/*
 * The runner may watch from outside, and judge what a hang is caused by (see
 * src/watchdog). Then it says how long the program's own alarms are to wait. 0:
 * it does not watch.
 */
static inline unsigned int hard_limit_s(void)
{
	const char *seconds = getenv("CONFORMANCE_HARD_LIMIT");

	return seconds ? (unsigned int)atoi(seconds) : 0;
}

static inline unsigned int bound_s(unsigned int seconds)
{
	return hard_limit_s() ? hard_limit_s() : seconds;
}

#endif
