# A compressor of threads that hand on their work by mutexes and condvars of its own making.
title="pigz -p 8"
needs=pigz
packages=pigz
prepare() {
    compressible
}
run() {
    on_side pigz -p 8 --stdout --no-name "$folder/input"
}
