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

/* OBJECT_attributes: those that follow. */
#define ATTRIBUTES(object, ...)						\
	static int object##_init(void *attr)				\
	{								\
		return pthread_##object##_init(attr);			\
	}								\
	static int object##_destroy(void *attr)				\
	{								\
		return pthread_##object##_destroy(attr);		\
	}								\
	static const struct attributes object##_attributes = {		\
		object##_init, object##_destroy, { __VA_ARGS__ },	\
	};

/* Notes which is looked at, for failures to tell. */
static bool at_attribute(const struct attributes *object, size_t at)
{
	bool there = at < 5 && object->all[at];

	at_column = there ? object->all[at]->name : "";
	return there;
}

#define EACH_ATTRIBUTE(it, object) size_t it = 0; at_attribute(object, it); it++

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

static struct values values_of(const struct attributes *object, const void *attr)
{
	struct values values = { .of = { 0 } };

	for (EACH_ATTRIBUTE(i, object))
		values.of[i] = told(object->all[i], attr);
	return values;
}

/* All but one: NULL for none. */
static void check_values(const struct attributes *object, const void *attr, struct values wanted,
			 const struct attribute *but)
{
	for (EACH_ATTRIBUTE(i, object))
		if (object->all[i] != but)
			CHECK_EQ(told(object->all[i], attr), wanted.of[i]);
}

/* To the last of each one's values. */
static void set_all(const struct attributes *object, void *attr)
{
	for (EACH_ATTRIBUTE(i, object))
		OK(object->all[i]->set(attr, object->all[i]->values[object->all[i]->count - 1]));
}

/* A new object has the defaults, whatever the memory held. No call touches errno. */
static void UNUSED check_defaults(const struct attributes *object)
{
	union any_attr attr;

	errno = 4711;
	for (EACH_FILLING(attr)) {
		OK(object->init(&attr));
		for (EACH_ATTRIBUTE(i, object))
			if (!object->all[i]->no_default)
				CHECK_EQ(told(object->all[i], &attr), object->all[i]->values[0]);
		OK(object->destroy(&attr));
	}
	CHECK_EQ(errno, 4711);
}

/* A destroyed object can be initialised again, and has the defaults then. */
static void UNUSED check_initialised_again(const struct attributes *object)
{
	struct values defaults;
	union any_attr attr;

	OK(object->init(&attr));
	defaults = values_of(object, &attr);
	set_all(object, &attr);
	OK(object->destroy(&attr));
	OK(object->init(&attr));
	check_values(object, &attr, defaults, NULL);
	OK(object->destroy(&attr));
}

/* Each value comes back, from any value before, and whatever else is set. */
static void UNUSED check_told(const struct attributes *object, const struct attribute *attribute)
{
	union any_attr attr;

	at_row = attribute->name;
	OK(object->init(&attr));
	if (!attribute->no_default)
		CHECK_EQ(told(attribute, &attr), attribute->values[0]);
	errno = 4711;
	for (size_t i = 0; i < attribute->count; i++) {
		for (size_t j = 0; j < attribute->count; j++) {
			OK(attribute->set(&attr, attribute->values[i]));
			CHECK_EQ(told(attribute, &attr), attribute->values[i]);
			OK(attribute->set(&attr, attribute->values[j]));
			CHECK_EQ(told(attribute, &attr), attribute->values[j]);
		}
		for (EACH_ATTRIBUTE(other, object)) {
			if (object->all[other]->name == attribute->name)
				continue;
			for (size_t j = 0; j < object->all[other]->count; j++) {
				OK(object->all[other]->set(&attr, object->all[other]->values[j]));
				CHECK_EQ(told(attribute, &attr),
					 attribute->values[attribute->count - 1]);
			}
		}
	}
	CHECK_EQ(errno, 4711);
	OK(object->destroy(&attr));
}

/* To set it changes no other attribute, with those at and away from their defaults. */
static void UNUSED check_set_alone(const struct attributes *object,
				   const struct attribute *attribute)
{
	struct values before;
	union any_attr attr;

	at_row = attribute->name;
	for (int all = 0; all < 2; all++) {
		OK(object->init(&attr));
		if (all)
			set_all(object, &attr);
		before = values_of(object, &attr);
		for (size_t i = 0; i < attribute->count; i++) {
			OK(attribute->set(&attr, attribute->values[i]));
			CHECK_EQ(told(attribute, &attr), attribute->values[i]);
			check_values(object, &attr, before, attribute);
		}
		OK(object->destroy(&attr));
	}
}

/* EINVAL, and the value before stays. */
static void UNUSED check_refused(const struct attributes *object,
				 const struct attribute *attribute)
{
	struct values before;
	union any_attr attr;
	int error;

	at_row = attribute->name;
	OK(object->init(&attr));
	for (size_t i = 0; i < attribute->count; i++) {
		OK(attribute->set(&attr, attribute->values[i]));
		before = values_of(object, &attr);
		for (size_t j = 0; j < attribute->invalid_count; j++) {
			error = attribute->set(&attr, attribute->invalid[j]);
			if (error != EINVAL)
				FAIL("to set %d returned %d, not EINVAL", attribute->invalid[j],
				     error);
			check_values(object, &attr, before, NULL);
		}
	}
	OK(object->destroy(&attr));
}

#endif
