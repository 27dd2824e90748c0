/*
 * Threads that are cancelled wherever they are: at gates and in pools, inside a
 * routine of pthread_once, and with the asynchronous type.
 */
#include "stress.h"

enum { CANCELLERS = 2 };

static sem_t never;
static _Atomic long cancelled;

/* One lot of threads, and what they call once. */
struct victims {
	struct thread threads[SHORT_LIVED];
	pthread_once_t once;
	_Atomic int calls;
};

static _Thread_local struct victims *fellows;

static void vanish_at_last(void *actor)
{
	vanish(actor);
}

THREAD(pass_until_cancelled, void *argument UNUSED)
{
	struct actor *actor;
	int state;

	OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state));
	actor = appear("cancelled");
	pthread_cleanup_push(vanish_at_last, actor);
	OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state));
	for (;;) {
		if (next_random(&actor->random) % 2)
			pass_gate(actor);
		else
			use_semaphore(actor);
		pthread_testcancel();
	}
	pthread_cleanup_pop(1);
}

/* It may be cancelled in usleep; otherwise it counts as called. */
static void be_called(void)
{
	usleep(100);
	fellows->calls++;
}

THREAD(call_and_be_cancelled, void *victims)
{
	fellows = victims;
	OK(pthread_once(&fellows->once, be_called));
	for (;;)
		pause();
}

/* For a permit that never comes: one that came could be lost, whichever thread waits. */
THREAD(wait_asynchronously, void *argument UNUSED)
{
	int type;

	block_storm();
	OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type));
	for (;;)
		sem_wait(&never);
}

THREAD(compute_asynchronously, void *argument UNUSED)
{
	volatile long sum = 0;
	int type;

	block_storm();
	OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type));
	for (;;)
		sum += 1;
}

/* glibc 2.36 forgets the result if a handler that enables cancellation ends it. */
static void check_cancelled(void *result)
{
	CHECK(result == PTHREAD_CANCELED || !result);
}

ACTOR(keep_cancelling, "canceller", void *argument UNUSED)
{
	static void *(*const lives[])(void *) = {
		pass_until_cancelled,
		pass_until_cancelled,
		call_and_be_cancelled,
		wait_asynchronously,
		compute_asynchronously,
	};
	const int count = COUNT(lives);
	struct victims victims;
	void *(*life)(void *);

	while (!stop) {
		victims.once = (pthread_once_t)PTHREAD_ONCE_INIT;
		victims.calls = 0;
		life = lives[next_random(&actor->random) % count];
		does(actor, "starts threads", SHORT_LIVED);
		for (int i = 0; i < SHORT_LIVED; i++)
			start(&victims.threads[i], life, &victims);
		usleep(next_random(&actor->random) %
		       (life == pass_until_cancelled ? 3000 : 300));
		does(actor, "cancels threads", SHORT_LIVED);
		for (int i = 0; i < SHORT_LIVED; i++)
			OK(pthread_cancel(victims.threads[i].pthread));
		for (int i = 0; i < SHORT_LIVED; i++)
			check_cancelled(join(&victims.threads[i]));
		does(actor, "calls once", 0);
		fellows = &victims;
		OK(pthread_once(&victims.once, be_called));
		CHECK_EQ(victims.calls, 1);
		cancelled += SHORT_LIVED;
		got_on(actor);
	}
}

static void begin(int strength)
{
	CHECK_EQ(sem_init(&never, 0, 0), 0);
	for (int i = 0; i < CANCELLERS * strength; i++)
		enlist(keep_cancelling, NULL);
}

static void report(void)
{
	printf("cancelled: %ld threads\n", cancelled);
}

const struct subject cancels_subject = {
	.name = "cancel",
	.is_storm = true,
	.begin = begin,
	.report = report,
};
