#!/bin/sh
# Prints the manual pages that only lead to another one, a line each: its name, and the other's.
# They are the functions that a page's NAME lists besides the one that it is named by.
set -eu
cd "$(dirname "$0")/.."

for path in docs/man/*.3; do
    page=$(basename "$path" .3)
    sed -n '/^\.SH NAME$/,/ \\- /{/^\.SH/d; s/ \\- .*//; s/,/ /g; p}' "$path" | tr -s ' ' '\n' |
        while read -r name; do
            [ "$name" = "$page" ] || [ -z "$name" ] || echo "$name $page"
        done
done
