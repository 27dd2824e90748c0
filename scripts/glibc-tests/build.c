/* What glibc's tests share, and its build generates or takes from gnulib. */
#include <time.h>

const char support_srcdir_root[] = "/tmp", support_objdir_root[] = "/tmp",
	   support_install_prefix[] = "/usr", support_libdir_prefix[] = "/lib",
	   support_bindir_prefix[] = "/bin", support_sbindir_prefix[] = "/sbin",
	   support_install_rootsbindir[] = "/sbin",
	   support_complocaledir_prefix[] = "/tmp",
	   support_sysconfdir_prefix[] = "/etc",
	   support_objdir_elf_ldso[] = "/lib64/ld-linux-x86-64.so.2";

static struct timespec normal(time_t seconds, long nanoseconds)
{
	const long second = 1000 * 1000 * 1000;
	long whole = (nanoseconds + second) / second - 1;
	return (struct timespec){seconds + whole, nanoseconds - whole * second};
}

struct timespec timespec_add(struct timespec a, struct timespec b)
{
	return normal(a.tv_sec + b.tv_sec, a.tv_nsec + b.tv_nsec);
}

struct timespec timespec_sub(struct timespec a, struct timespec b)
{
	return normal(a.tv_sec - b.tv_sec, a.tv_nsec - b.tv_nsec);
}
