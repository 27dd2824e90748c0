#!/bin/sh
# Explores the loom models, shuttle's random schedules and the generated models, mutants included.
# About 9 minutes, a quarter of it for the builds.
#
# usage: models.sh [FILTER]
#        FILTER runs only the tests whose names contain it: rwlock, models::park, rejects, generated
#
# FURWOCK_GENERATED_SECONDS=3600 runs each object's generated programs for that long;
# FURWOCK_GENERATED_SEED=rwlock:0x2a repeats one program with its schedule.
set -eu
cd "$(dirname "$0")/.."

# Link-time optimisation takes longer than it saves.
export CARGO_PROFILE_RELEASE_LTO=false CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16

# models CHECKER ARGUMENT...: the library's tests, built for that checker.
models() {
    checker=$1
    shift
    RUSTFLAGS="--cfg $checker" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/$checker" \
        cargo test --release -p furwock --lib -- "$@"
}

if [ $# != 0 ]; then
    listed=$(models loom --list "$1" && models shuttle --list "$1")
    case $listed in
    *": test"*) ;;
    *)
        echo "models: no test has a name that contains \"$1\"" >&2
        exit 1
        ;;
    esac
fi

models loom "${1:-models}"
models shuttle --skip generated "${1:-random_schedules}"
models shuttle --show-output --skip generated::mutants --skip random_schedules "${1:-generated}"
# Without --show-output: it would show each mutant's panic, which matters only if one isn't found.
models shuttle --skip generated::programs --skip random_schedules "${1:-generated::mutants}"
