# OCaml: eight threads at a bounded queue. Only the one that has the runtime's lock runs, a mutex
# with a condvar, and a thread that waits for the queue's mutex gives it up.
title="OCaml, 8 threads"
needs=ocamlopt
packages=ocaml
prepare() {
    cat >"$folder/threads.ml" <<'OCAML'
let items = int_of_string Sys.argv.(1) and places = 16
let queue = Queue.create ()
let mutex = Mutex.create ()
let not_empty = Condition.create () and not_full = Condition.create ()

let produce first () =
  for item = 1 to items do
    Mutex.lock mutex;
    while Queue.length queue = places do Condition.wait not_full mutex done;
    Queue.add ((item * 4) + first) queue;
    Condition.signal not_empty;
    Mutex.unlock mutex
  done

let sum = ref 0

let consume () =
  for _ = 1 to items do
    Mutex.lock mutex;
    while Queue.is_empty queue do Condition.wait not_empty mutex done;
    sum := !sum + Queue.pop queue;
    Condition.signal not_full;
    Mutex.unlock mutex
  done

let () =
  let pair k = [ Thread.create (produce k) (); Thread.create consume () ] in
  List.iter Thread.join (List.concat_map pair [ 0; 1; 2; 3 ]);
  print_endline (string_of_int !sum)
OCAML
    (cd "$folder" && ocamlopt -I +unix -I +threads unix.cmxa threads.cmxa threads.ml -o threads)
}
run() {
    on_side "$folder/threads" "$(by_size 10000 100000)"
}
