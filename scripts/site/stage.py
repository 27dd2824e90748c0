#!/usr/bin/env python3
"""Copies the documents into a folder, as mdbook wants them.

usage: stage.py FOLDER

The pages are those of docs/SUMMARY.md, and lie in FOLDER as in the repository, so that links
between them stay as they are. DESIGN.md becomes a chapter for each of its sections. A link to
anything else of the repository leads to the forge.
"""

import pathlib
import posixpath
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SUMMARY = "docs/SUMMARY.md"
SPLIT = "DESIGN.md"
PICTURES = (".svg", ".png")
LINK = re.compile(r"(?<=\]\()[^)\s]+(?=\))|(?<=src=\")[^\"]+(?=\")")


def forge():
    manifest = (ROOT / "Cargo.toml").read_text()
    return re.search(r'^repository = "(.*)"', manifest, re.MULTILINE)[1]


def name(title):
    """What a forge and mdbook call a heading."""
    kept = "".join(each for each in title.lower() if each.isalnum() or each in " -_")
    return kept.strip().replace(" ", "-")


def by_line(text):
    """The lines, and for each whether it is outside code blocks."""
    is_code = False
    for line in text.splitlines(keepends=True):
        is_fence = line.lstrip().startswith("```")
        yield line, not is_code and not is_fence
        is_code ^= is_fence


def chapters(text):
    """A document's beginning, and its sections: each by its title, a level higher."""
    found = [("", "")]
    for line, is_text in by_line(text):
        if is_text and line.startswith("## "):
            found.append((line[3:].strip(), ""))
        title, before = found[-1]
        is_below = title and is_text and line.startswith("##")
        found[-1] = (title, before + (line[1:] if is_below else line))
    return found


class Site:
    def __init__(self, out):
        self.out = out
        self.summary = (ROOT / SUMMARY).read_text()
        self.pages = {self.resolved(each, SUMMARY) for each in LINK.findall(self.summary)}
        self.forge = forge()
        self.sections = chapters((ROOT / SPLIT).read_text())
        # Of the document that is split: in which chapter each heading is.
        self.anchors = {}
        for title, text in self.sections[1:]:
            for line, is_text in by_line(text):
                if is_text and line.startswith("#"):
                    self.anchors[name(line.lstrip("#"))] = self.chapter(title)

    @staticmethod
    def resolved(target, document):
        return posixpath.normpath(posixpath.join(posixpath.dirname(document), target))

    @staticmethod
    def chapter(title):
        return f"design/{name(title)}.md"

    def link(self, target, document, page):
        """`target` of a document, as the page that is made of it has to have it."""
        if "://" in target:
            return target
        path, _, anchor = target.partition("#")
        path = self.resolved(path, document) if path else document
        if path == SPLIT and anchor in self.anchors:
            path = self.anchors[anchor]
        elif path.endswith(PICTURES):
            (self.out / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, self.out / path)
        elif path not in self.pages:
            kind = "tree" if (ROOT / path).is_dir() else "blob"
            path = "" if path == "." else f"/{kind}/HEAD/{path}"
            return self.forge + path + (f"#{anchor}" if anchor else "")
        # mdbook calls a folder's README its index.
        path = re.sub(r"(^|/)README\.md$", r"\1index.md", path)
        path = posixpath.relpath(path, posixpath.dirname(page) or ".")
        return path + (f"#{anchor}" if anchor else "")

    def write(self, page, text, document):
        def link(found):
            before = found.string[: found.start()]
            is_code = before.count("`") % 2 == 1
            return found[0] if is_code else self.link(found[0], document, page)

        lines = (LINK.sub(link, line) if is_text else line for line, is_text in by_line(text))
        path = self.out / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(lines))

    def contents(self):
        """The list of chapters, with those that DESIGN.md becomes."""
        for line in self.summary.splitlines(keepends=True):
            target = LINK.search(line)
            if not target:
                yield line
                continue
            path = self.resolved(target[0], SUMMARY)
            yield LINK.sub(path, line)
            if path == SPLIT:
                indent = " " * (len(line) - len(line.lstrip()) + 2)
                for title, _ in self.sections[1:]:
                    yield f"{indent}- [{title}]({self.chapter(title)})\n"

    def make(self):
        for page in sorted(self.pages - {SPLIT}):
            self.write(page, (ROOT / page).read_text(), page)
        for title, text in self.sections:
            self.write(self.chapter(title) if title else SPLIT, text, SPLIT)
        (self.out / "SUMMARY.md").write_text("".join(self.contents()))


def main():
    out = pathlib.Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    Site(out).make()


main()
