/* XSH, the pages of spin locks. */
#include "children.h"
#include "clause.h"
#include "crowd.h"
#include "deadlines.h"
#include "enough.h"
#include "handlers.h"
#include "memory.h"

/* Each clause runs in a process of its own, with these. */
static pthread_spinlock_t lock;

THREAD(trylock_ebusy, void *lock)
{
	CHECK_ERR(pthread_spin_trylock(lock), EBUSY);
}

THREAD(trylock_ok, void *lock)
{
	OK(pthread_spin_trylock(lock));
	OK(pthread_spin_unlock(lock));
}

static void elsewhere(void *(*run)(void *), void *argument)
{
	in_a_thread(run, argument);
}

/* No thread has the lock. */
static void check_free(pthread_spinlock_t *lock)
{
	OK(pthread_spin_trylock(lock));
	elsewhere(trylock_ebusy, (void *)lock);
	OK(pthread_spin_unlock(lock));
	elsewhere(trylock_ok, (void *)lock);
	OK(pthread_spin_lock(lock));
	OK(pthread_spin_unlock(lock));
}

struct scene {
	pthread_spinlock_t lock;
	int inside, turns;
	long counter;
	_Atomic int waiting, got;
	_Atomic bool release;
};

THREAD(count, struct scene *scene)
{
	for (int i = 0; i < scene->turns; i++) {
		if (i % 3 || pthread_spin_trylock(&scene->lock))
			OK(pthread_spin_lock(&scene->lock));
		CHECK_EQ(scene->inside++, 0);
		scene->counter++;
		CHECK_EQ(--scene->inside, 0);
		OK(pthread_spin_unlock(&scene->lock));
	}
}

THREAD(take, struct scene *scene)
{
	scene->waiting++;
	errno = 4718;
	OK(pthread_spin_lock(&scene->lock));
	CHECK_EQ(errno, 4718);
	scene->got++;
	UNTIL(scene->release);
	OK(pthread_spin_unlock(&scene->lock));
}

/* ---------------------------------------------- pthread_spin_init, _destroy -- */

CLAUSE(pthread_spin_init__desc_2__is_unlocked,
       "the lock is made unlocked, whatever the memory held")
{
	static const int filling[] = { 0, 1, 2, -1, 0x55555555, INT_MIN };

	for (EACH(i, filling)) {
		lock = filling[i];
		OK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
		check_free(&lock);
		OK(pthread_spin_destroy(&lock));
	}
}

/* Its unlocked state is part of how programs are built: they may be copied. */
CLAUSE(pthread_spin_init__desc_2__format_is_the_platforms,
       "unlocked it has the platform's value, 1 on x86 and 0 elsewhere: not in the standard, but "
       "programs initialise it by hand")
{
	pthread_spinlock_t initial;
	/* x86 counts down from 1; others, up from 0. */
#if defined(__x86_64__) || defined(__i386__)
	const int unlocked = 1;
#else
	const int unlocked = 0;
#endif

	OK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
	CHECK_EQ(lock, unlocked);
	OK(pthread_spin_lock(&lock));
	CHECK(lock != unlocked);
	OK(pthread_spin_unlock(&lock));
	CHECK_EQ(lock, unlocked);
	/* One that no call has made. */
	initial = unlocked;
	check_free(&initial);
	CHECK_EQ(initial, unlocked);
}

CLAUSE(pthread_spin_init__desc_2__writes_only_where_it_lies, "nothing beside the lock is written")
{
	struct {
		int before;
		pthread_spinlock_t lock;
		int after;
	} memory = { .before = 0x5a5a5a5a, .after = 0x5a5a5a5a };

	CHECK_EQ(sizeof(memory), 3 * sizeof(int));
	OK(pthread_spin_init(&memory.lock, PTHREAD_PROCESS_SHARED));
	check_free(&memory.lock);
	OK(pthread_spin_destroy(&memory.lock));
	CHECK_EQ(memory.before, 0x5a5a5a5a);
	CHECK_EQ(memory.after, 0x5a5a5a5a);
}

static void exclude_processes(int pshared)
{
	struct scene *scene = shared_memory(sizeof(*scene));

	OK(pthread_spin_init(&scene->lock, pshared));
	scene->turns = 3000;
	run_in_processes(3, count, scene);
	CHECK_EQ(scene->counter, 3 * 3000);
	check_free(&scene->lock);
	OK(pthread_spin_destroy(&scene->lock));
}

CLAUSE(pthread_spin_init__desc_3__shared_excludes_processes,
       "PTHREAD_PROCESS_SHARED: processes that share the memory exclude one another")
{
	exclude_processes(PTHREAD_PROCESS_SHARED);
}

CLAUSE(pthread_spin_init__desc_3__shared_is_held_by_a_process,
       "PTHREAD_PROCESS_SHARED: another process waits until this one unlocks")
{
	struct scene *scene = shared_memory(sizeof(*scene));
	pid_t child;

	OK(pthread_spin_init(&scene->lock, PTHREAD_PROCESS_SHARED));
	OK(pthread_spin_lock(&scene->lock));
	IN_CHILD(child) {
		CHECK_ERR(pthread_spin_trylock(&scene->lock), EBUSY);
		scene->waiting = 1;
		OK(pthread_spin_lock(&scene->lock));
		scene->got = 1;
		OK(pthread_spin_unlock(&scene->lock));
	}
	UNTIL(scene->waiting);
	sleep_ms(5);
	CHECK(!scene->got);
	OK(pthread_spin_unlock(&scene->lock));
	REAP(child);
	CHECK(scene->got);
	check_free(&scene->lock);
}

CLAUSE(pthread_spin_init__desc_3__shared_has_no_address,
       "PTHREAD_PROCESS_SHARED: every mapping of the memory is the same lock")
{
	void *mapped[2];

	map_twice(&mapped[0], &mapped[1]);
	OK(pthread_spin_init(mapped[0], PTHREAD_PROCESS_SHARED));
	OK(pthread_spin_lock(mapped[0]));
	elsewhere(trylock_ebusy, (void *)mapped[1]);
	OK(pthread_spin_unlock(mapped[1]));
	check_free(mapped[0]);
}

CLAUSE(pthread_spin_init__desc_4__private_is_the_childs_own,
       "PTHREAD_PROCESS_PRIVATE: threads of this process exclude one another; a forked child's "
       "copy is its own")
{
	OK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
	OK(pthread_spin_lock(&lock));
	IN_A_CHILD {
		CHECK_ERR(pthread_spin_trylock(&lock), EBUSY);
		OK(pthread_spin_unlock(&lock));
		check_free(&lock);
	}
	CHECK_ERR(pthread_spin_trylock(&lock), EBUSY);
	OK(pthread_spin_unlock(&lock));
	check_free(&lock);
}

CLAUSE(pthread_spin_destroy__desc_1__may_be_initialised_again,
       "a destroyed lock may be initialised again")
{
	for (int i = 0; i < 10; i++) {
		OK(pthread_spin_init(&lock, i % 2));
		check_free(&lock);
		CHECK_EQ(pthread_spin_destroy(&lock), 0);
	}
}

struct vanishing {
	struct scene *_Atomic scene;
	_Atomic bool stop;
};

THREAD(unlock_what_vanishes, struct vanishing *vanishing)
{
	struct scene *scene;

	while (!vanishing->stop) {
		scene = vanishing->scene;
		if (!scene) {
			sched_yield();
			continue;
		}
		OK(pthread_spin_lock(&scene->lock));
		scene->got = 1;
		vanishing->scene = NULL;
		OK(pthread_spin_unlock(&scene->lock));
	}
}

/* An unlock touches the lock no more once another can have it. */
CLAUSE(pthread_spin_destroy__desc_1__right_after_the_last_unlock,
       "the thread that has it last may destroy it and free its memory, though the one before is "
       "still in its unlock")
{
	struct vanishing vanishing = { .scene = NULL };
	struct thread other;
	struct scene *scene;

	start(&other, unlock_what_vanishes, &vanishing);
	for (int i = 0; i < 2000 && !enough(); i++) {
		scene = new_page();
		OK(pthread_spin_init(&scene->lock, 0));
		vanishing.scene = scene;
		while (vanishing.scene)
			sched_yield();
		OK(pthread_spin_lock(&scene->lock));
		CHECK_EQ(scene->got, 1);
		OK(pthread_spin_unlock(&scene->lock));
		OK(pthread_spin_destroy(&scene->lock));
		give_back(scene);
	}
	vanishing.stop = true;
	join(&other);
}

/* --------------------------------------- pthread_spin_lock, _trylock, _unlock -- */

CLAUSE(pthread_spin_lock__desc_1__excludes, "one thread has it at a time")
{
	struct scene scene = { .turns = 5000 };

	OK(pthread_spin_init(&scene.lock, 0));
	run_together(2, count, &scene);
	CHECK_EQ(scene.counter, 2 * 5000);
	check_free(&scene.lock);
}

/* The holder is preempted at times while the others spin. */
CLAUSE(pthread_spin_lock__desc_1__more_threads_than_processors,
       "the same, with more threads than processors")
{
	struct scene scene = { .turns = 300 };

	OK(pthread_spin_init(&scene.lock, 0));
	run_together(8, count, &scene);
	CHECK_EQ(scene.counter, 8 * 300);
	check_free(&scene.lock);
}

CLAUSE(pthread_spin_lock__desc_1__waits_for_the_holder,
       "it doesn't return before the lock is the caller's, though the holder sleeps")
{
	struct scene scene = { .counter = 0 };
	struct thread threads[2];

	OK(pthread_spin_init(&scene.lock, 0));
	OK(pthread_spin_lock(&scene.lock));
	START_ALL(threads, take, &scene);
	UNTIL(scene.waiting == 2);
	/* The holder sleeps, and keeps it. */
	sleep_ms(20);
	CHECK_EQ(scene.got, 0);
	OK(pthread_spin_unlock(&scene.lock));
	UNTIL(scene.got == 1);
	sleep_ms(3);
	CHECK_EQ(scene.got, 1);
	scene.release = true;
	JOIN_ALL(threads);
	CHECK_EQ(scene.got, 2);
	check_free(&scene.lock);
}

CLAUSE(pthread_spin_lock__desc_1__spins_through_handlers, "handlers don't end its wait")
{
	struct scene scene = { .release = true };
	struct thread thread;

	handle(0);
	OK(pthread_spin_init(&scene.lock, 0));
	OK(pthread_spin_lock(&scene.lock));
	start(&thread, take, &scene);
	UNTIL(scene.waiting);
	for (int i = 0; i < 50; i++) {
		shoot(&thread);
		CHECK_EQ(scene.got, 0);
	}
	OK(pthread_spin_unlock(&scene.lock));
	join(&thread);
	CHECK_EQ(scene.got, 1);
	check_free(&scene.lock);
}

struct message {
	pthread_spinlock_t lock;
	uint32_t words[16], turn;
	_Atomic bool stop;
};

THREAD(write_message, struct message *message)
{
	for (uint32_t turn = 1; turn <= 3000; turn++) {
		OK(pthread_spin_lock(&message->lock));
		for (uint32_t i = 0; i < 16; i++)
			message->words[i] = turn;
		OK(pthread_spin_unlock(&message->lock));
	}
	message->stop = true;
}

CLAUSE(pthread_spin_lock__desc_1__what_came_before_it_is_seen,
       "what a holder wrote is seen by the next one (XBD, Memory Synchronization)")
{
	struct message message = { .turn = 0 };
	struct thread writer;
	uint32_t last = 0;

	OK(pthread_spin_init(&message.lock, 0));
	start(&writer, write_message, &message);
	while (!message.stop) {
		OK(pthread_spin_lock(&message.lock));
		CHECK(message.words[0] >= last);
		last = message.words[0];
		for (uint32_t i = 1; i < 16; i++)
			CHECK_EQ(message.words[i], last);
		OK(pthread_spin_unlock(&message.lock));
	}
	join(&writer);
	CHECK_EQ(message.words[15], 3000);
}

CLAUSE(pthread_spin_lock__ret__zero, "0 on success")
{
	OK(pthread_spin_init(&lock, 0));
	CHECK_EQ(pthread_spin_lock(&lock), 0);
	CHECK_EQ(pthread_spin_unlock(&lock), 0);
	CHECK_EQ(pthread_spin_trylock(&lock), 0);
	CHECK_EQ(pthread_spin_unlock(&lock), 0);
	CHECK_EQ(pthread_spin_destroy(&lock), 0);
}

CLAUSE(pthread_spin_trylock__err_EBUSY__another_has_it,
       "pthread_spin_trylock finds the lock with another thread")
{
	OK(pthread_spin_init(&lock, 0));
	OK(pthread_spin_lock(&lock));
	for (int i = 0; i < 10; i++)
		elsewhere(trylock_ebusy, (void *)&lock);
	OK(pthread_spin_unlock(&lock));
	check_free(&lock);
}

CLAUSE(pthread_spin_trylock__err_EBUSY__the_caller_has_it,
       "pthread_spin_trylock finds the lock with any thread, also with the caller")
{
	OK(pthread_spin_init(&lock, 0));
	OK(pthread_spin_trylock(&lock));
	errno = 4719;
	/* Any number of times: attempts leave no trace. */
	for (int i = 0; i < 1000; i++)
		CHECK_ERR(pthread_spin_trylock(&lock), EBUSY);
	CHECK_EQ(errno, 4719);
	OK(pthread_spin_unlock(&lock));
	check_free(&lock);
}

CLAUSE(pthread_spin_unlock__desc_1__unlocks, "it unlocks the lock")
{
	OK(pthread_spin_init(&lock, 0));
	for (int i = 0; i < 1000; i++) {
		OK(pthread_spin_lock(&lock));
		OK(pthread_spin_unlock(&lock));
	}
	check_free(&lock);
}

CLAUSE(pthread_spin_unlock__desc_2__one_that_spins_has_it_next,
       "when others spin, one of them has it next, and all of them in the end")
{
	struct scene scene = { .release = true };
	struct thread threads[4];

	OK(pthread_spin_init(&scene.lock, 0));
	OK(pthread_spin_lock(&scene.lock));
	START_ALL(threads, take, &scene);
	UNTIL(scene.waiting == 4);
	sleep_ms(3);
	OK(pthread_spin_unlock(&scene.lock));
	JOIN_ALL(threads);
	CHECK_EQ(scene.got, 4);
	check_free(&scene.lock);
}
