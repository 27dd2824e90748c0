/*
 * Healthy programs, by name: they wait for each other all the time, or for
 * good, and none is in a deadlock. `furwock who` mustn't say so.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS 6

static pthread_mutex_t locks[THREADS];
static pthread_rwlock_t rwlocks[2];
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sems[THREADS], stop;
static int turn;

/* One at a time, in no order: never two at once. */
static void *alternating(void *at)
{
	for (unsigned next = (unsigned)(long)at;; next++) {
		pthread_mutex_lock(&locks[next % 2]);
		for (volatile int work = 0; work < 500; work++)
			;
		pthread_mutex_unlock(&locks[next % 2]);
	}
	return at;
}

/* Two at once, always in the same order. */
static void *nested(void *at)
{
	for (;;) {
		pthread_mutex_lock(&locks[0]);
		pthread_mutex_lock(&locks[1]);
		usleep(50);
		pthread_mutex_unlock(&locks[1]);
		pthread_mutex_unlock(&locks[0]);
	}
	return at;
}

static void *reading(void *at)
{
	for (unsigned next = (unsigned)(long)at;; next++) {
		pthread_rwlock_t *lock = &rwlocks[next % 2];

		if (next % 7)
			pthread_rwlock_rdlock(lock);
		else
			pthread_rwlock_wrlock(lock);
		for (volatile int work = 0; work < 300; work++)
			;
		pthread_rwlock_unlock(lock);
	}
	return at;
}

static void *in_turn(void *at)
{
	for (;;) {
		pthread_mutex_lock(&locks[0]);
		while (turn != (int)(long)at)
			pthread_cond_wait(&cond, &locks[0]);
		turn = (turn + 1) % THREADS;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&locks[0]);
	}
	return at;
}

static void *passing(void *at)
{
	for (;;) {
		sem_wait(&sems[(long)at]);
		sem_post(&sems[((long)at + 1) % THREADS]);
	}
	return at;
}

static void *short_lived(void *at)
{
	pthread_mutex_lock(&locks[0]);
	pthread_mutex_unlock(&locks[0]);
	return at;
}

static void *joining(void *at)
{
	for (;;) {
		pthread_t thread;

		pthread_create(&thread, NULL, short_lived, NULL);
		pthread_join(thread, NULL);
	}
	return at;
}

/* Both ways round, but with a limit. */
static void *limited(void *at)
{
	long own = (long)at % 2;

	for (;;) {
		struct timespec until;

		pthread_mutex_lock(&locks[own]);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 300000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (pthread_mutex_timedlock(&locks[!own], &until) == 0)
			pthread_mutex_unlock(&locks[!own]);
		pthread_mutex_unlock(&locks[own]);
	}
	return at;
}

static void *idle(void *at)
{
	pthread_mutex_lock(&locks[0]);
	for (;;)
		pthread_cond_wait(&cond, &locks[0]);
	return at;
}

static void post(int signal)
{
	(void)signal;
	sem_post(&stop);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	void *(*run)(void *) = !strcmp(name, "alternating") ? alternating :
			       !strcmp(name, "nested")	    ? nested :
			       !strcmp(name, "reading")	    ? reading :
			       !strcmp(name, "turns")	    ? in_turn :
			       !strcmp(name, "passing")	    ? passing :
			       !strcmp(name, "joining")	    ? joining :
			       !strcmp(name, "limited")	    ? limited :
							      idle;
	pthread_t threads[THREADS];
	sigset_t set;
	int signal;

	alarm(120);
	for (int at = 0; at < THREADS; at++) {
		pthread_mutex_init(&locks[at], NULL);
		sem_init(&sems[at], 0, at == 0);
	}
	pthread_rwlock_init(&rwlocks[0], NULL);
	pthread_rwlock_init(&rwlocks[1], NULL);
	sem_init(&stop, 0, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (!strcmp(name, "asked-to-stop"))
		sigaction(SIGTERM, &(struct sigaction){ .sa_handler = post }, NULL);
	else
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (long at = 0; at < THREADS; at++)
		pthread_create(&threads[at], NULL, run, (void *)at);
	puts("ready");
	fflush(stdout);
	if (!strcmp(name, "asked-to-stop"))
		while (sem_wait(&stop) && errno == EINTR)
			;
	else if (!strcmp(name, "waits-for-a-signal"))
		sigwait(&set, &signal);
	else
		pthread_join(threads[0], NULL);
	return 0;
}
