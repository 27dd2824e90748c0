import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.stream.LongStream;

/** Whatever a Java program waits on, with sums that don't depend on the turns of its threads. */
public class Locks {
    static final int THREADS = 8;

    interface Work {
        void run(int thread) throws Exception;
    }

    static void inThreads(Work work) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            int number = i;
            Thread thread = new Thread(() -> {
                try {
                    work.run(number);
                } catch (Exception e) {
                    e.printStackTrace();
                    System.exit(1);
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /** A bounded queue of a monitor. */
    static class Monitor {
        private final ArrayDeque<Integer> items = new ArrayDeque<>();

        synchronized void put(int item) throws InterruptedException {
            while (items.size() == 8) {
                wait();
            }
            items.add(item);
            notifyAll();
        }

        synchronized int take() throws InterruptedException {
            while (items.isEmpty()) {
                wait();
            }
            notifyAll();
            return items.remove();
        }
    }

    /** The same of a lock with two conditions. */
    static class Bounded {
        private final ArrayDeque<Integer> items = new ArrayDeque<>();
        private final ReentrantLock lock = new ReentrantLock(true);
        private final Condition notFull = lock.newCondition(), notEmpty = lock.newCondition();

        void put(int item) throws InterruptedException {
            lock.lock();
            try {
                while (items.size() == 8) {
                    notFull.await();
                }
                items.add(item);
                notEmpty.signal();
            } finally {
                lock.unlock();
            }
        }

        int take() throws InterruptedException {
            lock.lock();
            try {
                while (items.isEmpty()) {
                    notEmpty.await();
                }
                notFull.signal();
                return items.remove();
            } finally {
                lock.unlock();
            }
        }
    }

    static long half(int thread, int rounds, LongAdder sum, Putter put, Taker take)
            throws Exception {
        for (int i = 0; i < rounds; i++) {
            if (thread % 2 == 0) {
                put.put(i);
            } else {
                sum.add(take.take());
            }
        }
        return sum.sum();
    }

    interface Putter {
        void put(int item) throws Exception;
    }

    interface Taker {
        int take() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);

        Monitor monitor = new Monitor();
        LongAdder sum = new LongAdder();
        inThreads(thread -> half(thread, rounds / 8, sum, monitor::put, monitor::take));
        System.out.println("monitor: " + sum.sumThenReset());

        Bounded bounded = new Bounded();
        inThreads(thread -> half(thread, rounds / 4, sum, bounded::put, bounded::take));
        System.out.println("conditions: " + sum.sumThenReset());

        ArrayBlockingQueue<Integer> queue = new ArrayBlockingQueue<>(8);
        inThreads(thread -> half(thread, rounds, sum, queue::put, queue::take));
        System.out.println("queue: " + sum.sumThenReset());

        SynchronousQueue<Integer> hand = new SynchronousQueue<>();
        inThreads(thread -> half(thread, rounds / 2, sum, hand::put, hand::take));
        System.out.println("handed over: " + sum.sumThenReset());

        Semaphore slots = new Semaphore(2);
        ReentrantReadWriteLock both = new ReentrantReadWriteLock();
        long[] counter = new long[1];
        CyclicBarrier barrier = new CyclicBarrier(THREADS);
        inThreads(thread -> {
            for (int i = 0; i < rounds / 2; i++) {
                slots.acquire();
                if (i % 10 == 0) {
                    both.writeLock().lock();
                    counter[0]++;
                    both.writeLock().unlock();
                } else {
                    both.readLock().lock();
                    sum.add(counter[0] < 0 ? 1 : 0);
                    both.readLock().unlock();
                }
                slots.release();
                if (i % 100 == 0) {
                    barrier.await();
                }
            }
        });
        System.out.println("counter: " + counter[0] + " " + sum.sumThenReset());

        // A pool, futures, and garbage for the collector's threads.
        ExecutorService pool = Executors.newFixedThreadPool(THREADS);
        ConcurrentHashMap<String, Long> words = new ConcurrentHashMap<>();
        List<CompletableFuture<Void>> futures = new ArrayList<>();
        for (int i = 0; i < rounds; i++) {
            int number = i;
            futures.add(CompletableFuture.supplyAsync(() -> "word " + number % 1000, pool)
                    .thenApply(word -> word + "!".repeat(number % 50))
                    .thenAccept(word -> words.merge(word, 1L, Long::sum)));
        }
        CompletableFuture.allOf(futures.toArray(new CompletableFuture[0])).get();
        pool.shutdown();
        long counted = words.values().stream().mapToLong(Long::longValue).sum();
        System.out.println("words: " + words.size() + " " + counted);
        System.out.println("fork and join: "
                + LongStream.range(0, rounds * 100L).parallel().map(n -> n * n % 1001).sum());
    }
}
