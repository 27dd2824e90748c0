/*
 * Sets a breakpoint on each of the preload's probes and prints which ones each call hits, with what
 * arguments. Each argument of the program is one probe: its name, where it is in the library's
 * file, and where its arguments are, with spaces between.
 */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { PROBES = 256, ARGUMENTS = 3, EVENTS = 64, NOP = 0x90, BREAK = 0xcc };

struct probe {
	const char *name;
	unsigned char *at;
	int count;
	int registers[ARGUMENTS];
};

struct event {
	const struct probe *probe;
	uintptr_t arguments[ARGUMENTS];
};

static struct probe probes[PROBES];
static int probe_count;
static struct event events[EVENTS];
static volatile int event_count;
static __thread volatile bool watched;

static void fail(const char *what, const char *which)
{
	fprintf(stderr, "%s: %s\n", which, what);
	exit(1);
}

/* ---------------------------------------------------------- breakpoints -- */

static int find_library(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	if (!strstr(info->dlpi_name, "furwock_preload"))
		return 0;
	*(uintptr_t *)base = info->dlpi_addr;
	return 1;
}

static int register_named(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} names[] = {
		{ "rax", REG_RAX }, { "rbx", REG_RBX }, { "rcx", REG_RCX },
		{ "rdx", REG_RDX }, { "rsi", REG_RSI }, { "rdi", REG_RDI },
		{ "rbp", REG_RBP }, { "r8", REG_R8 },	{ "r9", REG_R9 },
		{ "r10", REG_R10 }, { "r11", REG_R11 }, { "r12", REG_R12 },
		{ "r13", REG_R13 }, { "r14", REG_R14 }, { "r15", REG_R15 },
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].name, name))
			return names[i].number;
	fail("not a register of 64 bits", name);
	return -1;
}

static void set_breakpoint(char *text, uintptr_t base)
{
	struct probe *probe = &probes[probe_count++];
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	char *rest, *word;

	if (probe_count == PROBES)
		fail("too many probes", text);
	probe->name = strtok_r(text, " ", &rest);
	probe->at = (unsigned char *)(base + strtoul(strtok_r(NULL, " ", &rest), NULL, 0));
	while ((word = strtok_r(NULL, " ", &rest))) {
		if (strncmp(word, "-8@%", 4) || probe->count == ARGUMENTS)
			fail("arguments of an unknown form", word);
		probe->registers[probe->count++] = register_named(word + 4);
	}
	if (*probe->at != NOP)
		fail("no nop where its note says", probe->name);
	if (mprotect((void *)((uintptr_t)probe->at & -page), page,
		     PROT_READ | PROT_WRITE | PROT_EXEC))
		fail("can't be written", probe->name);
	*probe->at = BREAK;
}

/* Goes on behind the breakpoint, which took the place of a nop. */
static void hit(int signal, siginfo_t *info, void *context)
{
	const greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	unsigned char *at = (unsigned char *)registers[REG_RIP] - 1;
	struct event *event;
	int i, argument;

	(void)signal;
	(void)info;
	if (!watched)
		return;
	for (i = 0; i < probe_count; i++) {
		if (probes[i].at != at || event_count == EVENTS)
			continue;
		event = &events[event_count++];
		event->probe = &probes[i];
		for (argument = 0; argument < probes[i].count; argument++)
			event->arguments[argument] =
				(uintptr_t)registers[probes[i].registers[argument]];
		return;
	}
	abort();
}

/* ------------------------------------------------------------- the calls -- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t shared;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, shared_cond;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static const struct timespec past = { 1, 0 };
static volatile bool held;

static void print_argument(uintptr_t value)
{
	static const struct {
		const void *address;
		const char *name;
	} names[] = {
		{ &mutex, "mutex" }, { &recursive, "recursive" }, { &shared, "shared" },
		{ &cond, "cond" },   { &rwlock, "rwlock" },	  { &past, "past" },
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((uintptr_t)names[i].address == value) {
			printf("%s", names[i].name);
			return;
		}
	printf("%ld", (long)value);
}

static void print_events(const char *label)
{
	int i, argument;

	printf("%s:", label);
	for (i = 0; i < event_count; i++) {
		printf(" %s(", events[i].probe->name);
		for (argument = 0; argument < events[i].probe->count; argument++) {
			if (argument)
				printf(",");
			print_argument(events[i].arguments[argument]);
		}
		printf(")");
	}
	printf("\n");
}

#define WATCH(label, call)			\
	do {					\
		event_count = 0;		\
		watched = true;			\
		call;				\
		watched = false;		\
		print_events(label);		\
	} while (0)

static void *hold(void *nothing)
{
	const struct timespec a_while = { 0, 200000000 };

	pthread_mutex_lock(&mutex);
	held = true;
	nanosleep(&a_while, NULL);
	pthread_mutex_unlock(&mutex);
	return nothing;
}

static void make_shared(void)
{
	pthread_mutexattr_t mutexattr;
	pthread_condattr_t condattr;

	pthread_mutexattr_init(&mutexattr);
	pthread_mutexattr_setpshared(&mutexattr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared, &mutexattr);
	pthread_condattr_init(&condattr);
	pthread_condattr_setpshared(&condattr, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&shared_cond, &condattr);
}

static void call_all(void)
{
	pthread_t holder;

	make_shared();
	WATCH("lock", pthread_mutex_lock(&mutex));
	WATCH("unlock", pthread_mutex_unlock(&mutex));
	WATCH("trylock", pthread_mutex_trylock(&mutex));
	WATCH("timedlock fails", pthread_mutex_timedlock(&mutex, &past));
	pthread_mutex_unlock(&mutex);
	WATCH("timedlock", pthread_mutex_timedlock(&mutex, &past));
	pthread_mutex_unlock(&mutex);
	WATCH("clocklock", pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past));
	WATCH("cond_timedwait", pthread_cond_timedwait(&cond, &mutex, &past));
	pthread_mutex_unlock(&mutex);
	WATCH("recursive lock", pthread_mutex_lock(&recursive));
	WATCH("recursive lock again", pthread_mutex_lock(&recursive));
	WATCH("recursive unlock once", pthread_mutex_unlock(&recursive));
	WATCH("recursive unlock", pthread_mutex_unlock(&recursive));
	WATCH("shared lock", pthread_mutex_lock(&shared));
	WATCH("shared cond_timedwait",
	      pthread_cond_timedwait(&shared_cond, &shared, &past));
	WATCH("shared unlock", pthread_mutex_unlock(&shared));
	WATCH("shared cond_signal", pthread_cond_signal(&shared_cond));
	WATCH("cond_signal", pthread_cond_signal(&cond));
	WATCH("cond_broadcast", pthread_cond_broadcast(&cond));
	WATCH("cond_destroy", pthread_cond_destroy(&cond));
	WATCH("rdlock", pthread_rwlock_rdlock(&rwlock));
	WATCH("rd unlock", pthread_rwlock_unlock(&rwlock));
	WATCH("wrlock", pthread_rwlock_wrlock(&rwlock));
	WATCH("rdlock fails", pthread_rwlock_rdlock(&rwlock));
	WATCH("wr unlock", pthread_rwlock_unlock(&rwlock));
	WATCH("rwlock_destroy", pthread_rwlock_destroy(&rwlock));
	if (pthread_create(&holder, NULL, hold, NULL))
		fail("no thread", "hold");
	while (!held)
		usleep(1000);
	WATCH("contended lock", pthread_mutex_lock(&mutex));
	pthread_mutex_unlock(&mutex);
	pthread_join(holder, NULL);
	WATCH("mutex_destroy", pthread_mutex_destroy(&mutex));
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = hit, .sa_flags = SA_SIGINFO };
	uintptr_t base = 0;
	int i;

	alarm(20);
	if (!dl_iterate_phdr(find_library, &base))
		fail("isn't loaded", "the preload");
	sigaction(SIGTRAP, &action, NULL);
	for (i = 1; i < argc; i++)
		set_breakpoint(argv[i], base);
	call_all();
	return 0;
}
