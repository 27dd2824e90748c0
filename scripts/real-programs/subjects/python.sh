# CPython: forty threads, a bounded queue, a barrier and events, in a program full of condvars: the
# global interpreter lock is a mutex with a condvar too.
title="python3, 40 threads"
needs=python3
packages=python3
prepare() {
    cat >"$folder/threads.py" <<'PYTHON'
import queue, sys, threading

WORKERS, ITEMS = 40, int(sys.argv[1])
todo, done = queue.Queue(maxsize=16), queue.Queue()
start = threading.Barrier(WORKERS + 1)

def work():
    start.wait()
    while (item := todo.get()) is not None:
        done.put(item * item)

threads = [threading.Thread(target=work) for _ in range(WORKERS)]
for thread in threads:
    thread.start()
start.wait()
for item in range(ITEMS):
    todo.put(item)
for _ in threads:
    todo.put(None)
for thread in threads:
    thread.join()
print(sum(done.get() for _ in range(ITEMS)), done.qsize())
PYTHON
}
run() {
    on_side python3 "$folder/threads.py" "$(by_size 4000 40000)"
}
