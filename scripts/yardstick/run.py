"""Runs the crate that prepare.py made, and prints what passed.

usage: run.py CRATE PROGRAM...

Each PROGRAM is a suite's tests, as `cargo test --no-run` has built it. Ends with an error if a test
failed, hung, or didn't run though it isn't left out. What failed runs a second time, alone: some
tests rely on how soon threads run.
"""

import collections
import pathlib
import re
import subprocess
import sys

# A suite takes some seconds. Threads that never run again are stopped with it.
BOUND_S = 120

# More than that aren't a matter of chance.
MOST_AGAIN = 5


def listed(crate):
    """The tests that were found in the sources: why each is left out, by suite and name."""
    lines = (crate / "tests.tsv").read_text().splitlines()
    return {tuple(line.split("\t")[:2]): line.split("\t")[2] for line in lines}


def run(program, *arguments):
    """What each test of a program came to, by its name, and what the program printed."""
    try:
        done = subprocess.run(
            [program, *arguments],
            timeout=BOUND_S,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        output, hung = done.stdout.decode(errors="replace"), False
    except subprocess.TimeoutExpired as expired:
        output, hung = (expired.stdout or b"").decode(errors="replace"), True
    # What threads of tests print may stand between a test's name and its end.
    pattern = r"^test (\S+)(?: - should panic)? \.\.\. (?:.*\n)??.*?\b(ok|FAILED|ignored)\b.*$"
    found = dict(re.findall(pattern, output, re.MULTILINE))
    return found, output, hung


def main(crate, programs):
    tests, table = listed(crate), collections.defaultdict(collections.Counter)
    faults = []
    suites = {pathlib.Path(program).name.rsplit("-", 1)[0]: program for program in programs}
    for suite, program in suites.items():
        found, output, hung = run(program, "--test-threads", "4")
        for name in [name for name, result in found.items() if result == "FAILED"][:MOST_AGAIN]:
            again, printed, _ = run(program, "--exact", name)
            found.update(again)
            output += f"\n{name}, a second time:\n{printed}"
        (crate / f"{suite}.log").write_text(output)
        wanted = {name for (of, name), reason in tests.items() if of == suite and not reason}
        for name in sorted(wanted | set(found)):
            result = found.get(name, "no end" if hung else "not run")
            outcome = "passed" if result == "ok" else "failed"
            table[suite, name.split("::")[0] if "::" in name else "-"][outcome] += 1
            if outcome == "failed":
                faults.append(f"{suite} {name}: {result} ({crate / suite}.log)")
    for (suite, name), reason in tests.items():
        if reason and suite in suites:
            table[suite, name.split("::")[0] if "::" in name else "-"]["left out"] += 1
    print(f"{'suite':<12} {'file':<18} {'passed':>6} {'failed':>6} {'left out':>8}")
    total = collections.Counter()
    for (suite, file), counts in sorted(table.items()):
        print(f"{suite:<12} {file:<18} ", end="")
        print(f"{counts['passed']:>6} {counts['failed']:>6} {counts['left out']:>8}")
        total += counts
    print(f"{total['passed']} passed, {total['failed']} failed, {total['left out']} left out")
    for fault in faults:
        print(f"failed: {fault}", file=sys.stderr)
    return 1 if faults else 0


sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:]))
