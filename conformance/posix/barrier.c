/* XSH, the pages of barriers and their attributes. */
#include "attributes.h"
#include "children.h"
#include "clause.h"
#include "crowd.h"
#include "enough.h"
#include "handlers.h"
#include "memory.h"

/* Each clause runs in a process of its own, with these. */
static pthread_barrierattr_t attr;
static pthread_barrier_t barrier;

/* A clause of `barrier`, which is made before the check and destroyed after it. */
#define BARRIER_CLAUSE(test, count, says)				\
	CLAUSE_WITHIN(OK(pthread_barrier_init(&barrier, NULL, count)),	\
		      OK(pthread_barrier_destroy(&barrier)), test, says)

/* Threads that meet at a barrier, round after round. */
struct meeting {
	pthread_barrier_t barrier;
	int rounds;
	_Atomic int arrived, serial, left;
	/* Written by each before a round, read by each after it. */
	int written[16];
	int people;
	struct thread threads[16];
};

THREAD(meet_often, struct meeting *meeting)
{
	int me = meeting->arrived++;

	for (int round = 1; round <= meeting->rounds; round++) {
		meeting->written[me] = round;
		meeting->serial += meet_at(&meeting->barrier);
		for (int i = 0; i < meeting->people; i++)
			CHECK_EQ(meeting->written[i], round);
		/* No thread writes for the next round before all have read. */
		meeting->serial += meet_at(&meeting->barrier);
	}
	meeting->left++;
}

static void start_meeting(struct meeting *meeting, int people, int rounds)
{
	*meeting = (struct meeting){ .people = people, .rounds = rounds };
	OK(pthread_barrier_init(&meeting->barrier, NULL, people));
	start_all(meeting->threads, people, meet_often, meeting);
}

static void end_meeting(struct meeting *meeting)
{
	join_all(meeting->threads, meeting->people);
	CHECK_EQ(meeting->left, meeting->people);
	CHECK_EQ(meeting->serial, 2 * meeting->rounds);
	OK(pthread_barrier_destroy(&meeting->barrier));
}

/* One that waits once. */
struct guest {
	struct thread thread;
	pthread_barrier_t *barrier;
	int got;
	_Atomic bool done;
};

THREAD(wait_once, struct guest *guest)
{
	errno = 4717;
	guest->got = pthread_barrier_wait(guest->barrier);
	CHECK_EQ(errno, 4717);
	guest->done = true;
}

static void start_guest(struct guest *guest, pthread_barrier_t *barrier)
{
	*guest = (struct guest){ .barrier = barrier };
	start(&guest->thread, wait_once, guest);
}

/* Sleeps at the barrier when this returns. */
static void seat_guest(struct guest *guest, pthread_barrier_t *barrier)
{
	start_guest(guest, barrier);
	until_asleep(&guest->thread);
	CHECK(!guest->done);
}

static int count_done(const struct guest *guests, int of)
{
	int done = 0;

	for (int i = 0; i < of; i++)
		done += guests[i].done;
	return done;
}

/* How many of them were told that they are the one; the others got 0. */
static int join_guests(struct guest *guests, int count)
{
	int serial = 0;

	for (int i = 0; i < count; i++) {
		join(&guests[i].thread);
		if (guests[i].got == PTHREAD_BARRIER_SERIAL_THREAD)
			serial++;
		else
			OK(guests[i].got);
	}
	return serial;
}

/* At a barrier for two, a thread that sleeps there and one that comes later. */
static void check_two_meet(pthread_barrier_t *barrier)
{
	struct guest guests[2];

	seat_guest(&guests[0], barrier);
	start_guest(&guests[1], barrier);
	CHECK_EQ(join_guests(guests, 2), 1);
}

/* The same, after which it is destroyed. */
static void check_and_destroy(pthread_barrier_t *barrier)
{
	check_two_meet(barrier);
	OK(pthread_barrier_destroy(barrier));
}

/* -------------------------------------------------- pthread_barrier_init -- */

CLAUSE(pthread_barrier_init__desc_2__null_is_the_default,
       "NULL for the attributes is the same as their defaults")
{
	for (int i = 0; i < 2; i++) {
		OK(pthread_barrierattr_init(&attr));
		OK(pthread_barrier_init(&barrier, i ? &attr : NULL, 2));
		OK(pthread_barrierattr_destroy(&attr));
		check_and_destroy(&barrier);
	}
}

CLAUSE(pthread_barrier_init__desc_2__what_was_there_does_not_matter,
       "the memory may hold anything before")
{
	for (EACH_FILLING(barrier)) {
		OK(pthread_barrier_init(&barrier, NULL, 2));
		check_and_destroy(&barrier);
	}
}

CLAUSE(pthread_barrier_init__desc_2__writes_only_where_it_lies,
       "nothing beside the barrier is written")
{
	GUARDED(pthread_barrier_t) memory;

	GUARD(memory);
	OK(pthread_barrier_init(&memory.object, NULL, 2));
	check_and_destroy(&memory.object);
	CHECK_GUARDED(memory);
}

CLAUSE(pthread_barrier_init__desc_3__nobody_returns_before_count,
       "as many threads as count says must wait before any returns")
{
	struct guest guests[6];

	for (int count = 2; count <= 6; count++) {
		OK(pthread_barrier_init(&barrier, NULL, count));
		for (int i = 0; i < count - 1; i++)
			seat_guest(&guests[i], &barrier);
		sleep_ms(3);
		for (int i = 0; i < count - 1; i++)
			CHECK(!guests[i].done);
		start_guest(&guests[count - 1], &barrier);
		CHECK_EQ(join_guests(guests, count), 1);
		OK(pthread_barrier_destroy(&barrier));
	}
}

BARRIER_CLAUSE(pthread_barrier_init__desc_3__count_of_one, 1,
	       "a count of one never waits, and always tells its thread that it is the one")
{
	for (int i = 0; i < 100; i++)
		CHECK_EQ(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
}

/* glibc's limit leaves it room to count those that come too early. */
CLAUSE(pthread_barrier_init__desc_3__large_counts,
       "counts may be larger than there will ever be threads: in glibc up to INT_MAX - 1")
{
	static const unsigned int counts[] = {
		2, 1000, 65535, 65536, 1 << 24, 1 << 30, INT_MAX - 1,
	};
	struct guest guest;

	for (EACH(i, counts)) {
		OK(pthread_barrier_init(&barrier, NULL, counts[i]));
		OK(pthread_barrier_destroy(&barrier));
	}
	OK(pthread_barrier_init(&barrier, NULL, INT_MAX - 1));
	seat_guest(&guest, &barrier);
	sleep_ms(3);
	CHECK(!guest.done);
	/* Its memory stays: the guest is there until the process ends. */
	exit(0);
}

CLAUSE(pthread_barrier_init__err_EINVAL__count_of_zero, "the count is 0")
{
	CHECK_ERR(pthread_barrier_init(&barrier, NULL, 0), EINVAL);
	OK(pthread_barrierattr_init(&attr));
	OK(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	CHECK_ERR(pthread_barrier_init(&barrier, &attr, 0), EINVAL);
	OK(pthread_barrierattr_destroy(&attr));
}

CLAUSE(pthread_barrier_init__err_EINVAL__count_beyond_glibcs_limit,
       "the count is INT_MAX or more: glibc's limit, not the standard's")
{
	CHECK_ERR(pthread_barrier_init(&barrier, NULL, INT_MAX), EINVAL);
	CHECK_ERR(pthread_barrier_init(&barrier, NULL, INT_MAX + 1U), EINVAL);
	CHECK_ERR(pthread_barrier_init(&barrier, NULL, UINT_MAX), EINVAL);
}

CLAUSE(pthread_barrier_init__desc_4__failed_leaves_the_memory,
       "a call that failed has made no barrier; the next one can")
{
	OK(pthread_barrier_init(&barrier, NULL, 2));
	OK(pthread_barrier_destroy(&barrier));
	CHECK_ERR(pthread_barrier_init(&barrier, NULL, 0), EINVAL);
	OK(pthread_barrier_init(&barrier, NULL, 2));
	check_and_destroy(&barrier);
}

/* ----------------------------------------------- pthread_barrier_destroy -- */

CLAUSE(pthread_barrier_destroy__desc_1__may_be_initialised_again,
       "a destroyed barrier may be initialised again, with another count")
{
	struct guest guests[4];

	for (int count = 1; count <= 4; count++) {
		OK(pthread_barrier_init(&barrier, NULL, count));
		for (int i = 0; i < count; i++)
			start_guest(&guests[i], &barrier);
		CHECK_EQ(join_guests(guests, count), 1);
		OK(pthread_barrier_destroy(&barrier));
	}
}

struct vanishing {
	pthread_barrier_t *barrier;
	_Atomic int turn;
	_Atomic int last;
};

THREAD(meet_where_it_vanishes, struct vanishing *vanishing)
{
	for (int i = 1; i <= vanishing->last; i++) {
		while (vanishing->turn != i)
			sched_yield();
		meet_at(vanishing->barrier);
	}
}

/*
 * A thread that returns from the wait may destroy the barrier and free its
 * memory. The others may be inside still: destroying waits for them.
 */
CLAUSE(pthread_barrier_destroy__desc_1__right_after_the_wait,
       "a thread that returns from the last wait may destroy it at once and free its memory, "
       "though others haven't returned")
{
	struct vanishing vanishing = { .last = 1500 };
	struct thread others[2];

	START_ALL(others, meet_where_it_vanishes, &vanishing);
	for (int i = 1; i <= vanishing.last; i++) {
		if (enough())
			vanishing.last = i;
		vanishing.barrier = new_page();
		OK(pthread_barrier_init(vanishing.barrier, NULL, 3));
		vanishing.turn = i;
		meet_at(vanishing.barrier);
		OK(pthread_barrier_destroy(vanishing.barrier));
		give_back(vanishing.barrier);
	}
	JOIN_ALL(others);
}

CLAUSE(pthread_barrier_destroy__desc_1__by_the_serial_thread,
       "the same with others that have slept")
{
	pthread_barrier_t *barrier;
	struct guest guests[3];
	bool serial;

	for (int round = 0; round < 40; round++) {
		barrier = new_page();
		OK(pthread_barrier_init(barrier, NULL, 4));
		for (int i = 0; i < 3; i++)
			seat_guest(&guests[i], barrier);
		serial = meet_at(barrier);
		OK(pthread_barrier_destroy(barrier));
		give_back(barrier);
		CHECK_EQ(serial + join_guests(guests, 3), 1);
	}
}

CLAUSE(pthread_barrier_destroy__ret__zero_when_unused, "0 on success")
{
	OK(pthread_barrier_init(&barrier, NULL, 3));
	CHECK_EQ(pthread_barrier_destroy(&barrier), 0);
}

/* -------------------------------------------------- pthread_barrier_wait -- */

BARRIER_CLAUSE(pthread_barrier_wait__desc_1__all_at_once, 12,
	       "it blocks until as many threads have called it as count says")
{
	struct guest guests[12];

	for (int i = 0; i < 12; i++)
		start_guest(&guests[i], &barrier);
	CHECK_EQ(join_guests(guests, 12), 1);
}

CLAUSE(pthread_barrier_wait__desc_2__one_is_told_in_each_round,
       "one thread gets PTHREAD_BARRIER_SERIAL_THREAD, the others 0, in each of thousands of "
       "rounds; what they wrote before is seen after")
{
	struct meeting meeting;

	start_meeting(&meeting, 3, 1500);
	end_meeting(&meeting);
	start_meeting(&meeting, 2, 3000);
	end_meeting(&meeting);
}

CLAUSE(pthread_barrier_wait__desc_2__many_threads_many_rounds,
       "the same, with more threads than processors")
{
	struct meeting meeting;

	start_meeting(&meeting, 16, 150);
	end_meeting(&meeting);
}

/* Each comes to one barrier, and ends: others are new, and may be in its place. */
CLAUSE(pthread_barrier_wait__desc_2__threads_that_end_at_once,
       "the same, with threads that end right after their round")
{
	pthread_barrier_t barriers[2];
	struct guest guests[2][3];

	for (int i = 0; i < 2; i++)
		OK(pthread_barrier_init(&barriers[i], NULL, 3));
	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 6; i++)
			start_guest(&guests[i % 2][i / 2], &barriers[i % 2]);
		for (int i = 0; i < 2; i++)
			CHECK_EQ(join_guests(guests[i], 3), 1);
	}
	for (int i = 0; i < 2; i++)
		OK(pthread_barrier_destroy(&barriers[i]));
}

/* Those that are too many belong to the next round, or the one after it. */
BARRIER_CLAUSE(pthread_barrier_wait__desc_2__more_threads_than_count, 3,
	       "threads beyond count make up later rounds")
{
	struct guest guests[12];

	for (int i = 0; i < 11; i++) {
		start_guest(&guests[i], &barrier);
		if (i % 4 == 0)
			usleep(300);
	}
	UNTIL(count_done(guests, 11) >= 9);
	sleep_ms(5);
	CHECK_EQ(count_done(guests, 11), 9);
	start_guest(&guests[11], &barrier);
	CHECK_EQ(join_guests(guests, 12), 4);
}

static _Atomic int turns, serial;

/* All of them together take a number of turns that the count divides. */
THREAD(crowd_in, void *argument UNUSED)
{
	while (turns++ < 4000)
		serial += meet_at(&barrier);
}

BARRIER_CLAUSE(pthread_barrier_wait__desc_2__a_crowd_at_a_small_barrier, 2,
	       "the same, with threads that keep coming back: one is told in each round")
{
	run_together(5, crowd_in, NULL);
	CHECK_EQ(serial, 2000);
}

BARRIER_CLAUSE(pthread_barrier_wait__desc_2__as_new_after_a_round, 3,
	       "a round leaves the barrier as it was initialised")
{
	struct guest guests[3];

	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 2; i++)
			seat_guest(&guests[i], &barrier);
		CHECK(!guests[0].done && !guests[1].done);
		start_guest(&guests[2], &barrier);
		CHECK_EQ(join_guests(guests, 3), 1);
	}
}

CLAUSE(pthread_barrier_wait__desc_3__serial_is_no_error_number,
       "PTHREAD_BARRIER_SERIAL_THREAD is neither 0 nor an error number")
{
	CHECK(PTHREAD_BARRIER_SERIAL_THREAD != 0);
	CHECK(PTHREAD_BARRIER_SERIAL_THREAD < 0);
}

static void wait_through_handlers(int flags)
{
	struct guest guests[2];

	handle(flags);
	OK(pthread_barrier_init(&barrier, NULL, 2));
	seat_guest(&guests[0], &barrier);
	for (int i = 0; i < 100; i++) {
		shoot(&guests[0].thread);
		CHECK(!guests[0].done);
	}
	start_guest(&guests[1], &barrier);
	CHECK_EQ(join_guests(guests, 2), 1);
	OK(pthread_barrier_destroy(&barrier));
}

CLAUSE(pthread_barrier_wait__desc_5__waits_on_after_a_handler,
       "after a handler it goes on waiting; never EINTR")
{
	wait_through_handlers(0);
	wait_through_handlers(SA_RESTART);
}

static _Atomic bool in_handler, leave_handler;

static void linger(int signal UNUSED)
{
	in_handler = true;
	while (!leave_handler)
		sched_yield();
}

/* The others came while it was in the handler; it goes on when it returns. */
BARRIER_CLAUSE(pthread_barrier_wait__desc_5__completed_during_the_handler, 3,
	       "when all came during the handler, it goes on after it")
{
	struct guest guests[3];

	handle_by(SIGUSR1, linger, 0);
	seat_guest(&guests[0], &barrier);
	OK(pthread_kill(guests[0].thread.pthread, SIGUSR1));
	UNTIL(in_handler);
	start_guest(&guests[1], &barrier);
	start_guest(&guests[2], &barrier);
	sleep_ms(5);
	CHECK(!guests[0].done);
	leave_handler = true;
	CHECK_EQ(join_guests(guests, 3), 1);
}

CLAUSE(pthread_barrier_wait__desc_5__rounds_under_fire, "handlers at any moment disturb no round")
{
	struct meeting meeting;

	handle(0);
	/* On a busy machine a meeting may be over before the first shot. */
	do {
		start_meeting(&meeting, 4, 300);
		UNTIL(meeting.arrived == 4);
		for (int i = 0; meeting.left < 1 && i < 4000; i++)
			OK(pthread_kill(meeting.threads[i % 4].pthread, SIGUSR1));
		end_meeting(&meeting);
	} while (handled < 50);
}

THREAD(work_beside, _Atomic long *work)
{
	while (*work >= 0)
		++*work;
}

BARRIER_CLAUSE(pthread_barrier_wait__desc_6__lets_others_run, 9,
	       "threads that wait keep none from running")
{
	struct guest guests[8];
	_Atomic long work = 0;
	struct thread worker;
	int64_t used;

	for (int i = 0; i < 8; i++)
		seat_guest(&guests[i], &barrier);
	start(&worker, work_beside, &work);
	UNTIL(work > 10000);
	work = LONG_MIN / 2;
	join(&worker);
	/* They use no time meanwhile. */
	used = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	sleep_ms(50);
	CHECK(now_ns(CLOCK_PROCESS_CPUTIME_ID) - used < 40 * NS_PER_MS);
	CHECK_EQ(meet_at(&barrier), 1 - join_guests(guests, 8));
}

/* ------------------------------------------------------ their attributes -- */

ATTRIBUTE(barrierattr, pshared, LIST(PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED),
	  LIST(2, -1, 4711, INT_MIN), false)
ATTRIBUTES(barrierattr, &attr_pshared)

CLAUSE_BY(check_defaults(), pthread_barrierattr_init__desc_2__default_is_private,
	  "attributes begin with their defaults: PTHREAD_PROCESS_PRIVATE")

CLAUSE(pthread_barrierattr_init__desc_3__later_changes_touch_no_barrier,
       "barriers don't depend on what becomes of the attributes that they were made with")
{
	for (int i = 0; i < 2; i++) {
		OK(pthread_barrierattr_init(&attr));
		OK(pthread_barrierattr_setpshared(&attr, i));
		OK(pthread_barrier_init(&barrier, &attr, 2));
		OK(pthread_barrierattr_setpshared(&attr, !i));
		OK(pthread_barrierattr_destroy(&attr));
		memset(&attr, 0xff, sizeof(attr));
		check_and_destroy(&barrier);
	}
}

CLAUSE_BY(check_initialised_again(), pthread_barrierattr_destroy__desc_1__may_be_initialised_again,
	  "destroyed attributes may be initialised again, with the defaults")

CLAUSE_BY(check_told(&attr_pshared), pthread_barrierattr_getpshared__desc_1__tells_what_was_set,
	  "getpshared tells what setpshared has set")

struct shared_meeting {
	pthread_barrier_t barrier;
	_Atomic int arrived, serial;
	int written[4];
};

THREAD(meet_as_process, struct shared_meeting *shared)
{
	int me = shared->arrived++;

	for (int round = 1; round <= 200; round++) {
		if (round % 2)
			shared->written[me] = round;
		shared->serial += meet_at(&shared->barrier);
		for (int i = 0; round % 2 && i < 4; i++)
			CHECK_EQ(shared->written[i], round);
	}
}

static void make_shared(pthread_barrier_t *barrier, int count)
{
	OK(pthread_barrierattr_init(&attr));
	OK(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	OK(pthread_barrier_init(barrier, &attr, count));
	OK(pthread_barrierattr_destroy(&attr));
}

CLAUSE(pthread_barrierattr_setpshared__desc_1__shared_by_processes,
       "PTHREAD_PROCESS_SHARED: processes that share the memory meet there")
{
	struct shared_meeting *shared = shared_memory(sizeof(*shared));

	make_shared(&shared->barrier, 4);
	run_in_processes(4, meet_as_process, shared);
	CHECK_EQ(shared->serial, 200);
	OK(pthread_barrier_destroy(&shared->barrier));
}

CLAUSE(pthread_barrierattr_setpshared__desc_1__shared_has_no_address,
       "PTHREAD_PROCESS_SHARED: every mapping of the memory is the same barrier")
{
	void *mapped[2];
	struct guest guests[2];

	map_twice(&mapped[0], &mapped[1]);
	make_shared(mapped[0], 2);
	for (int i = 0; i < 10; i++) {
		seat_guest(&guests[0], mapped[i % 2]);
		start_guest(&guests[1], mapped[1 - i % 2]);
		CHECK_EQ(join_guests(guests, 2), 1);
	}
	OK(pthread_barrier_destroy(mapped[1]));
}

BARRIER_CLAUSE(pthread_barrierattr_setpshared__desc_2__private_is_this_processs, 2,
	       "PTHREAD_PROCESS_PRIVATE: threads of this process meet; a forked child's copy is "
	       "its own")
{
	struct guest guests[2];
	pid_t child;

	child = fork_watched();
	seat_guest(&guests[0], &barrier);
	if (child == 0) {
		start_guest(&guests[1], &barrier);
		CHECK_EQ(join_guests(guests, 2), 1);
		_exit(0);
	}
	REAP(child);
	CHECK(!guests[0].done);
	start_guest(&guests[1], &barrier);
	CHECK_EQ(join_guests(guests, 2), 1);
}

CLAUSE_BY(check_refused(&attr_pshared),
	  pthread_barrierattr_setpshared__err_EINVAL__neither_of_the_two,
	  "the value is neither of the two; it stays as it was")
