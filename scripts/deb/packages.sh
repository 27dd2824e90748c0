#!/bin/sh
# Packs what is built into .deb files. Its environment: $BUILT, the folder of the build; $STAGE, a
# folder for what is packed; $OUT, where the packages go.
set -eu
cd "$(dirname "$0")/../.."

triplet=x86_64-linux-gnu
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
# Debian's own packages of this version would be newer.
revision=$version-0furwock1
maintainer="${DEBFULLNAME:-furwock maintainers} <${DEBEMAIL:-furwock@users.noreply.github.com}>"
# The same sources make the same packages.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null ||
    stat --format %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH
umask 022

all=$STAGE/all
make --silent install-only BUILT="$BUILT" DESTDIR="$all" PREFIX=/usr LIBDIR=/usr/lib/$triplet \
    ZSHDIR=/usr/share/zsh/vendor-completions
find "$all/usr/share/man" -name '*.[13]' -exec gzip -9n {} +

# part PACKAGE PATH...: moves what was installed there into a package.
part() {
    package=$1
    shift
    for path in "$@"; do
        mkdir -p "$STAGE/$package/usr/$(dirname "$path")"
        mv "$all"/usr/$path "$STAGE/$package/usr/$(dirname "$path")"
    done
}
part furwock bin/furwock lib/furwock share/furwock share/gdb share/bash-completion share/fish \
    share/zsh share/man/man1
part libfurwock0 "lib/$triplet/libfurwock.so.*"
part libfurwock-dev lib/$triplet/libfurwock.so lib/$triplet/libfurwock.a \
    lib/$triplet/pkgconfig lib/$triplet/cmake include share/man/man3
left=$(find "$all" ! -type d)
[ -z "$left" ] || { echo "deb: in no package: $left" >&2; exit 1; }

# The newest glibc that a package's files ask for.
libc() {
    find "$STAGE/$1" -type f \( -name '*.so' -o -name '*.so.*' -o -path '*/bin/*' \) \
        -exec objdump --dynamic-syms {} + | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' |
        sort --version-sort | tail -n 1
}

# package NAME SECTION MULTIARCH DEPENDS CRATES: its description from stdin.
package() {
    root=$STAGE/$1
    doc=$root/usr/share/doc/$1
    mkdir -p "$doc" "$root/DEBIAN"
    # shellcheck disable=SC2086 # a list of words
    python3 scripts/deb/copyright.py $5 >"$doc/copyright"
    gzip -9n <CHANGELOG.md >"$doc/changelog.gz"
    {
        printf 'furwock (%s) unstable; urgency=medium\n\n' "$revision"
        printf '  * Made by scripts/deb.sh of the sources.\n\n'
        printf ' -- %s  %s\n' "$maintainer" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
    } | gzip -9n >"$doc/changelog.Debian.gz"
    if [ "$2" = utils ]; then
        cp README.md SECURITY.md docs/c.md docs/environment.md docs/lock-order.md docs/preload.md \
            docs/recording.md docs/sandboxes.md docs/services.md docs/stats.md docs/tools.md \
            docs/who.md "$doc"
    fi
    [ "$2" != libdevel ] || install -D -m 644 -t "$doc/examples" capi/examples/*
    # (What is sorted first is what dpkg-gencontrol would write first.)
    cat >"$root/DEBIAN/control" <<CONTROL
Package: $1
Source: furwock
Version: $revision
Architecture: amd64
Maintainer: $maintainer
Installed-Size: $(du --apparent-size -k -s --exclude=DEBIAN "$root" | cut -f 1)
Depends: $4
Section: $2
Priority: optional
Multi-Arch: $3
Homepage: https://github.com/furwock/furwock
Description: $(cat)
CONTROL
    chmod -R u+rwX,go+rX,go-w "$root"
    (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
    chmod 644 "$root"/DEBIAN/*
    dpkg-deb --root-owner-group -Zxz --build "$root" "$OUT/$1_${revision}_amd64.deb" >/dev/null
}

overrides=$STAGE/furwock/usr/share/lintian/overrides
mkdir -p "$overrides"
cat >"$overrides/furwock" <<'OVERRIDES'
# Debuggers, perf and `furwock who` show the functions of the preload by these names.
furwock: unstripped-binary-or-object [usr/lib/furwock/libfurwock_preload*.so]
OVERRIDES

mkdir -p "$STAGE/libfurwock0/DEBIAN"
library=$(ls "$STAGE"/libfurwock0/usr/lib/$triplet/libfurwock.so.*.*)
echo "libfurwock 0 libfurwock0 (>= $version)" >"$STAGE/libfurwock0/DEBIAN/shlibs"
echo "activate-noawait ldconfig" >"$STAGE/libfurwock0/DEBIAN/triggers"
# From the list that the library is linked by; and the library has them, no more and no fewer.
sh scripts/deb/symbols.sh >"$STAGE/libfurwock0/DEBIAN/symbols"
objdump --dynamic-syms "$library" |
    awk '$2 == "g" && $(NF - 1) ~ /^FURWOCK_/ { print " " $NF "@" $(NF - 1) }' |
    sort >"$STAGE/exported"
sed -n 's/^ \([^ ]*\) .*/ \1/p' "$STAGE/libfurwock0/DEBIAN/symbols" | sort |
    diff - "$STAGE/exported" >&2

package furwock utils no "libc6 (>= $(libc furwock))" \
    "furwock-cli furwock-preload furwock-preload-recording" <<'DESCRIPTION'
run programs on furwock's locks in user space
 furwock serves pthread's mutexes, rwlocks, condition variables, semaphores,
 barriers, once and spin locks, and futexes, in user space, under programs
 that needn't be rebuilt.
 .
 The command runs a program on them, compares it with glibc's, counts what
 its locks cost, reports lock orders that could deadlock, and shows which
 threads of any running process wait for which.
DESCRIPTION
package libfurwock0 libs same "libc6 (>= $(libc libfurwock0))" furwock-capi <<'DESCRIPTION'
futexes and locks in user space
 Wait, wake and requeue on words of 8 to 64 bits, waits on any number of words
 at once, a mutex, a condition variable and a rwlock, with wait queues in user
 space.
 .
 This is the shared library.
DESCRIPTION
package libfurwock-dev libdevel same "libfurwock0 (= $revision), libc6-dev" furwock-capi \
    <<'DESCRIPTION'
futexes and locks in user space - development files
 Wait, wake and requeue on words of 8 to 64 bits, waits on any number of words
 at once, a mutex, a condition variable and a rwlock, with wait queues in user
 space.
 .
 This has the headers, the static library, files for pkg-config and CMake,
 manual pages and examples.
DESCRIPTION
