#!/bin/sh
# Explores the loom models, mutants included. About half a minute, most of it for the build.
set -eu
cd "$(dirname "$0")/.."
RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom" \
    cargo test --release -p furwock --lib models
