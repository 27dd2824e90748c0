/*
 * A cache of squares that many threads read: a thread that finds a place empty looks
 * again as the upgradable reader, computes while others go on reading, and upgrades
 * only to write what it found.
 */
#include <furwock.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 64, THREADS = 4, LOOKUPS = 20000 };

static furwock_rwlock lock = FURWOCK_RWLOCK_INIT;
static long squares[NUMBERS];
static int computed;

static long compute(int number)
{
	return (long)number * number;
}

static long look_up(int number)
{
	long square;

	furwock_rwlock_rdlock(&lock);
	square = squares[number];
	furwock_rwlock_rdunlock(&lock);
	if (square)
		return square;

	/* One thread at a time is here; none that writes comes between. */
	furwock_rwlock_uplock(&lock);
	square = squares[number];
	if (square) {
		furwock_rwlock_upunlock(&lock);
		return square;
	}
	square = compute(number);
	furwock_rwlock_upgrade(&lock);
	squares[number] = square;
	computed++;
	furwock_rwlock_wrunlock(&lock);
	return square;
}

static void *look_up_many(void *wrong)
{
	unsigned int seed = 1;

	for (int i = 0; i < LOOKUPS; i++) {
		int number = 1 + rand_r(&seed) % (NUMBERS - 1);

		if (look_up(number) != (long)number * number)
			*(int *)wrong = 1;
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	int wrong[THREADS] = { 0 }, any = 0;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, look_up_many, &wrong[i]))
			return 2;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		any |= wrong[i];
	}
	printf("%d lookups, %d computed\n", THREADS * LOOKUPS, computed);
	return any || computed > NUMBERS;
}
