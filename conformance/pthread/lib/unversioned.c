/*
 * A library that is linked without libc, and so asks for no versions of its
 * functions: the loader gives it the oldest ones. Used by dlopen.c.
 */
#include <pthread.h>
#include <stddef.h>

/*
 * Whether a condvar in memory with any bytes works. Returns 0, or the step that
 * failed.
 */
int unversioned_condvar(const struct timespec *past, int timed_out)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	union {
		unsigned char bytes[sizeof(pthread_cond_t)];
		pthread_cond_t cond;
	} dirty;
	size_t each;

	for (each = 0; each < sizeof(dirty.bytes); each++)
		((volatile unsigned char *)dirty.bytes)[each] = 0xa5;
	if (pthread_cond_init(&dirty.cond, NULL))
		return 1;
	if (pthread_mutex_lock(&mutex))
		return 2;
	if (pthread_cond_timedwait(&dirty.cond, &mutex, past) != timed_out)
		return 3;
	if (pthread_mutex_unlock(&mutex))
		return 4;
	if (pthread_cond_signal(&dirty.cond) ||
	    pthread_cond_broadcast(&dirty.cond))
		return 5;
	return pthread_cond_destroy(&dirty.cond) ? 6 : 0;
}
