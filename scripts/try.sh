#!/bin/sh
# Builds furwock and compares it with this machine's glibc: the README's first command.
# Arguments go to `furwock compare`: `sh scripts/try.sh -- pigz -k FILE`, for example.
set -eu
cd "$(dirname "$0")/.."

if ! command -v cc >/dev/null; then
    sh scripts/packages.sh gcc libc6-dev
fi
cargo build --release --quiet
exec target/release/furwock compare "$@"
