#!/bin/sh
# Builds furwock for aarch64 and riscv64 and runs its tests under qemu-user. Arguments name parts:
# crate, library, command, posix, pthread, riscv64; without any, all of them. `short`, before them,
# takes a few programs of each part, in at most 3 minutes on 2 cores once all is built.
#
# Tests of what qemu-user lacks are listed in scripts/qemu-lacks.txt, one by one, with the reason.
# qemu on x86-64 shows no weak memory: scripts/litmus.sh is for that.
set -eu
cd "$(dirname "$0")/.."

arm=aarch64-unknown-linux-gnu
riscv=riscv64gc-unknown-linux-gnu
short=
if [ "${1:-}" = short ]; then
    short=yes
    shift
fi
[ $# -gt 0 ] || set -- crate library command posix pthread riscv64

skipped() {
    echo "arm: skipped: $1"
    exit 0
}

sh scripts/packages.sh gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross \
    gcc-riscv64-linux-gnu libc6-dev-riscv64-cross qemu-user-static
for program in aarch64-linux-gnu-gcc riscv64-linux-gnu-gcc qemu-aarch64-static \
    qemu-riscv64-static rustup; do
    command -v $program >/dev/null || skipped "$program isn't installed"
done
rustup --quiet target add $arm $riscv || skipped "rustup can't add the targets"

# Programs start others, so the kernel has to know qemu: in a namespace, which leaves the machine as
# it is.
in_namespace='
    mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
    case $1 in aarch64) number=b7 ;; *) number=f3 ;; esac
    magic="\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x$number\x00"
    mask="\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
    printf "%s" ":qemu:M::$magic:$mask:$(command -v qemu-$1-static):F" \
        >/proc/sys/fs/binfmt_misc/register
    export QEMU_LD_PREFIX=/usr/$1-linux-gnu
    shift
    exec "$@"'

# Runs a command for a processor: the processor, the command.
emulated() {
    unshare --user --map-root-user --mount sh -euc "$in_namespace" arm "$@"
}

emulated aarch64 true 2>/dev/null ||
    skipped "no binfmt_misc in a user namespace here (Linux 6.7 and later have it)"

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_RISCV64GC_UNKNOWN_LINUX_GNU_LINKER=riscv64-linux-gnu-gcc
# Not optimised as a whole: that takes longer than the tests.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16

top=$PWD
export CONFORMANCE_LACKS="$top/scripts/qemu-lacks.txt"
export FURWOCK_PRELOAD="$top/target/$arm/release/libfurwock_preload.so"
# What /proc shows of a thread that waits: the number of the host's futex.
case $(uname -m) in
x86_64) export CONFORMANCE_HOST_FUTEX=202 ;;
*) export CONFORMANCE_HOST_FUTEX=98 ;;
esac

# The tests' own compilers are for the processor that they run on.
bin=$top/target/arm
mkdir -p "$bin"
ln -sf "$(command -v aarch64-linux-gnu-gcc)" "$bin/cc"
ln -sf "$(command -v aarch64-linux-gnu-g++)" "$bin/c++"

# Builds a package's tests and runs those that are named, or all: the target, the package, its
# folder, the names.
run_tests() {
    target=$1
    package=$2
    folder=$3
    shift 3
    if ! cargo test --release --target $target -p $package --no-run 2>"$bin/build.log"; then
        cat "$bin/build.log"
        exit 1
    fi
    for test in $(sed -n 's/^ *Executable.*(\(.*\))$/\1/p' "$bin/build.log"); do
        name=$(basename "$test" | sed 's/-[0-9a-f]*$//')
        case " $* " in "  " | *" $name "*) ;; *) continue ;; esac
        printf '\n-- %s, %s: %s\n' "${target%%-*}" $package $name
        skips=$(sed -n "s|^$package $name \([^ ]*\): .*|--skip=\1|p" scripts/qemu-lacks.txt)
        case $skips in *--skip=all*) continue ;; esac
        processor=${target%%-*}
        # shellcheck disable=SC2086 # lists of words
        (cd $folder && PATH=$bin:$PATH emulated ${processor%gc} "$top/$test" $filter $skips)
    done
}

filter=
for part in "$@"; do
    case $part in
    crate)
        run_tests $arm furwock furwock ${short:+furwock locks mutex futex}
        ;;
    riscv64)
        run_tests $riscv furwock furwock ${short:+furwock locks}
        ;;
    library)
        cargo build --release --target $arm -p furwock-capi
        [ -n "$short" ] || run_tests $arm furwock-capi capi programs
        ;;
    command)
        cargo build --release --target $arm -p furwock-cli -p furwock-preload
        printf '\n-- aarch64: furwock run\n'
        cat >"$bin/count.c" <<'END'
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long count;

static void *add(void *unused)
{
	for (int i = 0; i < 100000; i++) {
		pthread_mutex_lock(&mutex);
		count++;
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, add, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%ld by %s\n", count, mutex.__data.__owner ? "?" : "4 threads");
	return count != 400000;
}
END
        "$bin/cc" -O2 -pthread -o "$bin/count" "$bin/count.c"
        emulated aarch64 timeout 60 "$top/target/$arm/release/furwock" run -- "$bin/count"
        ;;
    posix)
        cargo build --release --target $arm -p furwock-preload
        filter=${short:+"once:: spin:: barrier::on_furwock rwlockattr::"}
        run_tests $arm furwock-conformance conformance posix
        filter=
        ;;
    pthread)
        cargo build --release --target $arm -p furwock-preload
        filter=${short:+"longjmp::on_furwock destroy::on_furwock"}
        run_tests $arm furwock-conformance conformance pthread
        filter=
        ;;
    *)
        echo "arm: no such part: $part" >&2
        exit 2
        ;;
    esac
done
