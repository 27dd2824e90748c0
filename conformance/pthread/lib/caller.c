/* A library that calls libc's syscall. Used by futex_kernel.c. */
#define _GNU_SOURCE
#include <unistd.h>

long library_call(long number, long a, long b, long c, long d, long e, long f);

long library_call(long number, long a, long b, long c, long d, long e, long f)
{
	return syscall(number, a, b, c, d, e, f);
}
