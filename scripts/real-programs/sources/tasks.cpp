// oneTBB's parallel loops, arenas, pipelines and bounded queues. The argument says how often.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/concurrent_hash_map.h>
#include <tbb/concurrent_queue.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_arena.h>

static long loops(int times)
{
	tbb::blocked_range<long> range(0, 20000, 500);
	auto add = [](const tbb::blocked_range<long> &part, long sum) {
		for (long at = part.begin(); at != part.end(); at++)
			sum += at % 7;
		return sum;
	};
	long sum = 0;

	for (int turn = 0; turn < times; turn++)
		sum += tbb::parallel_reduce(range, 0L, add, std::plus<long>());
	return sum;
}

static long queue(int items)
{
	tbb::concurrent_bounded_queue<int> queue;
	std::atomic<long> sum{0};
	std::vector<std::thread> consumers;

	queue.set_capacity(8);
	for (int at = 0; at < 4; at++)
		consumers.emplace_back([&] {
			int item;

			for (queue.pop(item); item >= 0; queue.pop(item))
				sum += item;
		});
	for (int item = 0; item < items; item++)
		queue.push(item);
	for (int at = 0; at < 4; at++)
		queue.push(-1);
	for (auto &consumer : consumers)
		consumer.join();
	return sum;
}

// More threads than an arena has places for.
static long arenas(int times)
{
	tbb::task_arena two(2), three(3);
	std::atomic<long> count{0};
	std::vector<std::thread> masters;

	for (int at = 0; at < 6; at++)
		masters.emplace_back([&, at] {
			for (int turn = 0; turn < times; turn++)
				(at % 2 ? two : three).execute([&] {
					tbb::parallel_for(0, 50, [&](int) { count++; });
				});
		});
	for (auto &master : masters)
		master.join();
	return count;
}

static long table(int times)
{
	using Table = tbb::concurrent_hash_map<int, long>;
	Table table;
	long sum = 0;

	tbb::parallel_for(0, times, [&](int at) {
		Table::accessor entry;

		table.insert(entry, at % 37);
		entry->second++;
	});
	for (auto &entry : table)
		sum += entry.first * entry.second;
	return sum;
}

static long pipeline(int items)
{
	using tbb::filter_mode;
	int next = 0;
	long mixed = 0;
	auto first = [&](tbb::flow_control &control) {
		if (next == items)
			control.stop();
		return next++;
	};
	auto last = [&](int item) { mixed = (mixed * 31 + item) % 1000003; };

	tbb::parallel_pipeline(8,
		tbb::make_filter<void, int>(filter_mode::serial_in_order, first) &
		tbb::make_filter<int, int>(filter_mode::parallel,
					   [](int item) { return 2 * item; }) &
		tbb::make_filter<int, void>(filter_mode::serial_in_order, last));
	return mixed;
}

int main(int, char **arguments)
{
	int times = atoi(arguments[1]);
	tbb::global_control threads(tbb::global_control::max_allowed_parallelism,
				    6);

	printf("loops %ld\n", loops(30 * times));
	printf("queue %ld\n", queue(1000 * times));
	printf("arenas %ld\n", arenas(20 * times));
	printf("table %ld\n", table(5000 * times));
	printf("pipeline %ld\n", pipeline(1000 * times));
}
