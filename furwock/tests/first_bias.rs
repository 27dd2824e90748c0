//! Readers that meet at fresh rwlocks: several of them give a lock its first bias at once
//! (ORDERING.md, W-5).

use furwock::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const LOCKS: usize = 200_000;
const READERS: usize = 2;
/// Enough reads to make a lock biased while both threads read, and for some by slots afterwards.
const READS: usize = 60;
/// So many threads have slots. The thread that clears them looks at all, which widens the window.
const IDLE: usize = 200;

/// Reads each lock `READS` times, in step with the other readers. False if they don't come.
fn read_all(locks: &[RwLock<()>], met: &AtomicUsize) -> bool {
    for (at, lock) in locks.iter().enumerate() {
        met.fetch_add(1, Ordering::SeqCst);
        let mut tries = 0_u32;
        let start = Instant::now();
        while met.load(Ordering::SeqCst) < READERS * (at + 1) {
            tries += 1;
            if tries % 20_000 == 0 {
                thread::yield_now();
                if start.elapsed() > Duration::from_secs(30) {
                    return false;
                }
            }
        }
        (0..READS).for_each(|_| drop(lock.read()));
    }
    true
}

#[test]
fn no_reader_of_a_fresh_lock_is_lost() {
    static WARM: RwLock<()> = RwLock::new(());
    (0..300).for_each(|_| drop(WARM.read()));
    static READY: AtomicUsize = AtomicUsize::new(0);
    for _ in 0..IDLE {
        thread::spawn(|| {
            (0..3).for_each(|_| drop(WARM.read()));
            READY.fetch_add(1, Ordering::SeqCst);
            loop {
                thread::park();
            }
        });
    }
    while READY.load(Ordering::SeqCst) < IDLE {
        thread::yield_now();
    }
    // Never freed: threads that hang can't be joined.
    let locks: &'static [RwLock<()>] =
        Box::leak((0..LOCKS).map(|_| RwLock::new(())).collect::<Box<[_]>>());
    static MET: AtomicUsize = AtomicUsize::new(0);
    let readers: Vec<_> = (0..READERS).map(|_| thread::spawn(|| read_all(locks, &MET))).collect();
    let (mut seen, mut since) = (0, Instant::now());
    while !readers.iter().all(thread::JoinHandle::is_finished) {
        thread::sleep(Duration::from_millis(10));
        let met = MET.load(Ordering::SeqCst);
        if met != seen {
            (seen, since) = (met, Instant::now());
        }
        assert!(
            since.elapsed() < Duration::from_secs(20),
            "readers hang at lock {}",
            met / READERS
        );
    }
    assert!(readers.into_iter().all(|reader| reader.join().unwrap()), "readers don't meet");
    let stuck = locks
        .iter()
        .filter(|lock| lock.try_write_for(Duration::from_millis(20)).is_none())
        .take(10)
        .count();
    assert_eq!(stuck, 0, "free locks can't be written");
}
