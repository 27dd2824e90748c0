#!/bin/sh
# Looks with `furwock who` at a JVM, Go with cgo, CPython, MariaDB, PostgreSQL and redis, each with
# a planted lock or healthy and busy. What isn't installed is skipped, and said to be.
#
# usage: who.sh [LOOKS]     how often each healthy program is looked at (50)
set -eu
cd "$(dirname "$0")/.."
looks=${1:-50}
target=${CARGO_TARGET_DIR:-$PWD/target}
furwock=$target/release/furwock
[ -x "$furwock" ] || cargo build --release
folder=$(mktemp -d)
sources=$PWD/scripts/who
started=
failed=0

finish() {
    for pid in $started; do
        kill -KILL "$pid" 2>/dev/null || :
    done
    wait 2>/dev/null || :
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 1' INT TERM

has() {
    for command in "$@"; do
        command -v "$command" >/dev/null || { echo "skipped: there is no $command"; return 1; }
    done
}

begin() {
    "$@" >"$folder/out" 2>&1 &
    pid=$!
    started="$started $pid"
}

end() {
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null || :
}

# planted NAME STATUS TEXT: looks until the words and the status are there.
planted() {
    for try in 1 2 3 4 5 6 7 8 9 10; do
        sleep 1
        status=0
        timeout 60 "$furwock" who "$pid" >"$folder/look" 2>&1 || status=$?
        if [ "$status" = "$2" ] && tr -s ' \n' '  ' <"$folder/look" | grep -qF "$3"; then
            echo "ok: $1: status $2, \"$3\" (look $try)"
            return
        fi
    done
    echo "FAILED: $1: status $status"
    cat "$folder/look"
    failed=1
}

# healthy NAME: not one look may call it a deadlock.
healthy() {
    sleep 2
    look=0
    wrong=0
    while [ "$look" -lt "$looks" ]; do
        look=$((look + 1))
        timeout 60 "$furwock" who "$pid" >"$folder/look" 2>&1 || {
            wrong=$((wrong + 1))
            cat "$folder/look"
        }
    done
    echo "healthy: $1: $looks looks, $wrong wrong"
    [ "$wrong" = 0 ] || failed=1
}

if has javac java; then
    javac -d "$folder" "$sources"/*.java
    begin java -cp "$folder" Deadlock
    planted "JVM, Java's locks" 0 "jstack PID"
    end
    begin java -Xmx64m -cp "$folder" Busy
    healthy "JVM"
    end
fi
if has go gcc && CGO_ENABLED=1 go build -o "$folder/locks" "$sources/locks.go"; then
    begin "$folder/locks" planted
    planted "cgo, two mutexes" 0 "2 threads seem to wait for each other"
    end
    for name in moving busy; do
        begin "$folder/locks" $name
        healthy "Go, $name"
        end
    done
fi
if has python3; then
    begin python3 "$sources/gil.py" planted
    planted "CPython, a mutex and the GIL" 3 "waits for Python's GIL"
    end
    begin python3 "$sources/gil.py" locks
    planted "CPython, threading.Lock" 3 "a lock of Python's"
    end
    begin python3 "$sources/gil.py" busy
    healthy "CPython"
    end
fi
if has mariadbd mariadb mariadb-install-db; then
    mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$folder/maria" \
        --auth-root-authentication-method=normal >/dev/null 2>&1
    begin mariadbd --no-defaults --user="$(id -un)" --datadir="$folder/maria" \
        --socket="$folder/socket" --skip-networking --pid-file="$folder/pid"
    ask() {
        mariadb --no-defaults --socket="$folder/socket" --user=root --execute="$1"
    }
    for try in 1 2 3 4 5 6 7 8 9 10; do
        sleep 1
        ask "select 1" >/dev/null 2>&1 && break
    done
    ask "create database d; create table d.t (i int primary key) engine=innodb;
         insert into d.t values (1)"
    ask "use d; lock tables t write; select sleep(20)" >/dev/null 2>&1 &
    sleep 1
    ask "select * from d.t" >/dev/null 2>&1 &
    planted "MariaDB, lock tables" 0 "a metadata lock of MariaDB's"
    end
fi
postgres=$(find /usr/lib/postgresql -name initdb 2>/dev/null | head -n 1)
if [ -n "$postgres" ] && has psql setpriv && [ "$(id -u)" = 0 ]; then
    bin=$(dirname "$postgres")
    as="setpriv --reuid=postgres --regid=postgres --init-groups"
    mkdir "$folder/data"
    chmod 755 "$folder"
    chown postgres "$folder/data"
    $as "$bin/initdb" -D "$folder/data" -A trust >/dev/null 2>&1
    begin $as "$bin/postgres" -D "$folder/data" -k "$folder/data" -c listen_addresses=
    ask() {
        psql -h "$folder/data" -U postgres -Atqc "$1"
    }
    for try in 1 2 3 4 5 6 7 8 9 10; do
        sleep 1
        ask "select 1" >/dev/null 2>&1 && break
    done
    ask "select pg_advisory_lock(7), pg_sleep(20)" >/dev/null 2>&1 &
    sleep 1
    ask "select pg_advisory_lock(7)" >/dev/null 2>&1 &
    sleep 1
    server=$pid
    pid=$(ask "select pid from pg_stat_activity where wait_event_type = 'Lock'")
    planted "PostgreSQL, an advisory lock" 0 "pg_blocking_pids(PID)"
    pid=$server
    kill -QUIT "$pid"
    wait "$pid" 2>/dev/null || :
else
    echo "skipped: no PostgreSQL, or not root"
fi
if has redis-server redis-cli; then
    begin redis-server --port 0 --unixsocket "$folder/redis" --save ''
    healthy "redis, idle"
    end
fi
exit "$failed"
