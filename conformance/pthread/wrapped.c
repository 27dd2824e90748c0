/*
 * A program linked with a library that wraps a mutex's functions. A preloaded
 * library comes before it, and what that leaves to glibc goes by the wrapper.
 */
#include "harness.h"

extern _Atomic long wrapped;

static void check(enum kind kind)
{
	pthread_mutex_t mutex;
	int i;

	OK(make_mutex(&mutex, kind));
	for (i = 0; i < 3; i++) {
		OK(pthread_mutex_lock(&mutex));
		CHECK_EQ(mutex.__data.__owner, gettid());
		OK(pthread_mutex_unlock(&mutex));
	}
	OK(pthread_mutex_destroy(&mutex));
}

TEST(glibc_dlsym__wrapper_passes_on_mutexes_of_each_kind)
{
	enum kind kind;

	for (kind = 0; kind < KINDS; kind++)
		/* Its owner would need a priority. */
		if (kind != PP)
			check(kind);
	/* Else the program was linked in another order than it takes. */
	CHECK(wrapped > 0);
}

RUN_TESTS()
