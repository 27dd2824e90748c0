// As header.c, in C++.
#include <furwock.h>

#include <atomic>

static_assert(sizeof(furwock_mutex) == 4, "a mutex is a word");
static_assert(sizeof(furwock_rwlock) == 8, "a rwlock is a wide word");
static_assert(sizeof(furwock_robust_rwlock) == 4224 && alignof(furwock_robust_rwlock) == 64,
	      "what programs have compiled in");

int use(std::atomic<uint64_t> &atomic, volatile uint32_t &shared, uint8_t &plain, void *&pointer);

int use(std::atomic<uint64_t> &atomic, volatile uint32_t &shared, uint8_t &plain, void *&pointer)
{
	furwock_expected words[] = { { &atomic, 8, 1 }, { &shared, 4, 2 }, { &plain, 1, 3 } };
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
	furwock_lock_options options = {};
	furwock_lock_status status = {};
	furwock_mutex_attempt attempt;
	futex_waitv one = {};

	return furwock_wait64(&atomic, 1, &soon) + furwock_wait32(&shared, 2, nullptr) +
	       furwock_wait8(&plain, 3, nullptr) + furwock_wait_pointer(&pointer, &plain, nullptr) +
	       furwock_wait_any(words, 3, nullptr, nullptr) + furwock_mutex_lock(&mutex) +
	       furwock_condvar_wait(&condvar, &mutex) +
	       furwock_rwlock_init(locks, FURWOCK_RWLOCK_RECURSIVE) +
	       furwock_rwlock_rdlock_with(locks, &options, &status) +
	       furwock_mutex_attempt_begin(&attempt, &mutex, &options) +
	       furwock_semaphore_acquire(&semaphore) + furwock_barrier_wait(&barrier, nullptr) +
	       furwock_pi_mutex_lock(pi) + furwock_pi_condvar_wait(&pi_condvar, pi) +
	       furwock_robust_mutex_lock(&robust) +
	       furwock_robust_rwlock_rdlock(&robust_rwlock) +
	       furwock_shared_wait64(&atomic, 1, nullptr) +
	       (status.how == FURWOCK_HOW_FAST) +
	       int(furwock_waitv(&one, 1, 0, &soon.at, soon.clock));
}
