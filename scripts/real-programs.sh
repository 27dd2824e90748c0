#!/bin/sh
# Runs multi-threaded programs that nobody built for furwock, on glibc and under `furwock run`, and
# compares what they put out. Ends with the number that passed; any difference is a failure.
#
# usage: real-programs.sh [SECONDS]     how long stress-ng runs on each side (default 5)
set -eu
cd "$(dirname "$0")/.."

seconds=${1:-5}
furwock=$PWD/target/release/furwock
std_sync=$PWD/target/release/furwock-std-sync
{ [ -x "$furwock" ] && [ -x "$std_sync" ]; } || cargo build --release

sh scripts/packages.sh pigz xz-utils pbzip2 zstd redis-server redis-tools stress-ng python3

folder=$(mktemp -d)
server=
clean_up() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

passed=0
failed=0

# A hang is a result too.
bounded() {
    timeout --kill-after=5 300 "$@"
}

report() {
    if [ "$2" = equal ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
    printf '%-28s %s\n' "$1" "$2"
}

# What may differ in the output of the two sides, as a script for sed.
blur=

# both NAME COMMAND...: runs the command on each side; its standard output must be the same.
both() {
    name=$1
    shift
    if bounded "$@" >"$folder/glibc" 2>"$folder/glibc.err" &&
        bounded "$furwock" run -- "$@" >"$folder/furwock" 2>"$folder/furwock.err" &&
        { [ -z "$blur" ] || sed -E -i "$blur" "$folder/glibc" "$folder/furwock"; } &&
        cmp -s "$folder/glibc" "$folder/furwock"; then
        report "$name" equal
    else
        report "$name" "DIFFERENT or failed"
        tail -n 5 "$folder/glibc.err" "$folder/furwock.err" >&2 || true
    fi
}

# Something to compress: 48 MiB that repeat themselves, but not too much.
python3 - "$folder/input" <<'PYTHON'
import random, sys
random.seed(2003)
words = [random.randbytes(random.randint(2, 12)) for _ in range(4000)]
with open(sys.argv[1], "wb") as out:
    for _ in range(48):
        out.write(b"".join(random.choices(words, k=160_000))[:1 << 20])
PYTHON

both "pigz -p 8" pigz -p 8 --stdout --no-name "$folder/input"
both "xz -T 4" xz -T 4 -1 --block-size=2MiB --stdout "$folder/input"
both "pbzip2 -p 8" pbzip2 -p8 -1 --stdout "$folder/input"
both "zstd -T4" zstd -T4 -9 --quiet --stdout "$folder/input"

# Forty threads, a bounded queue, a barrier and an event, in a program full of condvars.
cat >"$folder/threads.py" <<'PYTHON'
import queue, threading

WORKERS, ITEMS = 40, 4000
todo, done = queue.Queue(maxsize=16), queue.Queue()
start = threading.Barrier(WORKERS + 1)

def work():
    start.wait()
    while (item := todo.get()) is not None:
        done.put(item * item)

threads = [threading.Thread(target=work) for _ in range(WORKERS)]
for thread in threads:
    thread.start()
start.wait()
for item in range(ITEMS):
    todo.put(item)
for _ in threads:
    todo.put(None)
for thread in threads:
    thread.join()
print(sum(done.get() for _ in range(ITEMS)), done.qsize())
PYTHON
both "python3, 40 threads" python3 "$folder/threads.py"

# Rust's standard library, which calls futex(2) by number.
both "Rust's std, 8 threads" "$std_sync"

# So do perf's benchmarks, which count whom they wake: times, rates and addresses differ.
if perf bench futex wake --threads 1 >/dev/null 2>&1; then
    blur='s/0x[0-9a-f]+|PID [0-9]+|[0-9]+ op[a-z]*\/sec|[0-9]+\.[0-9]+|nan/-/g'
    both "perf bench futex hash" perf bench futex hash --runtime 1 --threads 4
    both "perf bench futex wake" perf bench futex wake --threads 64
    both "perf bench futex wake, 7" perf bench futex wake --threads 64 --nwakes 7
    both "perf bench futex wake-parallel" perf bench futex wake-parallel --threads 64 --nwakers 8
    both "perf bench futex requeue" perf bench futex requeue --threads 64
    both "perf bench futex requeue, all" perf bench futex requeue --threads 64 --broadcast
    both "perf bench futex lock-pi" perf bench futex lock-pi --runtime 1 --threads 4
    blur=
else
    echo "perf bench futex: skipped: no perf here"
fi

# A server with I/O threads, loaded by its own tool; what it holds afterwards must be the same.
redis_side() {
    socket=$folder/$1.socket
    shift
    "$@" redis-server --port 0 --unixsocket "$socket" --io-threads 4 --io-threads-do-reads yes \
        --save '' --appendonly no --dir "$folder" --enable-debug-command yes >"$folder/redis.log" &
    server=$!
    for _ in $(seq 100); do
        [ "$(redis-cli -s "$socket" ping 2>/dev/null)" != PONG ] || break
        sleep 0.1
    done
    bounded redis-benchmark -s "$socket" -q -c 64 -n 40000 -P 4 -t lpush,incr,sadd >/dev/null
    for key in $(seq 500); do
        echo "SET key:$key value:$key"
    done | bounded redis-cli -s "$socket" >/dev/null
    redis-cli -s "$socket" DEBUG DIGEST
    # The lazy-free threads of the server have work to do.
    redis-cli -s "$socket" FLUSHALL ASYNC
    redis-cli -s "$socket" SHUTDOWN NOSAVE || true
    wait "$server" && echo "stopped well"
    server=
}
redis_side glibc env >"$folder/redis.glibc" 2>&1
redis_side furwock "$furwock" run -- >"$folder/redis.furwock" 2>&1
if grep -q "stopped well" "$folder/redis.glibc" && cmp -s "$folder/redis.glibc" "$folder/redis.furwock"; then
    report "redis-server, io-threads 4" equal
else
    report "redis-server, io-threads 4" "DIFFERENT or failed"
    cat "$folder/redis.glibc" "$folder/redis.furwock" >&2
fi

# stress-ng checks itself; on both sides it must end with status 0.
stress() {
    bounded "$@" stress-ng --pthread 2 --mutex 2 --futex 2 --sem 2 --fifo 2 --verify \
        --timeout "$seconds" --quiet --temp-path "$folder"
}
if stress env && stress "$furwock" run --; then
    report "stress-ng --verify, $seconds s" equal
else
    report "stress-ng --verify, $seconds s" "DIFFERENT or failed"
fi

printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
