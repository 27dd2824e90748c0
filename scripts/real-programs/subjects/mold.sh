# A linker that does nearly all its work in parallel loops.
title="mold, 64 objects"
needs="mold as python3"
packages="mold binutils python3"
prepare() {
    python3 - "$folder" <<'PYTHON'
import sys
for part in range(64):
    with open(f"{sys.argv[1]}/part{part}.s", "w") as out:
        for at in range(1000):
            print(f".section .text.f{part}_{at}, \"ax\"", file=out)
            print(f".globl f{part}_{at}\nf{part}_{at}:", file=out)
            for other in range(4):
                print(f"call f{(part * 7 + other) % 64}_{(at * 31 + other) % 1000}", file=out)
            print("ret", file=out)
        if part == 0:
            print(".globl _start\n_start: ret", file=out)
PYTHON
    for part in "$folder"/part*.s; do
        as -o "${part%.s}.o" "$part"
    done
}
run() {
    for _ in $(seq "$(by_size 3 20)"); do
        on_side mold --threads --thread-count=4 -o "$mine/linked" "$folder"/part*.o
        cksum <"$mine/linked"
    done
}
