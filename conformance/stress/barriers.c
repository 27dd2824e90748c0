/*
 * Barriers, and what is made anew for each of their rounds and freed at its end:
 * another barrier, a control for pthread_once, a spinlock.
 */
#include "stress.h"

enum {
	MEETINGS = 2,
	MEMBERS = 4,
	PAGE = 4096,
};

/* One round's. */
struct fresh {
	pthread_barrier_t barrier;
	pthread_once_t once;
	pthread_spinlock_t spin;
	int calls, counted;
};

static struct meeting {
	pthread_barrier_t come, go;
	struct fresh *fresh;
	bool last;
	long written[MEMBERS];
	_Atomic int members;
	_Atomic long leaders, rounds;
} meetings[MEETINGS];

/* The routine has no argument. */
static _Thread_local struct fresh *called_for;
static _Thread_local struct actor *caller;

static void call_once_a_round(void)
{
	called_for->calls++;
	dawdle(caller);
}

static void count_spinning(struct actor *actor, struct fresh *fresh)
{
	if (next_random(&actor->random) % 4)
		OK(pthread_spin_lock(&fresh->spin));
	else
		while (pthread_spin_trylock(&fresh->spin))
			sched_yield();
	fresh->counted++;
	dawdle(actor);
	OK(pthread_spin_unlock(&fresh->spin));
}

static struct fresh *make_fresh(void)
{
	struct fresh *fresh = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(fresh != MAP_FAILED);
	OK(pthread_barrier_init(&fresh->barrier, NULL, MEMBERS));
	OK(pthread_spin_init(&fresh->spin, PTHREAD_PROCESS_PRIVATE));
	fresh->once = (pthread_once_t)PTHREAD_ONCE_INIT;
	return fresh;
}

static bool wait_at(struct actor *actor, const char *what,
		    pthread_barrier_t *barrier, long round)
{
	int result;

	does(actor, what, round);
	result = pthread_barrier_wait(barrier);
	CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
	return result;
}

/* The leader frees it at once: the others may still be on their way out. */
static void use_up(struct actor *actor, struct meeting *meeting,
		   struct fresh *fresh, long round)
{
	called_for = fresh;
	caller = actor;
	does(actor, "calls once", round);
	OK(pthread_once(&fresh->once, call_once_a_round));
	CHECK_EQ(fresh->calls, 1);
	does(actor, "spins", round);
	count_spinning(actor, fresh);
	if (!wait_at(actor, "waits at fresh barrier", &fresh->barrier, round))
		return;
	CHECK_EQ(fresh->counted, MEMBERS);
	meeting->leaders++;
	OK(pthread_barrier_destroy(&fresh->barrier));
	CHECK_EQ(munmap(fresh, PAGE), 0);
}

ACTOR(meet, "member", struct meeting *meeting)
{
	int me = meeting->members++;
	long round = 0;
	bool last = false;

	while (!last) {
		round++;
		meeting->written[me] = round;
		if (wait_at(actor, "comes", &meeting->come, round)) {
			meeting->fresh = make_fresh();
			meeting->last = stop;
			meeting->rounds++;
		}
		for (int i = 0; i < MEMBERS; i++)
			CHECK_EQ(meeting->written[i], round);
		wait_at(actor, "goes", &meeting->go, round);
		last = meeting->last;
		use_up(actor, meeting, meeting->fresh, round);
		got_on(actor);
	}
}

static void begin(int strength UNUSED)
{
	for (int i = 0; i < MEETINGS; i++) {
		OK(pthread_barrier_init(&meetings[i].come, NULL, MEMBERS));
		OK(pthread_barrier_init(&meetings[i].go, NULL, MEMBERS));
		for (int member = 0; member < MEMBERS; member++)
			enlist(meet, &meetings[i]);
	}
}

static void check(void)
{
	for (int i = 0; i < MEETINGS; i++) {
		CHECK_EQ(meetings[i].leaders, meetings[i].rounds);
		OK(pthread_barrier_destroy(&meetings[i].come));
		OK(pthread_barrier_destroy(&meetings[i].go));
	}
}

const struct subject barriers_subject = {
	.name = "barriers",
	.begin = begin,
	.check = check,
};
