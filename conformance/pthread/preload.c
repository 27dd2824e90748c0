/* Whether the library under test is in effect, and what it may cost. */
#include "../posix/crowd.h"

#include <malloc.h>

/* ------------------------------------------------- whose functions these are -- */

static const char *const replaced[] = {
	"pthread_mutex_lock",	  "pthread_mutex_trylock",
	"pthread_mutex_timedlock", "pthread_mutex_clocklock",
	"pthread_mutex_unlock",	  "pthread_mutex_destroy",
	"pthread_cond_wait",	  "pthread_cond_timedwait",
	"pthread_cond_clockwait", "pthread_cond_signal",
	"pthread_cond_broadcast", "pthread_cond_destroy",
	"mtx_lock",		  "mtx_trylock",
	"mtx_timedlock",	  "mtx_unlock",
	"mtx_destroy",		  "cnd_wait",
	"cnd_timedwait",	  "cnd_signal",
	"cnd_broadcast",	  "cnd_destroy",
	"pthread_cancel",
};

/* aarch64 came to glibc with 2.17. */
#ifdef __x86_64__
#define OLDEST	 "GLIBC_2.2.5"
#define CONDVARS "GLIBC_2.3.2"
#else
#define OLDEST	 "GLIBC_2.17"
#define CONDVARS "GLIBC_2.17"
#endif

static bool is_furwocks(const char *name, void *address)
{
	Dl_info info;

	if (!address || !dladdr(address, &info))
		FAIL("%s: defined nowhere", name);
	return strstr(info.dli_fname, "furwock") != NULL;
}

TEST(conformance__functions_are_this_sides)
{
	for (EACH(i, replaced))
		if (is_furwocks(replaced[i], dlsym(RTLD_DEFAULT, replaced[i])) !=
		    under_furwock())
			FAIL("%s is the other side's", replaced[i]);
	/* The functions that the program itself is bound to. */
	CHECK_EQ(is_furwocks("lock", (void *)pthread_mutex_lock),
		 under_furwock());
	CHECK_EQ(is_furwocks("wait", (void *)pthread_cond_wait), under_furwock());
}

/* By version too, as a program linked with an older glibc asks. */
TEST(conformance__versioned_names_are_this_sides)
{
	static const struct {
		const char *name, *version;
	} names[] = {
		{ "pthread_mutex_lock", OLDEST },
		{ "pthread_cond_wait", CONDVARS },
		{ "pthread_cond_clockwait", "GLIBC_2.30" },
		{ "mtx_lock", "GLIBC_2.28" },
	};

	for (EACH(i, names)) {
		void *found = dlvsym(RTLD_DEFAULT, names[i].name,
				     names[i].version);

		if (is_furwocks(names[i].name, found) != under_furwock())
			FAIL("%s@%s is the other side's", names[i].name,
			     names[i].version);
	}
}

TEST(conformance__library_is_mapped_on_this_side_only)
{
	char line[512];
	bool mapped = false;
	FILE *maps = fopen("/proc/self/maps", "re");

	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "furwock_preload"))
			mapped = true;
	fclose(maps);
	CHECK_EQ(mapped, under_furwock());
}

/* ------------------------------------------------------ nothing allocates -- */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);

static __thread bool forbidden __attribute__((tls_model("initial-exec")));

static void no_allocation(void)
{
	if (forbidden)
		FAIL("allocates on the way to waiting");
}

void *malloc(size_t size)
{
	no_allocation();
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	no_allocation();
	return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
	no_allocation();
	return __libc_realloc(block, size);
}

void free(void *block)
{
	if (block)
		no_allocation();
	__libc_free(block);
}

struct scene {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int permits;
	_Atomic int stage;
};

THREAD(first_contact, struct scene *scene)
{
	struct timespec at;

	forbidden = true;
	scene->stage++;
	OK(pthread_mutex_lock(&scene->mutex));
	at = in_ms(CLOCK_REALTIME, 10);
	while (pthread_cond_timedwait(&scene->cond, &scene->mutex, &at) == 0)
		;
	while (!scene->permits)
		OK(pthread_cond_wait(&scene->cond, &scene->mutex));
	scene->permits--;
	OK(pthread_cond_signal(&scene->cond));
	OK(pthread_mutex_unlock(&scene->mutex));
	forbidden = false;
}

static void check_no_allocation(bool shared_cond, enum kind kind)
{
	struct thread threads[8];
	struct scene scene = { .permits = 0 };

	OK(make_mutex(&scene.mutex, kind));
	make_cond(&scene.cond, CLOCK_REALTIME, shared_cond);
	OK(pthread_mutex_lock(&scene.mutex));
	start_all(threads, 8, first_contact, &scene);
	UNTIL(scene.stage == 8);
	usleep(2000);
	OK(pthread_mutex_unlock(&scene.mutex));
	sleep_ms(15);
	OK(pthread_mutex_lock(&scene.mutex));
	scene.permits = 8;
	forbidden = true;
	OK(pthread_cond_broadcast(&scene.cond));
	OK(pthread_mutex_unlock(&scene.mutex));
	forbidden = false;
	join_all(threads, 8);
}

TEST(conformance__waiting_allocates_nothing)
{
	for (enum kind kind = 0; kind < OWN_KINDS; kind++)
		check_no_allocation(false, kind);
	check_no_allocation(false, PSHARED);
	check_no_allocation(false, PI);
	check_no_allocation(true, DEFAULT);
}

RUN_TESTS()
