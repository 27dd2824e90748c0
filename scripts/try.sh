#!/bin/sh
# Builds furwock, shows that this machine's glibc loses wakeups and furwock doesn't, and compares
# the two: the README's first command. With arguments it only compares, and they go to `furwock
# compare`: `sh scripts/try.sh -- pigz -k FILE`, for example.
set -eu
cd "$(dirname "$0")/.."

if ! command -v cc >/dev/null; then
    sh scripts/packages.sh gcc libc6-dev
fi
cargo build --release --quiet
if [ $# = 0 ]; then
    target/release/furwock compare --lost-wakeup
    echo
fi
exec target/release/furwock compare "$@"
