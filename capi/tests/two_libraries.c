/* A program with two static libraries of Rust's. */

#include <furwock.h>

int other_add(int number);

int main(void)
{
	static furwock_mutex mutex = FURWOCK_MUTEX_INIT;

	if (furwock_mutex_lock(&mutex) != 0 || other_add(41) != 42)
		return 1;
	return furwock_mutex_unlock(&mutex) != 0;
}
