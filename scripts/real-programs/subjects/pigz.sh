# A compressor whose threads pass on their work with its own locks, built from mutexes and condvars.
title="pigz -p 8"
needs=pigz
packages=pigz
prepare() {
    compressible
}
run() {
    on_side pigz -p 8 --stdout --no-name "$folder/input"
}
