// Contention in C++: what is made and waited for has a demangled name.

#include <pthread.h>
#include <sched.h>
#include <thread>

namespace bank {

template <typename Money> class Account {
public:
	__attribute__((noinline)) Account()
	{
		pthread_mutex_init(&lock_, nullptr);
		money_ = 0;
	}

	__attribute__((noinline)) void withdraw(Money money)
	{
		pthread_mutex_lock(&lock_);
		money_ -= money;
		pthread_mutex_unlock(&lock_);
	}

	__attribute__((noinline)) void contend()
	{
		pthread_mutex_lock(&lock_);
		std::thread other([this] { withdraw(1); });
		while (*reinterpret_cast<volatile int *>(&lock_) >> 22 == 0)
			sched_yield();
		pthread_mutex_unlock(&lock_);
		other.join();
	}

private:
	pthread_mutex_t lock_;
	Money money_;
};

} // namespace bank

int main()
{
	auto account = new bank::Account<long>;
	account->contend();
}
