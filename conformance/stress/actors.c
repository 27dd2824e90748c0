/*
 * Every thread counts what it gets done, and one that gets nothing done for
 * STUCK_S has been forgotten.
 */
#include "actors.h"

struct actor actors[ACTORS];
_Atomic long total;
_Atomic uint32_t actors_so_far;
uint64_t seed = 1;

struct actor *appear(const char *role)
{
	uint32_t number = ++actors_so_far;
	const char *nobody;
	int i;

	for (i = 0; i < ACTORS; i++) {
		nobody = NULL;
		if (!atomic_compare_exchange_strong(&actors[i].role, &nobody,
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
	int i;

	for (i = 0; i < ACTORS; i++)
		if (actors[i].role)
			fprintf(stderr, "  %-12s tid %d: %s %d, %ld done%s\n",
				actors[i].role, actors[i].tid, actors[i].doing,
				actors[i].with, actors[i].progress,
				is_asleep(actors[i].tid) ? ", asleep" : "");
}

static void *watch(void *argument UNUSED)
{
	int64_t now;
	int i;

	block_storm();
	for (;;) {
		usleep(250000);
		now = now_ns(CLOCK_MONOTONIC);
		for (i = 0; i < ACTORS; i++) {
			struct actor *actor = &actors[i];

			if (!actor->role || actor->seen != actor->progress) {
				actor->seen = actor->progress;
				actor->seen_ns = now;
			} else if (now - actor->seen_ns > STUCK_S * NS_PER_S) {
				fprintf(stderr,
					"FAILED: tid %d stuck for %d s, seed %llu\n",
					actor->tid, STUCK_S,
					(unsigned long long)seed);
				dump();
				_exit(1);
			}
		}
	}
	return NULL;
}

void watch_actors(void)
{
	pthread_t watcher;

	OK(pthread_create(&watcher, NULL, watch, NULL));
}

struct timespec soon(struct actor *actor, clockid_t clock)
{
	struct timespec at = in_ms(clock, 0);

	at.tv_nsec += next_random(&actor->random) % 2000000;
	if (at.tv_nsec >= NS_PER_S) {
		at.tv_nsec -= NS_PER_S;
		at.tv_sec++;
	}
	return at;
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
