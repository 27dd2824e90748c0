#!/bin/sh
# One step of platforms.sh, in a suite's root: step.sh STEP. Its environment: $built, the folder of
# the build; $programs, a folder for C programs; $with_posix and $with_pthread, the conformance
# programs' runners; $of_posix and $of_pthread, their tests; $seconds, for the search for lost
# wakeups; $subjects, real programs.
set -eu
furwock=$built/furwock

compile() {
    name=$1
    shift
    cc -g -O1 -pthread -o "$programs/$name" "$@"
}

# Called by the oldest suite in the short form, and by each suite in the whole one.
compile_all() {
    mkdir -p "$programs"
    compile lost_wakeup -O2 conformance/lost_wakeup/lost_wakeup.c
    compile hangs cli/tests/who/hangs.c
    compile contended cli/tests/stats/contended.c
    compile shared -Iinclude capi/examples/queue.c "$built/libfurwock.so"
    ln -sf "$built/libfurwock.so" "$programs/libfurwock.so.0"
    compile static -Iinclude capi/examples/queue.c "$built/libfurwock.a" -ldl
}

# The library is in the program, and its locks are furwock's.
run() {
    "$furwock" run -- cat /proc/self/maps | grep -q libfurwock_preload
    said=$("$furwock" run -- "$furwock" doctor --probe)
    echo "$said"
    [ "${said##*\"is_furwocks\":true}" != "$said" ]
    # A thread that waits for long names the lock, and the thread that has it.
    FURWOCK_WARN_AFTER=500ms timeout 2 "$furwock" run -- "$programs/hangs" two 2>/tmp/warning || :
    cat /tmp/warning
    grep -q ' s for mutex 0x[0-9a-f]* (hangs+0x.*, held by thread' /tmp/warning
}

# It names this glibc and finds no fault, and no layout is unknown to the library.
doctor() {
    "$furwock" doctor
    "$furwock" doctor | grep -qF " glibc        $(version), loader "
    ! "$furwock" doctor | grep -q '^note *library'
}

version() {
    getconf GNU_LIBC_VERSION | cut -d ' ' -f 2
}

who() {
    for side in glibc furwock; do
        case $side in
        glibc) "$programs/hangs" two >/dev/null & ;;
        furwock) "$furwock" run -- "$programs/hangs" two >/dev/null & ;;
        esac
        pid=$!
        status=0
        for try in 1 2 3 4 5; do
            sleep 1
            status=0
            timeout 60 "$furwock" who "$pid" >/tmp/look 2>&1 || status=$?
            [ "$status" != 3 ] || break
        done
        kill -KILL "$pid"
        wait "$pid" 2>/dev/null || :
        echo "$side: status $status"
        cat /tmp/look
        [ "$status" = 3 ]
        grep -q in_a_ring /tmp/look
    done
}

# Again, if another holder has lost its processor for longer than `evict` sleeps.
stats() {
    for try in 1 2 3; do
        timeout 60 "$furwock" run --stats -- "$programs/contended" >/dev/null 2>/tmp/table
        cat /tmp/table
        grep -q 'cache' /tmp/table
        ! grep -q 'evict' /tmp/table || return 0
    done
    return 1
}

conformance() {
    export FURWOCK_PRELOAD="$built/libfurwock_preload.so" CONFORMANCE_OTHER_GLIBC=1
    cd conformance
    # shellcheck disable=SC2086 # lists of words
    "$with_posix" --nocapture $of_posix
    # shellcheck disable=SC2086
    "$with_pthread" --nocapture $of_pthread
}

# On furwock. On glibc it is a matter of luck: see `glibc`.
wakeups() {
    timeout 60 "$furwock" run -- "$programs/lost_wakeup" --seconds "$seconds"
}

# Whether glibc loses one.
glibc() {
    timeout 120 "$programs/lost_wakeup" --seconds 60 || [ $? = 3 ]
}

library() {
    LD_LIBRARY_PATH=$programs timeout 60 "$programs/shared"
    timeout 60 "$programs/static"
}

# shellcheck disable=SC2086 # a list of words
real() {
    # C++20's barriers came with gcc 11.
    echo '#include <barrier>' | c++ -std=c++20 -fsyntax-only -x c++ - 2>/dev/null ||
        subjects=$(echo "$subjects" | sed 's/cxx//')
    CARGO_TARGET_DIR=${built%/release} sh scripts/real-programs.sh $subjects
}

"$1"
