/*
 * As many stacks as the argument says at least, each of which takes a mutex. Two
 * calls differ at each of so many levels.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void descend(int levels)
{
	if (levels == 0) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		return;
	}
	descend(levels - 1);
	__asm__ volatile("" ::: "memory");
	descend(levels - 1);
	__asm__ volatile("" ::: "memory");
}

static void *work(void *levels)
{
	descend((int)(long)levels);
	return NULL;
}

int main(int argc, char **argv)
{
	long stacks = argc > 1 ? atol(argv[1]) : 1, levels = 0;
	pthread_t thread;

	while (1L << levels < stacks)
		levels++;
	pthread_create(&thread, NULL, work, (void *)levels);
	pthread_join(thread, NULL);
	return 0;
}
