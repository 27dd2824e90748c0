/*
 * The storm of new objects: threads in lockstep, the places of rounds, children.
 *
 *	fresh [--seconds N] [--seed S]
 *
 * Prints what it did. Exit 0 if all checks held, 1 with a word on what did not,
 * 2 for wrong arguments. The seed repeats the choices, if not the schedule.
 */
#include "fresh.h"

#include <linux/futex.h>

enum {
	MOST = 4,		/* threads of a round */
	TEAM_ROUNDS = 500,	/* for which the same threads meet */
	PLACES = 8,
	IDLE = 200,		/* threads that own reader slots */
	STALE = 6,		/* threads that wait where objects lie */
	CHILD_READS = 150,	/* a rwlock gets hot by 128 */
};

#define STUCK_MS 2000

static const struct fresh_kind *const kinds[] = {
	&rwlock_kind,  &mutex_kind,	&cond_kind, &barrier_kind,
	&semaphore_kind, &once_kind,	&c11_kind,  &spin_kind,
};

enum { KINDS_HERE = sizeof(kinds) / sizeof(kinds[0]) };

static uint64_t seed;
static long rounds[KINDS_HERE], children;

/* For those who find it stuck. */
static const char *_Atomic kind_now = "nothing";
static _Atomic long round_now, done;
static _Atomic pid_t tids[MOST];
/* Which of these use the object: the others wait for them. */
static _Atomic bool inside[MOST];

void say_where(void)
{
	fprintf(stderr, "%s: round %ld, seed %llu\n", kind_now, round_now,
		(unsigned long long)seed);
}

/* ----------------------------------------------------------------- places -- */

static _Alignas(4096) char places[PLACES][PLACE_SIZE];

static void *choose_place(uint32_t *random)
{
	static const int offsets[3] = { 0, 64, 72 };
	char *place = places[next_random(random) % PLACES];

	return place + offsets[next_random(random) % 3];
}

/* --------------------------------------------------------------- lockstep -- */

/* The leader sets up a round for its team between two meetings. */
static struct {
	_Atomic long arrivals;
	int seats;
	uint32_t seed;
	const struct fresh_kind *kind;
	void *at;
	struct round round;
} team;

static void meet(long *met)
{
	int spins = team.seats > 2 ? 100 : 3000, spun = 0;

	*met += team.seats;
	team.arrivals++;
	while (team.arrivals < *met) {
		if (++spun % spins == 0)
			sched_yield();
		__asm__ volatile("pause");
	}
}

static struct seat take_seat(int number)
{
	uint32_t random = (team.seed + number) * 2654435761u;

	tids[number] = gettid();
	return (struct seat){ .number = number, .random = random | 1 };
}

static void leave_seats(void)
{
	int i;

	for (i = 0; i < MOST; i++)
		tids[i] = 0;
}

static void use(struct seat *seat)
{
	inside[seat->number] = true;
	team.kind->meet(team.at, &team.round, seat);
	inside[seat->number] = false;
}

static void *follow(void *argument)
{
	struct seat seat = take_seat((int)(intptr_t)argument);
	long met = 0;
	int i;

	for (i = 0; i < TEAM_ROUNDS; i++) {
		meet(&met);
		waver(&seat);
		use(&seat);
		meet(&met);
	}
	return NULL;
}

/* Mostly a rwlock, whose beginning is the longest. Returns its number. */
static int begin_round(uint32_t *random, bool mortal)
{
	int kind = next_random(random) % 3 ? next_random(random) % KINDS_HERE : 0;

	memset(&team.round, 0, sizeof(team.round));
	team.round.number = ++round_now;
	team.round.seats = team.seats;
	team.round.choice = next_random(random);
	team.round.mortal = mortal;
	team.kind = kinds[kind];
	kind_now = team.kind->name;
	team.at = choose_place(random);
	team.kind->make(team.at, &team.round);
	return kind;
}

static void end_round(int kind)
{
	team.kind->end(team.at, &team.round);
	rounds[kind]++;
	done++;
}

static void run_team(uint32_t *random)
{
	struct thread threads[MOST];
	struct seat seat;
	long met = 0;
	int i, kind;

	team.arrivals = 0;
	for (i = 1; i < team.seats; i++)
		start(&threads[i], follow, (void *)(intptr_t)i);
	seat = take_seat(0);
	for (i = 0; i < TEAM_ROUNDS; i++) {
		kind = begin_round(random, false);
		meet(&met);
		waver(&seat);
		use(&seat);
		meet(&met);
		end_round(kind);
	}
	for (i = 1; i < team.seats; i++)
		join(&threads[i]);
	leave_seats();
}

static void *live_for_a_round(void *argument)
{
	struct seat seat = take_seat((int)(intptr_t)argument);
	long met = 0;

	meet(&met);
	use(&seat);
	return NULL;
}

/* One round of threads that are new, and end as soon as they are through. */
static void run_mortals(uint32_t *random)
{
	struct thread threads[MOST];
	int i, kind;

	team.arrivals = 0;
	kind = begin_round(random, true);
	for (i = 0; i < team.seats; i++)
		start(&threads[i], live_for_a_round, (void *)(intptr_t)i);
	for (i = 0; i < team.seats; i++)
		join(&threads[i]);
	leave_seats();
	end_round(kind);
}

/* ---------------------------------------------------------- stale waiters -- */

/*
 * Waits for a word where objects come to lie meanwhile, as one does that was
 * requeued to a word that is gone. A lock there must wake its own waiters. (The
 * kernel wakes by address, so that glibc's can't tell.)
 */
static void *wait_where_objects_lie(void *argument)
{
	static const struct timespec limit = { .tv_nsec = 20000000 };
	uint32_t random = (uint32_t)(uintptr_t)argument * 2654435761u | 1;

	for (;;) {
		_Atomic uint32_t *word = choose_place(&random);

		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, *word, &limit);
	}
	return NULL;
}

static void leave_stale_waiters(void)
{
	static struct thread threads[STALE];
	int i;

	for (i = 0; i < STALE; i++)
		start(&threads[i], wait_where_objects_lie,
		      (void *)(uintptr_t)(i + 1));
}

/* --------------------------------------------------------------- children -- */

static struct objects {
	pthread_mutex_t mutex;
	pthread_rwlock_t lock;
	sem_t semaphore;
} *objects;

static _Atomic bool stop;
static _Atomic int here;
static int counted;

static void *use_until_stop(void *argument UNUSED)
{
	while (!stop) {
		OK(pthread_rwlock_rdlock(&objects->lock));
		OK(pthread_rwlock_unlock(&objects->lock));
		OK(pthread_mutex_lock(&objects->mutex));
		OK(pthread_mutex_unlock(&objects->mutex));
		if (pthread_rwlock_trywrlock(&objects->lock) == 0)
			OK(pthread_rwlock_unlock(&objects->lock));
	}
	return NULL;
}

static void *use_in_child(void *argument UNUSED)
{
	int i;

	here++;
	while (here < 2)
		sched_yield();
	for (i = 0; i < CHILD_READS; i++) {
		OK(pthread_rwlock_rdlock(&objects->lock));
		OK(pthread_rwlock_unlock(&objects->lock));
	}
	OK(pthread_rwlock_wrlock(&objects->lock));
	OK(pthread_mutex_lock(&objects->mutex));
	counted++;
	CHECK_EQ(sem_post(&objects->semaphore), 0);
	OK(pthread_mutex_unlock(&objects->mutex));
	OK(pthread_rwlock_unlock(&objects->lock));
	return NULL;
}

static void __attribute__((noreturn)) be_a_child(void)
{
	struct thread threads[2];
	int i, value;

	for (i = 0; i < 2; i++)
		start(&threads[i], use_in_child, NULL);
	for (i = 0; i < 2; i++)
		CHECK_EQ(sem_wait(&objects->semaphore), 0);
	for (i = 0; i < 2; i++)
		join(&threads[i]);
	CHECK_EQ(counted, 2);
	OK(pthread_rwlock_trywrlock(&objects->lock));
	OK(pthread_mutex_trylock(&objects->mutex));
	CHECK_EQ(sem_getvalue(&objects->semaphore, &value), 0);
	CHECK_EQ(value, 0);
	_exit(0);
}

/*
 * The child gets the mutex and the rwlock as their holder, while others want
 * the mutex. (glibc's rwlock counts readers in before it has let them in: the
 * parent's would stay in the child. So that one is made anew there.)
 */
static void run_child(uint32_t *random)
{
	struct thread thread;
	pid_t child;
	int i;

	kind_now = "a child";
	tids[0] = gettid();
	objects = choose_place(random);
	OK(pthread_mutex_init(&objects->mutex, NULL));
	OK(pthread_rwlock_init(&objects->lock, NULL));
	CHECK_EQ(sem_init(&objects->semaphore, 0, 0), 0);
	stop = false;
	start(&thread, use_until_stop, NULL);
	for (i = next_random(random) % CHILD_READS; i > 0; i--) {
		OK(pthread_rwlock_rdlock(&objects->lock));
		OK(pthread_rwlock_unlock(&objects->lock));
	}
	OK(pthread_mutex_lock(&objects->mutex));
	OK(pthread_rwlock_wrlock(&objects->lock));
	child = fork();
	CHECK(child >= 0);
	if (child == 0 && !under_furwock())
		OK(pthread_rwlock_init(&objects->lock, NULL));
	else
		OK(pthread_rwlock_unlock(&objects->lock));
	OK(pthread_mutex_unlock(&objects->mutex));
	if (child == 0)
		be_a_child();
	stop = true;
	join(&thread);
	REAP(child);
	pthread_rwlock_destroy(&objects->lock);
	children++;
	done++;
	leave_seats();
}

/* --------------------------------------------------------------- watching -- */

/*
 * As src/watchdog/runner.rs has it. Threads that spin until the others come
 * aren't the ones to judge, unless all do.
 */
static void ask(int64_t stuck_ms)
{
	bool any = false;
	char text[256];
	size_t used;
	int i;

	fprintf(stderr, "stuck for %lld ms: ", (long long)stuck_ms);
	say_where();
	for (i = 0; i < MOST; i++)
		any |= inside[i];
	used = snprintf(text, sizeof(text), "STUCK %d %d", getpid(), STUCK_MS);
	for (i = 0; i < MOST; i++)
		if (tids[i] && (inside[i] || !any))
			used += snprintf(text + used, sizeof(text) - used,
					 " %d", tids[i]);
	text[used++] = '\n';
	if (write(STDERR_FILENO, text, used) < 0)
		abort();
}

static void *watch(void *argument UNUSED)
{
	int64_t now, since = 0, next_ask = 0;
	long seen = -1;

	for (;;) {
		sleep_ms(100);
		now = now_ns(CLOCK_MONOTONIC) / NS_PER_MS;
		if (seen != done) {
			seen = done;
			since = now;
			continue;
		}
		if (now - since < STUCK_MS || now < next_ask)
			continue;
		if (now - since > (int64_t)hard_limit_s() * 1000) {
			say_where();
			FAIL("stuck for %lld ms", (long long)(now - since));
		}
		ask(now - since);
		next_ask = now + STUCK_MS / 2;
	}
	return NULL;
}

/* ------------------------------------------------------------------- main -- */

static void *idle(void *lock)
{
	int i;

	for (i = 0; i < 3; i++) {
		OK(pthread_rwlock_rdlock(lock));
		OK(pthread_rwlock_unlock(lock));
	}
	for (;;)
		pause();
	return NULL;
}

/* Threads that have read a biased lock: whoever looks at all takes longer. */
static void own_rows(void)
{
	static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	static struct thread threads[IDLE];
	pthread_attr_t attr;
	int i;

	for (i = 0; i < 300; i++) {
		OK(pthread_rwlock_rdlock(&lock));
		OK(pthread_rwlock_unlock(&lock));
	}
	OK(pthread_attr_init(&attr));
	OK(pthread_attr_setstacksize(&attr, 64 << 10));
	for (i = 0; i < IDLE; i++)
		start_with(&threads[i], &attr, idle, &lock);
	OK(pthread_attr_destroy(&attr));
}

static int parse(int argc, char **argv, long *seconds)
{
	int i;

	for (i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seconds"))
			*seconds = atol(argv[i + 1]);
		else if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 10);
		else
			return -1;
	}
	return i == argc && *seconds > 0 ? 0 : -1;
}

static void report(void)
{
	long all = 0;
	int i;

	for (i = 0; i < KINDS_HERE; i++)
		all += rounds[i];
	printf("passed: %ld rounds", all);
	for (i = 0; i < KINDS_HERE; i++)
		printf("%s %s %ld", i ? "," : ":", kinds[i]->name, rounds[i]);
	printf("; forked: %ld\n", children);
}

int main(int argc, char **argv)
{
	static const int sizes[5] = { 2, 2, 2, 3, 4 };
	int64_t start_ns, ns;
	bool rows_owned = false;
	long seconds = 20;
	struct thread watcher;
	uint32_t random;
	int i;

	seed = (uint64_t)now_ns(CLOCK_REALTIME) % 1000000007;
	if (parse(argc, argv, &seconds)) {
		fprintf(stderr, "usage: fresh [--seconds N] [--seed S]\n");
		return 2;
	}
	running = "fresh";
	random = (uint32_t)seed * 2654435761u | 1;
	start_ns = now_ns(CLOCK_MONOTONIC);
	start(&watcher, watch, NULL);
	if (under_furwock())
		leave_stale_waiters();
	while ((ns = now_ns(CLOCK_MONOTONIC) - start_ns) < seconds * NS_PER_S) {
		if (!rows_owned && ns > seconds * NS_PER_S / 4) {
			rows_owned = true;
			own_rows();
		}
		team.seats = sizes[next_random(&random) % 5];
		team.seed = next_random(&random);
		run_team(&random);
		for (i = 0; i < 8; i++)
			run_mortals(&random);
		run_child(&random);
	}
	report();
	return 0;
}
