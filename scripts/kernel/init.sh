#!/bin/busybox sh
# The first process of kernel.sh's emulated machine: runs the steps, and turns the machine off. Each
# step leaves a line `kernel: STEP passes` or `kernel: STEP fails (STATUS)`, and, if it failed, what
# it said.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/ FURWOCK_PRELOAD=/bin/libfurwock_preload.so
mkdir -p /tmp
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/shm
mount -t tmpfs tmpfs /dev/shm
uname -srm

# step NAME SECONDS COMMAND...
step() {
    name=$1
    seconds=$2
    shift 2
    case " $(cat /steps) " in *" $name "*) ;; *) return ;; esac
    before=$(cut -d . -f 1 /proc/uptime)
    status=0
    timeout "$seconds" "$@" >"/tmp/$name" 2>&1 || status=$?
    took=$(($(cut -d . -f 1 /proc/uptime) - before))
    echo "-- $name: $took s"
    if [ $status = 0 ]; then
        grep -E '^([0-9]+ of|this kernel|no lost)' "/tmp/$name"
        echo "$(grep -cE '^test .* ok|^ok' "/tmp/$name") lines of what passed"
        echo "kernel: $name passes"
    else
        tail -n 40 "/tmp/$name"
        echo "kernel: $name fails ($status)"
    fi
}

# The doctor finds no problem, and the kernel's robust unlock.
cat >/bin/look <<'END'
#!/bin/sh
furwock doctor || exit 1
furwock doctor | grep -q '^ok  *robust '
END

# Each test of the conformance programs in a process of its own, on furwock; 77 is a skipped one.
cat >/bin/mutexes <<'END'
#!/bin/sh
all=0
failed=0
export CONFORMANCE_SIDE=furwock CONFORMANCE_DIR=/programs
for program in mutex mutexattr passthrough futex_pi; do
    for name in $("/programs/$program" | awk -F '\t' '$2 != "glibc" { print $1 }'); do
        all=$((all + 1))
        status=0
        timeout 120 furwock run -- "/programs/$program" "$name" >/tmp/said 2>&1 || status=$?
        case $status in
        0) ;;
        77) echo "skipped: $name: $(cat /tmp/said)" ;;
        *)
            failed=$((failed + 1))
            echo "failed ($status): $program $name"
            tail -n 10 /tmp/said
            ;;
        esac
    done
done
echo "$((all - failed)) of $all tests passed"
[ $failed = 0 ] && [ $all -gt 50 ]
END
chmod +x /bin/look /bin/mutexes

step doctor 60 look
! [ -e /tmp/doctor ] || cat /tmp/doctor
step unit 60 /tests/furwock sys::robust_unlock sys::vdso
step robust 300 /tests/robust
step reuse 60 /tests/robust_reuse
step instructions 600 /tests/robust_instructions
FURWOCK_KILLS=30 step processes 300 /tests/robust_processes
step pi 300 /tests/pi
step shared 300 /tests/shared
step mutexes 600 mutexes
step wakeups 60 furwock run -- /programs/lost_wakeup --seconds 10
poweroff -f
