# Functions that the subjects share. A subject is a file of subjects/ that defines
#
#   title      a description in a few words
#   needs      the commands without which it is skipped
#   packages   the Debian packages with these commands
#   prepare    a function, called once, for what both sides need; optional
#   run        a function, called once a side and round; its output must be equal on both sides
#   blur       a sed script that hides what may differ in the output
#   timed      "no" if it runs for a fixed time, so that its time says nothing
#
# The functions get $folder for files that both sides share, $mine for those of one side, $side,
# $size (short or long), and $furwock. Servers listen only on a socket in $mine.
set -eu

title= needs= packages= blur= timed=yes
prepare() { :; }

# The program on this side of the comparison.
on_side() {
    case $side in
        glibc) "$@" ;;
        furwock) "$furwock" run -- "$@" ;;
    esac
}

# The same for a server: `serve COMMAND... &`, so that $! is the server and no shell.
serve() {
    case $side in
        glibc) exec "$@" ;;
        furwock) exec "$furwock" run -- "$@" ;;
    esac
}

# by_size SHORT LONG
by_size() {
    if [ "$size" = long ]; then
        echo "$2"
    else
        echo "$1"
    fi
}

# Repeats the command until it succeeds, for at most 30 seconds.
until_done() {
    for _ in $(seq 1500); do
        ! "$@" >"$mine/until_done" 2>&1 || return 0
        sleep 0.02
    done
    echo "not within 30 s: $*" >&2
    cat "$mine/until_done" >&2
    return 1
}

# Something to compress, in $folder/input: it repeats itself, but not too much.
compressible() {
    [ ! -e "$folder/input" ] || return 0
    python3 - "$folder/input" "$(by_size 24 128)" <<'PYTHON'
import random, sys
random.seed(2003)
words = [random.randbytes(random.randint(2, 12)) for _ in range(4000)]
with open(sys.argv[1], "wb") as out:
    for _ in range(int(sys.argv[2])):
        out.write(b"".join(random.choices(words, k=160_000))[:1 << 20])
PYTHON
}
