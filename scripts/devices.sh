#!/bin/sh
# devices.sh ROOT: gives a root folder a /dev of its own, with the devices that any program needs.
# For a mount namespace that ends with its programs.
#
# It isn't the system's /dev: what removes a device there must not remove it here.
set -eu

mount -t tmpfs tmpfs "$1/dev"
mkdir "$1/dev/shm"
mount -t tmpfs tmpfs "$1/dev/shm"
for device in null zero full random urandom; do
    touch "$1/dev/$device"
    mount --bind "/dev/$device" "$1/dev/$device"
done
ln -s /proc/self/fd "$1/dev/fd"
