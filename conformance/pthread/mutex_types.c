/* What recursive, errorcheck, adaptive and normal mutexes check, and where. */
#include "harness.h"

static void posix_pthread_mutexattr_settype__default_is_normal(void)
{
	pthread_mutexattr_t attr;
	int type = -1;

	OK(pthread_mutexattr_init(&attr));
	OK(pthread_mutexattr_gettype(&attr, &type));
	CHECK_EQ(type, PTHREAD_MUTEX_DEFAULT);
	CHECK_EQ(PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_NORMAL);
	CHECK_ERR(pthread_mutexattr_settype(&attr, 99), EINVAL);
	OK(pthread_mutexattr_destroy(&attr));
}

/* NORMAL said outright sets a bit in __kind that DEFAULT doesn't. */
static void glibc_pthread_mutex_init__normal_said_outright_is_normal(void)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 20);
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, NORMAL));
	OK(pthread_mutex_lock(&mutex));
	CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
	CHECK_ERR(pthread_mutex_timedlock(&mutex, &soon), ETIMEDOUT);
	OK(pthread_mutex_unlock(&mutex));
	OK(pthread_mutex_destroy(&mutex));
}

static void posix_pthread_mutex_timedlock__own_normal_lock_times_out(void)
{
	static const enum kind unchecked[] = { DEFAULT, NORMAL, ADAPTIVE };
	pthread_mutex_t mutex;
	struct timespec soon;
	size_t i;

	for (i = 0; i < sizeof(unchecked) / sizeof(unchecked[0]); i++) {
		OK(make_mutex(&mutex, unchecked[i]));
		OK(pthread_mutex_lock(&mutex));
		soon = in_ms(CLOCK_REALTIME, 20);
		CHECK_ERR(pthread_mutex_timedlock(&mutex, &soon), ETIMEDOUT);
		OK(pthread_mutex_unlock(&mutex));
	}
}

/* ----------------------------------------------------------- errorcheck -- */

static void check_errorcheck(pthread_mutex_t *mutex)
{
	struct timespec later = in_ms(CLOCK_REALTIME, 10000);
	struct timespec mono = in_ms(CLOCK_MONOTONIC, 10000);

	CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
	OK(pthread_mutex_lock(mutex));
	CHECK_ERR(pthread_mutex_lock(mutex), EDEADLK);
	CHECK_ERR(pthread_mutex_trylock(mutex), EBUSY);
	CHECK_ERR(pthread_mutex_timedlock(mutex, &later), EDEADLK);
	CHECK_ERR(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &mono),
		  EDEADLK);
	OK(pthread_mutex_unlock(mutex));
	CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
	OK(pthread_mutex_timedlock(mutex, &later));
	CHECK_ERR(pthread_mutex_lock(mutex), EDEADLK);
	OK(pthread_mutex_unlock(mutex));
}

static void posix_pthread_mutex_lock__edeadlk_errorcheck(void)
{
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, ERRORCHECK));
	check_errorcheck(&mutex);
	OK(pthread_mutex_destroy(&mutex));
}

static void glibc_errorcheck_static_initialiser__checks(void)
{
	static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

	check_errorcheck(&mutex);
	OK(pthread_mutex_destroy(&mutex));
}

static void *unlock_eperm(void *mutex)
{
	CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
	CHECK_ERR(pthread_mutex_trylock(mutex), EBUSY);
	return NULL;
}

static void posix_pthread_mutex_unlock__eperm_when_another_holds_it(void)
{
	static const enum kind checked[] = { ERRORCHECK, RECURSIVE };
	pthread_mutex_t mutex;
	struct thread other;
	size_t i;

	for (i = 0; i < 2; i++) {
		OK(make_mutex(&mutex, checked[i]));
		OK(pthread_mutex_lock(&mutex));
		start(&other, unlock_eperm, &mutex);
		join(&other);
		CHECK_EQ(mutex.__data.__owner, gettid());
		OK(pthread_mutex_unlock(&mutex));
		OK(pthread_mutex_destroy(&mutex));
	}
}

static void *lock_and_unlock(void *mutex)
{
	OK(pthread_mutex_lock(mutex));
	OK(pthread_mutex_unlock(mutex));
	return NULL;
}

/* The owner's checks must hold while waiters have left their marks too. */
static void posix_pthread_mutex_lock__checks_hold_while_others_wait(void)
{
	static const enum kind checked[] = { ERRORCHECK, RECURSIVE };
	pthread_mutex_t mutex;
	struct thread others[3];
	size_t i, j;

	for (i = 0; i < 2; i++) {
		OK(make_mutex(&mutex, checked[i]));
		OK(pthread_mutex_lock(&mutex));
		for (j = 0; j < 3; j++)
			start(&others[j], lock_and_unlock, &mutex);
		for (j = 0; j < 3; j++)
			until_asleep(&others[j]);
		if (checked[i] == ERRORCHECK) {
			CHECK_ERR(pthread_mutex_lock(&mutex), EDEADLK);
			CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
		} else {
			OK(pthread_mutex_lock(&mutex));
			OK(pthread_mutex_trylock(&mutex));
			OK(pthread_mutex_unlock(&mutex));
			OK(pthread_mutex_unlock(&mutex));
		}
		CHECK_EQ(mutex.__data.__owner, gettid());
		OK(pthread_mutex_unlock(&mutex));
		for (j = 0; j < 3; j++)
			join(&others[j]);
		OK(pthread_mutex_destroy(&mutex));
	}
}

/* ------------------------------------------------------------ recursive -- */

static void *trylock_ebusy(void *mutex)
{
	CHECK_ERR(pthread_mutex_trylock(mutex), EBUSY);
	return NULL;
}

static void check_recursive(pthread_mutex_t *mutex)
{
	struct timespec later = in_ms(CLOCK_REALTIME, 10000);
	struct timespec bad = { .tv_nsec = -1 };
	struct thread other;
	int i;

	CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
	OK(pthread_mutex_lock(mutex));
	OK(pthread_mutex_lock(mutex));
	OK(pthread_mutex_trylock(mutex));
	OK(pthread_mutex_timedlock(mutex, &later));
	/* It needn't wait for what it has: the deadline isn't looked at. */
	OK(pthread_mutex_timedlock(mutex, &bad));
	CHECK_EQ(mutex->__data.__count, 5);
	for (i = 0; i < 5; i++) {
		start(&other, trylock_ebusy, mutex);
		join(&other);
		OK(pthread_mutex_unlock(mutex));
	}
	CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
	start(&other, lock_and_unlock, mutex);
	join(&other);
}

static void posix_pthread_mutex_lock__recursive_counts(void)
{
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, RECURSIVE));
	check_recursive(&mutex);
	OK(pthread_mutex_destroy(&mutex));
}

static void glibc_recursive_static_initialiser__counts(void)
{
	static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	check_recursive(&mutex);
	OK(pthread_mutex_destroy(&mutex));
}

static void glibc_adaptive_static_initialiser__locks(void)
{
	static pthread_mutex_t mutex = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
	struct thread others[4];
	int i;

	OK(pthread_mutex_lock(&mutex));
	CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
	for (i = 0; i < 4; i++)
		start(&others[i], lock_and_unlock, &mutex);
	OK(pthread_mutex_unlock(&mutex));
	for (i = 0; i < 4; i++)
		join(&others[i]);
	OK(pthread_mutex_destroy(&mutex));
}

static void posix_pthread_mutex_lock__eagain_when_the_count_is_full(void)
{
	struct timespec later = in_ms(CLOCK_REALTIME, 10000);
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, RECURSIVE));
	OK(pthread_mutex_lock(&mutex));
	/* Four thousand million locks take too long. */
	mutex.__data.__count = UINT_MAX;
	CHECK_ERR(pthread_mutex_lock(&mutex), EAGAIN);
	CHECK_ERR(pthread_mutex_trylock(&mutex), EAGAIN);
	CHECK_ERR(pthread_mutex_timedlock(&mutex, &later), EAGAIN);
	mutex.__data.__count = 1;
	OK(pthread_mutex_unlock(&mutex));
	OK(pthread_mutex_destroy(&mutex));
}

/* Debuggers print the count. */
static void glibc_pthread_mutex_unlock__count_is_zero_when_free(void)
{
	pthread_mutex_t mutex;

	OK(make_mutex(&mutex, RECURSIVE));
	OK(pthread_mutex_lock(&mutex));
	OK(pthread_mutex_lock(&mutex));
	CHECK_EQ(mutex.__data.__count, 2);
	OK(pthread_mutex_unlock(&mutex));
	OK(pthread_mutex_unlock(&mutex));
	CHECK_EQ(mutex.__data.__count, 0);
}

static void *nest(void *argument)
{
	pthread_mutex_t *mutex = argument;
	static long depth, total;
	int i, j;

	for (i = 0; i < 2000; i++) {
		for (j = 0; j <= i % 4; j++) {
			OK(pthread_mutex_lock(mutex));
			CHECK_EQ(depth++, j);
		}
		total++;
		for (; j > 0; j--) {
			CHECK_EQ(--depth, j - 1);
			OK(pthread_mutex_unlock(mutex));
		}
	}
	return &total;
}

static void posix_pthread_mutex_lock__recursive_excludes_at_every_depth(void)
{
	pthread_mutex_t mutex;
	struct thread threads[8];
	long *total = NULL;
	int i;

	OK(make_mutex(&mutex, RECURSIVE));
	for (i = 0; i < 8; i++)
		start(&threads[i], nest, &mutex);
	for (i = 0; i < 8; i++)
		total = join(&threads[i]);
	CHECK_EQ(*total, 8 * 2000);
}

/* ---------------------------------------------- only some kinds have these -- */

static void posix_pthread_mutex__robust_and_ceiling_calls_refuse_other_kinds(void)
{
	pthread_mutex_t mutex;
	enum kind kind;
	int ceiling;

	for (kind = 0; kind < OWN_KINDS; kind++) {
		OK(make_mutex(&mutex, kind));
		CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
		CHECK_ERR(pthread_mutex_getprioceiling(&mutex, &ceiling), EINVAL);
		CHECK_ERR(pthread_mutex_setprioceiling(&mutex, 1, &ceiling),
			  EINVAL);
		OK(pthread_mutex_destroy(&mutex));
	}
}

static const struct test tests[] = {
	TEST(posix_pthread_mutexattr_settype__default_is_normal),
	TEST(glibc_pthread_mutex_init__normal_said_outright_is_normal),
	TEST(posix_pthread_mutex_timedlock__own_normal_lock_times_out),
	TEST(posix_pthread_mutex_lock__edeadlk_errorcheck),
	TEST(glibc_errorcheck_static_initialiser__checks),
	TEST(posix_pthread_mutex_unlock__eperm_when_another_holds_it),
	TEST(posix_pthread_mutex_lock__checks_hold_while_others_wait),
	TEST(posix_pthread_mutex_lock__recursive_counts),
	TEST(glibc_recursive_static_initialiser__counts),
	TEST(glibc_adaptive_static_initialiser__locks),
	TEST(posix_pthread_mutex_lock__eagain_when_the_count_is_full),
	TEST(glibc_pthread_mutex_unlock__count_is_zero_when_free),
	TEST(posix_pthread_mutex_lock__recursive_excludes_at_every_depth),
	TEST(posix_pthread_mutex__robust_and_ceiling_calls_refuse_other_kinds),
};

TEST_MAIN(tests)
