/*
 * Waits that a signal handler leaves for good at any moment: as they begin,
 * while the thread spins, queues up, sleeps, is woken. The thread that left
 * waits no more, and other threads get what they wait for.
 */
#include "left.h"

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t *barrier;
static sem_t permits;

static void wait_for_mutex(void)
{
	OK(pthread_mutex_lock(&mutex));
}

static void wait_for_mutex_timed(void)
{
	struct timespec far = in_ms(CLOCK_REALTIME, 100000);

	OK(pthread_mutex_timedlock(&mutex, &far));
}

static void use_mutex(void)
{
	OK(pthread_mutex_lock(&mutex));
	OK(pthread_mutex_unlock(&mutex));
}

static void mutex_round(void)
{
	static const struct call calls[] = {
		{ wait_for_mutex, nothing }, { wait_for_mutex_timed, nothing },
	};
	static int count;

	OK(pthread_mutex_lock(&mutex));
	send_bystander(use_mutex);
	let_leave(&calls[count++ % 2]);
	OK(pthread_mutex_unlock(&mutex));
	until_bystander_is_done();
}

TEST(glibc_pthread_mutex_lock__left_at_any_moment)
{
	each_way(mutex_round);
}

/* The leaver can't know whether it had the lock, but the mutex does. */
static void give_mutex_up(void *argument UNUSED)
{
	int error = pthread_mutex_unlock(&mutex);

	CHECK(error == 0 || error == EPERM);
}

static void use_mutex_for_long(void)
{
	OK(pthread_mutex_lock(&mutex));
	pause_at_random(3000);
	OK(pthread_mutex_unlock(&mutex));
}

/* The holder unlocks as the leaver leaves, and may hand the mutex over. */
static void contended_round(void)
{
	static const struct call call = { wait_for_mutex, give_mutex_up };
	struct thread thread;

	OK(pthread_mutex_lock(&mutex));
	has_begun = false;
	send_bystander(use_mutex_for_long);
	start(&thread, leaver, (void *)&call);
	while (!has_begun)
		sched_yield();
	if (next_random(&random_state) % 8 == 0)
		sleep_ms(6);
	else
		pause_at_random(20000);
	OK(pthread_mutex_unlock(&mutex));
	pause_at_random(2000);
	OK(pthread_kill(thread.pthread, SIGUSR1));
	join(&thread);
	until_bystander_is_done();
	use_mutex();
}

TEST_FURWOCK_ONLY(furwock_pthread_mutex_lock__left_as_the_mutex_comes,
		  "glibc's has no owner for a moment after it is locked")
{
	each_way_but(BY_ASYNCHRONOUS_CANCELLATION, contended_round, 1500);
}

static void wait_for_reading(void)
{
	OK(pthread_rwlock_rdlock(&rwlock));
}

static void wait_for_writing(void)
{
	OK(pthread_rwlock_wrlock(&rwlock));
}

static const struct call read_call = { wait_for_reading, nothing };
static const struct call write_call = { wait_for_writing, nothing };

static void behind_writer_round(void)
{
	static int count;

	OK(pthread_rwlock_wrlock(&rwlock));
	send_bystander(count % 4 < 2 ? read_once : write_once);
	let_leave(count % 2 ? &read_call : &write_call);
	OK(pthread_rwlock_unlock(&rwlock));
	until_bystander_is_done();
	count++;
}

TEST_FURWOCK_ONLY(furwock_pthread_rwlock__left_behind_a_writer_at_any_moment,
		  "glibc's goes on counting the one that left")
{
	each_way(behind_writer_round);
}

static void behind_reader_round(void)
{
	static int count;

	/* Every other time it has been read so often that readers use slots. */
	for (int i = 0; count % 2 && i < 200; i++)
		read_once();
	OK(pthread_rwlock_rdlock(&rwlock));
	let_leave(&write_call);
	send_bystander(count++ % 4 < 2 ? read_once : write_once);
	OK(pthread_rwlock_unlock(&rwlock));
	until_bystander_is_done();
	write_once();
}

TEST_FURWOCK_ONLY(furwock_pthread_rwlock_wrlock__left_behind_a_reader_at_any_moment,
		  "glibc's is the leaver's already, and stays so")
{
	each_way(behind_reader_round);
}

static void wait_for_permit(void)
{
	int result = sem_wait(&permits);

	CHECK(result && errno == EINTR);
}

static void take_permit(void)
{
	while (sem_wait(&permits))
		CHECK_EQ(errno, EINTR);
}

static void semaphore_round(void)
{
	static const struct call call = { wait_for_permit, nothing };
	int value;

	send_bystander(take_permit);
	let_leave(&call);
	OK(sem_post(&permits));
	until_bystander_is_done();
	OK(sem_getvalue(&permits, &value));
	CHECK_EQ(value, 0);
}

TEST(glibc_sem_wait__left_at_any_moment)
{
	OK(sem_init(&permits, 0, 0));
	each_way(semaphore_round);
}

static void wait_for_signal(void)
{
	OK(pthread_mutex_lock(&mutex));
	for (;;)
		OK(pthread_cond_wait(&cond, &mutex));
}

static _Atomic int signals, heard;

static void wait_for_turn(void)
{
	OK(pthread_mutex_lock(&mutex));
	while (heard == signals)
		OK(pthread_cond_wait(&cond, &mutex));
	heard = signals;
	OK(pthread_mutex_unlock(&mutex));
}

/* The signal goes to the bystander, also if the leaver came before it. */
static void cond_round(void)
{
	static const struct call call = { wait_for_signal, give_mutex_up };

	send_bystander(wait_for_turn);
	let_leave(&call);
	OK(pthread_mutex_lock(&mutex));
	signals++;
	if (signals % 2)
		OK(pthread_cond_signal(&cond));
	OK(pthread_mutex_unlock(&mutex));
	if (signals % 2 == 0)
		OK(pthread_cond_signal(&cond));
	until_bystander_is_done();
}

TEST_FURWOCK_ONLY(furwock_pthread_cond_wait__left_at_any_moment,
		  "glibc's groups go on counting the one that left")
{
	each_way_but(BY_ASYNCHRONOUS_CANCELLATION, cond_round, 900);
}

static bool was_mine;

static void note_mine(void *argument UNUSED)
{
	was_mine = pthread_mutex_unlock(&mutex) == 0;
}

/* However the leaver leaves its sleep, it has the mutex again. */
TEST(glibc_pthread_cond_wait__left_asleep_has_the_mutex)
{
	static const struct call call = { wait_for_signal, note_mine };
	struct sigaction action = { .sa_handler = leave };
	struct thread thread;

	OK(sigaction(SIGUSR1, &action, NULL));
	for (way = BY_JUMP; way <= BY_EXIT; way++) {
		was_mine = false;
		start_asleep(&thread, leaver, (void *)&call);
		/* Others hold it meanwhile: the leaver waits for it. */
		OK(pthread_mutex_lock(&mutex));
		OK(pthread_kill(thread.pthread, SIGUSR1));
		sleep_ms(20);
		CHECK(!was_mine);
		OK(pthread_mutex_unlock(&mutex));
		join(&thread);
		CHECK(was_mine);
		use_mutex();
	}
}

static void wait_at_barrier(void)
{
	pthread_barrier_wait(barrier);
}

static void barrier_round(void)
{
	static const struct call call = { wait_at_barrier, nothing };
	static pthread_barrier_t all, ours;

	/* An arrival cannot be taken back: a barrier for each round. */
	OK(pthread_barrier_init(&all, NULL, 3));
	OK(pthread_barrier_init(&ours, NULL, 2));
	barrier = &all;
	let_leave(&call);
	barrier = &ours;
	send_bystander(wait_at_barrier);
	wait_at_barrier();
	until_bystander_is_done();
}

TEST(glibc_pthread_barrier_wait__left_at_any_moment)
{
	each_way(barrier_round);
}

static void wait_behind_leaver(void)
{
	while (!has_begun)
		sched_yield();
	for (int turns = done * 7919 % 20000; turns; turns--)
		__asm__ volatile("");
	wait_at_barrier();
}

/* One look may come upon a thread that is about to find that it needn't sleep. */
static bool bystander_waits(void)
{
	for (int looks = 0; looks < 10; looks++) {
		if (done == told || !is_asleep(beside.tid))
			return false;
		sleep_ms(1);
	}
	return true;
}

/* The leaver's round is complete as it leaves, or isn't yet. */
static void complete_barrier_round(void)
{
	static const struct call call = { wait_at_barrier, nothing };
	static pthread_barrier_t both;

	OK(pthread_barrier_init(&both, NULL, 2));
	barrier = &both;
	has_begun = false;
	send_bystander(wait_behind_leaver);
	let_leave(&call);
	while (done != told && !bystander_waits())
		sched_yield();
	/* It may have left before it arrived. */
	if (done != told)
		wait_at_barrier();
	until_bystander_is_done();
}

TEST(glibc_pthread_barrier_wait__left_as_the_round_completes)
{
	each_way(complete_barrier_round);
}

static void wait_for_spinlock(void)
{
	OK(pthread_spin_lock(&spin));
}

static void spin_round(void)
{
	static const struct call call = { wait_for_spinlock, nothing };

	OK(pthread_spin_lock(&spin));
	let_leave(&call);
	OK(pthread_spin_unlock(&spin));
	OK(pthread_spin_trylock(&spin));
	OK(pthread_spin_unlock(&spin));
}

TEST(glibc_pthread_spin_lock__left_at_any_moment)
{
	OK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
	each_way(spin_round);
}

static pthread_once_t control;
static _Atomic bool may_end, is_called;

static void stay(void)
{
	is_called = true;
	while (!may_end)
		sched_yield();
}

static void call_once_only(void)
{
	OK(pthread_once(&control, stay));
}

static void once_round(void)
{
	static const struct call call = { call_once_only, nothing };

	control = (pthread_once_t)PTHREAD_ONCE_INIT;
	may_end = is_called = false;
	send_bystander(call_once_only);
	while (!is_called)
		sched_yield();
	let_leave(&call);
	may_end = true;
	until_bystander_is_done();
	call_once_only();
}

TEST(glibc_pthread_once__left_by_one_that_waits_for_the_call)
{
	each_way(once_round);
}

static void cancelled_later(void *done)
{
	*(volatile bool *)done = true;
}

static bool was_cancelled;

/* A wait that is left doesn't change the thread's cancelability. */
THREAD(leave_and_be_cancelled, void *argument UNUSED)
{
	pthread_cleanup_push(cancelled_later, &was_cancelled);
	if (!sigsetjmp(out, 1)) {
		inside = 1;
		take_permit();
		FAIL("it wasn't left");
	}
	OK(pthread_cancel(pthread_self()));
	pthread_testcancel();
	pthread_cleanup_pop(0);
}

TEST(glibc_siglongjmp__out_of_a_wait_leaves_cancellation_enabled)
{
	struct sigaction action = { .sa_handler = leave };
	struct thread thread;

	way = BY_JUMP;
	OK(sigaction(SIGUSR1, &action, NULL));
	OK(sem_init(&permits, 0, 0));
	start_asleep(&thread, leave_and_be_cancelled, NULL);
	OK(pthread_kill(thread.pthread, SIGUSR1));
	CHECK(join(&thread) == PTHREAD_CANCELED);
	CHECK(was_cancelled);
}

RUN_TESTS()
