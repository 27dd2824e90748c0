# stress-ng checks itself. It runs for a fixed time: with a fixed number of operations, a process
# may find the others done before it has begun, and reports that as a failure, on glibc as well.
title="stress-ng --verify"
needs=stress-ng
packages=stress-ng
timed=no
run() {
    # Older ones have none of mutexes.
    mutex=--mutex\ 2
    stress-ng --help | grep -q -- '--mutex N' || mutex=
    # shellcheck disable=SC2086 # a list of words
    on_side stress-ng --pthread 2 $mutex --futex 2 --sem 2 --fifo 2 --verify \
        --timeout "$(by_size 5 20)" --quiet --temp-path "$mine"
}
