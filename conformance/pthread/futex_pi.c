/*
 * Priority-inheriting and plain operations on one private word. The kernel
 * refuses to mix them; a waiter of either kind must be seen by the other's
 * operations, whether furwock or the kernel keeps its queue.
 */
#include "futex.h"

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

#define LOCK_PI (FUTEX_LOCK_PI | PRIVATE)
#define LOCK_PI2 (FUTEX_LOCK_PI2 | PRIVATE)
#define TRYLOCK_PI (FUTEX_TRYLOCK_PI | PRIVATE)
#define UNLOCK_PI (FUTEX_UNLOCK_PI | PRIVATE)
#define WAIT_REQUEUE_PI (FUTEX_WAIT_REQUEUE_PI | PRIVATE)
#define CMP_REQUEUE_PI (FUTEX_CMP_REQUEUE_PI | PRIVATE)

static word at, to;

static void start_wait_requeue_pi(struct waiter *waiter)
{
	start_call(waiter, libc_call, SYS_futex, (long)&at, WAIT_REQUEUE_PI, at,
		   0, (long)&to, ANY);
}

static void start_lock_pi(struct waiter *waiter)
{
	start_call(waiter, libc_call, SYS_futex, (long)&at, LOCK_PI, 0, 0, 0, 0);
}

static long cmp_requeue_pi(int others)
{
	return futex(&at, CMP_REQUEUE_PI, 1, VAL2(others), &to, at);
}

/* A requeued waiter holds `to` and has returned; it can't unlock any more. */
static void until_owned_by(word *lock, struct waiter *waiter)
{
	CHECK_EQ(finish(waiter), 0);
	CHECK_EQ(*lock & FUTEX_TID_MASK, waiter->thread.tid);
	*lock = 0;
}

/* ------------------------------------------- a plain waiter is queued -- */

/* What the kernel's own test of mismatched operations does. */
TEST(cmp_requeue_pi__beside_a_plain_waiter)
{
	struct waiter waiter;

	start_wait(&waiter, libc_call, &at);
	CHECK_EQ(cmp_requeue_pi(0), -EINVAL);
	CHECK_EQ(wake(&at, 1), 1);
	CHECK_EQ(finish(&waiter), 0);
	CHECK_EQ(cmp_requeue_pi(0), 0);
}

TEST(cmp_requeue_pi__is_looked_at_in_the_kernels_order)
{
	char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	struct waiter waiter;

	CHECK(page != MAP_FAILED);
	start_wait(&waiter, libc_call, &at);
	CHECK_EQ(futex(&at, CMP_REQUEUE_PI, 1, VAL2(0), &to, 5), -EAGAIN);
	CHECK_EQ(futex(&at, CMP_REQUEUE_PI, 1, VAL2(0), page, 5), -EAGAIN);
	CHECK_EQ(futex(&at, CMP_REQUEUE_PI, 1, VAL2(0), page, 0), -EFAULT);
	CHECK_EQ(futex(&at, CMP_REQUEUE_PI, 2, VAL2(0), &to, 5), -EINVAL);
	CHECK_EQ(futex(&at, CMP_REQUEUE_PI, 1, VAL2(-1), &to, 5), -EINVAL);
	CHECK_EQ(futex(&at, CMP_REQUEUE_PI, 1, VAL2(0), &at, 5), -EINVAL);
	CHECK_EQ(futex(&at, CMP_REQUEUE_PI, 1, VAL2(0), (char *)&to + 1, 5),
		 -EINVAL);
	CHECK_EQ(futex(&at, CMP_REQUEUE_PI | REALTIME, 1, VAL2(0), &to, 0),
		 -ENOSYS);
	CHECK_EQ(wake(&at, 1), 1);
	CHECK_EQ(finish(&waiter), 0);
}

/* The same of a word that says that the lock is free. */
TEST(lock_pi__beside_a_plain_waiter)
{
	static const int operations[] = { LOCK_PI, LOCK_PI2, TRYLOCK_PI };
	static const uint32_t values[] = { 0, 1, FUTEX_WAITERS,
					   FUTEX_OWNER_DIED };
	struct timespec soon = in_ms(CLOCK_REALTIME, 5000);
	struct timespec odd = { 0, -1 };
	struct waiter waiter;

	start_wait(&waiter, libc_call, &at);
	for (size_t i = 0; i < 3; i++) {
		for (size_t j = 0; j < 4; j++) {
			at = values[j];
			CHECK_EQ(futex(&at, operations[i], 0, NULL, NULL, 0),
				 -EINVAL);
			CHECK_EQ(futex(&at, operations[i], 0, &soon, NULL, 0),
				 -EINVAL);
			CHECK_EQ(at, values[j]);
		}
		at = gettid() | FUTEX_WAITERS;
		CHECK_EQ(futex(&at, operations[i], 0, NULL, NULL, 0), -EDEADLK);
	}
	CHECK_EQ(futex(&at, LOCK_PI, 0, &odd, NULL, 0), -EINVAL);
	CHECK_EQ(futex(&at, LOCK_PI, 0, VAL2(16), NULL, 0), -EFAULT);
	CHECK_EQ(futex(&at, LOCK_PI2 | REALTIME, 0, VAL2(16), NULL, 0),
		 -EFAULT);
	CHECK_EQ(futex(&at, LOCK_PI | REALTIME, 0, NULL, NULL, 0), -ENOSYS);
	/* The timeout of a try is not looked at. */
	CHECK_EQ(futex(&at, TRYLOCK_PI, 0, VAL2(16), NULL, 0), -EDEADLK);
	at = 0;
	CHECK_EQ(wake(&at, 1), 1);
	CHECK_EQ(finish(&waiter), 0);
	CHECK_EQ(futex(&at, LOCK_PI, 0, NULL, NULL, 0), 0);
	CHECK_EQ(at, gettid());
}

TEST(unlock_pi__beside_a_plain_waiter)
{
	uint32_t own = gettid();
	struct waiter waiter;

	at = own;
	start_wait(&waiter, libc_call, &at);
	CHECK_EQ(futex(&at, UNLOCK_PI, 0, NULL, NULL, 0), -EINVAL);
	at = own | FUTEX_WAITERS;
	CHECK_EQ(futex(&at, UNLOCK_PI, 0, NULL, NULL, 0), -EINVAL);
	CHECK_EQ(at, own | FUTEX_WAITERS);
	at = waiter.thread.tid;
	CHECK_EQ(futex(&at, UNLOCK_PI, 0, NULL, NULL, 0), -EPERM);
	at = own;
	CHECK_EQ(wake(&at, 1), 1);
	CHECK_EQ(finish(&waiter), 0);
	CHECK_EQ(futex(&at, UNLOCK_PI, 0, NULL, NULL, 0), 0);
	CHECK_EQ(at, 0);
}

/* A waiter that has left by its deadline is not seen any more. */
TEST(lock_pi__after_a_plain_waiter)
{
	struct timespec timeout = { 2, 0 };
	struct waiter waiter;

	start_call(&waiter, libc_call, SYS_futex, (long)&at, FUTEX_WAIT | PRIVATE,
		   at, (long)&timeout, 0, 0);
	CHECK_EQ(futex(&at, LOCK_PI, 0, NULL, NULL, 0), -EINVAL);
	CHECK_EQ(finish(&waiter), -ETIMEDOUT);
	CHECK_EQ(futex(&at, LOCK_PI, 0, NULL, NULL, 0), 0);
	CHECK_EQ(at, gettid());
}

TEST(lock_pi__beside_a_wait_on_many_words)
{
	struct waitv words[2] = { WAITV_ON(&to), WAITV_ON(&at) };
	struct waiter waiter;

	if (!kernel_has(SYS_WAITV))
		SKIP("the kernel has no futex_waitv");
	start_waitv(&waiter, libc_call, words, 2);
	CHECK_EQ(futex(&at, LOCK_PI, 0, NULL, NULL, 0), -EINVAL);
	CHECK_EQ(futex(&to, TRYLOCK_PI, 0, NULL, NULL, 0), -EINVAL);
	CHECK_EQ(wake(&at, 1), 1);
	CHECK_EQ(finish(&waiter), 1);
	CHECK_EQ(futex(&to, LOCK_PI, 0, NULL, NULL, 0), 0);
}

/* ------------------------------- a waiter for a requeue is queued -- */

TEST(wake__beside_a_waiter_to_be_requeued)
{
	struct waiter waiter;
	word other = 0;

	start_wait_requeue_pi(&waiter);
	CHECK_EQ(wake(&at, 1), -EINVAL);
	CHECK_EQ(futex(&at, FUTEX_WAKE_BITSET | PRIVATE, 1, NULL, NULL, 1),
		 -EINVAL);
	CHECK_EQ(futex(&at, FUTEX_REQUEUE | PRIVATE, 0, VAL2(1), &other, 0),
		 -EINVAL);
	CHECK_EQ(futex(&at, FUTEX_CMP_REQUEUE | PRIVATE, 1, VAL2(1), &other, at),
		 -EINVAL);
	CHECK_EQ(futex(&at, FUTEX_WAKE_OP | PRIVATE, 1, VAL2(1), &other, 0),
		 -EINVAL);
	CHECK_EQ(futex(&at, LOCK_PI, 0, NULL, NULL, 0), -EINVAL);
	CHECK(!waiter.turn);
	CHECK_EQ(cmp_requeue_pi(0), 1);
	until_owned_by(&to, &waiter);
}

/* The plain waiter, which came first, is woken all the same. */
TEST(wake__of_both_kinds)
{
	struct waiter plain, requeued;

	start_wait(&plain, libc_call, &at);
	start_wait_requeue_pi(&requeued);
	CHECK_EQ(wake(&at, 2), -EINVAL);
	CHECK_EQ(finish(&plain), 0);
	CHECK_EQ(cmp_requeue_pi(0), 1);
	until_owned_by(&to, &requeued);
}

/* The plain waiter, which came later, is met once the others have gone. */
TEST(cmp_requeue_pi__of_both_kinds)
{
	struct waiter plain, requeued;

	start_wait_requeue_pi(&requeued);
	start_wait(&plain, libc_call, &at);
	CHECK_EQ(cmp_requeue_pi(0), 1);
	until_owned_by(&to, &requeued);
	start_wait_requeue_pi(&requeued);
	CHECK_EQ(wake(&at, 2), -EINVAL);
	CHECK_EQ(finish(&plain), 0);
	start_wait(&plain, libc_call, &at);
	CHECK_EQ(cmp_requeue_pi(INT_MAX), -EINVAL);
	until_owned_by(&to, &requeued);
	CHECK_EQ(wake(&at, 1), 1);
	CHECK_EQ(finish(&plain), 0);
}

TEST(cmp_requeue_pi__to_a_word_with_a_plain_waiter)
{
	struct waiter plain, requeued;

	start_wait(&plain, libc_call, &to);
	/* There is no waiter to move. */
	CHECK_EQ(cmp_requeue_pi(INT_MAX), 0);
	start_wait_requeue_pi(&requeued);
	CHECK_EQ(futex(&at, CMP_REQUEUE_PI, 1, VAL2(0), &to, 5), -EAGAIN);
	CHECK_EQ(cmp_requeue_pi(0), -EINVAL);
	CHECK_EQ(cmp_requeue_pi(INT_MAX), -EINVAL);
	CHECK_EQ(to, 0);
	CHECK_EQ(wake(&to, 1), 1);
	CHECK_EQ(finish(&plain), 0);
	CHECK_EQ(cmp_requeue_pi(0), 1);
	until_owned_by(&to, &requeued);
}

/* ---------------------------------- a waiter for the lock is queued -- */

/* A plain waiter that comes after a waiter for the lock doesn't delay it. */
TEST(unlock_pi__to_a_waiter_before_a_plain_one)
{
	struct waiter plain, locker;

	CHECK_EQ(futex(&at, LOCK_PI, 0, NULL, NULL, 0), 0);
	start_lock_pi(&locker);
	start_wait(&plain, libc_call, &at);
	CHECK_EQ(futex(&at, TRYLOCK_PI, 0, NULL, NULL, 0), -EDEADLK);
	CHECK_EQ(futex(&at, UNLOCK_PI, 0, NULL, NULL, 0), 0);
	CHECK_EQ(finish(&locker), 0);
	CHECK_EQ(at & FUTEX_TID_MASK, locker.thread.tid);
	CHECK_EQ(wake(&at, 1), 1);
	CHECK_EQ(finish(&plain), 0);
}

TEST(wake__beside_a_waiter_for_the_lock)
{
	struct waiter locker;

	CHECK_EQ(futex(&at, LOCK_PI, 0, NULL, NULL, 0), 0);
	start_lock_pi(&locker);
	CHECK_EQ(wake(&at, 1), -EINVAL);
	CHECK_EQ(futex(&at, FUTEX_REQUEUE | PRIVATE, 0, VAL2(1), &to, 0),
		 -EINVAL);
	CHECK_EQ(futex(&at, UNLOCK_PI, 0, NULL, NULL, 0), 0);
	CHECK_EQ(finish(&locker), 0);
}

RUN_TESTS()
