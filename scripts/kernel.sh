#!/bin/sh
# Boots the kernel of a Debian suite in qemu and runs there what furwock asks of newer kernels:
# `furwock doctor`, the crate's tests of robust and PI locks, the conformance programs of robust and
# PI mutexes, and the search for lost wakeups. Prints a row for docs/platforms.md.
#
# usage: kernel.sh [SUITE [STEP...]]
#        SUITE  whose kernel (default: sid)
#        STEP   doctor, unit, robust, reuse, instructions, processes, pi, shared, mutexes, wakeups
#               (default: all of them)
#
# The machine is emulated (without KVM): some minutes, and its timings mean nothing. Nothing is
# installed but qemu, busybox and cpio; the kernel stays in target/kernel, 15 MB. Where these can't
# be had it says why, and checks nothing.
set -eu
cd "$(dirname "$0")/.."

suite=${1:-sid}
[ $# = 0 ] || shift
all="doctor unit robust reuse instructions processes pi shared mutexes wakeups"
# shellcheck disable=SC2086 # a list of words
[ $# -gt 0 ] || set -- $all
MIRROR=${FURWOCK_MIRROR:-http://deb.debian.org/debian}
KEYS=/usr/share/keyrings/debian-archive-keyring.gpg
work=$PWD/target/kernel/$suite

skip() {
    echo "kernel: skipped: $*" >&2
    exit 0
}

[ "$(uname -m)" = x86_64 ] || skip "the emulated machine is an x86-64"
for program in qemu-system-x86_64 busybox cpio; do
    command -v $program >/dev/null && continue
    sh scripts/packages.sh qemu-system-x86 busybox-static cpio || :
    command -v $program >/dev/null || skip "$program is missing"
done
mkdir -p "$work"

# The suite's newest kernel for clouds, whose drivers are few. apt's own files stay as they are.
fetch_kernel() {
    command -v apt-get >/dev/null || skip "there is no apt-get"
    [ -e $KEYS ] || skip "there are no keys of Debian's archive"
    apt=$work/apt
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    echo "deb [arch=amd64 signed-by=$KEYS] $MIRROR $suite main" >"$apt/sources.list"
    cat >"$apt/conf" <<END
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "-";
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
APT::Sandbox::User "";
END
    export APT_CONFIG="$apt/conf"
    apt-get -qq update >"$work/apt.log" 2>&1 || skip "$MIRROR can't be reached"
    image=$(apt-cache depends linux-image-cloud-amd64 |
        sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p')
    [ -n "$image" ] || skip "$suite has no linux-image-cloud-amd64"
    # The packages beneath it, of which one has the kernel's file.
    parts=$(apt-cache depends "$image" | sed -n 's/^ *Depends: \(linux-b[a-z]*-[0-9].*\)$/\1/p')
    rm -rf "$work/packages"
    mkdir "$work/packages"
    # shellcheck disable=SC2086 # a list of words
    (cd "$work/packages" && apt-get -qq download "$image" $parts) >>"$work/apt.log" 2>&1 ||
        skip "$image can't be fetched"
    for package in "$work"/packages/*.deb; do
        dpkg-deb --extract "$package" "$work/packages/root"
    done
    file=$(find "$work/packages/root" -name 'vmlinuz*' -type f | head -n 1)
    [ -n "$file" ] || skip "$image has no kernel in it"
    cp "$file" "$work/vmlinuz"
    echo "${image#linux-image-}" >"$work/version"
    unset APT_CONFIG
    rm -rf "$apt" "$work/packages"
}
[ -e "$work/version" ] || fetch_kernel

# What is tried is whether it works: link-time optimisation would take minutes.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
build=${CARGO_TARGET_DIR:-$PWD/target}/release
cargo build --release --quiet -p furwock-cli -p furwock-preload
tests="robust robust_reuse robust_instructions robust_processes pi pi_processes shared"
# shellcheck disable=SC2046 # a list of words
cargo test --release --no-run -p furwock --lib $(printf -- '--test %s ' $tests) 2>"$work/tests" || {
    cat "$work/tests" >&2
    exit 1
}

# The guest's files: programs, and the libraries that they name.
root=$work/root
rm -rf "$root"
mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/tests" "$root/programs"
cp "$(command -v busybox)" "$root/bin/busybox"
install -m 755 scripts/kernel/init.sh "$root/init"
echo "$@" >"$root/steps"
cp "$build/furwock" "$build/libfurwock_preload.so" "$root/bin"
sed -n 's/^ *Executable.*(\(.*\))$/\1/p' "$work/tests" | while read -r test; do
    name=$(basename "$test" | sed 's/-[0-9a-f]*$//')
    cp "$test" "$root/tests/$name"
done
for program in posix/mutex posix/mutexattr pthread/passthrough pthread/futex_pi \
    lost_wakeup/lost_wakeup; do
    cc -O2 -pthread -o "$root/programs/$(basename $program)" conformance/$program.c
done
for file in "$root"/bin/furwock "$root"/bin/*.so "$root"/tests/* "$root"/programs/*; do
    ldd "$file" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*/\1/p'
done | sort -u | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done
strip --strip-debug "$root"/tests/* "$root"/bin/furwock "$root"/bin/*.so
(cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$work/initramfs"
rm -rf "$root"

# Its console is a file. It turns itself off at the end.
log=$work/log
rm -f "$log"
status=0
timeout 1500 qemu-system-x86_64 -display none -monitor none -no-reboot -nodefaults \
    -machine accel=tcg -cpu max -smp 2 -m 1G -serial "file:$log" \
    -kernel "$work/vmlinuz" -initrd "$work/initramfs" \
    -append "console=ttyS0 quiet panic=-1" </dev/null || status=$?
tr -d '\000\r' <"$log" >"$log.text"
grep -v '^kernel: ' "$log.text" || :
rm -f "$work/initramfs"

# A step that the guest never came to is none that passes.
printf '| %s | %s |' "$suite" "$(sed 's/+.*//' "$work/version")"
failed=
for step in $all; do
    case " $* " in *" $step "*) ;; *) printf ' - |'; continue ;; esac
    said=$(sed -n "s/^kernel: $step //p" "$log.text")
    printf ' %s |' "${said:-fails}"
    case $said in passes*) ;; *) failed="$failed $step" ;; esac
done
printf '\n'
[ "$status" = 0 ] || failed="$failed (qemu ended with $status)"
if [ -n "$failed" ]; then
    echo "kernel: failed:$failed (see $log.text)" >&2
    exit 1
fi
