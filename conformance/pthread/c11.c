/* <threads.h>: mtx_* and cnd_*, which glibc doesn't build on its pthread names. */
#include "harness.h"

#include <threads.h>

struct scene {
	mtx_t mutex;
	cnd_t cond, back;
	int turn, waiting, passed;
	long counter;
	bool open;
};

static const int types[] = {
	mtx_plain, mtx_timed, mtx_plain | mtx_recursive,
	mtx_timed | mtx_recursive,
};

static void make_scene(struct scene *scene, int type)
{
	*scene = (struct scene){ .turn = 0 };
	CHECK_EQ(mtx_init(&scene->mutex, type), thrd_success);
	CHECK_EQ(cnd_init(&scene->cond), thrd_success);
	CHECK_EQ(cnd_init(&scene->back), thrd_success);
}

static void end_scene(struct scene *scene)
{
	cnd_destroy(&scene->cond);
	cnd_destroy(&scene->back);
	mtx_destroy(&scene->mutex);
}

static int try_busy(void *mutex)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 15);

	CHECK_EQ(mtx_trylock(mutex), thrd_busy);
	CHECK_EQ(mtx_timedlock(mutex, &at), thrd_timedout);
	at.tv_nsec = -1;
	CHECK_EQ(mtx_timedlock(mutex, &at), thrd_error);
	return 3;
}

static void c11_mtx_lock__locks_unlocks_tries_and_times_out(void)
{
	struct timespec past = in_ms(CLOCK_REALTIME, -1000);
	struct scene scene;
	thrd_t other;
	size_t i;
	int result;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		make_scene(&scene, types[i]);
		CHECK_EQ(mtx_lock(&scene.mutex), thrd_success);
		CHECK_EQ(thrd_create(&other, try_busy, &scene.mutex),
			 thrd_success);
		CHECK_EQ(thrd_join(other, &result), thrd_success);
		CHECK_EQ(result, 3);
		CHECK_EQ(mtx_unlock(&scene.mutex), thrd_success);
		CHECK_EQ(mtx_trylock(&scene.mutex), thrd_success);
		CHECK_EQ(mtx_unlock(&scene.mutex), thrd_success);
		CHECK_EQ(mtx_timedlock(&scene.mutex, &past), thrd_success);
		CHECK_EQ(mtx_unlock(&scene.mutex), thrd_success);
		end_scene(&scene);
	}
}

static void c11_mtx_lock__recursive_counts(void)
{
	struct scene scene;
	thrd_t other;
	int i;

	make_scene(&scene, mtx_timed | mtx_recursive);
	CHECK_EQ(mtx_unlock(&scene.mutex), thrd_error);
	for (i = 0; i < 3; i++)
		CHECK_EQ(mtx_lock(&scene.mutex), thrd_success);
	for (i = 0; i < 3; i++) {
		thrd_create(&other, try_busy, &scene.mutex);
		thrd_join(other, NULL);
		CHECK_EQ(mtx_unlock(&scene.mutex), thrd_success);
	}
	CHECK_EQ(mtx_unlock(&scene.mutex), thrd_error);
	end_scene(&scene);
}

static int take_turns(void *argument)
{
	struct scene *scene = argument;
	int i;

	for (i = 0; i < 500; i++) {
		mtx_lock(&scene->mutex);
		while (scene->turn != 1)
			CHECK_EQ(cnd_wait(&scene->cond, &scene->mutex),
				 thrd_success);
		scene->turn = 0;
		CHECK_EQ(cnd_signal(&scene->back), thrd_success);
		mtx_unlock(&scene->mutex);
	}
	return 0;
}

static void c11_cnd_wait__ping_pong(void)
{
	struct timespec at;
	struct scene scene;
	thrd_t other;
	size_t t;
	int i;

	for (t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		make_scene(&scene, types[t]);
		thrd_create(&other, take_turns, &scene);
		for (i = 0; i < 500; i++) {
			mtx_lock(&scene.mutex);
			scene.turn = 1;
			cnd_broadcast(&scene.cond);
			at = in_ms(CLOCK_REALTIME, 15000);
			while (scene.turn)
				CHECK_EQ(cnd_timedwait(&scene.back,
						       &scene.mutex, &at),
					 thrd_success);
			mtx_unlock(&scene.mutex);
		}
		thrd_join(other, NULL);
		end_scene(&scene);
	}
}

static void c11_cnd_timedwait__times_out_and_refuses(void)
{
	struct timespec at = in_ms(CLOCK_REALTIME, 20);
	struct scene scene;
	int result = thrd_success, i;

	make_scene(&scene, mtx_plain);
	mtx_lock(&scene.mutex);
	for (i = 0; i < 100 && result == thrd_success; i++)
		result = cnd_timedwait(&scene.cond, &scene.mutex, &at);
	CHECK_EQ(result, thrd_timedout);
	CHECK(now_ns(CLOCK_REALTIME) >= at.tv_sec * NS_PER_S + at.tv_nsec);
	at.tv_nsec = NS_PER_S;
	CHECK_EQ(cnd_timedwait(&scene.cond, &scene.mutex, &at), thrd_error);
	mtx_unlock(&scene.mutex);
	end_scene(&scene);
}

static int pass(void *argument)
{
	struct scene *scene = argument;

	mtx_lock(&scene->mutex);
	scene->waiting++;
	cnd_signal(&scene->back);
	while (!scene->open)
		cnd_wait(&scene->cond, &scene->mutex);
	scene->passed++;
	mtx_unlock(&scene->mutex);
	return 0;
}

static void c11_cnd_broadcast__frees_all(void)
{
	struct scene scene;
	thrd_t threads[20];
	int i;

	make_scene(&scene, mtx_plain);
	for (i = 0; i < 20; i++)
		thrd_create(&threads[i], pass, &scene);
	mtx_lock(&scene.mutex);
	while (scene.waiting < 20)
		cnd_wait(&scene.back, &scene.mutex);
	scene.open = true;
	cnd_broadcast(&scene.cond);
	mtx_unlock(&scene.mutex);
	for (i = 0; i < 20; i++)
		thrd_join(threads[i], NULL);
	CHECK_EQ(scene.passed, 20);
	end_scene(&scene);
}

static int count_both(void *argument)
{
	struct scene *scene = argument;
	int i;

	for (i = 0; i < 3000; i++) {
		/* mtx_t is a pthread mutex, and glibc lets programs know it. */
		if (i % 2)
			mtx_lock(&scene->mutex);
		else
			pthread_mutex_lock((pthread_mutex_t *)&scene->mutex);
		scene->counter++;
		if (i % 3)
			mtx_unlock(&scene->mutex);
		else
			pthread_mutex_unlock((pthread_mutex_t *)&scene->mutex);
	}
	return 0;
}

static void glibc_mtx__is_a_pthread_mutex(void)
{
	struct scene scene;
	thrd_t threads[6];
	int i;

	make_scene(&scene, mtx_plain);
	for (i = 0; i < 6; i++)
		thrd_create(&threads[i], count_both, &scene);
	for (i = 0; i < 6; i++)
		thrd_join(threads[i], NULL);
	CHECK_EQ(scene.counter, 6 * 3000);
	end_scene(&scene);
}

static const struct test tests[] = {
	TEST(c11_mtx_lock__locks_unlocks_tries_and_times_out),
	TEST(c11_mtx_lock__recursive_counts),
	TEST(c11_cnd_wait__ping_pong),
	TEST(c11_cnd_timedwait__times_out_and_refuses),
	TEST(c11_cnd_broadcast__frees_all),
	TEST(glibc_mtx__is_a_pthread_mutex),
};

TEST_MAIN(tests)
