#!/bin/sh
# Without arguments: `furwock compare --lost-wakeup`, which takes 25 seconds after the build.
#
# With MOST: a longer search by the C program of conformance/lost_wakeup. Waits until glibc has lost
# a wakeup of pthread_cond_signal (its bug 25847) five times; then runs the same program under
# `furwock run` for ten times as long as glibc needed for all five. Exits with the program's status
# on furwock: 3 if it loses a wakeup, 4 if its run stalled for another reason (inconclusive). It is
# no failure if glibc loses none: versions from 2.41 on don't, and others may not in that time. An
# inconclusive run on glibc isn't counted.
#
# usage: lost-wakeup.sh [MOST [OPTION VALUE]...]
#        Each run takes at most MOST seconds; the options are those of
#        conformance/lost_wakeup/lost_wakeup.c.
set -eu
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-$PWD/target}
furwock=$target/release/furwock
if [ $# = 0 ]; then
    cargo build --release --quiet -p furwock-cli -p furwock-preload
    exec "$furwock" compare --lost-wakeup
fi
most=$1
shift
[ -x "$furwock" ] || cargo build --release

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM
cc -O2 -pthread -o "$folder/lost_wakeup" conformance/lost_wakeup/lost_wakeup.c

# The program has its own time limit; this is in case it fails.
bounded() {
    timeout --kill-after=5 $((most + 60)) "$@"
}

getconf GNU_LIBC_VERSION
tenths=0
lost=0
for run in 1 2 3 4 5; do
    status=0
    bounded "$folder/lost_wakeup" --seconds "$most" "$@" >"$folder/said" || status=$?
    printf 'glibc, run %s: ' "$run"
    cat "$folder/said"
    case $status in
    0 | 3) ;;
    4) continue ;;
    *) exit 1 ;;
    esac
    if [ "$status" = 0 ]; then
        tenths=$((tenths + most * 10))
        break
    fi
    lost=$((lost + 1))
    after=$(sed 's/^lost wakeup after \([0-9]*\)\.\([0-9]\) s.*/\1\2/' "$folder/said")
    # As a decimal number, without leading zeroes.
    tenths=$((tenths + $(echo "$after" | sed 's/^0*\(.\)/\1/')))
done

# Each tenth of a second becomes a second. At least a minute: glibc may have lost none.
seconds=$tenths
[ "$seconds" -ge 60 ] || seconds=60
[ "$seconds" -le "$most" ] || seconds=$most
printf 'furwock: '
bounded "$furwock" run -- "$folder/lost_wakeup" --seconds "$seconds" "$@"
printf 'together: glibc %s lost in %s.%s s; furwock none in %s s\n' \
    "$lost" $((tenths / 10)) $((tenths % 10)) "$seconds"
