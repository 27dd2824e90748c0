#!/bin/sh
# Builds furwock for aarch64 and riscv64 and runs its tests under qemu-user. Arguments name parts:
# crate, library, preload, command, posix, pthread, riscv64; without any, all but preload, which is
# some of posix.
#
# With --short, before them: the crate's unit tests, an example of the C library, some tests of each
# page of conformance/posix on the preload, and a check for riscv64.
#
# Tests of what qemu-user lacks are listed in scripts/qemu-lacks.txt, one by one, with the reason.
# qemu on x86-64 shows no weak memory: scripts/litmus.sh is for that.
set -eu
cd "$(dirname "$0")/.."

arm=aarch64-unknown-linux-gnu
riscv=riscv64gc-unknown-linux-gnu
short=
if [ "${1:-}" = --short ]; then
    short=yes
    shift
    [ $# -gt 0 ] || set -- crate library preload riscv64
fi
[ $# -gt 0 ] || set -- crate library command posix pthread riscv64

skipped() {
    echo "arm: skipped: $1"
    exit 0
}

has_std() {
    [ -n "$(ls "$(rustc --print target-libdir --target $1)" 2>/dev/null)" ]
}

sh scripts/packages.sh gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross \
    gcc-riscv64-linux-gnu libc6-dev-riscv64-cross qemu-user-static ||
    skipped "the packages of compilers and qemu can't be had"
for program in aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ riscv64-linux-gnu-gcc \
    qemu-aarch64-static qemu-riscv64-static unshare; do
    command -v $program >/dev/null || skipped "$program isn't installed"
done
for target in $arm $riscv; do
    has_std $target || rustup --quiet target add $target ||
        skipped "Rust's standard library for $target can't be had"
done

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
    skipped "no binfmt_misc in a user namespace here (Linux 6.7 and newer have it)"

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_RISCV64GC_UNKNOWN_LINUX_GNU_LINKER=riscv64-linux-gnu-gcc
# Not optimised as a whole: that takes longer than the tests.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16

top=$PWD
# Emulated threads are up to fifty times as slow.
export CONFORMANCE_BOUND_S=80
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
for tool in ar ld nm objcopy; do
    ln -sf "$(command -v aarch64-linux-gnu-$tool)" "$bin/$tool"
done

# Builds a package's tests and runs them: the target, the package, its folder, and which of them, as
# cargo's options.
run_tests() {
    target=$1
    package=$2
    folder=$3
    shift 3
    if ! cargo test --release --target $target -p $package --no-run "$@" 2>"$bin/build.log"; then
        cat "$bin/build.log"
        exit 1
    fi
    processor=${target%%-*}
    processor=${processor%gc}
    for test in $(sed -n 's/^ *Executable.*(\(.*\))$/\1/p' "$bin/build.log"); do
        name=$(basename "$test" | sed 's/-[0-9a-f]*$//')
        printf '\n-- %s, %s: %s\n' $processor $package $name
        skips=$(sed -n "s|^$package $name \([^ ]*\): .*|--skip=\1|p" scripts/qemu-lacks.txt)
        case $skips in *--skip=all*) continue ;; esac
        # shellcheck disable=SC2086 # a list of words
        (cd $folder && PATH=$bin:$PATH emulated $processor "$top/$test" $skips)
    done
}

# Whether qemu lacks what a test of a C program needs.
is_lacking() {
    grep -q "^$1: " scripts/qemu-lacks.txt
}

# Runs a test of a C program on the preload. Not so by $LD_PRELOAD of this shell, whose programs are
# for another processor.
on_the_preload() {
    emulated aarch64 timeout $CONFORMANCE_BOUND_S \
        env CONFORMANCE_SIDE=furwock LD_PRELOAD="$FURWOCK_PRELOAD" "$@"
}

# The first of each five tests of these C programs, on the preload.
some_tests() {
    failed=
    for source in "$@"; do
        program=$bin/$(basename "$source" .c)
        printf '\n-- aarch64, on the preload: some tests of %s\n' "$source"
        "$bin/cc" -O2 -pthread -o "$program" "$source" -ldl -lrt
        emulated aarch64 "$program" >"$bin/tests"
        for test in $(awk -F '\t' '$2 != "glibc" && n++ % 5 == 0 { print $1 }' "$bin/tests"); do
            ! is_lacking "$test" || continue
            on_the_preload "$program" "$test" && result=0 || result=$?
            case $result in
            0) echo "$test: passed" ;;
            77) ;;
            *)
                echo "$test: failed ($result)"
                failed=yes
                ;;
            esac
        done
    done
    [ -z "$failed" ] || exit 1
}

for part in "$@"; do
    case $part in
    crate)
        run_tests $arm furwock furwock ${short:+--lib}
        ;;
    riscv64)
        if [ -n "$short" ]; then
            cargo check --release --target $riscv -p furwock
        else
            run_tests $riscv furwock furwock
        fi
        ;;
    library)
        if [ -n "$short" ]; then
            cargo build --release --target $arm -p furwock-capi
            CC=$bin/cc LD=$bin/ld OBJCOPY=$bin/objcopy AR=$bin/ar \
                sh scripts/c-libraries.sh target/$arm/release "$bin/c"
            printf '\n-- aarch64, the C library: the example queue.c\n'
            "$bin/cc" -O2 -pthread -Iinclude -o "$bin/queue" capi/examples/queue.c \
                "$bin/c/libfurwock.a"
            emulated aarch64 timeout 60 "$bin/queue"
        else
            run_tests $arm furwock-capi capi --test programs
        fi
        ;;
    preload)
        cargo build --release --target $arm -p furwock-preload
        some_tests conformance/pthread/preload.c conformance/posix/*.c
        ;;
    command)
        cargo build --release --target $arm -p furwock-cli -p furwock-preload
        printf '\n-- aarch64: furwock run\n'
        "$bin/cc" -O2 -pthread -o "$bin/preload" conformance/pthread/preload.c -ldl
        for test in $(emulated aarch64 "$bin/preload" | cut -f 1); do
            emulated aarch64 env CONFORMANCE_SIDE=furwock timeout $CONFORMANCE_BOUND_S \
                "$top/target/$arm/release/furwock" run -- "$bin/preload" "$test"
            echo "$test: passed"
        done
        ;;
    posix | pthread)
        cargo build --release --target $arm -p furwock-preload
        run_tests $arm furwock-conformance conformance --test $part
        ;;
    *)
        echo "arm: no such part: $part" >&2
        exit 2
        ;;
    esac
done
