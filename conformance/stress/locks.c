/* Mutexes of all kinds, and condition variables: gates with permits, queues. */
#include "stress.h"

enum {
	LOCKS = 10,
	GATES = 4,
	QUEUES = 2,
	ROOM = 8,		/* of a queue */
	MIXERS = 10,
	FEEDERS = 2,		/* of each queue, and as many takers */
	STARTERS = 2,
};

/* ------------------------------------------------------------------ locks -- */

static struct lock {
	pthread_mutex_t mutex;
	_Atomic int inside;
	long counter;
	_Atomic long expected;
} locks[LOCKS];

static int lock_somehow(struct actor *actor, struct lock *lock)
{
	struct timespec at;

	switch (next_random(&actor->random) % 8) {
	case 0:
		does(actor, "tries lock", lock - locks);
		return pthread_mutex_trylock(&lock->mutex);
	case 1:
		does(actor, "locks until soon", lock - locks);
		at = soon(actor, CLOCK_REALTIME);
		return pthread_mutex_timedlock(&lock->mutex, &at);
	case 2:
		does(actor, "locks until soon", lock - locks);
		at = soon(actor, CLOCK_MONOTONIC);
		return pthread_mutex_clocklock(&lock->mutex, CLOCK_MONOTONIC,
					       &at);
	default:
		does(actor, "locks", lock - locks);
		return pthread_mutex_lock(&lock->mutex);
	}
}

void use_lock(struct actor *actor)
{
	/* All threads use the first, so that some are contended a lot. */
	uint32_t choice = next_random(&actor->random);
	struct lock *lock = &locks[choice % 2 ? choice / 2 % LOCKS : 0];
	int error = lock_somehow(actor, lock);

	if (error) {
		CHECK(error == EBUSY || error == ETIMEDOUT);
		got_on(actor);
		return;
	}
	CHECK_EQ(lock->inside++, 0);
	lock->counter++;
	lock->expected++;
	dawdle(actor);
	CHECK_EQ(lock->inside--, 1);
	OK(pthread_mutex_unlock(&lock->mutex));
	got_on(actor);
}

/* ------------------------------------------------------------------ gates -- */

/* A few permits, and one signal for each that comes back. */
static struct gate {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int permits, all;
} gates[GATES];

struct stay {
	struct gate *gate;
	bool has_permit;
};

/* Also a cleanup handler: the mutex is held. */
static void leave_gate(void *argument)
{
	struct stay *stay = argument;

	if (stay->has_permit) {
		stay->gate->permits++;
		OK(pthread_cond_signal(&stay->gate->cond));
	}
	OK(pthread_mutex_unlock(&stay->gate->mutex));
}

static void give_permit_back(void *argument)
{
	struct stay *stay = argument;

	OK(pthread_mutex_lock(&stay->gate->mutex));
	leave_gate(stay);
}

static int wait_somehow(struct actor *actor, struct gate *gate)
{
	struct timespec at;

	switch (next_random(&actor->random) % 4) {
	case 0:
		does(actor, "waits until soon at gate", gate - gates);
		at = soon(actor, CLOCK_REALTIME);
		return pthread_cond_timedwait(&gate->cond, &gate->mutex, &at);
	case 1:
		does(actor, "waits until soon at gate", gate - gates);
		at = soon(actor, CLOCK_MONOTONIC);
		return pthread_cond_clockwait(&gate->cond, &gate->mutex,
					      CLOCK_MONOTONIC, &at);
	default:
		does(actor, "waits at gate", gate - gates);
		return pthread_cond_wait(&gate->cond, &gate->mutex);
	}
}

void pass_gate(struct actor *actor)
{
	struct gate *gate = &gates[next_random(&actor->random) % GATES];
	struct stay stay = { .gate = gate };
	int error = 0;

	does(actor, "locks gate", gate - gates);
	OK(pthread_mutex_lock(&gate->mutex));
	pthread_cleanup_push(leave_gate, &stay);
	while (!gate->permits && !error) {
		error = wait_somehow(actor, gate);
		CHECK(error == 0 || error == ETIMEDOUT);
		if (next_random(&actor->random) % 256 == 0)
			OK(pthread_cond_broadcast(&gate->cond));
	}
	if (gate->permits) {
		gate->permits--;
		stay.has_permit = true;
	}
	CHECK(gate->permits >= 0 && gate->permits <= gate->all);
	pthread_cleanup_pop(0);
	OK(pthread_mutex_unlock(&gate->mutex));
	if (stay.has_permit) {
		pthread_cleanup_push(give_permit_back, &stay);
		dawdle(actor);
		does(actor, "returns a permit of gate", gate - gates);
		pthread_cleanup_pop(1);
	}
	got_on(actor);
}

/* ----------------------------------------------------------------- queues -- */

static struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t filled, emptied;
	int items[ROOM], first, used, feeders;
	long long in, out;
} queues[QUEUES];

ACTOR(feed, "feeder", struct queue *queue)
{
	int item;

	while (!stop) {
		item = next_random(&actor->random) % 1000;
		does(actor, "feeds queue", queue - queues);
		OK(pthread_mutex_lock(&queue->mutex));
		while (queue->used == ROOM)
			OK(pthread_cond_wait(&queue->emptied, &queue->mutex));
		queue->items[(queue->first + queue->used++) % ROOM] = item;
		queue->in += item;
		OK(pthread_cond_signal(&queue->filled));
		OK(pthread_mutex_unlock(&queue->mutex));
		got_on(actor);
		dawdle(actor);
	}
	OK(pthread_mutex_lock(&queue->mutex));
	queue->feeders--;
	OK(pthread_cond_broadcast(&queue->filled));
	OK(pthread_mutex_unlock(&queue->mutex));
}

ACTOR(take, "taker", struct queue *queue)
{
	OK(pthread_mutex_lock(&queue->mutex));
	for (;;) {
		does(actor, "takes from queue", queue - queues);
		while (!queue->used && queue->feeders)
			OK(pthread_cond_wait(&queue->filled, &queue->mutex));
		if (!queue->used)
			break;
		queue->out += queue->items[queue->first];
		queue->first = (queue->first + 1) % ROOM;
		queue->used--;
		OK(pthread_mutex_unlock(&queue->mutex));
		OK(pthread_cond_signal(&queue->emptied));
		got_on(actor);
		dawdle(actor);
		OK(pthread_mutex_lock(&queue->mutex));
	}
	OK(pthread_mutex_unlock(&queue->mutex));
}

/* --------------------------------------------------------------- coming, going -- */

ACTOR(mix, "mixer", void *argument UNUSED)
{
	while (!stop) {
		if (next_random(&actor->random) % 2)
			use_lock(actor);
		else
			pass_gate(actor);
	}
}

ACTOR(live_shortly, "short-lived", void *argument UNUSED)
{
	int left = next_random(&actor->random) % 20;

	while (left--) {
		use_lock(actor);
		pass_gate(actor);
	}
}

ACTOR(keep_starting, "starter", void *argument UNUSED)
{
	struct thread threads[SHORT_LIVED];

	while (!stop) {
		does(actor, "starts threads", SHORT_LIVED);
		start_all(threads, SHORT_LIVED, live_shortly, NULL);
		does(actor, "joins threads", SHORT_LIVED);
		join_all(threads, SHORT_LIVED);
		got_on(actor);
	}
}

static void make_all(void)
{
	for (int i = 0; i < LOCKS; i++)
		OK(make_mutex(&locks[i].mutex, i % OWN_KINDS));
	for (int i = 0; i < GATES; i++) {
		OK(make_mutex(&gates[i].mutex, i == GATES - 1 ? PSHARED : i));
		make_cond(&gates[i].cond, CLOCK_REALTIME, false);
		gates[i].permits = gates[i].all = 1 + i % 3;
	}
	for (int i = 0; i < QUEUES; i++) {
		OK(make_mutex(&queues[i].mutex, i ? ERRORCHECK : DEFAULT));
		make_cond(&queues[i].filled, CLOCK_MONOTONIC, false);
		make_cond(&queues[i].emptied, CLOCK_REALTIME, false);
		queues[i].feeders = FEEDERS;
	}
}

static void begin(int strength UNUSED)
{
	make_all();
	for (int i = 0; i < MIXERS; i++)
		enlist(mix, NULL);
	for (int i = 0; i < QUEUES * FEEDERS; i++) {
		enlist(feed, &queues[i % QUEUES]);
		enlist(take, &queues[i % QUEUES]);
	}
	for (int i = 0; i < STARTERS; i++)
		enlist(keep_starting, NULL);
}

/* Destroying a lock that is held or waited with would return EBUSY. */
static void check(void)
{
	for (int i = 0; i < LOCKS; i++) {
		CHECK_EQ(locks[i].counter, locks[i].expected);
		OK(pthread_mutex_destroy(&locks[i].mutex));
	}
	for (int i = 0; i < GATES; i++) {
		CHECK_EQ(gates[i].permits, gates[i].all);
		OK(pthread_cond_destroy(&gates[i].cond));
		OK(pthread_mutex_destroy(&gates[i].mutex));
	}
	for (int i = 0; i < QUEUES; i++) {
		CHECK_EQ(queues[i].in, queues[i].out);
		OK(pthread_mutex_destroy(&queues[i].mutex));
	}
}

const struct subject locks_subject = {
	.name = "locks",
	.begin = begin,
	.check = check,
};
