"""Prints how quiet the machine is, in one line.

Repeats a calculation some hundred times: on a quiet machine each takes as long as the others.
"""

import os, time


def total_and_idle():
    with open("/proc/stat") as stat:
        fields = [int(field) for field in stat.readline().split()[1:]]
    return sum(fields[:8]), fields[3] + fields[4]


def calculation():
    begin = time.perf_counter()
    sum(range(200_000))
    return time.perf_counter() - begin


calculation()
total, idle = total_and_idle()
time.sleep(1)
total_then, idle_then = total_and_idle()
busy = 1 - (idle_then - idle) / max(1, total_then - total)
times = sorted(calculation() for _ in range(400))
spread = times[len(times) * 9 // 10] / times[len(times) // 10] - 1
print(
    f"{os.cpu_count()} processors, {busy:.0%} of them busy with other things before the start; "
    f"the same calculation took up to {spread:.0%} longer in nine of ten cases"
)
