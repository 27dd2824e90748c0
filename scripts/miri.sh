#!/bin/sh
# Runs short tests of each object in Miri on two processors, with as many random seeds as the
# argument says (default 16), and with a quarter of them on one, where locks neither spin nor choose
# among waiters. Seeds vary the schedule and the values that loads may return under their orderings.
# About 2 minutes for 16.
#
# Miri comes with Rust's nightly toolchain. If that isn't available, the script says so and passes.
set -eu
cd "$(dirname "$0")/.."

seeds=${1:-16}
if ! cargo +nightly miri --version >/dev/null 2>&1; then
    rustup +nightly component add miri rust-src >/dev/null 2>&1 || true
fi
if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo "miri: skipped: there is no nightly toolchain with Miri;" \
        "rustup toolchain install nightly -c miri,rust-src"
    exit 0
fi
flags="-Zmiri-permissive-provenance -Zmiri-disable-isolation -Zmiri-ignore-leaks"
# on PROCESSORS SEEDS
on() {
    MIRIFLAGS="$flags -Zmiri-num-cpus=$1 -Zmiri-many-seeds=0..$2" \
        CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/miri" \
        cargo +nightly miri test -p furwock --test interpreted
}
on 2 "$seeds"
on 1 $(((seeds + 3) / 4))
