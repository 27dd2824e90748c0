#!/bin/sh
# Builds everything and runs the tests: the README's second command. About 12 minutes on 2 cores.
set -eu
cd "$(dirname "$0")/.."

sh scripts/packages.sh gcc g++ libc6-dev groff-base libnsync1 valgrind

# The command's build leaves a processor free at times: the tests are compiled beside it. They have
# a profile of their own (CONTRIBUTING.md, "Two profiles").
cargo build --release --quiet &
release=$!
trap 'kill $release 2>/dev/null || :' EXIT
trap 'exit 1' INT TERM
mkdir -p "${CARGO_TARGET_DIR:-target}"
FURWOCK_COMMAND=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)/release/furwock
export FURWOCK_COMMAND
cargo test --profile tested --workspace --no-run
wait $release
trap - EXIT INT TERM

# Most tests wait for something most of the time.
RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}
export RUST_TEST_THREADS
cargo test --profile tested --workspace
