# perf's benchmarks call futex(2) by number and count the woken threads; times, rates and addresses
# differ.
title="perf bench futex"
needs=perf
packages=linux-perf
timed=no
blur='s/0x[0-9a-f]+|PID [0-9]+|[0-9]+ op[a-z]*\/sec|[0-9]+\.[0-9]+|nan/-/g'
run() {
    on_side perf bench futex hash --runtime 1 --threads 4
    on_side perf bench futex wake --threads 64
    on_side perf bench futex wake --threads 64 --nwakes 7
    on_side perf bench futex wake-parallel --threads 64 --nwakers 8
    on_side perf bench futex requeue --threads 64
    on_side perf bench futex requeue --threads 64 --broadcast
    on_side perf bench futex lock-pi --runtime 1 --threads 4
}
