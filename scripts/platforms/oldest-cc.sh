#!/bin/sh
# The linker of platforms.sh: the oldest suite's.
exec sh "$(dirname "$0")/within.sh" "$FURWOCK_OLDEST" cc "$@"
