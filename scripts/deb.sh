#!/bin/sh
# Makes Debian's packages of furwock, and a tarball with the same files, linked with the C library
# of the oldest Debian that it serves (docs/platforms.md). Checks them with lintian, installs them
# in a fresh root folder of each suite, runs programs on what was installed, removes it, and looks
# for what is left.
#
# usage: deb.sh [--check] [--fetch] [SUITE...]
#        --check   of a quick build, which isn't meant to be installed; on one suite only
#        --fetch   makes the suites' root folders, and nothing else
#
# Leaves furwock_*.deb, libfurwock0_*.deb and libfurwock-dev_*.deb in target/debian, the tarball in
# target; with --check all in target/debian/check. DEBFULLNAME and DEBEMAIL name the maintainer.
# It needs root, to enter root folders. If that can't be done here it says why, and checks nothing.
set -eu
cd "$(dirname "$0")/.."

OLDEST=bullseye
SUITES="bullseye bookworm trixie forky"
MIRROR=${FURWOCK_MIRROR:-http://deb.debian.org/debian}
COMPILERS=gcc,g++,libc6-dev
# What the packages are tried with.
WITH=gcc,libc6-dev,pkg-config,redis-server

form=whole
is_fetch=
while :; do
    case ${1:-} in
    --check) form=check ;;
    --fetch) is_fetch=yes ;;
    -*) sed -n 's/^# usage: //p' "$0" >&2; exit 2 ;;
    *) break ;;
    esac
    shift
done
[ $form = whole ] || [ $# -gt 0 ] || set -- bookworm
# shellcheck disable=SC2086 # a list of words
[ $# -gt 0 ] || set -- $SUITES

skip() {
    echo "deb: skipped: $*" >&2
    exit 0
}

work=$PWD/target/debian
roots=$work/roots
mkdir -p "$roots"
[ "$(uname -m)" = x86_64 ] || skip "the packages are made on x86-64"
[ "$(id -u)" = 0 ] || skip "entering the suites' root folders needs root"
command -v dpkg-deb >/dev/null || skip "dpkg-deb is missing"
sh scripts/packages.sh mmdebstrap lintian xz-utils python3 binutils gcc libc6-dev make || :
command -v mmdebstrap >/dev/null || skip "mmdebstrap is missing"
# shellcheck disable=SC2016 # the inner shell's
unshare --mount sh -euc '
    mount -t tmpfs tmpfs "$0"
    mkdir "$0/1" "$0/2" "$0/3" "$0/4"
    mount -t overlay -o "lowerdir=$0/1,upperdir=$0/2,workdir=$0/3" overlay "$0/4"
' "$work/roots" 2>/dev/null || skip "this system allows no overlay mounts"

# make_root FOLDER SUITE PACKAGES
make_root() {
    [ ! -e "$1/made" ] || return 0
    rm -rf "$1"
    # A suite that is still being made may have a list that has expired.
    mmdebstrap --quiet --variant=minbase --include="$3" \
        --aptopt='APT::Install-Recommends "false"' \
        --aptopt='Acquire::Check-Valid-Until "false"' \
        "$2" "$1" "$MIRROR" >"$1.log" 2>&1 || { tail -n 5 "$1.log" >&2; return 1; }
    touch "$1/made"
}

# The oldest suite's compiler: platforms.sh may have it.
FURWOCK_OLDEST=$roots/$OLDEST.compiler
for each in target/platforms/roots/$OLDEST target/platforms/roots/$OLDEST.short; do
    [ ! -e "$each/made" ] || FURWOCK_OLDEST=$PWD/$each
done
export FURWOCK_OLDEST
made=yes
for each in "$FURWOCK_OLDEST" $(printf "$roots/%s " "$@"); do
    [ -e "$each/made" ] || made=
done
[ $made ] || /usr/lib/apt/apt-helper download-file "$MIRROR/dists/$OLDEST/Release" \
    "$work/Release" >/dev/null 2>&1 || skip "$MIRROR can't be reached"
make_root "$FURWOCK_OLDEST" $OLDEST $COMPILERS
for suite in "$@"; do
    make_root "$roots/$suite" "$suite" $WITH
done
[ -z $is_fetch ] || exit 0

# The check takes platforms.sh's build, if that has one.
out=$work
build=$work/build
quick=
if [ $form = check ]; then
    out=$work/check
    build=$PWD/target/platforms/build
    quick="--config scripts/platforms/quick.toml"
fi
CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=$PWD/scripts/platforms/oldest-cc.sh
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER
# shellcheck disable=SC2086 # a list of words
cargo build --release --quiet --locked --target-dir "$build" $quick \
    -p furwock-cli -p furwock-preload -p furwock-preload-recording -p furwock-capi
# Below this folder, which the oldest suite's root sees.
TMPDIR=$work CC=scripts/platforms/oldest-cc.sh \
    sh scripts/c-libraries.sh "$build/release" "$build/release/c"

rm -rf "$out/stage"
rm -f "$out"/*.deb
mkdir -p "$out"
OUT=$out STAGE=$out/stage BUILT=$build/release sh scripts/deb/packages.sh

# The tarball can be unpacked anywhere; unpacked in /usr/local, gdb finds its script too.
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
name=furwock-$version-x86_64-linux-gnu
tarball=$PWD/target/$name.tar.xz
[ $form = whole ] || tarball=$out/$name.tar.xz
make --silent install-only BUILT="$build/release" PREFIX=/usr/local DESTDIR="$out/stage/tar"
top=$out/stage/$name
mv "$out/stage/tar/usr/local" "$top"
# shellcheck disable=SC2016 # pkg-config's
sed -i 's|^prefix=.*|prefix=${pcfiledir}/../..|' "$top/lib/pkgconfig/furwock.pc"
cp -r README.md CHANGELOG.md SECURITY.md LICENSE-APACHE LICENSE-MIT "$top"
mkdir -p "$top/share/doc/furwock"
cp "$out/stage/furwock/usr/share/doc/furwock/copyright" "$top/share/doc/furwock"
tar --create --xz --file "$tarball" --directory "$out/stage" --sort=name --owner=0 --group=0 \
    --numeric-owner --mtime="@$(git log -1 --format=%ct 2>/dev/null || date +%s)" "$name"

if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$out"/*.deb
    echo "deb: lintian has nothing to say"
else
    echo "deb: skipped: lintian is missing"
fi

for suite in "$@"; do
    sh scripts/deb/within.sh "$roots/$suite" "$out" "$tarball" >"$work/$suite.log" 2>&1 || {
        echo "deb: $suite:" >&2
        tail -n 30 "$work/$suite.log" >&2
        exit 1
    }
    echo "deb: $suite: installed, run and removed"
done
rm -rf "$out/stage"
ls -l "$out"/*.deb "$tarball" | awk '{ printf "%8d KB  %s\n", $5 / 1024, $NF }'
