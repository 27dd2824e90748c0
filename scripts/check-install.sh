#!/bin/sh
# Installs into an empty folder, runs a program with the installed command, and builds programs on
# the installed libraries.
set -eu
cd "$(dirname "$0")/.."

sh scripts/packages.sh make gcc libc6-dev pkg-config man-db
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Package builds install like this: into one folder, for another.
make --silent install PREFIX=/usr DESTDIR="$folder/package"
grep -q '^prefix=/usr$' "$folder/package/usr/lib/pkgconfig/furwock.pc"

prefix=$folder/prefix
make --silent install PREFIX="$prefix"
library=$prefix/lib/furwock/libfurwock_preload.so
seen=$("$prefix/bin/furwock" run -- sh -c 'cat /proc/self/maps' | grep -c "$library")
[ "$seen" -gt 0 ]
[ -f "$prefix/lib/furwock/libfurwock_preload_recording.so" ]

export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
example=capi/examples/queue.c
# shellcheck disable=SC2046 # lists of words
{
    cc -O2 -pthread -o "$folder/shared" $example $(pkg-config --cflags --libs furwock)
    cc -O2 -pthread -o "$folder/static" $example $(pkg-config --cflags furwock) \
        "$prefix/lib/libfurwock.a" \
        $(pkg-config --static --libs-only-l furwock | sed 's/-lfurwock//')
    cc -O2 -pthread -static -o "$folder/all-static" $example \
        $(pkg-config --static --cflags --libs furwock)
}
LD_LIBRARY_PATH=$prefix/lib timeout 60 "$folder/shared"
timeout 60 "$folder/static"
timeout 60 "$folder/all-static"
LD_LIBRARY_PATH=$prefix/lib ldd "$folder/shared" | grep -q "$prefix/lib/libfurwock.so.0"
readelf --version-info "$folder/shared" | grep -q FURWOCK_0.2
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046
    c++ -std=c++11 -O2 -pthread -o "$folder/guards" capi/examples/guards.cpp \
        $(pkg-config --cflags --libs furwock)
    LD_LIBRARY_PATH=$prefix/lib timeout 60 "$folder/guards"
fi

# CMake's projects find both libraries, also once the whole has been moved.
if command -v cmake >/dev/null && command -v c++ >/dev/null; then
    mkdir "$folder/project"
    cat >"$folder/project/CMakeLists.txt" <<'PROJECT'
cmake_minimum_required(VERSION 3.10)
project(uses_furwock C CXX)
find_package(furwock 0.2 REQUIRED)
set(CMAKE_CXX_STANDARD 11)
foreach(library furwock furwock_static)
    add_executable(c_${library} ${EXAMPLES}/queue.c)
    add_executable(cpp_${library} ${EXAMPLES}/guards.cpp)
    foreach(language c cpp)
        target_compile_options(${language}_${library} PRIVATE -pthread)
        target_link_libraries(${language}_${library} PRIVATE furwock::${library} -pthread)
    endforeach()
endforeach()
PROJECT
    # builds FOLDER PREFIX
    builds() {
        cmake -S "$folder/project" -B "$1" -DCMAKE_PREFIX_PATH="$2" -DCMAKE_BUILD_TYPE=Release \
            -DEXAMPLES="$PWD/capi/examples" >"$1.says" 2>&1 &&
            cmake --build "$1" >>"$1.says" 2>&1 || { cat "$1.says" >&2; exit 1; }
        for program in c_furwock c_furwock_static cpp_furwock cpp_furwock_static; do
            timeout 60 "$1/$program" >/dev/null
        done
        ldd "$1/cpp_furwock" | grep -q "${2%%/lib/*}/.*libfurwock.so.0"
        if ldd "$1/cpp_furwock_static" | grep -q libfurwock; then exit 1; fi
    }
    cp -r "$prefix" "$folder/moved"
    mv "$prefix" "$prefix.away"
    builds "$folder/build-moved" "$folder/moved"
    mv "$prefix.away" "$prefix"
    builds "$folder/build" "$prefix"
    # As packages are installed: the libraries are one folder deeper.
    make --silent install-only PREFIX=/usr LIBDIR=/usr/lib/a-triplet DESTDIR="$folder/deeper"
    builds "$folder/build-deeper" "$folder/deeper/usr/lib/a-triplet/cmake/furwock"
    sed -i 's/furwock 0.2 REQUIRED/furwock 99 REQUIRED/' "$folder/project/CMakeLists.txt"
    if cmake -S "$folder/project" -B "$folder/too-new" -DCMAKE_PREFIX_PATH="$prefix" \
        >"$folder/says" 2>&1; then
        echo "install: CMake takes furwock for version 99" >&2
        exit 1
    fi
    grep -q 'compatible with requested version' "$folder/says"
else
    echo "install: skipped: what CMake finds: no cmake, or no C++ compiler"
fi

if [ "$(gdb -q -nx -batch -ex 'python print(1)' 2>&1)" = 1 ]; then
    # gdb loads the script with the library, if it looks where the script is.
    loads=$prefix/share/gdb/auto-load
    timeout 60 gdb -q -nx -batch -iex "add-auto-load-scripts-directory $loads" \
        -iex "add-auto-load-safe-path $loads" -iex 'set startup-with-shell off' \
        -ex "set env LD_PRELOAD $library" -ex 'break main' -ex run -ex furwock-locks \
        "$folder/static" >"$folder/gdb" 2>&1
    if ! grep -q 'ptrace: Operation not permitted' "$folder/gdb"; then
        grep -q "No thread waits for a lock of furwock's" "$folder/gdb"
    fi
fi

if command -v man >/dev/null; then
    # By its own name, and by a sibling's page.
    for page in furwock furwock_futex furwock_wait64 furwock_condvar_signal furwock_version; do
        MANPATH=$prefix/share/man man --pager=cat 3 $page | grep -q furwock.h
    done
fi

make --silent uninstall PREFIX="$prefix"
[ -z "$(find "$prefix" ! -type d)" ]
echo "install: the installed command and libraries work, and leave nothing behind"
