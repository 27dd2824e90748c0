/*
 * Semaphores: pools of permits that are waited for in every way, and semaphores
 * that are unmapped as soon as the one wait for them is over.
 */
#include "stress.h"

enum {
	POOLS = 4,
	USERS = 6,
	COURIERS = 2,
	PAGE = 4096,
};

/* ------------------------------------------------------------------ pools -- */

static struct pool {
	sem_t semaphore;
	int all;
	_Atomic int inside;
} pools[POOLS];

static int take_somehow(struct actor *actor, struct pool *pool)
{
	struct timespec at;

	switch (next_random(&actor->random) % 8) {
	case 0:
		does(actor, "tries pool", pool - pools);
		return sem_trywait(&pool->semaphore);
	case 1:
		does(actor, "waits until soon for pool", pool - pools);
		at = soon(actor, CLOCK_REALTIME);
		return sem_timedwait(&pool->semaphore, &at);
	case 2:
		does(actor, "waits until soon for pool", pool - pools);
		at = soon(actor, CLOCK_MONOTONIC);
		return sem_clockwait(&pool->semaphore, CLOCK_MONOTONIC, &at);
	default:
		does(actor, "waits for pool", pool - pools);
		return sem_wait(&pool->semaphore);
	}
}

static void leave_pool(void *argument)
{
	struct pool *pool = argument;

	pool->inside--;
	CHECK_EQ(sem_post(&pool->semaphore), 0);
}

void use_semaphore(struct actor *actor)
{
	struct pool *pool = &pools[next_random(&actor->random) % POOLS];

	if (take_somehow(actor, pool)) {
		CHECK(errno == EAGAIN || errno == ETIMEDOUT || errno == EINTR);
		got_on(actor);
		return;
	}
	CHECK(++pool->inside <= pool->all);
	pthread_cleanup_push(leave_pool, pool);
	dawdle(actor);
	pthread_cleanup_pop(1);
	got_on(actor);
}

ACTOR(use, "user", void *argument UNUSED)
{
	if (next_random(&actor->random) % 2)
		block_storm();
	while (!stop)
		use_semaphore(actor);
}

/* --------------------------------------------------------------- couriers -- */

/* A semaphore that is to be posted once, and is gone then. */
static sem_t *_Atomic asked_for[COURIERS];

ACTOR(ask, "asker", sem_t *_Atomic *place)
{
	sem_t *answer;

	if (place != asked_for)
		block_storm();
	while (!stop) {
		does(actor, "waits for courier", place - asked_for);
		answer = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(answer != MAP_FAILED);
		CHECK_EQ(sem_init(answer, 0, 0), 0);
		*place = answer;
		while (sem_wait(answer))
			CHECK_EQ(errno, EINTR);
		CHECK_EQ(munmap(answer, PAGE), 0);
		got_on(actor);
	}
	*place = MAP_FAILED;
}

ACTOR(bring, "courier", sem_t *_Atomic *place)
{
	sem_t *answer;

	for (;;) {
		does(actor, "waits to be asked", place - asked_for);
		while (!(answer = atomic_exchange(place, NULL)))
			sched_yield();
		if (answer == MAP_FAILED)
			break;
		if (next_random(&actor->random) % 2)
			dawdle(actor);
		CHECK_EQ(sem_post(answer), 0);
		got_on(actor);
	}
}

/* -------------------------------------------------------------------- all -- */

static void begin(int strength UNUSED)
{
	for (int i = 0; i < POOLS; i++) {
		pools[i].all = 1 + i % 3;
		CHECK_EQ(sem_init(&pools[i].semaphore, 0, pools[i].all), 0);
	}
	for (int i = 0; i < USERS; i++)
		enlist(use, NULL);
	for (int i = 0; i < COURIERS; i++) {
		enlist(ask, &asked_for[i]);
		enlist(bring, &asked_for[i]);
	}
}

static void check(void)
{
	int value;

	for (int i = 0; i < POOLS; i++) {
		CHECK_EQ(sem_getvalue(&pools[i].semaphore, &value), 0);
		CHECK_EQ(value, pools[i].all);
	}
}

const struct subject semaphores_subject = {
	.name = "semaphores",
	.begin = begin,
	.check = check,
};
