/*
 * An event loop that waits for a word and for a pipe in one poll(2): the word by
 * a descriptor in its queue.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <furwock.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { TIMES = 1000, BOUND_MS = 10000 };

static _Atomic uint32_t ticks;
static int pipe_fds[2];

static void *tick(void *unused)
{
	for (int i = 0; i < TIMES; i++) {
		atomic_fetch_add(&ticks, 1);
		furwock_wake(&ticks, 1);
		if (i % 10 == 0 && write(pipe_fds[1], "x", 1) != 1)
			break;
	}
	return unused;
}

int main(void)
{
	furwock_waitfd *waitfd = NULL;
	uint32_t seen = 0;
	int bytes = 0;
	pthread_t thread;

	if (pipe(pipe_fds) || pthread_create(&thread, NULL, tick, NULL))
		return 2;
	while (seen < TIMES || bytes < TIMES / 10) {
		struct pollfd fds[2] = { { .fd = pipe_fds[0], .events = POLLIN },
					 { .fd = -1, .events = POLLIN } };
		char byte;

		/* In the queue for the next tick; EAGAIN: it is here already. */
		if (!waitfd && furwock_wait_fd(&ticks, sizeof(ticks), seen,
					       &waitfd) == EAGAIN) {
			seen = atomic_load(&ticks);
			continue;
		}
		fds[1].fd = furwock_waitfd_fd(waitfd);
		if (poll(fds, 2, BOUND_MS) <= 0)
			return 1;
		if (fds[0].revents & POLLIN && read(pipe_fds[0], &byte, 1) == 1)
			bytes++;
		if (fds[1].revents & POLLIN && furwock_waitfd_woken(waitfd) == 0) {
			furwock_waitfd_close(waitfd);
			waitfd = NULL;
			seen = atomic_load(&ticks);
		}
	}
	furwock_waitfd_close(waitfd);
	pthread_join(thread, NULL);
	printf("%d ticks, %d bytes\n", (int)seen, bytes);
	return 0;
}
