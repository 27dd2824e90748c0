# A server of four threads that share a hash table, loaded from eight connections at a time.
title="memcached -t 4"
needs="memcached python3"
packages="memcached python3"
prepare() {
    cat >"$folder/load.py" <<'PYTHON'
import multiprocessing, socket, sys

# From Python 3.14 on another is the default, which reads this file again.
multiprocessing.set_start_method("fork")
PATH, ROUNDS, CLIENTS, BATCH = sys.argv[1], int(sys.argv[2]), 8, 64

def connect():
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(PATH)
    connection.settimeout(60)
    return connection, connection.makefile("rb")

def load(client):
    connection, answers = connect()
    for turn in range(ROUNDS):
        keys = [f"key:{client}:{(turn * BATCH + at) % 5000}" for at in range(BATCH)]
        lines = [
            f"set {key} 0 0 {len(key)}\r\n{key}\r\nincr total 1\r\nget {key}\r\n" for key in keys
        ]
        connection.sendall("".join(lines).encode())
        for key in keys:
            assert answers.readline() == b"STORED\r\n"
            assert answers.readline().strip().isdigit()
            assert answers.readline() == f"VALUE {key} 0 {len(key)}\r\n".encode()
            assert answers.readline() == f"{key}\r\n".encode()
            assert answers.readline() == b"END\r\n"

connection, answers = connect()
connection.sendall(b"set total 0 0 1\r\n0\r\n")
answers.readline()
clients = [multiprocessing.Process(target=load, args=(client,)) for client in range(CLIENTS)]
for client in clients:
    client.start()
for client in clients:
    client.join()
assert not any(client.exitcode for client in clients)
connection.sendall(b"get total\r\n")
print([answers.readline().decode().strip() for line in range(3)])
connection.sendall(b"stats\r\n")
while (line := answers.readline().decode().strip()) != "END":
    if line.split()[1] in ("cmd_set", "get_hits", "get_misses", "curr_items"):
        print(line)
PYTHON
}
run() {
    serve memcached -s "$mine/socket" -t 4 -u "$(id -un)" -m 256 >"$mine/log" 2>&1 &
    server=$!
    until_done test -S "$mine/socket"
    python3 "$folder/load.py" "$mine/socket" "$(by_size 100 1000)"
    # It looks once a second whether it is to end: measured, that would be all of a difference.
    kill "$(by_size -TERM -KILL)" "$server"
    wait "$server" || [ $? = "$(by_size 143 137)" ]
}
