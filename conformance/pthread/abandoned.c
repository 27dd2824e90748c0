/*
 * What comes after a wait that a handler left by siglongjmp: the thread goes on
 * and ends, others come, and new objects lie where the old ones were. (What
 * becomes of the old ones is longjmp.c's.)
 */
#include "harness.h"

#include <semaphore.h>
#include <setjmp.h>

#define TIMES 20

static __thread sigjmp_buf out;

struct scene {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	sem_t semaphore;
	long counter;
	int turn;
};

static struct scene abandoned, other;
static _Atomic int left;
static _Atomic bool go_on;

static void leave(int signal UNUSED)
{
	siglongjmp(out, 1);
}

static void set_up(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	OK(pthread_mutex_init(&scene->mutex, NULL));
	OK(pthread_cond_init(&scene->cond, NULL));
	OK(pthread_rwlock_init(&scene->rwlock, NULL));
	OK(sem_init(&scene->semaphore, 0, 0));
}

/* ------------------------------------------- waits that are left -- */

static void wait_for_mutex(void)
{
	OK(pthread_mutex_lock(&abandoned.mutex));
	FAIL("nobody gave the mutex away");
}

static void wait_for_reading(void)
{
	OK(pthread_rwlock_rdlock(&abandoned.rwlock));
	FAIL("nobody gave the lock away");
}

static void wait_for_semaphore(void)
{
	OK(sem_wait(&abandoned.semaphore));
	FAIL("nobody posted");
}

static void wait_for_condvar(void)
{
	OK(pthread_mutex_lock(&abandoned.mutex));
	for (;;)
		OK(pthread_cond_wait(&abandoned.cond, &abandoned.mutex));
}

/* ----------------------------------------------- what follows -- */

/* One of two that take turns at a scene's objects. */
struct player {
	struct scene *scene;
	int side;
};

static void *take_turns(void *argument)
{
	const struct player *player = argument;
	struct scene *scene = player->scene;
	int i;

	for (i = 0; i < 100; i++) {
		OK(pthread_mutex_lock(&scene->mutex));
		while (scene->turn != player->side)
			OK(pthread_cond_wait(&scene->cond, &scene->mutex));
		scene->turn = !player->side;
		OK(pthread_cond_signal(&scene->cond));
		if (i % 10 == 0)
			usleep(200);
		OK(pthread_mutex_unlock(&scene->mutex));
		OK(pthread_rwlock_wrlock(&scene->rwlock));
		scene->counter++;
		if (i % 10 == 5)
			usleep(200);
		OK(pthread_rwlock_unlock(&scene->rwlock));
		if (player->side)
			OK(sem_post(&scene->semaphore));
		else
			OK(sem_wait(&scene->semaphore));
	}
	return NULL;
}

static void (*wait_somewhere)(void);

static void *leave_and_go_on(void *argument)
{
	volatile int times;

	for (times = 0; times < TIMES; times++)
		if (!sigsetjmp(out, 1))
			wait_somewhere();
		else
			left++;
	UNTIL(go_on);
	return take_turns(argument);
}

static void drive_out(struct thread *thread)
{
	int i;

	for (i = 0; i < TIMES; i++) {
		until_asleep(thread);
		CHECK_EQ(left, i);
		OK(pthread_kill(thread->pthread, SIGUSR1));
		UNTIL(left > i);
	}
}

static void play(struct scene *scene)
{
	struct player players[2] = { { scene, 0 }, { scene, 1 } };
	struct thread threads[2];
	int i;

	set_up(scene);
	for (i = 0; i < 2; i++)
		start(&threads[i], take_turns, &players[i]);
	for (i = 0; i < 2; i++)
		join(&threads[i]);
	CHECK_EQ(scene->counter, 200);
}

static void check_left(void (*wait)(void), bool held)
{
	struct sigaction action = { .sa_handler = leave };
	struct player players[2] = { { &other, 0 }, { &other, 1 } };
	struct thread thread;

	sigaction(SIGUSR1, &action, NULL);
	wait_somewhere = wait;
	set_up(&abandoned);
	set_up(&other);
	if (held) {
		OK(pthread_mutex_lock(&abandoned.mutex));
		OK(pthread_rwlock_wrlock(&abandoned.rwlock));
	}
	start(&thread, leave_and_go_on, &players[1]);
	drive_out(&thread);
	go_on = true;
	take_turns(&players[0]);
	/* New objects where those were that it has left. */
	play(&abandoned);
	join(&thread);
	/* Other threads, which have what the ended one had. */
	play(&other);
	play(&abandoned);
}

static void glibc_siglongjmp__out_of_a_wait_for_a_semaphore(void)
{
	check_left(wait_for_semaphore, false);
}

static void glibc_siglongjmp__out_of_a_wait_for_a_mutex(void)
{
	check_left(wait_for_mutex, true);
}

static void glibc_siglongjmp__out_of_a_wait_for_an_rwlock(void)
{
	check_left(wait_for_reading, true);
}

static void glibc_siglongjmp__out_of_a_wait_for_a_condvar(void)
{
	check_left(wait_for_condvar, false);
}

static const struct test tests[] = {
	TEST(glibc_siglongjmp__out_of_a_wait_for_a_semaphore),
	TEST(glibc_siglongjmp__out_of_a_wait_for_a_mutex),
	TEST(glibc_siglongjmp__out_of_a_wait_for_an_rwlock),
	TEST(glibc_siglongjmp__out_of_a_wait_for_a_condvar),
};

TEST_MAIN(tests)
