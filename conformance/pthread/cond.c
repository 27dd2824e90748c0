/* Condvars in crowds and races, and what glibc does where POSIX doesn't say. */
#include "gate.h"

TEST(posix_pthread_cond_broadcast__frees_three_hundred)
{
	enum { WAITERS = 300 };
	static struct thread threads[WAITERS];
	struct gate gate;

	for (int held = 0; held < 2; held++) {
		make_gate(&gate, DEFAULT);
		start_all(threads, WAITERS, wait_for_permit, &gate);
		until_waiting(&gate, WAITERS);
		OK(pthread_mutex_lock(&gate.mutex));
		gate.open = true;
		if (!held)
			OK(pthread_mutex_unlock(&gate.mutex));
		OK(pthread_cond_broadcast(&gate.cond));
		if (held)
			OK(pthread_mutex_unlock(&gate.mutex));
		join_all(threads, WAITERS);
		CHECK_EQ(gate.passed, WAITERS);
		OK(pthread_cond_destroy(&gate.cond));
		OK(pthread_mutex_destroy(&gate.mutex));
	}
}

THREAD(signal_until_passed, struct gate *gate)
{
	while (!__atomic_load_n(&gate->passed, __ATOMIC_SEQ_CST)) {
		OK(pthread_cond_broadcast(&gate->cond));
		usleep(500);
	}
}

/*
 * POSIX leaves it undefined; glibc takes one lock off, and waits with the rest
 * held. Programs that do it by mistake live on as long as a thread signals.
 */
static void check_nested(bool shared)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 20);
	struct thread signaller;
	struct gate gate;
	int error = 0;

	make_gate(&gate, RECURSIVE);
	make_cond(&gate.cond, CLOCK_REALTIME, shared);
	for (int i = 0; i < 3; i++)
		OK(pthread_mutex_lock(&gate.mutex));
	start(&signaller, signal_until_passed, &gate);
	OK(pthread_cond_wait(&gate.cond, &gate.mutex));
	__atomic_store_n(&gate.passed, 1, __ATOMIC_SEQ_CST);
	join(&signaller);
	for (int i = 0; i < 100 && !error; i++)
		error = pthread_cond_timedwait(&gate.cond, &gate.mutex, &at);
	CHECK_ERR(error, ETIMEDOUT);
	CHECK_EQ(gate.mutex.__data.__count, 3);
	for (int i = 0; i < 3; i++)
		OK(pthread_mutex_unlock(&gate.mutex));
	CHECK_ERR(pthread_mutex_unlock(&gate.mutex), EPERM);
}

TEST(glibc_pthread_cond_wait__nested_recursive_keeps_its_count)
{
	check_nested(false);
	check_nested(true);
}

/* --------------------------------------------- signalled against timed out -- */

struct race {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int permits;
	_Atomic int timed_out;
};

THREAD(wait_until_soon, struct race *race)
{
	struct timespec at = in_ns(CLOCK_REALTIME, 300000);
	int error = 0;

	OK(pthread_mutex_lock(&race->mutex));
	while (!race->permits && !error)
		error = pthread_cond_timedwait(&race->cond, &race->mutex, &at);
	if (race->permits)
		race->permits--;
	else
		race->timed_out++;
	OK(pthread_mutex_unlock(&race->mutex));
}

THREAD(wait_for_ever, struct race *race)
{
	OK(pthread_mutex_lock(&race->mutex));
	while (!race->permits)
		OK(pthread_cond_wait(&race->cond, &race->mutex));
	race->permits--;
	OK(pthread_mutex_unlock(&race->mutex));
}

/*
 * One signal, at about the deadline of one of two waiters. A waiter that times
 * out must not have used the signal up: the other would wait for ever.
 */
TEST(posix_pthread_cond_timedwait__timing_out_swallows_no_signal)
{
	struct thread timed, patient;
	struct race race;

	for (int i = 0; i < 600; i++) {
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
			/* The timed waiter had the permit. Now the other. */
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

THREAD(produce, struct queue *queue)
{
	for (int i = 1; i <= queue->limit; i++) {
		OK(pthread_mutex_lock(&queue->mutex));
		while (queue->used == 4)
			OK(pthread_cond_wait(&queue->emptied, &queue->mutex));
		queue->items[queue->used++] = i;
		OK(pthread_cond_signal(&queue->filled));
		OK(pthread_mutex_unlock(&queue->mutex));
	}
}

THREAD(consume, struct queue *queue)
{
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
}

TEST(posix_pthread_cond__bounded_queue_loses_nothing)
{
	struct queue queue = { .limit = 3000 };
	struct thread producers[4], consumers[4];

	for (enum kind kind = 0; kind < OWN_KINDS; kind++) {
		queue = (struct queue){
			.filled = PTHREAD_COND_INITIALIZER,
			.emptied = PTHREAD_COND_INITIALIZER,
			.limit = 2000,
		};
		OK(make_mutex(&queue.mutex, kind));
		for (int i = 0; i < 4; i++) {
			start(&producers[i], produce, &queue);
			start(&consumers[i], consume, &queue);
		}
		join_all(producers, 4);
		OK(pthread_mutex_lock(&queue.mutex));
		queue.closed = true;
		OK(pthread_cond_broadcast(&queue.filled));
		OK(pthread_mutex_unlock(&queue.mutex));
		join_all(consumers, 4);
		CHECK_EQ(queue.sum, 4LL * queue.limit * (queue.limit + 1) / 2);
	}
}

RUN_TESTS()
