/*
 * pattern SEED: says what pattern of locking it draws from the seed.
 * pattern SEED MS: runs it for so many milliseconds, after a start of 30, and
 * prints operations a second, processors used, and Jain's index of the threads'
 * operations.
 * `NAME=VALUE` after either changes a number of the pattern (draw.c), to see
 * what matters.
 *
 * furwock-patterns (src/bin/patterns.rs) runs it on glibc and on furwock.
 */
#define _GNU_SOURCE
#include "pattern.h"

#include <ctype.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

static atomic_int goes;
static struct {
	_Alignas(128) atomic_long operations;
	uint64_t random;
} threads[MOST_THREADS];

_Noreturn void fail(const char *what)
{
	fprintf(stderr, "%s failed\n", what);
	_exit(1);
}

static void start(void *(*function)(void *), int argument)
{
	pthread_t thread;
	pthread_attr_t detached;
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &detached, function,
			   (void *)(intptr_t)argument) != 0)
		fail("pthread_create");
}

static void *run(void *argument)
{
	int id = (int)(intptr_t)argument;
	atomic_long *operations = &threads[id].operations;
	while (!goes)
		sched_yield();
	for (int done = 0; !it.lives_for || done < it.lives_for; done++) {
		operate(id, &threads[id].random);
		atomic_store_explicit(operations, *operations + 1,
				      memory_order_relaxed);
	}
	start(run, id);
	return NULL;
}

static _Noreturn void *compute_for_ever(void *argument)
{
	(void)argument;
	for (;;)
		compute(50);
}

static _Noreturn void *park(void *argument)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	(void)argument;
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&never, &mutex);
}

/* Binds the process to the first processor that it may use, and begins anew: a
 * library beneath it has counted them. */
static void bind_to_one(char **arguments)
{
	cpu_set_t may, one;
	int first = 0;
	if (sched_getaffinity(0, sizeof(may), &may) != 0)
		fail("sched_getaffinity");
	if (CPU_COUNT(&may) == 1)
		return;
	while (!CPU_ISSET(first, &may))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		fail("sched_setaffinity");
	execv("/proc/self/exe", arguments);
	fail("execv");
}

static void do_nothing(int number)
{
	(void)number;
}

static void interrupt_each_ms(void)
{
	struct sigaction action = {.sa_handler = do_nothing,
				   .sa_flags = SA_RESTART};
	struct itimerval each = {{0, 1000}, {0, 1000}};
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
}

struct state {
	double us, processor_s;
	long operations[MOST_THREADS];
};

static struct state state(void)
{
	struct state now = {.us = now_us()};
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	now.processor_s =
		(double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
		(double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
	for (int id = 0; id < it.threads; id++)
		now.operations[id] = threads[id].operations;
	return now;
}

/* (A signal cuts a sleep short.) */
static void go_on_until(double end_us)
{
	for (;;) {
		double left_us = end_us - now_us();
		double most_us = it.changes_after_ms ? it.changes_after_ms * 1e3
						     : left_us;
		if (left_us <= 0)
			return;
		usleep((useconds_t)(left_us < most_us ? left_us : most_us) + 1);
		if (it.changes_after_ms)
			others_turn = !others_turn;
	}
}

static void measure(unsigned ms)
{
	go_on_until(now_us() + 30e3);
	struct state before = state();
	go_on_until(now_us() + ms * 1e3);
	struct state after = state();
	double sum = 0, squares = 0;
	for (int id = 0; id < it.threads; id++) {
		double operations =
			(double)(after.operations[id] - before.operations[id]);
		sum += operations;
		squares += operations * operations;
	}
	printf("%.1f %.4f %.3f\n", sum / (after.us - before.us) * 1e6,
	       (after.processor_s - before.processor_s) /
		       (after.us - before.us) * 1e6,
	       squares == 0 ? 0 : sum * sum / (it.threads * squares));
}

int main(int count, char **arguments)
{
	if (count < 2) {
		fprintf(stderr, "usage: pattern SEED [MS] [NAME=VALUE...]\n");
		return 2;
	}
	draw_pattern(strtoull(arguments[1], NULL, 10));
	unsigned ms = 0;
	for (int at = 2; at < count; at++)
		if (at == 2 && isdigit((unsigned char)arguments[at][0]))
			ms = (unsigned)strtoul(arguments[at], NULL, 10);
		else if (!change_pattern(arguments[at])) {
			fprintf(stderr, "%s: a pattern has no such number\n",
				arguments[at]);
			return 2;
		}
	if (ms == 0) {
		describe_pattern();
		return 0;
	}
	if (it.bound)
		bind_to_one(arguments);
	calibrate();
	prepare_locks();
	if (it.interrupted)
		interrupt_each_ms();
	for (int id = 0; id < it.threads; id++) {
		threads[id].random = (uint64_t)id;
		start(run, id);
	}
	for (int id = 0; id < it.computing; id++)
		start(compute_for_ever, 0);
	for (int id = 0; id < it.parked; id++)
		start(park, 0);
	goes = 1;
	measure(ms);
	fflush(stdout);
	_exit(0);
}
