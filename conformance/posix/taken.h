/*
 * Whether other threads find a mutex taken, by the calls that the program has
 * named lock, trylock and unlock. They return errors of POSIX's.
 */
#ifndef CONFORMANCE_TAKEN_H
#define CONFORMANCE_TAKEN_H

#include "crowd.h"
#include "../pthread/harness.h"

THREAD(find_busy, void *mutex)
{
	CHECK_ERR(trylock(mutex), EBUSY);
}

THREAD(find_free, void *mutex)
{
	OK(lock(mutex));
	OK(unlock(mutex));
}

static void UNUSED check_taken(pthread_mutex_t *mutex)
{
	in_a_thread(find_busy, mutex);
}

static void UNUSED check_not_taken(pthread_mutex_t *mutex)
{
	in_a_thread(find_free, mutex);
}

/* The caller has it, and no thread after one unlock. */
static void UNUSED check_taken_once(pthread_mutex_t *mutex)
{
	check_taken(mutex);
	OK(unlock(mutex));
	check_not_taken(mutex);
}

#endif
