#!/bin/sh
# Builds everything and runs the tests: the README's second command. About 10 minutes on 2 cores.
set -eu
cd "$(dirname "$0")/.."

sh scripts/packages.sh gcc g++ libc6-dev groff-base libnsync1 valgrind
cargo build --release
# Optimising each of some eighty test programs as a whole would take longer than running them. What
# they start is the release build (CONTRIBUTING.md, "Two profiles").
mkdir -p "${CARGO_TARGET_DIR:-target}"
FURWOCK_COMMAND=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)/release/furwock
export FURWOCK_COMMAND
cargo test --profile tested --workspace
