/*
 * A ledger that processes share. One of them is killed while it changes the
 * ledger; the next one learns of it, repairs the ledger, and goes on. The last
 * entry's number tells all of them of news.
 */
#include <errno.h>
#include <furwock.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 3, EACH = 1000 };

struct ledger {
	furwock_robust_mutex mutex; /* zero bytes are a free one */
	_Atomic uint64_t last;
	int entries[2]; /* always alike */
};

static int lock(struct ledger *ledger)
{
	int error = furwock_robust_mutex_lock(&ledger->mutex);

	if (error == EOWNERDEAD) {
		ledger->entries[1] = ledger->entries[0];
		error = furwock_robust_mutex_consistent(&ledger->mutex);
	}
	return error;
}

static void add(struct ledger *ledger)
{
	ledger->entries[0]++;
	ledger->entries[1]++;
	ledger->last++;
	furwock_shared_wake(&ledger->last, SIZE_MAX, NULL);
}

static int work(struct ledger *ledger)
{
	for (int i = 0; i < EACH; i++) {
		if (lock(ledger) != 0)
			return 1;
		add(ledger);
		furwock_robust_mutex_unlock(&ledger->mutex);
	}
	return 0;
}

static int die_inside(struct ledger *ledger)
{
	if (lock(ledger) != 0)
		return 1;
	ledger->entries[0]++;
	return raise(SIGKILL);
}

int main(void)
{
	struct ledger *ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int failed = 0;

	if (ledger == MAP_FAILED)
		return 2;
	if (furwock_robust_mutex_trylock(&ledger->mutex) == ENOTSUP) {
		puts("skipped: this C library has no robust locks to share");
		return 0;
	}
	furwock_robust_mutex_unlock(&ledger->mutex);
	for (int i = 0; i <= PROCESSES; i++) {
		pid_t child = fork();

		if (child < 0)
			return 2;
		if (child == 0)
			_exit(i == 0 ? die_inside(ledger) : work(ledger));
	}
	/* News of the last entry, also of processes that this one never meets. */
	for (uint64_t now; (now = ledger->last) < PROCESSES * EACH;) {
		furwock_deadline until = furwock_after_ns(50 * UINT64_C(1000000000));
		int error = furwock_shared_wait64(&ledger->last, now, &until);

		if (error == ENOTSUP) /* before Linux 5.16 */
			usleep(1000);
		else if (error != 0 && error != EAGAIN)
			return 3;
	}
	for (int status; wait(&status) > 0;)
		failed += WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	if (lock(ledger) != 0)
		return 4;
	printf("%d entries, %d failed\n", ledger->entries[0], failed);
	return failed || ledger->entries[0] != ledger->entries[1] ||
	       ledger->entries[0] < PROCESSES * EACH;
}
