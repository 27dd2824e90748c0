/* One object of each kind, and two threads that use all of them together. */
#ifndef CONFORMANCE_OBJECTS_H
#define CONFORMANCE_OBJECTS_H

#include "../posix/crowd.h"

#include <semaphore.h>

struct objects {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	pthread_barrier_t barrier;
	pthread_once_t once;
	sem_t semaphore;
	long counter;
	int turn;
};

static _Atomic int called;

static void set_up(struct objects *objects)
{
	static const pthread_once_t once = PTHREAD_ONCE_INIT;

	memset(objects, 0, sizeof(*objects));
	OK(pthread_mutex_init(&objects->mutex, NULL));
	OK(pthread_cond_init(&objects->cond, NULL));
	OK(pthread_rwlock_init(&objects->rwlock, NULL));
	OK(pthread_barrier_init(&objects->barrier, NULL, 2));
	OK(sem_init(&objects->semaphore, 0, 0));
	objects->once = once;
}

static void count_call(void)
{
	usleep(500);
	called++;
}

struct partner {
	struct objects *objects;
	int side;
};

THREAD(use_all, const struct partner *partner)
{
	struct objects *objects = partner->objects;
	int ended;

	OK(pthread_once(&objects->once, count_call));
	CHECK_EQ(called, 1);
	for (int i = 0; i < 50; i++) {
		OK(pthread_mutex_lock(&objects->mutex));
		while (objects->turn != partner->side)
			OK(pthread_cond_wait(&objects->cond, &objects->mutex));
		objects->turn = !partner->side;
		OK(pthread_cond_signal(&objects->cond));
		OK(pthread_mutex_unlock(&objects->mutex));
		OK(pthread_rwlock_rdlock(&objects->rwlock));
		OK(pthread_rwlock_unlock(&objects->rwlock));
		OK(pthread_rwlock_wrlock(&objects->rwlock));
		objects->counter++;
		OK(pthread_rwlock_unlock(&objects->rwlock));
		if (partner->side)
			OK(sem_post(&objects->semaphore));
		else
			OK(sem_wait(&objects->semaphore));
		ended = pthread_barrier_wait(&objects->barrier);
		CHECK(!ended || ended == PTHREAD_BARRIER_SERIAL_THREAD);
	}
}

/* Objects as they stand, on which no thread waits. */
static void UNUSED use_all_on(struct objects *objects)
{
	struct partner partners[2] = { { objects, 0 }, { objects, 1 } };
	struct thread thread;

	objects->counter = 0;
	objects->turn = 0;
	start(&thread, use_all, &partners[1]);
	use_all(&partners[0]);
	join(&thread);
	CHECK_EQ(objects->counter, 100);
}

static void UNUSED use_all_anew(struct objects *objects)
{
	called = 0;
	set_up(objects);
	use_all_on(objects);
}

#endif
