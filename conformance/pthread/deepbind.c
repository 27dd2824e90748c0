/*
 * Objects that a program and its library both use, where the library finds the
 * functions in another way than the program: it is bound deeply (RTLD_DEEPBIND
 * searches its own dependencies first, and libc is one of them), or it asks
 * libc for them. The same implementation must serve both.
 */
#include "../posix/crowd.h"
#include "lib/locks.h"

#include <gnu/lib-names.h>

#define ROUNDS 100

static const struct locks own = {
#define ADDRESS(name, parameters, arguments) .name = name,
	LOCK_FUNCTIONS(ADDRESS)
	.syscall = syscall,
};

/* One user of the objects. */
struct user {
	const struct locks *locks;
	/* The program is 0, the library 1. */
	int side;
};

static struct objects {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	pthread_barrier_t barrier;
	sem_t permits[2];
	mtx_t mtx;
	cnd_t cnd;
	_Atomic uint32_t word;
	int turn;
	long counter;
	_Atomic int inside;
} objects;

/* ------------------------------------------------------------- the uses -- */

/* Long enough that the other thread comes and waits. */
static void hold(int round)
{
	if (round % 10 == 0)
		usleep(300);
	else if (round % 3 == 0)
		sched_yield();
}

THREAD(exclude, const struct user *user)
{
	for (int i = 0; i < ROUNDS; i++) {
		OK(user->locks->pthread_mutex_lock(&objects.mutex));
		CHECK_EQ(objects.inside++, 0);
		hold(i);
		objects.inside--;
		OK(user->locks->pthread_mutex_unlock(&objects.mutex));
	}
}

THREAD(exclude_by_c11, const struct user *user)
{
	for (int i = 0; i < ROUNDS; i++) {
		OK(user->locks->mtx_lock(&objects.mtx));
		CHECK_EQ(objects.inside++, 0);
		hold(i);
		objects.inside--;
		OK(user->locks->mtx_unlock(&objects.mtx));
	}
}

THREAD(take_turns, const struct user *user)
{
	OK(user->locks->pthread_mutex_lock(&objects.mutex));
	for (int i = 0; i < ROUNDS; i++) {
		while (objects.turn != user->side)
			OK(user->locks->pthread_cond_wait(&objects.cond,
							  &objects.mutex));
		objects.turn = !user->side;
		if (i % 2)
			OK(user->locks->pthread_cond_signal(&objects.cond));
		else
			OK(user->locks->pthread_cond_broadcast(&objects.cond));
	}
	OK(user->locks->pthread_mutex_unlock(&objects.mutex));
}

THREAD(take_turns_by_c11, const struct user *user)
{
	OK(user->locks->mtx_lock(&objects.mtx));
	for (int i = 0; i < ROUNDS; i++) {
		while (objects.turn != user->side)
			OK(user->locks->cnd_wait(&objects.cnd, &objects.mtx));
		objects.turn = !user->side;
		OK(user->locks->cnd_signal(&objects.cnd));
	}
	OK(user->locks->mtx_unlock(&objects.mtx));
}

THREAD(pass_permits, const struct user *user)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (user->locks->sem_wait(&objects.permits[user->side]))
			CHECK_EQ(errno, EINTR);
		CHECK_EQ(objects.inside++, 0);
		hold(i);
		objects.inside--;
		OK(user->locks->sem_post(&objects.permits[!user->side]));
	}
}

THREAD(read_and_write, const struct user *user)
{
	for (int i = 0; i < ROUNDS; i++) {
		if ((i + user->side) % 2) {
			OK(user->locks->pthread_rwlock_rdlock(&objects.rwlock));
			CHECK_EQ(objects.inside, 0);
		} else {
			OK(user->locks->pthread_rwlock_wrlock(&objects.rwlock));
			CHECK_EQ(objects.inside++, 0);
			hold(i);
			objects.inside--;
		}
		OK(user->locks->pthread_rwlock_unlock(&objects.rwlock));
	}
}

THREAD(meet, const struct user *user)
{
	int ended;

	for (int i = 0; i < ROUNDS; i++) {
		if (user->side)
			hold(i);
		ended = user->locks->pthread_barrier_wait(&objects.barrier);
		CHECK(!ended || ended == PTHREAD_BARRIER_SERIAL_THREAD);
		if (ended)
			objects.counter++;
	}
}

static pthread_once_t controls[ROUNDS];

static void count_once(void)
{
	usleep(300);
	objects.inside++;
}

THREAD(call_once_each, const struct user *user)
{
	for (int i = 0; i < ROUNDS / 4; i++) {
		OK(user->locks->pthread_once(&controls[i], count_once));
		CHECK(objects.inside > i);
	}
}

/* Each waits for its own number, 0 or 1, in a word, and leaves the other's. */
THREAD(wait_by_syscall, const struct user *user)
{
	uint32_t mine = user->side;

	for (int i = 0; i < ROUNDS; i++) {
		while (objects.word != mine)
			/* FUTEX_WAIT_PRIVATE */
			user->locks->syscall(SYS_futex, &objects.word, 128,
					     (long)!mine, NULL);
		objects.word = !mine;
		/* FUTEX_WAKE_PRIVATE */
		user->locks->syscall(SYS_futex, &objects.word, 129, 1L, NULL);
	}
}

static void use_together(const struct locks *locks, void *(*use)(void *))
{
	struct user users[2] = { { &own, 0 }, { locks, 1 } };
	struct thread threads[2];

	memset(&objects, 0, sizeof(objects));
	OK(pthread_mutex_init(&objects.mutex, NULL));
	OK(pthread_cond_init(&objects.cond, NULL));
	OK(pthread_rwlock_init(&objects.rwlock, NULL));
	OK(pthread_barrier_init(&objects.barrier, NULL, 2));
	OK(sem_init(&objects.permits[0], 0, 1));
	OK(sem_init(&objects.permits[1], 0, 0));
	OK(mtx_init(&objects.mtx, mtx_plain));
	OK(cnd_init(&objects.cnd));
	for (int i = 0; i < 2; i++)
		start(&threads[i], use, &users[i]);
	join_all(threads, 2);
	if (use == meet)
		CHECK_EQ(objects.counter, ROUNDS);
	if (use == call_once_each)
		CHECK_EQ(objects.inside, ROUNDS / 4);
}

static void use_all_together(const struct locks *locks)
{
	use_together(locks, exclude);
	use_together(locks, take_turns);
	use_together(locks, pass_permits);
	use_together(locks, exclude_by_c11);
	use_together(locks, take_turns_by_c11);
}

/* -------------------------------------------------------- the libraries -- */

#define DEEPLY (RTLD_LOCAL | RTLD_DEEPBIND)

static const char *path_of(const char *name)
{
	static char path[PATH_MAX];
	const char *directory = getenv("CONFORMANCE_DIR");

	CHECK(directory);
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static const struct locks *locks_of(void *library, const char *how)
{
	const struct locks *locks;

	if (!library)
		FAIL("%s", dlerror());
	locks = dlsym(library, how);
	CHECK(locks);
	return locks;
}

static const struct locks *load(const char *name, int flags, const char *how)
{
	return locks_of(dlopen(path_of(name), flags), how);
}

static void use_deeply(void *(*use)(void *))
{
	use_together(load("libdeep.so", RTLD_NOW | DEEPLY, "library_calls"),
		     use);
}

TEST(glibc_dlopen__deeply_bound_library_locks_the_same_mutex)
{
	use_deeply(exclude);
}

TEST(glibc_dlopen__deeply_bound_library_waits_on_the_same_condvar)
{
	use_deeply(take_turns);
}

TEST(glibc_dlopen__deeply_bound_library_posts_the_same_semaphore)
{
	use_deeply(pass_permits);
}

TEST(glibc_dlopen__deeply_bound_library_takes_the_same_rwlock)
{
	use_deeply(read_and_write);
}

TEST(glibc_dlopen__deeply_bound_library_meets_at_the_same_barrier)
{
	use_deeply(meet);
}

TEST(glibc_dlopen__deeply_bound_library_calls_the_same_once)
{
	use_deeply(call_once_each);
}

TEST(glibc_dlopen__deeply_bound_library_locks_by_c11)
{
	use_deeply(exclude_by_c11);
	use_deeply(take_turns_by_c11);
}

TEST(glibc_dlopen__deeply_bound_library_waits_by_syscall)
{
	use_deeply(wait_by_syscall);
}

/* Each function is found when it is first called, by threads that contend. */
TEST(glibc_dlopen__deeply_bound_library_binds_lazily)
{
	use_all_together(load("libdeep.so", RTLD_LAZY | DEEPLY,
			      "library_calls"));
}

/* Its slots are read-only once it is loaded. */
TEST(glibc_dlopen__deeply_bound_library_is_hardened)
{
	use_all_together(load("libhardened.so", RTLD_NOW | DEEPLY,
			      "library_calls"));
}

TEST(glibc_dlopen__deeply_bound_library_keeps_addresses)
{
	use_all_together(load("libdeep.so", RTLD_NOW | DEEPLY,
			      "library_addresses"));
}

TEST(glibc_dlmopen__deeply_bound_into_the_base_namespace)
{
	void *library = dlmopen(LM_ID_BASE, path_of("libdeep.so"),
				RTLD_NOW | DEEPLY);

	use_all_together(locks_of(library, "library_calls"));
}

/* By its bare name, found by the path that this program carries. */
TEST(glibc_dlopen__deeply_bound_library_found_by_the_callers_path)
{
	use_all_together(locks_of(dlopen("libdeep.so", RTLD_NOW | DEEPLY),
				  "library_calls"));
}

TEST(glibc_dlopen__deeply_bound_library_loaded_again)
{
	void *library;

	for (int i = 0; i < 3; i++) {
		library = dlopen(path_of("libdeep.so"), RTLD_LAZY | DEEPLY);
		use_together(locks_of(library, "library_calls"), take_turns);
		OK(dlclose(library));
	}
}

/* -------------------------------------------- locking as it is loaded -- */

static void (*as_loaded)(const struct locks *locks);

void as_library_is_loaded(const struct locks *locks);

void as_library_is_loaded(const struct locks *locks)
{
	if (as_loaded)
		as_loaded(locks);
}

TEST(glibc_dlopen__deeply_bound_library_locks_as_it_is_loaded)
{
	as_loaded = use_all_together;
	load("libdeep.so", RTLD_LAZY | DEEPLY, "library_calls");
}

/* --------------------------------------------------------- asking libc -- */

static void ask(struct locks *locks, void *library)
{
	/* A pointer to a function is one to data here, as dlsym has it. */
#define ASK(name, parameters, arguments)				\
	*(void **)&locks->name = dlsym(library, #name);			\
	CHECK(locks->name);
	LOCK_FUNCTIONS(ASK)
	*(void **)&locks->syscall = dlsym(library, "syscall");
	CHECK(locks->syscall);
}

TEST(glibc_dlsym__functions_of_libc_by_its_handle)
{
	void *libc = dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD);
	struct locks locks;

	if (!libc || !dlsym(libc, "mtx_lock"))
		SKIP("libc isn't whole");
	ask(&locks, libc);
	use_all_together(&locks);
	use_together(&locks, read_and_write);
	use_together(&locks, meet);
	use_together(&locks, call_once_each);
	use_together(&locks, wait_by_syscall);
}

/* Such a handle leads to what the library depends on. */
TEST(glibc_dlsym__functions_by_the_handle_of_what_depends_on_libc)
{
	void *library = dlopen(path_of("libdeep.so"), RTLD_NOW | DEEPLY);
	struct locks locks;

	CHECK(library);
	ask(&locks, library);
	use_all_together(&locks);
}

#ifdef __x86_64__
/* The condvars of glibc before 2.3.2 have a format of their own. */
TEST(glibc_dlvsym__oldest_condvars_are_others)
{
	static const char *const names[] = {
		"pthread_cond_wait", "pthread_cond_timedwait",
		"pthread_cond_signal", "pthread_cond_broadcast",
	};
	void *libc = dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD);
	void *oldest, *current;
	Dl_info info;

	CHECK(libc);
	for (EACH(i, names)) {
		oldest = dlvsym(libc, names[i], "GLIBC_2.2.5");
		current = dlvsym(libc, names[i], "GLIBC_2.3.2");
		CHECK(oldest && current && oldest != current);
		CHECK(dladdr(oldest, &info));
		CHECK(!strstr(info.dli_fname, "furwock"));
		CHECK(dladdr(current, &info));
		CHECK(!strstr(info.dli_fname, "furwock") == !under_furwock());
	}
}
#endif

RUN_TESTS()
