/*
 * A program is linked with a library that wraps a mutex's functions. A
 * preloaded library comes before the wrapper, and what it leaves to glibc goes
 * through the wrapper.
 */
#include "harness.h"

extern _Atomic long wrapped;

static void check(enum kind kind)
{
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, kind));
	for (int i = 0; i < 3; i++) {
		OK(pthread_mutex_lock(&mutex));
		CHECK_EQ(mutex.__data.__owner, gettid());
		OK(pthread_mutex_unlock(&mutex));
	}
	OK(pthread_mutex_destroy(&mutex));
}

TEST(glibc_dlsym__wrapper_passes_on_mutexes_of_each_kind)
{
	for (enum kind kind = 0; kind < KINDS; kind++)
		/* A thread needs a priority to lock it. */
		if (kind != PP)
			check(kind);
	/* Else the program was linked in another order than it takes. */
	CHECK(wrapped > 0);
}

RUN_TESTS()
