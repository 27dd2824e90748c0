/*
 * Memory that is unmapped as soon as its object may be destroyed, while the
 * other thread may still be on its way out of the function that allowed it.
 * (Mutexes and condvars are destroy.c's.)
 */
#include "harness.h"

#include <semaphore.h>
#include <stdatomic.h>

#define ROUNDS 200

union object {
	sem_t semaphore;
	pthread_barrier_t barrier;
	pthread_rwlock_t rwlock;
};

/* The object of this round; none once the other has come for it. */
static union object *_Atomic offered;
static _Atomic bool over;

static union object *map_object(void)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

static union object *take_offer(void)
{
	union object *object;

	while (!(object = atomic_exchange(&offered, NULL))) {
		if (over)
			return NULL;
		sched_yield();
	}
	return object;
}

static void *post(void *argument UNUSED)
{
	union object *object;

	while ((object = take_offer()))
		OK(sem_post(&object->semaphore));
	return NULL;
}

static void *meet(void *argument UNUSED)
{
	union object *object;

	while ((object = take_offer()))
		pthread_barrier_wait(&object->barrier);
	return NULL;
}

/* The lock is taken when it is offered. */
static _Atomic bool taken;

static void *unlock(void *argument UNUSED)
{
	union object *object;

	while ((object = take_offer())) {
		OK(pthread_rwlock_rdlock(&object->rwlock));
		taken = true;
		OK(pthread_rwlock_unlock(&object->rwlock));
	}
	return NULL;
}

static void check(void *(*other)(void *), void (*round)(union object *, int))
{
	struct thread thread;
	union object *object;
	int i;

	start(&thread, other, NULL);
	for (i = 0; i < ROUNDS; i++) {
		object = map_object();
		round(object, i);
		CHECK_EQ(munmap(object, 4096), 0);
	}
	over = true;
	join(&thread);
}

/* Some come first, some last. */
static void dawdle(int i)
{
	if (i % 3 == 1)
		sched_yield();
	else if (i % 3 == 2)
		usleep(20);
}

static void wait_for_post(union object *object, int i)
{
	OK(sem_init(&object->semaphore, 0, 0));
	offered = object;
	dawdle(i);
	while (sem_wait(&object->semaphore))
		CHECK_EQ(errno, EINTR);
	OK(sem_destroy(&object->semaphore));
}

static void posix_sem_destroy__right_after_the_wait_that_a_post_ended(void)
{
	check(post, wait_for_post);
}

static void meet_once(union object *object, int i)
{
	OK(pthread_barrier_init(&object->barrier, NULL, 2));
	offered = object;
	dawdle(i);
	pthread_barrier_wait(&object->barrier);
	OK(pthread_barrier_destroy(&object->barrier));
}

static void posix_pthread_barrier_destroy__right_after_the_wait(void)
{
	check(meet, meet_once);
}

static void lock_after_reader(union object *object, int i)
{
	OK(pthread_rwlock_init(&object->rwlock, NULL));
	taken = false;
	offered = object;
	while (!taken)
		sched_yield();
	dawdle(i);
	OK(pthread_rwlock_wrlock(&object->rwlock));
	OK(pthread_rwlock_unlock(&object->rwlock));
	OK(pthread_rwlock_destroy(&object->rwlock));
}

static void posix_pthread_rwlock_destroy__right_after_the_last_unlock(void)
{
	check(unlock, lock_after_reader);
}

static const struct test tests[] = {
	TEST(posix_sem_destroy__right_after_the_wait_that_a_post_ended),
	TEST(posix_pthread_barrier_destroy__right_after_the_wait),
	TEST(posix_pthread_rwlock_destroy__right_after_the_last_unlock),
};

TEST_MAIN(tests)
