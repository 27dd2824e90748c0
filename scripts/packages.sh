# Installs the Debian packages named in the arguments, unless they are installed.
#
# On systems other than Debian and its derivatives it says what is missing and goes on: callers then
# skip what needs the packages, and say so.
set -eu

missing=
for package in "$@"; do
    if ! dpkg-query --show --showformat='${Status}\n' "$package" 2>/dev/null |
        grep -q 'ok installed'; then
        missing="$missing $package"
    fi
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "packages: please install by hand (no apt-get here):$missing" >&2
    exit 0
fi
as_root=
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
fi
export DEBIAN_FRONTEND=noninteractive
# Another apt-get may be at work: it is waited for, or else its lists are good enough.
$as_root apt-get -qq update || echo "packages: the lists aren't renewed" >&2
# shellcheck disable=SC2086 # a list of words
$as_root apt-get -qq -o DPkg::Lock::Timeout=300 install --no-install-recommends --yes $missing \
    >/dev/null
