/* What furwock.h promises, call by call. */
#include "harness.h"

#include <furwock.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/resource.h>

#define PRIVATE(op) ((op) | FUTEX_PRIVATE_FLAG)
#define NUMBER(n) ((const struct timespec *)(uintptr_t)(n))
#define FOREVER ((const furwock_deadline *)NULL)

/* A call that has to fail as a system call does. */
#define CHECK_ERRNO(call, wanted)					\
	do {								\
		errno = 0;						\
		CHECK_EQ(call, -1);					\
		CHECK_EQ(errno, wanted);				\
	} while (0)

static long wake32(uint32_t *word, uint32_t count)
{
	return furwock_futex(word, PRIVATE(FUTEX_WAKE), count, NULL, NULL, 0);
}

static long wait32(uint32_t *word, uint32_t value, const struct timespec *timeout)
{
	return furwock_futex(word, PRIVATE(FUTEX_WAIT), value, timeout, NULL, 0);
}

static furwock_deadline past(void)
{
	return (furwock_deadline){ .clock = CLOCK_MONOTONIC };
}

/* A waiter by futex(2)'s call: the result, or minus the errno. */
static void *futex_waiter(void *word)
{
	long result = wait32(word, 0, NULL);

	return (void *)(intptr_t)(result < 0 ? -errno : result);
}

static void *typed_waiter(void *word)
{
	return (void *)(intptr_t)furwock_wait32(word, 0, FOREVER);
}

TEST(futex_wait__a_mismatch_is_eagain)
{
	uint32_t word = 1;

	CHECK_ERRNO(wait32(&word, 0, NULL), EAGAIN);
}

TEST(futex_wait__a_deadline_is_etimedout)
{
	struct timespec soon = { .tv_nsec = NS_PER_MS }, past = { .tv_sec = 1 };
	uint32_t word = 0;

	CHECK_ERRNO(wait32(&word, 0, &soon), ETIMEDOUT);
	CHECK_ERRNO(furwock_futex(&word, PRIVATE(FUTEX_WAIT_BITSET), 0, &past,
				  NULL, ~0u), ETIMEDOUT);
	CHECK_ERRNO(furwock_futex(&word, PRIVATE(FUTEX_WAIT_BITSET) |
				  FUTEX_CLOCK_REALTIME, 0, &past, NULL, ~0u),
		    ETIMEDOUT);
}

static void on_signal(int signal UNUSED)
{
}

static void handle_sigusr1(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	sigemptyset(&action.sa_mask);
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
}

TEST(futex_wait__a_signal_is_eintr)
{
	uint32_t word = 0;
	struct thread waiter;

	handle_sigusr1(0);
	start_asleep(&waiter, futex_waiter, &word);
	OK(pthread_kill(waiter.pthread, SIGUSR1));
	CHECK_EQ((intptr_t)join(&waiter), -EINTR);
	CHECK_EQ(wake32(&word, 1), 0);
}

static void check_waits_on(void *(*wait)(void *))
{
	uint32_t word = 0;
	struct thread waiter;

	start_asleep(&waiter, wait, &word);
	OK(pthread_kill(waiter.pthread, SIGUSR1));
	until_asleep(&waiter);
	CHECK_EQ(furwock_wake(&word, 1), 1);
	CHECK_EQ((intptr_t)join(&waiter), 0);
}

TEST(futex_wait__sa_restart_waits_on)
{
	handle_sigusr1(SA_RESTART);
	check_waits_on(futex_waiter);
}

TEST(wait__a_signal_does_not_end_it)
{
	handle_sigusr1(0);
	check_waits_on(typed_waiter);
}

TEST(futex__a_bad_address_is_efault)
{
	long page = sysconf(_SC_PAGESIZE);
	char *gone = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	uint32_t word = 0;

	CHECK(gone != MAP_FAILED);
	CHECK_ERRNO(wait32((uint32_t *)gone, 0, NULL), EFAULT);
	CHECK_ERRNO(wait32(NULL, 0, NULL), EFAULT);
	CHECK_ERRNO(wait32(&word, 0, (struct timespec *)gone), EFAULT);
	CHECK_ERRNO(furwock_waitv((struct futex_waitv *)gone, 1, 0, NULL, 0),
		    EFAULT);
	munmap(gone, page);
	CHECK_ERRNO(wait32((uint32_t *)gone, 0, NULL), EFAULT);
}

TEST(futex__what_is_malformed_is_einval)
{
	struct timespec bad = { .tv_nsec = NS_PER_S }, negative = { .tv_sec = -1 };
	_Alignas(8) uint32_t words[2] = { 0 };
	uint32_t *crooked = (uint32_t *)((char *)words + 2);

	CHECK_ERRNO(wait32(crooked, 0, NULL), EINVAL);
	CHECK_ERRNO(wake32(crooked, 1), EINVAL);
	CHECK_ERRNO(wait32(words, 0, &bad), EINVAL);
	CHECK_ERRNO(wait32(words, 0, &negative), EINVAL);
	CHECK_ERRNO(furwock_futex(words, PRIVATE(FUTEX_WAIT_BITSET), 0, NULL,
				  NULL, 0), EINVAL);
	CHECK_ERRNO(furwock_futex(words, PRIVATE(FUTEX_WAKE_BITSET), 1, NULL,
				  NULL, 0), EINVAL);
	CHECK_ERRNO(furwock_futex(words, PRIVATE(FUTEX_CMP_REQUEUE), -1, NULL,
				  words + 1, 0), EINVAL);
}

TEST(futex__an_unknown_operation_is_enosys)
{
	uint32_t word = 0;

	CHECK_ERRNO(furwock_futex(&word, PRIVATE(99), 0, NULL, NULL, 0), ENOSYS);
	CHECK_ERRNO(furwock_futex(&word, 99, 0, NULL, NULL, 0), ENOSYS);
}

TEST(futex__success_leaves_errno_alone)
{
	uint32_t word = 0;

	errno = ERANGE;
	CHECK_EQ(wake32(&word, 1), 0);
	CHECK_EQ(errno, ERANGE);
}

TEST(futex_wake__counts_whom_it_woke)
{
	struct thread waiters[5];
	uint32_t word = 0;
	int i;

	for (i = 0; i < 5; i++) {
		start_asleep(&waiters[i],
			     i % 2 ? typed_waiter : futex_waiter, &word);
	}
	CHECK_EQ(wake32(&word, 2), 2);
	CHECK_EQ(furwock_wake(&word, 1), 1);
	CHECK_EQ(wake32(&word, INT_MAX), 2);
	CHECK_EQ(wake32(&word, INT_MAX), 0);
	for (i = 0; i < 5; i++)
		CHECK_EQ((intptr_t)join(&waiters[i]), 0);
}

TEST(futex_requeue__counts_woken_and_moved)
{
	struct thread waiters[4];
	uint32_t from = 0, to = 0;
	int i;

	for (i = 0; i < 4; i++) {
		start_asleep(&waiters[i], futex_waiter, &from);
	}
	CHECK_ERRNO(furwock_futex(&from, PRIVATE(FUTEX_CMP_REQUEUE), 1,
				  NUMBER(2), &to, 7), EAGAIN);
	CHECK_EQ(furwock_futex(&from, PRIVATE(FUTEX_CMP_REQUEUE), 1, NUMBER(2),
			       &to, 0), 3);
	CHECK_EQ(wake32(&from, INT_MAX), 1);
	CHECK_EQ(wake32(&to, INT_MAX), 2);
	for (i = 0; i < 4; i++)
		CHECK_EQ((intptr_t)join(&waiters[i]), 0);
}

TEST(futex_wake_op__changes_and_wakes_both)
{
	struct thread waiters[2];
	uint32_t first = 0, second = 0;

	start(&waiters[0], futex_waiter, &first);
	start(&waiters[1], futex_waiter, &second);
	until_asleep(&waiters[0]);
	until_asleep(&waiters[1]);
	CHECK_EQ(furwock_futex(&first, PRIVATE(FUTEX_WAKE_OP), 1, NUMBER(1),
			       &second, FUTEX_OP(FUTEX_OP_ADD, 5,
						 FUTEX_OP_CMP_EQ, 0)), 2);
	CHECK_EQ(second, 5);
	join(&waiters[0]);
	join(&waiters[1]);
}

/* A shared word is the kernel's: the system call itself wakes furwock's waiters. */
TEST(futex__shared_words_go_to_the_kernel)
{
	uint32_t *word = shared_memory(sizeof(*word));
	pid_t child = fork_watched();

	if (child == 0)
		_exit(furwock_futex(word, FUTEX_WAIT, 0, NULL, NULL, 0) != 0);
	UNTIL(syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0) == 1);
	REAP(child);
}

enum { MANY = 1000 };

struct many {
	_Alignas(8) uint32_t words[MANY];
	struct futex_waitv waiters[MANY];
};

static void *waitv_waiter(void *argument)
{
	struct many *many = argument;

	return (void *)furwock_waitv(many->waiters, MANY, 0, NULL, 0);
}

TEST(waitv__has_no_cap)
{
	struct many *many = calloc(1, sizeof(*many));
	struct thread waiter;
	int i;

	CHECK(many);
	for (i = 0; i < MANY; i++)
		many->waiters[i] = (struct futex_waitv){
			.uaddr = (uintptr_t)&many->words[i],
			.flags = FUTEX2_SIZE_U32 | FUTEX2_PRIVATE,
		};
	start_asleep(&waiter, waitv_waiter, many);
	CHECK_EQ(wake32(&many->words[777], 1), 1);
	CHECK_EQ((intptr_t)join(&waiter), 777);
	CHECK_EQ(wake32(&many->words[778], 1), 0);
	free(many);
}

TEST(waitv__every_width)
{
	static const uint32_t sizes[] = {
		FUTEX2_SIZE_U8, FUTEX2_SIZE_U16, FUTEX2_SIZE_U32,
		FUTEX2_SIZE_U64,
	};
	struct timespec soon = in_ms(CLOCK_MONOTONIC, 2);
	uint64_t word = ~0ull;
	size_t i;

	for (i = 0; i < 4; i++) {
		struct futex_waitv one = {
			.val = ~0ull >> (64 - (8 << i)),
			.uaddr = (uintptr_t)&word,
			.flags = sizes[i] | FUTEX2_PRIVATE,
		};

		CHECK_ERRNO(furwock_waitv(&one, 1, 0, &soon, CLOCK_MONOTONIC),
			    ETIMEDOUT);
		one.val--;
		CHECK_ERRNO(furwock_waitv(&one, 1, 0, &soon, CLOCK_MONOTONIC),
			    EAGAIN);
	}
}

TEST(waitv__what_is_malformed_is_refused)
{
	uint32_t word = 0;
	struct futex_waitv one = {
		.uaddr = (uintptr_t)&word,
		.flags = FUTEX2_SIZE_U32 | FUTEX2_PRIVATE,
	};

	CHECK_ERRNO(furwock_waitv(&one, 1, 1, NULL, 0), EINVAL);
	CHECK_ERRNO(furwock_waitv(&one, 0, 0, NULL, 0), EINVAL);
	CHECK_ERRNO(furwock_waitv(NULL, 1, 0, NULL, 0), EINVAL);
	one.val = 1ull << 32;
	CHECK_ERRNO(furwock_waitv(&one, 1, 0, NULL, 0), EINVAL);
}

/* The kernel takes crooked pointers to what is no futex word. */
TEST(futex__pointers_need_no_alignment)
{
	char bytes[2 * sizeof(struct futex_waitv)] = { 0 };
	struct timespec soon = { .tv_nsec = NS_PER_MS };
	uint32_t word = 0;
	struct futex_waitv one = {
		.val = 1,
		.uaddr = (uintptr_t)&word,
		.flags = FUTEX2_SIZE_U32 | FUTEX2_PRIVATE,
	};

	memcpy(bytes + 1, &soon, sizeof(soon));
	CHECK_ERRNO(wait32(&word, 0, (void *)(bytes + 1)), ETIMEDOUT);
	memcpy(bytes + 3, &one, sizeof(one));
	CHECK_ERRNO(furwock_waitv((void *)(bytes + 3), 1, 0, NULL, 0), EAGAIN);
}

TEST(waitv__shared_words_go_to_the_kernel)
{
	uint32_t *word = shared_memory(sizeof(*word));
	struct futex_waitv one = {
		.val = 1, .uaddr = (uintptr_t)word, .flags = FUTEX2_SIZE_U32,
	};

	errno = 0;
	CHECK_EQ(furwock_waitv(&one, 1, 0, NULL, 0), -1);
	if (errno == ENOSYS)
		SKIP("a kernel without futex_waitv");
	CHECK_EQ(errno, EAGAIN);
	one.flags = FUTEX2_SIZE_U64;
	CHECK_ERRNO(furwock_waitv(&one, 1, 0, NULL, 0), EINVAL);
}

static void *waitv_one(void *word)
{
	struct futex_waitv one = {
		.uaddr = (uintptr_t)word, .flags = FUTEX2_SIZE_U64 | FUTEX2_PRIVATE,
	};
	long result = furwock_waitv(&one, 1, 0, NULL, 0);

	return (void *)(intptr_t)(result < 0 ? -errno : result);
}

TEST(waitv__a_signal_is_eintr)
{
	struct thread waiter;
	uint64_t word = 0;

	handle_sigusr1(0);
	start_asleep(&waiter, waitv_one, &word);
	OK(pthread_kill(waiter.pthread, SIGUSR1));
	CHECK_EQ((intptr_t)join(&waiter), -EINTR);
	start_asleep(&waiter, waitv_one, &word);
	CHECK_EQ(furwock_wake(&word, 2), 1);
	CHECK_EQ((intptr_t)join(&waiter), 0);
}

TEST(wait__every_width)
{
	furwock_deadline over = past();
	uint64_t word = ~0ull;
	void *pointer = &word;

	OK(furwock_wake(&word, SIZE_MAX));
	CHECK_ERR(furwock_wait8(&word, 0xff, &over), ETIMEDOUT);
	CHECK_ERR(furwock_wait16(&word, 0xffff, &over), ETIMEDOUT);
	CHECK_ERR(furwock_wait32(&word, ~0u, &over), ETIMEDOUT);
	CHECK_ERR(furwock_wait64(&word, ~0ull, &over), ETIMEDOUT);
	CHECK_ERR(furwock_wait_pointer(&pointer, &word, &over), ETIMEDOUT);
	CHECK_ERR(furwock_wait8(&word, 1, FOREVER), EAGAIN);
	CHECK_ERR(furwock_wait16(&word, 1, FOREVER), EAGAIN);
	CHECK_ERR(furwock_wait32(&word, 1, FOREVER), EAGAIN);
	CHECK_ERR(furwock_wait64(&word, ~0u, FOREVER), EAGAIN);
	CHECK_ERR(furwock_wait_pointer(&pointer, NULL, FOREVER), EAGAIN);
}

TEST(wait__what_is_malformed_is_einval)
{
	furwock_deadline bad = past();
	_Alignas(8) char bytes[16] = { 0 };

	CHECK_ERR(furwock_wait8(NULL, 0, FOREVER), EINVAL);
	CHECK_ERR(furwock_wait16(bytes + 1, 0, FOREVER), EINVAL);
	CHECK_ERR(furwock_wait32(bytes + 2, 0, FOREVER), EINVAL);
	CHECK_ERR(furwock_wait64(bytes + 4, 0, FOREVER), EINVAL);
	CHECK_ERR(furwock_wait_pointer(bytes + 4, NULL, FOREVER), EINVAL);
	CHECK_ERR(furwock_wait_bitset(bytes, 3, 0, 1, FOREVER), EINVAL);
	CHECK_ERR(furwock_wait_bitset(bytes, 0, 0, 1, FOREVER), EINVAL);
	CHECK_ERR(furwock_wait_bitset(bytes, 1, 256, 1, FOREVER), EINVAL);
	CHECK_ERR(furwock_wait_bitset(bytes, 8, 0, 0, FOREVER), EINVAL);
	bad.clock = CLOCK_PROCESS_CPUTIME_ID;
	CHECK_ERR(furwock_wait32(bytes, 0, &bad), EINVAL);
	bad = past();
	bad.at.tv_nsec = NS_PER_S;
	CHECK_ERR(furwock_wait32(bytes, 0, &bad), EINVAL);
	bad.at.tv_nsec = -1;
	CHECK_ERR(furwock_wait32(bytes, 0, &bad), EINVAL);
	/* Before the clock's zero: malformed to the kernel, passed to pthread and here. */
	bad.at = (struct timespec){ .tv_sec = -1 };
	CHECK_ERR(furwock_wait32(bytes, 0, &bad), ETIMEDOUT);
}

TEST(wake__an_address_is_enough)
{
	CHECK_EQ(furwock_wake(NULL, 1), 0);
	CHECK_EQ(furwock_wake((void *)1, 1), 0);
	CHECK_EQ(furwock_wake_bitset((void *)64, SIZE_MAX, ~0u), 0);
}

static void *bitset_waiter(void *word)
{
	return (void *)(intptr_t)furwock_wait_bitset(word, 8, 0, 2, FOREVER);
}

TEST(wake_bitset__passes_over_who_has_no_bit_in_common)
{
	struct thread waiter;
	uint64_t word = 0;

	start_asleep(&waiter, bitset_waiter, &word);
	CHECK_EQ(furwock_wake_bitset(&word, 1, 1), 0);
	CHECK_EQ(furwock_wake_bitset(&word, 1, 0), 0);
	CHECK_EQ(furwock_wake_bitset(&word, 1, 6), 1);
	CHECK_EQ((intptr_t)join(&waiter), 0);
}

TEST(requeue__counts_woken_and_moved)
{
	furwock_requeued done = { 9, 9 };
	struct thread waiters[3];
	uint64_t to = 0;
	uint32_t from = 0;
	int i;

	for (i = 0; i < 3; i++) {
		start_asleep(&waiters[i], typed_waiter, &from);
	}
	CHECK_ERR(furwock_compare_requeue(&from, 4, 1, &to, 1, 1, &done), EAGAIN);
	CHECK_ERR(furwock_compare_requeue(&from, 5, 0, &to, 1, 1, &done), EINVAL);
	CHECK_ERR(furwock_compare_requeue(&from, 2, 1 << 16, &to, 1, 1, &done),
		  EINVAL);
	CHECK_ERR(furwock_requeue(&from, NULL, 1, 1, &done), EINVAL);
	CHECK_EQ(done.woken + done.moved, 18);
	OK(furwock_compare_requeue(&from, 4, 0, &to, 1, 1, &done));
	CHECK_EQ(done.woken, 1);
	CHECK_EQ(done.moved, 1);
	OK(furwock_requeue(&from, &to, 0, SIZE_MAX, NULL));
	CHECK_EQ(furwock_wake(&to, SIZE_MAX), 2);
	for (i = 0; i < 3; i++)
		CHECK_EQ((intptr_t)join(&waiters[i]), 0);
}

struct mixed {
	uint64_t wide;
	uint8_t narrow;
	furwock_registration *registration;
	size_t index;
};

static void *any_waiter(void *argument)
{
	struct mixed *mixed = argument;
	furwock_expected words[] = {
		{ .word = &mixed->wide, .size = 8, .value = 1ull << 40 },
		{ .word = &mixed->narrow, .size = 1 },
	};

	return (void *)(intptr_t)furwock_wait_any(words, 2, FOREVER,
						  &mixed->index);
}

TEST(wait_any__tells_which)
{
	struct mixed mixed = { .wide = 1ull << 40, .index = 7 };
	furwock_deadline over = past();
	furwock_expected odd = { .word = &mixed.wide };
	struct thread waiter;

	start_asleep(&waiter, any_waiter, &mixed);
	CHECK_EQ(furwock_wake(&mixed.narrow, 1), 1);
	CHECK_EQ((intptr_t)join(&waiter), 0);
	CHECK_EQ(mixed.index, 1);

	mixed.wide = 0;
	CHECK_EQ((intptr_t)any_waiter(&mixed), EAGAIN);
	CHECK_EQ(mixed.index, 0);
	CHECK_ERR(furwock_wait_any(NULL, 0, &over, NULL), ETIMEDOUT);
	CHECK_ERR(furwock_wait_any(NULL, 0, FOREVER, NULL), EINVAL);
	CHECK_ERR(furwock_wait_any(NULL, 1, FOREVER, NULL), EINVAL);
	CHECK_ERR(furwock_wait_any(&odd, 1, FOREVER, NULL), EINVAL);
	CHECK_ERR(furwock_wait_any(&odd, SIZE_MAX / 2, FOREVER, NULL), ENOMEM);
}

static void *registered_waiter(void *argument)
{
	struct mixed *mixed = argument;

	return (void *)(intptr_t)furwock_registration_wait(
		mixed->registration, FOREVER, &mixed->index);
}

TEST(registration__serves_wait_after_wait)
{
	struct mixed mixed = { .index = 7 };
	furwock_expected words[] = {
		{ .word = &mixed.wide, .size = 8 },
		{ .word = &mixed.narrow, .size = 1 },
	};
	furwock_deadline over = past();
	struct thread waiter;
	int i;

	OK(furwock_register(words, 2, &mixed.registration));
	for (i = 0; i < 3; i++) {
		start_asleep(&waiter, registered_waiter, &mixed);
		CHECK_EQ(furwock_wake(i % 2 ? &mixed.narrow : (void *)&mixed.wide,
				      SIZE_MAX), 1);
		CHECK_EQ((intptr_t)join(&waiter), 0);
		CHECK_EQ(mixed.index, i % 2);
	}
	CHECK_EQ(furwock_wake(&mixed.wide, 1), 0);
	mixed.narrow = 255;
	CHECK_EQ((intptr_t)registered_waiter(&mixed), EAGAIN);
	CHECK_EQ(mixed.index, 1);
	OK(furwock_registration_expect(mixed.registration, 1, 255));
	CHECK_ERR(furwock_registration_wait(mixed.registration, &over, NULL),
		  ETIMEDOUT);
	CHECK_ERR(furwock_registration_expect(mixed.registration, 1, 256), EINVAL);
	CHECK_ERR(furwock_registration_expect(mixed.registration, 2, 0), EINVAL);
	CHECK_ERR(furwock_registration_expect(NULL, 0, 0), EINVAL);
	CHECK_ERR(furwock_registration_wait(NULL, &over, NULL), EINVAL);
	furwock_registration_free(mixed.registration);
	furwock_registration_free(NULL);
	CHECK_EQ(furwock_wake(&mixed.wide, 1), 0);

	CHECK_ERR(furwock_register(words, 2, NULL), EINVAL);
	words[1].size = 16;
	CHECK_ERR(furwock_register(words, 2, &mixed.registration), EINVAL);
}

TEST(registration__gives_back_what_it_took)
{
	static uint32_t values[MANY];
	static furwock_expected words[MANY];
	furwock_registration *registration;
	long resident = 0;
	int i;

	for (i = 0; i < MANY; i++)
		words[i] = (furwock_expected){ .word = &values[i], .size = 4 };
	for (i = 0; i < 200; i++) {
		OK(furwock_register(words, MANY, &registration));
		furwock_registration_free(registration);
		if (i == 20)
			resident = resident_kb();
	}
	/* 180 times 1000 nodes would be tens of megabytes. */
	CHECK(resident_kb() - resident < 4096);
}

static bool is_readable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1 && poll_fd.revents == POLLIN;
}

TEST(wait_fd__polls_once_woken)
{
	furwock_waitfd *waitfd = NULL;
	uint16_t word = 3;

	CHECK_ERR(furwock_wait_fd(&word, 2, 4, &waitfd), EAGAIN);
	CHECK_ERR(furwock_wait_fd(&word, 2, 3, NULL), EINVAL);
	CHECK_ERR(furwock_wait_fd((char *)&word + 1, 2, 3, &waitfd), EINVAL);
	CHECK(!waitfd);
	OK(furwock_wait_fd(&word, 2, 3, &waitfd));
	CHECK(!is_readable(furwock_waitfd_fd(waitfd)));
	CHECK_ERR(furwock_waitfd_woken(waitfd), EAGAIN);
	CHECK_EQ(furwock_wake(&word, 5), 1);
	CHECK(is_readable(furwock_waitfd_fd(waitfd)));
	OK(furwock_waitfd_woken(waitfd));
	OK(furwock_waitfd_woken(waitfd));
	furwock_waitfd_close(waitfd);
	furwock_waitfd_close(NULL);
	CHECK_EQ(furwock_waitfd_fd(NULL), -1);
	CHECK_ERR(furwock_waitfd_woken(NULL), EBADF);
	CHECK_EQ(furwock_wake(&word, 5), 0);
}

TEST(wait_fd__an_unused_wake_goes_on)
{
	furwock_waitfd *first, *second;
	uint32_t word = 0;

	OK(furwock_wait_fd(&word, 4, 0, &first));
	OK(furwock_wait_fd(&word, 4, 0, &second));
	CHECK_EQ(furwock_wake(&word, 1), 1);
	furwock_waitfd_close(first);
	OK(furwock_waitfd_woken(second));
	furwock_waitfd_close(second);
}

TEST(wait_fd__out_of_descriptors_is_emfile)
{
	struct rlimit none_more = { .rlim_cur = 0 };
	furwock_waitfd *waitfd;
	uint32_t word = 0;

	CHECK(setrlimit(RLIMIT_NOFILE, &none_more) == 0);
	CHECK_ERR(furwock_wait_fd(&word, 4, 0, &waitfd), EMFILE);
	CHECK_EQ(furwock_wake(&word, 1), 0);
}

static furwock_mutex mutex = FURWOCK_MUTEX_INIT;
static furwock_condvar condvar = FURWOCK_CONDVAR_INIT;
static int counter;

static void *contend_for_mutex(void *unused)
{
	furwock_deadline soon = furwock_after_ns(NS_PER_MS);

	CHECK(furwock_mutex_is_locked(&mutex));
	CHECK_ERR(furwock_mutex_trylock(&mutex), EBUSY);
	CHECK_ERR(furwock_mutex_lock_until(&mutex, &soon), ETIMEDOUT);
	return unused;
}

TEST(mutex__locks_tries_and_times_out)
{
	furwock_deadline over = past(), bad = past();
	struct thread other;

	bad.at.tv_nsec = -1;
	CHECK_EQ(furwock_mutex_owner(&mutex), 0);
	OK(furwock_mutex_lock(&mutex));
	CHECK_EQ(furwock_mutex_owner(&mutex), gettid());
	start(&other, contend_for_mutex, NULL);
	join(&other);
	OK(furwock_mutex_unlock(&mutex));
	CHECK(!furwock_mutex_is_locked(&mutex));
	OK(furwock_mutex_lock_until(&mutex, &over));
	OK(furwock_mutex_unlock(&mutex));
	OK(furwock_mutex_lock_until(&mutex, FOREVER));
	OK(furwock_mutex_unlock(&mutex));
	OK(furwock_mutex_trylock(&mutex));
	OK(furwock_mutex_unlock(&mutex));
	CHECK_ERR(furwock_mutex_lock_until(&mutex, &bad), EINVAL);
	CHECK_ERR(furwock_mutex_lock(NULL), EINVAL);
	CHECK_ERR(furwock_mutex_trylock((furwock_mutex *)2), EINVAL);
	CHECK_ERR(furwock_mutex_unlock(NULL), EINVAL);
	CHECK_EQ(furwock_mutex_owner(NULL), 0);
	CHECK(!furwock_mutex_is_locked(NULL));
	CHECK_EQ(sizeof(mutex), 4);
	CHECK_EQ(sizeof(condvar), 4);
}

static void *count(void *unused)
{
	int i;

	for (i = 0; i < 20000; i++) {
		OK(furwock_mutex_lock(&mutex));
		counter++;
		OK(furwock_mutex_unlock(&mutex));
	}
	return unused;
}

TEST(mutex__excludes)
{
	struct thread threads[4];

	start_all(threads, 4, count, NULL);
	join_all(threads, 4);
	CHECK_EQ(counter, 80000);
	CHECK_EQ(mutex.word, 0);
}

/* Waits until the counter is positive, and takes one off. */
static void *take_one(void *unused)
{
	OK(furwock_mutex_lock(&mutex));
	while (counter == 0)
		OK(furwock_condvar_wait(&condvar, &mutex));
	counter--;
	CHECK_EQ(furwock_mutex_owner(&mutex), gettid());
	OK(furwock_mutex_unlock(&mutex));
	return unused;
}

TEST(condvar__signals_and_broadcasts)
{
	struct thread threads[6];
	int i;

	for (i = 0; i < 6; i++) {
		start_asleep(&threads[i], take_one, NULL);
	}
	OK(furwock_mutex_lock(&mutex));
	counter = 1;
	OK(furwock_condvar_signal(&condvar));
	OK(furwock_mutex_unlock(&mutex));
	join(&threads[0]);
	OK(furwock_mutex_lock(&mutex));
	counter = 5;
	OK(furwock_condvar_broadcast(&condvar));
	OK(furwock_mutex_unlock(&mutex));
	for (i = 1; i < 6; i++)
		join(&threads[i]);
	CHECK_EQ(counter, 0);
	OK(furwock_condvar_signal(&condvar));
	OK(furwock_condvar_broadcast(&condvar));
}

TEST(condvar__times_out_with_the_mutex_held)
{
	furwock_deadline soon, bad = past();

	bad.clock = -7;
	CHECK_ERR(furwock_condvar_wait(&condvar, &mutex), EPERM);
	OK(furwock_mutex_lock(&mutex));
	soon = furwock_after_ns(NS_PER_MS);
	CHECK_ERR(furwock_condvar_wait_until(&condvar, &mutex, &soon), ETIMEDOUT);
	CHECK_EQ(furwock_mutex_owner(&mutex), gettid());
	CHECK_ERR(furwock_condvar_wait_until(&condvar, &mutex, &bad), EINVAL);
	CHECK_ERR(furwock_condvar_wait(NULL, &mutex), EINVAL);
	CHECK_ERR(furwock_condvar_wait(&condvar, NULL), EINVAL);
	CHECK_ERR(furwock_condvar_signal(NULL), EINVAL);
	CHECK_ERR(furwock_condvar_broadcast((furwock_condvar *)1), EINVAL);
	CHECK_EQ(furwock_mutex_owner(&mutex), gettid());
	OK(furwock_mutex_unlock(&mutex));
}

TEST(after_ns__lies_ahead)
{
	int64_t before = now_ns(CLOCK_MONOTONIC);
	furwock_deadline at = furwock_after_ns(1999999999);
	int64_t ns = ns_of(&at.at);

	CHECK_EQ(at.clock, CLOCK_MONOTONIC);
	CHECK(at.at.tv_nsec >= 0 && at.at.tv_nsec < NS_PER_S);
	CHECK(ns >= before + 1999999999);
	CHECK(ns <= now_ns(CLOCK_MONOTONIC) + 1999999999);
	at = furwock_after_ns(UINT64_MAX);
	CHECK(at.at.tv_sec > before / NS_PER_S + 18000000000);
}

TEST(fork__the_child_starts_afresh)
{
	struct thread waiter;
	uint32_t word = 0;
	pid_t child;

	furwock_prepare();
	start_asleep(&waiter, typed_waiter, &word);
	OK(furwock_mutex_lock(&mutex));
	child = fork_watched();
	OK(furwock_mutex_unlock(&mutex));
	if (child == 0) {
		struct thread own;

		CHECK_EQ(furwock_wake(&word, 1), 0);
		start_asleep(&own, typed_waiter, &word);
		CHECK_EQ(furwock_wake(&word, 2), 1);
		join(&own);
		_exit(0);
	}
	REAP(child);
	CHECK_EQ(furwock_wake(&word, 2), 1);
	join(&waiter);
}

/* ----------------------------------------------------------- nonsense -- */

static char *addresses[12];
static uint32_t state;

static uint32_t any(uint32_t below)
{
	return next_random(&state) % below;
}

static void *any_address(void)
{
	return addresses[any(sizeof(addresses) / sizeof(addresses[0]))];
}

static uint32_t any_value(void)
{
	const uint32_t values[] = { 0, 1, ~0u, 1u << 31, INT_MAX, any(~0u) };

	return values[any(6)];
}

static struct timespec any_time(void)
{
	static const struct timespec times[] = {
		{ 0, 1000 },	   { -1, 0 }, { 0, -1 }, { 0, NS_PER_S },
		{ 0, 50000 },	   { 0, 0 },
	};

	return times[any(6)];
}

static void any_futex_call(void)
{
	/* No priority inheritance: the kernel's calls may wait for no thread. */
	static const int ops[] = { 0, 1, 2, 3, 4, 5, 9, 10, 14, 99 };
	int op = ops[any(10)] | (any(4) ? FUTEX_PRIVATE_FLAG : 0) |
		 (any(6) ? 0 : FUTEX_CLOCK_REALTIME);
	struct timespec time = any_time();
	bool waits = (op & FUTEX_CMD_MASK) == FUTEX_WAIT ||
		     (op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
	void *fourth = waits || any(2) ? (void *)&time : any_address();

	furwock_futex(any_address(), op, any_value(), fourth, any_address(),
		      any(~0u));
}

static void any_waitv_call(void)
{
	struct timespec time = any_time();
	struct futex_waitv waiters[4];
	int i;

	for (i = 0; i < 4; i++)
		waiters[i] = (struct futex_waitv){
			.val = any(3) ? 0 : (uint64_t)any(~0u) << 20,
			.uaddr = (uintptr_t)any_address(),
			.flags = any(2) ? FUTEX2_PRIVATE | any(4) : any(~0u),
			.__reserved = any(9) == 0,
		};
	furwock_waitv(any(5) ? waiters : any_address(), any(6), any(7) == 0,
		      &time, any(5));
}

/* Words that are there, or nowhere: these calls may read them. */
static void any_typed_call(char *bytes)
{
	furwock_deadline until = { .clock = any(5) - 1, .at = any_time() };
	furwock_registration *registration;
	furwock_expected words[3];
	furwock_requeued done;
	furwock_waitfd *waitfd;
	size_t index, i;

	for (i = 0; i < 3; i++)
		words[i] = (furwock_expected){
			.word = any(4) ? bytes + any(32) : NULL,
			.size = any(10),
			.value = any(3) ? 0 : any(300),
		};
	furwock_wait_any(words, any(4), &until, &index);
	furwock_wait_bitset(words[0].word, words[0].size, words[0].value,
			    any_value(), &until);
	furwock_wake_bitset(any_address(), any_value(), any_value());
	furwock_requeue(words[0].word, words[1].word, any_value(), any_value(),
			&done);
	furwock_compare_requeue(words[0].word, words[0].size, words[0].value,
				words[1].word, any_value(), any_value(), NULL);
	if (!furwock_register(words, any(4), &registration)) {
		furwock_registration_expect(registration, any(5), any_value());
		furwock_registration_wait(registration, &until, NULL);
		furwock_registration_free(registration);
	}
	if (!furwock_wait_fd(words[0].word, words[0].size, words[0].value,
			     &waitfd)) {
		furwock_wake(words[0].word, any(2));
		furwock_waitfd_woken(waitfd);
		furwock_waitfd_close(waitfd);
	}
}

/* The engine's layout for tools: furwock/src/inspect/layout.rs. */
extern const uint64_t furwock_inspect[26];

/* The name by which tools know the object; NULL if it has none. */
static const char *name_of(const void *object)
{
	const uint64_t *layout = furwock_inspect + 18;
	const char *table = *(const char *const *)(uintptr_t)layout[0];
	const uint64_t *objects = (const uint64_t *)(table + layout[2]);
	uint64_t i;

	for (i = 0; table && i < layout[1]; i++)
		if (objects[i] == (uintptr_t)object)
			return table + layout[3] + i * layout[4] + layout[5];
	return NULL;
}

TEST(name__tools_find_it)
{
	static furwock_mutex named = FURWOCK_MUTEX_INIT;
	static furwock_condvar filled = FURWOCK_CONDVAR_INIT;
	static furwock_rwlock settings = FURWOCK_RWLOCK_INIT;
	static const char not_utf8[] = { (char)0xff, 0 };
	char longest[200], text[] = "cache";

	CHECK(!name_of(&named));
	OK(furwock_mutex_name(&named, text));
	memset(text, 'x', sizeof(text) - 1);
	CHECK(!strcmp(name_of(&named), "cache"));
	OK(furwock_condvar_name(&filled, "filled"));
	OK(furwock_rwlock_name(&settings, "settings"));
	CHECK(!strcmp(name_of(&filled), "filled"));
	CHECK(!strcmp(name_of(&settings), "settings"));
	OK(furwock_mutex_lock(&named));
	OK(furwock_mutex_unlock(&named));

	memset(longest, 'y', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	OK(furwock_mutex_name(&named, longest));
	CHECK_EQ(strlen(name_of(&named)), 95);
	OK(furwock_mutex_name(&named, NULL));
	CHECK(!name_of(&named));
	OK(furwock_mutex_name(&named, NULL));
	OK(furwock_rwlock_destroy(&settings));
	CHECK(!name_of(&settings));
	CHECK_ERR(furwock_mutex_name(NULL, "none"), EINVAL);
	CHECK_ERR(furwock_condvar_name(NULL, "none"), EINVAL);
	CHECK_ERR(furwock_rwlock_name(NULL, "none"), EINVAL);
	CHECK_ERR(furwock_mutex_name(&named, not_utf8), EINVAL);
	CHECK(!name_of(&named));
}

/* An error number for each, and no abort. */
TEST(nonsense__is_refused)
{
	static _Alignas(8) char bytes[64];
	long page = sysconf(_SC_PAGESIZE);
	char *gone = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	char *read_only = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
	char *const some[] = {
		NULL, bytes, bytes + 1, bytes + 4, gone, gone + page - 2, read_only,
		(char *)-1, (char *)-4, (char *)(1ul << 47),
		(char *)((1ul << 47) - 8), (char *)8,
	};
	uint32_t seed = now_ns(CLOCK_REALTIME) | 1;
	int i;

	memcpy(addresses, some, sizeof(some));
	fprintf(stderr, "seed %u\n", seed);
	state = seed;
	for (i = 0; i < 5000; i++) {
		any_futex_call();
		any_waitv_call();
		any_typed_call(bytes);
		memset(bytes, 0, sizeof(bytes));
	}
}

static void *realtime_waiter(void *word)
{
	struct sched_param param = {
		.sched_priority = sched_get_priority_min(SCHED_FIFO),
	};
	int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);

	if (error == EPERM)
		SKIP("no privilege to have a priority");
	OK(error);
	return typed_waiter(word);
}

TEST(mind_priorities__the_most_urgent_is_woken_first)
{
	struct thread plain, realtime;
	uint32_t word = 0;

	furwock_prepare();
	furwock_mind_priorities();
	start_asleep(&plain, typed_waiter, &word);
	start_asleep(&realtime, realtime_waiter, &word);
	CHECK_EQ(furwock_wake(&word, 1), 1);
	join(&realtime);
	CHECK(is_asleep(plain.tid));
	CHECK_EQ(furwock_wake(&word, 1), 1);
	join(&plain);
}

RUN_TESTS()
