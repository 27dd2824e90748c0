/* The operations of futex(2) and its successors on private words. */
#include "futex.h"

/* ------------------------------------------------------------- waiting -- */

TEST(futex_wait__looks_at_the_word)
{
	static word at = 7;
	struct timespec past = in_ms(CLOCK_MONOTONIC, -5);

	CHECK_EQ(futex(&at, FUTEX_WAIT | PRIVATE, 8, NULL, NULL, 0), -EAGAIN);
	CHECK_EQ(futex(&at, FUTEX_WAIT | PRIVATE, 8, &past, NULL, 0), -EAGAIN);
	CHECK_EQ(futex(&at, FUTEX_WAIT_BITSET | PRIVATE, 8, NULL, NULL, 1),
		 -EAGAIN);
	CHECK_EQ(futex(&at, FUTEX_WAIT_BITSET | PRIVATE, 7, &past, NULL, 1),
		 -ETIMEDOUT);
	CHECK_EQ(futex(&at, FUTEX_WAIT_BITSET | PRIVATE, 7, &past, NULL, 0),
		 -EINVAL);
	/* The high half of a register doesn't count. */
	CHECK_EQ(libc_call(SYS_futex, (long)&at, FUTEX_WAIT | PRIVATE | 1L << 40,
			   8 | 1L << 40, 0, 0, 0),
		 -EAGAIN);
	CHECK_EQ(at, 7);
}

TEST(futex_wait__times_out)
{
	static word at;
	struct timespec ms5 = { .tv_nsec = 5 * NS_PER_MS }, until;
	int64_t before = now_ns(CLOCK_MONOTONIC);

	CHECK_EQ(futex(&at, FUTEX_WAIT | PRIVATE, 0, &ms5, NULL, 0), -ETIMEDOUT);
	CHECK(now_ns(CLOCK_MONOTONIC) >= before + 5 * NS_PER_MS);
	until = in_ms(CLOCK_MONOTONIC, 5);
	CHECK_EQ(futex(&at, FUTEX_WAIT_BITSET | PRIVATE, 0, &until, NULL, ANY),
		 -ETIMEDOUT);
	CHECK(now_ns(CLOCK_MONOTONIC) >= ns_of(&until));
	until = in_ms(CLOCK_REALTIME, 5);
	CHECK_EQ(futex(&at, FUTEX_WAIT_BITSET | PRIVATE | REALTIME, 0, &until,
		       NULL, ANY),
		 -ETIMEDOUT);
	CHECK(now_ns(CLOCK_REALTIME) >= ns_of(&until));
}

/* A timeout that is longer than the clock counts. */
TEST(futex_wait__forever_and_a_day)
{
	static const struct timespec ages = { .tv_sec = INT64_MAX,
					      .tv_nsec = 999999999 };
	static const int ops[] = { FUTEX_WAIT, FUTEX_WAIT_BITSET,
				   FUTEX_WAIT_BITSET | REALTIME };
	struct waiter waiter;
	static word at;

	for (int i = 0; i < 3; i++) {
		start_call(&waiter, libc_call, SYS_futex, (long)&at,
			   ops[i] | PRIVATE, 0, (long)&ages, 0, ANY);
		CHECK_EQ(wake(&at, 1), 1);
		CHECK_EQ(finish(&waiter), 0);
	}
}

/* -------------------------------------------------------------- waking -- */

#define SOME 6

TEST(futex_wake__counts)
{
	struct waiter waiters[SOME];
	static word at, other;

	CHECK_EQ(wake(&at, 1), 0);
	CHECK_EQ(wake(&at, INT_MAX), 0);
	start_waits(waiters, SOME, &at);
	CHECK_EQ(wake(&other, INT_MAX), 0);
	/* The kernel counts a waiter after it has woken it. */
	CHECK_EQ(wake(&at, 0), 1);
	until_turns(1);
	CHECK_EQ(wake(&at, -1), 1);
	until_turns(2);
	CHECK_EQ(wake(&at, 2), 2);
	until_turns(4);
	CHECK_EQ(wake(&at, INT_MAX), 2);
	CHECK_EQ(wake(&at, INT_MAX), 0);
	finish_all(waiters, SOME);
}

TEST(futex_wake__in_order)
{
	struct waiter waiters[SOME];
	static word at;

	start_waits(waiters, SOME, &at);
	for (int i = 0; i < SOME; i++) {
		CHECK_EQ(wake(&at, 1), 1);
		until_turns(i + 1);
		CHECK_EQ(waiters[i].turn, i + 1);
		finish(&waiters[i]);
	}
}

TEST(futex_wake_bitset__those_with_a_bit_in_common)
{
	static const uint32_t bitsets[] = { 1, 2, 3, 1u << 31 };
	const int op = FUTEX_WAKE_BITSET | PRIVATE;
	struct waiter waiters[5];
	static word at;

	for (int i = 0; i < 4; i++)
		start_wait_for(&waiters[i], libc_call, &at, bitsets[i], NULL);
	start_wait(&waiters[4], libc_call, &at);
	CHECK_EQ(futex(&at, op, INT_MAX, NULL, NULL, 0), -EINVAL);
	/* A waiter without a bitset has all bits. */
	CHECK_EQ(futex(&at, op, INT_MAX, NULL, NULL, 4), 1);
	CHECK_EQ(finish(&waiters[4]), 0);
	CHECK_EQ(futex(&at, op, INT_MAX, NULL, NULL, 4), 0);
	CHECK_EQ(futex(&at, op, INT_MAX, NULL, NULL, 2), 2);
	CHECK_EQ(finish(&waiters[1]) | finish(&waiters[2]), 0);
	CHECK_EQ(futex(&at, op, 0, NULL, NULL, 1u << 31), 1);
	CHECK_EQ(finish(&waiters[3]), 0);
	CHECK_EQ(wake(&at, INT_MAX), 1);
	CHECK_EQ(finish(&waiters[0]), 0);
}

/* --------------------------------------------------------- requeueing -- */

static void check_requeue(int op)
{
	static word from, to;
	struct waiter waiters[SOME], last;

	turns = 0;
	start_waits(waiters, SOME, &from);
	CHECK_EQ(futex(&from, op, -1, VAL2(1), &to, 0), -EINVAL);
	CHECK_EQ(futex(&from, op, 1, VAL2(-1), &to, 0), -EINVAL);
	/* One woken, three moved. */
	CHECK_EQ(futex(&from, op, 1, VAL2(3), &to, 0), 4);
	until_turns(1);
	CHECK_EQ(waiters[0].turn, 1);
	start_wait(&last, libc_call, &to);
	/* In order: the moved ones came first. */
	for (int i = 1; i <= 3; i++) {
		CHECK_EQ(wake(&to, 1), 1);
		until_turns(i + 1);
		CHECK_EQ(waiters[i].turn, i + 1);
	}
	CHECK_EQ(wake(&to, INT_MAX), 1);
	/* A count of 0 moves none; from a word to itself all are moved. */
	CHECK_EQ(futex(&from, op, 0, VAL2(0), &to, 0), 0);
	CHECK_EQ(futex(&from, op, 0, VAL2(INT_MAX), &from, 0), 2);
	CHECK_EQ(wake(&to, INT_MAX), 0);
	CHECK_EQ(wake(&from, INT_MAX), 2);
	finish_all(waiters, SOME);
	CHECK_EQ(finish(&last), 0);
}

TEST(futex_requeue__wakes_and_moves)
{
	check_requeue(FUTEX_REQUEUE | PRIVATE);
}

TEST(futex_cmp_requeue__wakes_and_moves)
{
	check_requeue(FUTEX_CMP_REQUEUE | PRIVATE);
}

TEST(futex_cmp_requeue__looks_at_the_word)
{
	const int op = FUTEX_CMP_REQUEUE | PRIVATE;
	struct timespec until = in_ms(CLOCK_MONOTONIC, LATE_MS);
	struct waiter waiter;
	static word from, to;

	start_wait_for(&waiter, libc_call, &from, ANY, &until);
	CHECK_EQ(futex(&from, op, 1, VAL2(1), &to, 1), -EAGAIN);
	CHECK_EQ(waiter.turn, 0);
	CHECK_EQ(futex(&from, op, 0, VAL2(1), &to, 0), 1);
	/* A moved waiter keeps its deadline. */
	CHECK_EQ(finish(&waiter), -ETIMEDOUT);
	CHECK_EQ(wake(&to, 1), 0);
}

/* ------------------------------------------------------------ wake-op -- */

/* Every operation and comparison, beside a system call of our own. */
TEST(futex_wake_op__changes_as_the_kernel_does)
{
	static const uint32_t olds[] = { 0, 1, 5, 2047, 2048, ANY, 1u << 31,
					 (uint32_t)-2048, 0x7fffffff };
	static const uint32_t arguments[] = { 0, 1, 5, 31, 32, 2047, 2048, 4095 };
	static word at, ours, theirs;
	uint32_t op, compare, old, code;
	long result;

	for (op = 0; op < 16; op++)
	for (compare = 0; compare < 16; compare++)
	for (old = 0; old < 9; old++)
	for (uint32_t argument = 0; argument < 8; argument++) {
		code = op << 28 | compare << 24 | arguments[argument] << 12 |
		       arguments[(argument + old) % 8];
		ours = theirs = olds[old];
		result = futex(&at, FUTEX_WAKE_OP | PRIVATE, 1, VAL2(1), &ours,
			       code);
		CHECK_EQ(result, own_futex(&at, FUTEX_WAKE_OP | PRIVATE, 1,
					   VAL2(1), &theirs, code));
		if (ours != theirs)
			FAIL("code %08x, %08x: %08x, not %08x", code, olds[old],
			     ours, theirs);
	}
}

TEST(futex_wake_op__wakes_at_both)
{
	/* Adds 1; compares with 5. */
	const uint32_t if_equal = FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 5);
	const int op = FUTEX_WAKE_OP | PRIVATE;
	struct waiter first[3], second[4];
	static word at, changed = 4;

	start_waits(first, 3, &at);
	start_waits(second, 4, &changed);
	CHECK_EQ(futex(&at, op, 1, VAL2(2), &changed, if_equal), 1);
	until_turns(1);
	CHECK_EQ(first[0].turn, 1);
	CHECK_EQ(changed, 5);
	CHECK_EQ(futex(&at, op, 1, VAL2(2), &changed, if_equal), 3);
	until_turns(4);
	CHECK(second[0].turn && second[1].turn && first[1].turn);
	CHECK_EQ(changed, 6);
	changed = 5;
	/* At least one at each. */
	CHECK_EQ(futex(&at, op, 0, VAL2(0), &changed, if_equal), 2);
	changed = 5;
	CHECK_EQ(futex(&at, op, -1, VAL2(-1), &changed, if_equal), 1);
	finish_all(first, 3);
	finish_all(second, 4);
	CHECK_EQ(wake(&at, 1) + wake(&changed, 1), 0);
}

/* -------------------------------------------------------------- waitv -- */

#define MOST 128

static word many[MOST + 1];
static struct waitv waiters_of_many[MOST + 1];

static void fill_many(void)
{
	for (int i = 0; i <= MOST; i++)
		waiters_of_many[i] = (struct waitv)WAITV_ON(&many[i]);
}

static long waitv(struct waitv *waiters, unsigned int count, unsigned int flags,
		  struct timespec *until, clockid_t clock)
{
	return libc_call(SYS_WAITV, (long)waiters, count, flags, (long)until,
			 clock, 0);
}

static void needs(long number)
{
	if (!kernel_has(number))
		SKIP("this kernel has no call %ld", number);
}

TEST(futex_waitv__refuses)
{
	struct timespec past = in_ms(CLOCK_MONOTONIC, -5);
	struct timespec wrong = { .tv_nsec = NS_PER_S };
	struct waitv *v = waiters_of_many;

	needs(SYS_WAITV);
	fill_many();
	CHECK_EQ(waitv(v, 0, 0, NULL, 0), -EINVAL);
	CHECK_EQ(waitv(v, MOST + 1, 0, &past, CLOCK_MONOTONIC), -EINVAL);
	CHECK_EQ(waitv(v, 1, 1, NULL, 0), -EINVAL);
	CHECK_EQ(waitv(NULL, 1, 0, NULL, 0), -EINVAL);
	CHECK_EQ(waitv((void *)16, 1, 0, NULL, 0), -EFAULT);
	CHECK_EQ(waitv(v, 1, 0, (void *)16, CLOCK_MONOTONIC), -EFAULT);
	CHECK_EQ(waitv(v, 1, 0, &wrong, CLOCK_MONOTONIC), -EINVAL);
	CHECK_EQ(waitv(v, 1, 0, &past, CLOCK_BOOTTIME), -EINVAL);
	CHECK_EQ(waitv(v, MOST, 0, &past, CLOCK_MONOTONIC), -ETIMEDOUT);
	CHECK_EQ(waitv(v, 3, 0, &past, CLOCK_REALTIME), -ETIMEDOUT);
	many[2] = 1;
	CHECK_EQ(waitv(v, 3, 0, NULL, 0), -EAGAIN);
	many[2] = 0;
	v[2].reserved = 1;
	CHECK_EQ(waitv(v, 3, 0, NULL, 0), -EINVAL);
	v[2].reserved = 0;
	v[2].uaddr++;
	CHECK_EQ(waitv(v, 3, 0, NULL, 0), -EINVAL);
	v[2].uaddr = 0;
	CHECK_EQ(waitv(v, 3, 0, NULL, 0), -EFAULT);
	v[2].uaddr = (uintptr_t)&many[2];
	v[2].val = 1L << 32;
	CHECK(waitv(v, 3, 0, &past, CLOCK_MONOTONIC) < 0);
	v[2].val = 0;
	v[2].flags = PRIVATE;
	CHECK_EQ(waitv(v, 3, 0, NULL, 0), -EINVAL);
}

TEST(futex_waitv__tells_which)
{
	static const int chosen[] = { 0, 1, 64, MOST - 1 };
	struct waiter waiter, other;

	needs(SYS_WAITV);
	fill_many();
	for (int i = 0; i < 4; i++) {
		start_waitv(&waiter, libc_call, waiters_of_many, MOST);
		start_wait(&other, libc_call, &many[chosen[i]]);
		CHECK_EQ(wake(&many[chosen[i]], 1), 1);
		CHECK_EQ(finish(&waiter), chosen[i]);
		CHECK_EQ(other.turn, 0);
		/* The wait has left the other words' queues. */
		CHECK_EQ(wake(&many[(chosen[i] + 1) % MOST], INT_MAX), 0);
		CHECK_EQ(wake(&many[chosen[i]], INT_MAX), 1);
		CHECK_EQ(finish(&other), 0);
	}
}

/* Private words beside shared ones. */
TEST(futex_waitv__mixed)
{
	word *shared = shared_memory(sizeof(*shared));
	struct waiter waiter;

	needs(SYS_WAITV);
	fill_many();
	waiters_of_many[1].uaddr = (uintptr_t)shared;
	waiters_of_many[1].flags = 2;
	for (int i = 0; i < 3; i++) {
		start_waitv(&waiter, libc_call, waiters_of_many, 3);
		if (i == 1)
			CHECK_EQ(futex(shared, FUTEX_WAKE, 1, NULL, NULL, 0), 1);
		else
			CHECK_EQ(wake(&many[i], 1), 1);
		CHECK_EQ(finish(&waiter), i);
	}
}

/* -------------------------------------------------------------- futex2 -- */

TEST(futex2_wait_and_wake__private)
{
	struct waiter waiters[3];
	struct timespec until;
	static word at;

	needs(SYS_WAIT);
	until = in_ms(CLOCK_MONOTONIC, 3);
	CHECK_EQ(libc_call(SYS_WAIT, (long)&at, 1, ANY, PRIVATE_32, 0, 0),
		 -EAGAIN);
	CHECK_EQ(libc_call(SYS_WAIT, (long)&at, 0, 0, PRIVATE_32, 0, 0), -EINVAL);
	CHECK_EQ(libc_call(SYS_WAIT, (long)&at, 0, ANY, PRIVATE_32, (long)&until,
			   CLOCK_MONOTONIC),
		 -ETIMEDOUT);
	CHECK_EQ(libc_call(SYS_WAIT, (long)&at, 0, ANY, PRIVATE_32, (long)&until,
			   CLOCK_REALTIME),
		 -ETIMEDOUT);
	start_call(&waiters[0], libc_call, SYS_WAIT, (long)&at, 0, 1, PRIVATE_32,
		   0, 0);
	start_call(&waiters[1], libc_call, SYS_WAIT, (long)&at, 0, 2, PRIVATE_32,
		   0, 0);
	/* futex(2)'s waiters are the same. */
	start_wait(&waiters[2], libc_call, &at);
	CHECK_EQ(libc_call(SYS_WAKE, (long)&at, ANY, 0, PRIVATE_32, 0, 0), 0);
	CHECK_EQ(libc_call(SYS_WAKE, (long)&at, 0, 1, PRIVATE_32, 0, 0), -EINVAL);
	CHECK_EQ(libc_call(SYS_WAKE, (long)&at, 2, 1, PRIVATE_32, 0, 0), 1);
	CHECK_EQ(finish(&waiters[1]), 0);
	CHECK_EQ(libc_call(SYS_WAKE, (long)&at, ANY, -1, PRIVATE_32, 0, 0), 1);
	CHECK_EQ(finish(&waiters[0]), 0);
	CHECK_EQ(libc_call(SYS_WAKE, (long)&at, ANY, INT_MAX, PRIVATE_32, 0, 0),
		 1);
	CHECK_EQ(finish(&waiters[2]), 0);
}

TEST(futex2_requeue__private)
{
	static word from, to;
	struct waitv pair[2] = { WAITV_ON(&from), WAITV_ON(&to) };
	struct waiter waiters[4];

	needs(SYS_REQUEUE);
	start_waits(waiters, 4, &from);
	pair[0].val = 1;
	CHECK_EQ(libc_call(SYS_REQUEUE, (long)pair, 0, 1, 2, 0, 0), -EAGAIN);
	pair[0].val = 0;
	CHECK_EQ(libc_call(SYS_REQUEUE, (long)pair, 1, 1, 2, 0, 0), -EINVAL);
	CHECK_EQ(libc_call(SYS_REQUEUE, (long)pair, 0, -1, 2, 0, 0), -EINVAL);
	CHECK_EQ(libc_call(SYS_REQUEUE, (long)pair, 0, 1, 2, 0, 0), 3);
	until_turns(1);
	CHECK_EQ(waiters[0].turn, 1);
	CHECK_EQ(wake(&to, INT_MAX), 2);
	CHECK_EQ(wake(&from, INT_MAX), 1);
	finish_all(waiters, 4);
}

/* ------------------------------------------------- anything whatsoever -- */

/*
 * Pages that can't be written, pages that can't be read either, and no pages.
 */
static void *places[8];

static void find_places(word *good)
{
	char *pages = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	CHECK(pages != MAP_FAILED);
	CHECK_EQ(mprotect(pages, 4096, PROT_READ), 0);
	CHECK_EQ(munmap(pages + 2 * 4096, 4096), 0);
	places[0] = places[1] = good;
	places[2] = (char *)good + 1;
	places[3] = NULL;
	places[4] = pages;
	places[5] = pages + 4096;
	places[6] = pages + 2 * 4096 + 64;
	places[7] = (void *)(ULONG_MAX << 47);
}

/* One call, made both ways, has the same result and the same effects. */
static void check_alike(uint32_t *random, word *good)
{
	static const int flags[] = { PRIVATE, PRIVATE, PRIVATE,
				     PRIVATE | REALTIME, 0, REALTIME,
				     PRIVATE | 1 << 10 };
	static const uint32_t vals[] = { 1, 2, ANY, 0x7fffffff, 1u << 31, 0 };
	static struct timespec times[] = {
		{ 0, 1000 }, { -1, 0 }, { 0, NS_PER_S }, { 0, -1 }, { 0, 0 },
	};
	long arguments[6], results[2], words[2][2];
	bool can_wait;
	int op;

	op = next_random(random) % 15;
	arguments[0] = (long)places[next_random(random) % 8];
	arguments[1] = op | flags[next_random(random) % 7];
	arguments[2] = vals[next_random(random) % 6];
	arguments[3] = (long)&times[next_random(random) % 5];
	if (next_random(random) % 4 == 0)
		arguments[3] = (long)places[2 + next_random(random) % 6];
	arguments[4] = (long)places[next_random(random) % 8] + 8;
	arguments[5] = vals[next_random(random) % 6];
	can_wait = op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET ||
		   op == FUTEX_WAIT_REQUEUE_PI;
	/* A wait without a limit must find another value than it expects. */
	if (can_wait && !arguments[3])
		arguments[2] = 1;
	for (int i = 0; i < 2; i++) {
		good[0] = good[2] = 0;
		results[i] = (i ? libc_call : own_call)(
			SYS_futex, arguments[0], arguments[1], arguments[2],
			arguments[3], arguments[4], arguments[5]);
		words[i][0] = good[0];
		words[i][1] = good[2];
	}
	if (results[0] != results[1] || words[0][0] != words[1][0] ||
	    words[0][1] != words[1][1])
		FAIL("op %#lx at %#lx, %#lx, %#lx, %#lx, %#lx: %ld, not %ld",
		     arguments[1], arguments[0], arguments[2], arguments[3],
		     arguments[4], arguments[5], results[1], results[0]);
}

TEST(futex__answers_as_the_kernel_does)
{
	uint32_t random = now_ns(CLOCK_REALTIME) | 1;
	word *good = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(good != MAP_FAILED);
	fprintf(stderr, "seed %u\n", random);
	find_places(good);
	for (int i = 0; i < 30000; i++)
		check_alike(&random, good);
}

RUN_TESTS()
