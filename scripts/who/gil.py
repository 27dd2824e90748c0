"""By the first argument: "planted" is a library that waits for a mutex with the GIL held, while
the thread that has the mutex waits for the GIL; "locks" are Python's own locks in different orders;
"busy" has both kinds in the same order."""

import ctypes
import sys
import threading
import time

with_gil, without = ctypes.PyDLL(None), ctypes.CDLL(None)
mutex = ctypes.create_string_buffer(64)


def keeps_the_mutex():
    without.pthread_mutex_lock(mutex)
    while True:
        time.sleep(0.001)


def both(first, second):
    with first:
        time.sleep(0.2)
        with second:
            pass


def busy(first, second):
    while True:
        with first, second:
            sum(range(1000))
        without.pthread_mutex_lock(mutex)
        sum(range(1000))
        without.pthread_mutex_unlock(mutex)


a, b = threading.Lock(), threading.Lock()
threads = {
    "planted": [(keeps_the_mutex, ())],
    "locks": [(both, (a, b)), (both, (b, a))],
    "busy": [(busy, (a, b))] * 6,
}[sys.argv[1]]
for run, arguments in threads:
    threading.Thread(target=run, args=arguments).start()
if sys.argv[1] == "planted":
    time.sleep(0.2)
    with_gil.pthread_mutex_lock(mutex)
