/* XSH, the pages of condition variables' attributes. */
#include "attributes.h"
#include "children.h"
#include "clause.h"
#include "deadlines.h"
#include "mutexes.h"

/* Each clause runs in a process of its own, with these. */
static pthread_condattr_t attr;

ATTRIBUTE(condattr, clock, LIST(CLOCK_REALTIME, CLOCK_MONOTONIC),
	  LIST(CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_BOOTTIME,
	       CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_TAI, 12345, -1), false)
ATTRIBUTE(condattr, pshared, LIST(PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED),
	  LIST(-1, 2, 99, INT_MAX, INT_MIN), false)
ATTRIBUTES(condattr, &attr_clock, &attr_pshared)

/* Whether a deadline of this clock's ends a wait, at the time it says. */
static void check_clock(pthread_cond_t *cond, clockid_t clock)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct timespec at = in_ms(clock, 30);
	int error = 0;

	OK(pthread_mutex_lock(&mutex));
	for (int tries = 0; tries < 100 && !error; tries++)
		error = pthread_cond_timedwait(cond, &mutex, &at);
	CHECK_ERR(error, ETIMEDOUT);
	CHECK_REACHED(clock, at);
	OK(pthread_mutex_unlock(&mutex));
}

CLAUSE_BY(check_defaults(), pthread_condattr_init__desc_1__defaults,
	  "all attributes have their defaults: CLOCK_REALTIME, private")

CLAUSE(pthread_condattr_init__desc_3__later_changes_touch_no_condvar,
       "what happens to the object afterwards, destruction too, changes no condvar that it has "
       "made, only those made later")
{
	pthread_cond_t before, after;

	OK(pthread_condattr_init(&attr));
	OK(pthread_cond_init(&before, &attr));
	OK(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
	OK(pthread_cond_init(&after, &attr));
	OK(pthread_condattr_setclock(&attr, CLOCK_REALTIME));
	OK(pthread_condattr_destroy(&attr));
	memset(&attr, 0xff, sizeof(attr));
	check_clock(&before, CLOCK_REALTIME);
	check_clock(&after, CLOCK_MONOTONIC);
}

CLAUSE(pthread_condattr_init__desc_3__makes_many_condvars,
       "one object serves any number of condvars")
{
	pthread_cond_t conds[5];

	OK(pthread_condattr_init(&attr));
	OK(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
	for (EACH(i, conds))
		OK(pthread_cond_init(&conds[i], &attr));
	for (EACH(i, conds))
		check_clock(&conds[i], CLOCK_MONOTONIC);
}

CLAUSE_BY(check_defaults(), pthread_condattr_init__ret__0, "0, and errno is left alone")

CLAUSE_BY(check_initialised_again(), pthread_condattr_destroy__desc_2__can_be_initialised_again,
	  "a destroyed object can be initialised again, and has the defaults then")

/* ---------------------------------------------------------------- clock -- */

CLAUSE_BY(check_told(&attr_clock), pthread_condattr_getclock__desc_1__tells_it,
	  "it tells the clock, CLOCK_REALTIME at first, and the one that was set then, whatever "
	  "is set besides")

CLAUSE_BY(check_set_alone(&attr_clock), pthread_condattr_setclock__desc_1__sets_it_alone,
	  "it sets the clock and no other attribute")

CLAUSE(pthread_condattr_setclock__desc_2__is_in_effect,
       "the clock is the one that the condvar's timedwait counts on, private or shared")
{
	static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC };
	pthread_cond_t cond;

	for (EACH(i, clocks)) {
		for (int shared = 0; shared < 2; shared++) {
			make_cond(&cond, clocks[i], shared);
			check_clock(&cond, clocks[i]);
			OK(pthread_cond_destroy(&cond));
		}
	}
}

CLAUSE_BY(check_refused(&attr_clock), pthread_condattr_setclock__err_EINVAL__bad_clock,
	  "there is no such clock, it is one of CPU time, or, as glibc has it, one that nothing "
	  "waits on; the one before stays")

/* -------------------------------------------------------------- pshared -- */

CLAUSE_BY(check_told(&attr_pshared), pthread_condattr_getpshared__desc_1__tells_it,
	  "it tells whether processes share the condvar, which they don't at first")

CLAUSE_BY(check_set_alone(&attr_pshared), pthread_condattr_setpshared__desc_1__sets_it_alone,
	  "it sets that and no other attribute")

/* A gate in memory that processes share. */
static struct gate *make_shared_gate(void)
{
	struct gate *gate = shared_memory(sizeof(*gate));

	make_gate(gate, PSHARED);
	make_cond(&gate->cond, CLOCK_REALTIME, true);
	return gate;
}

CLAUSE(pthread_condattr_setpshared__desc_2__works_between_processes,
       "a shared condvar's waiters in other processes are signalled, one at least for a signal, "
       "all by a broadcast")
{
	struct gate *gate = make_shared_gate();
	struct thread here;
	pid_t children[4];

	for (EACH(i, children)) {
		IN_CHILD(children[i])
			wait_for_permit(gate);
	}
	start(&here, wait_for_permit, gate);
	until_waiting(gate, 5);
	for (int i = 0; i < 2; i++) {
		permit(gate, 1, pthread_cond_signal);
		UNTIL(passed(gate) == i + 1);
	}
	permit(gate, 3, pthread_cond_broadcast);
	REAP_ALL(children);
	join(&here);
	CHECK_EQ(gate->passed, 5);
	OK(pthread_cond_destroy(&gate->cond));
	OK(pthread_mutex_destroy(&gate->mutex));
}

CLAUSE(pthread_condattr_setpshared__desc_2__signalled_from_another_process,
       "a signal from another process reaches a waiter in this one")
{
	struct gate *gate = make_shared_gate();
	struct thread here;
	pid_t child;

	start(&here, wait_for_permit, gate);
	until_waiting(gate, 1);
	until_asleep(&here);
	IN_CHILD(child)
		permit(gate, 1, pthread_cond_signal);
	join(&here);
	REAP(child);
}

CLAUSE(pthread_condattr_setpshared__desc_2__private_in_a_forked_child,
       "a private condvar in a forked child is the child's own")
{
	struct gate gate;
	struct thread waiter;

	make_gate(&gate, DEFAULT);
	IN_A_CHILD {
		start(&waiter, wait_for_permit, &gate);
		until_waiting(&gate, 1);
		permit(&gate, 1, pthread_cond_signal);
		join(&waiter);
	}
	CHECK_EQ(gate.passed, 0);
}

CLAUSE_BY(check_refused(&attr_pshared), pthread_condattr_setpshared__err_EINVAL__no_such_value,
	  "the value is neither shared nor private, and the one before stays")
