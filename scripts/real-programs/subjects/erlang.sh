# Erlang's emulator: four schedulers, and those for files, that wait by futex(2) with libc's
# syscall. It defines sigaction itself, and passes the calls on.
title="Erlang, 4 schedulers"
needs="erl erlc"
packages=erlang-base
prepare() {
    mkdir "$folder/erlang"
    erlc -o "$folder/erlang" scripts/real-programs/sources/processes.erl
}
run() {
    (
        export ERL_CRASH_DUMP_BYTES=0 HOME="$mine"
        cd "$mine"
        on_side erl +S 4:4 -noshell -pa "$folder/erlang" \
            -run processes main "$(by_size 6 20)" </dev/null
    )
}
