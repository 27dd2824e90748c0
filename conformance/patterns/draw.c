/* Draws a pattern from a seed, and says it. */
#include "pattern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pattern it;

/* splitmix64 (Steele, Lea and Flood 2014). */
uint64_t draw(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

double draw_share(uint64_t *state)
{
	return (double)(draw(state) >> 11) / (1ull << 53);
}

int draw_below(uint64_t *state, int end)
{
	return (int)(draw(state) % (uint64_t)end);
}

#define DRAW_OF(state, array)                                                  \
	(array)[draw_below(state, sizeof(array) / sizeof *(array))]

static struct work draw_work(uint64_t *seed, double most_us)
{
	struct work work = {.action = COMPUTES};
	int action = draw_below(seed, 10);
	if (action == 8)
		work.action = SLEEPS;
	if (action == 9)
		work.action = YIELDS_AND_COMPUTES;
	work.spread = draw_below(seed, 4);
	double least_us = 0.05;
	work.us = least_us * pow(most_us / least_us, draw_share(seed));
	if (work.action == SLEEPS && work.us < 20)
		work.us = 20;
	if (work.spread == NOTHING)
		work.action = COMPUTES;
	return work;
}

static struct works draw_works(uint64_t *seed)
{
	struct works works;
	works.inside = draw_work(seed, 300);
	works.outside = draw_work(seed, 1000);
	return works;
}

void draw_pattern(uint64_t seed)
{
	static const int threads[] = {2, 2,  3,	 4,  4,		  6,
				      8, 12, 16, 24, MOST_THREADS};
	static const int locks[] = {1, 1, 1, 1, 2, 4, MOST_LOCKS};
	static const int writes[] = {1, 10, 30, 100, 300, 500};
	static const int rooms[] = {1, 2, 8, 64, 1000};
	static const int computing[] = {0, 0, 0, 0, 1, 2};
	static const int kinds[] = {
		MUTEX,	MUTEX,	MUTEX, MUTEX, RWLOCK,	 RWLOCK,
		RWLOCK, QUEUE,	QUEUE, QUEUE, SEMAPHORE, BARRIER,
		POOL,	PHASES, RING,  TURNS, DEADLINES, SPINLOCK};
	static const int types[] = {NORMAL,    NORMAL,	 NORMAL, NORMAL,
				    NORMAL,    NORMAL,	 NORMAL, RECURSIVE,
				    RECURSIVE, CHECKING, ROBUST, INHERITING};
	static const int after_ms[] = {0, 0, 0, 0, 0, 1, 10, 100};
	static const int lives[] = {0, 0, 0, 0, 0, 0, 0, 1, 10, 100, 1000};
	it.kind = DRAW_OF(&seed, kinds);
	it.threads = DRAW_OF(&seed, threads);
	it.locks = DRAW_OF(&seed, locks);
	it.writes_in_1000 = DRAW_OF(&seed, writes);
	it.permits = 1 + draw_below(&seed, 3);
	it.room = DRAW_OF(&seed, rooms);
	it.producers = 1 + draw_below(&seed, it.threads - 1);
	it.broadcasts = draw_below(&seed, 3) == 0;
	it.late = draw_below(&seed, 2);
	it.nests = draw_below(&seed, 5) == 0;
	it.tries = draw_below(&seed, 5) == 0;
	it.timed = draw_below(&seed, 6) == 0;
	it.computing = DRAW_OF(&seed, computing);
	it.parked = draw_below(&seed, 4) == 0 ? PARKED : 0;
	it.bound = draw_below(&seed, 4) == 0;
	it.works = draw_works(&seed);
	it.type = DRAW_OF(&seed, types);
	it.shared = draw_below(&seed, 8) == 0;
	it.writers_first = draw_below(&seed, 4) == 0;
	it.others = draw_works(&seed);
	it.odd = draw_below(&seed, 4) == 0;
	it.changes_after_ms = DRAW_OF(&seed, after_ms);
	it.lives_for = DRAW_OF(&seed, lives);
	it.interrupted = draw_below(&seed, 8) == 0;
}

/* What the change says of the number, if it is that one's. */
static const char *value_of(const char *change, const char *name)
{
	size_t length = strlen(name);
	int is_this = !strncmp(change, name, length) && change[length] == '=';
	return is_this ? change + length + 1 : NULL;
}

int change_pattern(const char *change)
{
#define NAMED(name)                                                            \
	{                                                                      \
		#name, &it.name                                                \
	}
	static const struct {
		const char *name;
		int *value;
	} numbers[] = {
		NAMED(threads),
		NAMED(locks),
		NAMED(writes_in_1000),
		NAMED(permits),
		NAMED(room),
		NAMED(producers),
		NAMED(broadcasts),
		NAMED(late),
		NAMED(nests),
		NAMED(tries),
		NAMED(timed),
		NAMED(computing),
		NAMED(parked),
		NAMED(bound),
		NAMED(shared),
		NAMED(lives_for),
		NAMED(odd),
		NAMED(changes_after_ms),
		NAMED(interrupted),
		NAMED(writers_first),
	};
	static const struct {
		const char *name;
		struct work *work;
	} works[] = {
		{"inside", &it.works.inside},
		{"outside", &it.works.outside},
		{"others_inside", &it.others.inside},
		{"others_outside", &it.others.outside},
	};
	const char *value;
	for (size_t at = 0; at < sizeof(numbers) / sizeof *numbers; at++) {
		if ((value = value_of(change, numbers[at].name))) {
			*numbers[at].value = atoi(value);
			return 1;
		}
	}
	for (size_t at = 0; at < sizeof(works) / sizeof *works; at++) {
		if ((value = value_of(change, works[at].name))) {
			struct work *work = works[at].work;
			work->us = atof(value);
			work->spread = work->us == 0		 ? NOTHING
				       : work->spread == NOTHING ? CONSTANT
								 : work->spread;
			return 1;
		}
	}
	if ((value = value_of(change, "kind")))
		it.kind = (enum kind)atoi(value);
	else if ((value = value_of(change, "type")))
		it.type = (enum mutex_type)atoi(value);
	return value != NULL;
}

static void describe_work(const char *where, struct work work)
{
	static const char *const actions[] = {"computes", "sleeps",
					      "yields and computes"};
	static const char *const spreads[] = {"", "", ", exponential",
					      ", one in ten is long"};
	if (work.spread == NOTHING)
		printf(", nothing %s", where);
	else
		printf(", %s %.2f us %s%s", actions[work.action], work.us,
		       where, spreads[work.spread]);
}

static void describe_works(struct works works)
{
	describe_work("inside", works.inside);
	describe_work("outside", works.outside);
}

static int has_mutex(void)
{
	return it.kind != RWLOCK && it.kind != SEMAPHORE &&
	       it.kind != BARRIER && it.kind != SPINLOCK;
}

void describe_pattern(void)
{
	static const char *const kinds[KINDS] = {
		[MUTEX] = "mutex",	   [RWLOCK] = "rwlock",
		[SEMAPHORE] = "semaphore", [QUEUE] = "queue",
		[BARRIER] = "barrier",	   [POOL] = "queue of semaphores",
		[PHASES] = "phases",	   [RING] = "ring",
		[TURNS] = "turns",	   [DEADLINES] = "deadlines",
		[SPINLOCK] = "spinlock",
	};
	static const char *const types[MUTEX_TYPES] = {
		[NORMAL] = "",
		[RECURSIVE] = ", recursive",
		[CHECKING] = ", error-checking",
		[ROBUST] = ", robust",
		[INHERITING] = ", of inherited priority",
	};
	printf("%s x %d", kinds[it.kind], it.threads);
	if (it.locks > 1 && (it.kind <= SEMAPHORE || it.kind == SPINLOCK))
		printf(", %d locks", it.locks);
	if (has_mutex())
		printf("%s", types[it.type]);
	if (it.kind == MUTEX)
		printf("%s%s%s",
		       it.nests && it.locks > 1 ? ", two at once" : "",
		       it.tries ? ", tries first" : "",
		       it.timed ? ", with a deadline" : "");
	if (it.kind == RWLOCK)
		printf(", %.1f %% writes%s%s", it.writes_in_1000 / 10.0,
		       it.tries ? ", tries first" : "",
		       it.writers_first ? ", writers first" : "");
	if (it.kind == SEMAPHORE)
		printf(", %d permits", it.permits);
	if (it.kind == QUEUE || it.kind == POOL)
		printf(", room for %d, %d producers", it.room, it.producers);
	if (it.kind == QUEUE)
		printf(", %s", it.broadcasts ? "broadcasts" : "signals");
	if (it.kind == QUEUE || it.kind == PHASES || it.kind == RING ||
	    it.kind == TURNS)
		printf(" %s the mutex", it.late ? "under" : "after");
	if (it.shared)
		printf(", for processes");
	describe_works(it.works);
	if (it.odd || it.changes_after_ms)
		printf(" (");
	if (it.odd)
		printf("one thread");
	if (it.changes_after_ms)
		printf("%severy other %d ms", it.odd ? " and " : "",
		       it.changes_after_ms);
	if (it.odd || it.changes_after_ms) {
		describe_works(it.others);
		printf(")");
	}
	if (it.lives_for)
		printf(", threads live for %d operations", it.lives_for);
	if (it.interrupted)
		printf(", a signal each ms");
	if (it.computing)
		printf(", %d threads compute", it.computing);
	if (it.parked)
		printf(", %d are parked", it.parked);
	puts(it.bound ? ", on one processor" : "");
}
