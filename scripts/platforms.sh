#!/bin/sh
# Links furwock's command and libraries with the C library of the oldest Debian that it serves, and
# tries that one build on each: its conformance programs, `furwock run`, `who`, `--stats` and
# `doctor`, the lost wakeup, real programs, and C programs on its library. Prints a row for each
# suite, and fails if a step failed or docs/platforms.md says something else.
#
# usage: platforms.sh [--short | --update] [--only STEP,...] [--fetch] [SUITE...]
#        --short   a few conformance and real programs, compiled on the oldest suite only
#        --fetch   makes the suites' root folders, and checks nothing
#        --update  writes the rows into docs/platforms.md
#        --only    of run, doctor, who, stats, conformance, glibc, wakeups, library and real;
#                  the other cells are left as they are
#
# It needs root, to enter the suites' root folders, and keeps those in target/platforms; their
# first making takes some minutes. If that can't be done here it says why, and checks nothing.
set -eu
cd "$(dirname "$0")/.."

OLDEST=bullseye
SUITES="bullseye bookworm trixie forky"
MIRROR=${FURWOCK_MIRROR:-http://deb.debian.org/debian}
# What the short form needs on each suite but the oldest; it is unpacked, and not set up.
FEW=base-files,libc6,libc-bin,libstdc++6,libgcc-s1,dash,coreutils,sed,grep,diffutils,procps
FEW=$FEW,python3,pigz,xz-utils
COMPILERS=gcc,g++,libc6-dev
PROGRAMS=python3,xz-utils,procps,binutils,pigz,pbzip2,zstd,redis-server,memcached,mariadb-server
PROGRAMS=$PROGRAMS,stress-ng

form=whole
update=
only=
is_fetch=
while :; do
    case ${1:-} in
    --short) form=short ;;
    --update) update=yes ;;
    --fetch) is_fetch=yes ;;
    --only)
        only=,${2:?which steps},
        shift
        ;;
    -*) sed -n 's/^# usage: //p' "$0" >&2; exit 2 ;;
    *) break ;;
    esac
    shift
done
# shellcheck disable=SC2086 # a list of words
[ $# -gt 0 ] || set -- $SUITES
# The short form compiles there what it runs elsewhere.
[ $form = whole ] || [ "$1" = $OLDEST ] || set -- $OLDEST "$@"

skip() {
    echo "platforms: skipped: $*" >&2
    exit 0
}

[ "$(id -u)" = 0 ] || skip "entering the suites' root folders needs root"
unshare --mount mount -t tmpfs tmpfs /tmp 2>/dev/null || skip "this system allows no mounts"
command -v mmdebstrap >/dev/null || sh scripts/packages.sh mmdebstrap || :
command -v mmdebstrap >/dev/null || skip "mmdebstrap is missing"

FURWOCK_TOOLCHAIN=$(rustc --print sysroot)
export FURWOCK_TOOLCHAIN
work=$PWD/target/platforms
roots=$work/roots
logs=$work/logs
build=$work/build
mkdir -p "$roots" "$logs"

# root_of SUITE: its folder. The short form makes do with a whole one.
root_of() {
    if [ $form = short ] && [ ! -e "$roots/$1/made" ]; then
        echo "$roots/$1.short"
    else
        echo "$roots/$1"
    fi
}

make_root() {
    root=$(root_of "$1")
    [ ! -e "$root/made" ] || return 0
    case $form.$1 in
    short.$OLDEST) variant=minbase packages=$COMPILERS,$FEW hooks= ;;
    short.*)
        variant=extract packages=$FEW
        # (Set up, the packages see to that themselves.)
        hooks=--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr
        ;;
    *) variant=minbase packages=$COMPILERS,$PROGRAMS hooks= ;;
    esac
    rm -rf "$root"
    # A suite that is still being made may have a list that has expired.
    mmdebstrap --quiet --variant=$variant --include=$packages \
        ${hooks:+"$hooks"} \
        --aptopt='APT::Install-Recommends "false"' \
        --aptopt='Acquire::Check-Valid-Until "false"' \
        "$1" "$root" "$MIRROR" >"$logs/$1.root" 2>&1 || return 1
    # MariaDB looks itself up.
    [ -e "$root/etc/hosts" ] || echo "127.0.0.1 localhost" >"$root/etc/hosts"
    touch "$root/made"
}

# Whether the mirror can be reached at all: else nothing is checked, and that isn't a failure.
reach() {
    for suite in $OLDEST "$@"; do
        [ -e "$(root_of "$suite")/made" ] || {
            /usr/lib/apt/apt-helper download-file "$MIRROR/dists/$suite/Release" \
                "$work/Release" >/dev/null 2>&1 || skip "$MIRROR can't be reached"
            return
        }
    done
}

# Runs a step in a suite, and keeps what it says.
passes() {
    env built="$build/release" programs="$work/programs/$programs" with_posix="$with_posix" \
        with_pthread="$with_pthread" of_posix="$of_posix" of_pthread="$of_pthread" \
        seconds="$seconds" subjects="$subjects" CONFORMANCE_BUILT="$are_built" \
        sh scripts/platforms/within.sh "$(root_of "$1")" sh scripts/platforms/step.sh "$2" \
        >"$logs/$1.$2" 2>&1
}

failed() {
    echo "platforms: $1, $2:" >&2
    tail -n 20 "$logs/$1.$2" >&2
    echo "$1:$2" >>"$work/failed"
}

wanted() {
    case ${only:-,$1,} in *,"$1",*) ;; *) return 1 ;; esac
}

cell() {
    if ! wanted "$2"; then
        printf ' - |'
    elif passes "$1" "$2"; then
        printf ' passes |'
    else
        failed "$1" "$2"
        printf ' fails |'
    fi
}

# row SUITE: as in the table. What the short form doesn't look at is a dash.
row() {
    programs=$1
    are_built=
    if [ $form = short ] && [ "$1" != $OLDEST ]; then
        programs=$OLDEST
        are_built=1
    else
        passes "$1" compile_all || failed "$1" compile_all
    fi
    passes "$1" version || failed "$1" version
    printf '| %s | %s |' "$1" "$(cat "$logs/$1.version")"
    for step in run doctor who stats conformance; do
        cell "$1" $step
    done
    if [ $form = short ] || ! wanted glibc; then
        printf ' - |'
    elif passes "$1" glibc; then
        sed -n 's/^lost wakeup.*/ loses |/p; s/^no lost wakeup in \([0-9.]* s\).*/ none in \1 |/p' \
            "$logs/$1.glibc" | tr -d '\n'
    else
        printf ' inconclusive |'
    fi
    for step in wakeups library real; do
        cell "$1" $step
    done
    printf '\n'
}

reach "$@"
# The others come while furwock is built.
make_root $OLDEST || { tail -n 5 "$logs/$OLDEST.root" >&2; skip "$OLDEST can't be made"; }
makers=
for suite in "$@"; do
    make_root "$suite" &
    makers="$makers$! "
done
if [ $is_fetch ]; then
    wait
    exit 0
fi

FURWOCK_OLDEST=$(root_of $OLDEST)
CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=$PWD/scripts/platforms/oldest-cc.sh
export FURWOCK_OLDEST CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER
quick="--config scripts/platforms/quick.toml"
# shellcheck disable=SC2086 # a list of words
cargo build --release --quiet --target-dir "$build" $quick \
    -p furwock-cli -p furwock-preload -p furwock-preload-recording -p furwock-capi
# shellcheck disable=SC2086 # a list of words
cargo test --release --no-run --target-dir "$build" $quick -p furwock-conformance \
    --test posix --test pthread 2>"$logs/tests" || { cat "$logs/tests" >&2; exit 1; }
runner() {
    sed -n "s|.*Executable tests/$1.rs (\(.*\))|\1|p" "$logs/tests" | sed "s|^[^/]|$PWD/&|"
}
with_posix=$(runner posix)
with_pthread=$(runner pthread)
of_posix=on_furwock
of_pthread=on_furwock
seconds=10
subjects="pigz xz pbzip2 zstd python rust-std cxx redis memcached mariadb stress-ng"
if [ $form = short ]; then
    # (Those of mutexes: two wait for ever on glibc 2.31, for half a minute each.)
    of_posix="cond::on_furwock rwlock::on_furwock semaphore::on_furwock"
    of_pthread="mutex::on_furwock first_use::on_furwock dlopen::on_furwock"
    seconds=5
    subjects="pigz python rust-std"
fi

tried=
for suite in "$@"; do
    maker=${makers%% *} makers=${makers#* }
    if wait "$maker"; then
        tried="$tried $suite"
    else
        # The mirror's fault, or that of a suite which is still being made.
        echo "platforms: $suite skipped: its root can't be made (see target/platforms/logs)" >&2
    fi
done
# shellcheck disable=SC2086 # a list of words
set -- $tried
[ $# -gt 0 ] || exit 0
rm -f "$work/failed"
# On the oldest first: it compiles for the others, which then run side by side.
for suite in "$@"; do
    if [ $form = short ] && [ "$suite" != $OLDEST ]; then
        row "$suite" >"$logs/$suite.row" &
    else
        row "$suite" >"$logs/$suite.row"
    fi
done
wait
rows=$work/rows
for suite in "$@"; do
    cat "$logs/$suite.row"
done | tee "$rows"

how=${update:+--update}
[ $form = whole ] || how=${how:---few}
python3 scripts/platforms/table.py $how docs/platforms.md "$rows" || echo table >>"$work/failed"
if [ -e "$work/failed" ]; then
    echo "platforms: failed: $(tr '\n' ' ' <"$work/failed")(see target/platforms/logs)" >&2
    exit 1
fi
echo "platforms: passed on $*"
