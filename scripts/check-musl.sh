#!/bin/sh
# The crate and the C library on musl: the crate's tests, and the C library's programs, linked
# statically with libfurwock.a.
#
# Skipped without the compiler's target (`rustup target add x86_64-unknown-linux-musl`) or musl-gcc.
# Robust locks refuse on musl: it registers no robust list that they could share.
set -eu
cd "$(dirname "$0")/.."

target=x86_64-unknown-linux-musl
sh scripts/packages.sh musl-tools
if command -v rustup >/dev/null; then
    rustup --quiet target add $target >/dev/null 2>&1 || true
fi
if [ ! -d "$(rustc --print target-libdir --target $target)" ] || ! command -v musl-gcc >/dev/null
then
    echo "musl: skipped: no target $target, or no musl-gcc"
    exit 0
fi

# The storms are for the other target: the code is the same.
cargo test --release --target $target -p furwock --lib --test any --test barrier --test futex \
    --test inspect --test linux_kinds --test lock_api --test locks --test musl --test pi \
    --test semaphore --test shared --test shared_many --test tasks
cargo build --release --target $target -p furwock-capi

built=${CARGO_TARGET_DIR:-target}/$target/release
CC=musl-gcc sh scripts/c-libraries.sh "$built" "$built/c"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The kernel's headers, which musl-gcc doesn't find.
mkdir "$folder/kernel"
for name in linux asm-generic "$(uname -m)-linux-gnu/asm"; do
    ln -s "/usr/include/$name" "$folder/kernel/$(basename "$name")"
done

# build SOURCE PROGRAM
build() {
    musl-gcc -O2 -Wall -static -pthread -isystem "$folder/kernel" -Iinclude \
        -Iconformance/pthread -o "$2" "$1" "$built/c/libfurwock.a"
}

passed=0
for source in capi/tests/calls.c capi/tests/locks.c capi/tests/types.c; do
    build $source "$folder/tests"
    for name in $("$folder/tests" | cut -f 1); do
        status=0
        timeout 60 "$folder/tests" "$name" >"$folder/says" 2>&1 || status=$?
        # 77: this system can't show it.
        if [ $status != 0 ] && [ $status != 77 ]; then
            echo "musl: $source: $name:" >&2
            cat "$folder/says" >&2
            exit 1
        fi
        passed=$((passed + 1))
    done
done
[ $passed -gt 20 ]
for source in capi/examples/*.c; do
    build "$source" "$folder/example"
    timeout 60 "$folder/example" >/dev/null
    passed=$((passed + 1))
done
echo "musl: the crate's tests pass, and $passed static programs and tests in C"
