// furwock in C++: locks that the standard's lock guards take, and waits on std::atomic with
// timeouts. Header-only, over furwock.h: link with libfurwock.
//
//	furwock::mutex			TimedLockable, as std::timed_mutex
//	furwock::shared_mutex		SharedTimedLockable, as std::shared_timed_mutex
//	furwock::condition_variable	as std::condition_variable, and with stop tokens (C++20)
//	furwock::counting_semaphore	as std::counting_semaphore, furwock::binary_semaphore
//	furwock::latch			as std::latch
//	furwock::barrier		as std::barrier's arrive_and_wait
//	furwock::atomic_wait and others	as std::atomic_wait, also with timeouts
//	furwock::wait_any		waits on several atomics
//
// C++11 is enough; what later standards add is there with them. A time on std::chrono's
// steady_clock or system_clock goes to the kernel as it is; a wait by another clock looks at that
// clock again whenever its time should have come.
//
// All of them are for the threads of one process. None can be copied or moved.

#ifndef FURWOCK_HPP
#define FURWOCK_HPP

#include <furwock.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <system_error>
#include <type_traits>

#if __cplusplus >= 202002L
#include <version>
#if defined(__cpp_lib_jthread)
#include <stop_token>
#define FURWOCK_HAS_STOP_TOKEN 1
#endif
#endif

namespace furwock {

namespace detail {

// About 285 years: the kernel's clocks end a little later.
constexpr std::int64_t last_second = 9000000000;
constexpr std::int64_t nanoseconds_a_second = 1000000000;

// The point that is `time` after the zero of `clock`, rounded up. One before it has passed.
template <class Rep, class Period>
furwock_deadline at(clockid_t clock, const std::chrono::duration<Rep, Period> &time)
{
	using namespace std::chrono;
	furwock_deadline deadline = furwock_deadline();

	deadline.clock = clock;
	if (!(time > time.zero()))
		return deadline;
	if (duration<long double>(time).count() >= static_cast<long double>(last_second)) {
		deadline.at.tv_sec = last_second;
		return deadline;
	}
	const seconds whole = duration_cast<seconds>(time);
	const auto rest = time - whole;
	nanoseconds fraction = duration_cast<nanoseconds>(rest);
	if (fraction < rest)
		++fraction;
	const bool full = fraction.count() == nanoseconds_a_second;
	deadline.at.tv_sec = whole.count() + (full ? 1 : 0);
	deadline.at.tv_nsec = full ? 0 : fraction.count();
	return deadline;
}

// The point that is `time` from now, by the monotonic clock.
template <class Rep, class Period>
furwock_deadline after(const std::chrono::duration<Rep, Period> &time)
{
	const timespec span = at(FURWOCK_CLOCK_MONOTONIC, time).at;

	return furwock_after_ns(static_cast<std::uint64_t>(span.tv_sec) *
					static_cast<std::uint64_t>(nanoseconds_a_second) +
				static_cast<std::uint64_t>(span.tv_nsec));
}

// Waits by `wait`, which takes a deadline and returns an error number, until `when`.
template <class Duration, class Wait>
int until(const std::chrono::time_point<std::chrono::steady_clock, Duration> &when, Wait wait)
{
	const furwock_deadline deadline = at(FURWOCK_CLOCK_MONOTONIC, when.time_since_epoch());

	return wait(&deadline);
}

template <class Duration, class Wait>
int until(const std::chrono::time_point<std::chrono::system_clock, Duration> &when, Wait wait)
{
	const furwock_deadline deadline = at(FURWOCK_CLOCK_REALTIME, when.time_since_epoch());

	return wait(&deadline);
}

template <class Clock, class Duration, class Wait>
int until(const std::chrono::time_point<Clock, Duration> &when, Wait wait)
{
	for (;;) {
		const furwock_deadline deadline = after(when - Clock::now());
		const int error = wait(&deadline);

		if (error != ETIMEDOUT || !(Clock::now() < when))
			return error;
	}
}

template <class Rep, class Period, class Wait>
int within(const std::chrono::duration<Rep, Period> &time, Wait wait)
{
	const furwock_deadline deadline = after(time);

	return wait(&deadline);
}

inline void check(int error, const char *what)
{
	if (error == 0)
		return;
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
	throw std::system_error(error, std::generic_category(), what);
#else
	static_cast<void>(what);
	std::abort();
#endif
}

// Keeps a template's argument from being deduced.
template <class T>
struct same {
	typedef T type;
};

template <std::size_t Size>
struct word;

template <>
struct word<1> {
	typedef std::uint8_t bits;
	static int wait(const volatile void *address, bits expected, const furwock_deadline *until)
	{
		return furwock_wait8(address, expected, until);
	}
};

template <>
struct word<2> {
	typedef std::uint16_t bits;
	static int wait(const volatile void *address, bits expected, const furwock_deadline *until)
	{
		return furwock_wait16(address, expected, until);
	}
};

template <>
struct word<4> {
	typedef std::uint32_t bits;
	static int wait(const volatile void *address, bits expected, const furwock_deadline *until)
	{
		return furwock_wait32(address, expected, until);
	}
};

template <>
struct word<8> {
	typedef std::uint64_t bits;
	static int wait(const volatile void *address, bits expected, const furwock_deadline *until)
	{
		return furwock_wait64(address, expected, until);
	}
};

// The bits of a value, as its atomic holds them.
template <class T>
typename word<sizeof(T)>::bits bits_of(const T &value)
{
	static_assert(sizeof(std::atomic<T>) == sizeof(T) &&
			      alignof(std::atomic<T>) >= sizeof(T),
		      "an atomic that can be waited on is its value, of 1, 2, 4 or 8 bytes");
	typename word<sizeof(T)>::bits bits;

	std::memcpy(&bits, &value, sizeof(bits));
	return bits;
}

// Waits until the atomic's bits differ from those of `old`.
template <class T>
int wait_on(const std::atomic<T> &atomic, const T &old, std::memory_order order,
	    const furwock_deadline *until)
{
	const auto bits = bits_of(old);

	while (bits_of(atomic.load(order)) == bits) {
		const int error = word<sizeof(T)>::wait(&atomic, bits, until);

		if (error == ETIMEDOUT)
			return bits_of(atomic.load(order)) == bits ? ETIMEDOUT : 0;
	}
	return 0;
}

} // namespace detail

// A mutex of four bytes: furwock_mutex_lock(3).
class mutex {
	furwock_mutex native = FURWOCK_MUTEX_INIT;

public:
	typedef furwock_mutex *native_handle_type;

	constexpr mutex() noexcept = default;
	mutex(const mutex &) = delete;
	mutex &operator=(const mutex &) = delete;

	void lock() noexcept { furwock_mutex_lock(&native); }
	bool try_lock() noexcept { return furwock_mutex_trylock(&native) == 0; }
	void unlock() noexcept { furwock_mutex_unlock(&native); }
	// Hands the mutex to the waiter that has waited longest.
	void unlock_fair() noexcept { furwock_mutex_unlock_fair(&native); }

	template <class Rep, class Period>
	bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
	{
		return try_lock() || detail::within(time, waiting()) == 0;
	}

	template <class Clock, class Duration>
	bool try_lock_until(const std::chrono::time_point<Clock, Duration> &when)
	{
		return try_lock() || detail::until(when, waiting()) == 0;
	}

	native_handle_type native_handle() noexcept { return &native; }

private:
	struct lock_until {
		furwock_mutex *native;

		int operator()(const furwock_deadline *deadline) const
		{
			return furwock_mutex_lock_until(native, deadline);
		}
	};

	lock_until waiting() noexcept { return lock_until{ &native }; }
};

// Which of readers and writers go first: furwock_rwlock_init(3).
enum class policy {
	phase_fair = FURWOCK_RWLOCK_PHASE_FAIR,
	recursive = FURWOCK_RWLOCK_RECURSIVE,
	prefer_readers = FURWOCK_RWLOCK_PREFER_READERS,
	prefer_writers = FURWOCK_RWLOCK_PREFER_WRITERS,
	prefer_writers_recursive = FURWOCK_RWLOCK_PREFER_WRITERS_RECURSIVE,
};

// A reader-writer lock of eight bytes: furwock_rwlock_init(3). Besides the readers one upgradable
// reader may be inside, by the names that Boost has for it.
class shared_mutex {
	furwock_rwlock native = FURWOCK_RWLOCK_INIT;

public:
	typedef furwock_rwlock *native_handle_type;

	constexpr shared_mutex() noexcept = default;
	constexpr explicit shared_mutex(policy which) noexcept
		: native{ static_cast<std::uint64_t>(which) << 61 }
	{
		static_assert(furwock_rwlock FURWOCK_RWLOCK_PREFER_WRITERS_RECURSIVE_INIT.word ==
				      static_cast<std::uint64_t>(
					      policy::prefer_writers_recursive)
					      << 61,
			      "as the initialisers have it");
	}
	shared_mutex(const shared_mutex &) = delete;
	shared_mutex &operator=(const shared_mutex &) = delete;

	void lock() noexcept { furwock_rwlock_wrlock(&native); }
	bool try_lock() noexcept { return furwock_rwlock_trywrlock(&native) == 0; }
	void unlock() noexcept { furwock_rwlock_wrunlock(&native); }

	template <class Rep, class Period>
	bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
	{
		return detail::within(time, by<furwock_rwlock_wrlock_until>()) == 0;
	}

	template <class Clock, class Duration>
	bool try_lock_until(const std::chrono::time_point<Clock, Duration> &when)
	{
		return detail::until(when, by<furwock_rwlock_wrlock_until>()) == 0;
	}

	void lock_shared() noexcept { furwock_rwlock_rdlock(&native); }
	bool try_lock_shared() noexcept { return furwock_rwlock_tryrdlock(&native) == 0; }
	void unlock_shared() noexcept { furwock_rwlock_rdunlock(&native); }

	template <class Rep, class Period>
	bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &time)
	{
		return detail::within(time, by<furwock_rwlock_rdlock_until>()) == 0;
	}

	template <class Clock, class Duration>
	bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &when)
	{
		return detail::until(when, by<furwock_rwlock_rdlock_until>()) == 0;
	}

	void lock_upgrade() noexcept { furwock_rwlock_uplock(&native); }
	bool try_lock_upgrade() noexcept { return furwock_rwlock_tryuplock(&native) == 0; }
	void unlock_upgrade() noexcept { furwock_rwlock_upunlock(&native); }

	template <class Rep, class Period>
	bool try_lock_upgrade_for(const std::chrono::duration<Rep, Period> &time)
	{
		return detail::within(time, by<furwock_rwlock_uplock_until>()) == 0;
	}

	template <class Clock, class Duration>
	bool try_lock_upgrade_until(const std::chrono::time_point<Clock, Duration> &when)
	{
		return detail::until(when, by<furwock_rwlock_uplock_until>()) == 0;
	}

	// Changes of the caller's own hold, without letting go.
	void unlock_upgrade_and_lock() noexcept { furwock_rwlock_upgrade(&native); }
	bool try_unlock_upgrade_and_lock() noexcept
	{
		return furwock_rwlock_tryupgrade(&native) == 0;
	}
	void unlock_and_lock_shared() noexcept { furwock_rwlock_downgrade(&native); }
	void unlock_and_lock_upgrade() noexcept { furwock_rwlock_downgrade_to_upgradable(&native); }
	void unlock_upgrade_and_lock_shared() noexcept
	{
		furwock_rwlock_downgrade_upgradable(&native);
	}

	native_handle_type native_handle() noexcept { return &native; }

private:
	template <int (*Enter)(furwock_rwlock *, const furwock_deadline *)>
	struct enter_until {
		furwock_rwlock *native;

		int operator()(const furwock_deadline *deadline) const
		{
			return Enter(native, deadline);
		}
	};

	template <int (*Enter)(furwock_rwlock *, const furwock_deadline *)>
	enter_until<Enter> by() noexcept
	{
		return enter_until<Enter>{ &native };
	}
};

// A condition variable for furwock::mutex: furwock_condvar_wait(3). A notification moves waiters to
// the mutex instead of waking them into it.
//
// The notifier holds the mutex, or has held it since it changed the condition. All threads that
// wait at the same time use the same mutex.
class condition_variable {
	furwock_condvar native = FURWOCK_CONDVAR_INIT;
	// Whether a thread has ever waited with a stop token. Such waiters sleep on `notified`,
	// which every notification changes from then on, and on a word of their own, which the stop
	// changes: neither is lost between the look at the condition and the sleep. They don't
	// touch the condition variable once they have been notified.
	std::atomic<bool> stoppable{ false };
	std::atomic<std::uint32_t> notified{ 0 };

public:
	typedef furwock_condvar *native_handle_type;

	constexpr condition_variable() noexcept = default;
	condition_variable(const condition_variable &) = delete;
	condition_variable &operator=(const condition_variable &) = delete;

	void notify_one() noexcept
	{
		if (!stoppable.load(std::memory_order_relaxed) || notify_stoppable(1) == 0)
			furwock_condvar_signal(&native);
	}

	void notify_all() noexcept
	{
		if (stoppable.load(std::memory_order_relaxed))
			notify_stoppable(SIZE_MAX);
		furwock_condvar_broadcast(&native);
	}

	void wait(std::unique_lock<mutex> &lock) noexcept
	{
		furwock_condvar_wait(&native, lock.mutex()->native_handle());
	}

	template <class Predicate>
	void wait(std::unique_lock<mutex> &lock, Predicate done)
	{
		while (!done())
			wait(lock);
	}

	template <class Clock, class Duration>
	std::cv_status wait_until(std::unique_lock<mutex> &lock,
				  const std::chrono::time_point<Clock, Duration> &when)
	{
		return status(detail::until(when, waiting(lock)));
	}

	template <class Clock, class Duration, class Predicate>
	bool wait_until(std::unique_lock<mutex> &lock,
			const std::chrono::time_point<Clock, Duration> &when, Predicate done)
	{
		while (!done())
			if (wait_until(lock, when) == std::cv_status::timeout)
				return done();
		return true;
	}

	template <class Rep, class Period>
	std::cv_status wait_for(std::unique_lock<mutex> &lock,
				const std::chrono::duration<Rep, Period> &time)
	{
		return status(detail::within(time, waiting(lock)));
	}

	template <class Rep, class Period, class Predicate>
	bool wait_for(std::unique_lock<mutex> &lock,
		      const std::chrono::duration<Rep, Period> &time, Predicate done)
	{
		const furwock_deadline deadline = detail::after(time);
		const wait_by by = waiting(lock);

		while (!done())
			if (by(&deadline) == ETIMEDOUT)
				return done();
		return true;
	}

#ifdef FURWOCK_HAS_STOP_TOKEN
	// These return done(), once that is true, a stop is requested, or the time is over.
	template <class Predicate>
	bool wait(std::unique_lock<mutex> &lock, std::stop_token stop, Predicate done)
	{
		return wait_stoppable(lock, stop, done, [](const furwock_expected *words) {
			return furwock_wait_any(words, 2, nullptr, nullptr);
		});
	}

	template <class Clock, class Duration, class Predicate>
	bool wait_until(std::unique_lock<mutex> &lock, std::stop_token stop,
			const std::chrono::time_point<Clock, Duration> &when, Predicate done)
	{
		return wait_stoppable(lock, stop, done, [&when](const furwock_expected *words) {
			return detail::until(when, [words](const furwock_deadline *deadline) {
				return furwock_wait_any(words, 2, deadline, nullptr);
			});
		});
	}

	template <class Rep, class Period, class Predicate>
	bool wait_for(std::unique_lock<mutex> &lock, std::stop_token stop,
		      const std::chrono::duration<Rep, Period> &time, Predicate done)
	{
		const furwock_deadline deadline = detail::after(time);

		return wait_stoppable(lock, stop, done, [&deadline](const furwock_expected *words) {
			return furwock_wait_any(words, 2, &deadline, nullptr);
		});
	}
#endif

	native_handle_type native_handle() noexcept { return &native; }

private:
	struct wait_by {
		furwock_condvar *native;
		furwock_mutex *mutex;

		int operator()(const furwock_deadline *deadline) const
		{
			return furwock_condvar_wait_until(native, mutex, deadline);
		}
	};

	wait_by waiting(std::unique_lock<mutex> &lock) noexcept
	{
		return wait_by{ &native, lock.mutex()->native_handle() };
	}

	static std::cv_status status(int error) noexcept
	{
		return error == ETIMEDOUT ? std::cv_status::timeout : std::cv_status::no_timeout;
	}

	// A waiter that isn't asleep yet finds the word changed.
	std::size_t notify_stoppable(std::size_t count) noexcept
	{
		notified.fetch_add(1, std::memory_order_relaxed);
		return furwock_wake(&notified, count);
	}

#ifdef FURWOCK_HAS_STOP_TOKEN
	template <class Predicate, class Wait>
	bool wait_stoppable(std::unique_lock<mutex> &lock, const std::stop_token &stop,
			    Predicate &done, Wait wait_for_either)
	{
		std::atomic<std::uint32_t> stopped{ 0 };
		auto tell = [&stopped]() noexcept {
			stopped.store(1, std::memory_order_relaxed);
			furwock_wake(&stopped, SIZE_MAX);
		};

		if (stop.stop_requested())
			return done();
		if (done())
			return true;
		// Under the mutex, which a notifier that this waiter must not miss gets later.
		stoppable.store(true, std::memory_order_relaxed);
		std::stop_callback<decltype(tell)> callback(stop, tell);
		while (!stop.stop_requested()) {
			const std::uint32_t seen = notified.load(std::memory_order_relaxed);
			const furwock_expected words[] = { { &notified, sizeof(seen), seen },
							   { &stopped, sizeof(seen), 0 } };

			lock.unlock();
			const int error = wait_for_either(words);
			lock.lock();
			if (done())
				return true;
			if (error == ETIMEDOUT)
				return false;
		}
		return done();
	}
#endif
};

// A semaphore: furwock_semaphore_init(3).
template <std::ptrdiff_t LeastMax = FURWOCK_SEMAPHORE_MOST>
class counting_semaphore {
	static_assert(LeastMax >= 0 && LeastMax <= FURWOCK_SEMAPHORE_MOST,
		      "a semaphore counts up to FURWOCK_SEMAPHORE_MOST");

	furwock_semaphore native;

public:
	typedef furwock_semaphore *native_handle_type;

	// At least 0, and at most max().
	constexpr explicit counting_semaphore(std::ptrdiff_t permits) noexcept
		: native FURWOCK_SEMAPHORE_INIT(static_cast<std::uint64_t>(permits))
	{
	}
	counting_semaphore(const counting_semaphore &) = delete;
	counting_semaphore &operator=(const counting_semaphore &) = delete;

	static constexpr std::ptrdiff_t max() noexcept { return FURWOCK_SEMAPHORE_MOST; }

	// Throws std::system_error (EOVERFLOW) if there would be more permits than max().
	void release(std::ptrdiff_t permits = 1)
	{
		const int error =
			permits < 0 || permits > max() ?
				EOVERFLOW :
				furwock_semaphore_release_many(
					&native, static_cast<std::uint32_t>(permits));

		detail::check(error, "furwock::counting_semaphore::release");
	}

	void acquire() noexcept { furwock_semaphore_acquire(&native); }
	bool try_acquire() noexcept { return furwock_semaphore_tryacquire(&native) == 0; }

	template <class Rep, class Period>
	bool try_acquire_for(const std::chrono::duration<Rep, Period> &time)
	{
		return try_acquire() || detail::within(time, waiting()) == 0;
	}

	template <class Clock, class Duration>
	bool try_acquire_until(const std::chrono::time_point<Clock, Duration> &when)
	{
		return try_acquire() || detail::until(when, waiting()) == 0;
	}

	native_handle_type native_handle() noexcept { return &native; }

private:
	struct acquire_until {
		furwock_semaphore *native;

		int operator()(const furwock_deadline *deadline) const
		{
			return furwock_semaphore_acquire_until(native, deadline);
		}
	};

	acquire_until waiting() noexcept { return acquire_until{ &native }; }
};

typedef counting_semaphore<1> binary_semaphore;

// std::atomic's wait: returns once the atomic holds another value than `old`. Of two values only
// the bits are compared.
template <class T>
void atomic_wait(const std::atomic<T> &atomic, typename detail::same<T>::type old,
		 std::memory_order order = std::memory_order_seq_cst)
{
	detail::wait_on(atomic, old, order, nullptr);
}

// The same, at most for that long. Returns whether the atomic holds another value than `old`.
template <class T, class Rep, class Period>
bool atomic_wait_for(const std::atomic<T> &atomic, typename detail::same<T>::type old,
		     const std::chrono::duration<Rep, Period> &time,
		     std::memory_order order = std::memory_order_seq_cst)
{
	const furwock_deadline deadline = detail::after(time);

	return detail::wait_on(atomic, old, order, &deadline) == 0;
}

// The same, at most until then.
template <class T, class Clock, class Duration>
bool atomic_wait_until(const std::atomic<T> &atomic, typename detail::same<T>::type old,
		       const std::chrono::time_point<Clock, Duration> &when,
		       std::memory_order order = std::memory_order_seq_cst)
{
	return detail::until(when, [&](const furwock_deadline *deadline) {
		       return detail::wait_on(atomic, old, order, deadline);
	       }) == 0;
}

// Wakes the thread that has waited longest for the atomic to change, which the caller has done
// before. Returns how many it woke. The atomic need not exist any more.
template <class T>
std::size_t atomic_notify_one(const std::atomic<T> &atomic) noexcept
{
	return furwock_wake(&atomic, 1);
}

// The same for all threads that wait.
template <class T>
std::size_t atomic_notify_all(const std::atomic<T> &atomic) noexcept
{
	return furwock_wake(&atomic, SIZE_MAX);
}

// An atomic, and the value that a wait on several expects it to hold.
template <class T>
furwock_expected expect(const std::atomic<T> &atomic, typename detail::same<T>::type value) noexcept
{
	return furwock_expected{ &atomic, sizeof(T), detail::bits_of<T>(value) };
}

namespace detail {

inline std::ptrdiff_t index_of(int error, std::size_t index)
{
	if (error == ETIMEDOUT)
		return -1;
	check(error == EAGAIN ? 0 : error, "furwock_wait_any");
	return static_cast<std::ptrdiff_t>(index);
}

} // namespace detail

// Waits until one of the atomics has been notified, or holds another value than expected, and
// returns its index; furwock_wait_any(3). Look at the atomics again: the wake may be spurious.
inline std::ptrdiff_t wait_any(const furwock_expected *words, std::size_t count)
{
	std::size_t index = 0;
	const int error = furwock_wait_any(words, count, nullptr, &index);

	return detail::index_of(error, index);
}

inline std::ptrdiff_t wait_any(std::initializer_list<furwock_expected> words)
{
	return wait_any(words.begin(), words.size());
}

// The same, at most for that long: then -1.
template <class Rep, class Period>
std::ptrdiff_t wait_any_for(const furwock_expected *words, std::size_t count,
			    const std::chrono::duration<Rep, Period> &time)
{
	std::size_t index = 0;
	const int error = detail::within(time, [&](const furwock_deadline *deadline) {
		return furwock_wait_any(words, count, deadline, &index);
	});

	return detail::index_of(error, index);
}

template <class Rep, class Period>
std::ptrdiff_t wait_any_for(std::initializer_list<furwock_expected> words,
			    const std::chrono::duration<Rep, Period> &time)
{
	return wait_any_for(words.begin(), words.size(), time);
}

// The same, at most until then.
template <class Clock, class Duration>
std::ptrdiff_t wait_any_until(const furwock_expected *words, std::size_t count,
			      const std::chrono::time_point<Clock, Duration> &when)
{
	std::size_t index = 0;
	const int error = detail::until(when, [&](const furwock_deadline *deadline) {
		return furwock_wait_any(words, count, deadline, &index);
	});

	return detail::index_of(error, index);
}

template <class Clock, class Duration>
std::ptrdiff_t wait_any_until(std::initializer_list<furwock_expected> words,
			      const std::chrono::time_point<Clock, Duration> &when)
{
	return wait_any_until(words.begin(), words.size(), when);
}

// A count that only goes down, and threads that wait until it is 0. It may be destroyed as soon as
// it is 0, even while the last count_down is still returning.
class latch {
	std::atomic<std::ptrdiff_t> missing;

public:
	constexpr explicit latch(std::ptrdiff_t expected) noexcept : missing(expected) {}
	latch(const latch &) = delete;
	latch &operator=(const latch &) = delete;

	static constexpr std::ptrdiff_t max() noexcept { return PTRDIFF_MAX; }

	void count_down(std::ptrdiff_t count = 1) noexcept
	{
		// The latch may be gone after this step: a wake doesn't read it.
		if (missing.fetch_sub(count, std::memory_order_acq_rel) == count)
			furwock_wake(&missing, SIZE_MAX);
	}

	bool try_wait() const noexcept { return missing.load(std::memory_order_acquire) == 0; }

	void wait() const noexcept
	{
		std::ptrdiff_t left;

		while ((left = missing.load(std::memory_order_acquire)) != 0)
			furwock_wait64(&missing, static_cast<std::uint64_t>(left), nullptr);
	}

	void arrive_and_wait(std::ptrdiff_t count = 1) noexcept
	{
		count_down(count);
		wait();
	}
};

// A barrier: furwock_barrier_init(3).
class barrier {
	furwock_barrier native;

public:
	typedef furwock_barrier *native_handle_type;

	// At least 1.
	constexpr explicit barrier(std::uint32_t threads) noexcept
		: native FURWOCK_BARRIER_INIT(threads)
	{
	}
	barrier(const barrier &) = delete;
	barrier &operator=(const barrier &) = delete;

	// Waits for the other threads. Returns true to the last of a round.
	bool arrive_and_wait() noexcept
	{
		bool last = false;

		furwock_barrier_wait(&native, &last);
		return last;
	}

	native_handle_type native_handle() noexcept { return &native; }
};

} // namespace furwock

#endif // FURWOCK_HPP
