/*
 * Contention by design: threads wait long for `cache`, which evict() holds
 * longest, now and then for `table`, and never for `quiet`. The first argument
 * says how it ends.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t quiet = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
int rounds = 60, polls;
atomic_int is_open, evictions, gets;

static void pause_for(long microseconds)
{
	struct timespec time = { microseconds / 1000000,
				 microseconds % 1000000 * 1000 };
	nanosleep(&time, NULL);
}

__attribute__((noinline)) void get(void)
{
	pthread_mutex_lock(&cache);
	pause_for(100);
	pthread_mutex_unlock(&cache);
}

__attribute__((noinline)) void evict(void)
{
	pthread_mutex_lock(&cache);
	evictions++;
	if (polls)
		poll(NULL, 0, 20);
	else
		pause_for(20000);
	pthread_mutex_unlock(&cache);
}

__attribute__((noinline)) void look_up(int at)
{
	if (at % 10 == 0)
		pthread_rwlock_wrlock(&table);
	else
		pthread_rwlock_rdlock(&table);
	pthread_rwlock_unlock(&table);
}

static void *reader(void *unused)
{
	(void)unused;
	while (!evictions)
		pause_for(100);
	for (int at = 0; at < rounds || !is_open; at++) {
		get();
		look_up(at);
		gets++;
	}
	return NULL;
}

static void *evictor(void *unused)
{
	pthread_setname_np(pthread_self(), "evictor");
	(void)unused;
	for (int at = 0; at < rounds / 6; at++) {
		evict();
		pause_for(200);
	}
	pthread_mutex_lock(&gate);
	is_open = 1;
	pthread_cond_broadcast(&opened);
	pthread_mutex_unlock(&gate);
	return NULL;
}

static void work(void)
{
	pthread_t threads[4];

	for (int at = 0; at < 1000; at++) {
		pthread_mutex_lock(&quiet);
		pthread_mutex_unlock(&quiet);
	}
	is_open = evictions = gets = 0;
	for (int at = 0; at < 4; at++)
		pthread_create(&threads[at], NULL, at ? reader : evictor, NULL);
	pthread_mutex_lock(&gate);
	while (!is_open)
		pthread_cond_wait(&opened, &gate);
	pthread_mutex_unlock(&gate);
	for (int at = 0; at < 4; at++)
		pthread_join(threads[at], NULL);
}

static void note(int signal)
{
	char line[32];

	write(1, line, (size_t)snprintf(line, sizeof(line), "got %d\n", signal));
	if (signal == SIGTERM)
		_exit(7);
}

/* Those that queue up, and come with a value. */
static void note_value(int signal, siginfo_t *about, void *unused)
{
	char line[64];

	(void)unused;
	write(1, line, (size_t)snprintf(line, sizeof(line),
					"got %d with %d by %d, from %d\n",
					signal - SIGRTMIN,
					about->si_value.sival_int,
					about->si_code,
					(int)about->si_pid));
}

static void note_values(void)
{
	struct sigaction action = { .sa_sigaction = note_value,
				    .sa_flags = SA_SIGINFO };

	sigaction(SIGRTMIN, &action, NULL);
	sigaction(SIGRTMIN + 3, &action, NULL);
	sigaction(SIGRTMAX, &action, NULL);
}

int main(int count, char **words)
{
	const char *how = count > 1 ? words[1] : "";

	if (count > 2)
		rounds = atoi(words[2]);
	if (!strcmp(how, "signals")) {
		signal(SIGUSR1, note);
		signal(SIGTERM, note);
		signal(SIGINT, note);
		signal(SIGALRM, note);
		signal(SIGABRT, note);
		signal(SIGXCPU, note);
		note_values();
		puts("ready");
		fflush(stdout);
		for (;;)
			pause();
	}
	if (!strcmp(how, "fork") && fork() == 0) {
		work();
		exit(0);
	}
	if (!strcmp(how, "fork"))
		wait(NULL);
	if (!strcmp(how, "leave")) {
		int ends[2];
		char byte = 0;

		pipe(ends);
		if (fork() > 0)
			return read(ends[0], &byte, 1) == 1 ? 0 : 1;
		pthread_mutex_lock(&quiet);
		pthread_mutex_unlock(&quiet);
		write(ends[1], &byte, 1);
	}
	polls = !strcmp(how, "poll");
	if (!strcmp(how, "long")) {
		puts("ready");
		fflush(stdout);
	}
	work();
	if (!strcmp(how, "destroyed")) {
		pthread_mutex_destroy(&cache);
		printf("%d\n", evictions + gets);
	}
	puts("done");
	fflush(stdout);
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "_exit"))
		_exit(0);
	if (!strcmp(how, "quick_exit"))
		quick_exit(0);
	if (!strcmp(how, "status"))
		return 42;
	return 0;
}
