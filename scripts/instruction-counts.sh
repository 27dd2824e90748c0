#!/bin/sh
# Counts the instructions of the uncontended paths and compares them with
# docs/instruction-counts.txt (docs/benchmarks.md, "Instruction counts"). Takes some seconds after
# the build.
set -eu
cd "$(dirname "$0")/.."

case $(uname -m) in
x86_64) ;;
*)
    echo "instruction-counts: skipped: the stated counts are for x86-64, and this is $(uname -m)"
    exit 0
    ;;
esac
sh scripts/packages.sh valgrind
if ! command -v valgrind >/dev/null; then
    echo "instruction-counts: skipped: valgrind isn't installed"
    exit 0
fi
# --workspace, so that what its other tests have built is used here too.
cargo test --profile tested --workspace --test instructions -- --include-ignored --nocapture
