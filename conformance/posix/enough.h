/* Rounds by number or, on a machine with more to do, by time. */
#ifndef CONFORMANCE_ENOUGH_H
#define CONFORMANCE_ENOUGH_H

#include "../pthread/harness.h"

/* Whether more than a second has passed since the first call. */
static bool UNUSED enough(void)
{
	static _Atomic int64_t began;
	int64_t now = now_ns(CLOCK_MONOTONIC);

	if (!began)
		began = now;
	return now - began > NS_PER_S;
}

#endif
