#!/usr/bin/env sh
# The pages of results in a browser: wide and narrow, light and dark, on paper, by keyboard, and for
# screen readers (axe-core).
#
#     sh scripts/check-page.sh [PAGE.html ...]    of these pages, else of pages that it makes
#
# Needs Chromium and Node; npm fetches axe-core and playwright-core on the first run, into
# target/page, and nothing of them is committed. Without a browser it says so and passes.
# Pictures are left in target/page/shots.
set -eu
cd "$(dirname "$0")/.."

browser=
for each in chromium chromium-browser google-chrome; do
    if command -v "$each" > /dev/null; then
        browser=$(command -v "$each")
        break
    fi
done
for need in "${browser:+sh}" node npm; do
    if [ -z "$need" ]; then
        echo "skipped: no Chromium (apt-get install chromium)"
        exit 0
    elif ! command -v "$need" > /dev/null; then
        echo "skipped: no $need"
        exit 0
    fi
done

work=$PWD/target/page
mkdir -p "$work/shots"
if ! [ -d "$work/node_modules/axe-core" ] || ! [ -d "$work/node_modules/playwright-core" ]; then
    if ! npm install --silent --no-audit --no-fund --prefix "$work" axe-core playwright-core; then
        echo "skipped: npm can't fetch axe-core and playwright-core"
        exit 0
    fi
fi

if [ $# -eq 0 ]; then
    furwock=target/release/furwock
    if ! [ -x "$furwock" ]; then
        echo "build it first: cargo build --release" >&2
        exit 1
    fi
    $furwock compare --quick --report "$work/compare.html" > "$work/compare.txt" 2>&1
    $furwock bench mutex --threads 2,4 --rounds 3 --seconds 0.02 \
        --report "$work/mutex.html" > "$work/mutex.txt" 2>&1
    $furwock bench papers --rounds 1 --seconds 0.01 --only molnar,long \
        --report "$work/papers.html" > "$work/papers.txt" 2>&1
    set -- "$work/compare.html" "$work/mutex.html" "$work/papers.html"
    if cc -O1 -g -pthread -o "$work/contended" cli/tests/stats/contended.c; then
        $furwock run --stats="$work/record" -- "$work/contended" x > "$work/record.txt" 2>&1
        $furwock report --html "$work/record.html" "$work/record" > "$work/report.txt"
        set -- "$@" "$work/record.html"
    else
        echo "skipped: the page of furwock report (no C compiler)"
    fi
fi
NODE_PATH=$work/node_modules BROWSER=$browser SHOTS=$work/shots node scripts/page/check.js "$@"
