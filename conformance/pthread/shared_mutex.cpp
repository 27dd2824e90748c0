// C++17's shared mutexes: libstdc++ makes them of pthread_rwlock_t, with the
// timed calls on either clock.
#include "harness.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

// Ends with a join, as C++20's does.
class Thread {
public:
	template <typename F> explicit Thread(F run) : thread(std::move(run)) {}
	Thread(Thread &&) = default;
	~Thread()
	{
		if (thread.joinable())
			thread.join();
	}

private:
	std::thread thread;
};

template <typename M> bool can_lock(M &mutex)
{
	bool could = false;
	Thread([&] {
		std::unique_lock lock(mutex, std::try_to_lock);
		could = lock.owns_lock();
	});
	return could;
}

template <typename M> bool can_share(M &mutex)
{
	bool could = false;
	Thread([&] {
		std::shared_lock lock(mutex, std::try_to_lock);
		could = lock.owns_lock();
	});
	return could;
}

template <typename M> void excludes()
{
	M mutex;
	{
		std::unique_lock lock(mutex);
		CHECK(!can_lock(mutex) && !can_share(mutex));
	}
	CHECK(can_lock(mutex) && can_share(mutex));
	{
		std::shared_lock first(mutex);
		CHECK(!can_lock(mutex) && can_share(mutex));
		// Held by another guard, which is the same to the mutex.
		std::shared_lock second(std::move(first));
		CHECK(!first.owns_lock() && second.owns_lock());
		CHECK(!can_lock(mutex) && can_share(mutex));
	}
	CHECK(can_lock(mutex) && can_share(mutex));
	mutex.lock();
	CHECK(!mutex.try_lock() && !mutex.try_lock_shared());
	mutex.unlock();
	CHECK(mutex.try_lock_shared() && mutex.try_lock_shared());
	CHECK(!mutex.try_lock());
	mutex.unlock_shared();
	mutex.unlock_shared();
	CHECK(mutex.try_lock());
	mutex.unlock();
}

// libstdc++ throws what glibc says.
template <typename M> void deadlock()
{
	M mutex;
	std::unique_lock lock(mutex);
	int thrown = 0;

	for (int shared = 0; shared < 2; shared++) {
		try {
			if (shared)
				mutex.lock_shared();
			else
				mutex.lock();
		} catch (const std::system_error &error) {
			CHECK(error.code() ==
			      std::errc::resource_deadlock_would_occur);
			thrown++;
		}
	}
	CHECK(thrown == 2);
	lock.unlock();
	CHECK(can_lock(mutex));
}

// A cache, as such mutexes are used for: looked up by all, filled on a miss.
template <typename M> void cache()
{
	constexpr int threads = 6, rounds = 4000, keys = 300;
	std::map<int, std::string> values;
	M mutex;
	std::atomic<int> made{0}, found{0};
	{
		std::vector<Thread> all;
		for (int t = 0; t < threads; t++)
			all.emplace_back([&, t] {
				unsigned random = 12345u + t;
				for (int i = 0; i < rounds; i++) {
					random = random * 1664525u + 1013904223u;
					int key = (random >> 8) % keys;
					{
						std::shared_lock lock(mutex);
						auto at = values.find(key);
						if (at != values.end()) {
							CHECK(at->second ==
							      std::to_string(key));
							found++;
							continue;
						}
					}
					std::unique_lock lock(mutex);
					auto entry = values.emplace(
						key, std::to_string(key));
					made += entry.second;
					// Some are dropped, so that there is more to write.
					if (random % 64 == 0)
						made -= static_cast<int>(
							values.erase(key));
				}
			});
	}
	CHECK(found > 0);
	CHECK(static_cast<int>(values.size()) == made);
	CHECK(can_lock(mutex));
}

// Readers in company: all of them inside at a time.
void readers_meet()
{
	constexpr int threads = 6;
	std::shared_mutex mutex;
	for (int round = 0; round < 50; round++) {
		std::atomic<int> inside{0};
		std::unique_lock lock(mutex);
		std::vector<Thread> all;
		for (int i = 0; i < threads; i++)
			all.emplace_back([&] {
				std::shared_lock lock(mutex);
				inside++;
				while (inside < threads)
					std::this_thread::yield();
			});
		CHECK(inside == 0);
		lock.unlock();
	}
	CHECK(can_lock(mutex));
}

template <typename Clock> void check_times_out(std::shared_timed_mutex &mutex,
					       bool shared)
{
	auto until = Clock::now() + 15ms;
	bool got = shared ? mutex.try_lock_shared_until(until) :
			    mutex.try_lock_until(until);
	CHECK(!got);
	CHECK(Clock::now() >= until);
	// One that has passed.
	until = Clock::now() - 1s;
	got = shared ? mutex.try_lock_shared_until(until) :
		       mutex.try_lock_until(until);
	CHECK(!got);
}

void timed_out()
{
	std::shared_timed_mutex mutex;
	for (int shared = 0; shared < 2; shared++) {
		if (shared)
			mutex.lock_shared();
		else
			mutex.lock();
		Thread([&] {
			check_times_out<std::chrono::steady_clock>(mutex, false);
			check_times_out<std::chrono::system_clock>(mutex, false);
			CHECK(!mutex.try_lock_for(2ms));
			CHECK(!mutex.try_lock_for(-2ms));
			if (shared) {
				CHECK(mutex.try_lock_shared_for(15s));
				mutex.unlock_shared();
				CHECK(mutex.try_lock_shared_for(-1s));
				mutex.unlock_shared();
				return;
			}
			check_times_out<std::chrono::steady_clock>(mutex, true);
			check_times_out<std::chrono::system_clock>(mutex, true);
			CHECK(!mutex.try_lock_shared_for(2ms));
		});
		if (shared)
			mutex.unlock_shared();
		else
			mutex.unlock();
	}
	CHECK(mutex.try_lock_for(0s));
	mutex.unlock();
}

void in_time()
{
	std::shared_timed_mutex mutex;
	for (int i = 0; i < 8; i++) {
		std::atomic<bool> asks{false};
		std::unique_lock lock(mutex);
		Thread other([&] {
			asks = true;
			switch (i % 4) {
			case 0:
				CHECK(mutex.try_lock_for(15s));
				break;
			case 1:
				CHECK(mutex.try_lock_until(
					std::chrono::system_clock::now() + 15s));
				break;
			case 2:
				CHECK(mutex.try_lock_shared_for(15s));
				break;
			default:
				CHECK(mutex.try_lock_shared_until(
					std::chrono::system_clock::now() + 15s));
			}
			if (i % 4 < 2)
				mutex.unlock();
			else
				mutex.unlock_shared();
		});
		while (!asks)
			std::this_thread::yield();
		std::this_thread::sleep_for(5ms);
		// Before the thread is joined.
		lock.unlock();
	}
	CHECK(can_lock(mutex));
}

// The one condition variable that takes these locks, under either face.
void condition_variable_any()
{
	std::shared_mutex mutex;
	std::condition_variable_any changed;
	constexpr int readers = 4, rounds = 300;
	std::atomic<int> seen{0};
	int value = 0;
	std::vector<Thread> all;

	for (int i = 0; i < readers; i++)
		all.emplace_back([&] {
			for (int want = 1; want <= rounds; want++) {
				std::shared_lock lock(mutex);
				changed.wait(lock, [&] { return value >= want; });
				seen++;
			}
		});
	for (int i = 1; i <= rounds; i++) {
		std::unique_lock lock(mutex);
		value = i;
		changed.notify_all();
		lock.unlock();
		while (seen < i * readers)
			std::this_thread::yield();
	}
	all.clear();
	std::unique_lock lock(mutex);
	CHECK(changed.wait_for(lock, 5ms) == std::cv_status::timeout);
	CHECK(!can_share(mutex));
}

// std::lock backs off by tries where it can't have all of them.
void several_at_once()
{
	std::shared_mutex one, two;
	std::shared_timed_mutex three;
	long counter = 0;
	{
		std::vector<Thread> all;
		for (int t = 0; t < 4; t++)
			all.emplace_back([&, t] {
				for (int i = 0; i < 2000; i++) {
					if (t % 2) {
						std::scoped_lock lock(one, two, three);
						counter++;
					} else {
						std::scoped_lock lock(three, two, one);
						counter++;
					}
				}
			});
	}
	CHECK(counter == 4 * 2000);
}

// Whose reference is the last ends the mutex, right after the others' unlocks.
void ends_with_its_last_user()
{
	struct Shared {
		std::shared_mutex mutex;
		int value = 0;
	};
	for (int round = 0; round < 500; round++) {
		auto object = std::make_shared<Shared>();
		std::vector<Thread> all;
		for (int i = 0; i < 4; i++)
			all.emplace_back([object, i] {
				if (i % 2) {
					std::unique_lock lock(object->mutex);
					object->value++;
				} else {
					std::shared_lock lock(object->mutex);
					CHECK(object->value <= 2);
				}
			});
		object.reset();
	}
}

// A destructor unlocks on the way out of an exception.
void exceptions_unlock()
{
	std::shared_mutex mutex;
	for (int i = 0; i < 100; i++) {
		try {
			if (i % 2) {
				std::unique_lock lock(mutex);
				throw i;
			}
			std::shared_lock lock(mutex);
			throw i;
		} catch (int) {
			CHECK(can_lock(mutex));
		}
	}
}

} // namespace

RUN_TESTS(
	{ "cpp_shared_mutex__excludes", excludes<std::shared_mutex> },
	{ "cpp_shared_timed_mutex__excludes", excludes<std::shared_timed_mutex> },
	{ "cpp_shared_mutex__throws_for_its_writer", deadlock<std::shared_mutex> },
	{ "cpp_shared_timed_mutex__throws_for_its_writer", deadlock<std::shared_timed_mutex> },
	{ "cpp_shared_mutex__cache", cache<std::shared_mutex> },
	{ "cpp_shared_timed_mutex__cache", cache<std::shared_timed_mutex> },
	{ "cpp_shared_mutex__readers_meet", readers_meet },
	{ "cpp_shared_timed_mutex__times_out", timed_out },
	{ "cpp_shared_timed_mutex__is_let_in_in_time", in_time },
	{ "cpp_shared_mutex__condition_variable_any", condition_variable_any },
	{ "cpp_shared_mutex__several_at_once", several_at_once },
	{ "cpp_shared_mutex__ends_with_its_last_user",
	  ends_with_its_last_user },
	{ "cpp_shared_mutex__exceptions_unlock", exceptions_unlock })
