#!/bin/sh
# Builds furwock, shows that this machine's glibc loses wakeups and furwock doesn't, and compares
# the two: the README's first command. With arguments it only compares, and they go to `furwock
# compare`: `sh scripts/try.sh -- pigz -k FILE`, for example.
set -eu
cd "$(dirname "$0")/.."

if ! command -v cc >/dev/null; then
    sh scripts/packages.sh gcc libc6-dev
fi
# All that `furwock run` and `compare` need. (`cargo build --release` adds the C library and what
# tests it.)
cargo build --release -p furwock-cli -p furwock-preload -p furwock-preload-recording
furwock=${CARGO_TARGET_DIR:-target}/release/furwock
if [ $# = 0 ]; then
    echo
    "$furwock" compare --lost-wakeup
    echo
fi
exec "$furwock" compare "$@"
