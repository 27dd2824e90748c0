#!/bin/sh
# Tries the recipes of docs/services.md, with the page's own lines: as far as this machine has the
# service managers. Each recipe that can't be tried says why.
set -eu
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-$PWD/target}
built=$(cd "${1:-$target/release}" && pwd -P)
preload=$built/libfurwock_preload.so
[ -e "$preload" ] || { echo "services: \`cargo build --release\` makes $preload" >&2; exit 1; }
sh scripts/packages.sh supervisor systemd gcc libc6-dev || :
folder=$(cd "$(mktemp -d)" && pwd -P)
started=
finish() {
    [ -z "$started" ] || kill "$started" 2>/dev/null || :
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 1' INT TERM

# recipe HEADING: the code below it, with this build's paths for those of the packages.
recipe() {
    sed -n "/^## $1\$/,/^## /{/^\`\`\`/,/^\`\`\`\$/{/^\`\`\`/d; p}}" docs/services.md |
        sed -e "s|/usr/lib/furwock/libfurwock_preload.so|$preload|" \
            -e "s|/usr/bin/furwock|$built/furwock|" |
        tee "$folder/recipe"
    [ -s "$folder/recipe" ] || { echo "services: no recipe \"$1\"" >&2; exit 1; }
}
tried() {
    echo "services: $1: passed"
}
skipped() {
    echo "services: $1: skipped: $2"
}

# A service: it locks a mutex that another thread holds, and says whose the mutex is. glibc writes
# 1 or 2 where furwock writes the owner's id.
cat >"$folder/service.c" <<'SERVICE'
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int main(void)
{
	pthread_mutex_lock(&lock);
	int is_furwocks = (lock.__data.__lock & 0x3fffff) == syscall(SYS_gettid);
	printf("%s\n", is_furwocks ? "furwock" : "glibc");
	fflush(stdout);
	return 0;
}
SERVICE
cc -O1 -pthread -o "$folder/service" "$folder/service.c"
is_on() {
    [ "$2" = "$1" ] || { echo "services: on $2, not on $1" >&2; exit 1; }
}
is_on glibc "$("$folder/service")"
is_on furwock "$(LD_PRELOAD=$preload "$folder/service")"

recipe systemd >/dev/null
mkdir -p "$folder/units/service.service.d"
cp "$folder/recipe" "$folder/units/service.service.d/furwock.conf"
printf '[Service]\nExecStart=%s\n' "$folder/service" >"$folder/units/service.service"
# shellcheck disable=SC2046 # variables
is_on furwock "$(env $(sed -n 's/^Environment=//p' "$folder/recipe") "$folder/service")"
if command -v systemd-analyze >/dev/null; then
    systemd-analyze verify "$folder/units/service.service" >"$folder/said" 2>&1 || {
        cat "$folder/said" >&2
        exit 1
    }
    # A line that systemd doesn't know is only said.
    if grep -F "$folder" "$folder/said" >&2; then
        exit 1
    fi
    sed -i 's/^Environment=/Environmemt=/' "$folder/units/service.service.d/furwock.conf"
    systemd-analyze verify "$folder/units/service.service" 2>&1 | grep -q Environmemt
    tried "systemd (verified; no manager here starts it)"
else
    skipped systemd "no systemd-analyze"
fi

recipe supervisord | sed "s|/usr/bin/redis-server.*|$folder/service|" >"$folder/program"
if command -v supervisord >/dev/null; then
    {
        printf '[supervisord]\nnodaemon=true\nuser=root\nlogfile=%s\npidfile=%s\n' \
            "$folder/log" "$folder/pid"
        cat "$folder/program"
        printf 'stdout_logfile=%s\nautorestart=false\nstartsecs=0\n' "$folder/out"
    } >"$folder/supervisord.conf"
    [ "$(id -u)" = 0 ] || sed -i /^user=/d "$folder/supervisord.conf"
    timeout 60 supervisord --configuration "$folder/supervisord.conf" >/dev/null 2>&1 &
    started=$!
    for try in 1 1 1 2 2 3 3 4; do
        [ ! -s "$folder/out" ] || break
        sleep $try
    done
    kill $started
    wait $started 2>/dev/null || :
    started=
    is_on furwock "$(cat "$folder/out")"
    tried supervisord
else
    skipped supervisord "not installed"
fi

recipe Docker >/dev/null
# shellcheck disable=SC2046 # variables
is_on furwock "$(env $(sed -n 's/^ENV //p' "$folder/recipe") "$folder/service")"
if timeout 20 docker info >/dev/null 2>&1; then
    skipped Docker "its image needs the package: build it by hand"
else
    skipped Docker "no daemon answers; ENV was tried in a process"
fi

recipe Kubernetes >/dev/null
variables=$(awk '/- name: [A-Z_]+$/ { name = $3 } /^ *value: / { print name "=" $2 }' \
    "$folder/recipe")
# shellcheck disable=SC2086 # variables
is_on furwock "$(env $variables "$folder/service")"
if python3 -c 'import yaml' 2>/dev/null; then
    python3 -c 'import sys, yaml; pod = yaml.safe_load(sys.stdin)
assert pod["spec"]["containers"][0]["env"][0]["name"] == "LD_PRELOAD"' <"$folder/recipe"
fi
tried "Kubernetes (its variables; no cluster)"

if command -v java >/dev/null && command -v javac >/dev/null; then
    cat >"$folder/Service.java" <<'JAVA'
import java.nio.file.*;

class Service {
    public static void main(String[] words) throws Exception {
        Thread[] threads = new Thread[4];
        int[] sum = new int[1];
        for (int at = 0; at < threads.length; at++) {
            threads[at] = new Thread(() -> {
                for (int turn = 0; turn < 20000; turn++)
                    synchronized (sum) { sum[0]++; }
            });
            threads[at].start();
        }
        for (Thread thread : threads) thread.join();
        String maps = new String(Files.readAllBytes(Paths.get("/proc/self/maps")));
        System.out.println(maps.contains("libfurwock_preload") && sum[0] == 80000
            ? "furwock" : "glibc");
    }
}
JAVA
    javac -d "$folder" "$folder/Service.java"
    line=$(recipe "A JVM" | sed "s|-jar service.jar|-cp $folder Service|")
    is_on furwock "$(timeout 100 sh -c "$line")"
    is_on furwock "$(LD_PRELOAD=$preload timeout 100 java -cp "$folder" Service)"
    tried "a JVM"
else
    skipped "a JVM" "no java and javac"
fi

if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
    ROOT=$folder/root
    export ROOT
    # The program, and the libraries that it and furwock's need.
    for file in $(ldd "$folder/service" "$preload" | grep -o '/[^ :]*' | sort -u) \
        "$folder/service"; do
        case $file in
        "$folder/service") to=$ROOT/bin/service ;;
        *libfurwock*) continue ;;
        *) to=$ROOT$file ;;
        esac
        install -D -m 755 "$file" "$to"
    done
    mkdir -p "$ROOT/proc"
    if "$built/furwock" run -- chroot "$ROOT" /bin/service >/dev/null 2>"$folder/said"; then
        echo "services: the command doesn't see that the root has no library" >&2
        exit 1
    fi
    recipe "A chroot" | sed -e "s|\$ROOT/usr/lib/furwock|\$ROOT$built|" \
        -e "s|^furwock|$built/furwock|" >"$folder/chroot.sh"
    is_on furwock "$(sh -eu "$folder/chroot.sh")"
    tried "a chroot"
else
    skipped "a chroot" "it needs root"
fi
