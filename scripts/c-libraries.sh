#!/bin/sh
# Makes the C libraries that are installed of those that cargo has built.
#
# usage: c-libraries.sh FROM TO
#        FROM has cargo's libfurwock.a, as target/release; TO gets
#          libfurwock.so.0  whose symbols have versions (capi/libfurwock.map), with the link to it
#          libfurwock.a     one object, in which only furwock's names are global: two libraries of
#                           Rust's in one program would both have the standard library's
#        Neither needs libgcc_s (capi/src/unwinder.rs).
#
# CC, LD, OBJCOPY and AR name the tools of another target. Cargo's own libraries work, too, but
# rustc gives all symbols of a shared library one nameless version, which no other can join.
set -eu
cd "$(dirname "$0")/.."

from=$1
to=$2
archive=$from/libfurwock.a
map=capi/libfurwock.map
mkdir -p "$to"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The names, as arguments: what isn't asked for isn't taken out of the archive.
sed -n 's/^\t\(furwock_[a-z0-9_]*\);$/\1/p' $map >"$scratch/names"
undefined=$(sed 's/^/-u /' "$scratch/names")
no_unwinder=$(sed -n '/^--defsym=/p' capi/link-args)
undefined="$undefined $(sed -n 's/^--defsym=.*=/-u /p' capi/link-args | sort -u)"
link=$(sed -n 's/^-/-Wl,-/p' capi/link-args)

# shellcheck disable=SC2086 # lists of words
${CC:-cc} -shared -o "$scratch/libfurwock.so.0" $undefined "$archive" \
    -Wl,--version-script=$map -Wl,--gc-sections -Wl,--as-needed $link \
    -nodefaultlibs -lpthread -ldl -lm -lc -lgcc
mv -f "$scratch/libfurwock.so.0" "$to/libfurwock.so.0"
ln -sf libfurwock.so.0 "$to/libfurwock.so"

# shellcheck disable=SC2086
${LD:-ld} -r -o "$scratch/furwock.o" --gc-sections --force-group-allocation $undefined \
    $no_unwinder "$archive"
# The bitcode of several objects in a row is none: ar's plugin for it aborts.
${OBJCOPY:-objcopy} --keep-global-symbols="$scratch/names" --remove-section=.llvmbc \
    --remove-section=.llvmcmd "$scratch/furwock.o"
${AR:-ar} rcs "$scratch/libfurwock.a" "$scratch/furwock.o"
mv -f "$scratch/libfurwock.a" "$to/libfurwock.a"
