/*
 * A clause of the standard and its test: the text stands over the function
 * that checks it.
 *
 *	CLAUSE(pthread_mutex_lock__desc_1__locks, "what it says, in our words")
 *	{
 *		...
 *	}
 *
 * The name says where the clause stands: the function whose page it is on, the
 * paragraph of the DESCRIPTION (desc_1), the RETURN VALUE (ret) or the error
 * (err_EBUSY), and then what is checked.
 */
#ifndef CONFORMANCE_CLAUSE_H
#define CONFORMANCE_CLAUSE_H

#include "../pthread/harness.h"

struct clause {
	/* The place among the program's clauses. */
	int order;
	const char *name;
	void (*run)(void);
	/* Where the name doesn't say it. */
	const char *section;
	const char *says;
	/* The only side on which it holds, and why. */
	const char *side, *reason;
};

#define LISTED_CLAUSE(test, ...)					\
	static void test(void);						\
	static const struct clause test##_clause = {			\
		__COUNTER__, #test, test, __VA_ARGS__			\
	};								\
	static const struct clause *const test##_listed			\
		__attribute__((used, section("clauses"))) = &test##_clause; \
	static void test(void)

#define CLAUSE(test, says) LISTED_CLAUSE(test, NULL, says, "both", "")

/* In a section that the name doesn't say. */
#define CLAUSE_IN(section, test, says)					\
	LISTED_CLAUSE(test, section, says, "both", "")

#define CLAUSE_FURWOCK_ONLY(test, says, why)				\
	LISTED_CLAUSE(test, NULL, says, "furwock", why)

/* A clause that a check shared with others checks. */
#define CLAUSE_BY(check, test, says)					\
	CLAUSE(test, says)						\
	{								\
		check;							\
	}

/*
 * A clause whose check has a setting: `begin` comes before it, `end` after it. A
 * program gives the settings of its objects names of their own.
 */
#define CLAUSE_WITHIN(begin, end, test, says)				\
	static void test##_within(void);				\
	CLAUSE(test, says)						\
	{								\
		begin;							\
		test##_within();					\
		end;							\
	}								\
	static void test##_within(void)

/* The linker makes these two. */
extern const struct clause *const __start_clauses[], *const __stop_clauses[];

/* Pages that aren't named as the one function is. */
static const char *const pages[] = {
	"pthread_barrier_destroy, pthread_barrier_init",
	"pthread_barrierattr_destroy, pthread_barrierattr_init",
	"pthread_barrierattr_getpshared, pthread_barrierattr_setpshared",
	"pthread_rwlock_clockrdlock, pthread_rwlock_timedrdlock",
	"pthread_rwlock_clockwrlock, pthread_rwlock_timedwrlock",
	"pthread_rwlock_destroy, pthread_rwlock_init",
	"pthread_rwlock_rdlock, pthread_rwlock_tryrdlock",
	"pthread_rwlock_trywrlock, pthread_rwlock_wrlock",
	"pthread_rwlockattr_destroy, pthread_rwlockattr_init",
	"pthread_rwlockattr_getpshared, pthread_rwlockattr_setpshared",
	"pthread_rwlockattr_setkind_np (of glibc)",
	"pthread_spin_destroy, pthread_spin_init",
	"pthread_spin_lock, pthread_spin_trylock",
	"sem_clockwait, sem_timedwait",
	"sem_wait, sem_trywait",
	"vfork (of 2001)",
};

static const char *page_of(const char *function)
{
	size_t length = strlen(function);
	const char *found;

	for (EACH(at, pages))
		for (found = strstr(pages[at], function); found;
		     found = strstr(found + 1, function))
			if ((found == pages[at] || found[-1] == ' ') && strchr(", ", found[length]))
				return pages[at];
	return strcmp(function, "cancellation") ? function : "Thread Cancellation (XSH 2.9.5)";
}

/* The section that a name's second part stands for. */
static const char *section_of(const char *part)
{
	static const char *const prefixes[][2] = {
		{ "desc_", "DESCRIPTION " },
		{ "err_", "ERRORS " },
		{ "ret", "RETURN VALUE" },
		{ "sec_", "2.9.5." },
	};
	char *section;

	for (EACH(at, prefixes)) {
		if (strncmp(part, prefixes[at][0], strlen(prefixes[at][0])))
			continue;
		CHECK(asprintf(&section, "%s%s", prefixes[at][1],
			       part + strlen(prefixes[at][0])) > 0);
		return section;
	}
	FAIL("%s is no section's name", part);
}

static struct test test_of(const struct clause *clause)
{
	char *function = strdup(clause->name), *section, *end;

	section = strstr(function, "__");
	CHECK(section);
	*section = '\0';
	section += 2;
	end = strstr(section, "__");
	CHECK(end);
	*end = '\0';
	return (struct test){
		.name = clause->name,
		.run = clause->run,
		.side = clause->side,
		.reason = clause->reason,
		.page = page_of(function),
		.section = clause->section ? clause->section : section_of(section),
		.says = clause->says,
	};
}

int main(int argc, char **argv)
{
	const struct clause *const *clause;
	size_t count = __stop_clauses - __start_clauses;
	struct test tests[count];

	for (clause = __start_clauses; clause != __stop_clauses; clause++)
		tests[(*clause)->order] = test_of(*clause);
	return run_tests(tests, count, argc, argv);
}

#endif
