#!/usr/bin/env python3
"""Whether each link within a site leads to a file of it, and to a name that this file has.

usage: check.py FOLDER
"""

import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.names, self.targets = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.names.update(found[each] for each in ("id", "name") if found.get(each))
        self.targets += [found[each] for each in ("href", "src") if found.get(each)]


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = {path: Page(path.read_text()) for path in root.rglob("*.html")}
    # Made for a server's errors, from whatever folder: its links are absolute.
    pages.pop(root / "404.html", None)
    broken, links = [], 0
    for path, page in sorted(pages.items()):
        for target in page.targets:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            links += 1
            to = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            anchor = urllib.parse.unquote(parts.fragment)
            if not to.is_file() or (anchor and to in pages and anchor not in pages[to].names):
                broken.append(f"{path.relative_to(root)}: {target}")
    for each in broken:
        print(f"site: broken: {each}", file=sys.stderr)
    assert links > 1000, f"{links} links: they are read wrongly"
    print(f"site: {len(pages)} pages, {links} links within it, {len(broken)} broken")
    sys.exit(1 if broken else 0)


main()
