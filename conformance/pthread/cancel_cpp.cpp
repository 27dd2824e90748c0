// Cancellation of a C++ thread: destructors of the frames it leaves run, those
// of its locks last, since the mutex is its own again by then.
#include "harness.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>

namespace {

pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
std::atomic<int> stage, destroyed, caught;

struct Lock {
	Lock() { CHECK(pthread_mutex_lock(&mutex) == 0); }
	// Errorcheck: 0 only for the holder.
	~Lock() { CHECK(pthread_mutex_unlock(&mutex) == 0); destroyed++; }
};

void cleanup(void *)
{
	CHECK(pthread_mutex_lock(&mutex) == EDEADLK);
	destroyed++;
}

void *wait_to_be_cancelled(void *timed)
{
	Lock lock;
	try {
		pthread_cleanup_push(cleanup, nullptr);
		stage = 1;
		timespec at{};
		clock_gettime(CLOCK_REALTIME, &at);
		at.tv_sec += 15;
		for (;;) {
			if (timed)
				pthread_cond_timedwait(&condition, &mutex, &at);
			else
				pthread_cond_wait(&condition, &mutex);
		}
		pthread_cleanup_pop(0);
	} catch (...) {
		// A forced unwinding passes every handler, and must go on.
		caught++;
		throw;
	}
	return nullptr;
}

void destructors_run_with_the_mutex_held()
{
	for (int round = 0; round < 50; round++) {
		pthread_t thread;
		void *result;
		stage = destroyed = caught = 0;
		CHECK(pthread_create(&thread, nullptr, wait_to_be_cancelled,
				     round % 2 ? &stage : nullptr) == 0);
		while (!stage)
			usleep(100);
		usleep(round % 3 * 300);
		CHECK(pthread_cancel(thread) == 0);
		CHECK(pthread_join(thread, &result) == 0);
		CHECK(result == PTHREAD_CANCELED);
		CHECK(destroyed == 2 && caught == 1);
		CHECK(pthread_mutex_trylock(&mutex) == 0);
		CHECK(pthread_mutex_unlock(&mutex) == 0);
	}
}

// What libstdc++ builds on these calls.
void standard_library_works()
{
	std::mutex own;
	std::timed_mutex timed;
	std::recursive_mutex recursive;
	std::condition_variable changed;
	std::condition_variable_any any;
	bool ready = false;
	long counter = 0;
	std::thread threads[6];

	for (auto &thread : threads)
		thread = std::thread([&] {
			std::unique_lock<std::mutex> lock(own);
			changed.wait(lock, [&] { return ready; });
			lock.unlock();
			for (int i = 0; i < 2000; i++) {
				std::lock_guard<std::recursive_mutex> one(recursive);
				std::lock_guard<std::recursive_mutex> two(recursive);
				counter++;
			}
			CHECK(!timed.try_lock_for(std::chrono::milliseconds(5)));
		});
	timed.lock();
	{
		std::lock_guard<std::mutex> lock(own);
		ready = true;
		changed.notify_all();
	}
	for (auto &thread : threads)
		thread.join();
	timed.unlock();
	CHECK(counter == 6 * 2000);
	std::unique_lock<std::timed_mutex> lock(timed);
	CHECK(any.wait_for(lock, std::chrono::milliseconds(5)) ==
	      std::cv_status::timeout);
}

pthread_once_t control = PTHREAD_ONCE_INIT;
int calls;

void throw_the_first_time()
{
	Lock lock;
	if (calls++ == 0)
		throw 7;
}

void call_once_and_catch()
{
	try {
		pthread_once(&control, throw_the_first_time);
	} catch (int thrown) {
		CHECK(thrown == 7);
		caught++;
	}
}

// An exception passes through pthread_once, and the control is as it was.
void an_exception_leaves_once()
{
	call_once_and_catch();
	CHECK(caught == 1 && calls == 1 && destroyed == 1);
	std::thread(call_once_and_catch).join();
	call_once_and_catch();
	CHECK(caught == 1 && calls == 2 && destroyed == 2);
}

} // namespace

RUN_TESTS(
	{ "cpp_pthread_cancel__destructors_run_with_the_mutex_held",
	  destructors_run_with_the_mutex_held },
	{ "cpp_pthread_once__an_exception_leaves_it",
	  an_exception_leaves_once },
	{ "cpp_standard_library__mutexes_and_condition_variables",
	  standard_library_works })
