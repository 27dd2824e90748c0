"""Runs a command, and reports the time used by it and by the children it waited for.

usage: measured.py LIMIT FIGURES COMMAND...

Appends a line of JSON to the file FIGURES: seconds of wall time and of processor time, voluntary
and involuntary context switches. Ends with the command's status, or with 124 if it took more than
LIMIT seconds; then it is killed, with all of its process group.
"""

import json, os, signal, sys, time

limit, figures, command = float(sys.argv[1]), sys.argv[2], sys.argv[3:]

begin = time.monotonic()
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.execvp(command[0], command)


def too_long(signum, frame):
    raise TimeoutError


def end_group():
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        pass


try:
    # The child does this too; the first one to run succeeds.
    os.setpgid(child, child)
except OSError:
    pass
signal.signal(signal.SIGALRM, too_long)
signal.setitimer(signal.ITIMER_REAL, limit)
try:
    _, status, used = os.wait4(child, 0)
    wall = time.monotonic() - begin
except TimeoutError:
    end_group()
    os.wait4(child, 0)
    print(f"measured: still running after {limit:g} s: {' '.join(command)}", file=sys.stderr)
    sys.exit(124)
signal.setitimer(signal.ITIMER_REAL, 0)
# Ends what a failed run may have left behind.
end_group()
with open(figures, "a") as out:
    row = {
        "wall": wall,
        "cpu": used.ru_utime + used.ru_stime,
        "voluntary": used.ru_nvcsw,
        "involuntary": used.ru_nivcsw,
    }
    print(json.dumps(row), file=out)
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
