# A server with an I/O thread beside its main thread, which spin waiting for each other (so the
# machine needs a processor for each), loaded by its own tool; its contents afterwards must be the
# same.
title="redis-server, io-threads 2"
needs="redis-server redis-cli redis-benchmark"
packages="redis-server redis-tools"
run() {
    socket=$mine/socket
    # Redis 7 asks for the option; older ones don't know it. The digest of Redis 6 differs from run
    # to run on glibc, too.
    debug=--enable-debug-command\ yes
    contents='DEBUG DIGEST'
    case $(redis-server --version) in *' v='[1-6].*) debug='' contents=DBSIZE ;; esac
    # shellcheck disable=SC2086 # a list of words
    serve redis-server --port 0 --unixsocket "$socket" --io-threads 2 --io-threads-do-reads yes \
        --save '' --appendonly no --dir "$mine" $debug >"$mine/log" &
    server=$!
    until_done test -S "$socket"
    redis-benchmark -s "$socket" -q -c 64 -n "$(by_size 40000 200000)" -P 4 -t lpush,incr,sadd \
        >"$mine/load"
    for key in $(seq 500); do
        echo "SET key:$key value:$key"
    done | redis-cli -s "$socket" >"$mine/set"
    # shellcheck disable=SC2086 # a list of words
    redis-cli -s "$socket" $contents
    # Gives the server's lazy-free threads work.
    redis-cli -s "$socket" FLUSHALL ASYNC
    redis-cli -s "$socket" SHUTDOWN NOSAVE || true
    wait "$server"
}
