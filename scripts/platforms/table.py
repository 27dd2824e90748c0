"""table.py [--update | --few] PAGE ROWS: whether the page's table has the rows; or writes them.

A cell that wasn't looked at is a dash. With --few a step looked at a part only, which may pass
where the whole fails. A suite's glibc may become newer: that is only said.
"""

import sys

SUITE, GLIBC = 0, 1


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def differs(found, stated, few):
    return [
        f"{found[SUITE]}: {new!r}, and the page says {old!r}"
        for column, (new, old) in enumerate(zip(found, stated, strict=True))
        if new != old
        and "-" not in (new, old)
        and column != GLIBC
        and not (few and new == "passes")
    ]


def main():
    update = sys.argv[1] == "--update"
    few = sys.argv[1] == "--few"
    path, rows = sys.argv[-2:]
    lines = open(path).read().splitlines()
    head = next(at for at, line in enumerate(lines) if line.startswith("| suite "))
    end = next(at for at in range(head, len(lines)) if not lines[at].startswith("|"))
    stated = {cells(line)[SUITE]: cells(line) for line in lines[head + 2 : end]}
    wrong = []
    for found in map(cells, open(rows)):
        suite = found[SUITE]
        old = stated.get(suite)
        if update:
            kept = old or found
            stated[suite] = [new if new != "-" else kept[at] for at, new in enumerate(found)]
        elif old is None:
            wrong.append(f"{suite}: the page has no such row")
        else:
            if found[GLIBC] != old[GLIBC]:
                print(f"{suite} has glibc {found[GLIBC]}; {path} says {old[GLIBC]}: --update")
            wrong += differs(found, old, few)
    if update:
        written = [f"| {' | '.join(row)} |" for row in stated.values()]
        with open(path, "w") as page:
            page.write("\n".join(lines[: head + 2] + written + lines[end:]) + "\n")
    for line in wrong:
        print(f"{path}: {line}", file=sys.stderr)
    sys.exit(bool(wrong))


main()
