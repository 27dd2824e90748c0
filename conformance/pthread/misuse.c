/*
 * What POSIX leaves undefined and programs do all the same: it may fail, but
 * never damage what others wait on.
 */
#include "../posix/crowd.h"

struct scene {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	long counter;
	_Atomic int done;
	_Atomic bool stop;
	int permits;
};

static const enum kind unchecked[] = { DEFAULT, NORMAL, ADAPTIVE };

THREAD(count, struct scene *scene)
{
	for (int i = 0; i < 8000; i++) {
		OK(pthread_mutex_lock(&scene->mutex));
		scene->counter++;
		if (i % 32 == 0)
			sched_yield();
		OK(pthread_mutex_unlock(&scene->mutex));
	}
	scene->done++;
}

THREAD(wait_in_turn, struct scene *scene)
{
	for (int i = 0; i < 1000; i++) {
		OK(pthread_mutex_lock(&scene->mutex));
		while (!scene->permits)
			OK(pthread_cond_wait(&scene->cond, &scene->mutex));
		scene->permits--;
		OK(pthread_mutex_unlock(&scene->mutex));
		OK(pthread_mutex_lock(&scene->mutex));
		scene->permits++;
		OK(pthread_cond_signal(&scene->cond));
		OK(pthread_mutex_unlock(&scene->mutex));
	}
	scene->done++;
}

/*
 * Mutexes beside the one in use, in the same bucket or not, unlocked over and
 * over though no thread holds them.
 */
TEST(glibc_pthread_mutex_unlock__not_held_leaves_other_queues_alone)
{
	struct scene scene = {
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.cond = PTHREAD_COND_INITIALIZER,
		.permits = 1,
	};
	static pthread_mutex_t free_ones[3000];
	struct thread threads[8];

	for (int i = 0; i < 3000; i++)
		OK(make_mutex(&free_ones[i], unchecked[i % 3]));
	for (int i = 0; i < 8; i++)
		start(&threads[i], i < 4 ? count : wait_in_turn, &scene);
	for (int i = 0; scene.done < 8; i++) {
		OK(pthread_mutex_unlock(&free_ones[i % 3000]));
		OK(pthread_mutex_unlock(&free_ones[i % 3000]));
	}
	join_all(threads, 8);
	CHECK_EQ(scene.counter, 4 * 8000);
	for (int i = 0; i < 3000; i++) {
		OK(pthread_mutex_trylock(&free_ones[i]));
		CHECK_ERR(pthread_mutex_trylock(&free_ones[i]), EBUSY);
		OK(pthread_mutex_unlock(&free_ones[i]));
	}
}

/* Between waiters that come and go, where every word has every bit at times. */
THREAD(unlock_twice, struct scene *scene)
{
	for (int i = 0; i < 3000; i++) {
		OK(pthread_mutex_lock(&scene->mutex));
		OK(pthread_mutex_unlock(&scene->mutex));
		OK(pthread_mutex_unlock(&scene->mutex));
	}
	scene->done++;
}

/* No thread is excluded, but every thread comes through. */
TEST_FURWOCK_ONLY(furwock_pthread_mutex_unlock__twice_strands_no_thread,
		  "glibc's lock may abort: it asserts that no owner is noted")
{
	struct scene scene = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	struct thread threads[8];

	start_all(threads, 8, unlock_twice, &scene);
	join_all(threads, 8);
	OK(pthread_mutex_trylock(&scene.mutex));
	OK(pthread_mutex_unlock(&scene.mutex));
}

/* A mutex used as a binary semaphore: locked here, unlocked there, for long. */
struct relay {
	pthread_mutex_t here, there;
	int turns;
};

THREAD(answer, struct relay *relay)
{
	for (int i = 0; i < relay->turns; i++) {
		OK(pthread_mutex_lock(&relay->there));
		OK(pthread_mutex_unlock(&relay->here));
	}
}

TEST(glibc_pthread_mutex__as_a_binary_semaphore)
{
	struct thread other;
	struct relay relay;

	for (size_t k = 0; k < 3; k++) {
		relay.turns = 1000;
		OK(make_mutex(&relay.here, unchecked[k]));
		OK(make_mutex(&relay.there, unchecked[k]));
		OK(pthread_mutex_lock(&relay.here));
		OK(pthread_mutex_lock(&relay.there));
		start(&other, answer, &relay);
		for (int i = 0; i < relay.turns; i++) {
			OK(pthread_mutex_unlock(&relay.there));
			OK(pthread_mutex_lock(&relay.here));
		}
		join(&other);
	}
}

THREAD(wait_not_locked, struct scene *scene)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 100);

	/* Only a signal or the deadline ends it; no error is asked for. */
	pthread_cond_timedwait(&scene->cond, &scene->mutex, &at);
	OK(pthread_mutex_unlock(&scene->mutex));
}

TEST(glibc_pthread_cond_wait__normal_mutex_not_locked)
{
	struct scene scene = {
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.cond = PTHREAD_COND_INITIALIZER,
	};
	struct thread thread;

	start(&thread, wait_not_locked, &scene);
	join(&thread);
	OK(pthread_mutex_trylock(&scene.mutex));
	OK(pthread_mutex_unlock(&scene.mutex));
}

/* Two mutexes at one condvar at a time: undefined, and seen in the wild. */
struct pair {
	pthread_mutex_t mutexes[2];
	pthread_cond_t cond;
	_Atomic int permits, waiting;
};

static void *wait_with(struct pair *pair, int which)
{
	OK(pthread_mutex_lock(&pair->mutexes[which]));
	pair->waiting++;
	while (!pair->permits)
		OK(pthread_cond_wait(&pair->cond, &pair->mutexes[which]));
	pair->permits--;
	OK(pthread_mutex_unlock(&pair->mutexes[which]));
	return NULL;
}

static void *wait_with_first(void *pair)
{
	return wait_with(pair, 0);
}

static void *wait_with_second(void *pair)
{
	return wait_with(pair, 1);
}

TEST(glibc_pthread_cond_wait__two_mutexes_at_a_time)
{
	struct thread threads[6];
	struct pair pair;

	for (int round = 0; round < 100; round++) {
		pair = (struct pair){ .cond = PTHREAD_COND_INITIALIZER };
		OK(make_mutex(&pair.mutexes[0], DEFAULT));
		OK(make_mutex(&pair.mutexes[1], round % OWN_KINDS));
		for (int i = 0; i < 6; i++)
			start(&threads[i],
			      i % 2 ? wait_with_first : wait_with_second, &pair);
		UNTIL(pair.waiting == 6);
		OK(pthread_mutex_lock(&pair.mutexes[0]));
		OK(pthread_mutex_lock(&pair.mutexes[1]));
		pair.permits = 6;
		OK(pthread_cond_broadcast(&pair.cond));
		OK(pthread_mutex_unlock(&pair.mutexes[1]));
		OK(pthread_mutex_unlock(&pair.mutexes[0]));
		join_all(threads, 6);
	}
}

RUN_TESTS()
