/* pthread_cond_wait, _signal and _broadcast. */
#include "gate.h"

#define WAITERS 16

static void posix_pthread_cond_signal__each_lets_at_least_one_go(void)
{
	struct thread threads[WAITERS];
	struct gate gate;
	enum kind kind;
	int i;

	for (kind = 0; kind < OWN_KINDS; kind++) {
		make_gate(&gate, kind);
		for (i = 0; i < WAITERS; i++)
			start(&threads[i], wait_for_permit, &gate);
		until_waiting(&gate, WAITERS);
		for (i = 0; i < WAITERS; i++) {
			OK(pthread_mutex_lock(&gate.mutex));
			gate.permits++;
			OK(pthread_cond_signal(&gate.cond));
			OK(pthread_mutex_unlock(&gate.mutex));
			UNTIL(passed(&gate) == i + 1);
		}
		for (i = 0; i < WAITERS; i++)
			join(&threads[i]);
		OK(pthread_cond_destroy(&gate.cond));
		OK(pthread_mutex_destroy(&gate.mutex));
	}
}

/* All signals at once, with the mutex held or not: none falls on another. */
static void check_burst(enum kind kind, bool held)
{
	struct thread threads[WAITERS];
	struct gate gate;
	int i;

	make_gate(&gate, kind);
	for (i = 0; i < WAITERS; i++)
		start(&threads[i], wait_for_permit, &gate);
	until_waiting(&gate, WAITERS);
	OK(pthread_mutex_lock(&gate.mutex));
	gate.permits = WAITERS;
	if (!held)
		OK(pthread_mutex_unlock(&gate.mutex));
	for (i = 0; i < WAITERS; i++)
		OK(pthread_cond_signal(&gate.cond));
	if (held)
		OK(pthread_mutex_unlock(&gate.mutex));
	for (i = 0; i < WAITERS; i++)
		join(&threads[i]);
	CHECK_EQ(gate.passed, WAITERS);
	CHECK_EQ(gate.permits, 0);
}

static void posix_pthread_cond_signal__as_many_as_waiters_free_them_all(void)
{
	enum kind kind;

	for (kind = 0; kind < OWN_KINDS; kind++) {
		check_burst(kind, true);
		check_burst(kind, false);
	}
}

static void check_broadcast(enum kind kind, bool held, int waiters)
{
	struct thread *threads = calloc(waiters, sizeof(*threads));
	struct gate gate;
	int i;

	make_gate(&gate, kind);
	for (i = 0; i < waiters; i++)
		start(&threads[i], wait_for_permit, &gate);
	until_waiting(&gate, waiters);
	OK(pthread_mutex_lock(&gate.mutex));
	gate.open = true;
	if (!held)
		OK(pthread_mutex_unlock(&gate.mutex));
	OK(pthread_cond_broadcast(&gate.cond));
	if (held)
		OK(pthread_mutex_unlock(&gate.mutex));
	for (i = 0; i < waiters; i++)
		join(&threads[i]);
	CHECK_EQ(gate.passed, waiters);
	OK(pthread_cond_destroy(&gate.cond));
	OK(pthread_mutex_destroy(&gate.mutex));
	free(threads);
}

static void posix_pthread_cond_broadcast__frees_all_with_the_mutex_held(void)
{
	enum kind kind;

	for (kind = 0; kind < OWN_KINDS; kind++)
		check_broadcast(kind, true, WAITERS);
}

static void posix_pthread_cond_broadcast__frees_all_with_the_mutex_free(void)
{
	enum kind kind;

	for (kind = 0; kind < OWN_KINDS; kind++)
		check_broadcast(kind, false, WAITERS);
}

static void posix_pthread_cond_broadcast__frees_three_hundred(void)
{
	check_broadcast(DEFAULT, true, 300);
	check_broadcast(DEFAULT, false, 300);
}

static void posix_pthread_cond_signal__without_waiters_is_forgotten(void)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 20);
	struct gate gate;
	int i, error = 0;

	make_gate(&gate, DEFAULT);
	OK(pthread_cond_signal(&gate.cond));
	OK(pthread_cond_broadcast(&gate.cond));
	OK(pthread_mutex_lock(&gate.mutex));
	for (i = 0; i < 100 && !error; i++)
		error = pthread_cond_timedwait(&gate.cond, &gate.mutex, &at);
	CHECK_ERR(error, ETIMEDOUT);
	OK(pthread_mutex_unlock(&gate.mutex));
}

static void posix_pthread_cond_init__zeroed_memory_and_attributes(void)
{
	pthread_cond_t *zeroed = calloc(1, sizeof(*zeroed)), cond;
	pthread_condattr_t attr;

	OK(pthread_cond_signal(zeroed));
	OK(pthread_cond_broadcast(zeroed));
	OK(pthread_cond_destroy(zeroed));
	free(zeroed);
	OK(pthread_condattr_init(&attr));
	OK(pthread_cond_init(&cond, &attr));
	OK(pthread_cond_broadcast(&cond));
	OK(pthread_cond_destroy(&cond));
	OK(pthread_cond_init(&cond, NULL));
	OK(pthread_cond_destroy(&cond));
	OK(pthread_condattr_destroy(&attr));
}

/* ------------------------------------------------------- misuse reported -- */

static void posix_pthread_cond_wait__eperm_when_not_owned(void)
{
	static const enum kind checked[] = { ERRORCHECK, RECURSIVE };
	struct timespec at = in_ms(CLOCK_REALTIME, 500);
	struct timespec mono = in_ms(CLOCK_MONOTONIC, 500);
	struct gate gate;
	int i;

	for (i = 0; i < 2; i++) {
		make_gate(&gate, checked[i]);
		CHECK_ERR(pthread_cond_wait(&gate.cond, &gate.mutex), EPERM);
		CHECK_ERR(pthread_cond_timedwait(&gate.cond, &gate.mutex, &at),
			  EPERM);
		CHECK_ERR(pthread_cond_clockwait(&gate.cond, &gate.mutex,
						 CLOCK_MONOTONIC, &mono), EPERM);
		OK(pthread_cond_destroy(&gate.cond));
		OK(pthread_mutex_destroy(&gate.mutex));
	}
}

static void *wait_eperm(void *argument)
{
	struct gate *gate = argument;

	CHECK_ERR(pthread_cond_wait(&gate->cond, &gate->mutex), EPERM);
	return NULL;
}

static void posix_pthread_cond_wait__eperm_when_another_owns_it(void)
{
	struct thread other;
	struct gate gate;

	make_gate(&gate, ERRORCHECK);
	OK(pthread_mutex_lock(&gate.mutex));
	start(&other, wait_eperm, &gate);
	join(&other);
	OK(pthread_mutex_unlock(&gate.mutex));
}

/* ------------------------------------------------------------ recursive -- */

static void *signal_until_passed(void *argument)
{
	struct gate *gate = argument;

	while (!__atomic_load_n(&gate->passed, __ATOMIC_SEQ_CST)) {
		OK(pthread_cond_broadcast(&gate->cond));
		usleep(500);
	}
	return NULL;
}

/*
 * POSIX leaves it undefined; glibc takes one lock off, and waits with the rest
 * held. Programs that do it by mistake live on as long as somebody signals.
 */
static void glibc_pthread_cond_wait__nested_recursive_keeps_its_count(void)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 20);
	struct thread signaller;
	struct gate gate;
	int i, error = 0;

	make_gate(&gate, RECURSIVE);
	for (i = 0; i < 3; i++)
		OK(pthread_mutex_lock(&gate.mutex));
	start(&signaller, signal_until_passed, &gate);
	OK(pthread_cond_wait(&gate.cond, &gate.mutex));
	__atomic_store_n(&gate.passed, 1, __ATOMIC_SEQ_CST);
	join(&signaller);
	for (i = 0; i < 100 && !error; i++)
		error = pthread_cond_timedwait(&gate.cond, &gate.mutex, &at);
	CHECK_ERR(error, ETIMEDOUT);
	CHECK_EQ(gate.mutex.__data.__count, 3);
	for (i = 0; i < 3; i++)
		OK(pthread_mutex_unlock(&gate.mutex));
	CHECK_ERR(pthread_mutex_unlock(&gate.mutex), EPERM);
}

static void posix_pthread_cond_wait__recursive_once_held_is_released(void)
{
	struct thread waiter;
	struct gate gate;

	make_gate(&gate, RECURSIVE);
	start(&waiter, wait_for_permit, &gate);
	until_waiting(&gate, 1);
	OK(pthread_mutex_lock(&gate.mutex));
	OK(pthread_mutex_lock(&gate.mutex));
	gate.permits = 1;
	OK(pthread_cond_signal(&gate.cond));
	OK(pthread_mutex_unlock(&gate.mutex));
	CHECK_EQ(gate.passed, 0);
	OK(pthread_mutex_unlock(&gate.mutex));
	join(&waiter);
	CHECK_EQ(gate.passed, 1);
}

/* --------------------------------------------- signalled against timed out -- */

struct race {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int permits;
	_Atomic int timed_out;
};

static void *wait_until_soon(void *argument)
{
	struct race *race = argument;
	struct timespec at = in_ms(CLOCK_REALTIME, 0);
	int error = 0;

	at.tv_nsec += 300000;
	if (at.tv_nsec >= NS_PER_S) {
		at.tv_nsec -= NS_PER_S;
		at.tv_sec++;
	}
	OK(pthread_mutex_lock(&race->mutex));
	while (!race->permits && !error)
		error = pthread_cond_timedwait(&race->cond, &race->mutex, &at);
	if (race->permits)
		race->permits--;
	else
		race->timed_out++;
	OK(pthread_mutex_unlock(&race->mutex));
	return NULL;
}

static void *wait_for_ever(void *argument)
{
	struct race *race = argument;

	OK(pthread_mutex_lock(&race->mutex));
	while (!race->permits)
		OK(pthread_cond_wait(&race->cond, &race->mutex));
	race->permits--;
	OK(pthread_mutex_unlock(&race->mutex));
	return NULL;
}

/*
 * One signal, at about the deadline of one of two waiters. A waiter that times
 * out must not have used the signal up: the other would wait for ever.
 */
static void posix_pthread_cond_timedwait__timing_out_swallows_no_signal(void)
{
	struct thread timed, patient;
	struct race race;
	int i;

	for (i = 0; i < 600; i++) {
		race = (struct race){
			.mutex = PTHREAD_MUTEX_INITIALIZER,
			.cond = PTHREAD_COND_INITIALIZER,
		};
		start(&timed, wait_until_soon, &race);
		start(&patient, wait_for_ever, &race);
		usleep(150 + i % 200);
		OK(pthread_mutex_lock(&race.mutex));
		race.permits = 1;
		OK(pthread_cond_signal(&race.cond));
		OK(pthread_mutex_unlock(&race.mutex));
		join(&timed);
		if (!race.timed_out) {
			/* The timed one had the permit: the other's turn. */
			OK(pthread_mutex_lock(&race.mutex));
			race.permits = 1;
			OK(pthread_cond_signal(&race.cond));
			OK(pthread_mutex_unlock(&race.mutex));
		}
		join(&patient);
	}
}

/* --------------------------------------------------------- bounded queue -- */

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t filled, emptied;
	int items[4];
	int used, limit;
	long long sum;
	bool closed;
};

static void *produce(void *argument)
{
	struct queue *queue = argument;
	int i;

	for (i = 1; i <= queue->limit; i++) {
		OK(pthread_mutex_lock(&queue->mutex));
		while (queue->used == 4)
			OK(pthread_cond_wait(&queue->emptied, &queue->mutex));
		queue->items[queue->used++] = i;
		OK(pthread_cond_signal(&queue->filled));
		OK(pthread_mutex_unlock(&queue->mutex));
	}
	return NULL;
}

static void *consume(void *argument)
{
	struct queue *queue = argument;

	OK(pthread_mutex_lock(&queue->mutex));
	for (;;) {
		while (!queue->used && !queue->closed)
			OK(pthread_cond_wait(&queue->filled, &queue->mutex));
		if (!queue->used)
			break;
		queue->sum += queue->items[--queue->used];
		OK(pthread_mutex_unlock(&queue->mutex));
		OK(pthread_cond_signal(&queue->emptied));
		OK(pthread_mutex_lock(&queue->mutex));
	}
	OK(pthread_mutex_unlock(&queue->mutex));
	return NULL;
}

static void posix_pthread_cond__bounded_queue_loses_nothing(void)
{
	struct queue queue = { .limit = 3000 };
	struct thread producers[4], consumers[4];
	enum kind kind;
	int i;

	for (kind = 0; kind < OWN_KINDS; kind++) {
		queue = (struct queue){
			.filled = PTHREAD_COND_INITIALIZER,
			.emptied = PTHREAD_COND_INITIALIZER,
			.limit = 2000,
		};
		OK(make_mutex(&queue.mutex, kind));
		for (i = 0; i < 4; i++) {
			start(&producers[i], produce, &queue);
			start(&consumers[i], consume, &queue);
		}
		for (i = 0; i < 4; i++)
			join(&producers[i]);
		OK(pthread_mutex_lock(&queue.mutex));
		queue.closed = true;
		OK(pthread_cond_broadcast(&queue.filled));
		OK(pthread_mutex_unlock(&queue.mutex));
		for (i = 0; i < 4; i++)
			join(&consumers[i]);
		CHECK_EQ(queue.sum, 4LL * queue.limit * (queue.limit + 1) / 2);
	}
}

/* Two mutexes one after the other: allowed, as long as nobody waits between. */
static void posix_pthread_cond_wait__another_mutex_once_nobody_waits(void)
{
	struct thread waiter;
	struct gate gate;
	enum kind kind;

	make_gate(&gate, DEFAULT);
	for (kind = 0; kind < OWN_KINDS; kind++) {
		OK(make_mutex(&gate.mutex, kind));
		start(&waiter, wait_for_permit, &gate);
		until_waiting(&gate, 1);
		OK(pthread_mutex_lock(&gate.mutex));
		gate.permits = 1;
		OK(pthread_cond_broadcast(&gate.cond));
		OK(pthread_mutex_unlock(&gate.mutex));
		join(&waiter);
	}
}

static const struct test tests[] = {
	TEST(posix_pthread_cond_signal__each_lets_at_least_one_go),
	TEST(posix_pthread_cond_signal__as_many_as_waiters_free_them_all),
	TEST(posix_pthread_cond_broadcast__frees_all_with_the_mutex_held),
	TEST(posix_pthread_cond_broadcast__frees_all_with_the_mutex_free),
	TEST(posix_pthread_cond_broadcast__frees_three_hundred),
	TEST(posix_pthread_cond_signal__without_waiters_is_forgotten),
	TEST(posix_pthread_cond_init__zeroed_memory_and_attributes),
	TEST(posix_pthread_cond_wait__eperm_when_not_owned),
	TEST(posix_pthread_cond_wait__eperm_when_another_owns_it),
	TEST(glibc_pthread_cond_wait__nested_recursive_keeps_its_count),
	TEST(posix_pthread_cond_wait__recursive_once_held_is_released),
	TEST(posix_pthread_cond_timedwait__timing_out_swallows_no_signal),
	TEST(posix_pthread_cond__bounded_queue_loses_nothing),
	TEST(posix_pthread_cond_wait__another_mutex_once_nobody_waits),
};

TEST_MAIN(tests)
