/* A bounded queue, with a mutex and two condition variables of four bytes each. */
#include <furwock.h>
#include <pthread.h>
#include <stdio.h>

enum { PLACES = 4, THREADS = 4, EACH = 10000 };

static struct {
	furwock_mutex mutex;
	furwock_condvar not_empty, not_full;
	int items[PLACES], count, next;
} queue = { .mutex = FURWOCK_MUTEX_INIT,
	    .not_empty = FURWOCK_CONDVAR_INIT,
	    .not_full = FURWOCK_CONDVAR_INIT };

static long sums[THREADS];

static void push(int item)
{
	furwock_mutex_lock(&queue.mutex);
	while (queue.count == PLACES)
		furwock_condvar_wait(&queue.not_full, &queue.mutex);
	queue.items[(queue.next + queue.count++) % PLACES] = item;
	furwock_condvar_signal(&queue.not_empty);
	furwock_mutex_unlock(&queue.mutex);
}

static int pop(void)
{
	int item;

	furwock_mutex_lock(&queue.mutex);
	while (queue.count == 0)
		furwock_condvar_wait(&queue.not_empty, &queue.mutex);
	item = queue.items[queue.next];
	queue.next = (queue.next + 1) % PLACES;
	queue.count--;
	furwock_condvar_signal(&queue.not_full);
	furwock_mutex_unlock(&queue.mutex);
	return item;
}

static void *fill(void *unused)
{
	for (int item = 1; item <= EACH; item++)
		push(item);
	return unused;
}

static void *empty(void *sum)
{
	for (int i = 0; i < EACH; i++)
		*(long *)sum += pop();
	return NULL;
}

int main(void)
{
	pthread_t threads[2 * THREADS];
	long sum = 0, expected = (long)THREADS * EACH * (EACH + 1) / 2;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[2 * i], NULL, fill, NULL) ||
		    pthread_create(&threads[2 * i + 1], NULL, empty, &sums[i]))
			return 2;
	for (int i = 0; i < 2 * THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		sum += sums[i];
	printf("took out %ld of %ld\n", sum, expected);
	return sum != expected;
}
