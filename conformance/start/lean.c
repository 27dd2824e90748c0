/* Locks, and asks the kernel for no memory after it has been loaded. */
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int main(void)
{
	int i;

	for (i = 0; i < 1000; i++)
		if (pthread_mutex_lock(&mutex) || pthread_mutex_unlock(&mutex))
			return 1;
	return 0;
}
