# A media encoder: x264 encodes eight frames at a time, each of which waits for lines of the one
# before. With a given number of threads, its output is always the same.
title="ffmpeg, libx264, 8 threads"
needs=ffmpeg
packages=ffmpeg
prepare() {
    ffmpeg -nostdin -loglevel error -f lavfi \
        -i "testsrc2=size=640x360:rate=25:duration=$(by_size 6 30)" -pix_fmt yuv420p \
        "$folder/input.y4m"
}
run() {
    on_side ffmpeg -nostdin -loglevel error -threads 2 -i "$folder/input.y4m" -c:v libx264 \
        -preset veryfast -threads 8 -f h264 "$mine/out.h264"
    cksum <"$mine/out.h264"
}
