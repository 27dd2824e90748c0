/*
 * Objects that are made in functions of their own, and each waited for. The
 * first argument says what else.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#define NODES 312
#define APART __attribute__((noinline))

struct node {
	pthread_mutex_t lock;
};

static struct node *nodes[NODES];
static pthread_mutex_t *wrapped, *early_lock;
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t *rwlock;
static pthread_spinlock_t *spin;
static pthread_barrier_t *barrier;
static pthread_cond_t *cond;
static sem_t *semaphore;
static mtx_t *mtx;
static cnd_t *cnd;
static void *again;

APART struct node *node_new(void)
{
	struct node *node = malloc(sizeof(*node));

	pthread_mutex_init(&node->lock, NULL);
	return node;
}

/* Makes locks and nothing else: what calls it is shown. */
APART pthread_mutex_t *app_mutex_create(void)
{
	pthread_mutex_t *mutex = malloc(sizeof(*mutex));

	pthread_mutex_init(mutex, NULL);
	return mutex;
}

APART void wrapped_new(void)
{
	wrapped = app_mutex_create();
}

APART void table_new(void)
{
	rwlock = malloc(sizeof(*rwlock));
	pthread_rwlock_init(rwlock, NULL);
	spin = malloc(sizeof(*spin));
	pthread_spin_init(spin, PTHREAD_PROCESS_PRIVATE);
	barrier = malloc(sizeof(*barrier));
	pthread_barrier_init(barrier, NULL, 2);
	cond = malloc(sizeof(*cond));
	pthread_cond_init(cond, NULL);
	semaphore = malloc(sizeof(*semaphore));
	sem_init(semaphore, 0, 0);
	mtx = malloc(sizeof(*mtx));
	mtx_init(mtx, mtx_plain);
	cnd = malloc(sizeof(*cnd));
	cnd_init(cnd);
}

__attribute__((constructor)) static void early(void)
{
	early_lock = malloc(sizeof(*early_lock));
	pthread_mutex_init(early_lock, NULL);
}

/* The first at an address is made here, and the second there. */
APART void first_new(void)
{
	pthread_mutex_init(again, NULL);
}

APART void second_new(void)
{
	pthread_mutex_init(again, NULL);
	__asm__ volatile("");
}

static void *meet(void *mutex)
{
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
	return NULL;
}

/* One thread waits for the mutex, which this one holds. */
APART void contend(pthread_mutex_t *mutex)
{
	pthread_t other;

	pthread_mutex_lock(mutex);
	pthread_create(&other, NULL, meet, mutex);
	while (*(volatile int *)mutex >> 22 == 0)
		sched_yield();
	pthread_mutex_unlock(mutex);
	pthread_join(other, NULL);
}

static int is_done;
static atomic_int step, others_tid;

static void *others(void *unused)
{
	(void)unused;
	others_tid = gettid();
	step = 1;
	pthread_rwlock_rdlock(rwlock);
	pthread_rwlock_unlock(rwlock);
	step = 2;
	pthread_spin_lock(spin);
	pthread_spin_unlock(spin);
	step = 3;
	pthread_barrier_wait(barrier);
	step = 4;
	mtx_lock(mtx);
	mtx_unlock(mtx);
	step = 5;
	sem_wait(semaphore);
	pthread_mutex_lock(&plain);
	step = 6;
	while (is_done < 1)
		pthread_cond_wait(cond, &plain);
	step = 7;
	while (is_done < 2)
		cnd_wait(cnd, (mtx_t *)&plain);
	pthread_mutex_unlock(&plain);
	return NULL;
}

/* Until the other thread sleeps in its step of this number, and then some. */
static void until_asleep_in(int number)
{
	char path[64], state = 0;
	FILE *stat;

	while (step < number)
		usleep(1000);
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", others_tid);
	while (state != 'S') {
		usleep(1000);
		stat = fopen(path, "r");
		if (!stat || fscanf(stat, "%*d %*s %c", &state) != 1)
			_exit(1);
		fclose(stat);
	}
	usleep(10000);
}

static void contend_all(void)
{
	pthread_t other;

	alarm(50);
	pthread_rwlock_wrlock(rwlock);
	pthread_spin_lock(spin);
	mtx_lock(mtx);
	pthread_create(&other, NULL, others, NULL);
	until_asleep_in(1);
	pthread_rwlock_unlock(rwlock);
	until_asleep_in(2);
	pthread_spin_unlock(spin);
	until_asleep_in(3);
	pthread_barrier_wait(barrier);
	until_asleep_in(4);
	mtx_unlock(mtx);
	until_asleep_in(5);
	sem_post(semaphore);
	for (int done = 1; done <= 2; done++) {
		until_asleep_in(5 + done);
		pthread_mutex_lock(&plain);
		is_done = done;
		pthread_cond_broadcast(cond);
		cnd_broadcast(cnd);
		pthread_mutex_unlock(&plain);
	}
	pthread_join(other, NULL);
}

APART int deep(int depth, struct node **made)
{
	if (depth == 0) {
		*made = node_new();
		return 0;
	}
	return deep(depth - 1, made) + 1;
}

static void in_a_handler(int signal)
{
	static pthread_mutex_t mutex;

	(void)signal;
	pthread_mutex_init(&mutex, NULL);
	pthread_mutex_destroy(&mutex);
}

int main(int count, char **words)
{
	const char *how = count > 1 ? words[1] : "";
	struct itimerval often = { { 0, 200 }, { 0, 200 } };

	for (int i = 0; i < NODES; i++)
		nodes[i] = node_new();
	wrapped_new();
	table_new();
	if (!strcmp(how, "fork") && fork() > 0) {
		int status;

		wait(&status);
		return status != 0;
	}
	if (!strcmp(how, "handlers")) {
		signal(SIGALRM, in_a_handler);
		setitimer(ITIMER_REAL, &often, NULL);
		for (int i = 0; i < 300000; i++) {
			pthread_mutex_init(&nodes[i % NODES]->lock, NULL);
			pthread_mutex_destroy(&nodes[i % NODES]->lock);
		}
		signal(SIGALRM, SIG_IGN);
		wrapped_new();
	}
	if (!strcmp(how, "many")) {
		/* More objects, and more ways to make them, than are kept. */
		struct node *made;

		for (int i = 0; i < 400000; i++)
			node_new();
		for (int i = 0; i < 4000; i++)
			deep(i % 200, &made), deep(i / 20, &made);
		nodes[0] = made;
		contend(&made->lock);
		return 0;
	}
	if (!strcmp(how, "again")) {
		/* What is initialised again is another, and what is put there
		 * without a call has no place. */
		again = malloc(sizeof(pthread_mutex_t));
		first_new();
		contend(again);
		second_new();
		contend(again);
		pthread_mutex_destroy(again);
		memcpy(again, &plain, sizeof(plain));
		contend(again);
		return 0;
	}
	if (!strcmp(how, "handlers")) {
		contend(wrapped);
		return 0;
	}
	for (int i = 0; i < NODES; i++)
		contend(&nodes[i]->lock);
	contend(wrapped);
	contend(early_lock);
	contend(&plain);
	contend_all();
	return 0;
}
