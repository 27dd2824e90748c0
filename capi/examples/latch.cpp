// The header in C++: a latch on a std::atomic of 8 bits, and furwock's mutex behind
// std::lock_guard.
#include <atomic>
#include <cstdio>
#include <furwock.h>
#include <mutex>
#include <thread>
#include <vector>

namespace {

class Mutex {
	furwock_mutex raw = FURWOCK_MUTEX_INIT;

public:
	void lock() { furwock_mutex_lock(&raw); }
	bool try_lock() { return furwock_mutex_trylock(&raw) == 0; }
	void unlock() { furwock_mutex_unlock(&raw); }
};

class Latch {
	std::atomic<uint8_t> missing;

public:
	explicit Latch(uint8_t count) : missing(count) {}

	void arrive()
	{
		// The latch may be gone as soon as the last has arrived: a wake doesn't
		// read it.
		if (missing.fetch_sub(1) == 1)
			furwock_wake(&missing, SIZE_MAX);
	}

	void wait()
	{
		while (uint8_t now = missing.load())
			furwock_wait8(&missing, now, nullptr);
	}
};

} // namespace

int main()
{
	constexpr int threads = 4, each = 10000;
	Latch start(1), done(threads);
	Mutex mutex;
	long total = 0;
	std::vector<std::thread> running;

	for (int i = 0; i < threads; i++)
		running.emplace_back([&] {
			start.wait();
			for (int j = 0; j < each; j++) {
				std::lock_guard<Mutex> guard(mutex);
				total++;
			}
			done.arrive();
		});
	start.arrive();
	done.wait();
	std::printf("counted to %ld\n", total);
	for (auto &thread : running)
		thread.join();
	return total != long(threads) * each;
}
