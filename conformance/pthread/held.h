/* Mutexes that another thread holds. */
#ifndef CONFORMANCE_HELD_H
#define CONFORMANCE_HELD_H

#include "../posix/crowd.h"

struct held {
	pthread_mutex_t mutex;
	_Atomic bool holds, release;
};

THREAD(hold, struct held *held)
{
	OK(pthread_mutex_lock(&held->mutex));
	held->holds = true;
	UNTIL(held->release);
	OK(pthread_mutex_unlock(&held->mutex));
}

/* The mutex is initialised already. */
static void UNUSED hold_made(struct held *held, struct thread *holder)
{
	held->holds = held->release = false;
	start(holder, hold, held);
	UNTIL(held->holds);
}

static void UNUSED hold_elsewhere(struct held *held, struct thread *holder,
				  enum kind kind)
{
	OK(make_mutex(&held->mutex, kind));
	hold_made(held, holder);
}

static void UNUSED let_go(struct held *held, struct thread *holder)
{
	held->release = true;
	join(holder);
	OK(pthread_mutex_destroy(&held->mutex));
}

#endif
