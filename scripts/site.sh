#!/bin/sh
# Makes a site of the documents, with search, in target/site, by mdbook, and checks the links within
# it. The pages are those of docs/SUMMARY.md.
#
# Where mdbook is missing it is built first, in target/tools, which takes some minutes.
set -eu
cd "$(dirname "$0")/.."

VERSION=0.5.4
work=$PWD/target/site-source
tools=$PWD/target/tools
PATH=$PATH:$tools/bin

if ! command -v mdbook >/dev/null; then
    cargo install mdbook --version "$VERSION" --locked --no-default-features --features search \
        --root "$tools"
fi

rm -rf "$work" target/site
mkdir -p "$work"
python3 scripts/site/stage.py "$work/source"
cp docs/book.toml "$work"
mdbook build --dest-dir "$PWD/target/site" "$work"
python3 scripts/site/check.py target/site
echo "site: target/site/index.html"
