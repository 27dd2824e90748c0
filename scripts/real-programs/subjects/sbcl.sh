# Steel Bank Common Lisp: mutexes, wait queues and semaphores on futex(2) by libc's syscall, and a
# collector that stops all threads by signals.
title="SBCL, 8 threads"
needs=sbcl
packages=sbcl
run() {
    on_side sbcl --script scripts/real-programs/sources/threads.lisp "$(by_size 20 120)"
}
