/*
 * Waits in files that are loaded and unloaded while the program runs. With
 * WITHOUT_LOOKUP, it hides glibc's _dl_find_object behind a symbol of its own
 * whose address is 0: then it looks as it does before glibc 2.35. The arguments
 * are files with a function `wait_in`.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#ifdef WITHOUT_LOOKUP
__asm__(".globl _dl_find_object\n.set _dl_find_object, 0");
#endif

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) void call(void (*wait_in)(pthread_mutex_t *))
{
	wait_in(&busy);
	__asm__ volatile("" ::: "memory");
}

static void *waiter(void *wait_in)
{
	call((void (*)(pthread_mutex_t *))wait_in);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	void *file, *function;

	alarm(50);
	printf("%p", (void *)call);
	for (int i = 1; i < argc; i++) {
		file = dlopen(argv[i], RTLD_NOW);
		function = file ? dlsym(file, "wait_in") : NULL;
		if (!function)
			return 1;
		printf(" %p", function);
		pthread_mutex_lock(&busy);
		pthread_create(&thread, NULL, waiter, function);
		while (*(volatile int *)&busy >> 22 == 0)
			usleep(1000);
		/* The recorder pauses before it looks for files again. */
		usleep(20000);
		pthread_mutex_unlock(&busy);
		pthread_join(thread, NULL);
		dlclose(file);
	}
	puts("");
	return 0;
}
