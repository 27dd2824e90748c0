/*
 * A random mix of all that the preload replaces, with a watchdog that looks for
 * lost wakeups, or a storm of one of the things that go badly with locks.
 *
 *	stress [--seconds N] [--seed S] [--storm fork|signal|cancel|all]
 *
 * Prints the seed, which repeats the choices, if not the schedule. Exit 0 if
 * every thread got on and the sums are right, 1 with a word on what each was
 * doing if not, 2 for wrong arguments.
 */
#include "actors.h"

/* How many times as many threads a storm has as the mix. */
#define STORM 4

_Atomic bool stop;

static struct thread threads[ACTORS];
static int count;

static const struct subject *const subjects[] = {
	&locks_subject,	  &semaphores_subject, &barriers_subject,
	&rwlocks_subject, &cancels_subject,    &forks_subject,
	&signals_subject,
};

enum { SUBJECTS = COUNT(subjects) };

void enlist(void *(*run)(void *), void *argument)
{
	CHECK(count < ACTORS);
	start(&threads[count++], run, argument);
}

/* 0: not in this run. */
static int strength(const struct subject *subject, const char *storm)
{
	if (!storm || !subject->is_storm)
		return 1;
	return !strcmp(storm, "all") || !strcmp(storm, subject->name) ? STORM
								      : 0;
}

static bool is_storm(const char *name)
{
	for (int i = 0; i < SUBJECTS; i++)
		if (subjects[i]->is_storm && !strcmp(subjects[i]->name, name))
			return true;
	return !strcmp(name, "all");
}

static int parse(int argc, char **argv, long *seconds, const char **storm)
{
	int i;

	for (i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seconds"))
			*seconds = atol(argv[i + 1]);
		else if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--storm") && is_storm(argv[i + 1]))
			*storm = argv[i + 1];
		else
			return -1;
	}
	return i == argc && *seconds > 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	const char *storm = NULL;
	long seconds = 10;

	seed = (uint64_t)now_ns(CLOCK_REALTIME) % 1000000007;
	if (parse(argc, argv, &seconds, &storm)) {
		fprintf(stderr, "usage: stress [--seconds N] [--seed S] "
				"[--storm fork|signal|cancel|all]\n");
		return 2;
	}
	printf("seed %llu, %ld s, %s\n", (unsigned long long)seed, seconds,
	       storm ? storm : "mix");
	fflush(stdout);
	running = "stress";
	watch_actors();
	for (int i = 0; i < SUBJECTS; i++)
		if (strength(subjects[i], storm))
			subjects[i]->begin(strength(subjects[i], storm));
	sleep_ms(seconds * 1000);
	stop = true;
	for (int i = 0; i < SUBJECTS; i++)
		if (subjects[i]->finish && strength(subjects[i], storm))
			subjects[i]->finish();
	join_all(threads, count);
	for (int i = 0; i < SUBJECTS; i++) {
		if (!strength(subjects[i], storm))
			continue;
		if (subjects[i]->check)
			subjects[i]->check();
		if (subjects[i]->report)
			subjects[i]->report();
	}
	printf("passed: %ld operations, %u threads\n", total, actors_so_far);
	return 0;
}
