// C++20's waiting: libstdc++ puts atomics' waits, semaphores, latches and
// barriers on futex(2), by libc's syscall.
#include "harness.hpp"

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <latch>
#include <mutex>
#include <semaphore>
#include <stop_token>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

// Two threads hand a value to and fro.
template <typename T> void ping_pong(T ping, T pong)
{
	std::atomic<T> ball{ping};
	constexpr int rounds = 3000;

	std::jthread other([&] {
		for (int i = 0; i < rounds; i++) {
			ball.wait(ping);
			CHECK(ball == pong);
			ball = ping;
			ball.notify_one();
		}
	});
	for (int i = 0; i < rounds; i++) {
		ball = pong;
		ball.notify_one();
		ball.wait(pong);
		CHECK(ball == ping);
	}
}

// Many wait for one.
template <typename T> void notify_all(T before, T after)
{
	for (int round = 0; round < 50; round++) {
		std::atomic<T> gate{before};
		std::atomic<int> passed{0};
		{
			std::vector<std::jthread> threads;
			for (int i = 0; i < 8; i++)
				threads.emplace_back([&] {
					gate.wait(before);
					passed++;
				});
			if (round % 5 == 0)
				std::this_thread::sleep_for(1ms);
			CHECK(passed == 0);
			gate = after;
			gate.notify_all();
		}
		CHECK(passed == 8);
	}
}

template <typename T> void atomic_wait(T one, T two)
{
	ping_pong<T>(one, two);
	notify_all<T>(one, two);
}

void atomic_int() { atomic_wait<int>(1, 2); }
void atomic_char() { atomic_wait<char>('a', 'b'); }
void atomic_bool() { atomic_wait<bool>(false, true); }

void atomic_64()
{
	// They differ in the high half only.
	atomic_wait<std::uint64_t>(1, 1 | std::uint64_t{1} << 40);
}

void atomic_flag_wait()
{
	std::atomic_flag flag{};
	std::jthread other([&] {
		flag.wait(false);
		flag.clear();
		flag.notify_one();
	});

	flag.test_and_set();
	flag.notify_all();
	flag.wait(true);
	CHECK(!flag.test());
}

void semaphores()
{
	constexpr int threads = 6, rounds = 3000, room = 2;
	std::counting_semaphore<room> slots(room);
	std::binary_semaphore mutex(1);
	std::atomic<int> inside{0};
	long counter = 0;
	{
		std::vector<std::jthread> all;
		for (int i = 0; i < threads; i++)
			all.emplace_back([&] {
				for (int j = 0; j < rounds; j++) {
					slots.acquire();
					CHECK(++inside <= room);
					mutex.acquire();
					counter++;
					mutex.release();
					inside--;
					slots.release();
				}
			});
	}
	CHECK(counter == long{threads} * rounds);
	slots.acquire();
	slots.acquire();
	CHECK(!slots.try_acquire());
	CHECK(!slots.try_acquire_for(2ms));
	CHECK(!slots.try_acquire_until(std::chrono::system_clock::now() + 2ms));
	std::jthread later([&] { slots.release(2); });
	CHECK(slots.try_acquire_for(15s));
	CHECK(slots.try_acquire_for(15s));
}

void latches()
{
	for (int round = 0; round < 100; round++) {
		constexpr int threads = 6;
		std::latch ready(threads), go(1), done(threads);
		std::atomic<int> started{0};
		std::vector<std::jthread> all;

		for (int i = 0; i < threads; i++)
			all.emplace_back([&] {
				ready.arrive_and_wait();
				go.wait();
				started++;
				done.count_down();
			});
		ready.wait();
		CHECK(started == 0);
		go.count_down();
		done.wait();
		CHECK(started == threads && done.try_wait());
	}
}

void barriers()
{
	constexpr int threads = 6, rounds = 1000;
	int completed = 0;
	auto complete = [&]() noexcept { completed++; };
	std::barrier barrier(threads, complete);
	{
		std::vector<std::jthread> all;
		for (int i = 0; i < threads; i++)
			all.emplace_back([&] {
				for (int round = 0; round < rounds; round++) {
					// Completed once more for each of the two arrivals.
					CHECK(completed == 2 * round);
					barrier.arrive_and_wait();
					CHECK(completed == 2 * round + 1);
					barrier.arrive_and_wait();
				}
				barrier.arrive_and_drop();
			});
	}
	CHECK(completed == 2 * rounds + 1);
}

// Stops that meet waits, in a program of atomics and of mutexes.
void stop_tokens()
{
	for (int round = 0; round < 100; round++) {
		std::mutex mutex;
		std::condition_variable_any changed;
		std::atomic<int> stopped{0}, called{0};
		bool ready = false;
		std::vector<std::jthread> all;

		for (int i = 0; i < 4; i++)
			all.emplace_back([&](std::stop_token stop) {
				std::stop_callback callback(stop, [&] { called++; });
				std::unique_lock lock(mutex);
				if (!changed.wait(lock, stop, [&] { return ready; }))
					stopped++;
			});
		if (round % 3 == 0)
			std::this_thread::sleep_for(200us);
		if (round % 2) {
			std::lock_guard lock(mutex);
			ready = true;
			changed.notify_all();
		}
		for (auto &thread : all) {
			thread.request_stop();
			CHECK(thread.get_stop_token().stop_requested());
		}
		for (auto &thread : all)
			thread.join();
		CHECK(round % 2 ? stopped <= 4 : stopped == 4);
		CHECK(called <= 4);
	}
}

} // namespace

RUN_TESTS(
	{ "cpp_atomic_wait__int", atomic_int },
	{ "cpp_atomic_wait__char", atomic_char },
	{ "cpp_atomic_wait__bool", atomic_bool },
	{ "cpp_atomic_wait__64_bits", atomic_64 },
	{ "cpp_atomic_flag__wait", atomic_flag_wait },
	{ "cpp_counting_semaphore__bounds_and_times_out", semaphores },
	{ "cpp_latch__all_arrive", latches },
	{ "cpp_barrier__phases", barriers },
	{ "cpp_jthread__stops_that_meet_waits", stop_tokens })
