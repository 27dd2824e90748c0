// What a C++20 program waits on, all in one: a bounded queue, a table that is
// read more than written, a pipeline of semaphores, phases at a barrier. Checks
// its own sums; argument: how often. About a second for each.
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <latch>
#include <map>
#include <mutex>
#include <optional>
#include <semaphore>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace {

constexpr int threads = 8;

void expect(const char *what, std::int64_t got, std::int64_t wanted)
{
	std::printf("%s: %lld\n", what, static_cast<long long>(got));
	if (got == wanted)
		return;
	std::fprintf(stderr, "FAILED: %s is not %lld\n", what,
		     static_cast<long long>(wanted));
	std::exit(1);
}

template <typename Work> void in_threads(Work work)
{
	std::latch ready(threads);
	std::vector<std::jthread> all;

	for (int i = 0; i < threads; i++)
		all.emplace_back([&, i] {
			ready.arrive_and_wait();
			work(i);
		});
}

class Queue {
public:
	void put(std::int64_t item)
	{
		std::unique_lock lock(mutex);
		not_full.wait(lock, [&] { return items.size() < 16; });
		items.push_back(item);
		not_empty.notify_one();
	}

	// Nothing if the queue is closed.
	std::optional<std::int64_t> take()
	{
		std::unique_lock lock(mutex);
		// A time that is never reached, for the timed wait.
		while (items.empty() && !closed)
			not_empty.wait_for(lock, std::chrono::seconds(60));
		if (items.empty())
			return std::nullopt;
		auto item = items.front();
		items.pop_front();
		not_full.notify_one();
		return item;
	}

	void close()
	{
		std::lock_guard lock(mutex);
		closed = true;
		not_empty.notify_all();
	}

private:
	std::mutex mutex;
	std::condition_variable not_empty, not_full;
	std::deque<std::int64_t> items;
	bool closed = false;
};

void queue(int times)
{
	const std::int64_t items = 40000 * times;
	Queue queue;
	std::atomic<std::int64_t> sum{0};
	std::atomic<int> putting{threads / 2};

	in_threads([&](int i) {
		if (i % 2) {
			while (auto item = queue.take())
				sum += *item;
			return;
		}
		for (std::int64_t at = 0; at < items; at++)
			queue.put(at);
		if (--putting == 0)
			queue.close();
	});
	expect("queue", sum, threads / 2 * (items * (items - 1) / 2));
}

void table(int times)
{
	const int rounds = 150000 * times;
	std::shared_mutex mutex;
	std::map<int, std::int64_t> table;
	std::atomic<std::int64_t> torn{0};

	in_threads([&](int i) {
		for (int at = 0; at < rounds; at++) {
			if ((at + i) % 50 == 0) {
				// Two entries that always have the same value.
				std::lock_guard lock(mutex);
				table[at % 100]++;
				table[-1 - at % 100]++;
			} else {
				std::shared_lock lock(mutex);
				auto one = table.find(at % 100);
				auto other = table.find(-1 - at % 100);
				if (one == table.end() ? other != table.end() :
				    one->second != other->second)
					torn++;
			}
		}
	});
	std::int64_t sum = 0;
	for (auto &entry : table)
		sum += entry.second;
	expect("table", sum, std::int64_t{2} * threads * rounds / 50);
	expect("torn", torn, 0);
}

// Thread by thread, a token goes round; and two slots for all of them.
void semaphores(int times)
{
	const int rounds = 2500 * times;
	std::vector<std::unique_ptr<std::binary_semaphore>> turns;
	std::counting_semaphore<2> slots(2);
	std::atomic<int> inside{0}, most{0};
	std::int64_t counter = 0;

	for (int i = 0; i < threads; i++)
		turns.push_back(std::make_unique<std::binary_semaphore>(i == 0));
	in_threads([&](int i) {
		for (int at = 0; at < rounds; at++) {
			turns[i]->acquire();
			counter++;
			turns[(i + 1) % threads]->release();
			slots.acquire();
			int now = ++inside, seen = most;
			while (now > seen && !most.compare_exchange_weak(seen, now))
				;
			inside--;
			slots.release();
		}
	});
	expect("turns", counter, std::int64_t{threads} * rounds);
	expect("too many inside", most > 2, 0);
}

void phases(int times)
{
	const int rounds = 3000 * times;
	std::int64_t completed = 0, wrong = 0;
	std::barrier barrier(threads, [&]() noexcept { completed++; });
	std::mutex mutex;

	in_threads([&](int) {
		for (int round = 0; round < rounds; round++) {
			if (completed != round) {
				std::lock_guard lock(mutex);
				wrong++;
			}
			barrier.arrive_and_wait();
		}
	});
	expect("phases", completed, rounds);
	expect("out of phase", wrong, 0);
}

} // namespace

int main(int argc, char **argv)
{
	int times = argc > 1 ? std::atoi(argv[1]) : 1;

	if (times < 1) {
		std::fprintf(stderr, "usage: workload [TIMES]\n");
		return 2;
	}
	queue(times);
	table(times);
	semaphores(times);
	phases(times);
}
