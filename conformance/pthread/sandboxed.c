/*
 * A sandbox that ends the program at the first system call which glibc's own
 * threads and locks don't make.
 */
#include "../posix/crowd.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <semaphore.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <threads.h>

/* What threads need to start and end, locks, and this program's checks. */
static const int allowed[] = {
	SYS_futex,	  SYS_exit,	      SYS_exit_group,
	SYS_write,	  SYS_read,	      SYS_mmap,
	SYS_munmap,	  SYS_mprotect,	      SYS_madvise,
	SYS_brk,	  SYS_clone,	      SYS_clone3,
	SYS_rseq,	  SYS_set_robust_list, SYS_gettid,
	SYS_getpid,	  SYS_tgkill,	      SYS_rt_sigaction,
	SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_getrandom,
	SYS_clock_nanosleep, SYS_newfstatat,  SYS_clock_gettime,
};

enum { ALLOWED = COUNT(allowed), THREADS = 4 };

static void on_trap(int signal UNUSED, siginfo_t *info, void *context UNUSED)
{
	FAIL("system call %d", info->si_syscall);
}

/* By prctl, or by the number of seccomp(2). */
static bool by_number;

static void enter_sandbox(void)
{
	struct sock_filter filter[ALLOWED + 3];
	struct sock_fprog program = { ALLOWED + 3, filter };
	struct sigaction action = {
		.sa_sigaction = on_trap,
		.sa_flags = SA_SIGINFO,
	};

	filter[0] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < ALLOWED; i++)
		filter[i + 1] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, allowed[i], ALLOWED - i, 0);
	filter[ALLOWED + 1] = (struct sock_filter)BPF_STMT(
		BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	filter[ALLOWED + 2] = (struct sock_filter)BPF_STMT(
		BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	CHECK_EQ(sigaction(SIGSYS, &action, NULL), 0);
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	/* A probe, as libseccomp makes it. */
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) != 0);
	if (by_number)
		CHECK_EQ(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), 0);
	else
		CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* The filter does end a program. */
TEST(linux_seccomp__a_call_of_another_kind_is_noticed)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		close(STDERR_FILENO);
		enter_sandbox();
		sched_yield();
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
}

static void run_sandboxed(void *(*run)(void *))
{
	struct thread threads[THREADS];
	intptr_t i;

	enter_sandbox();
	for (i = 0; i < THREADS; i++)
		start(&threads[i], run, (void *)i);
	join_all(threads, THREADS);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static pthread_barrier_t barrier;
static sem_t semaphore;
static mtx_t mtx;
static long counter;

THREAD(use_mutex, void *argument UNUSED)
{
	struct timespec at;

	for (int i = 0; i < 20000; i++) {
		OK(pthread_mutex_lock(&mutex));
		counter++;
		/* Others have to sleep. */
		if (i % 1000 == 0)
			usleep(100);
		OK(pthread_mutex_unlock(&mutex));
		at = in_ms(CLOCK_REALTIME, 1);
		if (pthread_mutex_timedlock(&mutex, &at) == 0) {
			counter++;
			OK(pthread_mutex_unlock(&mutex));
		}
	}
}

TEST(linux_seccomp__mutexes)
{
	run_sandboxed(use_mutex);
	CHECK(counter >= THREADS * 20000);
}

THREAD(use_c11_mutex, void *argument UNUSED)
{
	for (int i = 0; i < 20000; i++) {
		CHECK_EQ(mtx_lock(&mtx), thrd_success);
		counter++;
		CHECK_EQ(mtx_unlock(&mtx), thrd_success);
	}
}

TEST(linux_seccomp__c11_mutexes)
{
	CHECK_EQ(mtx_init(&mtx, mtx_plain), thrd_success);
	run_sandboxed(use_c11_mutex);
	CHECK_EQ(counter, THREADS * 20000);
}

THREAD(use_rwlock, void *argument UNUSED)
{
	struct timespec at;

	for (int i = 0; i < 50000; i++) {
		if (i % 1000 == 0) {
			OK(pthread_rwlock_wrlock(&rwlock));
			counter++;
			usleep(100);
		} else if (i % 10 == 0) {
			at = in_ms(CLOCK_REALTIME, 1);
			if (pthread_rwlock_timedrdlock(&rwlock, &at))
				continue;
		} else {
			OK(pthread_rwlock_rdlock(&rwlock));
		}
		OK(pthread_rwlock_unlock(&rwlock));
	}
}

TEST(linux_seccomp__rwlocks)
{
	run_sandboxed(use_rwlock);
	CHECK_EQ(counter, THREADS * 50);
}

TEST(linux_seccomp__rwlocks_in_a_sandbox_by_number)
{
	by_number = true;
	run_sandboxed(use_rwlock);
	CHECK_EQ(counter, THREADS * 50);
}

/* The holder sleeps, so that spinners have to give way. */
THREAD(use_spinlock, void *argument UNUSED)
{
	for (int i = 0; i < 200; i++) {
		OK(pthread_spin_lock(&spinlock));
		counter++;
		if (i % 20 == 0)
			usleep(2000);
		OK(pthread_spin_unlock(&spinlock));
	}
}

TEST(linux_seccomp__spinlocks)
{
	OK(pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE));
	run_sandboxed(use_spinlock);
	CHECK_EQ(counter, THREADS * 200);
}

THREAD(use_semaphore, void *argument UNUSED)
{
	struct timespec at;

	for (int i = 0; i < 5000; i++) {
		CHECK_EQ(sem_wait(&semaphore), 0);
		if (i % 500 == 0)
			usleep(100);
		CHECK_EQ(sem_post(&semaphore), 0);
		at = in_ms(CLOCK_REALTIME, 1);
		if (sem_timedwait(&semaphore, &at) == 0)
			CHECK_EQ(sem_post(&semaphore), 0);
	}
}

TEST(linux_seccomp__semaphores)
{
	CHECK_EQ(sem_init(&semaphore, 0, 1), 0);
	run_sandboxed(use_semaphore);
}

THREAD(use_barrier, void *argument UNUSED)
{
	int result;

	for (int i = 0; i < 1000; i++) {
		result = pthread_barrier_wait(&barrier);
		CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
	}
}

TEST(linux_seccomp__barriers)
{
	OK(pthread_barrier_init(&barrier, NULL, THREADS));
	run_sandboxed(use_barrier);
}

THREAD(use_condvar, void *argument)
{
	struct timespec at;

	for (int i = 0; i < 500; i++) {
		OK(pthread_mutex_lock(&mutex));
		if (argument) {
			at = in_ms(CLOCK_REALTIME, 1);
			pthread_cond_timedwait(&cond, &mutex, &at);
		} else if (i % 2) {
			OK(pthread_cond_signal(&cond));
		} else {
			OK(pthread_cond_broadcast(&cond));
		}
		OK(pthread_mutex_unlock(&mutex));
	}
}

TEST(linux_seccomp__condvars)
{
	run_sandboxed(use_condvar);
}

static void call_slowly(void)
{
	usleep(2000);
	counter++;
}

THREAD(use_once, void *argument UNUSED)
{
	static pthread_once_t controls[50];

	for (int i = 0; i < 50; i++)
		OK(pthread_once(&controls[i], call_slowly));
}

TEST(linux_seccomp__once)
{
	run_sandboxed(use_once);
	CHECK_EQ(counter, 50);
}

/* Each waits for the mutex, and ends. */
THREAD(wait_once, void *argument UNUSED)
{
	OK(pthread_mutex_lock(&mutex));
	counter++;
	OK(pthread_mutex_unlock(&mutex));
	OK(pthread_rwlock_rdlock(&rwlock));
	OK(pthread_rwlock_unlock(&rwlock));
}

/* So many that the library has to ask which of them have ended. */
TEST(linux_seccomp__threads_that_come_and_go)
{
	struct thread threads[10];

	enter_sandbox();
	/* After so many read locks the lock is biased. */
	for (int i = 0; i < 1000; i++) {
		OK(pthread_rwlock_rdlock(&rwlock));
		OK(pthread_rwlock_unlock(&rwlock));
	}
	for (int i = 0; i < 60; i++) {
		OK(pthread_mutex_lock(&mutex));
		start_all(threads, 10, wait_once, NULL);
		usleep(2000);
		OK(pthread_mutex_unlock(&mutex));
		join_all(threads, 10);
	}
	CHECK_EQ(counter, 600);
}

static _Atomic int waiting;

/* All threads wait: more at once than the first chunk of nodes has room for. */
THREAD(wait_with_all, void *argument UNUSED)
{
	OK(pthread_mutex_lock(&mutex));
	waiting++;
	while (!counter)
		OK(pthread_cond_wait(&cond, &mutex));
	OK(pthread_mutex_unlock(&mutex));
}

TEST(linux_seccomp__hundreds_that_wait_at_once)
{
	static struct thread threads[400];

	enter_sandbox();
	start_all(threads, 400, wait_with_all, NULL);
	UNTIL(waiting == 400);
	OK(pthread_mutex_lock(&mutex));
	counter = 1;
	OK(pthread_cond_broadcast(&cond));
	OK(pthread_mutex_unlock(&mutex));
	join_all(threads, 400);
}

RUN_TESTS()
