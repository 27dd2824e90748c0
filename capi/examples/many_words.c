/*
 * One thread that waits on 1000 words of two widths, and keeps them registered:
 * workers raise them, and it handles the raised ones.
 */
#include <errno.h>
#include <furwock.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 1000, WORKERS = 4, EACH = 500 };

static _Atomic uint64_t wide[WORDS / 2];
static _Atomic uint8_t narrow[WORDS / 2];

/* Wide words count up; narrow ones are raised, and lowered by their handler. */
static void *work(void *number)
{
	unsigned int random = (unsigned int)(size_t)number;

	for (int i = 0; i < EACH; i++) {
		size_t index;

		random = random * 1103515245u + 12345u;
		index = (random >> 8) % (WORDS / 2);
		if (i % 2) {
			atomic_fetch_add(&wide[index], 1);
			furwock_wake(&wide[index], 1);
		} else if (!atomic_exchange(&narrow[index], 1)) {
			furwock_wake(&narrow[index], 1);
		}
	}
	return NULL;
}

int main(void)
{
	furwock_expected *words = calloc(WORDS, sizeof(*words));
	furwock_registration *registration;
	pthread_t threads[WORKERS];
	uint64_t handled = 0;

	if (!words)
		return 2;
	for (size_t i = 0; i < WORDS / 2; i++) {
		words[2 * i] = (furwock_expected){ .word = &wide[i], .size = 8 };
		words[2 * i + 1] = (furwock_expected){ .word = &narrow[i], .size = 1 };
	}
	if (furwock_register(words, WORDS, &registration))
		return 2;
	free(words);
	for (size_t i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)))
			return 2;

	/* Every change of a wide word is seen; together they are half of all. */
	while (handled < WORKERS * EACH / 2) {
		furwock_deadline soon = furwock_after_ns(10000000000);
		static uint64_t seen[WORDS / 2];
		size_t index;
		int error = furwock_registration_wait(registration, &soon, &index);

		if (error == ETIMEDOUT)
			break;
		/* Woken, or found changed: the same to this loop. */
		if (index % 2) {
			atomic_store(&narrow[index / 2], 0);
		} else {
			uint64_t now = atomic_load(&wide[index / 2]);

			handled += now - seen[index / 2];
			seen[index / 2] = now;
			furwock_registration_expect(registration, index, now);
		}
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	furwock_registration_free(registration);
	printf("handled %d of %d\n", (int)handled, WORKERS * EACH / 2);
	return handled != WORKERS * EACH / 2;
}
