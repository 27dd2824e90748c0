#!/bin/sh
# Installs into an empty folder, and runs a program by what was installed.
set -eu
cd "$(dirname "$0")/.."

sh scripts/packages.sh make
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
make --silent install PREFIX="$folder"
seen=$("$folder/bin/furwock" run -- sh -c 'cat /proc/self/maps' | grep -c "$folder/lib/furwock/libfurwock_preload.so")
[ "$seen" -gt 0 ]
make --silent uninstall PREFIX="$folder"
[ -z "$(find "$folder" -type f)" ]
echo "install: the installed command runs programs on the installed preload"
