// Programs that can't deadlock, though a careless look could think so. The argument says which;
// without one, all in turn.

#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>
#include <pthread.h>
#include <semaphore.h>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int rounds = 200;

// Runs the two at once, and each in a thread of its own.
void both(const std::function<void()> &one, const std::function<void()> &other)
{
	std::thread first([&] { for (int i = 0; i < rounds; i++) one(); });
	std::thread second([&] { for (int i = 0; i < rounds; i++) other(); });
	first.join();
	second.join();
}

void gate()
{
	static std::mutex gate, a, b;
	auto under = [](std::mutex &first, std::mutex &second) {
		std::lock_guard g(gate);
		std::lock_guard f(first);
		std::lock_guard s(second);
	};
	both([=] { under(a, b); }, [=] { under(b, a); });
}

void try_lock_and_back_off()
{
	static std::mutex a, b;
	auto careful = [](std::mutex &first, std::mutex &second) {
		for (;;) {
			std::lock_guard f(first);
			if (second.try_lock()) {
				second.unlock();
				return;
			}
		}
	};
	both([=] { careful(a, b); }, [=] { careful(b, a); });
}

void by_address()
{
	static std::mutex accounts[8];
	auto transfer = [](int from, int to) {
		std::mutex *first = &accounts[from], *second = &accounts[to];
		if (std::less<std::mutex *>()(second, first))
			std::swap(first, second);
		std::lock_guard f(*first);
		std::lock_guard s(*second);
	};
	both([=] { for (int i = 0; i < 7; i++) transfer(i, i + 1); },
	     [=] { for (int i = 7; i > 0; i--) transfer(i, i - 1); });
}

void hand_over_hand()
{
	static std::mutex nodes[16];
	auto walk = [] {
		nodes[0].lock();
		for (int i = 1; i < 16; i++) {
			nodes[i].lock();
			nodes[i - 1].unlock();
		}
		nodes[15].unlock();
	};
	both(walk, walk);
}

void recursive()
{
	static std::recursive_mutex a;
	static std::mutex b;
	auto nested = [] {
		std::lock_guard first(a);
		std::lock_guard inner(b);
		std::lock_guard again(a);
	};
	both(nested, nested);
}

void readers()
{
	static pthread_rwlock_t a = PTHREAD_RWLOCK_INITIALIZER;
	static pthread_rwlock_t b = PTHREAD_RWLOCK_INITIALIZER;
	auto read = [](pthread_rwlock_t *first, pthread_rwlock_t *second) {
		pthread_rwlock_rdlock(first);
		pthread_rwlock_rdlock(second);
		pthread_rwlock_rdlock(first);
		pthread_rwlock_unlock(first);
		pthread_rwlock_unlock(second);
		pthread_rwlock_unlock(first);
	};
	both([=] { read(&a, &b); }, [=] { read(&b, &a); });
}

void scoped()
{
	static std::mutex a, b, c;
	both([] { std::scoped_lock all(a, b, c); }, [] { std::scoped_lock all(c, b, a); });
	both([] { std::lock(a, b); a.unlock(); b.unlock(); },
	     [] { std::lock(b, a); a.unlock(); b.unlock(); });
}

// The producer never takes what the consumer holds while it waits.
void condvar()
{
	static std::mutex outer, queue;
	static std::condition_variable filled;
	static int items;
	both([] {
		std::lock_guard o(outer);
		std::unique_lock q(queue);
		filled.wait(q, [] { return items > 0; });
		items--;
	}, [] {
		std::lock_guard q(queue);
		items++;
		filled.notify_one();
	});
}

// A semaphore that is used as a lock, in one order.
void permit()
{
	static std::mutex outer;
	static sem_t permit;
	sem_init(&permit, 0, 1);
	auto use = [] {
		std::lock_guard o(outer);
		sem_wait(&permit);
		sem_post(&permit);
	};
	both(use, use);
}

// A thread that has taken both ways by itself, before others were there.
void alone_first()
{
	static std::mutex a, b;
	std::thread worker([] {
		for (int i = 0; i < 2; i++) {
			std::mutex &first = i ? a : b, &second = i ? b : a;
			std::lock_guard f(first);
			std::lock_guard s(second);
		}
	});
	worker.join();
}

// A mutex that another thread unlocks.
void given_away()
{
	static pthread_mutex_t gives = PTHREAD_MUTEX_INITIALIZER;
	static std::mutex a;
	static sem_t taken, given;
	sem_init(&taken, 0, 0);
	sem_init(&given, 0, 0);
	std::thread other([] {
		sem_wait(&taken);
		pthread_mutex_unlock(&gives);
		sem_post(&given);
		std::lock_guard first(a);
		pthread_mutex_lock(&gives);
		pthread_mutex_unlock(&gives);
	});
	pthread_mutex_lock(&gives);
	sem_post(&taken);
	sem_wait(&given);
	{
		// This thread holds nothing any more.
		std::lock_guard first(a);
	}
	other.join();
}

const std::vector<std::pair<const char *, void (*)()>> all = {
	{"gate", gate}, {"try", try_lock_and_back_off}, {"address", by_address},
	{"hand", hand_over_hand}, {"recursive", recursive}, {"readers", readers},
	{"scoped", scoped}, {"condvar", condvar}, {"permit", permit},
	{"alone", alone_first}, {"given", given_away},
};

} // namespace

int main(int count, char **arguments)
{
	for (auto &[name, run] : all)
		if (count < 2 || !strcmp(arguments[1], name))
			run();
	puts("done");
}
