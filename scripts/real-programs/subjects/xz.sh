# liblzma's threads, each with a mutex and a condvar, and one shared pair.
title="xz -T 4"
needs=xz
packages=xz-utils
prepare() {
    compressible
}
run() {
    on_side xz -T 4 -1 --block-size=2MiB --stdout "$folder/input"
}
