/* What holds of every attribute of every attributes object, by tables of them. */
#ifndef CONFORMANCE_ATTRIBUTES_H
#define CONFORMANCE_ATTRIBUTES_H

#include "../pthread/harness.h"
#include "memory.h"

struct attribute {
	const char *name;
	int (*set)(void *attr, int value);
	int (*get)(const void *attr, int *value);
	/* The first is the default, if there is one. */
	const int *values;
	size_t count;
	bool no_default;
	const int *invalid;
	size_t invalid_count;
};

/* An attributes object, with at most five attributes. */
struct attributes {
	int (*init)(void *attr);
	int (*destroy)(void *attr);
	const struct attribute *all[5];
};

/* That of the program, which defines it by ATTRIBUTES. */
static const struct attributes attributes;

#define LIST(...) (const int[]){ __VA_ARGS__ }, COUNT(((int[]){ __VA_ARGS__ }))

/* attr_NAME: by pthread_OBJECT_setNAME and getNAME. */
#define ATTRIBUTE(object, name, values, invalid, no_default)		\
	static int set_##name(void *attr, int value)			\
	{								\
		return pthread_##object##_set##name(attr, value);	\
	}								\
	static int get_##name(const void *attr, int *value)		\
	{								\
		return pthread_##object##_get##name(attr, value);	\
	}								\
	static const struct attribute attr_##name = {			\
		#name, set_##name, get_##name, values, no_default, invalid, \
	};

/* The object has those that follow. */
#define ATTRIBUTES(object, ...)						\
	static int init_attr(void *attr)				\
	{								\
		return pthread_##object##_init(attr);			\
	}								\
	static int destroy_attr(void *attr)				\
	{								\
		return pthread_##object##_destroy(attr);		\
	}								\
	static const struct attributes attributes = {			\
		init_attr, destroy_attr, { __VA_ARGS__ },		\
	};

/* Notes which is looked at, for failures to tell. */
static bool at_attribute(size_t at)
{
	bool there = at < 5 && attributes.all[at];

	at_column = there ? attributes.all[at]->name : "";
	return there;
}

#define EACH_ATTRIBUTE(it) size_t it = 0; at_attribute(it); it++

union any_attr {
	pthread_mutexattr_t mutexattr;
	pthread_condattr_t condattr;
	pthread_rwlockattr_t rwlockattr;
	pthread_barrierattr_t barrierattr;
};

static int UNUSED told(const struct attribute *attribute, const void *attr)
{
	int value = -17;

	OK(attribute->get(attr, &value));
	return value;
}

struct values {
	int of[5];
};

static struct values values_of(const void *attr)
{
	struct values values = { .of = { 0 } };

	for (EACH_ATTRIBUTE(i))
		values.of[i] = told(attributes.all[i], attr);
	return values;
}

/* All but one: NULL for none. */
static void check_values(const void *attr, struct values wanted,
			 const struct attribute *but)
{
	for (EACH_ATTRIBUTE(i))
		if (attributes.all[i] != but)
			CHECK_EQ(told(attributes.all[i], attr), wanted.of[i]);
}

static int last_of(const struct attribute *attribute)
{
	return attribute->values[attribute->count - 1];
}

/* To the last of each one's values. */
static void set_all(void *attr)
{
	for (EACH_ATTRIBUTE(i))
		OK(attributes.all[i]->set(attr, last_of(attributes.all[i])));
}

static void check_default(const struct attribute *attribute, const void *attr)
{
	if (!attribute->no_default)
		CHECK_EQ(told(attribute, attr), attribute->values[0]);
}

/* A new object has the defaults, whatever the memory held. No call touches errno. */
static void UNUSED check_defaults(void)
{
	union any_attr attr;

	errno = 4711;
	for (EACH_FILLING(attr)) {
		OK(attributes.init(&attr));
		for (EACH_ATTRIBUTE(i))
			check_default(attributes.all[i], &attr);
		OK(attributes.destroy(&attr));
	}
	CHECK_EQ(errno, 4711);
}

/* A destroyed object can be initialised again, and has the defaults then. */
static void UNUSED check_initialised_again(void)
{
	struct values defaults;
	union any_attr attr;

	OK(attributes.init(&attr));
	defaults = values_of(&attr);
	set_all(&attr);
	OK(attributes.destroy(&attr));
	OK(attributes.init(&attr));
	check_values(&attr, defaults, NULL);
	OK(attributes.destroy(&attr));
}

/* Each value comes back, from any value before, and whatever else is set. */
static void UNUSED check_told(const struct attribute *attribute)
{
	union any_attr attr;

	at_row = attribute->name;
	OK(attributes.init(&attr));
	check_default(attribute, &attr);
	errno = 4711;
	for (size_t i = 0; i < attribute->count; i++) {
		for (size_t j = 0; j < attribute->count; j++) {
			OK(attribute->set(&attr, attribute->values[i]));
			CHECK_EQ(told(attribute, &attr), attribute->values[i]);
			OK(attribute->set(&attr, attribute->values[j]));
			CHECK_EQ(told(attribute, &attr), attribute->values[j]);
		}
		for (EACH_ATTRIBUTE(at)) {
			const struct attribute *other = attributes.all[at];

			if (other->name == attribute->name)
				continue;
			for (size_t j = 0; j < other->count; j++) {
				OK(other->set(&attr, other->values[j]));
				CHECK_EQ(told(attribute, &attr), last_of(attribute));
			}
		}
	}
	CHECK_EQ(errno, 4711);
	OK(attributes.destroy(&attr));
}

/* To set it changes no other attribute, with those at and away from their defaults. */
static void UNUSED check_set_alone(const struct attribute *attribute)
{
	struct values before;
	union any_attr attr;

	at_row = attribute->name;
	for (int all = 0; all < 2; all++) {
		OK(attributes.init(&attr));
		if (all)
			set_all(&attr);
		before = values_of(&attr);
		for (size_t i = 0; i < attribute->count; i++) {
			OK(attribute->set(&attr, attribute->values[i]));
			CHECK_EQ(told(attribute, &attr), attribute->values[i]);
			check_values(&attr, before, attribute);
		}
		OK(attributes.destroy(&attr));
	}
}

/* EINVAL, and the value before stays. */
static void UNUSED check_refused(const struct attribute *attribute)
{
	struct values before;
	union any_attr attr;
	int error;

	at_row = attribute->name;
	OK(attributes.init(&attr));
	for (size_t i = 0; i < attribute->count; i++) {
		OK(attribute->set(&attr, attribute->values[i]));
		before = values_of(&attr);
		for (size_t j = 0; j < attribute->invalid_count; j++) {
			error = attribute->set(&attr, attribute->invalid[j]);
			if (error != EINVAL)
				FAIL("to set %d returned %d, not EINVAL", attribute->invalid[j],
				     error);
			check_values(&attr, before, NULL);
		}
	}
	OK(attributes.destroy(&attr));
}

#endif
