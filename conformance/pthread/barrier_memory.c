/*
 * A barrier's memory can be freed as soon as a round is over, also when the
 * process can get no more memory.
 */
#include "../posix/crowd.h"

#include <sys/resource.h>

enum {
	MEETING = 3,
	/* More than what the preload has prepared for. */
	WAITING = 600,
	PAGE = 4096,
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static _Atomic bool no_memory, meet, over;
static _Atomic int waiting;
static pthread_barrier_t *barrier;

THREAD(use_memory_up, void *argument UNUSED)
{
	/* So many threads would keep the machine busy if they looked often. */
	while (!no_memory)
		sleep_ms(20);
	OK(pthread_mutex_lock(&mutex));
	waiting++;
	while (!over)
		OK(pthread_cond_wait(&cond, &mutex));
	OK(pthread_mutex_unlock(&mutex));
}

/* One comes first, one second, and the leader last. */
THREAD(come_and_free, void *argument)
{
	UNTIL(meet);
	usleep((long)argument * 50000);
	if (pthread_barrier_wait(barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
		OK(pthread_barrier_destroy(barrier));
		CHECK_EQ(munmap(barrier, PAGE), 0);
	}
}

TEST(a_barrier_is_freed_with_no_memory_left)
{
	static struct thread waiters[WAITING], meeting[MEETING];
	long smallest = sysconf(_SC_THREAD_STACK_MIN);
	struct rlimit limit;
	pthread_attr_t attr;

	barrier = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(barrier != MAP_FAILED);
	OK(pthread_barrier_init(barrier, NULL, MEETING));
	OK(pthread_attr_init(&attr));
	/* aarch64 has no smaller ones. */
	OK(pthread_attr_setstacksize(&attr, smallest < 1 << 16 ? 1 << 16
							      : smallest));
	for (long i = 0; i < MEETING; i++)
		start_with(&meeting[i], &attr, come_and_free, (void *)i);
	for (long i = 0; i < WAITING; i++)
		start_with(&waiters[i], &attr, use_memory_up, NULL);
	CHECK_EQ(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = PAGE;
	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	no_memory = true;
	UNTIL(waiting == WAITING);
	usleep(50000);
	meet = true;
	join_all(meeting, MEETING);
	OK(pthread_mutex_lock(&mutex));
	over = true;
	OK(pthread_cond_broadcast(&cond));
	OK(pthread_mutex_unlock(&mutex));
	join_all(waiters, WAITING);
}

RUN_TESTS()
