// Programs that could deadlock and don't: the threads run one after the other.
// The argument says which.

#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 5

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t ring[THREADS];
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t index_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t eager =
	PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int is_ready;
static sem_t posted;

// Another thread, so that the process isn't single-threaded.
static void *idle(void *nothing)
{
	pause();
	return nothing;
}

static void one(void *(*work)(void *), void *argument)
{
	pthread_t thread;
	pthread_create(&thread, NULL, work, argument);
	pthread_join(thread, NULL);
}

static void *transfer(void *nothing)
{
	pthread_mutex_lock(&accounts);
	pthread_mutex_lock(&journal);
	pthread_mutex_unlock(&journal);
	pthread_mutex_unlock(&accounts);
	return nothing;
}

static void *audit(void *nothing)
{
	pthread_mutex_lock(&journal);
	pthread_mutex_lock(&accounts);
	pthread_mutex_unlock(&accounts);
	pthread_mutex_unlock(&journal);
	return nothing;
}

static void *dine(void *seat)
{
	long at = (long)seat;
	pthread_mutex_lock(&ring[at]);
	pthread_mutex_lock(&ring[(at + 1) % THREADS]);
	pthread_mutex_unlock(&ring[(at + 1) % THREADS]);
	pthread_mutex_unlock(&ring[at]);
	return NULL;
}

static void *read_then_write(void *nothing)
{
	pthread_rwlock_rdlock(&table);
	pthread_rwlock_wrlock(&index_lock);
	pthread_rwlock_unlock(&index_lock);
	pthread_rwlock_unlock(&table);
	return nothing;
}

static void *write_behind_read(void *nothing)
{
	pthread_rwlock_rdlock(&index_lock);
	pthread_rwlock_wrlock(&table);
	pthread_rwlock_unlock(&table);
	pthread_rwlock_unlock(&index_lock);
	return nothing;
}

static void *read_twice(void *nothing)
{
	pthread_rwlock_rdlock(&eager);
	pthread_rwlock_rdlock(&eager);
	pthread_rwlock_unlock(&eager);
	pthread_rwlock_unlock(&eager);
	return nothing;
}

static void *write_once(void *nothing)
{
	pthread_rwlock_wrlock(&eager);
	pthread_rwlock_unlock(&eager);
	return nothing;
}

static void *wait_ready(void *nothing)
{
	pthread_mutex_lock(&accounts);
	pthread_mutex_lock(&journal);
	while (!is_ready)
		pthread_cond_wait(&ready, &journal);
	pthread_mutex_unlock(&journal);
	pthread_mutex_unlock(&accounts);
	return nothing;
}

// Takes the lock that the waiter holds, luckily before the waiter does.
static void *make_ready(void *nothing)
{
	pthread_mutex_lock(&accounts);
	pthread_mutex_unlock(&accounts);
	pthread_t waiter;
	sem_post(&posted);
	usleep(300000);
	pthread_mutex_lock(&journal);
	is_ready = 1;
	pthread_cond_signal(&ready);
	pthread_mutex_unlock(&journal);
	(void)waiter;
	return nothing;
}

static void *late_waiter(void *nothing)
{
	sem_wait(&posted);
	return wait_ready(nothing);
}

static void *post(void *nothing)
{
	pthread_mutex_lock(&accounts);
	pthread_mutex_unlock(&accounts);
	sem_post(&posted);
	return nothing;
}

static void *await_post(void *nothing)
{
	pthread_mutex_lock(&accounts);
	sem_wait(&posted);
	pthread_mutex_unlock(&accounts);
	return nothing;
}

static void *touch(void *nothing)
{
	pthread_mutex_lock(&accounts);
	pthread_mutex_unlock(&accounts);
	return nothing;
}

static void *lock_twice(void *nothing)
{
	alarm(1);
	pthread_mutex_lock(&accounts);
	pthread_mutex_lock(&accounts);
	return nothing;
}

struct account {
	pthread_mutex_t lock;
};

struct entry {
	pthread_mutex_t lock;
};

struct booking {
	struct account *account;
	struct entry *entry;
};

__attribute__((noinline)) static struct account *account_new(void)
{
	struct account *account = malloc(sizeof(*account));
	pthread_mutex_init(&account->lock, NULL);
	return account;
}

__attribute__((noinline)) static struct entry *entry_new(void)
{
	struct entry *entry = malloc(sizeof(*entry));
	pthread_mutex_init(&entry->lock, NULL);
	return entry;
}

static void *book(void *of)
{
	struct booking *booking = of;
	pthread_mutex_lock(&booking->account->lock);
	pthread_mutex_lock(&booking->entry->lock);
	pthread_mutex_unlock(&booking->entry->lock);
	pthread_mutex_unlock(&booking->account->lock);
	return NULL;
}

static void *settle(void *of)
{
	struct booking *booking = of;
	pthread_mutex_lock(&booking->entry->lock);
	pthread_mutex_lock(&booking->account->lock);
	pthread_mutex_unlock(&booking->account->lock);
	pthread_mutex_unlock(&booking->entry->lock);
	return NULL;
}

int main(int count, char **arguments)
{
	const char *which = count > 1 ? arguments[1] : "";
	pthread_t other, waker;
	for (int at = 0; at < THREADS; at++)
		pthread_mutex_init(&ring[at], NULL);
	sem_init(&posted, 0, 0);
	pthread_create(&other, NULL, idle, NULL);
	if (!strcmp(which, "two")) {
		one(transfer, NULL);
		one(audit, NULL);
	} else if (!strcmp(which, "five")) {
		for (long at = 0; at < THREADS; at++)
			one(dine, (void *)at);
	} else if (!strcmp(which, "rwlock")) {
		one(read_then_write, NULL);
		one(write_behind_read, NULL);
	} else if (!strcmp(which, "readers")) {
		one(read_twice, NULL);
		one(write_once, NULL);
	} else if (!strcmp(which, "condvar")) {
		pthread_create(&waker, NULL, make_ready, NULL);
		one(late_waiter, NULL);
		pthread_join(waker, NULL);
	} else if (!strcmp(which, "semaphore")) {
		one(post, NULL);
		one(await_post, NULL);
	} else if (!strcmp(which, "join")) {
		pthread_create(&waker, NULL, touch, NULL);
		usleep(300000);
		pthread_mutex_lock(&accounts);
		pthread_join(waker, NULL);
		pthread_mutex_unlock(&accounts);
	} else if (!strcmp(which, "makes")) {
		// Two accounts and two entries: no object is taken by both threads.
		struct booking first = { account_new(), entry_new() };
		struct booking second = { account_new(), entry_new() };
		one(book, &first);
		one(settle, &second);
	} else if (!strcmp(which, "itself")) {
		one(lock_twice, NULL);
	} else {
		return 2;
	}
	puts("done");
	return 0;
}
