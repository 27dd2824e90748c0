/*
 * A word of 64 bits: a version in the upper half, the number of users in the
 * lower. One compare-and-swap changes both, and a waiter sleeps until either
 * has changed; a 32-bit futex would miss a version that wrapped around.
 */
#include <furwock.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { READERS = 4, VERSIONS = 2000 };

#define VERSION (UINT64_C(1) << 32)

static _Atomic uint64_t state;
static _Atomic long seen_versions;

/* Sees versions go by, as many as it manages to. */
static void *read_versions(void *unused)
{
	uint64_t seen = 0;

	atomic_fetch_add(&state, 1);
	furwock_wake(&state, SIZE_MAX);
	while (seen / VERSION < VERSIONS) {
		uint64_t now = atomic_load(&state);

		if (now / VERSION == seen / VERSION) {
			furwock_wait64(&state, now, NULL);
			continue;
		}
		seen = now;
		atomic_fetch_add(&seen_versions, 1);
	}
	atomic_fetch_sub(&state, 1);
	furwock_wake(&state, SIZE_MAX);
	return unused;
}

/* Waits until there are so many users. */
static void wait_for_users(uint32_t users)
{
	uint64_t now;

	while ((uint32_t)(now = atomic_load(&state)) != users)
		furwock_wait64(&state, now, NULL);
}

int main(void)
{
	pthread_t threads[READERS];

	for (int i = 0; i < READERS; i++)
		if (pthread_create(&threads[i], NULL, read_versions, NULL))
			return 2;
	wait_for_users(READERS);
	for (int i = 0; i < VERSIONS; i++) {
		atomic_fetch_add(&state, VERSION);
		furwock_wake(&state, SIZE_MAX);
	}
	wait_for_users(0);
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	printf("%d versions, seen %ld times\n", (int)(state / VERSION),
	       (long)seen_versions);
	return state != VERSIONS * VERSION || seen_versions < READERS;
}
