// Four threads that wait for each other by Java's own locks, which the kernel doesn't see.
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;

public class Deadlock {
    static void both(Object first, Object second, CountDownLatch begun) {
        synchronized (first) {
            await(begun);
            synchronized (second) {
                System.out.println("never");
            }
        }
    }

    static void both(ReentrantLock first, ReentrantLock second, CountDownLatch begun) {
        first.lock();
        await(begun);
        second.lock();
    }

    static void await(CountDownLatch begun) {
        begun.countDown();
        try {
            begun.await();
        } catch (InterruptedException ended) {
            throw new RuntimeException(ended);
        }
    }

    public static void main(String[] arguments) {
        Object a = new Object(), b = new Object();
        ReentrantLock x = new ReentrantLock(), y = new ReentrantLock();
        CountDownLatch monitors = new CountDownLatch(2), locks = new CountDownLatch(2);
        new Thread(() -> both(a, b, monitors), "monitor-ab").start();
        new Thread(() -> both(b, a, monitors), "monitor-ba").start();
        new Thread(() -> both(x, y, locks), "lock-xy").start();
        new Thread(() -> both(y, x, locks), "lock-yx").start();
    }
}
