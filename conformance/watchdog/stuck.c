/*
 * A process that is stuck in a way of one's choice, for the watchdog's tests:
 *
 *	stuck futex|mutex|spin|pipe|stopped|starved|kernel|vfork|asks
 *
 * Prints "ready" just before. Exit 77 if that can't be had here.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXIT_SKIPPED 77
#define PAGE 4096

static void ready(void)
{
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		exit(1);
}

static void in_futex(void)
{
	static uint32_t word;

	ready();
	for (;;)
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL);
}

/* Locks what it has locked: the wait is the pthread library's. */
static void in_mutex(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	ready();
	pthread_mutex_lock(&mutex);
	pthread_mutex_lock(&mutex);
}

static void spin(void)
{
	ready();
	for (;;)
		__asm__ volatile("pause");
}

static void in_pipe(void)
{
	int ends[2];
	char byte;

	if (pipe(ends))
		exit(1);
	ready();
	if (read(ends[0], &byte, 1))
		exit(1);
}

static void be_stopped(void)
{
	ready();
	raise(SIGSTOP);
}

/* What runs only when nothing else wants the processor, where something does. */
static void starve(void)
{
	struct sched_param none = { 0 };
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		exit(1);
	for (int cpu = CPU_SETSIZE - 1, kept = 0; cpu >= 0; cpu--) {
		if (CPU_ISSET(cpu, &cpus) && kept++)
			CPU_CLR(cpu, &cpus);
	}
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		exit(1);
	if (fork() == 0) {
		/* In a group of its own, so that nobody looks at it. */
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				__asm__ volatile("pause");
		}
		for (;;)
			__asm__ volatile("pause");
	}
	if (sched_setscheduler(0, SCHED_IDLE, &none))
		exit(EXIT_SKIPPED);
	spin();
}

/*
 * Uninterruptibly, in the kernel: it reads memory for us whose pages a
 * userfaultfd is to fill in, and nobody does.
 */
static void in_kernel(void)
{
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	struct iovec to, from;
	char byte, *page;
	int fd;

	fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		exit(EXIT_SKIPPED);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		exit(1);
	range.range.start = (uintptr_t)page;
	range.range.len = PAGE;
	if (ioctl(fd, UFFDIO_REGISTER, &range))
		exit(EXIT_SKIPPED);
	to = (struct iovec){ &byte, 1 };
	from = (struct iovec){ page, 1 };
	ready();
	process_vm_readv(getpid(), &to, 1, &from, 1, 0);
}

/* The parent sleeps uninterruptibly, too, but it is the child that counts. */
static void in_vfork(void)
{
	ready();
	if (vfork() == 0) {
		static uint32_t word;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL);
		_exit(1);
	}
}

static void *lock_twice(void *tid)
{
	*(_Atomic pid_t *)tid = gettid();
	in_mutex();
	return NULL;
}

/* Knows by itself that its thread is stuck. */
static void ask(void)
{
	static _Atomic pid_t tid;
	pthread_t thread;

	pthread_create(&thread, NULL, lock_twice, (void *)&tid);
	sleep(1);
	for (;;) {
		fprintf(stderr, "what it says\nSTUCK %d 1000 %d\n", getpid(), tid);
		sleep(1);
	}
}

static const struct {
	const char *name;
	void (*be)(void);
} ways[] = {
	{ "futex", in_futex },	 { "mutex", in_mutex },	 { "spin", spin },
	{ "pipe", in_pipe },	 { "stopped", be_stopped }, { "starved", starve },
	{ "kernel", in_kernel }, { "vfork", in_vfork },	 { "asks", ask },
};

int main(int argc, char **argv)
{
	for (unsigned int i = 0; argc == 2 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!strcmp(ways[i].name, argv[1])) {
			ways[i].be();
			return 1;
		}
	}
	return 2;
}
