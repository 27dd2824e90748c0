/* A pool of connections behind a semaphore; a barrier lets all threads begin at once. */
#include <furwock.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { CONNECTIONS = 3, THREADS = 8, USES = 2000 };

static furwock_semaphore free_ones = FURWOCK_SEMAPHORE_INIT(CONNECTIONS);
static furwock_barrier start = FURWOCK_BARRIER_INIT(THREADS);
static atomic_int in_use, most, uses;

static void *use(void *unused)
{
	furwock_barrier_wait(&start, NULL);
	for (int i = 0; i < USES; i++) {
		/* By a deadline, as a server would answer "busy" after a while. */
		furwock_deadline until = furwock_after_ns(50 * UINT64_C(1000000000));

		if (furwock_semaphore_acquire_until(&free_ones, &until) != 0)
			return unused;
		int now = ++in_use, before = most;

		while (before < now && !atomic_compare_exchange_weak(&most, &before, now))
			;
		uses++;
		in_use--;
		furwock_semaphore_release(&free_ones);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, use, NULL))
			return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d uses of %d connections, at most %d at once\n", uses, CONNECTIONS, most);
	return uses != THREADS * USES || most > CONNECTIONS;
}
