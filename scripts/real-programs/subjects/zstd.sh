# A pool of threads, and a queue of jobs.
title="zstd -T4"
needs=zstd
packages=zstd
prepare() {
    compressible
}
run() {
    on_side zstd -T4 -9 --quiet --stdout "$folder/input"
}
