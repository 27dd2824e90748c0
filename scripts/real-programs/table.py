"""Makes the table of docs/real-programs.md from the figures of all rounds.

usage: table.py FOLDER NOISE ROUNDS SUBJECT...

FOLDER has a file SUBJECT.SIDE.figures for each, by measured.py, and SUBJECT.title. Prints the
table, and writes it between the marks of the document.
"""

import json, pathlib, platform, statistics, sys, time

BEGIN = "<!-- the table begins: written by scripts/real-programs.sh --measure -->"
END = "<!-- the table ends -->"

folder, noise, rounds = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]


def load(subject, side):
    lines = (folder / f"{subject}.{side}.figures").read_text().splitlines()
    return [json.loads(line) for line in lines]


def column(rows, name):
    return [row[name] for row in rows]


def spread(values):
    return f"{(max(values) - min(values)) / 2 / statistics.median(values):.0%}"


def seconds(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def count(value):
    return f"{value / 1000:.1f} k" if value >= 1000 else f"{value:.0f}"


def verdict(glibc, furwock):
    """How many times as fast furwock is; bold if no round of one side was within the other's."""
    ratio = statistics.median(glibc) / statistics.median(furwock)
    apart = max(furwock) < min(glibc) or max(glibc) < min(furwock)
    return f"**{ratio:.2f}x**" if apart else f"{ratio:.2f}x"


lines = [
    f"glibc {platform.libc_ver()[1]}, Linux {'.'.join(platform.release().split('.')[:2])}, "
    f"{time.strftime('%Y-%m-%d')}, {rounds} interleaved rounds; {noise}.",
    "",
    "| program | wall, s: glibc | furwock | as fast | CPU, s | voluntary switches | involuntary |",
    "|---|---|---|---|---|---|---|",
]
for subject in sys.argv[4:]:
    title = (folder / f"{subject}.title").read_text().strip()
    both = [load(subject, side) for side in ("glibc", "furwock")]
    walls = [column(rows, "wall") for rows in both]
    wall = [f"{seconds(statistics.median(values))} ±{spread(values)}" for values in walls]
    pair = {
        name: " / ".join(form(statistics.median(column(rows, name))) for rows in both)
        for name, form in (("cpu", seconds), ("voluntary", count), ("involuntary", count))
    }
    lines.append(
        f"| {title} | {wall[0]} | {wall[1]} | {verdict(*walls)} "
        f"| {pair['cpu']} | {pair['voluntary']} | {pair['involuntary']} |"
    )
table = "\n".join(lines)
print(table)

document = pathlib.Path("docs/real-programs.md")
before, rest = document.read_text().split(BEGIN)
_, after = rest.split(END)
document.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")
