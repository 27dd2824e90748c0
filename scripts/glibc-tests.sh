#!/bin/sh
# Runs glibc's own tests of threads, locks and semaphores on furwock: those of nptl/ and
# sysdeps/pthread/ of the installed version, as Debian's package glibc-source has them. A test that
# fails runs again, alone, and then on glibc: it counts if it passes there. About four minutes, on
# x86-64.
#
# usage: glibc-tests.sh [TEST...]      as tst-mutex1; all if none is named
#
# They are built outside of glibc's tree, with what its tests share (support/). Tests that need the
# tree's build are left out, and tst-barrier5, which writes into glibc's own barrier.
set -eu
cd "$(dirname "$0")/.."

if [ "$(uname -m)" != x86_64 ]; then
    echo "skipped: this script knows x86-64's headers only"
    exit 0
fi
sh scripts/packages.sh glibc-source gcc libc6-dev xz-utils || :
archive=
for archive in /usr/src/glibc/glibc-*.tar.xz; do :; done
if [ ! -e "$archive" ]; then
    echo "skipped: glibc's source isn't here (Debian: glibc-source)"
    exit 0
fi

cargo build --release --quiet -p furwock-preload
ours=$PWD/scripts/glibc-tests
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/glibc-tests"
target=$(cd "$target" && pwd)
preload=$target/release/libfurwock_preload.so
folder=$target/glibc-tests
case $ours$folder in
    *[[:space:]]*)
        echo "a folder's name has a space in it, which LD_PRELOAD can't have: $ours or $folder" >&2
        exit 1
        ;;
esac
if ! LD_PRELOAD=$preload grep -q libfurwock_preload /proc/self/maps; then
    echo "the loader doesn't preload $preload" >&2
    exit 1
fi
tree=$folder/$(basename "$archive" .tar.xz)
if [ ! -d "$tree" ]; then
    mkdir -p "$folder/unpacked"
    tar -xf "$archive" -C "$folder/unpacked"
    mv "$folder/unpacked/$(basename "$tree")" "$tree"
fi
cd "$folder"
rm -rf shared shared.a tests results log
mkdir shared tests results log

# What glibc's build would define; a header that it would make is empty.
: >config.h
flags="-O1 -w -std=gnu11 -pthread -include $ours/build.h"
flags="$flags -I$folder -I$tree/support -idirafter $tree"
for below in sysdeps/unix/sysv/linux/x86_64 sysdeps/x86 sysdeps/x86_64 sysdeps/pthread \
    sysdeps/nptl sysdeps/generic include; do
    flags="$flags -idirafter $tree/$below"
done
export flags

# Calls a command for each line, with {} in it replaced.
side_by_side() {
    xargs -P "$(nproc)" -I{} sh -c "$1"
}

# (The programs among them aren't shared.)
{
    find "$tree/support" -maxdepth 1 -name '*.c' |
        grep -v -E '/(tst|test|true|false|echo|links|shell)-'
    echo "$ours/build.c"
} | side_by_side 'name=$(basename {} .c)
    cc $flags -c {} -o "shared/$name.o" 2>"log/$name" || :'
ar rcs shared.a shared/*.o

find "$tree/nptl" "$tree/sysdeps/pthread" -maxdepth 1 -name 'tst-*.c' |
    grep -v /tst-barrier5 | sort >sources
if [ $# != 0 ]; then
    for test in "$@"; do
        if ! grep "/$test\.c\$" sources; then
            echo "there is no test $test" >&2
            exit 1
        fi
    done >named
    mv named sources
fi
side_by_side 'name=$(basename {} .c)
    cc $flags -I$(dirname {}) {} shared.a -lm -ldl -lrt -o "tests/$name" 2>"log/$name" || :' \
    <sources
find tests -type f -printf '%f\n' | sort >built
all=$(wc -l <sources)
unbuilt=$((all - $(wc -l <built)))
# (With one that is named, that is one too many.)
if [ $((unbuilt * 5)) -gt "$all" ]; then
    echo "$unbuilt of $all tests can't be built: see $folder/log" >&2
    exit 1
fi

# run TEST LIBRARY LOG: the test's status; 77 is "not supported here".
cat >run <<'RUN'
cd tests
LD_PRELOAD=$2 timeout --kill-after=5 200 "./$1" >"../results/$1.$3" 2>&1 </dev/null
echo "$1 $?"
RUN
xargs -P "$(($(nproc) + 1))" -I{} sh run {} "$preload" furwock <built >statuses 2>crashes

unsupported=$(grep -c ' 77$' statuses || :)
fail_anyway=0
failed=
for test in $(grep -v -E ' (0|77)$' statuses | cut -d' ' -f1); do
    case $(sh run "$test" "$preload" furwock 2>>crashes) in *' 0') continue ;; esac
    case $(sh run "$test" '' glibc 2>>crashes) in
        *' 0') failed="$failed $test" ;;
        *) fail_anyway=$((fail_anyway + 1)) ;;
    esac
done
count=$(echo "$failed" | wc -w)
echo "glibc's own tests on furwock:" \
    "$((all - unbuilt - unsupported - fail_anyway - count)) passed, $count failed;" \
    "$fail_anyway fail on glibc as well, $unsupported can't run here, $unbuilt weren't built"
for test in $failed; do
    echo "failed: $test ($folder/results/$test.furwock)"
    tail -5 "results/$test.furwock"
done
[ -z "$failed" ]
