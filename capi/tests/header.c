/* The header needs nothing before it, and takes words of every kind without a cast. */
#include <furwock.h>
#include <stdatomic.h>

_Static_assert(sizeof(furwock_mutex) == 4, "a mutex is a word");
_Static_assert(sizeof(furwock_condvar) == 4, "a condition variable is a word");
_Static_assert(sizeof(furwock_rwlock) == 8, "a rwlock is a wide word");
_Static_assert(sizeof(furwock_mutex_attempt) == 128, "what programs have compiled in");
_Static_assert(sizeof(furwock_lock_options) == 24 && sizeof(furwock_lock_status) == 12,
	       "what programs have compiled in");
_Static_assert(sizeof(struct futex_waitv) == 24, "the kernel's layout");

int use(_Atomic uint64_t *atomic, volatile uint32_t *shared, uint8_t *plain, void **pointer);

int use(_Atomic uint64_t *atomic, volatile uint32_t *shared, uint8_t *plain, void **pointer)
{
	furwock_expected words[] = { { atomic, 8, 1 }, { shared, 4, 2 }, { plain, 1, 3 } };
	furwock_mutex mutex = FURWOCK_MUTEX_INIT;
	furwock_condvar condvar = FURWOCK_CONDVAR_INIT;
	furwock_rwlock locks[] = {
		FURWOCK_RWLOCK_INIT, FURWOCK_RWLOCK_RECURSIVE_INIT,
		FURWOCK_RWLOCK_PREFER_READERS_INIT, FURWOCK_RWLOCK_PREFER_WRITERS_INIT,
		FURWOCK_RWLOCK_PREFER_WRITERS_RECURSIVE_INIT,
	};
	furwock_deadline soon = furwock_after_ns(1);
	furwock_lock_options options = { .until = &soon, .flags = FURWOCK_NO_STEAL };
	furwock_lock_status status = { .how = FURWOCK_HOW_FAST };
	furwock_mutex_attempt attempt;
	struct futex_waitv one = { .flags = FUTEX2_SIZE_U64 | FUTEX2_PRIVATE };

	return furwock_wait64(atomic, 1, &soon) + furwock_wait32(shared, 2, NULL) +
	       furwock_wait8(plain, 3, NULL) + furwock_wait_pointer(pointer, plain, NULL) +
	       furwock_wait_any(words, 3, NULL, NULL) + furwock_mutex_lock(&mutex) +
	       furwock_condvar_wait(&condvar, &mutex) +
	       furwock_rwlock_init(locks, FURWOCK_RWLOCK_RECURSIVE) +
	       furwock_rwlock_rdlock_with(locks, &options, &status) +
	       furwock_mutex_attempt_begin(&attempt, &mutex, &options) +
	       (int)furwock_waitv(&one, 1, 0, &soon.at, soon.clock);
}
