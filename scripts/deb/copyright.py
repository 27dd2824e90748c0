#!/usr/bin/env python3
"""Writes a package's copyright file to stdout: furwock's own, and that of the crates that are part
of it, with the notices that their licences ask to be kept.

usage: copyright.py PACKAGE...     cargo's packages that the package is built of
"""

import hashlib
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent.parent.parent
APACHE = "/usr/share/common-licenses/Apache-2.0"


def crates(roots):
    """The crates that become part of these packages, as cargo describes them."""
    told = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--locked",
         "--filter-platform", "x86_64-unknown-linux-gnu"],
        cwd=HERE, check=True, stdout=subprocess.PIPE).stdout
    told = json.loads(told)
    packages = {package["id"]: package for package in told["packages"]}
    nodes = {node["id"]: node for node in told["resolve"]["nodes"]}
    waiting = [each for each, package in packages.items() if package["name"] in roots]
    assert len(waiting) == len(roots), roots
    found = set()
    while waiting:
        each = waiting.pop()
        kinds = {kind for target in packages[each]["targets"] for kind in target["kind"]}
        # A macro's code runs in the compiler.
        if each in found or "proc-macro" in kinds:
            continue
        found.add(each)
        for dependency in nodes[each]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    others = [packages[each] for each in found if packages[each]["source"]]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def notices(package):
    """A crate's licence files, without the Apache licence, which Debian has."""
    folder = pathlib.Path(package["manifest_path"]).parent
    for path in sorted(folder.iterdir()):
        begins = path.name.upper().startswith(("LICENSE", "LICENCE", "COPYING", "COPYRIGHT",
                                               "NOTICE", "UNLICENSE"))
        if begins and path.is_file():
            text = path.read_text(errors="replace").strip()
            if "TERMS AND CONDITIONS FOR USE, REPRODUCTION" not in text:
                yield text


def main():
    others = crates(sys.argv[1:])
    own = (HERE / "LICENSE-MIT").read_text().strip()
    print("furwock, https://github.com/furwock/furwock\n")
    print("MIT or Apache-2.0, at your option. The Apache licence, version 2.0, is in")
    print(f"{APACHE}. The MIT licence:\n\n{own}\n")
    print("Part of the package are also:\n")
    print("- the Rust standard library, MIT or Apache-2.0, https://github.com/rust-lang/rust;")
    print("  copyright the contributors of the Rust project;")
    print("- of GCC's runtime library, GPL-3 or later (/usr/share/common-licenses/GPL-3) with the")
    print("  GCC Runtime Library Exception; copyright the Free Software Foundation;")
    print("- these crates:\n")
    texts = {}
    for package in others:
        name = f"{package['name']} {package['version']}"
        authors = ", ".join(package["authors"])
        print(f"  {name}: {package['license'] or 'see below'}"
              + (f"; {authors}" if authors else ""))
        for text in notices(package):
            key = hashlib.sha256(" ".join(text.split()).encode()).digest()
            texts.setdefault(key, (text, []))[1].append(name)
    print("\nTheir licences and notices, but the Apache licence:")
    for text, names in sorted(texts.values(), key=lambda each: each[1]):
        print(f"\n{'-' * 70}\n{', '.join(names)}:\n\n{text}")


if __name__ == "__main__":
    main()
