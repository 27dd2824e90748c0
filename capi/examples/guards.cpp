// furwock.hpp with the standard's guards, from C++11 on: a table behind a shared mutex, accounts
// behind a mutex each, and a condition variable.
#include <chrono>
#include <cstdio>
#include <furwock.hpp>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace {

struct Account {
	furwock::mutex mutex;
	long balance = 1000;
};

// std::lock takes both without a deadlock, whichever comes first.
void transfer(Account &from, Account &to, long sum)
{
	std::lock(from.mutex, to.mutex);
	std::lock_guard<furwock::mutex> one(from.mutex, std::adopt_lock);
	std::lock_guard<furwock::mutex> other(to.mutex, std::adopt_lock);

	from.balance -= sum;
	to.balance += sum;
}

class Table {
	furwock::shared_mutex mutex;
	std::map<int, int> entries;

public:
	bool has(int key)
	{
		// std::shared_lock does it from C++14 on.
		mutex.lock_shared();
		const bool found = entries.count(key) != 0;
		mutex.unlock_shared();
		return found;
	}

	void add(int key, int value)
	{
		std::lock_guard<furwock::shared_mutex> guard(mutex);
		entries[key] = value;
	}
};

} // namespace

int main()
{
	Account accounts[2];
	Table table;
	furwock::mutex mutex;
	furwock::condition_variable ended;
	std::vector<std::thread> threads;
	int running = 4;
	bool complete;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&, i] {
			for (int j = 0; j < 5000; j++)
				transfer(accounts[i % 2], accounts[1 - i % 2], j % 10);
			table.add(i, i);
			std::lock_guard<furwock::mutex> guard(mutex);
			running--;
			ended.notify_one();
		});
	{
		std::unique_lock<furwock::mutex> lock(mutex);
		complete = ended.wait_for(lock, std::chrono::seconds(50),
					  [&] { return running == 0; });
	}
	for (auto &thread : threads)
		thread.join();
	const long sum = accounts[0].balance + accounts[1].balance;
	std::printf("the accounts hold %ld\n", sum);
	return !(complete && sum == 2000 && table.has(3) && !table.has(4));
}
