/* XSH, the pages of spin locks. */
#include "children.h"
#include "clause.h"
#include "crowd.h"
#include "enough.h"
#include "handlers.h"
#include "memory.h"

THREAD(trylock_ebusy, void *lock)
{
	CHECK_ERR(pthread_spin_trylock(lock), EBUSY);
}

THREAD(trylock_ok, void *lock)
{
	OK(pthread_spin_trylock(lock));
	OK(pthread_spin_unlock(lock));
}

/* No thread has the lock. */
static void check_free(pthread_spinlock_t *lock)
{
	OK(pthread_spin_trylock(lock));
	in_a_thread(trylock_ebusy, (void *)lock);
	OK(pthread_spin_unlock(lock));
	in_a_thread(trylock_ok, (void *)lock);
	OK(pthread_spin_lock(lock));
	OK(pthread_spin_unlock(lock));
}

/* Each clause runs in a process of its own, with these. */
static struct scene {
	pthread_spinlock_t lock;
	int inside, turns;
	long counter;
	_Atomic int waiting, got;
	_Atomic bool release;
} scene;
static struct thread threads[4];

static void init(int pshared)
{
	OK(pthread_spin_init(&scene.lock, pshared));
}

static void check_and_destroy(void)
{
	check_free(&scene.lock);
	OK(pthread_spin_destroy(&scene.lock));
}

/* A clause of the scene's lock, which is made before the check and free after it. */
#define LOCK_CLAUSE(test, says)						\
	CLAUSE_WITHIN(init(PTHREAD_PROCESS_PRIVATE), check_and_destroy(), \
		      test, says)

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

THREAD(take, void *argument UNUSED)
{
	scene.waiting++;
	errno = 4718;
	OK(pthread_spin_lock(&scene.lock));
	CHECK_EQ(errno, 4718);
	scene.got++;
	UNTIL(scene.release);
	OK(pthread_spin_unlock(&scene.lock));
}

/* They spin, or are about to, while this thread has the lock. */
static void start_to_take(size_t count)
{
	OK(pthread_spin_lock(&scene.lock));
	start_all(threads, count, take, NULL);
	UNTIL(scene.waiting == (int)count);
}

/* ---------------------------------------------- pthread_spin_init, _destroy -- */

CLAUSE(pthread_spin_init__desc_2__is_unlocked,
       "the lock is made unlocked, whatever the memory held")
{
	static const int filling[] = { 0, 1, 2, -1, 0x55555555, INT_MIN };

	for (EACH(i, filling)) {
		scene.lock = filling[i];
		init(PTHREAD_PROCESS_PRIVATE);
		check_and_destroy();
	}
}

/* Its unlocked state is part of how programs are built: they may be copied. */
LOCK_CLAUSE(pthread_spin_init__desc_2__format_is_the_platforms,
	    "unlocked it has the platform's value, 1 on x86 and 0 elsewhere: not in the standard, "
	    "but programs initialise it by hand")
{
	pthread_spinlock_t initial;
	/* x86 counts down from 1; others, up from 0. */
#if defined(__x86_64__) || defined(__i386__)
	const int unlocked = 1;
#else
	const int unlocked = 0;
#endif

	CHECK_EQ(scene.lock, unlocked);
	OK(pthread_spin_lock(&scene.lock));
	CHECK(scene.lock != unlocked);
	OK(pthread_spin_unlock(&scene.lock));
	CHECK_EQ(scene.lock, unlocked);
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

CLAUSE(pthread_spin_init__desc_3__shared_excludes_processes,
       "PTHREAD_PROCESS_SHARED: processes that share the memory exclude one another")
{
	struct scene *scene = shared_memory(sizeof(*scene));

	OK(pthread_spin_init(&scene->lock, PTHREAD_PROCESS_SHARED));
	scene->turns = 3000;
	run_in_processes(3, count, scene);
	CHECK_EQ(scene->counter, 3 * 3000);
	check_free(&scene->lock);
	OK(pthread_spin_destroy(&scene->lock));
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
	in_a_thread(trylock_ebusy, mapped[1]);
	OK(pthread_spin_unlock(mapped[1]));
	check_free(mapped[0]);
}

LOCK_CLAUSE(pthread_spin_init__desc_4__private_is_the_childs_own,
	    "PTHREAD_PROCESS_PRIVATE: threads of this process exclude one another; a forked "
	    "child's copy is its own")
{
	OK(pthread_spin_lock(&scene.lock));
	IN_A_CHILD {
		CHECK_ERR(pthread_spin_trylock(&scene.lock), EBUSY);
		OK(pthread_spin_unlock(&scene.lock));
		check_free(&scene.lock);
	}
	CHECK_ERR(pthread_spin_trylock(&scene.lock), EBUSY);
	OK(pthread_spin_unlock(&scene.lock));
}

CLAUSE(pthread_spin_destroy__desc_1__may_be_initialised_again,
       "a destroyed lock may be initialised again")
{
	for (int i = 0; i < 10; i++) {
		init(i % 2);
		check_and_destroy();
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

static void exclude(size_t count_of_threads, int turns)
{
	scene.turns = turns;
	run_together(count_of_threads, count, &scene);
	CHECK_EQ(scene.counter, (long)count_of_threads * turns);
}

LOCK_CLAUSE(pthread_spin_lock__desc_1__excludes, "one thread has it at a time")
{
	exclude(2, 5000);
}

/* The holder is preempted at times while the others spin. */
LOCK_CLAUSE(pthread_spin_lock__desc_1__more_threads_than_processors,
	    "the same, with more threads than processors")
{
	exclude(8, 300);
}

LOCK_CLAUSE(pthread_spin_lock__desc_1__waits_for_the_holder,
	    "it doesn't return before the lock is the caller's, though the holder sleeps")
{
	start_to_take(2);
	/* The holder sleeps, and keeps it. */
	sleep_ms(20);
	CHECK_EQ(scene.got, 0);
	OK(pthread_spin_unlock(&scene.lock));
	UNTIL(scene.got == 1);
	sleep_ms(3);
	CHECK_EQ(scene.got, 1);
	scene.release = true;
	join_all(threads, 2);
	CHECK_EQ(scene.got, 2);
}

LOCK_CLAUSE(pthread_spin_lock__desc_1__spins_through_handlers, "handlers don't end its wait")
{
	handle(0);
	scene.release = true;
	start_to_take(1);
	for (int i = 0; i < 50; i++) {
		shoot(&threads[0]);
		CHECK_EQ(scene.got, 0);
	}
	OK(pthread_spin_unlock(&scene.lock));
	join(&threads[0]);
	CHECK_EQ(scene.got, 1);
}

/* Plain: the lock keeps them whole. */
static uint32_t words[16];

THREAD(write_message, _Atomic bool *written)
{
	for (uint32_t turn = 1; turn <= 3000; turn++) {
		OK(pthread_spin_lock(&scene.lock));
		for (EACH(i, words))
			words[i] = turn;
		OK(pthread_spin_unlock(&scene.lock));
	}
	*written = true;
}

LOCK_CLAUSE(pthread_spin_lock__desc_1__what_came_before_it_is_seen,
	    "what a holder wrote is seen by the next one (XBD, Memory Synchronization)")
{
	_Atomic bool written = false;
	uint32_t last = 0;

	start(&threads[0], write_message, (void *)&written);
	while (!written) {
		OK(pthread_spin_lock(&scene.lock));
		CHECK(words[0] >= last);
		last = words[0];
		for (EACH(i, words))
			CHECK_EQ(words[i], last);
		OK(pthread_spin_unlock(&scene.lock));
	}
	join(&threads[0]);
	CHECK_EQ(words[15], 3000);
}

LOCK_CLAUSE(pthread_spin_lock__ret__zero, "0 on success")
{
	CHECK_EQ(pthread_spin_lock(&scene.lock), 0);
	CHECK_EQ(pthread_spin_unlock(&scene.lock), 0);
	CHECK_EQ(pthread_spin_trylock(&scene.lock), 0);
	CHECK_EQ(pthread_spin_unlock(&scene.lock), 0);
}

LOCK_CLAUSE(pthread_spin_trylock__err_EBUSY__another_has_it,
	    "pthread_spin_trylock finds the lock with another thread")
{
	OK(pthread_spin_lock(&scene.lock));
	for (int i = 0; i < 10; i++)
		in_a_thread(trylock_ebusy, (void *)&scene.lock);
	OK(pthread_spin_unlock(&scene.lock));
}

LOCK_CLAUSE(pthread_spin_trylock__err_EBUSY__the_caller_has_it,
	    "pthread_spin_trylock finds the lock with any thread, also with the caller")
{
	OK(pthread_spin_trylock(&scene.lock));
	errno = 4719;
	/* Any number of times: attempts leave no trace. */
	for (int i = 0; i < 1000; i++)
		CHECK_ERR(pthread_spin_trylock(&scene.lock), EBUSY);
	CHECK_EQ(errno, 4719);
	OK(pthread_spin_unlock(&scene.lock));
}

LOCK_CLAUSE(pthread_spin_unlock__desc_1__unlocks, "it unlocks the lock")
{
	for (int i = 0; i < 1000; i++) {
		OK(pthread_spin_lock(&scene.lock));
		OK(pthread_spin_unlock(&scene.lock));
	}
}

LOCK_CLAUSE(pthread_spin_unlock__desc_2__one_that_spins_has_it_next,
	    "when others spin, one of them has it next, and all of them in the end")
{
	scene.release = true;
	start_to_take(4);
	sleep_ms(3);
	OK(pthread_spin_unlock(&scene.lock));
	join_all(threads, 4);
	CHECK_EQ(scene.got, 4);
}
