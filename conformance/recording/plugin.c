/* A function that locks a mutex, in a file that is larger with LARGER. */
#include <pthread.h>

#ifdef LARGER
const char room[100000] = { 1 };
#endif

void wait_in(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
}
