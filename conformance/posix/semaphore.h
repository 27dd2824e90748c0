/* What the programs about semaphores share: the calls, and others' waits. */
#ifndef CONFORMANCE_SEMAPHORE_H
#define CONFORMANCE_SEMAPHORE_H

#include "calls.h"
#include "../pthread/harness.h"

#include <semaphore.h>

/* A function that returns -1 and says why in errno. */
#define CHECK_ERRNO(call, wanted)					\
	do {								\
		int got_ = (errno = 0, (call)), errno_ = errno;		\
		if (got_ != -1 || errno_ != (wanted))			\
			FAIL("%s returned %d with errno %d (%s), not %s",\
			     #call, got_, errno_, strerror(errno_),	\
			     #wanted);					\
	} while (0)

#define CHECK_VALUE(sem, wanted)					\
	do {								\
		int value_ = -4711;					\
		CHECK_EQ(sem_getvalue(sem, &value_), 0);		\
		CHECK_EQ(value_, wanted);				\
	} while (0)

#define SEM_INIT(sem, value) CHECK_EQ(sem_init(sem, 0, value), 0)
#define SEM_INIT_SHARED(sem, value) CHECK_EQ(sem_init(sem, 1, value), 0)
#define POST(sem) CHECK_EQ(sem_post(sem), 0)
#define DESTROY(sem) CHECK_EQ(sem_destroy(sem), 0)

static int UNUSED take_until(sem_t *sem, enum call call,
			     const struct timespec *at)
{
	switch (call) {
	case WAIT:
		return sem_wait(sem);
	case TIMEDWAIT:
		return sem_timedwait(sem, at);
	default:
		return sem_clockwait(sem, clock_of(call), at);
	}
}

/* The deadline counts for the calls that have one. */
static int UNUSED take(sem_t *sem, enum call call, int64_t ms)
{
	struct timespec at = in_ms(clock_of(call), ms);

	return take_until(sem, call, &at);
}

/* A thread that waits once. */
struct waiter {
	struct thread thread;
	sem_t *sem;
	enum call call;
	int64_t ms;
	/* The call's result; an error of it. */
	int result, error;
	_Atomic bool done;
};

static void *waiter_run(void *argument)
{
	struct waiter *waiter = argument;

	waiter->result = take(waiter->sem, waiter->call, waiter->ms);
	waiter->error = waiter->result ? errno : 0;
	waiter->done = true;
	return NULL;
}

static void UNUSED start_waiter(struct waiter *waiter, sem_t *sem,
				enum call call)
{
	*waiter = (struct waiter){ .sem = sem, .call = call, .ms = LONG_MS };
	start(&waiter->thread, waiter_run, waiter);
}

/* Sleeps on the semaphore when this returns. */
static void UNUSED wait_elsewhere(struct waiter *waiter, sem_t *sem,
				  enum call call)
{
	start_waiter(waiter, sem, call);
	until_asleep(&waiter->thread);
	CHECK(!waiter->done);
}

/* The wait has ended, or does so now, with this error or without any. */
static void UNUSED check_ended(struct waiter *waiter, int error)
{
	join(&waiter->thread);
	CHECK_EQ(waiter->error, error);
	CHECK_EQ(waiter->result, error ? -1 : 0);
}

#define CHECK_ALL_ENDED(waiters)						\
	do {								\
		for (EACH(i_, waiters))					\
			check_ended(&(waiters)[i_], 0);			\
	} while (0)

/* A post ends this call's wait. */
static void UNUSED check_post_ends(sem_t *sem, enum call call)
{
	struct waiter waiter;

	wait_elsewhere(&waiter, sem, call);
	POST(sem);
	check_ended(&waiter, 0);
}

/* What holds of a semaphore with this value that no thread waits for. */
static void UNUSED check_free(sem_t *sem, int value)
{
	int i;

	CHECK_VALUE(sem, value);
	for (i = 0; i < value; i++)
		CHECK_EQ(sem_trywait(sem), 0);
	CHECK_ERRNO(sem_trywait(sem), EAGAIN);
	for (i = 0; i < value; i++)
		POST(sem);
	CHECK_VALUE(sem, value);
}

#endif
