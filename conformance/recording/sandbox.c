/*
 * A program that enters a sandbox before its threads begin: one that ends it at
 * the calls which the recorder makes, and furwock doesn't. The first argument
 * says how it enters, the second how it ends.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

static const int fatal[] = {
	SYS_openat,   SYS_prctl,    SYS_fallocate,	  SYS_prlimit64,
	SYS_readlink, SYS_pread64,  SYS_process_vm_readv, SYS_getppid,
	SYS_pwrite64,
};

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static atomic_int looks;

static void enter(int by_number)
{
	struct sock_filter filter[COUNT(fatal) + 3];
	struct sock_fprog program = { COUNT(fatal) + 3, filter };

	filter[0] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < COUNT(fatal); i++)
		filter[i + 1] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, fatal[i],
			COUNT(fatal) - i, 0);
	filter[COUNT(fatal) + 1] = (struct sock_filter)BPF_STMT(
		BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	filter[COUNT(fatal) + 2] = (struct sock_filter)BPF_STMT(
		BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		exit(77);
	if (by_number ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0,
				&program) :
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		exit(77);
}

__attribute__((noinline)) void look(void)
{
	pthread_mutex_lock(&busy);
	pthread_mutex_unlock(&busy);
}

static void *looker(void *unused)
{
	(void)unused;
	looks++;
	look();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	int status;
	pid_t child;

	(void)argc;
	alarm(50);
	enter(strcmp(argv[1], "number") == 0);
	if (strcmp(argv[2], "openat") == 0)
		syscall(SYS_openat, -1, "", 0);
	printf("%p %p\n", (void *)&busy, (void *)look);
	fflush(stdout);
	pthread_mutex_lock(&busy);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, looker, NULL);
	while (looks < 3)
		usleep(1000);
	usleep(50000);
	pthread_mutex_unlock(&busy);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	child = fork();
	if (child == 0) {
		look();
		_exit(7);
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 7)
		return 1;
	if (strcmp(argv[2], "quick") == 0)
		quick_exit(0);
	if (strcmp(argv[2], "_exit") == 0)
		_exit(0);
	if (strcmp(argv[2], "_Exit") == 0)
		_Exit(0);
	if (strcmp(argv[2], "number") == 0)
		syscall(SYS_exit_group, 0);
	return 0;
}
