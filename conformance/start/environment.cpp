/* Looks at its environment as it begins, and again in main. Linked with libgcc_s, as programs in
 * C++ are. */
#include <cstdlib>
#include <cstring>
#include <stdexcept>

extern char **environ;

static bool is_there()
{
	const char *value = std::getenv("CONFORMANCE_VALUE");

	return environ && value && !std::strcmp(value, "is there");
}

static bool was_there = is_there();

int main()
{
	try {
		throw std::runtime_error("the unwinder is needed");
	} catch (const std::exception &) {
		return was_there && is_there() ? 0 : 1;
	}
}
