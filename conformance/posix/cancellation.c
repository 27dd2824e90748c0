/*
 * XSH 2.9.5, thread cancellation, as far as it concerns the calls of locks:
 * which of them are cancellation points, and what a cancelled wait leaves.
 */
#include "clause.h"
#include "crowd.h"
#include "enough.h"
#include "handlers.h"
#include "semaphore.h"

/* Each clause runs in a process of its own, with one victim at a time. */
static struct victim {
	struct thread thread;
	/* What it does; it gets as far as returning, or it doesn't. */
	void (*call)(void);
	_Atomic bool entered, returned, cleaned;
	enum call wait;
	/* Cancels itself before the call. */
	bool pending;
	sem_t sem;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	pthread_barrier_t barrier;
	pthread_spinlock_t spin;
} victim;

static void make_victim(void (*call)(void), enum call wait)
{
	victim = (struct victim){ .call = call, .wait = wait };
	SEM_INIT(&victim.sem, 0);
	OK(pthread_mutex_init(&victim.mutex, NULL));
	OK(pthread_cond_init(&victim.cond, NULL));
	OK(pthread_rwlock_init(&victim.rwlock, NULL));
	OK(pthread_barrier_init(&victim.barrier, NULL, 2));
	OK(pthread_spin_init(&victim.spin, 0));
}

static void clean(void *argument UNUSED)
{
	victim.cleaned = true;
}

THREAD(victim_run, void *argument UNUSED)
{
	pthread_cleanup_push(clean, NULL);
	if (victim.pending)
		OK(pthread_cancel(pthread_self()));
	victim.entered = true;
	victim.call();
	victim.returned = true;
	pthread_testcancel();
	pthread_cleanup_pop(0);
}

static void start_victim(void)
{
	start(&victim.thread, victim_run, NULL);
}

static void send_to_sleep(void (*call)(void), enum call wait)
{
	make_victim(call, wait);
	start_victim();
	until_asleep(&victim.thread);
}

static void check_cancelled(bool after_the_call)
{
	CHECK(join(&victim.thread) == PTHREAD_CANCELED);
	CHECK(victim.cleaned);
	CHECK_EQ(victim.returned, after_the_call);
}

static void cancel_asleep(void)
{
	OK(pthread_cancel(victim.thread.pthread));
	check_cancelled(false);
}

/* A victim that cancels itself before the call. */
static void check_pending(void (*call)(void), enum call wait, bool after_the_call)
{
	make_victim(call, wait);
	victim.pending = true;
	start_victim();
	check_cancelled(after_the_call);
}

/* Calls the form that the victim is to wait by. */
#define WAIT_BY(plain, timed, clocked, ...)				\
	do {								\
		clockid_t clock_ = clock_of(victim.wait);		\
		struct timespec at_ = in_ms(clock_, LONG_MS);		\
		if (victim.wait == WAIT)				\
			OK(plain(__VA_ARGS__));				\
		else if (victim.wait == TIMEDWAIT)			\
			OK(timed(__VA_ARGS__, &at_));			\
		else							\
			OK(clocked(__VA_ARGS__, clock_, &at_));		\
	} while (0)

/* --------------------------------------------------- points: semaphores -- */

static void wait_for_sem(void)
{
	CHECK_EQ(take(&victim.sem, victim.wait, LONG_MS), 0);
}

static void check_sem_asleep(enum call call)
{
	send_to_sleep(wait_for_sem, call);
	cancel_asleep();
	check_free(&victim.sem, 0);
	DESTROY(&victim.sem);
	memset(&victim.sem, 0xff, sizeof(victim.sem));
}

CLAUSE_BY(check_sem_asleep(WAIT), cancellation__sec_2__sem_wait_asleep,
	  "sem_wait is a cancellation point as it waits; it leaves nothing in the semaphore")

CLAUSE_BY(check_sem_asleep(TIMEDWAIT), cancellation__sec_2__sem_timedwait_asleep,
	  "sem_timedwait is a cancellation point as it waits")

CLAUSE_OVER(cancellation__sec_2__sem_clockwait_asleep,
	    "sem_clockwait is a cancellation point as it waits, on either clock",
	    check_sem_asleep, CLOCKWAIT_REALTIME, CLOCKWAIT_MONOTONIC)

static void check_sem_pending(enum call call, int from, int to)
{
	/* Also when it could be had at once: nothing is taken. */
	for (int value = from; value <= to; value++) {
		make_victim(wait_for_sem, call);
		SEM_INIT(&victim.sem, value);
		victim.pending = true;
		start_victim();
		check_cancelled(false);
		check_free(&victim.sem, value);
	}
}

CLAUSE_BY(check_sem_pending(WAIT, 0, 2), cancellation__sec_2__sem_wait_pending,
	  "sem_wait acts on a pending request, also when it could lock at once, and then locks "
	  "nothing")

CLAUSE_BY(check_sem_pending(TIMEDWAIT, 0, 2), cancellation__sec_2__sem_timedwait_pending,
	  "sem_timedwait acts on a pending request in the same way")

CLAUSE(cancellation__sec_2__sem_clockwait_pending,
       "sem_clockwait acts on a pending request when it would wait")
{
	check_sem_pending(CLOCKWAIT_REALTIME, 0, 0);
	check_sem_pending(CLOCKWAIT_MONOTONIC, 0, 0);
}

CLAUSE_FURWOCK_ONLY(cancellation__sec_2__sem_clockwait_pending_when_unlocked,
		    "sem_clockwait acts on a pending request also when it could lock at once, and "
		    "then locks nothing",
		    "furwock is right: a cancellation point acts on what is pending when it is "
		    "called; glibc 2.36's sem_clockwait does so only before it sleeps, unlike its "
		    "sem_wait and sem_timedwait")
{
	check_sem_pending(CLOCKWAIT_REALTIME, 1, 2);
	check_sem_pending(CLOCKWAIT_MONOTONIC, 1, 2);
}

static void wait_past_deadline(void)
{
	take(&victim.sem, victim.wait, -5);
}

/* Before the deadline counts. */
CLAUSE(cancellation__sec_2__sem_timedwait_pending_past_its_deadline,
       "a pending request comes before the deadline that has passed")
{
	for (EACH_TIMED(call)) {
		check_pending(wait_past_deadline, call, false);
		check_free(&victim.sem, 0);
	}
}

CLAUSE(cancellation__sec_2__sem_wait_of_a_shared_semaphore,
       "the waits for semaphores between processes are cancellation points")
{
	sem_t *sem = shared_memory(sizeof(*sem));
	struct waiter waiter;

	SEM_INIT_SHARED(sem, 0);
	for (EACH_CALL(call)) {
		wait_elsewhere(&waiter, sem, call);
		OK(pthread_cancel(waiter.thread.pthread));
		CHECK(join(&waiter.thread) == PTHREAD_CANCELED);
		CHECK(!waiter.done);
		check_free(sem, 0);
	}
}

CLAUSE(cancellation__sec_2__sem_wait_others_wait_on,
       "when one that waits is cancelled the others wait on, and get the posts")
{
	struct waiter before, after;

	for (EACH_CALL(call)) {
		make_victim(wait_for_sem, call);
		wait_elsewhere(&before, &victim.sem, call);
		start_victim();
		until_asleep(&victim.thread);
		wait_elsewhere(&after, &victim.sem, call);
		cancel_asleep();
		sleep_ms(2);
		CHECK(!before.done && !after.done);
		POST(&victim.sem);
		POST(&victim.sem);
		check_ended(&before, 0);
		check_ended(&after, 0);
		check_free(&victim.sem, 0);
	}
}

/* Takes what it may take, and counts it where nothing can cancel it. */
struct taker {
	struct thread thread;
	sem_t *sem;
	enum call call;
	_Atomic int taken;
};

THREAD(take_once, struct taker *taker)
{
	int old;

	CHECK_EQ(take(taker->sem, taker->call, LONG_MS), 0);
	taker->taken++;
	OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
}

/* Which comes first, and how soon the other one. */
enum order {
	POST_FIRST,
	CANCEL_FIRST,
	/* Up to 60 us later; a thread takes about 12 to wake. */
	POST_SOON,
	/* Once the thread has ended, which nothing but the request can end. */
	POST_AFTER_ITS_END,
};

static const enum order orders[8] = {
	CANCEL_FIRST, POST_FIRST, POST_SOON, POST_FIRST,
	CANCEL_FIRST, POST_FIRST, POST_AFTER_ITS_END, POST_FIRST,
};

static void spin_us(int us)
{
	int64_t end = now_ns(CLOCK_MONOTONIC) + us * 1000;

	while (now_ns(CLOCK_MONOTONIC) < end)
		;
}

/*
 * A post and a cancellation at the same moment: either the wait has the post
 * and returns, or it is cancelled and the post is there for others. A post that
 * comes after the request may still be the wait's, if it comes before the
 * thread has run. Whether it also wakes one that sleeps is asked only
 * `if_wakes`.
 */
static void race(bool if_wakes)
{
	struct taker takers[2];
	uint32_t state = 4711;
	enum order order;
	void *result;
	sem_t sem;

	for (int i = 0; i < 200 && (i < 40 || !enough()); i++) {
		SEM_INIT(&sem, 0);
		for (int j = 0; j < 2; j++) {
			takers[j] = (struct taker){ .sem = &sem, .call = i % CALLS };
			start(&takers[j].thread, take_once, &takers[j]);
		}
		for (int j = 0; j < 2 && i % 4; j++)
			UNTIL(takers[j].thread.tid);
		for (int j = 0; j < 2 && i % 8 == 0; j++)
			until_asleep(&takers[j].thread);
		usleep(next_random(&state) % 60);
		order = orders[i % 8];
		if (order == POST_FIRST)
			POST(&sem);
		OK(pthread_cancel(takers[0].thread.pthread));
		if (order == POST_SOON)
			spin_us(next_random(&state) % 60);
		if (order == CANCEL_FIRST || order == POST_SOON)
			POST(&sem);
		result = join(&takers[0].thread);
		CHECK_EQ(takers[0].taken, result ? 0 : 1);
		if (order == POST_AFTER_ITS_END) {
			CHECK(result == PTHREAD_CANCELED);
			POST(&sem);
		}
		/* It is the other's if it isn't this one's. */
		if (if_wakes && result)
			UNTIL(takers[1].taken);
		POST(&sem);
		CHECK(!join(&takers[1].thread));
		CHECK_EQ(takers[1].taken, 1);
		check_free(&sem, result ? 1 : 0);
		DESTROY(&sem);
	}
}

CLAUSE_BY(race(false), cancellation__sec_2__sem_wait_takes_no_post_with_it,
	  "of a post and a cancellation at a time, the wait has the post and returns or it is "
	  "cancelled and the post is others'")

CLAUSE_FURWOCK_ONLY(cancellation__sec_2__sem_wait_swallows_no_wakeup,
		    "the same, and another one that sleeps is woken for the post that the "
		    "cancelled one leaves",
		    "furwock is right: nobody may sleep while the value is positive; in glibc "
		    "2.36 a waiter that is cancelled as sem_post wakes it takes the wake-up with "
		    "it, and another one sleeps on beside a value of 1")
{
	race(true);
}

CLAUSE(cancellation__sec_2__sem_wait_after_handlers,
       "a wait that went on after handlers can be cancelled")
{
	handle(SA_RESTART);
	send_to_sleep(wait_for_sem, WAIT);
	for (int i = 0; i < 10; i++)
		shoot(&victim.thread);
	CHECK(!victim.cleaned);
	cancel_asleep();
	check_free(&victim.sem, 0);
}

static void wait_disabled(void)
{
	int old;

	OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
	CHECK_EQ(old, PTHREAD_CANCEL_ENABLE);
	wait_for_sem();
	OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
	CHECK_EQ(old, PTHREAD_CANCEL_DISABLE);
}

CLAUSE(cancellation__sec_1__disabled_waits_on,
       "a thread that has disabled cancellation waits on; the request stays pending")
{
	for (EACH_CALL(call)) {
		send_to_sleep(wait_disabled, call);
		OK(pthread_cancel(victim.thread.pthread));
		sleep_ms(3);
		CHECK(!victim.cleaned && !victim.returned);
		POST(&victim.sem);
		check_cancelled(true);
		check_free(&victim.sem, 0);
	}
}

static void wait_asynchronously(void)
{
	int old;

	OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
	wait_for_sem();
	/* It is as it was, after a wait too. */
	OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
	CHECK_EQ(old, PTHREAD_CANCEL_ASYNCHRONOUS);
}

CLAUSE(cancellation__sec_1__asynchronous_type,
       "of asynchronous type, a wait for a semaphore is cancelled as well (sem_wait need not "
       "allow that type; glibc's does)")
{
	for (EACH_CALL(call)) {
		send_to_sleep(wait_asynchronously, call);
		cancel_asleep();
		check_free(&victim.sem, 0);
		send_to_sleep(wait_asynchronously, call);
		POST(&victim.sem);
		CHECK(!join(&victim.thread));
		CHECK(victim.returned);
	}
}

static void check_type(void)
{
	int old;

	wait_for_sem();
	OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
	CHECK_EQ(old, PTHREAD_CANCEL_DEFERRED);
	OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
	CHECK_EQ(old, PTHREAD_CANCEL_ENABLE);
}

CLAUSE(cancellation__sec_1__waits_leave_state_and_type,
       "waits leave the thread's cancellation state and type as they are")
{
	for (EACH_CALL(call)) {
		for (int asleep = 0; asleep < 2; asleep++) {
			make_victim(check_type, call);
			if (!asleep)
				POST(&victim.sem);
			start_victim();
			if (asleep) {
				until_asleep(&victim.thread);
				POST(&victim.sem);
			}
			CHECK(!join(&victim.thread));
			CHECK(victim.returned);
		}
	}
}

static void post_in_cleanup(void *argument UNUSED)
{
	POST(&victim.sem);
}

static void wait_and_post(void)
{
	pthread_cleanup_push(post_in_cleanup, NULL);
	wait_for_sem();
	pthread_cleanup_pop(0);
}

CLAUSE(cancellation__sec_3__cleanup_handler_posts,
       "the cleanup handlers of a cancelled wait can post")
{
	struct waiter waiter;

	make_victim(wait_and_post, WAIT);
	wait_elsewhere(&waiter, &victim.sem, WAIT);
	start_victim();
	until_asleep(&victim.thread);
	cancel_asleep();
	check_ended(&waiter, 0);
	check_free(&victim.sem, 0);
}

static void wait_in_cleanup(void *argument UNUSED)
{
	wait_for_sem();
	victim.returned = true;
}

static void wait_and_wait(void)
{
	pthread_cleanup_push(wait_in_cleanup, NULL);
	wait_for_sem();
	pthread_cleanup_pop(0);
}

/* A second cancellation does nothing to a thread that is being cancelled. */
CLAUSE(cancellation__sec_3__cleanup_handler_waits,
       "the cleanup handlers of a cancelled wait can wait, and aren't cancelled once more")
{
	for (EACH_CALL(call)) {
		send_to_sleep(wait_and_wait, call);
		OK(pthread_cancel(victim.thread.pthread));
		sleep_ms(2);
		until_asleep(&victim.thread);
		OK(pthread_cancel(victim.thread.pthread));
		sleep_ms(2);
		CHECK(!victim.returned && !victim.cleaned);
		POST(&victim.sem);
		check_cancelled(true);
		check_free(&victim.sem, 0);
	}
}

/* ------------------------------------------------------ points: condvars -- */

static void unlock(void *mutex)
{
	OK(pthread_mutex_unlock(mutex));
}

static void wait_for_cond(void)
{
	OK(pthread_mutex_lock(&victim.mutex));
	/* It has the mutex when this runs: otherwise that would be in vain. */
	pthread_cleanup_push(unlock, &victim.mutex);
	WAIT_BY(pthread_cond_wait, pthread_cond_timedwait,
		pthread_cond_clockwait, &victim.cond, &victim.mutex);
	pthread_cleanup_pop(1);
}

static void check_cond(enum call call)
{
	for (int pending = 0; pending < 2; pending++) {
		if (pending) {
			check_pending(wait_for_cond, call, false);
		} else {
			send_to_sleep(wait_for_cond, call);
			cancel_asleep();
		}
		OK(pthread_mutex_trylock(&victim.mutex));
		OK(pthread_mutex_unlock(&victim.mutex));
		OK(pthread_cond_destroy(&victim.cond));
		OK(pthread_mutex_destroy(&victim.mutex));
	}
}

CLAUSE_BY(check_cond(WAIT), cancellation__sec_2__pthread_cond_wait,
	  "pthread_cond_wait is a cancellation point, asleep and with a pending request; its "
	  "cleanup handlers have the mutex")

CLAUSE_BY(check_cond(TIMEDWAIT), cancellation__sec_2__pthread_cond_timedwait,
	  "pthread_cond_timedwait is a cancellation point in the same way")

CLAUSE_OVER(cancellation__sec_2__pthread_cond_clockwait,
	    "pthread_cond_clockwait is a cancellation point in the same way",
	    check_cond, CLOCKWAIT_REALTIME, CLOCKWAIT_MONOTONIC)

/* ------------------------------------------------------------ no points -- */

/* The call sleeps, and goes on doing so when it is cancelled. */
static void check_no_point(void (*release)(void))
{
	start_victim();
	until_asleep(&victim.thread);
	OK(pthread_cancel(victim.thread.pthread));
	sleep_ms(4);
	CHECK(!victim.cleaned && !victim.returned);
	release();
	check_cancelled(true);
}

static void lock_mutex(void)
{
	WAIT_BY(pthread_mutex_lock, pthread_mutex_timedlock,
		pthread_mutex_clocklock, &victim.mutex);
	OK(pthread_mutex_unlock(&victim.mutex));
}

static void unlock_mutex(void)
{
	OK(pthread_mutex_unlock(&victim.mutex));
}

CLAUSE(cancellation__sec_2__mutexes_are_none_asleep,
       "no call that locks a mutex is a cancellation point: asleep")
{
	for (EACH_CALL(call)) {
		make_victim(lock_mutex, call);
		OK(pthread_mutex_lock(&victim.mutex));
		check_no_point(unlock_mutex);
		OK(pthread_mutex_trylock(&victim.mutex));
		OK(pthread_mutex_unlock(&victim.mutex));
	}
}

static void read_rwlock(void)
{
	WAIT_BY(pthread_rwlock_rdlock, pthread_rwlock_timedrdlock,
		pthread_rwlock_clockrdlock, &victim.rwlock);
	OK(pthread_rwlock_unlock(&victim.rwlock));
}

static void write_rwlock(void)
{
	WAIT_BY(pthread_rwlock_wrlock, pthread_rwlock_timedwrlock,
		pthread_rwlock_clockwrlock, &victim.rwlock);
	OK(pthread_rwlock_unlock(&victim.rwlock));
}

static void unlock_rwlock(void)
{
	OK(pthread_rwlock_unlock(&victim.rwlock));
}

CLAUSE(cancellation__sec_2__rwlocks_are_none_asleep,
       "the calls that lock rwlocks may be cancellation points; glibc's aren't: asleep")
{
	void (*const calls[])(void) = { read_rwlock, write_rwlock };

	for (EACH_CALL(call)) {
		for (int i = 0; i < 2; i++) {
			make_victim(calls[i], call);
			OK(pthread_rwlock_wrlock(&victim.rwlock));
			check_no_point(unlock_rwlock);
			OK(pthread_rwlock_trywrlock(&victim.rwlock));
			OK(pthread_rwlock_unlock(&victim.rwlock));
		}
	}
}

static void meet(void)
{
	meet_at(&victim.barrier);
}

CLAUSE(cancellation__sec_2__barriers_are_none_asleep,
       "pthread_barrier_wait is no cancellation point: asleep")
{
	make_victim(meet, WAIT);
	check_no_point(meet);
	OK(pthread_barrier_destroy(&victim.barrier));
}

static void spin(void)
{
	OK(pthread_spin_lock(&victim.spin));
	OK(pthread_spin_unlock(&victim.spin));
}

CLAUSE(cancellation__sec_2__spin_locks_are_none_waiting,
       "pthread_spin_lock is no cancellation point: as it waits")
{
	make_victim(spin, WAIT);
	OK(pthread_spin_lock(&victim.spin));
	start_victim();
	UNTIL(victim.entered);
	sleep_ms(2);
	OK(pthread_cancel(victim.thread.pthread));
	sleep_ms(4);
	CHECK(!victim.cleaned && !victim.returned);
	OK(pthread_spin_unlock(&victim.spin));
	check_cancelled(true);
	OK(pthread_spin_trylock(&victim.spin));
}

static void call_sems(void)
{
	int value;

	CHECK_ERRNO(sem_trywait(&victim.sem), EAGAIN);
	POST(&victim.sem);
	CHECK_EQ(sem_getvalue(&victim.sem, &value), 0);
	CHECK_EQ(value, 1);
	CHECK_EQ(sem_trywait(&victim.sem), 0);
	DESTROY(&victim.sem);
	SEM_INIT(&victim.sem, 0);
}

CLAUSE_BY(check_pending(call_sems, WAIT, true),
	  cancellation__sec_2__other_calls_on_semaphores_are_none,
	  "sem_trywait, sem_post, sem_getvalue, sem_init and sem_destroy are no cancellation "
	  "points")

static void call_mutexes(void)
{
	for (EACH_CALL(call)) {
		victim.wait = call;
		lock_mutex();
	}
	OK(pthread_mutex_trylock(&victim.mutex));
	CHECK_ERR(pthread_mutex_trylock(&victim.mutex), EBUSY);
	OK(pthread_cond_signal(&victim.cond));
	OK(pthread_cond_broadcast(&victim.cond));
	OK(pthread_mutex_unlock(&victim.mutex));
	OK(pthread_cond_destroy(&victim.cond));
	OK(pthread_mutex_destroy(&victim.mutex));
	OK(pthread_mutex_init(&victim.mutex, NULL));
	OK(pthread_cond_init(&victim.cond, NULL));
}

CLAUSE_BY(check_pending(call_mutexes, WAIT, true), cancellation__sec_2__mutexes_are_none_pending,
	  "no call on a mutex is a cancellation point, neither are pthread_cond_signal and "
	  "_broadcast: with a pending request")

static void call_rwlocks(void)
{
	for (EACH_CALL(call)) {
		victim.wait = call;
		read_rwlock();
		write_rwlock();
	}
	OK(pthread_rwlock_tryrdlock(&victim.rwlock));
	CHECK_ERR(pthread_rwlock_trywrlock(&victim.rwlock), EBUSY);
	OK(pthread_rwlock_unlock(&victim.rwlock));
	OK(pthread_rwlock_destroy(&victim.rwlock));
	OK(pthread_rwlock_init(&victim.rwlock, NULL));
}

CLAUSE_BY(check_pending(call_rwlocks, WAIT, true), cancellation__sec_2__rwlocks_are_none_pending,
	  "the calls that lock rwlocks may be cancellation points; glibc's aren't: with a pending "
	  "request")

static void call_barriers_and_spins(void)
{
	OK(pthread_barrier_destroy(&victim.barrier));
	OK(pthread_barrier_init(&victim.barrier, NULL, 1));
	CHECK(meet_at(&victim.barrier));
	spin();
	OK(pthread_spin_trylock(&victim.spin));
	CHECK_ERR(pthread_spin_trylock(&victim.spin), EBUSY);
	OK(pthread_spin_unlock(&victim.spin));
	OK(pthread_spin_destroy(&victim.spin));
}

CLAUSE_BY(check_pending(call_barriers_and_spins, WAIT, true),
	  cancellation__sec_2__barriers_and_spin_locks_are_none_pending,
	  "calls on barriers and spin locks are no cancellation points: with a pending request")
