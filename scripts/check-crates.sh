#!/bin/sh
# What users of the crates rely on: the oldest compiler builds them, with either lock_api, and what
# is published is complete. About a minute.
#
# Without the oldest compiler (`rustup toolchain install 1.85`) that part is skipped.
set -eu
cd "$(dirname "$0")/.."

oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' furwock/Cargo.toml)
if command -v rustup >/dev/null; then
    rustup --quiet toolchain install "$oldest" --profile minimal --no-self-update \
        >/dev/null 2>&1 || true
fi
if rustc "+$oldest" --version >/dev/null 2>&1; then
    CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/oldest" RUSTFLAGS="-D warnings" \
        cargo "+$oldest" check --locked -p furwock -p furwock-capi
    CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/oldest" \
        cargo "+$oldest" check --locked -p furwock --all-targets
    echo "crates: Rust $oldest builds the crate, its tests and the C library"
else
    echo "crates: skipped: no Rust $oldest"
fi

# --workspace, for what the other tests are built with.
cargo test --profile tested --workspace --features furwock/lock_api_0_5 --test lock_api

# What `cargo publish` would send. furwock names furwock-machine, which it needs only with
# `--cfg simulated`, with a version.
for crate in furwock-machine furwock; do
    listed=$(cargo package -p $crate --list --allow-dirty)
    for file in README.md LICENSE-MIT LICENSE-APACHE src/lib.rs; do
        if ! echo "$listed" | grep -qx $file; then
            echo "crates: $crate is published without $file" >&2
            exit 1
        fi
    done
done
cargo package -p furwock-machine -p furwock --no-verify --allow-dirty --quiet --offline
