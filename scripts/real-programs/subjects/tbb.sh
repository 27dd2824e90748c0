# oneTBB's scheduler and queues: its threads sleep by futex(2) with libc's syscall.
title="oneTBB, 6 threads"
needs=c++
# No command tells whether the library is there.
echo '#include <tbb/version.h>' | c++ -E -x c++ - >/dev/null 2>&1 || needs="c++ tbb/version.h"
packages="g++ libtbb-dev"
prepare() {
    c++ -std=c++17 -O2 -pthread -o "$folder/tasks" scripts/real-programs/sources/tasks.cpp -ltbb
}
run() {
    on_side "$folder/tasks" "$(by_size 60 400)"
}
