#!/bin/sh
# In a suite's root: installs the packages, runs programs with what they brought, removes them, and
# looks for what is left.
set -eux
cd /tmp/given

# dpkg and ldconfig keep records of their own.
files() {
    find / -xdev ! -path '/tmp/*' ! -path '/var/lib/dpkg/*' ! -path '/var/log/*' \
        ! -path '/var/cache/*' ! -path /etc/ld.so.cache ! -path /proc ! -path /dev \
        ! -path '/var/lib/redis*' ! -path '/run*' | sort
}
files >/tmp/before

dpkg --install ./*.deb
[ -z "$(readelf --dynamic /usr/bin/furwock /usr/lib/furwock/*.so | grep libgcc_s)" ]
[ "$(readelf --sections --wide /usr/bin/furwock | grep -c '\.debug_')" = 0 ]
furwock --version
furwock run -- cat /proc/self/maps | grep /usr/lib/furwock/libfurwock_preload.so
furwock doctor
for page in man1/furwock.1 man1/furwock-run.1 man1/furwock-bench-mutex.1 man3/furwock_futex.3 \
    man3/furwock_wait64.3; do
    [ -n "$(zcat /usr/share/man/$page.gz)" ]
done
bash -c '. /usr/share/bash-completion/completions/furwock
    COMP_WORDS=(furwock st) COMP_CWORD=1
    _furwock furwock st furwock
    [[ ${COMPREPLY[*]} = stats ]]'

gcc -O1 -g -pthread -o /tmp/contended contended.c
timeout 60 furwock run --stats -- /tmp/contended >/dev/null 2>/tmp/table
cat /tmp/table
grep -q cache /tmp/table

# The README's example of a program that exists, and its server answers.
first=$(sed -n 's|^furwock run -- \(redis-server[^#]*\) *#.*|\1|p' README.md |
    head -n 1)
[ -n "$first" ]
# shellcheck disable=SC2086 # words
furwock run -- $first --save '' --bind 127.0.0.1 --port 0 --unixsocket /tmp/redis --dir /tmp &
server=$!
for try in 1 2 3 4 5 6 7 8 9 10; do
    [ "$(redis-cli -s /tmp/redis ping 2>&1)" != PONG ] || break
    sleep "$try"
done
[ "$(redis-cli -s /tmp/redis set a b)" = OK ]
[ "$(redis-cli -s /tmp/redis get a)" = b ]
grep -q libfurwock_preload /proc/$server/maps
redis-cli -s /tmp/redis shutdown nosave
wait $server

# The README's example in C, and one of the installed ones.
sed -n '/^```c$/,/^```$/{/^```/d; p}' README.md >/tmp/three.c
for example in /tmp/three.c /usr/share/doc/libfurwock-dev/examples/queue.c; do
    # shellcheck disable=SC2046 # lists of words
    {
        gcc -O2 -pthread -o /tmp/shared "$example" $(pkg-config --cflags --libs furwock)
        gcc -O2 -pthread -static -o /tmp/static "$example" \
            $(pkg-config --static --cflags --libs furwock)
    }
    ldd /tmp/shared | grep /libfurwock.so.0
    timeout 60 /tmp/shared
    timeout 60 /tmp/static
done

dpkg --purge libfurwock-dev libfurwock0 furwock
files >/tmp/after
diff /tmp/before /tmp/after

# The tarball, unpacked anywhere.
cd /tmp/anywhere/*
bin/furwock run -- cat /proc/self/maps | grep "$PWD/lib/furwock/libfurwock_preload.so"
# shellcheck disable=SC2046
PKG_CONFIG_PATH=$PWD/lib/pkgconfig gcc -pthread -o /tmp/shared /tmp/given/queue.c \
    $(PKG_CONFIG_PATH=$PWD/lib/pkgconfig pkg-config --cflags --libs furwock)
LD_LIBRARY_PATH=$PWD/lib timeout 60 /tmp/shared
