/*
 * Threads whose signal handler leaves a call for good, at any moment of it: by
 * siglongjmp, by pthread_exit, or by a cancellation that it acts upon. Each
 * round has a thread of its own, the leaver; a bystander, and the main thread,
 * have to get on with the same object afterwards.
 */
#ifndef CONFORMANCE_LEFT_H
#define CONFORMANCE_LEFT_H

#include "../posix/crowd.h"

#include <semaphore.h>
#include <setjmp.h>

enum way { BY_JUMP, BY_EXIT, BY_CANCELLATION, BY_ASYNCHRONOUS_CANCELLATION };

static enum way way;
static __thread sigjmp_buf out;
static __thread volatile sig_atomic_t inside;
static _Atomic bool has_begun;

static void leave(int signal UNUSED)
{
	if (!inside)
		return;
	inside = 0;
	if (way == BY_JUMP)
		siglongjmp(out, 1);
	if (way == BY_EXIT)
		pthread_exit(NULL);
	pthread_cancel(pthread_self());
	pthread_testcancel();
}

/* The call, and what the thread does as it leaves it or returns from it. */
struct call {
	void (*make)(void);
	void (*tidy)(void *);
};

static void nothing(void *argument UNUSED)
{
}

THREAD(leaver, const struct call *call)
{
	int saves_mask = 1, old;

	if (way == BY_ASYNCHRONOUS_CANCELLATION)
		OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
	pthread_cleanup_push(call->tidy, NULL);
	if (!sigsetjmp(out, saves_mask)) {
		inside = 1;
		has_begun = true;
		call->make();
		inside = 0;
	}
	pthread_cleanup_pop(1);
}

static uint32_t random_state = 4711;

static void pause_at_random(int most)
{
	for (int turns = next_random(&random_state) % most; turns; turns--)
		__asm__ volatile("");
}

/* One thread makes the call, and leaves it. */
static void let_leave(const struct call *call)
{
	struct thread thread;

	has_begun = false;
	start(&thread, leaver, (void *)call);
	while (!has_begun)
		sched_yield();
	pause_at_random(next_random(&random_state) % 4 ? 3000 : 60000);
	if (way == BY_ASYNCHRONOUS_CANCELLATION)
		OK(pthread_cancel(thread.pthread));
	else
		OK(pthread_kill(thread.pthread, SIGUSR1));
	join(&thread);
}

static void each_way_but(enum way excluded, void (*round)(void), int64_t ms)
{
	struct sigaction action = { .sa_handler = leave };
	int64_t end;

	OK(sigaction(SIGUSR1, &action, NULL));
	for (way = BY_JUMP; way <= BY_ASYNCHRONOUS_CANCELLATION; way++) {
		end = now_ns(CLOCK_MONOTONIC) + ms * NS_PER_MS;
		while (way != excluded && now_ns(CLOCK_MONOTONIC) < end)
			round();
	}
}

#define NONE ((enum way)-1)

static void each_way(void (*round)(void))
{
	each_way_but(NONE, round, 700);
}

/* Another thread, which makes a call once each time it is told to. */
static _Atomic int told, done;
static void (*errand)(void);

static void *bystander(void *argument UNUSED)
{
	int mine = 0;

	for (;;) {
		while (told == mine)
			sched_yield();
		mine = told;
		if (mine < 0)
			return NULL;
		errand();
		done = mine;
	}
}

static struct thread beside;

static void send_bystander(void (*call)(void))
{
	static int count;

	if (!count)
		start(&beside, bystander, NULL);
	errand = call;
	told = ++count;
}

static void until_bystander_is_done(void)
{
	while (done != told)
		sched_yield();
}

/* A rwlock, and a bystander's errands with it. */
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void read_once(void)
{
	OK(pthread_rwlock_rdlock(&rwlock));
	OK(pthread_rwlock_unlock(&rwlock));
}

static void write_once(void)
{
	OK(pthread_rwlock_wrlock(&rwlock));
	OK(pthread_rwlock_unlock(&rwlock));
}

#endif
