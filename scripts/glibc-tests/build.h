/* What glibc's build defines for its tests. */
#define _GNU_SOURCE 1
#include <stdbool.h>
#include <limits.h>
#define _ISOMAC 1
#define IS_IN(module) 0
#define attribute_hidden
#define libc_hidden_proto(name)
#define libc_hidden_def(name)
#define weak_alias(name, alias)
#define TIMEOUTFACTOR 1
