#!/bin/sh
# Builds everything and runs the tests: the README's second command. About 10 minutes on 2 cores.
set -eu
cd "$(dirname "$0")/.."

sh scripts/packages.sh gcc g++ libc6-dev groff-base libnsync1 valgrind
cargo build --release
cargo test --release --workspace
