/*
 * A program defines sigaction under both of its names, and passes the calls on
 * to the next definition of one of them, as Erlang's emulator does to add a
 * flag. A preloaded library comes next: what that calls in turn must not be the
 * program's again.
 */
#include "harness.h"

static const char *next_name = "sigaction";
static _Atomic int passed_on, handled;

static int pass_on(int number, const struct sigaction *new,
		   struct sigaction *old)
{
	int (*next)(int, const struct sigaction *, struct sigaction *);

	next = (__typeof__(next))dlsym(RTLD_NEXT, next_name);
	/* Else the two call each other for ever. */
	if (!next || ++passed_on > 100)
		abort();
	return next(number, new, old);
}

int sigaction(int number, const struct sigaction *restrict new,
	      struct sigaction *restrict old)
{
	return pass_on(number, new, old);
}

int __sigaction(int number, const struct sigaction *new, struct sigaction *old);

int __sigaction(int number, const struct sigaction *new, struct sigaction *old)
{
	return pass_on(number, new, old);
}

static void count(int signal UNUSED)
{
	handled++;
}

static void check_by_name(const char *name)
{
	struct sigaction action = { .sa_handler = count }, old;

	next_name = name;
	passed_on = handled = 0;
	OK(sigaction(SIGUSR1, &action, NULL));
	CHECK_EQ(passed_on, 1);
	OK(__sigaction(SIGUSR1, NULL, &old));
	CHECK_EQ(passed_on, 2);
	CHECK(old.sa_handler == count);
	OK(raise(SIGUSR1));
	CHECK_EQ(handled, 1);
}

TEST(glibc_dlsym__program_passes_its_own_sigaction_on)
{
	check_by_name("sigaction");
}

TEST(glibc_dlsym__program_passes_its_own_sigaction_on_by_the_other_name)
{
	check_by_name("__sigaction");
}

RUN_TESTS()
