# Rust's standard library, which calls futex(2) by number.
title="Rust's std, 8 threads"
needs=$std_sync
run() {
    for _ in $(seq "$(by_size 1 3)"); do
        on_side "$std_sync"
    done
}
