/* The header needs nothing before it, and takes words of every kind without a cast. */
#include <furwock.h>
#include <stdatomic.h>

_Static_assert(sizeof(furwock_mutex) == 4, "a mutex is a word");
_Static_assert(sizeof(furwock_condvar) == 4, "a condition variable is a word");
_Static_assert(sizeof(struct futex_waitv) == 24, "the kernel's layout");

int use(_Atomic uint64_t *atomic, volatile uint32_t *shared, uint8_t *plain, void **pointer);

int use(_Atomic uint64_t *atomic, volatile uint32_t *shared, uint8_t *plain, void **pointer)
{
	furwock_expected words[] = { { atomic, 8, 1 }, { shared, 4, 2 }, { plain, 1, 3 } };
	furwock_mutex mutex = FURWOCK_MUTEX_INIT;
	furwock_condvar condvar = FURWOCK_CONDVAR_INIT;
	furwock_deadline soon = furwock_after_ns(1);
	struct futex_waitv one = { .flags = FUTEX2_SIZE_U64 | FUTEX2_PRIVATE };

	return furwock_wait64(atomic, 1, &soon) + furwock_wait32(shared, 2, NULL) +
	       furwock_wait8(plain, 3, NULL) + furwock_wait_pointer(pointer, plain, NULL) +
	       furwock_wait_any(words, 3, NULL, NULL) + furwock_mutex_lock(&mutex) +
	       furwock_condvar_wait(&condvar, &mutex) +
	       (int)furwock_waitv(&one, 1, 0, &soon.at, soon.clock);
}
