/*
 * Threads that share out a number of tickets, each taking the mutex itself: once it
 * is a thread's turn it checks whether any ticket is left, and leaves the mutex to
 * the next thread if there is none, without ever taking it.
 */
#include <errno.h>
#include <furwock.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { TICKETS = 50000, THREADS = 4 };

static furwock_mutex mutex = FURWOCK_MUTEX_INIT;
/* Changed with the mutex held, and looked at without. */
static _Atomic int left = TICKETS;
static long sold, slept;

/* Whether the caller holds the mutex, with a ticket to be had when it last looked. */
static int lock_if_worth_it(furwock_lock_status *status)
{
	furwock_mutex_attempt attempt;
	int came = furwock_mutex_attempt_begin(&attempt, &mutex, NULL);

	while (came != EINVAL) {
		came = furwock_mutex_attempt_wait(&attempt, status);
		if (came == EAGAIN && left == 0)
			break;
		if (came == EAGAIN)
			came = furwock_mutex_attempt_try_take(&attempt, status);
		if (came == 0)
			break;
	}
	furwock_mutex_attempt_end(&attempt);
	return came == 0;
}

static void *buy(void *unused)
{
	furwock_lock_status status;

	while (lock_if_worth_it(&status)) {
		if (left > 0) {
			left--;
			sold++;
		}
		slept += status.sleeps;
		furwock_mutex_unlock(&mutex);
		if (left == 0)
			break;
	}
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, buy, NULL))
			return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("sold %ld tickets, slept %ld times\n", sold, slept);
	return sold != TICKETS;
}
