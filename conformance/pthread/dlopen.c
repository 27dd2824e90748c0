/* Libraries that lock before main, while they are loaded, and at the end. */
#include "../posix/crowd.h"

#include <link.h>

int early_has_begun(void);
void early_lock(void);
void early_unlock(void);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool stop;

static const char *plugin(void)
{
	static char path[PATH_MAX];
	const char *directory = getenv("CONFORMANCE_DIR");

	CHECK(directory);
	snprintf(path, sizeof(path), "%s/libplugin.so", directory);
	return path;
}

static void check_load(int flags)
{
	int (*works)(void);
	void *library;

	for (int i = 0; i < 2; i++) {
		library = dlopen(plugin(), flags);
		if (!library)
			FAIL("%s", dlerror());
		works = (int (*)(void))dlsym(library, "plugin_works");
		CHECK(works && works() == 42);
		CHECK_EQ(dlclose(library), 0);
	}
}

TEST(glibc_dlopen__library_that_locks_as_it_is_loaded)
{
	check_load(RTLD_NOW | RTLD_LOCAL);
}

TEST(glibc_dlopen__globally_and_lazily)
{
	check_load(RTLD_LAZY | RTLD_GLOBAL);
}

/*
 * It uses its own objects; deepbind.c has libraries that share their program's.
 */
TEST(glibc_dlopen__deepbind)
{
	check_load(RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
}

TEST(glibc_library_linked__locks_before_main)
{
	CHECK(early_has_begun());
	/* The lock that its constructor left. */
	early_lock();
	early_unlock();
	early_unlock();
}

static int count_object(struct dl_phdr_info *info UNUSED, size_t size UNUSED,
			void *count)
{
	OK(pthread_mutex_lock(&mutex));
	++*(int *)count;
	OK(pthread_mutex_unlock(&mutex));
	return 0;
}

/* Locks the mutex inside the loader's lock, and the loader's inside none. */
THREAD(walk, void *argument UNUSED)
{
	int count;

	while (!stop) {
		count = 0;
		dl_iterate_phdr(count_object, &count);
		CHECK(count > 1);
	}
}

/*
 * The main thread passes the path, since plugin() writes it anew at each call.
 */
THREAD(load, void *path)
{
	void *library;

	for (int i = 0; i < 2; i++) {
		library = dlopen(path, RTLD_NOW);
		CHECK(library);
		CHECK(dlsym(library, "plugin_works"));
		CHECK_EQ(dlclose(library), 0);
	}
}

TEST(glibc_dlopen__by_threads_that_contend)
{
	struct thread walkers[2], loaders[2];
	char *path = strdup(plugin());

	CHECK(path);

	for (int i = 0; i < 2; i++) {
		start(&walkers[i], walk, NULL);
		start(&loaders[i], load, path);
	}
	join_all(loaders, 2);
	stop = true;
	join_all(walkers, 2);
	free(path);
}

TEST(glibc_dlopen__library_that_names_no_versions)
{
	struct timespec past = { 0 };
	int (*condvar)(const struct timespec *, int);
	char path[PATH_MAX];
	void *library;

	snprintf(path, sizeof(path), "%s/libunversioned.so",
		 getenv("CONFORMANCE_DIR") ?: ".");
	library = dlopen(path, RTLD_NOW);
	if (!library)
		FAIL("%s", dlerror());
	condvar = dlsym(library, "unversioned_condvar");
	CHECK(condvar);
	CHECK_EQ(condvar(&past, ETIMEDOUT), 0);
}

static void at_the_end(void)
{
	OK(pthread_mutex_lock(&mutex));
	OK(pthread_mutex_unlock(&mutex));
}

TEST(posix_atexit__handlers_lock)
{
	CHECK_EQ(atexit(at_the_end), 0);
	exit(0);
}

RUN_TESTS()
