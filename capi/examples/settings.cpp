// furwock's rwlock behind std::shared_lock and std::unique_lock: settings that are read all the
// time and changed now and then, by writers that are preferred.
#include <chrono>
#include <cstdio>
#include <furwock.h>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

class SharedMutex {
	furwock_rwlock raw = FURWOCK_RWLOCK_PREFER_WRITERS_INIT;

	static furwock_deadline after(std::chrono::nanoseconds time)
	{
		return furwock_after_ns(time.count() < 0 ? 0 : uint64_t(time.count()));
	}

public:
	SharedMutex() = default;
	SharedMutex(const SharedMutex &) = delete;
	SharedMutex &operator=(const SharedMutex &) = delete;
	// A reader that never left must not be taken for one of what comes to lie here.
	~SharedMutex() { furwock_rwlock_destroy(&raw); }

	void lock() { furwock_rwlock_wrlock(&raw); }
	bool try_lock() { return furwock_rwlock_trywrlock(&raw) == 0; }
	void unlock() { furwock_rwlock_wrunlock(&raw); }

	void lock_shared() { furwock_rwlock_rdlock(&raw); }
	bool try_lock_shared() { return furwock_rwlock_tryrdlock(&raw) == 0; }
	bool try_lock_shared_for(std::chrono::nanoseconds time)
	{
		furwock_deadline until = after(time);

		return furwock_rwlock_rdlock_until(&raw, &until) == 0;
	}
	void unlock_shared() { furwock_rwlock_rdunlock(&raw); }
};

class Settings {
	mutable SharedMutex mutex;
	std::map<std::string, long> values;

public:
	long get(const std::string &name) const
	{
		std::shared_lock<SharedMutex> guard(mutex);
		auto found = values.find(name);

		return found == values.end() ? 0 : found->second;
	}

	bool knows_within(const std::string &name, std::chrono::milliseconds time) const
	{
		std::shared_lock<SharedMutex> guard(mutex, time);

		return guard && values.count(name);
	}

	void add(const std::string &name, long by)
	{
		std::unique_lock<SharedMutex> guard(mutex);

		values[name] += by;
	}
};

} // namespace

int main()
{
	constexpr int threads = 4, each = 20000, writes = 200;
	Settings settings;
	std::vector<std::thread> running;
	std::vector<int> went_back(threads);

	for (int i = 0; i < threads; i++)
		running.emplace_back([&, i] {
			long before = 0;

			for (int j = 0; j < each; j++) {
				long now = settings.get("level");

				went_back[i] += now < before;
				before = now;
				if (j % (each / writes) == 0)
					settings.add("level", 1);
			}
		});
	for (auto &thread : running)
		thread.join();
	long level = settings.get("level");
	std::printf("level %ld\n", level);
	for (int count : went_back)
		if (count != 0)
			return 1;
	return level != long(threads) * writes ||
	       !settings.knows_within("level", std::chrono::milliseconds(100));
}
