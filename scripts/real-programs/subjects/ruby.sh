# Ruby: eight threads at a bounded queue, then at a lock. The interpreter's lock is a mutex with a
# condvar for each thread, which is signalled with the mutex held.
title="Ruby, 8 threads"
needs=ruby
packages=ruby
prepare() {
    cat >"$folder/threads.rb" <<'RUBY'
items = Integer(ARGV[0])
queue = SizedQueue.new(8)
producers = Array.new(4) { |k| Thread.new { items.times { |item| queue.push(item * 4 + k) } } }
consumers = Array.new(4) { Thread.new { (1..items).sum { queue.pop } } }
producers.each(&:join)
puts consumers.sum(&:value)

lock = Mutex.new
count = 0
Array.new(8) { Thread.new { items.times { lock.synchronize { count += 1 } } } }.each(&:join)
puts count
RUBY
}
run() {
    on_side ruby "$folder/threads.rb" "$(by_size 4000 40000)"
}
