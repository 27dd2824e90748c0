#!/bin/sh
# Other libraries' own tests, on furwock's types: std's of std::sync, parking_lot's and lock_api's.
# Prints what passed, and fails if a test does that isn't left out for a reason
# (yardstick/left-out.txt). Fetches the tests' sources and keeps none. A minute; the first time two.
#
# usage: yardstick.sh [SUITE...]      std, parking_lot, lock_api; all if none is named
#
# YARDSTICK_OFFLINE=1 fetches nothing. Skipped, with the reason in a line, where the sources can't
# be had.
set -eu
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- std parking_lot lock_api
target=${CARGO_TARGET_DIR:-$PWD/target}
crate=$target/yardstick
[ "${YARDSTICK_OFFLINE:-}" != 1 ] || export CARGO_NET_OFFLINE=true

skip() {
    echo "yardstick: skipped: $1"
    exit 0
}

command -v python3 >/dev/null || skip "no python3"
library=$(rustc --print sysroot)/lib/rustlib/src/rust/library
if [ ! -d "$library/std/tests/sync" ] && [ "${YARDSTICK_OFFLINE:-}" != 1 ]; then
    timeout 120 rustup --quiet component add rust-src >/dev/null 2>&1 || true
fi
[ -d "$library/std/tests/sync" ] || skip "no std/tests/sync (rustup component add rust-src)"

mkdir -p "$crate"
# The versions of the workspace, as far as they are the same packages.
cp Cargo.lock "$crate/Cargo.lock"
if ! timeout 120 python3 scripts/yardstick/prepare.py "$library" "$crate" \
    2>"$crate/prepare.log"; then
    cat "$crate/prepare.log" >&2
    ! grep -q "failed to download\|failed to get\|--offline" "$crate/prepare.log" ||
        skip "the sources of parking_lot and lock_api aren't available"
    exit 1
fi

tests=
for suite in "$@"; do
    tests="$tests --test $suite"
done
# shellcheck disable=SC2086 # a list of words
CARGO_TARGET_DIR=$crate/target timeout 900 cargo test --release --no-run $tests \
    --manifest-path "$crate/Cargo.toml" --message-format=json-render-diagnostics \
    >"$crate/build.json"
programs=$(sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' "$crate/build.json")
# shellcheck disable=SC2086 # a list of words
python3 scripts/yardstick/run.py "$crate" $programs
