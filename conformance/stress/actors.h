/* What the main program uses of the actors. */
#ifndef CONFORMANCE_STRESS_ACTORS_H
#define CONFORMANCE_STRESS_ACTORS_H

#include "stress.h"

/* Repeats the actors' choices. */
extern uint64_t seed;
/* What they have got done, and how many they were. */
extern _Atomic long total;
extern _Atomic uint32_t actors_so_far;

/* Fails the process once one of them doesn't get on. */
void watch_actors(void);

#endif
