/*
 * The forms of a call that waits, and clauses that several forms share: one
 * check, and on each page a clause that runs it over the forms of that page.
 */
#ifndef CONFORMANCE_CALLS_H
#define CONFORMANCE_CALLS_H

#include "clause.h"
#include "../pthread/harness.h"

enum call {
	WAIT,
	TIMEDWAIT,
	CLOCKWAIT_REALTIME,
	CLOCKWAIT_MONOTONIC,
	CALLS,
	/* It doesn't wait, and so isn't among them. */
	TRY = CALLS,
};

static const char *const call_names[] UNUSED = {
	"without deadline", "timed", "clock, realtime", "clock, monotonic", "try",
};

/* Notes what a loop is at, for failures to tell. */
static bool UNUSED at_call(enum call call, enum call end)
{
	at_row = call < end ? call_names[call] : "";
	return call < end;
}

#define EACH_CALL(call) enum call call = WAIT; at_call(call, CALLS); call++
#define EACH_TIMED(call) enum call call = TIMEDWAIT; at_call(call, CALLS); call++

static clockid_t UNUSED clock_of(enum call call)
{
	return call == CLOCKWAIT_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

/* A check's clause over the calls of a page, from one form to another. */
#define CLAUSE_OVER(test, says, check, first, last)			\
	CLAUSE(test, says)						\
	{								\
		for (enum call call = first; at_call(call, last + 1); call++) \
			check(call);					\
	}

/* A check's clauses on two pages, the timed call's and the clock's. */
#define CLAUSES_TIMED_BY(check, timed, clock, part, says)		\
	CLAUSE_OVER(timed##__##part, says, check, TIMEDWAIT, TIMEDWAIT)	\
	CLAUSE_OVER(clock##__##part, says, check,			\
		    CLOCKWAIT_REALTIME, CLOCKWAIT_MONOTONIC)

/* The same with the page of the call without a deadline. */
#define CLAUSES_WAITING_BY(check, wait, timed, clock, part, says)	\
	CLAUSE_OVER(wait##__##part, says, check, WAIT, WAIT)		\
	CLAUSES_TIMED_BY(check, timed, clock, part, says)

/* The same of a check that follows. */
#define CLAUSES_TIMED(timed, clock, part, says)				\
	static void part(enum call call);				\
	CLAUSES_TIMED_BY(part, timed, clock, part, says)		\
	static void part(enum call call)

#define CLAUSES_WAITING(wait, timed, clock, part, says)			\
	static void part(enum call call);				\
	CLAUSES_WAITING_BY(part, wait, timed, clock, part, says)	\
	static void part(enum call call)

#endif
