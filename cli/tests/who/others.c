/*
 * Programs whose threads wait for more than locks, or whose locks are more
 * than they seem, by name: `furwock who` has to say what is true of them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef GO
/* By this section, programs with Go's runtime are known. */
__attribute__((section(".go.buildinfo"), used)) static const char go[] = "go";
#endif

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begun;
static sem_t never;
static int ends[2];

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void start(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, argument);
}

/* What a thread locks, main unlocks: in a language that moves its tasks. */
static void *locks_twice(void *argument)
{
	for (;;)
		pthread_mutex_lock(&first);
	return argument;
}

static void moved(void)
{
	start(locks_twice, NULL);
	ready();
	for (;;) {
		usleep(200 * 1000);
		pthread_mutex_unlock(&first);
	}
}

/* Only the thread that has locked a recursive mutex can unlock it. */
static void *crosses(void *at)
{
	pthread_mutex_lock(at ? &first : &second);
	pthread_barrier_wait(&begun);
	pthread_mutex_lock(at ? &second : &first);
	return NULL;
}

static void recursive(void)
{
	pthread_mutexattr_t kind;

	pthread_mutexattr_init(&kind);
	pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&first, &kind);
	pthread_mutex_init(&second, &kind);
	pthread_barrier_init(&begun, NULL, 2);
	start(crosses, NULL);
	start(crosses, &first);
	ready();
	pause();
}

/* CPython's, as far as `who` reads it. */
struct thread_state {
	void *previous, *next;
	long flags[12];
	pthread_t thread;
	unsigned long native;
	long more[60];
};

static struct {
	unsigned long interval;
	struct thread_state *last_holder;
	int locked;
	unsigned long switches;
	pthread_cond_t cond;
	pthread_mutex_t mutex;
} gil = { 5000, NULL, 0, 0, PTHREAD_COND_INITIALIZER,
	  PTHREAD_MUTEX_INITIALIZER };

static struct thread_state states[2];

static __attribute__((noinline)) void take_gil(struct thread_state *state)
{
	pthread_mutex_lock(&gil.mutex);
	while (gil.locked) {
		struct timespec end;

		clock_gettime(CLOCK_REALTIME, &end);
		end.tv_nsec += 5 * 1000 * 1000;
		end.tv_sec += end.tv_nsec / 1000000000;
		end.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&gil.cond, &gil.mutex, &end);
	}
	state->thread = pthread_self();
	state->native = (unsigned long)gettid();
	gil.locked = 1;
	gil.last_holder = state;
	gil.switches++;
	pthread_mutex_unlock(&gil.mutex);
}

static void drop_gil(void)
{
	pthread_mutex_lock(&gil.mutex);
	gil.locked = 0;
	pthread_cond_signal(&gil.cond);
	pthread_mutex_unlock(&gil.mutex);
}

static void *wants_the_gil(void *argument)
{
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&begun);
	take_gil(&states[1]);
	return argument;
}

static void with_the_gil(void)
{
	pthread_barrier_init(&begun, NULL, 2);
	take_gil(&states[0]);
	start(wants_the_gil, NULL);
	pthread_barrier_wait(&begun);
	ready();
	pthread_mutex_lock(&first);
}

/* Both in the same order, all the time. */
static void *gil_then_mutex(void *state)
{
	for (;;) {
		take_gil(state);
		pthread_mutex_lock(&first);
		usleep(3000);
		pthread_mutex_unlock(&first);
		drop_gil();
		usleep(50);
	}
	return NULL;
}

static void busy_with_the_gil(void)
{
	start(gil_then_mutex, &states[1]);
	ready();
	gil_then_mutex(&states[0]);
}

/* A child that has the other end, or the lock, and sleeps. */
static void child(void (*has)(void))
{
	int told[2];
	char byte = 0;

	if (pipe(told) || fork() == 0) {
		if (has)
			has();
		if (write(told[1], &byte, 1) != 1)
			exit(1);
		pause();
	}
	if (read(told[0], &byte, 1) != 1)
		exit(1);
	close(told[0]);
	close(told[1]);
}

static int file(void)
{
	static char name[] = "/tmp/furwock-who-XXXXXX";
	int descriptor = mkstemp(name);

	unlink(name);
	return descriptor;
}

static void keeps_the_writing_end(void)
{
	close(ends[0]);
}

static void from_pipe(void)
{
	char byte;

	if (pipe(ends))
		exit(1);
	child(keeps_the_writing_end);
	close(ends[1]);
	ready();
	exit(read(ends[0], &byte, 1) != 1);
}

static void keeps_one_socket(void)
{
	close(ends[0]);
}

static void from_socket(void)
{
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	child(keeps_one_socket);
	close(ends[1]);
	ready();
	exit(recv(ends[0], &byte, 1, 0) != 1);
}

static void locks_the_record(void)
{
	struct flock all = { .l_type = F_WRLCK };

	fcntl(ends[0], F_SETLKW, &all);
}

static void of_record(void)
{
	ends[0] = file();
	child(locks_the_record);
	ready();
	locks_the_record();
}

static void locks_the_file(void)
{
	char path[32];

	/* Opened anew, so that the lock is another one. */
	snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
	flock(open(path, O_RDWR), LOCK_EX);
}

static void of_file(void)
{
	ends[0] = file();
	child(locks_the_file);
	ready();
	flock(ends[0], LOCK_EX);
}

static void for_child(void)
{
	child(NULL);
	ready();
	wait(NULL);
}

static void for_started(void)
{
	ready();
	if (vfork() == 0) {
		sleep(1000);
		_exit(0);
	}
}

static void by_poll(void)
{
	struct pollfd polled = { .events = POLLIN };

	if (pipe(ends))
		exit(1);
	child(keeps_the_writing_end);
	polled.fd = ends[0];
	ready();
	poll(&polled, 1, -1);
}

static void by_select(void)
{
	fd_set set;

	if (pipe(ends))
		exit(1);
	child(keeps_the_writing_end);
	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	ready();
	select(ends[0] + 1, &set, NULL, NULL, NULL);
}

static void by_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int descriptor = epoll_create1(0);

	if (pipe(ends) || epoll_ctl(descriptor, EPOLL_CTL_ADD, ends[0], &event))
		exit(1);
	ready();
	/* It fails after a stop. */
	while (epoll_wait(descriptor, &event, 1, -1) < 0)
		;
}

/* A wait inside a signal's handler: the stack goes on below it. */
static __attribute__((noinline)) void handler(int signal)
{
	(void)signal;
	ready();
	sem_wait(&never);
}

static __attribute__((noinline)) void interrupted(void)
{
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void waits_for_ever(void)
{
	ready();
	sem_wait(&never);
	__asm__ volatile("" ::: "memory");
}

#ifdef __x86_64__
/* Code that a program makes: push %rbp; mov %rsp,%rbp; call *%rdi; ... */
static void generated(int is_listed)
{
	static const unsigned char code[] = {
		0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3,
	};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char name[64];
	FILE *list;

	memcpy(page, code, sizeof code);
	snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
	if (is_listed && (list = fopen(name, "w"))) {
		fprintf(list, "%lx %zx made_by_hand\n", (unsigned long)page,
			sizeof code);
		fclose(list);
	}
	((void (*)(void (*)(void)))page)(waits_for_ever);
}
#else
static void generated(int is_listed)
{
	(void)is_listed;
	waits_for_ever();
}
#endif

static void listed(void)
{
	generated(1);
}

static void unlisted(void)
{
	generated(0);
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} programs[] = {
		{ "moved", moved },
		{ "recursive", recursive },
		{ "gil", with_the_gil },
		{ "busy-gil", busy_with_the_gil },
		{ "pipe", from_pipe },
		{ "socket", from_socket },
		{ "record", of_record },
		{ "file", of_file },
		{ "child", for_child },
		{ "started", for_started },
		{ "poll", by_poll },
		{ "select", by_select },
		{ "epoll", by_epoll },
		{ "signal", interrupted },
		{ "listed", listed },
		{ "unlisted", unlisted },
	};

	for (size_t at = 0; at < sizeof programs / sizeof *programs; at++)
		if (count > 1 && !strcmp(arguments[1], programs[at].name))
			programs[at].run();
	return 2;
}
