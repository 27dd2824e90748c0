/*
 * No thread waits for ever. POSIX leaves the order to the implementation; these
 * are the bounds that each kind's name promises on glibc, and generous ones.
 */
#include "rwlock.h"

enum { CROWD = 4 };

struct scene {
	pthread_rwlock_t lock;
	/* Readers that have the lock. */
	_Atomic int inside;
	_Atomic long turns[CROWD];
	_Atomic bool stop;
};

static struct scene scene;

static void make_scene(enum rw_kind kind, bool pshared)
{
	memset(&scene, 0, sizeof(scene));
	make_rwlock(&scene.lock, kind, pshared);
}

static void start_crowd(struct thread *threads, int count,
			void *(*run)(void *))
{
	for (long i = 0; i < count; i++)
		start(&threads[i], run, (void *)i);
}

static void end_crowd(struct thread *threads, int count)
{
	scene.stop = true;
	join_all(threads, count);
	check_free(&scene.lock);
}

/*
 * Unlocks only when another reader is inside, so that the lock is never free.
 * It doesn't wait for that for ever: a waiting writer may keep the other one
 * out.
 */
THREAD(read_overlapping, void *argument)
{
	long me = (long)argument;

	while (!scene.stop) {
		OK(pthread_rwlock_rdlock(&scene.lock));
		scene.inside++;
		scene.turns[me]++;
		for (int waited = 0; waited < 50; waited++) {
			usleep(100);
			if (scene.inside > 1 && waited > 3)
				break;
		}
		scene.inside--;
		OK(pthread_rwlock_unlock(&scene.lock));
	}
}

THREAD(write_endlessly, void *argument)
{
	long me = (long)argument;

	while (!scene.stop) {
		OK(pthread_rwlock_wrlock(&scene.lock));
		CHECK_EQ(scene.inside, 0);
		scene.turns[me]++;
		if (scene.turns[me] % 8 == 0)
			usleep(50);
		OK(pthread_rwlock_unlock(&scene.lock));
	}
}

/* --------------------------------------------------- a writer's turn -- */

/*
 * These readers never all leave by themselves, but a waiting writer makes them.
 */
TEST(glibc_PREFER_WRITER_NONRECURSIVE__writer_among_endless_readers)
{
	static const enum rw_call calls[] = { WRLOCK, TIMEDWRLOCK, CLOCKWRLOCK };
	struct thread readers[CROWD];

	for (int pshared = 0; pshared < 2; pshared++) {
		make_scene(NONRECURSIVE, pshared);
		start_crowd(readers, CROWD, read_overlapping);
		for (int i = 0; i < 30; i++) {
			UNTIL(scene.inside > 1);
			OK(take(&scene.lock, calls[i % 3], LONG_MS));
			CHECK_EQ(scene.inside, 0);
			OK(pthread_rwlock_unlock(&scene.lock));
		}
		end_crowd(readers, CROWD);
	}
}

/* And they come back when it has gone. */
TEST(glibc_PREFER_WRITER_NONRECURSIVE__readers_come_back)
{
	struct thread readers[CROWD];
	long before;
	int r;

	make_scene(NONRECURSIVE, false);
	start_crowd(readers, CROWD, read_overlapping);
	for (int i = 0; i < 20; i++) {
		OK(pthread_rwlock_wrlock(&scene.lock));
		OK(pthread_rwlock_unlock(&scene.lock));
		r = i % CROWD;
		before = scene.turns[r];
		UNTIL(scene.turns[r] > before);
	}
	end_crowd(readers, CROWD);
}

/*
 * The other kinds promise a writer nothing while readers are there; but it gets
 * in where they all leave at times.
 */
THREAD(read_now_and_then, void *argument)
{
	uint32_t random = (uint32_t)gettid() * 2654435761u | 1;
	long me = (long)argument;

	while (!scene.stop) {
		OK(pthread_rwlock_rdlock(&scene.lock));
		scene.inside++;
		scene.turns[me]++;
		usleep(next_random(&random) % 200);
		scene.inside--;
		OK(pthread_rwlock_unlock(&scene.lock));
		usleep(next_random(&random) % 800);
	}
}

TEST(posix_pthread_rwlock_wrlock__gets_in_when_readers_leave)
{
	struct thread readers[CROWD];

	for (enum rw_kind kind = 0; kind < RW_KINDS; kind++) {
		make_scene(kind, false);
		start_crowd(readers, CROWD, read_now_and_then);
		for (int i = 0; i < 50; i++) {
			OK(take(&scene.lock, i % 2 ? WRLOCK : TIMEDWRLOCK,
				LONG_MS));
			CHECK_EQ(scene.inside, 0);
			OK(pthread_rwlock_unlock(&scene.lock));
		}
		end_crowd(readers, CROWD);
	}
}

/* One writer doesn't keep the others out for ever. */
TEST(posix_pthread_rwlock_wrlock__every_writer_has_its_turns)
{
	struct thread writers[CROWD];

	for (enum rw_kind kind = 0; kind < RW_KINDS; kind++) {
		make_scene(kind, kind == PREFER_WRITER);
		start_crowd(writers, CROWD, write_endlessly);
		for (int i = 0; i < CROWD; i++)
			UNTIL(scene.turns[i] >= 50);
		end_crowd(writers, CROWD);
	}
}

/* --------------------------------------------------- a reader's turn -- */

/*
 * These writers never all leave, but the next one that unlocks lets readers in.
 */
TEST(glibc_PREFER_READER__readers_among_endless_writers)
{
	static const enum rw_call calls[] = { RDLOCK, TIMEDRDLOCK, CLOCKRDLOCK };
	struct thread writers[CROWD];

	for (int pshared = 0; pshared < 2; pshared++) {
		make_scene(PREFER_READER, pshared);
		start_crowd(writers, CROWD, write_endlessly);
		for (int i = 0; i < CROWD; i++)
			UNTIL(scene.turns[i]);
		for (int i = 0; i < 60; i++) {
			OK(take(&scene.lock, calls[i % 3], LONG_MS));
			scene.inside++;
			OK(elsewhere(&scene.lock, RDLOCK));
			scene.inside--;
			OK(pthread_rwlock_unlock(&scene.lock));
		}
		end_crowd(writers, CROWD);
	}
}

/*
 * Where writers go first they may keep readers out for as long as one waits;
 * one that goes away between its turns leaves room.
 */
THREAD(write_now_and_then, void *argument)
{
	uint32_t random = (uint32_t)gettid() * 2654435761u | 1;
	long me = (long)argument;

	while (!scene.stop) {
		OK(pthread_rwlock_wrlock(&scene.lock));
		CHECK_EQ(scene.inside, 0);
		scene.turns[me]++;
		usleep(next_random(&random) % 100);
		OK(pthread_rwlock_unlock(&scene.lock));
		usleep(next_random(&random) % 1500);
	}
}

TEST(posix_pthread_rwlock_rdlock__gets_in_when_writers_leave)
{
	struct thread writers[CROWD];

	for (enum rw_kind kind = 0; kind < RW_KINDS; kind++) {
		make_scene(kind, false);
		start_crowd(writers, CROWD, write_now_and_then);
		for (int i = 0; i < 50; i++) {
			OK(take(&scene.lock, i % 2 ? RDLOCK : CLOCKRDLOCK,
				LONG_MS));
			scene.inside++;
			usleep(50);
			scene.inside--;
			OK(pthread_rwlock_unlock(&scene.lock));
		}
		end_crowd(writers, CROWD);
	}
}

/* ------------------------------------------------------------- both -- */

/* Two readers and two writers; each has its turns. */
static void *read_or_write(void *argument)
{
	return (long)argument % 2 ? write_now_and_then(argument) :
				    read_now_and_then(argument);
}

TEST(posix_pthread_rwlock__readers_and_writers_have_their_turns)
{
	struct thread threads[CROWD];

	for (enum rw_kind kind = 0; kind < RW_KINDS; kind++) {
		make_scene(kind, false);
		start_crowd(threads, CROWD, read_or_write);
		for (int i = 0; i < CROWD; i++)
			UNTIL(scene.turns[i] >= 100);
		end_crowd(threads, CROWD);
	}
}

RUN_TESTS()
