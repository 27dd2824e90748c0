/* Mutexes of every kind, also with a ceiling. */
#ifndef CONFORMANCE_KINDS_H
#define CONFORMANCE_KINDS_H

#include "harness.h"

/*
 * Only threads with a priority, which is a privilege, may lock a mutex with a
 * ceiling. Threads that this one starts inherit its priority.
 */
static bool UNUSED make_or_pass(pthread_mutex_t *mutex, enum kind kind)
{
	int policy = kind == PP ? SCHED_FIFO : SCHED_OTHER;
	struct sched_param priority = {
		.sched_priority = sched_get_priority_min(policy),
	};
	int error = pthread_setschedparam(pthread_self(), policy, &priority);

	if (error == EPERM && kind == PP)
		return false;
	OK(error);
	OK(make_mutex(mutex, kind));
	return true;
}

#endif
