/* Memory as objects may find it: filled before, guarded, gone at once, mapped twice. */
#ifndef CONFORMANCE_MEMORY_H
#define CONFORMANCE_MEMORY_H

#include "../pthread/harness.h"

/* What the heap or the stack may hold before an object is made there. */
static const unsigned char fillings[] UNUSED = { 0x00, 0xff, 0xa5, 0x01, 0x55, 0xaa };

/* for (EACH_FILLING(mutex)): its memory holds each of them. */
#define EACH_FILLING(object)						\
	size_t at_ = 0; at_ < sizeof(fillings) &&			\
	memset(&(object), fillings[at_], sizeof(object)); at_++

/* An object between bytes that no call may write. */
#define GUARDED(type)							\
	struct {							\
		unsigned char before[64];				\
		type object;						\
		unsigned char after[64];				\
	}

#define GUARD(memory) memset(&(memory), 0x5a, sizeof(memory))

#define CHECK_GUARDED(memory)						\
	do {								\
		for (size_t i_ = 0; i_ < 64; i_++)			\
			CHECK((memory).before[i_] == 0x5a &&		\
			      (memory).after[i_] == 0x5a);		\
	} while (0)

#define PAGE 4096

/* A page that can be given back, after which no thread may touch it. */
static UNUSED void *new_page(void)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	return page;
}

static void UNUSED give_back(void *page)
{
	CHECK(!munmap(page, PAGE));
}

/* The same page at two addresses. */
static void UNUSED map_twice(void **one, void **other)
{
	int fd = memfd_create("shared", MFD_CLOEXEC);

	CHECK(fd >= 0 && !ftruncate(fd, PAGE));
	*one = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	*other = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(*one != MAP_FAILED && *other != MAP_FAILED && *one != *other);
}

#endif
