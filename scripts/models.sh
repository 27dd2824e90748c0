#!/bin/sh
# Explores the loom models, shuttle's random schedules and the generated models, mutants included. About
# 5 minutes, a third of it for the builds.
#
# FURWOCK_GENERATED_SECONDS=3600 runs each object's generated programs for so long;
# FURWOCK_GENERATED_SEED=rwlock:0x2a repeats one. Both are read by the third command.
set -eu
cd "$(dirname "$0")/.."
RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom" \
    cargo test --release -p furwock --lib models
RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/shuttle" \
    cargo test --release -p furwock --lib random_schedules
RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/shuttle" \
    cargo test --release -p furwock --lib generated -- --show-output --skip generated::mutants
# What it prints is what each mutant's panic looks like, and of use only when one isn't found.
RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/shuttle" \
    cargo test --release -p furwock --lib generated::mutants
