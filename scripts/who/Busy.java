// Healthy: two monitors in the same order, a bounded queue, a pool, and a collector at work.
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class Busy {
    static final Object A = new Object(), B = new Object();
    static volatile Object sink;

    static void nested() {
        for (;;) {
            synchronized (A) {
                synchronized (B) {
                    sink = new byte[1000];
                }
            }
        }
    }

    static void put(ArrayBlockingQueue<Integer> queue) {
        try {
            for (int next = 0;; next++) {
                queue.put(next);
            }
        } catch (InterruptedException ended) {
            return;
        }
    }

    static void take(ArrayBlockingQueue<Integer> queue) {
        try {
            for (;;) {
                sink = new int[queue.take() % 5000];
            }
        } catch (InterruptedException ended) {
            return;
        }
    }

    static int sum(int factor) {
        int sum = 0;
        for (int at = 0; at < 10000; at++) {
            sum += at * factor;
        }
        return sum;
    }

    public static void main(String[] arguments) throws Exception {
        var queue = new ArrayBlockingQueue<Integer>(4);
        for (int thread = 0; thread < 4; thread++) {
            new Thread(Busy::nested).start();
        }
        new Thread(() -> put(queue)).start();
        new Thread(() -> take(queue)).start();
        var pool = Executors.newFixedThreadPool(4);
        for (;;) {
            List<Future<Integer>> sums = new ArrayList<>();
            for (int task = 0; task < 50; task++) {
                int factor = task;
                sums.add(pool.submit(() -> sum(factor)));
            }
            for (var sum : sums) {
                sum.get();
            }
            System.gc();
        }
    }
}
