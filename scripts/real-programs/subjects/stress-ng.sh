# stress-ng checks itself. It runs for a fixed time: with a fixed number of operations, a process
# may find the others done before it has begun, and reports that as a failure, on glibc as well.
title="stress-ng --verify"
needs=stress-ng
packages=stress-ng
timed=no
run() {
    on_side stress-ng --pthread 2 --mutex 2 --futex 2 --sem 2 --fifo 2 --verify \
        --timeout "$(by_size 5 20)" --quiet --temp-path "$mine"
}
