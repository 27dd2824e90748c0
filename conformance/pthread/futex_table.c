/*
 * The kernel's futex table of this process: furwock asks for a larger one at
 * the start.
 */
#include "../posix/crowd.h"

#include <sys/prctl.h>

#define PR_FUTEX_HASH		78
#define PR_FUTEX_HASH_SET_SLOTS 1
#define PR_FUTEX_HASH_GET_SLOTS 2

/* More than the kernel gives by itself to a few processors. */
enum { MANY = 256 };

static int slots(void)
{
	int found = prctl(PR_FUTEX_HASH, PR_FUTEX_HASH_GET_SLOTS, 0, 0, 0);

	if (found < 0)
		SKIP("this kernel has one table for all processes");
	return found;
}

THREAD(do_nothing, void *argument UNUSED)
{
}

/* Once there is a second thread. */
static int slots_with_threads(void)
{
	int found;

	in_a_thread(do_nothing, NULL);
	found = slots();
	if (found == 0)
		SKIP("this kernel is built without such tables");
	return found;
}

TEST(furwock__a_program_has_a_larger_table)
{
	int found = slots_with_threads();

	if (under_furwock())
		CHECK(found >= MANY);
	else if (sysconf(_SC_NPROCESSORS_ONLN) < MANY / 4)
		CHECK(found < MANY);
}

/* A forked child has the kernel's own, which nothing depends on. */
TEST(linux_futex__a_forked_child_has_a_table)
{
	pid_t child = fork_watched();

	if (child == 0) {
		CHECK(slots_with_threads() > 0);
		_exit(0);
	}
	REAP(child);
}

TEST(linux_futex__the_programs_own_number_of_buckets_stays)
{
	if (prctl(PR_FUTEX_HASH, PR_FUTEX_HASH_SET_SLOTS, 64, 0, 0) != 0)
		SKIP("this kernel is older, or built without such tables");
	CHECK_EQ(slots_with_threads(), 64);
}

RUN_TESTS()
