// Waits that a stop request ends: std::jthread with furwock's condition variable, in C++20.
#include <furwock.hpp>

#include <chrono>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

#ifdef FURWOCK_HAS_STOP_TOKEN

namespace {

class Queue {
	furwock::mutex mutex;
	furwock::condition_variable not_empty;
	std::deque<int> items;

public:
	void push(int item)
	{
		{
			std::lock_guard guard(mutex);
			items.push_back(item);
		}
		not_empty.notify_one();
	}

	// False once a stop is requested and nothing is left.
	bool pop(std::stop_token stop, int &item)
	{
		std::unique_lock lock(mutex);

		if (!not_empty.wait(lock, stop, [this] { return !items.empty(); }))
			return false;
		item = items.front();
		items.pop_front();
		return true;
	}
};

} // namespace

int main()
{
	constexpr int all = 1000;
	Queue queue;
	int taken = 0;
	std::jthread worker([&](std::stop_token stop) {
		for (int item; queue.pop(stop, item);)
			taken++;
	});

	for (int i = 0; i < all; i++)
		queue.push(i);
	// The worker takes what is there and then ends, though it waits for no time at all.
	worker.request_stop();
	worker.join();
	std::printf("took out %d of %d\n", taken, all);
	return taken != all;
}

#else

int main()
{
	std::puts("skipped: this compiler's library has no std::stop_token");
	return 0;
}

#endif
