/*
 * A child that clone makes without sharing memory. glibc goes on with its
 * parent's thread id there. Firefox puts that right, and checks by the owner of
 * a recursive mutex that glibc has taken note.
 */
#include "harness.h"

static char stack[1 << 16] __attribute__((aligned(64)));

static pid_t owner(void)
{
	pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	pid_t found;

	OK(pthread_mutex_lock(&mutex));
	found = mutex.__data.__owner;
	OK(pthread_mutex_unlock(&mutex));
	OK(pthread_mutex_destroy(&mutex));
	return found;
}

/* Where glibc keeps the thread's id, or NULL if it doesn't say. */
static _Atomic pid_t *glibcs_id(void)
{
	const uint32_t *field = dlsym(RTLD_DEFAULT, "_thread_db_pthread_tid");

	return field ? (void *)((char *)pthread_self() + field[2]) : NULL;
}

static int corrects_its_id(void *before)
{
	pid_t now = (pid_t)syscall(SYS_gettid);

	CHECK(now != *(pid_t *)before);
	CHECK_EQ(owner(), *(pid_t *)before);
	*glibcs_id() = now;
	CHECK_EQ(owner(), now);
	CHECK_EQ(owner(), now);
	return 3;
}

TEST(glibc_clone__child_goes_by_the_thread_id_that_glibc_goes_by)
{
	pid_t before = gettid(), child;
	int status;

	if (!glibcs_id())
		SKIP("this glibc doesn't say where it keeps a thread's id");
	child = clone(corrects_its_id, stack + sizeof(stack), SIGCHLD, &before);
	CHECK(child > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	CHECK_EQ(owner(), before);
}

static int sets(void *shared)
{
	*(int *)shared = 5;
	return 4;
}

TEST(glibc_clone__child_that_shares_memory_gets_its_argument)
{
	int shared = 0, status;
	pid_t child;

	child = clone(sets, stack + sizeof(stack), CLONE_VM | SIGCHLD, &shared);
	CHECK(child > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 4);
	CHECK_EQ(shared, 5);
}

TEST(glibc_clone__fails_without_a_function_or_a_stack)
{
	errno = 0;
	CHECK_EQ(clone(NULL, stack + sizeof(stack), SIGCHLD, NULL), -1);
	CHECK_EQ(errno, EINVAL);
	errno = 0;
	CHECK_EQ(clone(sets, NULL, SIGCHLD, NULL), -1);
	CHECK_EQ(errno, EINVAL);
}

RUN_TESTS()
