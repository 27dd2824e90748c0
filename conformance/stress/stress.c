/*
 * A random mix of all that the preload replaces, with a watchdog that looks for
 * lost wakeups: every thread counts what it gets done, and one that gets nothing
 * done for STUCK_S has been forgotten.
 *
 *	stress [--seconds N] [--seed S]
 *
 * Prints the seed, which repeats the choices, if not the schedule. Exit 0 if
 * everybody got on and the sums are right, 1 with a word on who was doing what
 * if not, 2 for wrong arguments.
 */
#include "../pthread/harness.h"

#include <stdatomic.h>

#define STUCK_S 10

enum {
	LOCKS = 10,
	GATES = 4,
	QUEUES = 2,
	ROOM = 8,		/* of a queue */
	MIXERS = 12,
	FEEDERS = 2,		/* of each queue, and as many takers */
	STARTERS = 2,
	CANCELLERS = 2,
	FORKERS = 1,
	SHORT_LIVED = 3,	/* threads that a starter has at a time */
	ACTORS = 256,
};

/* ------------------------------------------------------------- who is who -- */

/* What the watchdog sees of a thread. */
struct actor {
	const char *_Atomic role;	/* NULL: free */
	const char *_Atomic doing;
	_Atomic int with;
	_Atomic long progress;
	_Atomic pid_t tid;
	uint32_t random;
	/* The watchdog's own. */
	long seen;
	int64_t seen_ns;
};

static struct actor actors[ACTORS];
static _Atomic bool stop;
static _Atomic long total;
static uint64_t seed = 1;
static _Atomic uint32_t actors_so_far;

static struct actor *appear(const char *role)
{
	uint32_t number = ++actors_so_far;
	const char *nobody;
	int i;

	for (i = 0; i < ACTORS; i++) {
		nobody = NULL;
		if (!atomic_compare_exchange_strong(&actors[i].role, &nobody,
						    "(begins)"))
			continue;
		actors[i].doing = "begins";
		actors[i].progress++;
		actors[i].tid = gettid();
		actors[i].random = (uint32_t)(seed * 2654435761u) ^
				   (number * 40503u * 65537u);
		if (!actors[i].random)
			actors[i].random = 1;
		actors[i].role = role;
		return &actors[i];
	}
	FAIL("more than %d threads", ACTORS);
}

static void vanish(struct actor *actor)
{
	actor->role = NULL;
}

static void does(struct actor *actor, const char *what, int with)
{
	actor->with = with;
	actor->doing = what;
}

static void got_on(struct actor *actor)
{
	actor->progress++;
	total++;
}

static void dump(void)
{
	int i;

	for (i = 0; i < ACTORS; i++)
		if (actors[i].role)
			fprintf(stderr, "  %-12s tid %d: %s %d, %ld done%s\n",
				actors[i].role, actors[i].tid, actors[i].doing,
				actors[i].with, actors[i].progress,
				is_asleep(actors[i].tid) ? ", asleep" : "");
}

static void *watch(void *argument UNUSED)
{
	int64_t now;
	int i;

	for (;;) {
		usleep(250000);
		now = now_ns(CLOCK_MONOTONIC);
		for (i = 0; i < ACTORS; i++) {
			struct actor *actor = &actors[i];

			if (!actor->role || actor->seen != actor->progress) {
				actor->seen = actor->progress;
				actor->seen_ns = now;
			} else if (now - actor->seen_ns > STUCK_S * NS_PER_S) {
				fprintf(stderr,
					"FAILED: tid %d stuck for %d s, seed %llu\n",
					actor->tid, STUCK_S,
					(unsigned long long)seed);
				dump();
				_exit(1);
			}
		}
	}
	return NULL;
}

static struct timespec soon(struct actor *actor, clockid_t clock)
{
	struct timespec at = in_ms(clock, 0);

	at.tv_nsec += next_random(&actor->random) % 2000000;
	if (at.tv_nsec >= NS_PER_S) {
		at.tv_nsec -= NS_PER_S;
		at.tv_sec++;
	}
	return at;
}

/* A few probes, a yield, or a short sleep: sections of all lengths. */
static void dawdle(struct actor *actor)
{
	uint32_t choice = next_random(&actor->random) % 64;

	if (choice == 0)
		usleep(next_random(&actor->random) % 300);
	else if (choice < 4)
		sched_yield();
	else
		while (choice--)
			__asm__ volatile("pause");
}

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

static void use_lock(struct actor *actor)
{
	/* The first is everybody's, so that some are contended a lot. */
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

/* May be cancelled at any point of it, without a permit getting lost. */
static void pass_gate(struct actor *actor)
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

static void *feed(void *argument)
{
	struct actor *actor = appear("feeder");
	struct queue *queue = argument;
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
	vanish(actor);
	return NULL;
}

static void *take(void *argument)
{
	struct actor *actor = appear("taker");
	struct queue *queue = argument;

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
	vanish(actor);
	return NULL;
}

/* --------------------------------------------------------------- coming, going -- */

static void *mix(void *argument UNUSED)
{
	struct actor *actor = appear("mixer");

	while (!stop) {
		if (next_random(&actor->random) % 2)
			use_lock(actor);
		else
			pass_gate(actor);
	}
	vanish(actor);
	return NULL;
}

static void *live_shortly(void *argument UNUSED)
{
	struct actor *actor = appear("short-lived");
	int left = next_random(&actor->random) % 20;

	while (left--) {
		use_lock(actor);
		pass_gate(actor);
	}
	vanish(actor);
	return NULL;
}

static void *keep_starting(void *argument UNUSED)
{
	struct actor *actor = appear("starter");
	struct thread threads[SHORT_LIVED];
	int i;

	while (!stop) {
		does(actor, "starts threads", SHORT_LIVED);
		for (i = 0; i < SHORT_LIVED; i++)
			start(&threads[i], live_shortly, NULL);
		does(actor, "joins threads", SHORT_LIVED);
		for (i = 0; i < SHORT_LIVED; i++)
			join(&threads[i]);
		got_on(actor);
	}
	vanish(actor);
	return NULL;
}

static void vanish_at_last(void *actor)
{
	vanish(actor);
}

/* An actor of its own until it is cancelled. */
static void *pass_until_cancelled(void *argument UNUSED)
{
	struct actor *actor;
	int state;

	OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state));
	actor = appear("cancelled");
	pthread_cleanup_push(vanish_at_last, actor);
	OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state));
	for (;;) {
		pass_gate(actor);
		pthread_testcancel();
	}
	pthread_cleanup_pop(1);
	return NULL;
}

static void *keep_cancelling(void *argument UNUSED)
{
	struct actor *actor = appear("canceller");
	struct thread threads[SHORT_LIVED];
	int i;

	while (!stop) {
		does(actor, "starts threads", SHORT_LIVED);
		for (i = 0; i < SHORT_LIVED; i++)
			start(&threads[i], pass_until_cancelled, NULL);
		usleep(next_random(&actor->random) % 3000);
		does(actor, "cancels threads", SHORT_LIVED);
		for (i = 0; i < SHORT_LIVED; i++)
			OK(pthread_cancel(threads[i].pthread));
		for (i = 0; i < SHORT_LIVED; i++)
			CHECK(join(&threads[i]) == PTHREAD_CANCELED);
		got_on(actor);
	}
	vanish(actor);
	return NULL;
}

/* ------------------------------------------------------------------- forks -- */

/* Contended here, held by who forks, and contended again in the child. */
static pthread_mutex_t across_fork = PTHREAD_MUTEX_INITIALIZER;

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int permits;
	long counter;
} child_work = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.cond = PTHREAD_COND_INITIALIZER,
	.permits = 1,
};

static void *work_in_child(void *argument UNUSED)
{
	int i;

	for (i = 0; i < 50; i++) {
		OK(pthread_mutex_lock(&across_fork));
		child_work.counter++;
		OK(pthread_mutex_unlock(&across_fork));
		OK(pthread_mutex_lock(&child_work.mutex));
		while (!child_work.permits)
			OK(pthread_cond_wait(&child_work.cond,
					     &child_work.mutex));
		child_work.permits--;
		OK(pthread_mutex_unlock(&child_work.mutex));
		OK(pthread_mutex_lock(&child_work.mutex));
		child_work.permits++;
		OK(pthread_cond_signal(&child_work.cond));
		OK(pthread_mutex_unlock(&child_work.mutex));
	}
	return NULL;
}

static void be_a_child(void)
{
	struct thread threads[4];
	int i;

	OK(pthread_mutex_unlock(&across_fork));
	for (i = 0; i < 4; i++)
		start(&threads[i], work_in_child, NULL);
	for (i = 0; i < 4; i++)
		join(&threads[i]);
	CHECK_EQ(child_work.counter, 4 * 50);
	_exit(0);
}

static void *keep_forking(void *argument UNUSED)
{
	struct actor *actor = appear("forker");
	pid_t child;

	while (!stop) {
		does(actor, "locks for fork", 0);
		OK(pthread_mutex_lock(&across_fork));
		child = fork();
		CHECK(child >= 0);
		if (child == 0) {
			arm_watchdog(STUCK_S - 1);
			be_a_child();
		}
		OK(pthread_mutex_unlock(&across_fork));
		does(actor, "waits for child", child);
		REAP(child);
		got_on(actor);
		usleep(next_random(&actor->random) % 20000);
	}
	vanish(actor);
	return NULL;
}

static void *contend_for_fork(void *argument UNUSED)
{
	struct actor *actor = appear("contender");

	while (!stop) {
		does(actor, "locks for fork", 0);
		OK(pthread_mutex_lock(&across_fork));
		dawdle(actor);
		OK(pthread_mutex_unlock(&across_fork));
		got_on(actor);
		dawdle(actor);
	}
	vanish(actor);
	return NULL;
}

/* -------------------------------------------------------------------- main -- */

static void make_all(void)
{
	int i;

	for (i = 0; i < LOCKS; i++)
		OK(make_mutex(&locks[i].mutex, i % OWN_KINDS));
	for (i = 0; i < GATES; i++) {
		OK(make_mutex(&gates[i].mutex, i == GATES - 1 ? PSHARED : i));
		make_cond(&gates[i].cond, CLOCK_REALTIME, false);
		gates[i].permits = gates[i].all = 1 + i % 3;
	}
	for (i = 0; i < QUEUES; i++) {
		OK(make_mutex(&queues[i].mutex, i ? ERRORCHECK : DEFAULT));
		make_cond(&queues[i].filled, CLOCK_MONOTONIC, false);
		make_cond(&queues[i].emptied, CLOCK_REALTIME, false);
		queues[i].feeders = FEEDERS;
	}
}

static void check_all(void)
{
	int i;

	for (i = 0; i < LOCKS; i++) {
		CHECK_EQ(locks[i].counter, locks[i].expected);
		OK(pthread_mutex_trylock(&locks[i].mutex));
	}
	for (i = 0; i < GATES; i++) {
		CHECK_EQ(gates[i].permits, gates[i].all);
		OK(pthread_mutex_trylock(&gates[i].mutex));
	}
	for (i = 0; i < QUEUES; i++)
		CHECK_EQ(queues[i].in, queues[i].out);
}

static int parse(int argc, char **argv, long *seconds)
{
	int i;

	for (i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seconds"))
			*seconds = atol(argv[i + 1]);
		else if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 10);
		else
			return -1;
	}
	return i == argc && *seconds > 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	static struct thread threads[ACTORS];
	pthread_t watchdog_thread;
	long seconds = 10;
	int i, count = 0;

	seed = (uint64_t)now_ns(CLOCK_REALTIME) % 1000000007;
	if (parse(argc, argv, &seconds)) {
		fprintf(stderr, "usage: stress [--seconds N] [--seed S]\n");
		return 2;
	}
	printf("seed %llu, %ld s\n", (unsigned long long)seed, seconds);
	fflush(stdout);
	running = "stress";
	make_all();
	OK(pthread_create(&watchdog_thread, NULL, watch, NULL));
	for (i = 0; i < MIXERS; i++)
		start(&threads[count++], mix, NULL);
	for (i = 0; i < QUEUES * FEEDERS; i++) {
		start(&threads[count++], feed, &queues[i % QUEUES]);
		start(&threads[count++], take, &queues[i % QUEUES]);
	}
	for (i = 0; i < STARTERS; i++)
		start(&threads[count++], keep_starting, NULL);
	for (i = 0; i < CANCELLERS; i++)
		start(&threads[count++], keep_cancelling, NULL);
	for (i = 0; i < FORKERS; i++) {
		start(&threads[count++], keep_forking, NULL);
		start(&threads[count++], contend_for_fork, NULL);
		start(&threads[count++], contend_for_fork, NULL);
	}
	sleep_ms(seconds * 1000);
	stop = true;
	for (i = 0; i < count; i++)
		join(&threads[i]);
	check_all();
	printf("passed: %ld operations, %u threads\n", total, actors_so_far);
	return 0;
}
