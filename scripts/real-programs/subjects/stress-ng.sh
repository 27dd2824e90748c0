# stress-ng checks itself; a fixed number of operations, so that the time is comparable.
title="stress-ng --verify"
needs=stress-ng
packages=stress-ng
run() {
    operations=$(by_size 1 6)
    on_side stress-ng --verify --quiet --temp-path "$mine" --timeout 120 \
        --pthread 2 --pthread-ops $((operations * 2000)) --mutex 2 --mutex-ops $((operations * 100000)) \
        --futex 2 --futex-ops $((operations * 50000)) --sem 2 --sem-ops $((operations * 500000)) \
        --fifo 2 --fifo-ops $((operations * 50000))
}
