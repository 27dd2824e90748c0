/* Signals whose handlers count how often they run, for tests of waits. */
#ifndef CONFORMANCE_HANDLERS_H
#define CONFORMANCE_HANDLERS_H

#include "../pthread/harness.h"

static _Atomic long handled;

static void UNUSED count_signal(int signal UNUSED)
{
	/* A handler may change errno only if it puts it back. */
	int saved = errno;

	handled++;
	errno = saved;
}

static void UNUSED handle_by(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	CHECK_EQ(sigaction(signal, &action, NULL), 0);
}

static void UNUSED handle(int flags)
{
	handle_by(SIGUSR1, count_signal, flags);
}

/* Sends the thread a signal, and returns once its handler has run. */
static void UNUSED shoot(struct thread *thread)
{
	long before = handled;

	OK(pthread_kill(thread->pthread, SIGUSR1));
	UNTIL(handled != before);
}

#endif
