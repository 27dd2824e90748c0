/*
 * The header needs nothing before it, as C99 too, and takes words of every kind
 * without a cast.
 */
#include <furwock.h>

#if __STDC_VERSION__ >= 201112L
#include <stdatomic.h>
#define ASSERT(condition, why) _Static_assert(condition, why)
#define ALIGNMENT(type) _Alignof(type)
typedef _Atomic uint64_t wide_word;
#else
#define ASSERT(condition, why) extern const char is_so[(condition) ? 1 : -1]
#define ALIGNMENT(type) sizeof(type) /* can't be asked */
typedef volatile uint64_t wide_word;
#endif

ASSERT(sizeof(furwock_mutex) == 4, "a mutex is a word");
ASSERT(sizeof(furwock_condvar) == 4, "a condition variable is a word");
ASSERT(sizeof(furwock_rwlock) == 8, "a rwlock is a wide word");
ASSERT(sizeof(furwock_mutex_attempt) == 128, "what programs have compiled in");
ASSERT(sizeof(furwock_lock_options) == 24 && sizeof(furwock_lock_status) == 12,
       "what programs have compiled in");
ASSERT(sizeof(furwock_semaphore) == 16 && sizeof(furwock_barrier) == 16,
       "what programs have compiled in");
ASSERT(sizeof(furwock_pi_mutex) == 16 && sizeof(furwock_pi_condvar) == 32,
       "what programs have compiled in");
ASSERT(sizeof(furwock_robust_mutex) == 128 && sizeof(furwock_robust_rwlock) == 4224,
       "what programs have compiled in");
ASSERT(ALIGNMENT(furwock_robust_rwlock) % 64 == 0, "a reader's cache line");
ASSERT(sizeof(struct futex_waitv) == 24, "the kernel's layout");
ASSERT(FURWOCK_VERSION == FURWOCK_VERSION_MAJOR * 10000 + FURWOCK_VERSION_MINOR * 100 +
				  FURWOCK_VERSION_PATCH,
       "a number that can be compared");
#if FURWOCK_VERSION < 200
#error "the version can be compared by the preprocessor, too"
#endif

int use(wide_word *atomic, volatile uint32_t *shared, uint8_t *plain, void **pointer);

int use(wide_word *atomic, volatile uint32_t *shared, uint8_t *plain, void **pointer)
{
	furwock_expected words[] = { { atomic, 8, 1 }, { shared, 4, 2 }, { plain, 1, 3 } };
	furwock_mutex mutex = FURWOCK_MUTEX_INIT;
	furwock_condvar condvar = FURWOCK_CONDVAR_INIT;
	furwock_rwlock locks[] = {
		FURWOCK_RWLOCK_INIT, FURWOCK_RWLOCK_RECURSIVE_INIT,
		FURWOCK_RWLOCK_PREFER_READERS_INIT, FURWOCK_RWLOCK_PREFER_WRITERS_INIT,
		FURWOCK_RWLOCK_PREFER_WRITERS_RECURSIVE_INIT,
	};
	furwock_semaphore semaphore = FURWOCK_SEMAPHORE_INIT(3);
	furwock_barrier barrier = FURWOCK_BARRIER_INIT(2);
	furwock_pi_mutex pi[] = { FURWOCK_PI_MUTEX_INIT, FURWOCK_PI_MUTEX_SHARED_INIT };
	furwock_pi_condvar pi_condvar = FURWOCK_PI_CONDVAR_INIT;
	furwock_robust_mutex robust = FURWOCK_ROBUST_MUTEX_INIT;
	static furwock_robust_rwlock robust_rwlock = FURWOCK_ROBUST_RWLOCK_INIT;
	furwock_deadline soon = furwock_after_ns(1);
	furwock_deadline date = { FURWOCK_CLOCK_REALTIME, { 4000000000, 0 } };
	furwock_lock_options options = { .until = &soon, .flags = FURWOCK_NO_STEAL };
	furwock_lock_status status = { .how = FURWOCK_HOW_FAST };
	furwock_mutex_attempt attempt;
	struct futex_waitv one = { .flags = FUTEX2_SIZE_U64 | FUTEX2_PRIVATE };

	return furwock_wait64(atomic, 1, &soon) + furwock_wait32(shared, 2, &date) +
	       furwock_wait8(plain, 3, NULL) + furwock_wait_pointer(pointer, plain, NULL) +
	       furwock_wait_any(words, 3, NULL, NULL) + furwock_mutex_lock(&mutex) +
	       furwock_condvar_wait(&condvar, &mutex) +
	       furwock_rwlock_init(locks, FURWOCK_RWLOCK_RECURSIVE) +
	       furwock_rwlock_rdlock_with(locks, &options, &status) +
	       furwock_mutex_attempt_begin(&attempt, &mutex, &options) +
	       furwock_semaphore_acquire(&semaphore) + furwock_barrier_wait(&barrier, NULL) +
	       furwock_pi_mutex_lock(pi) + furwock_pi_condvar_wait(&pi_condvar, pi) +
	       furwock_robust_mutex_lock(&robust) +
	       furwock_robust_rwlock_rdlock(&robust_rwlock) +
	       furwock_shared_wait64(atomic, 1, NULL) +
	       (furwock_version() == FURWOCK_VERSION) +
	       (int)furwock_waitv(&one, 1, 0, &soon.at, soon.clock);
}
