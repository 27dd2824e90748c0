/* Threads that wait at a condvar until they are let through, one or all. */
#ifndef CONFORMANCE_GATE_H
#define CONFORMANCE_GATE_H

#include "../posix/crowd.h"

struct gate {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int waiting, permits, passed;
	bool open;
};

static void UNUSED make_gate(struct gate *gate, enum kind kind)
{
	*gate = (struct gate){ .cond = PTHREAD_COND_INITIALIZER };
	OK(make_mutex(&gate->mutex, kind));
}

THREAD(wait_for_permit, struct gate *gate)
{
	OK(pthread_mutex_lock(&gate->mutex));
	gate->waiting++;
	while (!gate->permits && !gate->open) {
		errno = 4714;
		OK(pthread_cond_wait(&gate->cond, &gate->mutex));
		CHECK_EQ(errno, 4714);
		CHECK_EQ(gate->mutex.__data.__owner, gettid());
	}
	if (!gate->open)
		gate->permits--;
	gate->waiting--;
	gate->passed++;
	OK(pthread_mutex_unlock(&gate->mutex));
}

static int UNUSED passed(struct gate *gate)
{
	int result;

	OK(pthread_mutex_lock(&gate->mutex));
	result = gate->passed;
	OK(pthread_mutex_unlock(&gate->mutex));
	return result;
}

static void UNUSED until_waiting(struct gate *gate, int count)
{
	int waiting;

	do {
		usleep(200);
		OK(pthread_mutex_lock(&gate->mutex));
		waiting = gate->waiting;
		OK(pthread_mutex_unlock(&gate->mutex));
	} while (waiting != count);
}

#endif
