#!/bin/sh
# Runs multi-threaded programs that weren't built for furwock, on glibc and under `furwock run`, and
# compares their output. Ends with the number that passed; any difference is a failure.
#
# usage: real-programs.sh [SUBJECT...]                      compares; about 2 minutes for all
#        real-programs.sh --measure ROUNDS [SUBJECT...]     measures too, and writes the table of
#                                                           docs/real-programs.md
#
# The subjects are the files in real-programs/subjects; real-programs/common.sh describes them.
set -eu
cd "$(dirname "$0")/.."

rounds=1
size=short
if [ "${1:-}" = --measure ]; then
    rounds=$2
    size=long
    shift 2
fi
target=${CARGO_TARGET_DIR:-$PWD/target}
furwock=$target/release/furwock
std_sync=$target/release/furwock-std-sync
{ [ -x "$furwock" ] && [ -x "$std_sync" ]; } || cargo build --release
[ $# -gt 0 ] || set -- pigz xz pbzip2 zstd python rust-std cxx go java rustc mold ffmpeg redis \
    memcached mariadb erlang ocaml ruby sbcl tbb stress-ng perf-futex

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM
export folder size furwock std_sync

# Prints one of a subject's variables.
about() (
    . scripts/real-programs/common.sh
    # shellcheck source=/dev/null
    . "scripts/real-programs/subjects/$1.sh"
    eval "printf '%s\n' \"\$$2\""
)

missing() {
    for command in $(about "$1" needs); do
        command -v "$command" >/dev/null || printf ' %s' "$command"
    done
}

packages=
for subject in "$@"; do
    [ -z "$(missing "$subject")" ] || packages="$packages $(about "$subject" packages)"
done
# shellcheck disable=SC2086 # a list of words
[ -z "$packages" ] || sh scripts/packages.sh $packages ||
    echo "some packages aren't available; going on" >&2

passed=0
failed=0
skipped=0
measured=

# once SUBJECT SIDE: a hang is a failure too.
once() {
    python3 scripts/real-programs/measured.py 300 "$folder/$1.$2.figures" \
        sh scripts/real-programs/side.sh "$1" "$2" \
        >"$folder/$1.$2.out" 2>"$folder/$1.$2.err" || return 1
    blur=$(about "$1" blur)
    [ -z "$blur" ] || sed -E -i "$blur" "$folder/$1.$2.out"
}

# The sides take turns at being first: the second profits from what the first leaves in caches.
sides() {
    if [ $(($1 % 2)) = 0 ]; then
        echo furwock glibc
    else
        echo glibc furwock
    fi
}

compare() {
    for round in $(seq "$rounds"); do
        for side in $(sides "$round"); do
            once "$1" "$side" || return 1
        done
        cmp -s "$folder/$1.glibc.out" "$folder/$1.furwock.out" || return 1
    done
}

noise=
if [ "$size" = long ]; then
    noise=$(python3 scripts/real-programs/probe.py)
    printf '%s\n' "$noise"
fi
for subject in "$@"; do
    title=$(about "$subject" title)
    printf '%-40s ' "$title"
    gone=$(missing "$subject")
    if [ -n "$gone" ]; then
        skipped=$((skipped + 1))
        echo "skipped: missing:$gone"
        continue
    fi
    if sh scripts/real-programs/side.sh "$subject" prepare >"$folder/$subject.err" 2>&1 &&
        compare "$subject"; then
        passed=$((passed + 1))
        printf 'equal'
        for side in glibc furwock; do
            sed -n '$s/^{"wall": \([0-9]*\.[0-9]\).*/  \1 s/p' "$folder/$subject.$side.figures" |
                tr -d '\n'
        done
        echo
        if [ "$(about "$subject" timed)" = yes ]; then
            printf '%s\n' "$title" >"$folder/$subject.title"
            measured="$measured $subject"
        fi
    else
        failed=$((failed + 1))
        echo "DIFFERENT or failed"
        tail -n 5 "$folder/$subject".*err >&2 || true
        for side in glibc furwock; do
            cksum "$folder/$subject.$side.out" >&2 || true
        done
    fi
    rm -rf "$folder/$subject.glibc" "$folder/$subject.furwock"
done

printf '%s passed, %s failed, %s skipped\n' "$passed" "$failed" "$skipped"
if [ "$size" = long ]; then
    # shellcheck disable=SC2086 # a list of words
    python3 scripts/real-programs/table.py "$folder" "$noise" "$rounds" $measured
fi
[ "$failed" = 0 ]
