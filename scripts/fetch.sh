#!/bin/sh
# Gets what the checks of .ci/run need over the network, in one go, so that it comes while they
# compile: packages, and root folders of other Debians. It is only a head start: each check gets
# what is still missing, and says what it has to do without.
set -u
cd "$(dirname "$0")/.."

# Stopped, it ends between two parts: dpkg would have to be repaired.
trap 'exit 1' TERM
of_programs=$(sed -n 's/^packages=//p' scripts/real-programs/subjects/*.sh | tr -d '"')
# shellcheck disable=SC2086 # a list of words
(
    trap '' TERM
    sh scripts/packages.sh gcc g++ libc6-dev groff-base libnsync1 valgrind make pkg-config man-db \
        gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu \
        libc6-dev-riscv64-cross qemu-user-static mmdebstrap lintian xz-utils python3 binutils \
        supervisor systemd $of_programs
)
sh scripts/litmus.sh --fetch &
# The packages' root folder comes after: they take the oldest suite's from the platforms.
sh scripts/platforms.sh --short --fetch
sh scripts/deb.sh --check --fetch
wait
