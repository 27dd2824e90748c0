/*
 * Every thread counts what it gets done. A thread that gets nothing done for
 * STUCK_S has been forgotten, unless the runner finds that the machine is to
 * blame.
 */
#include "actors.h"

struct actor actors[ACTORS];
_Atomic long total;
_Atomic uint32_t actors_so_far;
uint64_t seed = 1;

static int64_t next_ask_ns;

struct actor *appear(const char *role)
{
	uint32_t number = ++actors_so_far;
	const char *no_role;

	for (int i = 0; i < ACTORS; i++) {
		no_role = NULL;
		if (!atomic_compare_exchange_strong(&actors[i].role, &no_role,
						    "(begins)"))
			continue;
		actors[i].doing = "begins";
		actors[i].progress++;
		actors[i].tid = gettid();
		actors[i].random = (uint32_t)(seed * 2654435761u) ^
				   (number * 40503u * 65537u);
		if (!actors[i].random)
			actors[i].random = 1;
		actors[i].role = role;
		return &actors[i];
	}
	FAIL("more than %d threads", ACTORS);
}

void vanish(struct actor *actor)
{
	actor->role = NULL;
}

void does(struct actor *actor, const char *what, int with)
{
	actor->with = with;
	actor->doing = what;
}

void got_on(struct actor *actor)
{
	actor->progress++;
	total++;
}

static void dump(void)
{
	for (int i = 0; i < ACTORS; i++)
		if (actors[i].role)
			fprintf(stderr, "  %-12s tid %d: %s %d, %ld done%s\n",
				actors[i].role, actors[i].tid, actors[i].doing,
				actors[i].with, actors[i].progress,
				is_asleep(actors[i].tid) ? ", asleep" : "");
}

/* For how long the actor has got nothing done. */
static int64_t stuck_ns(struct actor *actor, int64_t now)
{
	if (!actor->role || actor->seen != actor->progress) {
		actor->seen = actor->progress;
		actor->seen_ns = now;
	}
	return now - actor->seen_ns;
}

/* The runner looks at all that may wait for one another. */
static void ask(int64_t now)
{
	char text[4096];
	size_t used;

	used = snprintf(text, sizeof(text), "STUCK %d %d", getpid(),
			STUCK_S * 1000);
	for (int i = 0; i < ACTORS && used < sizeof(text) - 32; i++)
		if (stuck_ns(&actors[i], now) > STUCK_S * NS_PER_S / 2)
			used += snprintf(text + used, sizeof(text) - used,
					 " %d", actors[i].tid);
	text[used++] = '\n';
	if (write(STDERR_FILENO, text, used) < 0)
		abort();
}

/* Ends the process, unless a runner is there to judge, and time to do it. */
static void tell_of(struct actor *actor, int64_t now)
{
	int64_t hard_limit = hard_limit_s() * NS_PER_S;

	if (stuck_ns(actor, now) > hard_limit) {
		fprintf(stderr, "FAILED: tid %d stuck for %lld s, seed %llu\n",
			actor->tid,
			(long long)(stuck_ns(actor, now) / NS_PER_S),
			(unsigned long long)seed);
		dump();
		_exit(1);
	}
	if (now < next_ask_ns)
		return;
	fprintf(stderr, "tid %d stuck for %lld s, seed %llu\n", actor->tid,
		(long long)(stuck_ns(actor, now) / NS_PER_S),
		(unsigned long long)seed);
	dump();
	ask(now);
	next_ask_ns = now + STUCK_S * NS_PER_S / 2;
}

THREAD(watch, void *argument UNUSED)
{
	int64_t now;

	block_storm();
	for (;;) {
		usleep(250000);
		now = now_ns(CLOCK_MONOTONIC);
		for (int i = 0; i < ACTORS; i++)
			if (stuck_ns(&actors[i], now) > STUCK_S * NS_PER_S)
				tell_of(&actors[i], now);
	}
}

void watch_actors(void)
{
	pthread_t watcher;

	OK(pthread_create(&watcher, NULL, watch, NULL));
}

struct timespec soon(struct actor *actor, clockid_t clock)
{
	return in_ns(clock, next_random(&actor->random) % 2000000);
}

void dawdle(struct actor *actor)
{
	uint32_t choice = next_random(&actor->random) % 64;

	if (choice == 0)
		usleep(next_random(&actor->random) % 300);
	else if (choice < 4)
		sched_yield();
	else
		while (choice--)
			__asm__ volatile("pause");
}
