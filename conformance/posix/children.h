/* Forked children that do something and end. */
#ifndef CONFORMANCE_CHILDREN_H
#define CONFORMANCE_CHILDREN_H

#include "../pthread/harness.h"

/* What follows is done by a child, beside this process, which has to REAP it. */
#define IN_CHILD(child) for ((child) = fork_watched(); (child) == 0; _exit(0))

/* What follows is done by a child while this process waits for its end. */
#define IN_A_CHILD							\
	for (pid_t child_ = fork_watched(), done_ = 0; !done_;		\
	     child_ ? REAP(child_) : _exit(0), done_ = 1)		\
		if (child_ == 0)

#define REAP_ALL(children)						\
	do {								\
		for (EACH(i_, children))				\
			REAP((children)[i_]);				\
	} while (0)

/* So many processes, this one among them, run it at the same time. */
static void UNUSED run_in_processes(int count, void *(*run)(void *shared), void *shared)
{
	pid_t children[count];

	for (int i = 1; i < count; i++)
		IN_CHILD(children[i])
			run(shared);
	run(shared);
	for (int i = 1; i < count; i++)
		REAP(children[i]);
}

#endif
