#!/bin/sh
# Prints Debian's symbols file of libfurwock0, from the list of versions that the library is linked
# by: a function came with the release that its node is named for.
set -eu
cd "$(dirname "$0")/../.."

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
echo "libfurwock.so.0 libfurwock0 #MINVER#"
awk -v version="$version" '
    # What is for tools only may change with each release.
    /^FURWOCK_[A-Z0-9_.]+ \{/ {
        node = $1
        release = node ~ /[0-9]$/ ? substr(node, 9) : version
        if (release !~ /\..*\./)
            release = release ".0"
        print " " node "@" node " " release
    }
    /^\tfurwock_/ { print " " substr($1, 1, length($1) - 1) "@" node " " release }
' capi/libfurwock.map
