"""Makes a crate of other libraries' tests, which then run on furwock's types.

usage: prepare.py LIBRARY_OF_STD CRATE

LIBRARY_OF_STD is the folder `library` of the component rust-src. The tests of parking_lot and
lock_api come from the sources that cargo has fetched for CRATE. Copies of the tests go to CRATE,
with what they import changed to the shims beside this file, and without the tests of left-out.txt.
CRATE/tests.tsv then lists the tests: suite, name, and why it is left out, or nothing.
"""

import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FURWOCK = HERE.parent.parent / "furwock"

# lock_api 0.4 has no tests of its own; parking_lot 0.12 is what uses it.
PARKING_LOT = "0.12.5"
LOCK_API = "0.5.0"

MANIFEST = f"""[package]
name = "furwock-yardstick"
version = "0.0.0"
edition = "2021"
publish = false
autotests = false

[workspace]

# What the tests ask for by `cfg`.
[features]
default = ["arc_lock", "atomic_usize"]
arc_lock = []
atomic_usize = []

[dependencies]
furwock = {{ path = "{FURWOCK}", features = ["lock_api_0_5"] }}
lock_api_0_4 = {{ package = "lock_api", version = "0.4", features = ["arc_lock"] }}
lock_api = {{ version = "={LOCK_API}", features = ["arc_lock"] }}

# Fetched for its tests, and not built.
[target.'cfg(any())'.dependencies]
parking_lot = "={PARKING_LOT}"

[profile.release]
debug = 1

[[test]]
name = "std"
path = "std/main.rs"

[[test]]
name = "parking_lot"
path = "parking_lot/main.rs"

[[test]]
name = "lock_api"
path = "lock_api/main.rs"
"""


def fail(message):
    sys.exit(f"yardstick: {message}")


class LeftOut:
    """left-out.txt: a line with `[suite]` gives a reason; its tests follow, indented."""

    def __init__(self):
        self.reasons = {}
        self.used = set()
        suite = reason = None
        for line in (HERE / "left-out.txt").read_text().splitlines():
            begun = re.fullmatch(r"\[(\w+)\] (.+)", line)
            if begun:
                suite, reason = begun.groups()
            elif line.startswith("    "):
                self.reasons[suite, line.strip()] = reason

    def reason(self, suite, test):
        """Why a test is left out; None if it runs. `file::*` stands for all tests of a file."""
        parts = test.split("::")
        for name in (test, *("::".join(parts[:count]) + "::*" for count in range(1, len(parts)))):
            if (suite, name) in self.reasons:
                self.used.add((suite, name))
                return self.reasons[suite, name]
        return None

    def unused(self):
        return [" ".join(name) for name in self.reasons if name not in self.used]


class Copy:
    """A source of tests on its way into the crate."""

    def __init__(self, suite, module, text, left_out):
        self.suite, self.module, self.left_out = suite, module, left_out
        self.lines = text.splitlines()
        self.tests = []

    def note(self, test):
        reason = self.left_out.reason(self.suite, test)
        self.tests.append((self.suite, test, reason or ""))
        return reason

    def without_left_out(self):
        """The text without the functions of the tests that are left out."""
        kept, at, modules = [], 0, []
        while at < len(self.lines):
            line = self.lines[at]
            indent = re.match(" *", line).group()
            opened = re.fullmatch(r"( *)(?:pub )?mod (\w+) \{", line)
            if opened:
                modules.append(opened.groups())
            elif modules and line == modules[-1][0] + "}":
                modules.pop()
            path = "::".join(filter(None, [self.module, *(name for _, name in modules)]))
            pair = re.fullmatch(r"nonpoison_and_poison_unwrap_test!\(", line)
            single = re.match(r" *fn (\w+)\(", line)
            if pair:
                end = self.end(at, ");")
                kept += self.pair(path, at, end, kept)
                at = end + 1
                continue
            if single and self.is_test(at):
                if self.note("::".join(filter(None, [path, single[1]]))):
                    self.drop_attributes(kept, indent)
                    at = self.end(at, indent + "}") + 1
                    continue
            kept.append(line)
            at += 1
        return "\n".join(kept) + "\n"

    def end(self, at, closing):
        if self.lines[at].endswith("{}"):
            return at
        for index in range(at, len(self.lines)):
            if self.lines[index] == closing:
                return index
        fail(f"{self.suite}: {self.module}: line {at + 1} has no end")

    def is_test(self, at):
        for line in reversed(self.lines[:at]):
            stripped = line.strip()
            if stripped.startswith("#[test]"):
                return True
            if not stripped.startswith(("#[", "//")):
                return False
        return False

    @staticmethod
    def drop_attributes(kept, indent):
        while kept and kept[-1].startswith((indent + "#[", indent + "//")):
            kept.pop()

    def pair(self, path, at, end, kept):
        """A test of both flavours of std's locks, of which either may be left out."""
        name = re.fullmatch(r" *name: (\w+),", self.lines[at + 1])[1]
        runs = [
            flavour
            for flavour in ("nonpoison", "poison")
            if not self.note(f"{path}::{name}::{flavour}")
        ]
        if not runs:
            self.drop_attributes(kept, "")
            return []
        return [f"{'_and_'.join(runs)}_unwrap_test!(", *self.lines[at + 1 : end + 1]]


def fetched(crate):
    """The folders of the sources that cargo has fetched, by name and version."""
    command = ["cargo", "metadata", "--format-version", "1"]
    listed = subprocess.run(command, cwd=crate, check=True, stdout=subprocess.PIPE).stdout
    packages = json.loads(listed)["packages"]
    return {
        (package["name"], package["version"]): pathlib.Path(package["manifest_path"]).parent
        for package in packages
    }


def std_copies(library, left_out):
    folder = library / "std" / "tests" / "sync"
    if not folder.is_dir():
        fail(f"no tests in {folder}")
    for source in sorted(folder.glob("*.rs")):
        if source.stem == "lib":
            continue
        copy = Copy("std", source.stem, source.read_text(), left_out)
        text = copy.without_left_out()
        text = re.sub(r"(?:::)?\bstd::sync\b", "crate::sync", text)
        text = text.replace("use super::nonpoison_and_poison_unwrap_test;\n", "")
        yield copy, re.sub(r"\brand::", "crate::rand::", text)


def parking_lot_copies(folder, left_out):
    for source in sorted((folder / "src").glob("*.rs")):
        text = source.read_text()
        at = text.find("#[cfg(test)]\n")
        if at >= 0:
            copy = Copy("parking_lot", source.stem, text[at:], left_out)
            text = re.sub(r"\brand::", "crate::rand::", copy.without_left_out())
            # std's name for it, which furwock has.
            yield copy, text.replace(".poisoned()", ".is_poisoned()")
    for source in sorted((folder / "tests").glob("*.rs")):
        copy = Copy("parking_lot", source.stem, source.read_text(), left_out)
        yield copy, copy.without_left_out().replace("parking_lot::", "crate::")


def lock_api_copies(folder, left_out):
    guards = (folder / "tests" / "stateful_guards.rs").read_text()
    copy = Copy("lock_api", "", guards, left_out)
    text = copy.without_left_out()
    changes = [
        ("struct Raw {\n", "struct Raw {\n    furwock: Furwock,\n"),
        ("Self = Self {\n        state:", "Self = Self {\n        furwock: Furwock::INIT, state:"),
        ("    fn acquire(&self", "    fn acquire_noted(&self"),
        ("    fn release(&self", "    fn release_noted(&self"),
        ("    fn transition(&self", "    fn transition_noted(&self"),
    ]
    for old, new in changes:
        if text.count(old) != 1:
            fail(f"lock_api's tests have changed: {old!r} is there {text.count(old)} times")
        text = text.replace(old, new)
    yield copy, text
    traits = (folder / "tests" / "guard_traits.rs").read_text()
    copy = Copy("lock_api", "guard_traits", traits, left_out)
    yield copy, copy.without_left_out()


def update(path, text):
    """Writes what has changed, so that cargo builds no more than that."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def write(crate, suite, copies):
    """The shim, with the copies as its modules, or before it. Returns the tests."""
    folder = crate / suite
    folder.mkdir(parents=True, exist_ok=True)
    root, tests = (HERE / f"{suite}.rs").read_text(), []
    for copy, text in copies:
        tests += copy.tests
        if all(reason for *_, reason in copy.tests):
            continue
        if copy.module:
            update(folder / f"{copy.module}.rs", text)
            root += f"\nmod {copy.module};\n"
        else:
            root += text
    update(folder / "main.rs", root)
    return tests


def main(library, crate):
    left_out = LeftOut()
    crate.mkdir(parents=True, exist_ok=True)
    update(crate / "Cargo.toml", MANIFEST)
    for suite in ("std", "parking_lot", "lock_api"):
        (crate / suite).mkdir(exist_ok=True)
        if not (crate / suite / "main.rs").exists():
            (crate / suite / "main.rs").touch()
    sources = fetched(crate)
    parking_lot, lock_api = sources["parking_lot", PARKING_LOT], sources["lock_api", LOCK_API]
    tests = write(crate, "std", std_copies(library, left_out))
    tests += write(crate, "parking_lot", parking_lot_copies(parking_lot, left_out))
    tests += write(crate, "lock_api", lock_api_copies(lock_api, left_out))
    if left_out.unused():
        fail(f"left-out.txt names tests that there aren't: {', '.join(left_out.unused())}")
    update(crate / "random.rs", (HERE / "random.rs").read_text())
    lines = ("\t".join(test) + "\n" for test in tests)
    (crate / "tests.tsv").write_text("".join(lines))


main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve())
