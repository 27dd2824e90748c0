/*
 * A signal handler jumps out of a wait of its own thread. POSIX leaves that
 * open but for functions that handlers may call; with glibc, where the kernel
 * does the waiting, programs have ended waits in this way for decades. The
 * thread that jumped waits no longer: what it waited for goes to other threads.
 */
#include "../posix/crowd.h"
#include <semaphore.h>
#include <setjmp.h>

static __thread sigjmp_buf out;
static __thread volatile sig_atomic_t inside;

static void jump(int signal UNUSED)
{
	if (inside)
		siglongjmp(out, 1);
}

static void handle(int flags)
{
	struct sigaction action = { .sa_handler = jump, .sa_flags = flags };

	sigemptyset(&action.sa_mask);
	OK(sigaction(SIGUSR1, &action, NULL));
}

static sem_t permits;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool ready;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int through;

static void wait_semaphore(void)
{
	while (sem_wait(&permits))
		CHECK_EQ(errno, EINTR);
}

static void wait_mutex(void)
{
	OK(pthread_mutex_lock(&mutex));
	OK(pthread_mutex_unlock(&mutex));
}

static void wait_read(void)
{
	OK(pthread_rwlock_rdlock(&rwlock));
	OK(pthread_rwlock_unlock(&rwlock));
}

static void wait_write(void)
{
	OK(pthread_rwlock_wrlock(&rwlock));
	OK(pthread_rwlock_unlock(&rwlock));
}

static void wait_cond(void)
{
	OK(pthread_mutex_lock(&guard));
	while (!ready)
		OK(pthread_cond_wait(&cond, &guard));
	ready = false;
	OK(pthread_mutex_unlock(&guard));
}

static void (*wait_once)(void);

THREAD(stay, void *argument UNUSED)
{
	wait_once();
	through++;
}

static _Atomic bool has_jumped;

/* Waits, jumps out, and then only lives on until all others are through. */
THREAD(jumper, void *argument)
{
	if (!sigsetjmp(out, 1)) {
		inside = 1;
		wait_once();
		FAIL("it wasn't jumped out");
	}
	inside = 0;
	if (wait_once == wait_cond)
		OK(pthread_mutex_unlock(&guard));
	has_jumped = true;
	UNTIL(through == (intptr_t)argument);
	/* Its own waits work as before. */
	wait_once();
}

/* One thread jumps out, and two others behind it wait for the same. */
static void pass_by(void (*wait)(void), void (*block)(void), void (*let_go)(void))
{
	struct thread first, others[2];

	wait_once = wait;
	through = 0;
	has_jumped = false;
	handle(0);
	block();
	start_asleep(&first, jumper, (void *)2);
	start_asleep(&others[0], stay, NULL);
	start_asleep(&others[1], stay, NULL);
	OK(pthread_kill(first.pthread, SIGUSR1));
	UNTIL(has_jumped);
	let_go();
	UNTIL(through == 1 || through == 2);
	let_go();
	join(&others[0]);
	join(&others[1]);
	let_go();
	join(&first);
}

static void no_permit(void)
{
	OK(sem_init(&permits, 0, 0));
}

static void post(void)
{
	OK(sem_post(&permits));
}

TEST(glibc_sem_wait__left_by_a_jump_takes_no_permit)
{
	pass_by(wait_semaphore, no_permit, post);
}

static void hold_mutex(void)
{
	OK(pthread_mutex_lock(&mutex));
}

static void free_mutex(void)
{
	static bool is_free;

	if (!is_free)
		OK(pthread_mutex_unlock(&mutex));
	is_free = true;
}

TEST(glibc_pthread_mutex_lock__left_by_a_jump_leaves_the_mutex_usable)
{
	pass_by(wait_mutex, hold_mutex, free_mutex);
	OK(pthread_mutex_lock(&mutex));
}

static _Atomic bool in_handler, may_jump;

static void jump_late(int signal UNUSED)
{
	in_handler = true;
	while (!may_jump)
		;
	siglongjmp(out, 1);
}

THREAD(waits_until_it_jumps, void *argument UNUSED)
{
	if (!sigsetjmp(out, 1))
		while (true)
			wait_mutex();
	has_jumped = true;
}

/*
 * furwock's mutex is handed over once a waiter has asked for that, by a bit
 * that glibc's word never has.
 */
static bool hand_over_is_due(void)
{
	return *(volatile unsigned *)&mutex & 1U << 24;
}

/* The mutex is handed over to a thread whose handler is about to jump out. */
TEST(glibc_pthread_mutex_lock__left_by_a_jump_as_it_is_handed_over)
{
	struct sigaction action = { .sa_handler = jump_late };
	struct thread waiter;

	sigemptyset(&action.sa_mask);
	OK(sigaction(SIGUSR1, &action, NULL));
	OK(pthread_mutex_lock(&mutex));
	start(&waiter, waits_until_it_jumps, NULL);
	for (int round = 0; round < 1000; round++) {
		usleep(500);
		if (hand_over_is_due())
			break;
		OK(pthread_mutex_unlock(&mutex));
		OK(pthread_mutex_lock(&mutex));
	}
	until_asleep(&waiter);
	OK(pthread_kill(waiter.pthread, SIGUSR1));
	UNTIL(in_handler);
	OK(pthread_mutex_unlock(&mutex));
	may_jump = true;
	UNTIL(has_jumped);
	UNTIL(pthread_mutex_trylock(&mutex) == 0);
	OK(pthread_mutex_unlock(&mutex));
	join(&waiter);
}

static void hold_rwlock(void)
{
	OK(pthread_rwlock_wrlock(&rwlock));
}

static void free_rwlock(void)
{
	static bool is_free;

	if (!is_free)
		OK(pthread_rwlock_unlock(&rwlock));
	is_free = true;
}

TEST(glibc_pthread_rwlock_rdlock__left_by_a_jump_lets_others_in)
{
	pass_by(wait_read, hold_rwlock, free_rwlock);
}

TEST(glibc_pthread_rwlock_wrlock__left_by_a_jump_lets_others_in)
{
	pass_by(wait_write, hold_rwlock, free_rwlock);
}

static void nothing(void)
{
}

static void make_ready(void)
{
	OK(pthread_mutex_lock(&guard));
	ready = true;
	OK(pthread_mutex_unlock(&guard));
	OK(pthread_cond_signal(&cond));
}

TEST_FURWOCK_ONLY(furwock_pthread_cond_wait__left_by_a_jump_takes_no_signal,
		  "glibc's groups go on counting the one that left")
{
	pass_by(wait_cond, nothing, make_ready);
}

/* An interval timer does it again and again, wherever the wait stands. */
TEST(glibc_sem_timedwait__left_by_jumps_a_thousand_times)
{
	struct itimerspec often = { .it_value.tv_nsec = 300000 };
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1,
	};
	struct timespec far = in_ms(CLOCK_REALTIME, 100000);
	volatile int jumps = 0;
	timer_t timer;

	OK(sem_init(&permits, 0, 0));
	handle(SA_RESTART);
	OK(timer_create(CLOCK_MONOTONIC, &event, &timer));
	while (jumps < 1000) {
		if (!sigsetjmp(out, 1)) {
			inside = 1;
			OK(timer_settime(timer, 0, &often, NULL));
			while (sem_timedwait(&permits, &far))
				CHECK_EQ(errno, EINTR);
			FAIL("the wait ended without a post");
		}
		inside = 0;
		jumps++;
	}
	OK(sem_post(&permits));
	OK(sem_wait(&permits));
}

static void on_alternate_stack(int signal UNUSED)
{
	sigjmp_buf within;
	sem_t other;

	/* A jump within the handler leaves the interrupted wait alone. */
	OK(sem_init(&other, 0, 1));
	if (!sigsetjmp(within, 1)) {
		OK(sem_wait(&other));
		siglongjmp(within, 1);
	}
	has_jumped = true;
}

THREAD(waits_on, void *argument UNUSED)
{
	static char stack[1 << 16];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };

	OK(sigaltstack(&alternate, NULL));
	wait_semaphore();
}

TEST(glibc_siglongjmp__within_a_handler_leaves_the_wait_alone)
{
	struct sigaction action = {
		.sa_handler = on_alternate_stack, .sa_flags = SA_ONSTACK | SA_RESTART,
	};
	struct thread waiter;

	sigemptyset(&action.sa_mask);
	OK(sigaction(SIGUSR1, &action, NULL));
	no_permit();
	start_asleep(&waiter, waits_on, NULL);
	OK(pthread_kill(waiter.pthread, SIGUSR1));
	UNTIL(has_jumped);
	until_asleep(&waiter);
	post();
	join(&waiter);
}

RUN_TESTS()
