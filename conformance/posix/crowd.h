/* Several threads that do the same, and one that does something and ends. */
#ifndef CONFORMANCE_CROWD_H
#define CONFORMANCE_CROWD_H

#include "../pthread/harness.h"

/* Defines what a thread does, with its argument as what it is. */
#define THREAD(name, argument)						\
	static void name##_does(argument);				\
	static UNUSED void *name(void *given)				\
	{								\
		name##_does(given);					\
		return NULL;						\
	}								\
	static void name##_does(argument)

static void UNUSED all_asleep(struct thread *threads, size_t count)
{
	for (size_t i = 0; i < count; i++)
		until_asleep(&threads[i]);
}

/* The same of arrays. */
#define START_ALL(threads, run, argument) start_all(threads, COUNT(threads), run, argument)
#define ALL_ASLEEP(threads) all_asleep(threads, COUNT(threads))
#define JOIN_ALL(threads) join_all(threads, COUNT(threads))

/* Returns when all of them have ended. */
static void UNUSED run_together(size_t count, void *(*run)(void *), void *argument)
{
	struct thread threads[count];

	start_all(threads, count, run, argument);
	join_all(threads, count);
}

static void UNUSED in_a_thread(void *(*run)(void *), void *argument)
{
	run_together(1, run, argument);
}

/* Whether the barrier tells this thread, of all that meet, that it is the one. */
static bool UNUSED meet_at(pthread_barrier_t *barrier)
{
	int got = pthread_barrier_wait(barrier);

	if (got != PTHREAD_BARRIER_SERIAL_THREAD)
		OK(got);
	return got;
}

static void UNUSED cancel_and_join(struct thread *thread)
{
	OK(pthread_cancel(thread->pthread));
	CHECK(join(thread) == PTHREAD_CANCELED);
}

#endif
