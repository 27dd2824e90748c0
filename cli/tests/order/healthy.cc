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

// Locks that are made by calls, each kind at one place.
struct Node {
	pthread_mutex_t lock;
	Node *left = nullptr, *right = nullptr;
};

__attribute__((noinline)) Node *node_new()
{
	auto node = new Node;
	pthread_mutex_init(&node->lock, nullptr);
	return node;
}

__attribute__((noinline)) Node *leaf_new()
{
	auto node = new Node;
	pthread_mutex_init(&node->lock, nullptr);
	return node;
}

// A tree of nodes above leaves. Each is made by a stack of its own.
__attribute__((noinline)) Node *tree_new(int depth)
{
	if (depth == 0)
		return leaf_new();
	Node *node = node_new();
	node->left = tree_new(depth - 1);
	node->right = tree_new(depth - 1);
	return node;
}

void lock_both(Node *first, Node *second)
{
	pthread_mutex_lock(&first->lock);
	pthread_mutex_lock(&second->lock);
	pthread_mutex_unlock(&second->lock);
	pthread_mutex_unlock(&first->lock);
}

void made_by_address()
{
	static Node *accounts[8];
	for (auto &account : accounts)
		account = node_new();
	auto transfer = [](int from, int to) {
		Node *first = accounts[from], *second = accounts[to];
		if (std::less<Node *>()(second, first))
			std::swap(first, second);
		lock_both(first, second);
	};
	both([=] { for (int i = 0; i < 7; i++) transfer(i, i + 1); },
	     [=] { for (int i = 7; i > 0; i--) transfer(i, i - 1); });
}

void made_hand_over_hand()
{
	static Node *nodes[16];
	// The list's order isn't that of addresses.
	for (int i = 0; i < 16; i++)
		nodes[i * 5 % 16] = node_new();
	auto walk = [] {
		pthread_mutex_lock(&nodes[0]->lock);
		for (int i = 1; i < 16; i++) {
			pthread_mutex_lock(&nodes[i]->lock);
			pthread_mutex_unlock(&nodes[i - 1]->lock);
		}
		pthread_mutex_unlock(&nodes[15]->lock);
	};
	both(walk, walk);
}

void made_tree()
{
	static Node *root;
	root = tree_new(5);
	auto walk = [](unsigned way) {
		Node *node = root;
		pthread_mutex_lock(&node->lock);
		while (node->left) {
			Node *next = way & 1 ? node->left : node->right;
			way >>= 1;
			pthread_mutex_lock(&next->lock);
			pthread_mutex_unlock(&node->lock);
			node = next;
		}
		pthread_mutex_unlock(&node->lock);
	};
	both([=] { for (unsigned i = 0; i < 32; i++) walk(i); },
	     [=] { for (unsigned i = 0; i < 32; i++) walk(31 - i); });
}

// Each pair has a gate of its own, and the gates are made at one place.
struct Gate {
	pthread_mutex_t lock;
};

__attribute__((noinline)) Gate *gate_new()
{
	auto gate = new Gate;
	pthread_mutex_init(&gate->lock, nullptr);
	return gate;
}

void made_gate()
{
	static Gate *gates[2];
	static Node *nodes[2], *leaves[2];
	for (int i = 0; i < 2; i++) {
		gates[i] = gate_new();
		nodes[i] = node_new();
		leaves[i] = leaf_new();
	}
	auto under = [](int at, Node *first, Node *second) {
		pthread_mutex_lock(&gates[at]->lock);
		lock_both(first, second);
		pthread_mutex_unlock(&gates[at]->lock);
	};
	both([=] { under(0, nodes[0], leaves[0]); },
	     [=] { under(1, leaves[1], nodes[1]); });
}

void made_try()
{
	static Node *nodes[2], *leaves[2];
	for (int i = 0; i < 2; i++) {
		nodes[i] = node_new();
		leaves[i] = leaf_new();
	}
	auto careful = [](Node *first, Node *second) {
		pthread_mutex_lock(&first->lock);
		if (pthread_mutex_trylock(&second->lock) == 0)
			pthread_mutex_unlock(&second->lock);
		pthread_mutex_unlock(&first->lock);
	};
	both([=] { careful(nodes[0], leaves[0]); },
	     [=] { careful(leaves[1], nodes[1]); });
}

__attribute__((noinline)) pthread_rwlock_t *table_new()
{
	auto table = new pthread_rwlock_t;
	pthread_rwlock_init(table, nullptr);
	return table;
}

__attribute__((noinline)) pthread_rwlock_t *index_new()
{
	auto index = new pthread_rwlock_t;
	pthread_rwlock_init(index, nullptr);
	return index;
}

void made_readers()
{
	static pthread_rwlock_t *tables[2], *indices[2];
	for (int i = 0; i < 2; i++) {
		tables[i] = table_new();
		indices[i] = index_new();
	}
	auto read = [](pthread_rwlock_t *first, pthread_rwlock_t *second) {
		pthread_rwlock_rdlock(first);
		pthread_rwlock_rdlock(second);
		pthread_rwlock_rdlock(first);
		pthread_rwlock_unlock(first);
		pthread_rwlock_unlock(second);
		pthread_rwlock_unlock(first);
	};
	both([=] { read(tables[0], indices[0]); },
	     [=] { read(indices[1], tables[1]); });
}

const std::vector<std::pair<const char *, void (*)()>> all = {
	{"gate", gate}, {"try", try_lock_and_back_off}, {"address", by_address},
	{"hand", hand_over_hand}, {"recursive", recursive}, {"readers", readers},
	{"scoped", scoped}, {"condvar", condvar}, {"permit", permit},
	{"alone", alone_first}, {"given", given_away},
	{"made-address", made_by_address}, {"made-hand", made_hand_over_hand},
	{"made-tree", made_tree}, {"made-gate", made_gate},
	{"made-try", made_try}, {"made-readers", made_readers},
};

} // namespace

int main(int count, char **arguments)
{
	for (auto &[name, run] : all)
		if (count < 2 || !strcmp(arguments[1], name))
			run();
	puts("done");
}
