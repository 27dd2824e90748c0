#!/bin/sh
# Runs one subject on one side, once: side.sh SUBJECT SIDE. `side.sh SUBJECT prepare` prepares it.
# real-programs.sh calls it, with $folder, $size and $furwock in the environment.
set -eu
. scripts/real-programs/common.sh
. "scripts/real-programs/subjects/$1.sh"
if [ "$2" = prepare ]; then
    prepare
    exit
fi
side=$2
mine=$folder/$1.$side
rm -rf "$mine"
mkdir "$mine"
run
