/*
 * Calls that wake other threads, left for good by a signal handler at any
 * moment. They finish what they have begun: no waiter is forgotten between a
 * change and the wake that goes with it.
 */
#include "left.h"

#include <linux/futex.h>

static sem_t permits;

static void post(void)
{
	OK(sem_post(&permits));
}

static void take_permit(void)
{
	while (sem_wait(&permits))
		CHECK_EQ(errno, EINTR);
}

static const struct call post_call = { post, nothing };

static void post_round(void)
{
	int value = 0;

	send_bystander(take_permit);
	if (next_random(&random_state) % 2)
		until_asleep(&beside);
	let_leave(&post_call);
	/* If the post wasn't made, it comes now. */
	OK(sem_getvalue(&permits, &value));
	if (done != told && !value)
		post();
	until_bystander_is_done();
	while (!sem_trywait(&permits))
		;
}

/* sem_post is async-signal-safe, so that POSIX allows all this (XSH 2.4.3). */
TEST_FURWOCK_ONLY(furwock_sem_post__left_at_any_moment_has_woken_its_waiter,
		  "glibc's can be left between the post and its wake")
{
	OK(sem_init(&permits, 0, 0));
	each_way(post_round);
}

static void post_often(void)
{
	for (;;)
		post();
}

static void storm_round(void)
{
	static const struct call call = { post_often, nothing };

	let_leave(&call);
	send_bystander(take_permit);
	while (done != told) {
		post();
		sched_yield();
	}
}

THREAD(take_until_stopped, void *stop)
{
	while (!*(_Atomic bool *)stop)
		take_permit();
}

TEST(posix_sem_post__left_in_a_storm_of_posts)
{
	static _Atomic bool stop;
	struct thread takers[3];

	OK(sem_init(&permits, 0, 0));
	start_all(takers, 3, take_until_stopped, &stop);
	each_way(storm_round);
	stop = true;
	for (int i = 0; i < 3; i++) {
		while (pthread_tryjoin_np(takers[i].pthread, NULL)) {
			post();
			usleep(200);
		}
	}
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static _Atomic int turn;

#define WAITERS 3

static _Atomic int seen[WAITERS];

THREAD(follow, _Atomic int *mine)
{
	OK(pthread_mutex_lock(&mutex));
	for (;;) {
		while (*mine == turn)
			OK(pthread_cond_wait(&cond, &mutex));
		*mine = turn;
		if (*mine < 0)
			break;
	}
	OK(pthread_mutex_unlock(&mutex));
}

static bool all_have_seen(void)
{
	for (int i = 0; i < WAITERS; i++)
		if (seen[i] != turn)
			return false;
	return true;
}

static void take_turn(int next)
{
	OK(pthread_mutex_lock(&mutex));
	turn = next;
	OK(pthread_mutex_unlock(&mutex));
}

static void signal_all(void)
{
	for (int i = 0; i < WAITERS; i++)
		OK(pthread_cond_signal(&cond));
}

static void broadcast(void)
{
	OK(pthread_cond_broadcast(&cond));
}

static void notify_round(void)
{
	static const struct call calls[] = {
		{ signal_all, nothing }, { broadcast, nothing },
	};

	take_turn(turn + 1);
	let_leave(&calls[turn % 2]);
	/* It may have been left before it did anything. */
	broadcast();
	while (!all_have_seen())
		sched_yield();
}

TEST_FURWOCK_ONLY(furwock_pthread_cond_signal_and_broadcast__left_at_any_moment,
		  "glibc's can leave a lock of the condvar's held")
{
	struct thread waiters[WAITERS];

	for (int i = 0; i < WAITERS; i++)
		start(&waiters[i], follow, (void *)&seen[i]);
	each_way(notify_round);
	take_turn(-1);
	broadcast();
	join_all(waiters, WAITERS);
}

static _Atomic pid_t holder;
static _Atomic bool may_release;

static void hold_and_release(void)
{
	OK(pthread_mutex_lock(&mutex));
	holder = gettid();
	while (!may_release)
		sched_yield();
	OK(pthread_mutex_unlock(&mutex));
}

static void use_mutex(void)
{
	OK(pthread_mutex_lock(&mutex));
	OK(pthread_mutex_unlock(&mutex));
}

/* The thread that furwock's word names. */
static pid_t owner(void)
{
	return *(volatile int *)&mutex & ((1 << 22) - 1);
}

static void unlock_round(void)
{
	static const struct call call = { hold_and_release, nothing };
	struct thread thread;

	has_begun = may_release = false;
	holder = 0;
	start(&thread, leaver, (void *)&call);
	while (!holder)
		sched_yield();
	send_bystander(use_mutex);
	if (next_random(&random_state) % 2)
		until_asleep(&beside);
	may_release = true;
	pause_at_random(3000);
	OK(pthread_kill(thread.pthread, SIGUSR1));
	join(&thread);
	/* It was left before it had unlocked, so that this thread has to. */
	if (owner() == holder)
		OK(pthread_mutex_unlock(&mutex));
	until_bystander_is_done();
}

TEST_FURWOCK_ONLY(furwock_pthread_mutex_unlock__left_at_any_moment_has_woken_the_next,
		  "glibc's can be left between the release and its wake")
{
	each_way_but(BY_ASYNCHRONOUS_CANCELLATION, unlock_round, 900);
}

static void read_and_release(void)
{
	/* Every other time it has been read so often that readers use slots. */
	for (int i = 0; holder == -1 && i < 200; i++)
		read_once();
	OK(pthread_rwlock_rdlock(&rwlock));
	holder = gettid();
	while (!may_release)
		sched_yield();
	OK(pthread_rwlock_unlock(&rwlock));
}

/* If the writer doesn't get on, this thread reads still. */
static void end_reading(void *argument UNUSED)
{
	int64_t end = now_ns(CLOCK_MONOTONIC) + 20 * NS_PER_MS;

	while (done != told && now_ns(CLOCK_MONOTONIC) < end)
		sched_yield();
	if (done != told)
		OK(pthread_rwlock_unlock(&rwlock));
}

static void read_unlock_round(void)
{
	static const struct call call = { read_and_release, end_reading };
	static int count;
	struct thread thread;

	has_begun = may_release = false;
	holder = count++ % 2 ? -1 : 0;
	start(&thread, leaver, (void *)&call);
	while (holder <= 0)
		sched_yield();
	send_bystander(write_once);
	until_asleep(&beside);
	may_release = true;
	pause_at_random(3000);
	OK(pthread_kill(thread.pthread, SIGUSR1));
	join(&thread);
	until_bystander_is_done();
	read_once();
}

TEST_FURWOCK_ONLY(furwock_pthread_rwlock_unlock__left_by_a_reader_has_let_the_writer_on,
		  "glibc's can be left between the release and its wake")
{
	each_way_but(BY_ASYNCHRONOUS_CANCELLATION, read_unlock_round, 900);
}

static _Atomic int word, other_word;

static long futex(_Atomic int *at, int operation, int value, long most,
		  _Atomic int *to)
{
	return syscall(SYS_futex, at, operation | FUTEX_PRIVATE_FLAG, value, most,
		       to, 0);
}

static void wait_for_change(_Atomic int *at)
{
	int value = *at;

	while (*at == value)
		futex(at, FUTEX_WAIT, value, 0, NULL);
}

static void wait_on_word(void)
{
	wait_for_change(&word);
}

static void wait_on_other(void)
{
	wait_for_change(&other_word);
}

static void wake_words(void)
{
	for (int i = 0; i < 20; i++) {
		futex(&word, FUTEX_WAKE, 1, 0, NULL);
		futex(&word, FUTEX_REQUEUE, 0, 1, &other_word);
		futex(&other_word, FUTEX_WAKE, 1, 0, NULL);
	}
}

static void futex_round(void)
{
	static const struct call calls[] = {
		{ wait_on_word, nothing }, { wake_words, nothing },
		{ wait_on_other, nothing },
	};
	static int count;

	send_bystander(wait_on_word);
	let_leave(&calls[count++ % 3]);
	while (done != told) {
		word++;
		other_word++;
		futex(&word, FUTEX_WAKE, 1, 0, NULL);
		futex(&other_word, FUTEX_WAKE, 1, 0, NULL);
		sched_yield();
	}
}

TEST(linux_futex__left_at_any_moment)
{
	each_way(futex_round);
}

RUN_TESTS()
