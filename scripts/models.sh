#!/bin/sh
# Explores the loom models and shuttle's random schedules, mutants included. About 4 minutes, a third
# of it for the builds.
set -eu
cd "$(dirname "$0")/.."
RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom" \
    cargo test --release -p furwock --lib models
RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/shuttle" \
    cargo test --release -p furwock --lib random_schedules
