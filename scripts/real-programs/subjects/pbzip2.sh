# Bounded queues between a reader, eight compressors and a writer.
title="pbzip2 -p8"
needs=pbzip2
packages=pbzip2
prepare() {
    compressible
}
run() {
    on_side pbzip2 -p8 -1 --stdout "$folder/input"
}
