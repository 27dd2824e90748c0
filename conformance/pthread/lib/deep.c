/*
 * A library that locks what its program gives it: by calls, which may be bound
 * when they are first made, and by addresses, which are bound as it is loaded.
 * Used by deepbind.c.
 */
#define _GNU_SOURCE
#include "locks.h"

#include <unistd.h>

#define CALL(name, parameters, arguments)				\
	static int call_##name parameters				\
	{								\
		return name arguments;					\
	}
LOCK_FUNCTIONS(CALL)

static long call_syscall(long number, ...)
{
	__builtin_va_list list;
	long a, b, c, d;

	__builtin_va_start(list, number);
	a = __builtin_va_arg(list, long);
	b = __builtin_va_arg(list, long);
	c = __builtin_va_arg(list, long);
	d = __builtin_va_arg(list, long);
	__builtin_va_end(list);
	return syscall(number, a, b, c, d, 0, 0);
}

#define CALLER(name, parameters, arguments) .name = call_##name,
#define ADDRESS(name, parameters, arguments) .name = name,

const struct locks library_calls = {
	LOCK_FUNCTIONS(CALLER)
	.syscall = call_syscall,
};

const struct locks library_addresses = {
	LOCK_FUNCTIONS(ADDRESS)
	.syscall = syscall,
};

/* The program may define it, to be called while the library is loaded. */
extern void as_library_is_loaded(const struct locks *locks)
	__attribute__((weak));

static __attribute__((constructor)) void loaded(void)
{
	if (as_library_is_loaded)
		as_library_is_loaded(&library_calls);
}
