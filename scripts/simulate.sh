#!/bin/sh
# Runs furwock's locks, and published ones beside them, on simulated machines.
#
# usage: simulate.sh [--machine M] [--report page.html] [OPTION]...
#        simulate.sh --validate      compares with measured and published figures
#        simulate.sh --validate=short   whether what was reached there still is: a minute
#        simulate.sh --help          all options
set -eu
cd "$(dirname "$0")/.."

# In a folder of its own, since the flag builds all of furwock anew. The simulator needs neither the
# link-time optimisation nor the time that it takes.
target=${CARGO_TARGET_DIR:-target}/simulated
RUSTFLAGS="--cfg simulated" CARGO_TARGET_DIR=$target CARGO_PROFILE_RELEASE_LTO=off \
    CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 cargo build --quiet --release -p furwock-simulator
exec "$target/release/furwock-simulate" "$@"
