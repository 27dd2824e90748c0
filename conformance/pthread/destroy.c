/*
 * Objects are destroyed that have just been in use. Their memory is unmapped at
 * once, so that a call that touches it after it has let another thread go dies
 * of a signal.
 */
#include "../posix/crowd.h"
#include "../posix/memory.h"

struct object {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int references, waiting;
	bool open;
	long pad;
};

static struct object *map_object(enum kind kind)
{
	struct object *object = new_page();

	OK(make_mutex(&object->mutex, kind));
	OK(pthread_cond_init(&object->cond, NULL));
	return object;
}

/* -------------------------------------------------- the reference count -- */

/*
 * POSIX's own example: the thread that drops the last reference destroys the
 * mutex. Long-lived threads and many objects make for close races.
 */
enum { OBJECTS = 6000, DROPPERS = 3 };
static struct object *_Atomic objects[OBJECTS];

THREAD(drop_all, void *argument UNUSED)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 15000);
	struct object *object;
	int left;

	for (int i = 0; i < OBJECTS; i++) {
		while (!(object = objects[i]))
			sched_yield();
		if (i % 3)
			OK(pthread_mutex_lock(&object->mutex));
		else
			OK(pthread_mutex_timedlock(&object->mutex, &at));
		left = --object->references;
		OK(pthread_mutex_unlock(&object->mutex));
		if (left == 0) {
			OK(pthread_mutex_destroy(&object->mutex));
			leave_hole(object);
		}
	}
}

TEST(posix_pthread_mutex_destroy__races_of_long_lived_threads)
{
	struct thread threads[DROPPERS];
	struct object *object;

	start_all(threads, DROPPERS, drop_all, NULL);
	for (int i = 0; i < OBJECTS; i++) {
		object = map_object(i % OWN_KINDS);
		object->references = DROPPERS;
		objects[i] = object;
	}
	join_all(threads, DROPPERS);
}

/* ----------------------------------------------------------- condvars -- */

static void until_waiting(struct object *object, int count)
{
	int waiting;

	do {
		usleep(50);
		OK(pthread_mutex_lock(&object->mutex));
		waiting = object->waiting;
		OK(pthread_mutex_unlock(&object->mutex));
	} while (waiting != count);
}

/* The waiter destroys: it knows that it was the last. */
THREAD(wait_and_destroy, struct object *object)
{
	OK(pthread_mutex_lock(&object->mutex));
	object->waiting = 1;
	while (!object->open)
		OK(pthread_cond_wait(&object->cond, &object->mutex));
	OK(pthread_mutex_unlock(&object->mutex));
	OK(pthread_cond_destroy(&object->cond));
	OK(pthread_mutex_destroy(&object->mutex));
	leave_hole(object);
}

/* The signaller is still inside its calls when all of it is unmapped. */
TEST(posix_pthread_cond_destroy__by_the_waiter_that_was_signalled)
{
	struct object *object;
	struct thread waiter;

	for (int round = 0; round < 1500; round++) {
		object = map_object(round % OWN_KINDS);
		start(&waiter, wait_and_destroy, object);
		until_waiting(object, 1);
		OK(pthread_mutex_lock(&object->mutex));
		object->open = true;
		if (round % 2)
			OK(pthread_cond_signal(&object->cond));
		else
			OK(pthread_cond_broadcast(&object->cond));
		OK(pthread_mutex_unlock(&object->mutex));
		join(&waiter);
	}
}

/* ------------------------------------------- timed waiters that leave -- */

struct timed {
	pthread_mutex_t mutex;
	pthread_cond_t *cond;
	int waiting;
	bool open;
};

THREAD(wait_timed, struct timed *timed)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 1);
	int error = 0;

	OK(pthread_mutex_lock(&timed->mutex));
	timed->waiting++;
	while (!timed->open && !error)
		error = pthread_cond_timedwait(timed->cond, &timed->mutex, &at);
	CHECK(error == 0 || error == ETIMEDOUT);
	/* The others may still wait: only the thread that opens destroys. */
	timed->waiting--;
	OK(pthread_mutex_unlock(&timed->mutex));
}

/* A waiter's deadline passes while the condvar goes away. */
TEST(posix_pthread_cond_destroy__as_timed_waiters_leave)
{
	struct thread threads[4];
	struct timed timed;

	for (int round = 0; round < 300; round++) {
		timed = (struct timed){ .mutex = PTHREAD_MUTEX_INITIALIZER };
		timed.cond = new_page();
		start_all(threads, 4, wait_timed, &timed);
		usleep(900 + round % 300);
		OK(pthread_mutex_lock(&timed.mutex));
		timed.open = true;
		OK(pthread_cond_broadcast(timed.cond));
		OK(pthread_mutex_unlock(&timed.mutex));
		/* Late starters don't wait, since it is open. */
		OK(pthread_cond_destroy(timed.cond));
		give_back(timed.cond);
		join_all(threads, 4);
	}
}

/* Mutexes on the stack of a function that returns, which is reused at once. */
struct call {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool done;
};

static struct call *_Atomic pending;

THREAD(answer, void *argument UNUSED)
{
	struct call *call;

	for (int i = 0; i < 8000; i++) {
		while (!(call = pending))
			sched_yield();
		pending = NULL;
		OK(pthread_mutex_lock(&call->mutex));
		call->done = true;
		OK(pthread_cond_signal(&call->cond));
		OK(pthread_mutex_unlock(&call->mutex));
	}
}

static __attribute__((noinline)) void ask(void)
{
	struct call call = {
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.cond = PTHREAD_COND_INITIALIZER,
	};

	OK(pthread_mutex_lock(&call.mutex));
	pending = &call;
	while (!call.done)
		OK(pthread_cond_wait(&call.cond, &call.mutex));
	OK(pthread_mutex_unlock(&call.mutex));
	OK(pthread_cond_destroy(&call.cond));
	OK(pthread_mutex_destroy(&call.mutex));
}

static __attribute__((noinline)) void scribble(void)
{
	volatile unsigned char stack[512];

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0xa5;
	for (size_t i = 0; i < sizeof(stack); i++)
		CHECK_EQ(stack[i], 0xa5);
}

TEST(posix_pthread_cond__on_the_stack_of_a_function_that_returns)
{
	struct thread other;

	start(&other, answer, NULL);
	for (int i = 0; i < 8000; i++) {
		ask();
		scribble();
	}
	join(&other);
}

RUN_TESTS()
