/* What furwock.h promises of the rwlock, and of options, status and attempts. */
#include "harness.h"

#include <furwock.h>
#include <stdatomic.h>

#define FOREVER ((const furwock_deadline *)NULL)

/* Reads of a lock after which readers enter by their own threads' memory. */
enum { READS_THAT_BIAS = 200 };

static furwock_mutex mutex = FURWOCK_MUTEX_INIT;
static furwock_rwlock lock = FURWOCK_RWLOCK_INIT;

static furwock_deadline past(void)
{
	return (furwock_deadline){ .clock = CLOCK_MONOTONIC };
}

static furwock_deadline malformed(void)
{
	return (furwock_deadline){ .at = { .tv_nsec = -1 } };
}

/* That a lock was had that way, of an owner that lives. */
#define CHECK_HAD(status, way, times)					\
	do {								\
		CHECK_EQ((status).how, FURWOCK_HOW_##way);		\
		CHECK_EQ((status).sleeps, times);			\
		CHECK(!(status).owner_died);				\
	} while (0)

/* ------------------------------------------------ another thread's call -- */

/* One call on the lock, by a thread of its own; what the call returned. */
struct call {
	struct thread thread;
	int (*function)(furwock_rwlock *);
	int (*until)(furwock_rwlock *, const furwock_deadline *);
	int (*leave)(furwock_rwlock *);
	_Atomic bool stay;
	_Atomic int result;
};

enum { PENDING = -1 };

#define CALL(enter, exit)						\
	{ .function = furwock_rwlock_##enter, .leave = furwock_rwlock_##exit }
#define READER CALL(rdlock, rdunlock)
#define WRITER CALL(wrlock, wrunlock)

static void *make_call(void *argument)
{
	struct call *call = argument;
	furwock_deadline soon = furwock_after_ns(2 * NS_PER_MS);
	int result = call->function ? call->function(&lock) :
				      call->until(&lock, &soon);

	call->result = result;
	while (call->stay)
		usleep(200);
	if (!result && call->leave)
		OK(call->leave(&lock));
	return NULL;
}

static void begin(struct call *call)
{
	call->result = PENDING;
	start(&call->thread, make_call, call);
}

static void begin_asleep(struct call *call)
{
	begin(call);
	until_asleep(&call->thread);
}

static int end(struct call *call)
{
	call->stay = false;
	join(&call->thread);
	return call->result;
}

static int elsewhere(struct call call)
{
	begin(&call);
	return end(&call);
}

#define ELSEWHERE(enter, exit) elsewhere((struct call)CALL(enter, exit))
#define RD() ELSEWHERE(tryrdlock, rdunlock)
#define RD_RECURSIVE() ELSEWHERE(tryrdlock_recursive, rdunlock)
#define UP() ELSEWHERE(tryuplock, upunlock)
#define WR() ELSEWHERE(trywrlock, wrunlock)

/* By a deadline that is near. */
#define ELSEWHERE_UNTIL(enter, exit)					\
	elsewhere((struct call){ .until = furwock_rwlock_##enter##_until,	\
				 .leave = furwock_rwlock_##exit })

/* Which kinds may enter beside the caller: three letters, r, u, w or -. */
static void check_admits(const char *kinds)
{
	char seen[] = "---";

	seen[0] = RD() ? '-' : 'r';
	seen[1] = UP() ? '-' : 'u';
	seen[2] = WR() ? '-' : 'w';
	if (strcmp(seen, kinds))
		FAIL("admits %s, not %s", seen, kinds);
	CHECK_EQ(RD_RECURSIVE(), strchr(kinds, 'r') ? 0 : EBUSY);
}

static void bias(void)
{
	int i;

	for (i = 0; i < READS_THAT_BIAS; i++) {
		OK(furwock_rwlock_rdlock(&lock));
		OK(furwock_rwlock_rdunlock(&lock));
	}
}

/* ----------------------------------------------------------- the rwlock -- */

static void check_each_mode(void)
{
	furwock_deadline over = past();

	check_admits("ruw");
	CHECK(!furwock_rwlock_is_locked(&lock));

	OK(furwock_rwlock_rdlock(&lock));
	check_admits("ru-");
	CHECK(furwock_rwlock_is_locked(&lock));
	CHECK(!furwock_rwlock_is_write_locked(&lock));
	CHECK_EQ(furwock_rwlock_owner(&lock), 0);
	OK(furwock_rwlock_rdlock_recursive(&lock));
	OK(furwock_rwlock_rdunlock(&lock));
	check_admits("ru-");
	OK(furwock_rwlock_rdunlock(&lock));
	OK(furwock_rwlock_rdlock_until(&lock, &over));
	OK(furwock_rwlock_rdunlock_fair(&lock));
	OK(furwock_rwlock_rdlock_recursive_until(&lock, &over));
	CHECK_EQ(furwock_rwlock_rdunlock_counting(&lock), 0);
	check_admits("ruw");

	OK(furwock_rwlock_uplock(&lock));
	check_admits("r--");
	CHECK_EQ(furwock_rwlock_owner(&lock), gettid());
	CHECK(!furwock_rwlock_is_write_locked(&lock));
	OK(furwock_rwlock_upunlock(&lock));
	OK(furwock_rwlock_uplock_until(&lock, &over));
	OK(furwock_rwlock_upunlock_fair(&lock));
	OK(furwock_rwlock_uplock_until(&lock, FOREVER));
	CHECK_EQ(furwock_rwlock_upunlock_counting(&lock), 0);
	check_admits("ruw");

	OK(furwock_rwlock_wrlock(&lock));
	check_admits("---");
	CHECK_EQ(furwock_rwlock_owner(&lock), gettid());
	CHECK(furwock_rwlock_is_write_locked(&lock));
	OK(furwock_rwlock_wrunlock(&lock));
	OK(furwock_rwlock_wrlock_until(&lock, &over));
	OK(furwock_rwlock_wrunlock_fair(&lock));
	OK(furwock_rwlock_wrlock_until(&lock, FOREVER));
	CHECK_EQ(furwock_rwlock_wrunlock_counting(&lock), 0);
	OK(furwock_rwlock_rdlock_until(&lock, FOREVER));
	OK(furwock_rwlock_rdunlock(&lock));
	check_admits("ruw");
}

TEST(rwlock__each_mode_admits_whom_it_should)
{
	check_each_mode();
}

TEST(rwlock__a_biased_lock_does_too)
{
	bias();
	check_each_mode();
}

static void check_changes_of_mode(void)
{
	OK(furwock_rwlock_uplock(&lock));
	OK(furwock_rwlock_upgrade(&lock));
	check_admits("---");
	CHECK(furwock_rwlock_is_write_locked(&lock));
	OK(furwock_rwlock_downgrade_to_upgradable(&lock));
	check_admits("r--");
	OK(furwock_rwlock_tryupgrade(&lock));
	check_admits("---");
	OK(furwock_rwlock_downgrade(&lock));
	check_admits("ru-");
	CHECK_EQ(furwock_rwlock_owner(&lock), 0);
	OK(furwock_rwlock_rdunlock(&lock));
	OK(furwock_rwlock_uplock(&lock));
	OK(furwock_rwlock_downgrade_upgradable(&lock));
	check_admits("ru-");
	OK(furwock_rwlock_rdunlock(&lock));
	check_admits("ruw");
}

TEST(rwlock__modes_change_without_letting_go)
{
	check_changes_of_mode();
	bias();
	check_changes_of_mode();
}

/* EBUSY and ETIMEDOUT leave the upgradable reader what it was. */
TEST(rwlock__an_upgrade_waits_for_readers)
{
	struct call reader = READER;
	struct call upgrader = { .function = furwock_rwlock_upgrade,
				 .leave = furwock_rwlock_wrunlock };
	furwock_deadline soon;
	int round;

	for (round = 0; round < 2; round++) {
		reader.stay = true;
		begin(&reader);
		UNTIL(reader.result == 0);
		OK(furwock_rwlock_uplock(&lock));
		CHECK_ERR(furwock_rwlock_tryupgrade(&lock), EBUSY);
		soon = furwock_after_ns(2 * NS_PER_MS);
		CHECK_ERR(furwock_rwlock_upgrade_until(&lock, &soon), ETIMEDOUT);
		CHECK_EQ(furwock_rwlock_owner(&lock), gettid());
		check_admits("r--");
		OK(end(&reader));
		soon = furwock_after_ns(10 * NS_PER_S);
		OK(furwock_rwlock_upgrade_until(&lock, &soon));
		check_admits("---");
		OK(furwock_rwlock_wrunlock(&lock));
		bias();
	}

	/* No reader comes in before the upgrader does. */
	OK(furwock_rwlock_rdlock(&lock));
	upgrader.function = furwock_rwlock_uplock;
	upgrader.leave = furwock_rwlock_upgrade;
	begin(&upgrader);
	UNTIL(upgrader.result == 0);
	until_asleep(&upgrader.thread);
	CHECK_EQ(RD(), EBUSY);
	CHECK(!furwock_rwlock_is_write_locked(&lock));
	OK(furwock_rwlock_rdunlock(&lock));
	OK(end(&upgrader));
	CHECK(furwock_rwlock_is_write_locked(&lock));
	OK(furwock_rwlock_wrunlock(&lock));
}

TEST(rwlock__deadlines_pass)
{
	int round;

	for (round = 0; round < 2; round++) {
		OK(furwock_rwlock_wrlock(&lock));
		CHECK_ERR(ELSEWHERE_UNTIL(rdlock, rdunlock), ETIMEDOUT);
		CHECK_ERR(ELSEWHERE_UNTIL(rdlock_recursive, rdunlock), ETIMEDOUT);
		CHECK_ERR(ELSEWHERE_UNTIL(uplock, upunlock), ETIMEDOUT);
		CHECK_ERR(ELSEWHERE_UNTIL(wrlock, wrunlock), ETIMEDOUT);
		OK(furwock_rwlock_downgrade(&lock));
		CHECK_ERR(ELSEWHERE_UNTIL(wrlock, wrunlock), ETIMEDOUT);
		OK(ELSEWHERE_UNTIL(rdlock, rdunlock));
		OK(ELSEWHERE_UNTIL(uplock, upunlock));
		OK(furwock_rwlock_rdunlock(&lock));
		check_admits("ruw");
		bias();
	}
}

TEST(rwlock__what_is_malformed_is_einval)
{
	static int (*const functions[])(furwock_rwlock *) = {
		furwock_rwlock_destroy,
		furwock_rwlock_rdlock,
		furwock_rwlock_tryrdlock,
		furwock_rwlock_rdlock_recursive,
		furwock_rwlock_tryrdlock_recursive,
		furwock_rwlock_rdunlock,
		furwock_rwlock_rdunlock_fair,
		furwock_rwlock_wrlock,
		furwock_rwlock_trywrlock,
		furwock_rwlock_wrunlock,
		furwock_rwlock_wrunlock_fair,
		furwock_rwlock_uplock,
		furwock_rwlock_tryuplock,
		furwock_rwlock_upunlock,
		furwock_rwlock_upunlock_fair,
		furwock_rwlock_upgrade,
		furwock_rwlock_tryupgrade,
		furwock_rwlock_downgrade,
		furwock_rwlock_downgrade_to_upgradable,
		furwock_rwlock_downgrade_upgradable,
	};
	static int (*const timed[])(furwock_rwlock *,
				    const furwock_deadline *) = {
		furwock_rwlock_rdlock_until,
		furwock_rwlock_rdlock_recursive_until,
		furwock_rwlock_wrlock_until,
		furwock_rwlock_uplock_until,
		furwock_rwlock_upgrade_until,
	};
	furwock_rwlock *const wrong[] = { NULL, (furwock_rwlock *)4 };
	furwock_deadline bad = malformed();
	size_t i, j;

	for (i = 0; i < 2; i++) {
		for (j = 0; j < sizeof(functions) / sizeof(functions[0]); j++)
			CHECK_ERR(functions[j](wrong[i]), EINVAL);
		for (j = 0; j < sizeof(timed) / sizeof(timed[0]); j++)
			CHECK_ERR(timed[j](wrong[i], FOREVER), EINVAL);
		CHECK_ERR(furwock_rwlock_init(wrong[i], 0), EINVAL);
		CHECK_ERR(furwock_rwlock_set_policy(wrong[i], 0), EINVAL);
		CHECK_ERR(furwock_rwlock_rdlock_with(wrong[i], NULL, NULL),
			  EINVAL);
		CHECK_ERR(furwock_rwlock_wrlock_with(wrong[i], NULL, NULL),
			  EINVAL);
		CHECK_EQ(furwock_rwlock_rdunlock_counting(wrong[i]), 0);
		CHECK_EQ(furwock_rwlock_wrunlock_counting(wrong[i]), 0);
		CHECK_EQ(furwock_rwlock_upunlock_counting(wrong[i]), 0);
		CHECK_EQ(furwock_rwlock_policy(wrong[i]), -1);
		CHECK_EQ(furwock_rwlock_owner(wrong[i]), 0);
		CHECK(!furwock_rwlock_is_locked(wrong[i]));
		CHECK(!furwock_rwlock_is_write_locked(wrong[i]));
	}
	/* The last one upgrades. */
	for (j = 0; j < 4; j++)
		CHECK_ERR(timed[j](&lock, &bad), EINVAL);
	OK(furwock_rwlock_uplock(&lock));
	CHECK_ERR(timed[4](&lock, &bad), EINVAL);
	CHECK(!furwock_rwlock_is_write_locked(&lock));
	OK(furwock_rwlock_upunlock(&lock));
	check_admits("ruw");
}

TEST(rwlock__who_is_not_inside_changes_nothing)
{
	furwock_deadline soon = furwock_after_ns(NS_PER_MS);

	OK(furwock_rwlock_wrunlock(&lock));
	OK(furwock_rwlock_upunlock(&lock));
	CHECK_ERR(furwock_rwlock_upgrade(&lock), EPERM);
	CHECK_ERR(furwock_rwlock_tryupgrade(&lock), EPERM);
	CHECK_ERR(furwock_rwlock_upgrade_until(&lock, &soon), EPERM);
	CHECK_ERR(furwock_rwlock_downgrade(&lock), EPERM);
	CHECK_ERR(furwock_rwlock_downgrade_to_upgradable(&lock), EPERM);
	CHECK_ERR(furwock_rwlock_downgrade_upgradable(&lock), EPERM);
	CHECK_EQ(lock.word, 0);
	OK(furwock_rwlock_uplock(&lock));
	OK(furwock_rwlock_wrunlock(&lock));
	CHECK_ERR(furwock_rwlock_downgrade(&lock), EPERM);
	CHECK_ERR(furwock_rwlock_downgrade_to_upgradable(&lock), EPERM);
	check_admits("r--");
	OK(furwock_rwlock_upgrade(&lock));
	OK(furwock_rwlock_upunlock(&lock));
	CHECK_ERR(furwock_rwlock_upgrade(&lock), EPERM);
	CHECK_ERR(furwock_rwlock_downgrade_upgradable(&lock), EPERM);
	check_admits("---");
	OK(furwock_rwlock_wrunlock(&lock));
	check_admits("ruw");
}

TEST(rwlock__initialisers_are_policies)
{
	furwock_rwlock made[] = {
		FURWOCK_RWLOCK_INIT, FURWOCK_RWLOCK_RECURSIVE_INIT,
		FURWOCK_RWLOCK_PREFER_READERS_INIT,
		FURWOCK_RWLOCK_PREFER_WRITERS_INIT,
		FURWOCK_RWLOCK_PREFER_WRITERS_RECURSIVE_INIT,
	};
	static const int policies[] = {
		FURWOCK_RWLOCK_PHASE_FAIR, FURWOCK_RWLOCK_RECURSIVE,
		FURWOCK_RWLOCK_PREFER_READERS, FURWOCK_RWLOCK_PREFER_WRITERS,
		FURWOCK_RWLOCK_PREFER_WRITERS_RECURSIVE,
	};
	int i;

	for (i = 0; i < 5; i++) {
		furwock_rwlock own = { ~0ull };

		CHECK_EQ(furwock_rwlock_policy(&made[i]), policies[i]);
		OK(furwock_rwlock_init(&own, policies[i]));
		CHECK(own.word == made[i].word);
		OK(furwock_rwlock_wrlock(&made[i]));
		OK(furwock_rwlock_set_policy(&made[i], policies[4 - i]));
		CHECK_EQ(furwock_rwlock_policy(&made[i]), policies[4 - i]);
		CHECK(furwock_rwlock_is_write_locked(&made[i]));
		OK(furwock_rwlock_wrunlock(&made[i]));
		OK(furwock_rwlock_destroy(&made[i]));
	}
	CHECK_ERR(furwock_rwlock_init(&lock, 5), EINVAL);
	CHECK_ERR(furwock_rwlock_init(&lock, -1), EINVAL);
	CHECK_ERR(furwock_rwlock_set_policy(&lock, 5), EINVAL);
	CHECK_EQ(lock.word, 0);
}

/* A reader inside, and a writer that waits for it: may another reader enter? */
static void check_newcomer(int policy, int wanted)
{
	struct call writer = WRITER;
	struct call newcomer = READER;

	OK(furwock_rwlock_init(&lock, policy));
	OK(furwock_rwlock_rdlock(&lock));
	begin_asleep(&writer);
	CHECK_EQ(RD(), wanted);
	OK(RD_RECURSIVE());
	begin(&newcomer);
	if (wanted == 0) {
		UNTIL(newcomer.result == 0);
	} else {
		until_asleep(&newcomer.thread);
		CHECK_EQ(newcomer.result, PENDING);
	}
	CHECK_EQ(writer.result, PENDING);
	OK(furwock_rwlock_rdunlock(&lock));
	OK(end(&writer));
	OK(end(&newcomer));
	check_admits("ruw");
}

TEST(rwlock__preferred_readers_pass_waiting_writers)
{
	check_newcomer(FURWOCK_RWLOCK_PREFER_READERS, 0);
}

TEST(rwlock__preferred_writers_hold_up_readers)
{
	check_newcomer(FURWOCK_RWLOCK_PREFER_WRITERS, EBUSY);
}

/* The caller reads what it reads already, before a writer that waits for it. */
static void check_recursion(int policy)
{
	struct call writer = WRITER;

	OK(furwock_rwlock_init(&lock, policy));
	OK(furwock_rwlock_rdlock(&lock));
	begin_asleep(&writer);
	OK(furwock_rwlock_rdlock(&lock));
	CHECK_EQ(writer.result, PENDING);
	OK(furwock_rwlock_rdunlock(&lock));
	OK(furwock_rwlock_rdunlock(&lock));
	OK(end(&writer));
}

TEST(rwlock__recursive_readers_get_in)
{
	check_recursion(FURWOCK_RWLOCK_RECURSIVE);
	check_recursion(FURWOCK_RWLOCK_PREFER_WRITERS_RECURSIVE);
}

static void *read_and_vanish(void *unused)
{
	OK(furwock_rwlock_rdlock(&lock));
	return unused;
}

TEST(rwlock__destroy_forgets_readers_that_never_left)
{
	struct thread reader;
	furwock_deadline soon;

	bias();
	start(&reader, read_and_vanish, NULL);
	join(&reader);
	CHECK(furwock_rwlock_is_locked(&lock));
	soon = furwock_after_ns(2 * NS_PER_MS);
	CHECK_ERR(furwock_rwlock_wrlock_until(&lock, &soon), ETIMEDOUT);
	OK(furwock_rwlock_destroy(&lock));
	OK(furwock_rwlock_init(&lock, FURWOCK_RWLOCK_PHASE_FAIR));
	bias();
	OK(furwock_rwlock_wrlock(&lock));
	OK(furwock_rwlock_wrunlock(&lock));
	check_admits("ruw");
}

TEST(rwlock__unlocks_count_whom_they_let_in)
{
	struct call readers[3], writer = WRITER;
	int i;

	OK(furwock_rwlock_wrlock(&lock));
	for (i = 0; i < 3; i++) {
		readers[i] = (struct call)READER;
		begin_asleep(&readers[i]);
	}
	CHECK_EQ(furwock_rwlock_wrunlock_counting(&lock), 3);
	for (i = 0; i < 3; i++)
		OK(end(&readers[i]));

	OK(furwock_rwlock_rdlock(&lock));
	begin_asleep(&writer);
	CHECK_EQ(furwock_rwlock_rdunlock_counting(&lock), 1);
	OK(end(&writer));

	OK(furwock_rwlock_uplock(&lock));
	begin_asleep(&writer);
	CHECK_EQ(furwock_rwlock_upunlock_counting(&lock), 1);
	OK(end(&writer));
	check_admits("ruw");
}

/* After a fair release the caller, which comes at once, comes after the waiter. */
static void check_fair(int (*enter)(furwock_rwlock *),
		       int (*leave_fairly)(furwock_rwlock *))
{
	struct call writer = WRITER;

	OK(enter(&lock));
	begin_asleep(&writer);
	OK(leave_fairly(&lock));
	OK(furwock_rwlock_wrlock(&lock));
	CHECK_EQ(writer.result, 0);
	OK(furwock_rwlock_wrunlock(&lock));
	OK(end(&writer));
}

TEST(rwlock__a_fair_unlock_is_for_who_waits)
{
	int i;

	for (i = 0; i < 20; i++) {
		check_fair(furwock_rwlock_wrlock, furwock_rwlock_wrunlock_fair);
		check_fair(furwock_rwlock_rdlock, furwock_rwlock_rdunlock_fair);
		check_fair(furwock_rwlock_uplock, furwock_rwlock_upunlock_fair);
	}
}

/* Two counts that only writers change, together. */
static volatile long first, second;
static _Atomic long writes;

static void write_both(void)
{
	first++;
	second++;
	writes++;
}

static void *use(void *seed)
{
	uint32_t state = (uint32_t)(uintptr_t)seed;
	int i;

	for (i = 0; i < 10000; i++) {
		furwock_deadline soon = furwock_after_ns(20000);

		switch (next_random(&state) % 16) {
		case 0:
			OK(furwock_rwlock_wrlock(&lock));
			write_both();
			OK(furwock_rwlock_wrunlock(&lock));
			break;
		case 1:
			OK(furwock_rwlock_wrlock(&lock));
			write_both();
			OK(furwock_rwlock_downgrade(&lock));
			CHECK_EQ(first, second);
			OK(furwock_rwlock_rdunlock_fair(&lock));
			break;
		case 2: {
			long seen;

			OK(furwock_rwlock_uplock(&lock));
			seen = first;
			OK(furwock_rwlock_upgrade(&lock));
			CHECK_EQ(first, seen);
			write_both();
			OK(furwock_rwlock_downgrade_to_upgradable(&lock));
			CHECK_EQ(first, seen + 1);
			OK(furwock_rwlock_upunlock(&lock));
			break;
		}
		case 3:
			if (furwock_rwlock_wrlock_until(&lock, &soon))
				break;
			write_both();
			OK(furwock_rwlock_wrunlock_fair(&lock));
			break;
		case 4:
			OK(furwock_rwlock_uplock(&lock));
			if (furwock_rwlock_upgrade_until(&lock, &soon)) {
				CHECK_EQ(first, second);
				OK(furwock_rwlock_upunlock(&lock));
				break;
			}
			write_both();
			OK(furwock_rwlock_wrunlock(&lock));
			break;
		case 5:
			if (furwock_rwlock_rdlock_until(&lock, &soon))
				break;
			CHECK_EQ(first, second);
			OK(furwock_rwlock_rdunlock(&lock));
			break;
		default:
			OK(furwock_rwlock_rdlock(&lock));
			CHECK_EQ(first, second);
			OK(furwock_rwlock_rdunlock(&lock));
		}
	}
	return NULL;
}

TEST(rwlock__excludes)
{
	struct thread threads[4];
	int policy;
	uintptr_t i;

	for (policy = 0; policy < 5; policy++) {
		OK(furwock_rwlock_init(&lock, policy));
		for (i = 0; i < 4; i++)
			start(&threads[i], use, (void *)(i + 1));
		join_all(threads, 4);
		CHECK_EQ(first, writes);
		CHECK_EQ(second, writes);
		check_admits("ruw");
	}
}

/* The child is inside as the thread was that forked; others of the parent's aren't. */
TEST(fork__the_child_is_inside_as_its_parent_was)
{
	struct call reader = { .function = furwock_rwlock_rdlock,
			       .leave = furwock_rwlock_rdunlock, .stay = true };
	furwock_rwlock written = FURWOCK_RWLOCK_INIT;
	pid_t child;

	bias();
	begin(&reader);
	UNTIL(reader.result == 0);
	OK(furwock_rwlock_rdlock(&lock));
	OK(furwock_rwlock_wrlock(&written));
	child = fork_watched();
	if (child == 0) {
		OK(furwock_rwlock_downgrade_to_upgradable(&written));
		OK(furwock_rwlock_upgrade(&written));
		OK(furwock_rwlock_wrunlock(&written));
		OK(furwock_rwlock_wrlock(&written));
		CHECK_EQ(furwock_rwlock_owner(&written), gettid());
		CHECK_EQ(WR(), EBUSY);
		OK(furwock_rwlock_rdunlock(&lock));
		check_admits("ruw");
		_exit(0);
	}
	REAP(child);
	OK(furwock_rwlock_wrunlock(&written));
	OK(end(&reader));
	CHECK_EQ(WR(), EBUSY);
	OK(furwock_rwlock_rdunlock(&lock));
	check_admits("ruw");
}

/* --------------------------------------------------- options and status -- */

/* A locker by furwock_mutex_lock_with. */
struct locker {
	struct thread thread;
	furwock_lock_options options;
	furwock_lock_status status;
	int result;
	_Atomic bool had_it;
};

static void *lock_and_unlock(void *argument)
{
	struct locker *locker = argument;

	locker->result = furwock_mutex_lock_with(&mutex, &locker->options,
						 &locker->status);
	if (locker->result == 0) {
		locker->had_it = true;
		OK(furwock_mutex_unlock(&mutex));
	}
	return NULL;
}

static void start_locker_with(struct locker *locker, uint64_t hand_off_after_ns)
{
	*locker = (struct locker){
		.options = { .hand_off_after_ns = hand_off_after_ns,
			     .flags = FURWOCK_NO_SPIN },
	};
	start_asleep(&locker->thread, lock_and_unlock, locker);
}

/* It never asks for a hand-off, however long this test is held up. */
static void start_locker(struct locker *locker)
{
	start_locker_with(locker, UINT64_MAX);
}

TEST(mutex__a_free_one_is_had_fast)
{
	furwock_lock_status status = { FURWOCK_HOW_SLEPT, 7, true };
	furwock_lock_options options = { .flags = FURWOCK_NO_STEAL };
	furwock_deadline over = past();

	OK(furwock_mutex_lock_with(&mutex, NULL, NULL));
	OK(furwock_mutex_unlock(&mutex));
	options.until = &over;
	OK(furwock_mutex_lock_with(&mutex, &options, &status));
	CHECK_HAD(status, FAST, 0);
	OK(furwock_mutex_unlock(&mutex));
}

TEST(mutex__a_sleeper_is_woken)
{
	struct locker locker;

	OK(furwock_mutex_lock(&mutex));
	start_locker(&locker);
	CHECK_EQ(furwock_mutex_unlock_counting(&mutex), 1);
	join(&locker.thread);
	OK(locker.result);
	CHECK_HAD(locker.status, SLEPT, 1);
	OK(furwock_mutex_lock(&mutex));
	CHECK_EQ(furwock_mutex_unlock_counting(&mutex), 0);
}

TEST(mutex__a_fair_unlock_hands_over)
{
	struct locker locker;

	OK(furwock_mutex_lock(&mutex));
	start_locker(&locker);
	OK(furwock_mutex_unlock_fair(&mutex));
	OK(furwock_mutex_lock(&mutex));
	CHECK(locker.had_it);
	OK(furwock_mutex_unlock_fair(&mutex));
	join(&locker.thread);
	CHECK_HAD(locker.status, HANDED_OVER, 1);
	CHECK_EQ(mutex.word, 0);
}

/*
 * A waiter that has been woken takes a while to come. A thread that may not
 * steal waits for it, some milliseconds; on a busy machine it may come later yet.
 */
TEST(mutex__stealing_is_told_and_can_be_left)
{
	furwock_lock_options options = { .flags = FURWOCK_NO_STEAL };
	furwock_lock_status status = { 0 };
	enum { MOST_ROUNDS = 200, LEAST_BEFORE = 40 };
	struct locker locker;
	int rounds, before = 0;

	while (status.how != FURWOCK_HOW_STOLEN) {
		OK(furwock_mutex_lock(&mutex));
		start_locker(&locker);
		OK(furwock_mutex_unlock(&mutex));
		OK(furwock_mutex_lock_with(&mutex, NULL, &status));
		OK(furwock_mutex_unlock(&mutex));
		join(&locker.thread);
	}
	for (rounds = 0; before < LEAST_BEFORE && rounds < MOST_ROUNDS; rounds++) {
		OK(furwock_mutex_lock(&mutex));
		start_locker(&locker);
		OK(furwock_mutex_unlock(&mutex));
		OK(furwock_mutex_lock_with(&mutex, &options, &status));
		before += locker.had_it;
		OK(furwock_mutex_unlock(&mutex));
		join(&locker.thread);
	}
	CHECK(before >= LEAST_BEFORE);
}

/*
 * How the waiter gets a mutex that is taken past it once, after it has slept for
 * so long.
 */
static furwock_lock_status robbed(uint64_t hand_off_after_ns, int64_t sleep)
{
	furwock_lock_status status = { 0 };
	struct locker locker;

	for (;;) {
		OK(furwock_mutex_lock(&mutex));
		start_locker_with(&locker, hand_off_after_ns);
		sleep_ms(sleep);
		OK(furwock_mutex_unlock(&mutex));
		OK(furwock_mutex_lock_with(&mutex, NULL, &status));
		if (status.how == FURWOCK_HOW_STOLEN && !locker.had_it)
			break;
		OK(furwock_mutex_unlock(&mutex));
		join(&locker.thread);
	}
	/* It finds the mutex taken, and sleeps again. */
	sleep_ms(10);
	until_asleep(&locker.thread);
	OK(furwock_mutex_unlock(&mutex));
	join(&locker.thread);
	OK(locker.result);
	CHECK_EQ(mutex.word, 0);
	return locker.status;
}

/*
 * A waiter that asks at once is given the mutex by the next release; one that
 * would ask in some centuries isn't, however long it has waited.
 */
TEST(mutex__asks_for_a_hand_off_when_told_to)
{
	furwock_lock_status status = robbed(1, 0);

	CHECK_HAD(status, HANDED_OVER, 2);
	status = robbed(UINT64_MAX, 10);
	CHECK_HAD(status, SLEPT, 2);
	status = robbed(0, 10);
	CHECK_EQ(status.how, FURWOCK_HOW_HANDED_OVER);
}

TEST(with__deadlines_pass_and_nonsense_is_einval)
{
	furwock_lock_status status = { FURWOCK_HOW_SPUN, 7, true };
	furwock_deadline soon = furwock_after_ns(2 * NS_PER_MS);
	furwock_deadline bad = malformed();
	furwock_lock_options options = { .until = &soon };
	furwock_lock_options no_flag = { .flags = 8 };
	furwock_lock_options no_deadline = { .until = &bad };
	struct call writer = { .function = furwock_rwlock_wrlock,
			       .leave = furwock_rwlock_wrunlock,
			       .stay = true };

	begin(&writer);
	UNTIL(writer.result == 0);
	OK(furwock_mutex_lock(&mutex));
	CHECK_ERR(furwock_mutex_lock_with(&mutex, &options, &status), ETIMEDOUT);
	CHECK_ERR(furwock_rwlock_rdlock_with(&lock, &options, &status), ETIMEDOUT);
	CHECK_ERR(furwock_rwlock_wrlock_with(&lock, &options, &status), ETIMEDOUT);
	OK(furwock_mutex_unlock(&mutex));
	OK(end(&writer));
	CHECK_ERR(furwock_mutex_lock_with(&mutex, &no_flag, &status), EINVAL);
	CHECK_ERR(furwock_mutex_lock_with(&mutex, &no_deadline, &status), EINVAL);
	CHECK_ERR(furwock_mutex_lock_with(NULL, NULL, &status), EINVAL);
	CHECK_ERR(furwock_rwlock_rdlock_with(&lock, &no_flag, &status), EINVAL);
	CHECK_ERR(furwock_rwlock_wrlock_with(&lock, &no_deadline, &status), EINVAL);
	/* What isn't had has no status. */
	CHECK_EQ(status.how, FURWOCK_HOW_SPUN);
	CHECK_EQ(status.sleeps, 7);
	CHECK_EQ(furwock_mutex_unlock_counting(NULL), 0);
	CHECK_ERR(furwock_mutex_unlock_fair(NULL), EINVAL);
	CHECK(!furwock_mutex_is_locked(&mutex));
	check_admits("ruw");
}

struct rw_locker {
	struct thread thread;
	bool writes;
	furwock_lock_status status;
};

static void *rw_lock_and_unlock(void *argument)
{
	struct rw_locker *locker = argument;
	/* As above. */
	furwock_lock_options patient = { .hand_off_after_ns = UINT64_MAX };

	if (locker->writes) {
		OK(furwock_rwlock_wrlock_with(&lock, &patient, &locker->status));
		OK(furwock_rwlock_wrunlock(&lock));
	} else {
		OK(furwock_rwlock_rdlock_with(&lock, &patient, &locker->status));
		OK(furwock_rwlock_rdunlock(&lock));
	}
	return NULL;
}

TEST(rwlock__tells_how_it_was_had)
{
	struct rw_locker locker = { .status = { FURWOCK_HOW_SPUN, 7, true } };
	int writes;

	for (writes = 0; writes < 2; writes++) {
		locker.writes = writes;
		rw_lock_and_unlock(&locker);
		CHECK_HAD(locker.status, FAST, 0);

		OK(furwock_rwlock_wrlock(&lock));
		start_asleep(&locker.thread, rw_lock_and_unlock, &locker);
		OK(furwock_rwlock_wrunlock(&lock));
		join(&locker.thread);
		/* Readers that have slept are let in; a writer is woken. */
		CHECK_EQ(locker.status.how, writes ? FURWOCK_HOW_SLEPT :
						     FURWOCK_HOW_HANDED_OVER);
		CHECK(locker.status.sleeps >= 1);
	}
}

static void *lock_and_vanish(void *unused)
{
	OK(furwock_mutex_lock(&mutex));
	return unused;
}

static void *write_and_vanish(void *unused)
{
	OK(furwock_rwlock_wrlock(&lock));
	return unused;
}

static void vanish(void *(*run)(void *))
{
	struct thread thread;

	start(&thread, run, NULL);
	join(&thread);
}

TEST(owner_death__is_eownerdead_with_the_lock_held)
{
	furwock_lock_options options = { .flags = FURWOCK_OWNER_DEATH };
	furwock_lock_status status = { 0 };
	furwock_deadline soon;

	vanish(lock_and_vanish);
	soon = furwock_after_ns(50 * NS_PER_MS);
	CHECK_ERR(furwock_mutex_lock_until(&mutex, &soon), ETIMEDOUT);
	CHECK_ERR(furwock_mutex_lock_with(&mutex, &options, &status), EOWNERDEAD);
	CHECK(status.owner_died);
	CHECK_EQ(furwock_mutex_owner(&mutex), gettid());
	CHECK_ERR(furwock_mutex_trylock(&mutex), EBUSY);
	OK(furwock_mutex_unlock(&mutex));
	OK(furwock_mutex_lock_with(&mutex, &options, &status));
	CHECK(!status.owner_died);
	OK(furwock_mutex_unlock(&mutex));
	CHECK_EQ(mutex.word, 0);

	vanish(write_and_vanish);
	soon = furwock_after_ns(50 * NS_PER_MS);
	CHECK_ERR(furwock_rwlock_rdlock_until(&lock, &soon), ETIMEDOUT);
	CHECK_ERR(furwock_rwlock_rdlock_with(&lock, &options, &status),
		  EOWNERDEAD);
	CHECK(status.owner_died);
	check_admits("ru-");
	OK(furwock_rwlock_rdunlock(&lock));

	vanish(write_and_vanish);
	CHECK_ERR(furwock_rwlock_wrlock_with(&lock, &options, NULL), EOWNERDEAD);
	CHECK_EQ(furwock_rwlock_owner(&lock), gettid());
	check_admits("---");
	OK(furwock_rwlock_wrunlock(&lock));
	check_admits("ruw");
}

/* ------------------------------------------------------------- attempts -- */

TEST(attempt__waits_and_takes)
{
	furwock_lock_status status = { FURWOCK_HOW_SPUN, 7, true };
	furwock_mutex_attempt attempt;

	OK(furwock_mutex_attempt_begin(&attempt, &mutex, NULL));
	CHECK(!furwock_mutex_is_locked(&mutex));
	CHECK_ERR(furwock_mutex_attempt_wait(&attempt, &status), EAGAIN);
	CHECK(!furwock_mutex_is_locked(&mutex));
	CHECK_EQ(status.sleeps, 7);
	OK(furwock_mutex_lock(&mutex));
	CHECK_ERR(furwock_mutex_attempt_try_take(&attempt, &status), EBUSY);
	OK(furwock_mutex_unlock(&mutex));
	OK(furwock_mutex_attempt_try_take(&attempt, &status));
	CHECK_EQ(status.sleeps, 0);
	CHECK(!status.owner_died);
	CHECK_EQ(furwock_mutex_owner(&mutex), gettid());
	CHECK_ERR(furwock_mutex_attempt_wait(&attempt, &status), EINVAL);
	CHECK_ERR(furwock_mutex_attempt_try_take(&attempt, &status), EINVAL);
	OK(furwock_mutex_attempt_end(&attempt));
	CHECK_EQ(furwock_mutex_owner(&mutex), gettid());
	CHECK_ERR(furwock_mutex_attempt_end(&attempt), EINVAL);
	OK(furwock_mutex_unlock(&mutex));
	CHECK_EQ(mutex.word, 0);
}

TEST(attempt__what_is_malformed_is_einval)
{
	furwock_mutex_attempt attempt = { 0 };
	furwock_mutex_attempt *crooked = (void *)4;
	furwock_deadline bad = malformed();
	furwock_lock_options no_flag = { .flags = ~0u };
	furwock_lock_options no_deadline = { .until = &bad };

	CHECK_ERR(furwock_mutex_attempt_wait(&attempt, NULL), EINVAL);
	CHECK_ERR(furwock_mutex_attempt_try_take(&attempt, NULL), EINVAL);
	CHECK_ERR(furwock_mutex_attempt_end(&attempt), EINVAL);
	CHECK_ERR(furwock_mutex_attempt_begin(&attempt, NULL, NULL), EINVAL);
	CHECK_ERR(furwock_mutex_attempt_begin(NULL, &mutex, NULL), EINVAL);
	CHECK_ERR(furwock_mutex_attempt_begin(crooked, &mutex, NULL), EINVAL);
	CHECK_ERR(furwock_mutex_attempt_begin(&attempt, &mutex, &no_flag),
		  EINVAL);
	CHECK_ERR(furwock_mutex_attempt_begin(&attempt, &mutex, &no_deadline),
		  EINVAL);
	CHECK_ERR(furwock_mutex_attempt_end(&attempt), EINVAL);
	CHECK_ERR(furwock_mutex_attempt_wait(NULL, NULL), EINVAL);
	CHECK_ERR(furwock_mutex_attempt_try_take(crooked, NULL), EINVAL);
	CHECK_ERR(furwock_mutex_attempt_end(NULL), EINVAL);
}

TEST(attempt__times_out)
{
	furwock_deadline soon = furwock_after_ns(2 * NS_PER_MS);
	furwock_lock_options options = { .until = &soon };
	furwock_mutex_attempt attempt;
	furwock_lock_status status;

	OK(furwock_mutex_lock(&mutex));
	OK(furwock_mutex_attempt_begin(&attempt, &mutex, &options));
	/* The options need not be there any longer. */
	memset(&options, 0xff, sizeof(options));
	memset(&soon, 0xff, sizeof(soon));
	CHECK_ERR(furwock_mutex_attempt_wait(&attempt, &status), ETIMEDOUT);
	CHECK_ERR(furwock_mutex_attempt_wait(&attempt, &status), EINVAL);
	OK(furwock_mutex_attempt_end(&attempt));
	OK(furwock_mutex_unlock(&mutex));
	CHECK_EQ(mutex.word, 0);
}

/* A waiter whose last step is its own; whether it takes it, the test says. */
struct attempter {
	struct thread thread;
	furwock_lock_options options;
	bool gives_up;
	_Atomic int turn;
	_Atomic bool go_on;
	furwock_lock_status status;
};

static void *attempt_it(void *argument)
{
	struct attempter *attempter = argument;
	furwock_mutex_attempt attempt;
	int turn;

	OK(furwock_mutex_attempt_begin(&attempt, &mutex, &attempter->options));
	turn = furwock_mutex_attempt_wait(&attempt, &attempter->status);
	attempter->turn = turn;
	UNTIL(attempter->go_on);
	if (turn == EAGAIN && !attempter->gives_up)
		OK(furwock_mutex_attempt_try_take(&attempt, &attempter->status));
	OK(furwock_mutex_attempt_end(&attempt));
	if (turn != EAGAIN || !attempter->gives_up) {
		CHECK_EQ(furwock_mutex_owner(&mutex), gettid());
		OK(furwock_mutex_unlock(&mutex));
	}
	return NULL;
}

static void start_attempter(struct attempter *attempter)
{
	attempter->options.flags |= FURWOCK_NO_SPIN;
	attempter->options.hand_off_after_ns = UINT64_MAX;
	attempter->turn = PENDING;
	start(&attempter->thread, attempt_it, attempter);
}

TEST(attempt__sleeps_until_it_is_its_turn)
{
	struct attempter attempter = { .gives_up = false };

	OK(furwock_mutex_lock(&mutex));
	start_attempter(&attempter);
	until_asleep(&attempter.thread);
	CHECK_EQ(attempter.turn, PENDING);
	OK(furwock_mutex_unlock(&mutex));
	UNTIL(attempter.turn != PENDING);
	CHECK_EQ(attempter.turn, EAGAIN);
	CHECK(!furwock_mutex_is_locked(&mutex));
	attempter.go_on = true;
	join(&attempter.thread);
	CHECK_HAD(attempter.status, SLEPT, 1);
	CHECK_EQ(mutex.word, 0);
}

TEST(attempt__may_be_handed_the_mutex)
{
	struct attempter attempter = { .go_on = true };

	OK(furwock_mutex_lock(&mutex));
	start_attempter(&attempter);
	until_asleep(&attempter.thread);
	OK(furwock_mutex_unlock_fair(&mutex));
	join(&attempter.thread);
	CHECK_EQ(attempter.turn, 0);
	CHECK_EQ(attempter.status.how, FURWOCK_HOW_HANDED_OVER);
	CHECK_EQ(mutex.word, 0);
}

/* A thread that gives up at its turn leaves the mutex to the next waiter. */
TEST(attempt__given_up_strands_no_waiter)
{
	struct attempter attempter = { .gives_up = true };
	struct locker behind;

	OK(furwock_mutex_lock(&mutex));
	start_attempter(&attempter);
	until_asleep(&attempter.thread);
	start_locker(&behind);
	OK(furwock_mutex_unlock(&mutex));
	UNTIL(attempter.turn != PENDING);
	CHECK_EQ(attempter.turn, EAGAIN);
	attempter.go_on = true;
	join(&attempter.thread);
	join(&behind.thread);
	CHECK(behind.had_it);
	CHECK_EQ(mutex.word, 0);
}

TEST(attempt__takes_over_from_the_dead)
{
	struct attempter attempter = { .options.flags = FURWOCK_OWNER_DEATH,
				       .go_on = true };

	vanish(lock_and_vanish);
	start_attempter(&attempter);
	join(&attempter.thread);
	CHECK_EQ(attempter.turn, EOWNERDEAD);
	CHECK(attempter.status.owner_died);
	CHECK_EQ(mutex.word, 0);
}

static long counter;

static void *count_by_attempts(void *unused)
{
	int i;

	for (i = 0; i < 20000; i++) {
		furwock_deadline soon = furwock_after_ns(50000);
		furwock_lock_options options = { .until = i % 2 ? &soon : NULL };
		furwock_mutex_attempt attempt;
		int came;

		OK(furwock_mutex_attempt_begin(&attempt, &mutex, &options));
		do {
			came = furwock_mutex_attempt_wait(&attempt, NULL);
			if (came == EAGAIN && i % 5 == 0)
				break;
			if (came == EAGAIN)
				came = furwock_mutex_attempt_try_take(&attempt,
								      NULL);
		} while (came == EBUSY);
		OK(furwock_mutex_attempt_end(&attempt));
		if (came == 0) {
			counter++;
			OK(furwock_mutex_unlock(&mutex));
		} else {
			CHECK(came == EAGAIN || came == ETIMEDOUT);
			OK(furwock_mutex_lock(&mutex));
			counter++;
			OK(furwock_mutex_unlock_fair(&mutex));
		}
	}
	return unused;
}

TEST(attempt__excludes)
{
	struct thread threads[4];

	start_all(threads, 4, count_by_attempts, NULL);
	join_all(threads, 4);
	CHECK_EQ(counter, 80000);
	CHECK_EQ(mutex.word, 0);
}

RUN_TESTS()
