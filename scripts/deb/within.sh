#!/bin/sh
# Tries packages in a root folder, which stays as it is: within.sh ROOT PACKAGES TARBALL, where
# PACKAGES is a folder.
set -eu
cd "$(dirname "$0")/../.."

# shellcheck disable=SC2016 # the inner shell's variables
exec unshare --mount --pid --fork --kill-child sh -euc '
    lower=$1 packages=$2 tarball=$3
    # What is written is in memory, and gone with the last process.
    mount -t tmpfs tmpfs "$4"
    mkdir "$4/upper" "$4/work" "$4/root"
    root=$4/root
    mount -t overlay -o "lowerdir=$lower,upperdir=$4/upper,workdir=$4/work" overlay "$root"
    mount -t tmpfs tmpfs "$root/tmp"
    mkdir "$root/tmp/given"
    mkdir "$root/tmp/anywhere"
    tar --extract --file "$tarball" --directory "$root/tmp/anywhere"
    cp "$packages"/*.deb README.md scripts/deb/step.sh cli/tests/stats/contended.c \
        capi/examples/queue.c "$root/tmp/given"
    mount -t proc proc "$root/proc"
    sh scripts/devices.sh "$root"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive timeout 300 chroot "$root" sh /tmp/given/step.sh
' sh "$1" "$2" "$3" "$(mktemp -d -p target/debian)"
