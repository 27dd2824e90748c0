/*
 * What glibc before 2.34 lacks, for tests that ask for it.
 */
#ifndef CONFORMANCE_OLDER_GLIBC_H
#define CONFORMANCE_OLDER_GLIBC_H

#ifdef __GLIBC_PREREQ
#if !__GLIBC_PREREQ(2, 34)

/* It came with 2.34. */
static UNUSED pid_t _Fork(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/*
 * A thread that has ended, and wasn't joined, is none there. If it ends during
 * the call, its signal goes to thread 0, which the kernel refuses.
 */
static UNUSED int cancel_unless_ended(pthread_t thread)
{
	int result = pthread_cancel(thread);

	return result == ESRCH || result == EINVAL ? 0 : result;
}

static UNUSED int kill_unless_ended(pthread_t thread, int signal)
{
	int result = pthread_kill(thread, signal);

	return result == ESRCH ? 0 : result;
}

#define pthread_cancel cancel_unless_ended
#define pthread_kill kill_unless_ended

#endif
#endif
#endif
