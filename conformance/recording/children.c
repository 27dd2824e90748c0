/* Processes that a process makes in every way, each of which locks. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void use(int times)
{
	for (int i = 0; i < times; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
}

static int ended(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && status == 0;
}

int main(int argc, char **argv)
{
	pid_t child;

	if (argc > 1) {
		use(400);
		return 0;
	}
	use(100);
	child = fork();
	if (child == 0) {
		use(200);
		_exit(0);
	}
	if (!ended(child))
		return 1;
	/* Without the handlers of pthread_atfork. */
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		use(300);
		_exit(0);
	}
	if (!ended(child))
		return 2;
	child = vfork();
	if (child == 0) {
		execl(argv[0], argv[0], "again", (char *)NULL);
		_exit(1);
	}
	if (!ended(child))
		return 3;
	use(11);
	return 0;
}
