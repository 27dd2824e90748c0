// What furwock.hpp promises, for each standard of C++ that it is compiled as.
#include <furwock.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <thread>
#include <unistd.h>
#include <vector>

#if __cplusplus >= 201402L
#include <shared_mutex>
#endif

#define CHECK(condition)                                                        \
	do {                                                                    \
		if (!(condition)) {                                             \
			std::fprintf(stderr, "FAILED %s:%d: not so: %s\n",      \
				     __FILE__, __LINE__, #condition);           \
			std::_Exit(1);                                          \
		}                                                               \
	} while (0)

// Runs at half the speed of the steady clock, from a zero of its own.
struct slow_clock {
	typedef std::chrono::milliseconds duration;
	typedef duration::rep rep;
	typedef duration::period period;
	typedef std::chrono::time_point<slow_clock> time_point;
	static constexpr bool is_steady = true;
	static std::chrono::steady_clock::time_point start;

	static time_point now()
	{
		return time_point(std::chrono::duration_cast<duration>(
			(std::chrono::steady_clock::now() - start) / 2));
	}
};

std::chrono::steady_clock::time_point slow_clock::start = std::chrono::steady_clock::now();

namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

const milliseconds soon(20);
// What the slow clock rounds down, several times.
const milliseconds grain(10);
const hours never(24 * 365 * 250);

// Static ones are initialised before any code runs.
furwock::mutex first, second;
furwock::shared_mutex shared;
furwock::shared_mutex writers_first(furwock::policy::prefer_writers);
furwock::condition_variable changed;
#if defined(__cpp_constinit)
constinit furwock::mutex constant;
constinit furwock::counting_semaphore<> permits(0);
#endif

template <class Lock>
bool can_lock(Lock &lock)
{
	bool could = false;

	std::thread([&] {
		could = lock.try_lock();
		if (could)
			lock.unlock();
	}).join();
	return could;
}

template <class Lock>
bool can_share(Lock &lock)
{
	bool could = false;

	std::thread([&] {
		could = lock.try_lock_shared();
		if (could)
			lock.unlock_shared();
	}).join();
	return could;
}

void deadlines_are_exact()
{
	using furwock::detail::at;
	typedef std::chrono::duration<std::int64_t, std::ratio<1, 3>> thirds;
	typedef std::chrono::duration<std::int64_t, std::pico> picoseconds;
	typedef std::chrono::duration<double> fractional;

	furwock_deadline deadline = at(CLOCK_REALTIME, nanoseconds(1999999999));
	CHECK(deadline.clock == CLOCK_REALTIME);
	CHECK(deadline.at.tv_sec == 1 && deadline.at.tv_nsec == 999999999);
	// Rounded up: a wait may not end early.
	deadline = at(CLOCK_MONOTONIC, thirds(5));
	CHECK(deadline.clock == CLOCK_MONOTONIC);
	CHECK(deadline.at.tv_sec == 1 && deadline.at.tv_nsec == 666666667);
	deadline = at(CLOCK_MONOTONIC, fractional(0.5));
	CHECK(deadline.at.tv_sec == 0 && deadline.at.tv_nsec == 500000000);
	deadline = at(CLOCK_MONOTONIC, picoseconds(1999999999999));
	CHECK(deadline.at.tv_sec == 2 && deadline.at.tv_nsec == 0);
	for (auto past : { nanoseconds(0), nanoseconds(-1), nanoseconds::min() })
		CHECK(at(CLOCK_MONOTONIC, past).at.tv_sec == 0);
	CHECK(at(CLOCK_MONOTONIC, hours::max()).at.tv_sec == 9000000000);
	CHECK(at(CLOCK_MONOTONIC, fractional(HUGE_VAL)).at.tv_sec == 9000000000);
	CHECK(at(CLOCK_MONOTONIC, nanoseconds::max()).at.tv_sec == 9000000000);
}

template <class Lock>
void times_pass_at(Lock &lock)
{
	const auto begin = steady_clock::now();

	std::thread([&] {
		CHECK(!lock.try_lock_for(soon));
		CHECK(!lock.try_lock_for(soon * -1));
		CHECK(!lock.try_lock_until(steady_clock::now() + soon));
		CHECK(!lock.try_lock_until(steady_clock::time_point()));
		CHECK(!lock.try_lock_until(system_clock::now() + soon));
		const auto when = slow_clock::now() + soon;
		CHECK(!lock.try_lock_until(when));
		CHECK(slow_clock::now() >= when);
	}).join();
	CHECK(steady_clock::now() - begin >= 5 * soon - grain);
}

void the_mutex_is_lockable()
{
	std::lock(first, second);
	CHECK(!can_lock(first) && !can_lock(second));
	second.unlock_fair();
	CHECK(can_lock(second));
	times_pass_at(first);
	first.unlock();
	{
		std::lock_guard<furwock::mutex> guard(first);
		CHECK(furwock_mutex_owner(first.native_handle()) == gettid());
	}
	std::unique_lock<furwock::mutex> lock(first, never);
	CHECK(lock.owns_lock());
	lock.unlock();
	CHECK(lock.try_lock_until(steady_clock::time_point::max()));
	lock.unlock();
	CHECK(lock.try_lock_until(system_clock::time_point::max()));
	lock.unlock();
	CHECK(lock.try_lock_until(slow_clock::now() + soon));
#if __cplusplus >= 201703L
	std::scoped_lock both(second, writers_first);
	CHECK(!can_lock(second) && !can_share(writers_first));
#endif
}

void the_mutex_excludes()
{
	std::vector<std::thread> threads;
	long count = 0;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&] {
			for (int j = 0; j < 20000; j++) {
				std::lock_guard<furwock::mutex> guard(first);
				count++;
			}
		});
	for (auto &thread : threads)
		thread.join();
	CHECK(count == 80000);
}

void the_shared_mutex_is_shared()
{
	shared.lock();
	CHECK(!can_lock(shared) && !can_share(shared));
	times_pass_at(shared);
	std::thread([] {
		CHECK(!shared.try_lock_shared_for(soon));
		CHECK(!shared.try_lock_shared_until(system_clock::now() + soon));
		CHECK(!shared.try_lock_upgrade_for(soon));
		CHECK(!shared.try_lock_upgrade_until(slow_clock::now() + soon));
	}).join();
	shared.unlock_and_lock_upgrade();
	CHECK(can_share(shared) && !can_lock(shared));
	CHECK(shared.try_unlock_upgrade_and_lock());
	CHECK(!can_share(shared));
	shared.unlock_and_lock_shared();
	CHECK(can_share(shared) && !can_lock(shared));
	shared.unlock_shared();
	shared.lock_upgrade();
	shared.unlock_upgrade_and_lock();
	CHECK(!can_share(shared));
	shared.unlock();
	CHECK(shared.try_lock_upgrade());
	shared.unlock_upgrade_and_lock_shared();
	shared.unlock_shared();
	CHECK(shared.try_lock_upgrade_for(never));
	shared.unlock_upgrade();
	CHECK(can_lock(shared));
	CHECK(shared.try_lock_shared_for(soon) && shared.try_lock_shared_until(slow_clock::now()));
	shared.unlock_shared();
	shared.unlock_shared();
#if __cplusplus >= 201402L
	std::shared_lock<furwock::shared_mutex> reader(shared, soon);
	CHECK(reader.owns_lock() && can_share(shared) && !can_lock(shared));
#endif
	CHECK(furwock_rwlock_policy(writers_first.native_handle()) ==
	      FURWOCK_RWLOCK_PREFER_WRITERS);
	CHECK(furwock_rwlock_policy(shared.native_handle()) == FURWOCK_RWLOCK_PHASE_FAIR);
}

void the_condition_is_awaited()
{
	std::unique_lock<furwock::mutex> lock(first);
	int turn = 0;
	const auto begin = steady_clock::now();

	CHECK(changed.wait_for(lock, soon) == std::cv_status::timeout);
	CHECK(changed.wait_until(lock, system_clock::now() + soon) == std::cv_status::timeout);
	CHECK(changed.wait_until(lock, slow_clock::now() + soon) == std::cv_status::timeout);
	CHECK(!changed.wait_for(lock, soon, [] { return false; }));
	CHECK(!changed.wait_until(lock, steady_clock::now() + soon, [] { return false; }));
	CHECK(changed.wait_for(lock, soon * -1, [] { return true; }));
	CHECK(steady_clock::now() - begin >= 6 * soon - grain);
	CHECK(lock.owns_lock() && !can_lock(first));

	std::thread other([&] {
		std::unique_lock<furwock::mutex> held(first);

		for (int i = 0; i < 1000; i++) {
			changed.wait(held, [&] { return turn % 2 == 1; });
			turn++;
			changed.notify_one();
		}
	});
	for (int i = 0; i < 1000; i++) {
		turn++;
		changed.notify_all();
		CHECK(changed.wait_for(lock, never, [&] { return turn % 2 == 0; }));
	}
	CHECK(turn == 2000);
	lock.unlock();
	other.join();
}

#ifdef FURWOCK_HAS_STOP_TOKEN
void a_stop_ends_the_wait()
{
	std::unique_lock<furwock::mutex> lock(first);
	bool ready = true;
	auto is_ready = [&] { return ready; };
	static std::stop_source source;

	CHECK(changed.wait(lock, source.get_token(), is_ready));
	ready = false;
	CHECK(!changed.wait_for(lock, source.get_token(), soon, is_ready));
	CHECK(!changed.wait_until(lock, source.get_token(), slow_clock::now() + soon, is_ready));
	CHECK(lock.owns_lock());
	// With the mutex held by the thread that stops.
	std::jthread waiter([&](std::stop_token stop) {
		std::unique_lock<furwock::mutex> held(first);

		CHECK(!changed.wait(held, stop, is_ready));
		CHECK(held.owns_lock());
	});
	waiter.request_stop();
	lock.unlock();
	waiter.join();
	lock.lock();
	source.request_stop();
	CHECK(!changed.wait(lock, source.get_token(), is_ready));
	CHECK(!changed.wait_for(lock, source.get_token(), never, is_ready));
	ready = true;
	CHECK(changed.wait(lock, source.get_token(), is_ready));
	// A token that nothing can stop.
	CHECK(changed.wait(lock, std::stop_token(), is_ready));
}

// The stop comes at any moment of the wait.
void no_stop_is_lost()
{
	const auto end = steady_clock::now() + milliseconds(400);

	for (unsigned round = 0; steady_clock::now() < end; round++) {
		std::atomic<bool> begun{ false };
		std::jthread waiter([&](std::stop_token stop) {
			std::unique_lock<furwock::mutex> held(second);

			begun.store(true);
			if (round % 2)
				CHECK(!changed.wait(held, stop, [] { return false; }));
			else
				CHECK(!changed.wait_for(held, stop, never, [] { return false; }));
		});

		while (!begun.load())
			std::this_thread::yield();
		for (unsigned i = 0; i < round * 37 % 5000; i++)
			begun.load();
		waiter.request_stop();
	}
}

// The notifier takes the mutex just as the waiter lets go of it, and notifies before it is asleep.
void each_notification_arrives()
{
	furwock::condition_variable cv;
	int waits = 0, notified = 0;
	constexpr int all = 20000;
	std::jthread waiter([&](std::stop_token stop) {
		std::unique_lock<furwock::mutex> held(second);

		while (waits < all) {
			waits++;
			CHECK(cv.wait(held, stop, [&] { return notified == waits; }));
		}
	});

	while (notified < all) {
		if (!second.try_lock())
			continue;
		const bool waiting = waits > notified;
		notified += waiting;
		second.unlock();
		if (waiting)
			cv.notify_one();
	}
	waiter.join();
	CHECK(waits == all);
}

// Waiters with and without a token take notifications in turns.
void no_notification_is_lost()
{
	furwock::condition_variable cv;
	std::vector<std::jthread> threads;
	int items = 0, taken = 0;
	constexpr int all = 20000;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&, i](std::stop_token stop) {
			std::unique_lock<furwock::mutex> held(second);
			auto there_is = [&] { return items > 0 || taken == all; };

			for (;;) {
				if (i % 2)
					cv.wait(held, there_is);
				else
					CHECK(cv.wait(held, stop, there_is));
				if (taken == all)
					return;
				items--;
				if (++taken == all)
					cv.notify_all();
			}
		});
	for (int i = 0; i < all; i++) {
		{
			std::lock_guard<furwock::mutex> guard(second);
			items++;
		}
		cv.notify_one();
	}
	for (auto &thread : threads)
		thread.join();
	CHECK(taken == all && items == 0);
}
#endif

void the_semaphore_counts()
{
	furwock::counting_semaphore<10> semaphore(2);
	furwock::binary_semaphore turn(0);

	static_assert(furwock::counting_semaphore<>::max() == 0x7fffffff, "POSIX's");
	semaphore.acquire();
	CHECK(semaphore.try_acquire() && !semaphore.try_acquire());
	CHECK(!semaphore.try_acquire_for(soon));
	CHECK(!semaphore.try_acquire_until(system_clock::now() + soon));
	CHECK(!semaphore.try_acquire_until(slow_clock::now() + soon));
	semaphore.release(3);
	CHECK(semaphore.try_acquire_for(never) && semaphore.try_acquire_for(soon * -1));
	semaphore.acquire();
	CHECK(!semaphore.try_acquire());
	semaphore.release(furwock::counting_semaphore<>::max());
	bool refused = false;
	try {
		semaphore.release();
	} catch (const std::system_error &error) {
		refused = error.code() == std::errc::value_too_large;
	}
	CHECK(refused);
	std::thread other([&] { turn.release(); });
	turn.acquire();
	other.join();
}

void the_latch_opens()
{
	std::unique_ptr<furwock::latch> latch(new furwock::latch(5));
	std::atomic<int> passed(0);
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&] {
			latch->arrive_and_wait();
			passed++;
		});
	std::this_thread::sleep_for(soon);
	CHECK(passed == 0 && !latch->try_wait());
	latch->count_down();
	latch->wait();
	CHECK(latch->try_wait());
	for (auto &thread : threads)
		thread.join();
	CHECK(passed == 4);
}

void the_barrier_opens_each_round()
{
	constexpr int threads = 3, rounds = 500;
	furwock::barrier barrier(threads);
	std::vector<std::thread> running;
	std::atomic<int> arrived(0), last(0);

	for (int i = 0; i < threads; i++)
		running.emplace_back([&] {
			for (int round = 1; round <= rounds; round++) {
				arrived++;
				last += barrier.arrive_and_wait();
				CHECK(arrived >= round * threads);
			}
		});
	for (auto &thread : running)
		thread.join();
	CHECK(last == rounds);
}

// Aligned, since clang else asks libatomic for libstdc++'s atomics of a struct.
struct alignas(2) pair_of_bytes {
	std::uint8_t one, two;
};

template <class T>
void waits_on(T before, T after)
{
	std::atomic<T> word(before);
	const auto begin = steady_clock::now();

	CHECK(!furwock::atomic_wait_for(word, before, soon));
	CHECK(!furwock::atomic_wait_until(word, before, steady_clock::now() + soon));
	CHECK(!furwock::atomic_wait_until(word, before, system_clock::now() + soon));
	CHECK(!furwock::atomic_wait_until(word, before, slow_clock::now() + soon,
					  std::memory_order_relaxed));
	CHECK(steady_clock::now() - begin >= 5 * soon - grain);
	CHECK(furwock::atomic_wait_for(word, after, soon * -1));

	std::thread waiter([&] {
		furwock::atomic_wait(word, before, std::memory_order_acquire);
		CHECK(furwock::atomic_wait_for(word, before, never));
		word.store(before);
		furwock::atomic_notify_all(word);
	});
	// A wake without a change isn't one.
	furwock::atomic_notify_one(word);
	std::this_thread::sleep_for(milliseconds(2));
	furwock::atomic_notify_all(word);
	word.store(after);
	furwock::atomic_notify_one(word);
	CHECK(furwock::atomic_wait_until(word, after, steady_clock::now() + never));
	waiter.join();
}

void atomics_of_every_size_can_be_awaited()
{
	int one = 0, other = 0;

	waits_on<std::uint8_t>(1, 255);
	waits_on<std::int16_t>(-1, 1);
	waits_on<int>(-7, 7);
	waits_on<std::int64_t>(1, std::int64_t(1) << 40);
	waits_on<bool>(false, true);
	waits_on<float>(0.0F, 1.5F);
	waits_on<double>(0.0, -0.0);
	waits_on<int *>(&one, &other);
	waits_on<pair_of_bytes>(pair_of_bytes{ 1, 2 }, pair_of_bytes{ 1, 3 });
}

void any_of_three_words_ends_the_wait()
{
	std::atomic<std::uint8_t> small(1);
	std::atomic<int> middle(-2);
	std::atomic<std::uint64_t> wide(3);
	const furwock_expected words[] = { furwock::expect(small, 1), furwock::expect(middle, -2),
					   furwock::expect(wide, 3) };

	CHECK(furwock::wait_any_for(words, 3, soon) == -1);
	CHECK(furwock::wait_any_until(words, 3, system_clock::now() + soon) == -1);
	CHECK(furwock::wait_any_until({ words[0], words[2] }, slow_clock::now() + soon) == -1);
	CHECK(furwock::wait_any({ words[0], furwock::expect(middle, 5), words[2] }) == 1);
	std::thread waker([&] {
		std::this_thread::sleep_for(soon);
		wide.store(4);
		furwock::atomic_notify_one(wide);
	});
	std::ptrdiff_t index = 0;
	do
		index = furwock::wait_any(words, 3);
	while (wide.load() == 3);
	CHECK(index == 2);
	CHECK(furwock::wait_any_for({ words[0], words[1], words[2] }, never) == 2);
	waker.join();
	bool refused = false;
	try {
		const furwock_expected none = { nullptr, 4, 0 };
		furwock::wait_any({ none });
	} catch (const std::system_error &error) {
		refused = error.code() == std::errc::invalid_argument;
	}
	CHECK(refused);
}

} // namespace

int main()
{
	alarm(50);
	deadlines_are_exact();
	the_mutex_is_lockable();
	the_mutex_excludes();
	the_shared_mutex_is_shared();
	the_condition_is_awaited();
#ifdef FURWOCK_HAS_STOP_TOKEN
	a_stop_ends_the_wait();
	no_stop_is_lost();
	each_notification_arrives();
	no_notification_is_lost();
	the_condition_is_awaited();
#endif
	the_semaphore_counts();
	the_latch_opens();
	the_barrier_opens_each_round();
	atomics_of_every_size_can_be_awaited();
	any_of_three_words_ends_the_wait();
#if defined(__cpp_constinit)
	std::lock_guard<furwock::mutex> guard(constant);
	permits.release();
	permits.acquire();
#endif
	return 0;
}
