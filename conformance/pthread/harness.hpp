// What every test program in C++ shares: a check, and a main that lists the
// tests or runs one by its name, as harness.h has them for C.
#ifndef CONFORMANCE_HARNESS_HPP
#define CONFORMANCE_HARNESS_HPP

#include "bound.h"

#include <cstdio>
#include <cstring>
#include <unistd.h>

// Ends the process: other threads may be stuck in what has just failed.
#define CHECK(condition)						\
	do {								\
		if (!(condition)) {					\
			std::fprintf(stderr, "FAILED %s:%d: not so: %s\n", \
				     __FILE__, __LINE__, #condition);	\
			_exit(1);					\
		}							\
	} while (0)

struct Test {
	const char *name;
	void (*run)();
};

template <std::size_t count>
int run_tests(const Test (&tests)[count], int argc, char **argv)
{
	alarm(bound_s(20));
	for (auto &test : tests) {
		if (argc < 2)
			std::printf("%s\tboth\t\n", test.name);
		else if (!std::strcmp(argv[1], test.name))
			return test.run(), 0;
	}
	return argc < 2 ? 0 : 2;
}

// { name, function } of each test.
#define RUN_TESTS(...)							\
	int main(int argc, char **argv)					\
	{								\
		const Test tests[] = { __VA_ARGS__ };			\
									\
		return run_tests(tests, argc, argv);			\
	}

#endif
