/* XSH, the pages of mutexes and their attributes. */
#include "../pthread/harness.h"

static void pthread_mutex_lock__desc_1__locks(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	OK(pthread_mutex_lock(&mutex));
	CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
	OK(pthread_mutex_unlock(&mutex));
}

static const struct test tests[] = {
	CLAUSE(pthread_mutex_lock__desc_1__locks, "pthread_mutex_lock",
	       "DESCRIPTION 1",
	       "the mutex is locked, with the caller as its owner, when the call returns 0"),
};

TEST_MAIN(tests)
