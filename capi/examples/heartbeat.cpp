// Waits on std::atomic with timeouts, which the standard's lack, and a wait for any of several.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <furwock.hpp>
#include <thread>

namespace {

std::atomic<std::uint64_t> beats(0);
std::atomic<bool> ended(false);

void work()
{
	for (int i = 0; i < 5; i++) {
		std::this_thread::sleep_for(std::chrono::milliseconds(2));
		beats++;
		furwock::atomic_notify_all(beats);
	}
	ended = true;
	furwock::atomic_notify_all(ended);
}

} // namespace

int main()
{
	std::uint64_t seen = 0;
	std::thread worker(work);

	// Each beat comes in time, or the worker hangs.
	while (seen < 3) {
		if (!furwock::atomic_wait_for(beats, seen, std::chrono::seconds(20)))
			return 1;
		seen = beats;
	}
	// Another beat, or the end, whichever comes first.
	while (!ended) {
		furwock::wait_any({ furwock::expect(beats, seen), furwock::expect(ended, false) });
		seen = beats;
	}
	worker.join();
	std::printf("%d beats\n", static_cast<int>(beats));
	return beats != 5;
}
