/*
 * futex(2) and its successors as programs call them, by libc's syscall, and
 * beside that a system call of a test's own, which nothing can replace.
 */
#ifndef CONFORMANCE_FUTEX_H
#define CONFORMANCE_FUTEX_H

#include "../posix/crowd.h"

#include <linux/futex.h>

#define SYS_WAITV 449
#define SYS_WAKE 454
#define SYS_WAIT 455
#define SYS_REQUEUE 456

#define PRIVATE FUTEX_PRIVATE_FLAG
#define REALTIME FUTEX_CLOCK_REALTIME
/* futex2's flags for a private word of 32 bits. */
#define PRIVATE_32 (2 | PRIVATE)
#define ANY 0xffffffffu

typedef _Atomic uint32_t word;

/* struct futex_waitv, which older headers lack. */
struct waitv {
	uint64_t val, uaddr;
	uint32_t flags, reserved;
};

/* Waits on this private word, while it is 0. */
#define WAITV_ON(at) { .uaddr = (uintptr_t)(at), .flags = PRIVATE_32 }

/* Returns the result, or minus the errno. */
static long own_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10),
			   "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* The same by libc's syscall. On success it must leave errno alone. */
static long libc_call(long number, long a, long b, long c, long d, long e, long f)
{
	long result;

	errno = 4711;
	result = syscall(number, a, b, c, d, e, f);
	if (result == -1)
		return -errno;
	CHECK_EQ(errno, 4711);
	return result;
}

typedef long caller(long, long, long, long, long, long, long);

static long UNUSED futex(void *at, int op, uint32_t val, const void *timeout,
			 void *at2, uint32_t val3)
{
	return libc_call(SYS_futex, (long)at, op, val, (long)timeout, (long)at2,
			 val3);
}

static long UNUSED own_futex(void *at, int op, uint32_t val,
			     const void *timeout, void *at2, uint32_t val3)
{
	return own_call(SYS_futex, (long)at, op, val, (long)timeout, (long)at2,
			val3);
}

/* A number in the timeout's place. */
#define VAL2(number) ((void *)(long)(number))

static long UNUSED wake(word *at, int count)
{
	return futex(at, FUTEX_WAKE | PRIVATE, count, NULL, NULL, 0);
}

static long UNUSED own_wake(word *at, int count)
{
	return own_futex(at, FUTEX_WAKE | PRIVATE, count, NULL, NULL, 0);
}

static bool UNUSED kernel_has(long number)
{
	return own_call(number, 0, -1, -1, -1, -1, 0) != -ENOSYS;
}

/* ------------------------------------------------------------- waiters -- */

/* How many have returned from a wait. */
static _Atomic int turns;

/* A thread that makes one call. */
struct waiter {
	struct thread thread;
	caller *call;
	long number, arguments[6];
	long result;
	/* When it returned, counted from 1; 0 before that. */
	_Atomic int turn;
};

THREAD(wait_once, struct waiter *waiter)
{
	long *a = waiter->arguments;

	waiter->result = waiter->call(waiter->number, a[0], a[1], a[2], a[3],
				      a[4], a[5]);
	waiter->turn = ++turns;
}

/* Returns once the thread sleeps in the call. */
static void start_call(struct waiter *waiter, caller *call, long number, long a,
		       long b, long c, long d, long e, long f)
{
	*waiter = (struct waiter){
		.call = call,
		.number = number,
		.arguments = { a, b, c, d, e, f },
	};
	start_asleep(&waiter->thread, wait_once, waiter);
}

static void UNUSED start_wait_for(struct waiter *waiter, caller *call, word *at,
				  uint32_t bitset,
				  const struct timespec *until)
{
	start_call(waiter, call, SYS_futex, (long)at,
		   FUTEX_WAIT_BITSET | PRIVATE, *at, (long)until, 0, bitset);
}

static void UNUSED start_wait(struct waiter *waiter, caller *call, word *at)
{
	start_call(waiter, call, SYS_futex, (long)at, FUTEX_WAIT | PRIVATE, *at,
		   0, 0, 0);
}

static void UNUSED start_waitv(struct waiter *waiter, caller *call, struct waitv *words,
			       int count)
{
	start_call(waiter, call, SYS_WAITV, (long)words, count, 0, 0, 0, 0);
}

/* Joins it, if it has returned or will. */
static long UNUSED finish(struct waiter *waiter)
{
	join(&waiter->thread);
	return waiter->result;
}

static void UNUSED start_waits(struct waiter *waiters, int count, word *at)
{
	for (int i = 0; i < count; i++)
		start_wait(&waiters[i], libc_call, at);
}

/* They have been woken, all of them. */
static void UNUSED finish_all(struct waiter *waiters, int count)
{
	for (int i = 0; i < count; i++)
		CHECK_EQ(finish(&waiters[i]), 0);
}

/* Until so many have returned; then no other returns. */
static void UNUSED until_turns(int count)
{
	UNTIL(turns >= count);
	sleep_ms(2);
	CHECK_EQ(turns, count);
}

#endif
