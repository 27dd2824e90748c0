/*
 * furwock_futex in place of syscall(SYS_futex, ...): a ring of numbers between
 * producers and consumers, with one word that counts the numbers in it and one
 * that counts the free places.
 */
#include <furwock.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { PLACES = 8, THREADS = 3, EACH = 20000 };

static _Atomic uint32_t filled, empty = PLACES;
static _Atomic uint32_t next_in, next_out;
static _Atomic int ring[PLACES];
static _Atomic long sum;

/* Takes one off the word, waiting as long as it is zero. */
static void take(_Atomic uint32_t *word)
{
	uint32_t seen = atomic_load(word);

	for (;;) {
		while (seen == 0) {
			furwock_futex((uint32_t *)word, FUTEX_WAIT_PRIVATE, 0,
				      NULL, NULL, 0);
			seen = atomic_load(word);
		}
		if (atomic_compare_exchange_weak(word, &seen, seen - 1))
			return;
	}
}

static void give(_Atomic uint32_t *word)
{
	atomic_fetch_add(word, 1);
	furwock_futex((uint32_t *)word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *produce(void *unused)
{
	for (int number = 1; number <= EACH; number++) {
		_Atomic int *place;
		int nothing = 0;

		take(&empty);
		place = &ring[atomic_fetch_add(&next_in, 1) % PLACES];
		/* Its consumer of a round ago may be about to empty it. */
		while (!atomic_compare_exchange_weak(place, &nothing, number))
			nothing = 0;
		give(&filled);
	}
	return unused;
}

static void *consume(void *unused)
{
	for (int count = 0; count < EACH; count++) {
		_Atomic int *place;
		int number;

		take(&filled);
		place = &ring[atomic_fetch_add(&next_out, 1) % PLACES];
		while ((number = atomic_exchange(place, 0)) == 0)
			;
		give(&empty);
		atomic_fetch_add(&sum, number);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[2 * THREADS];
	long expected = (long)THREADS * EACH * (EACH + 1) / 2;

	for (int i = 0; i < 2 * THREADS; i++)
		if (pthread_create(&threads[i], NULL, i % 2 ? produce : consume,
				   NULL))
			return 2;
	for (int i = 0; i < 2 * THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("consumed %ld of %ld\n", (long)sum, expected);
	return sum != expected;
}
