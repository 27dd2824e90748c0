/*
 * Loads the library late, when threads exist whose thread-local storage was laid
 * out without it; uses it in them and in new ones; and unloads it, as far as it
 * lets itself be unloaded, with their ends still to come.
 */
#include "harness.h"

#include <furwock.h>

enum { THREADS = 4 };

static _Atomic bool loaded, unloaded;
static uint32_t word;
static furwock_mutex mutex;
static int counter;

static __typeof__(&furwock_wait32) wait32;
static __typeof__(&furwock_wake) wake;
static __typeof__(&furwock_futex) futex;
static __typeof__(&furwock_mutex_lock) lock;
static __typeof__(&furwock_mutex_unlock) unlock;

static void *look_up(void *library, const char *name)
{
	void *symbol = dlsym(library, name);

	CHECK(symbol);
	return symbol;
}

static void *use(void *unused)
{
	int i;

	UNTIL(loaded);
	CHECK_ERR(wait32(&word, 0, NULL), 0);
	for (i = 0; i < 1000; i++) {
		OK(lock(&mutex));
		counter++;
		OK(unlock(&mutex));
	}
	UNTIL(unloaded);
	return unused;
}

int main(int argc, char **argv)
{
	struct thread threads[2 * THREADS];
	void *library;
	size_t woken = 0;
	int i;

	CHECK(argc == 2);
	arm_watchdog(WATCHDOG_S);
	start_all(threads, THREADS, use, NULL);
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		FAIL("%s", dlerror());
	*(void **)&wait32 = look_up(library, "furwock_wait32");
	*(void **)&wake = look_up(library, "furwock_wake");
	*(void **)&futex = look_up(library, "furwock_futex");
	*(void **)&lock = look_up(library, "furwock_mutex_lock");
	*(void **)&unlock = look_up(library, "furwock_mutex_unlock");
	CHECK_EQ(futex(&word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0), -1);
	CHECK_EQ(errno, EAGAIN);
	loaded = true;
	for (i = THREADS; i < 2 * THREADS; i++)
		start(&threads[i], use, NULL);
	UNTIL((woken += wake(&word, SIZE_MAX)) == 2 * THREADS);
	/* Every thread that has come out of its wait can be stopped no more. */
	OK(dlclose(library));
	unloaded = true;
	join_all(threads, 2 * THREADS);
	CHECK_EQ(counter, 2 * THREADS * 1000);
	return 0;
}
