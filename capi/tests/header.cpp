// As header.c, in C++.
#include <furwock.h>

#include <atomic>

static_assert(sizeof(furwock_mutex) == 4, "a mutex is a word");

int use(std::atomic<uint64_t> &atomic, volatile uint32_t &shared, uint8_t &plain, void *&pointer);

int use(std::atomic<uint64_t> &atomic, volatile uint32_t &shared, uint8_t &plain, void *&pointer)
{
	furwock_expected words[] = { { &atomic, 8, 1 }, { &shared, 4, 2 }, { &plain, 1, 3 } };
	furwock_mutex mutex = FURWOCK_MUTEX_INIT;
	furwock_condvar condvar = FURWOCK_CONDVAR_INIT;
	furwock_deadline soon = furwock_after_ns(1);
	futex_waitv one = {};

	return furwock_wait64(&atomic, 1, &soon) + furwock_wait32(&shared, 2, nullptr) +
	       furwock_wait8(&plain, 3, nullptr) + furwock_wait_pointer(&pointer, &plain, nullptr) +
	       furwock_wait_any(words, 3, nullptr, nullptr) + furwock_mutex_lock(&mutex) +
	       furwock_condvar_wait(&condvar, &mutex) +
	       int(furwock_waitv(&one, 1, 0, &soon.at, soon.clock));
}
