/* Rwlocks of all kinds, locked in every way. */
#include "stress.h"

enum {
	LOCKS = 4,
	USERS = 6,
};

static struct shared {
	pthread_rwlock_t lock;
	_Atomic int readers, writers;
	long counter;
	_Atomic long expected;
} shareds[LOCKS];

static int read_somehow(struct actor *actor, struct shared *shared)
{
	struct timespec at;

	does(actor, "reads", shared - shareds);
	switch (next_random(&actor->random) % 8) {
	case 0:
		return pthread_rwlock_tryrdlock(&shared->lock);
	case 1:
		at = soon(actor, CLOCK_REALTIME);
		return pthread_rwlock_timedrdlock(&shared->lock, &at);
	case 2:
		at = soon(actor, CLOCK_MONOTONIC);
		return pthread_rwlock_clockrdlock(&shared->lock,
						  CLOCK_MONOTONIC, &at);
	default:
		return pthread_rwlock_rdlock(&shared->lock);
	}
}

static int write_somehow(struct actor *actor, struct shared *shared)
{
	struct timespec at;

	does(actor, "writes", shared - shareds);
	switch (next_random(&actor->random) % 8) {
	case 0:
		return pthread_rwlock_trywrlock(&shared->lock);
	case 1:
		at = soon(actor, CLOCK_REALTIME);
		return pthread_rwlock_timedwrlock(&shared->lock, &at);
	case 2:
		at = soon(actor, CLOCK_MONOTONIC);
		return pthread_rwlock_clockwrlock(&shared->lock,
						  CLOCK_MONOTONIC, &at);
	default:
		return pthread_rwlock_wrlock(&shared->lock);
	}
}

static void use_shared(struct actor *actor)
{
	struct shared *shared = &shareds[next_random(&actor->random) % LOCKS];
	bool writes = next_random(&actor->random) % 4 == 0;
	int error;

	error = writes ? write_somehow(actor, shared)
		       : read_somehow(actor, shared);
	if (error) {
		CHECK(error == EBUSY || error == ETIMEDOUT);
		return;
	}
	if (writes) {
		CHECK_EQ(shared->writers++, 0);
		CHECK_EQ(shared->readers, 0);
		shared->counter++;
		shared->expected++;
		dawdle(actor);
		shared->writers--;
	} else {
		shared->readers++;
		CHECK_EQ(shared->writers, 0);
		dawdle(actor);
		shared->readers--;
	}
	OK(pthread_rwlock_unlock(&shared->lock));
}

ACTOR(use, "sharer", void *argument UNUSED)
{
	while (!stop) {
		use_shared(actor);
		got_on(actor);
		/* In glibc's default kind, busy readers starve writers. */
		if (next_random(&actor->random) % 16 == 0)
			usleep(next_random(&actor->random) % 500);
	}
}

static void begin(int strength UNUSED)
{
	static const int kinds[LOCKS] = {
		PTHREAD_RWLOCK_PREFER_READER_NP,
		PTHREAD_RWLOCK_PREFER_WRITER_NP,
		PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP,
		PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP,
	};
	pthread_rwlockattr_t attr;

	for (int i = 0; i < LOCKS; i++) {
		OK(pthread_rwlockattr_init(&attr));
		OK(pthread_rwlockattr_setkind_np(&attr, kinds[i]));
		OK(pthread_rwlock_init(&shareds[i].lock, &attr));
		OK(pthread_rwlockattr_destroy(&attr));
	}
	for (int i = 0; i < USERS; i++)
		enlist(use, NULL);
}

static void check(void)
{
	for (int i = 0; i < LOCKS; i++) {
		CHECK_EQ(shareds[i].counter, shareds[i].expected);
		OK(pthread_rwlock_trywrlock(&shareds[i].lock));
	}
}

const struct subject rwlocks_subject = {
	.name = "rwlocks",
	.begin = begin,
	.check = check,
};
