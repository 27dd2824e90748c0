#!/bin/sh
# within.sh ROOT COMMAND...: runs a command in a root folder, in which this folder, the Rust
# toolchain and the kernel's file systems are where they are outside.
set -eu
cd "$(dirname "$0")/../.."

# shellcheck disable=SC2016 # the inner shell's variables
exec unshare --mount sh -euc '
    home=$1 toolchain=$2 root=$3
    shift 3
    # First: the others may be below /tmp.
    mount -t tmpfs tmpfs "$root/tmp"
    for folder in /proc /sys; do
        mount --rbind "$folder" "$root$folder"
    done
    sh scripts/devices.sh "$root"
    for folder in "$home" "$toolchain"; do
        mkdir -p "$root$folder"
        mount --bind "$folder" "$root$folder"
    done
    exec env -u LD_LIBRARY_PATH PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        chroot "$root" sh -euc "cd \"\$0\"; exec \"\$@\"" "$home" "$@"
' sh "$PWD" "${FURWOCK_TOOLCHAIN:=$(rustc --print sysroot)}" "$@"
