#!/bin/sh
# Checks the orderings of ORDERING.md for Arm: herd7 must find that the outcome of each test in
# litmus/ is forbidden, and allowed as soon as one of its Weakened lines is applied. Arguments name
# tests; without any, all run. herd7 is $HERD, or the one in the path, or Debian sid's, which is
# unpacked in target/herd (some 20 s and 360 MB, once); --fetch does only that.
set -eu
cd "$(dirname "$0")/.."

root=target/herd
if [ -n "${HERD:-}" ]; then
    :
elif command -v herd7 >/dev/null; then
    HERD=herd7
else
    if ! [ -x $root/usr/bin/herd7 ]; then
        sh scripts/packages.sh mmdebstrap
        if ! command -v mmdebstrap >/dev/null; then
            echo "litmus: skipped: neither herd7 nor mmdebstrap is installed"
            exit 0
        fi
        rm -rf $root
        if ! mmdebstrap --quiet --variant=apt --include=herdtools7 \
            --aptopt='Acquire::Check-Valid-Until "false"' sid $root; then
            echo "litmus: skipped: Debian's herdtools7 can't be had"
            exit 0
        fi
    fi
    # Not chroot, which takes privileges: its own loader and libraries.
    machine=$(uname -m)
    loader=$(ls $root/lib64/ld-linux-*.so.* $root/lib/ld-linux-*.so.* 2>/dev/null | head -n 1)
    HERD="$loader --library-path $root/usr/lib/$machine-linux-gnu $root/usr/bin/herd7"
    HERD="$HERD -set-libdir $root/usr/share/herdtools7/herd"
fi
[ "${1:-}" != --fetch ] || exit 0

form=$(mktemp --suffix=.litmus)
trap 'rm -f "$form"' EXIT

# What herd7 says of the file: Never, Sometimes or Always.
verdict() {
    $HERD "$1" | sed -n 's/^Observation [^ ]* \([A-Za-z]*\).*/\1/p'
}

# The test with one instruction of one thread replaced, as a Weakened line says.
weakened() {
    awk -v line="$2" '
        BEGIN {
            split(line, part, " -> ")
            to = part[2]
            thread = substr(part[1], 1, index(part[1], " ") - 1)
            from = substr(part[1], index(part[1], " ") + 1)
            column = substr(thread, 2) + 1
        }
        /^ .*;$/ {
            text = $0
            sub(/;$/, "", text)
            count = split(text, cell, "|")
            at = index(" " cell[column], " " from " ")
            if (at) {
                cell[column] = substr(cell[column], 1, at - 1) to \
                    substr(cell[column], at + length(from))
                changed++
            }
            text = cell[1]
            for (i = 2; i <= count; i++) text = text "|" cell[i]
            print text ";"
            next
        }
        { print }
        END { exit !changed }' "$1"
}

failed=0
forms=0
[ $# -gt 0 ] || set -- $(cd litmus && ls *.litmus | sed 's/\.litmus$//')
for name in "$@"; do
    file=litmus/$name.litmus
    found=$(verdict $file)
    if [ "$found" != Never ]; then
        echo "$name: herd7 says ${found:-nothing}, not Never"
        failed=1
    fi
    weak=$(sed -n 's/^Weakened[0-9]*=//p' $file)
    if [ -z "$weak" ]; then
        echo "$name: has no weakened form"
        failed=1
    fi
    while read -r what how; do
        forms=$((forms + 1))
        if ! weakened $file "$how" >"$form"; then
            echo "$name, $what: no such instruction: $how"
            failed=1
            continue
        fi
        found=$(verdict "$form")
        case $found in
        Sometimes | Always) ;;
        *)
            echo "$name, $what: herd7 says ${found:-nothing}: the weakened form must be allowed"
            failed=1
            ;;
        esac
    done <<END
$weak
END
done
[ $failed = 0 ] && echo "litmus: $# tests are forbidden on Arm, and $forms weakened forms allowed"
exit $failed
