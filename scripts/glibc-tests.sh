#!/bin/sh
# Runs glibc's own tests of threads, locks and semaphores on furwock: those of nptl/ and
# sysdeps/pthread/ of the installed version, as Debian's package glibc-source has them. A test that
# fails on furwock runs on glibc too: it counts if it passes there. About four minutes.
#
# usage: glibc-tests.sh [TEST...]      as tst-mutex1; all if none is named
#
# They are built outside of glibc's tree, with what its tests share (support/). Tests that need the
# tree's build are left out, and tst-barrier5, which writes into glibc's own barrier.
set -eu
cd "$(dirname "$0")/.."

sh scripts/packages.sh glibc-source gcc libc6-dev xz-utils
archive=$(echo /usr/src/glibc/glibc-*.tar.xz)
if [ ! -e "$archive" ]; then
    echo "skipped: glibc's source isn't here (Debian: glibc-source)"
    exit 0
fi

cargo build --release --quiet -p furwock-preload
target=${CARGO_TARGET_DIR:-$PWD/target}
export preload="$target/release/libfurwock_preload.so"
export folder="$target/glibc-tests"
tree=$folder/$(basename "$archive" .tar.xz)
if [ ! -d "$tree" ]; then
    mkdir -p "$folder/unpacked"
    tar -xf "$archive" -C "$folder/unpacked"
    mv "$folder/unpacked/$(basename "$tree")" "$tree"
fi
cd "$folder"

# What glibc's build would define.
cat >build.h <<'HEADER'
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
HEADER
: >config.h
cat >build.c <<'SOURCE'
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
SOURCE
flags="-O1 -w -std=gnu11 -pthread -include $folder/build.h"
flags="$flags -I$folder -I$tree/support -idirafter $tree"
for below in sysdeps/unix/sysv/linux/x86_64 sysdeps/x86 sysdeps/x86_64 sysdeps/pthread \
    sysdeps/nptl sysdeps/generic include; do
    flags="$flags -idirafter $tree/$below"
done
export flags

# Calls a command for each line, with {} in it replaced. What can't be compiled is left out.
side_by_side() {
    xargs -P "$(nproc)" -I{} sh -c "$1"
}

rm -rf shared tests results
mkdir shared tests results
# (The programs among them aren't shared.)
{
    find "$tree/support" -maxdepth 1 -name '*.c' |
        grep -v -E '/(tst|test|true|false|echo|links|shell)-'
    echo "$folder/build.c"
} | side_by_side 'cc $flags -c {} -o shared/$(basename {} .c).o 2>/dev/null || :'
ar rcs shared.a shared/*.o

find "$tree/nptl" "$tree/sysdeps/pthread" -maxdepth 1 -name 'tst-*.c' |
    grep -v /tst-barrier5 | sort >sources
if [ $# != 0 ]; then
    for test in "$@"; do
        grep "/$test\.c\$" sources || echo "there is no test $test" >&2
    done >named
    mv named sources
fi
side_by_side 'cc $flags -I$(dirname {}) {} shared.a -lm -ldl -lrt \
    -o tests/$(basename {} .c) 2>/dev/null || :' <sources

# run TEST LIBRARY LOG: the test's status; 77 is "not supported here".
cat >run <<'RUN'
cd tests
LD_PRELOAD=$2 timeout --kill-after=5 200 "./$1" >"../results/$1.$3" 2>&1 </dev/null
echo "$1 $?"
RUN
find tests -type f -printf '%f\n' | sort >built
xargs -P "$(($(nproc) + 1))" -I{} sh run {} "$preload" furwock <built >statuses 2>crashes

passed=$(grep -c ' 0$' statuses || :)
unsupported=$(grep -c ' 77$' statuses || :)
fails_anyway=0
failed=
for test in $(grep -v -E ' (0|77)$' statuses | cut -d' ' -f1); do
    case $(sh run "$test" '' glibc 2>>crashes) in
        *' 0') failed="$failed $test" ;;
        *) fails_anyway=$((fails_anyway + 1)) ;;
    esac
done
echo "glibc's own tests on furwock: $passed passed, $(echo "$failed" | wc -w) failed;" \
    "$fails_anyway fail on glibc as well, $unsupported can't run here," \
    "$(($(wc -l <sources) - $(wc -l <built))) weren't built"
for test in $failed; do
    echo "failed: $test ($folder/results/$test.furwock)"
    tail -5 "results/$test.furwock"
done
[ -z "$failed" ]
