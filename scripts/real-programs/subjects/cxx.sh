# C++20: std::mutex, shared_mutex, condition_variable, semaphores, barriers and latches, all in one.
title="C++20 std, 8 threads"
needs=c++
packages=g++
prepare() {
    c++ -std=c++20 -O2 -pthread -o "$folder/workload" conformance/cxx/workload.cpp
}
run() {
    on_side "$folder/workload" "$(by_size 1 6)"
}
