/* Threads with priorities, for tests of which goes first. */
#ifndef CONFORMANCE_PRIORITY_H
#define CONFORMANCE_PRIORITY_H

#include "../pthread/harness.h"

/* What waits with a priority, and when it had what it waited for. */
struct ranked {
	struct thread thread;
	int priority;
	/* Takes its turn while no other thread can have the object. */
	void (*wait)(struct ranked *ranked);
	void *object;
	_Atomic int *turns;
	int turn;
};

static void UNUSED take_turn(struct ranked *ranked)
{
	ranked->turn = ++*ranked->turns;
}

static void *ranked_run(void *argument)
{
	struct ranked *ranked = argument;
	struct sched_param param = { .sched_priority = ranked->priority };
	int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);

	if (error == EPERM)
		SKIP("no privilege to have a priority");
	OK(error);
	ranked->wait(ranked);
	return NULL;
}

/*
 * Five threads with these priorities wait, one after another; `release` is
 * called for each turn in a row, once the one before has been taken. They must
 * go in these turns.
 */
static void UNUSED check_ranks(const int *priorities, const int *turns,
			       void (*wait)(struct ranked *ranked),
			       void (*release)(void *object, int turn),
			       void *object)
{
	struct ranked ranked[5];
	_Atomic int turn = 0;

	for (int i = 0; i < 5; i++) {
		ranked[i] = (struct ranked){
			.priority = priorities[i],
			.wait = wait,
			.object = object,
			.turns = &turn,
		};
		start_asleep(&ranked[i].thread, ranked_run, &ranked[i]);
	}
	for (int i = 0; i < 5; i++) {
		release(object, i);
		UNTIL(turn > i);
	}
	for (int i = 0; i < 5; i++)
		join(&ranked[i].thread);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(ranked[i].turn, turns[i]);
}

#endif
