//! The addresses that programs use.

use super::Kernel;
use super::raw::Raw;
use super::worker::{Seen, Worker};
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// How many words.
pub(super) const WORDS: usize = 5;

const PAGE: usize = 4096;
const STRIDE: usize = 64;

/// An address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// A word.
    Word(usize),
    /// This many bytes into a word.
    Inside(usize, usize),
    /// Aligned, but not readable.
    Nowhere,
    /// Null.
    Null,
}

/// Words, and an address that can't be read.
///
/// No two of them share a bucket of the kernel's table: a waiter that is requeued within its bucket
/// keeps its place, before waiters that came to the other word earlier.
pub(super) struct Places {
    words: [&'static AtomicU32; WORDS],
    nowhere: *mut u32,
}

impl Places {
    /// Chooses them, with the help of two idle workers.
    pub(super) fn choose(workers: &mut [Worker]) -> Self {
        let [first, second, ..] = workers else { panic!("two workers are needed") };
        // The kernel gives a few threads fewer buckets than these. It doesn't change a number that
        // was set. An older kernel has one table for all processes, and refuses.
        const SET_SLOTS: libc::c_ulong = 1;
        const PR_FUTEX_HASH: i32 = 78;
        // SAFETY: no pointers.
        unsafe { libc::prctl(PR_FUTEX_HASH, SET_SLOTS, 256 as libc::c_ulong, 0, 0) };
        let (readable, barred) = map();
        let helper = at(readable, 0);
        let mut probe = Probe { first, second, helper };
        let mut chosen: Vec<*mut u32> = vec![ptr::null_mut()];
        let mut choose = |from: *mut u8| {
            let free = (1..PAGE / STRIDE).map(|n| at(from, n)).find(|candidate| {
                let taken = &chosen;
                taken.iter().all(|other| !probe.collide(*other, *candidate))
            });
            let free = free.expect("one of 63 words has a bucket of its own");
            chosen.push(free);
            free
        };
        let nowhere = choose(barred);
        // SAFETY: readable and writable, never unmapped, and used as atomics only.
        let words = [(); WORDS].map(|()| unsafe { AtomicU32::from_ptr(choose(readable)) });
        Self { words, nowhere }
    }

    pub(super) fn address(&self, at: At) -> *mut u32 {
        match at {
            At::Word(word) => self.words[word].as_ptr(),
            At::Inside(word, bytes) => self.words[word].as_ptr().wrapping_byte_add(bytes),
            At::Nowhere => self.nowhere,
            At::Null => ptr::null_mut(),
        }
    }

    /// Every address at which a waiter may be queued.
    pub(super) fn all() -> impl Iterator<Item = At> {
        (0..WORDS).map(At::Word).chain([At::Nowhere, At::Null])
    }

    /// What the word holds; 0 if there is none.
    pub(super) fn held(&self, at: At) -> u32 {
        match at {
            At::Word(word) => self.words[word].load(Ordering::SeqCst),
            _ => 0,
        }
    }

    pub(super) fn store(&self, word: usize, value: u32) {
        self.words[word].store(value, Ordering::SeqCst);
    }

    pub(super) fn contents(&self) -> [u32; WORDS] {
        self.words.map(|word| word.load(Ordering::SeqCst))
    }
}

impl fmt::Debug for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Word(word) => write!(f, "word {word}"),
            At::Inside(word, bytes) => write!(f, "word {word} + {bytes} bytes"),
            At::Nowhere => f.write_str("nowhere"),
            At::Null => f.write_str("null"),
        }
    }
}

/// One page for words, and one that can't be read.
fn map() -> (*mut u8, *mut u8) {
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, of which the second half is taken away again.
    unsafe {
        let pages = libc::mmap(ptr::null_mut(), 2 * PAGE, access, kind, -1, 0);
        assert_ne!(pages, libc::MAP_FAILED, "two pages can be mapped");
        let barred = pages.wrapping_byte_add(PAGE);
        assert_eq!(libc::mprotect(barred, PAGE, libc::PROT_NONE), 0);
        (pages.cast(), barred.cast())
    }
}

fn at(page: *mut u8, n: usize) -> *mut u32 {
    page.wrapping_add(n * STRIDE).cast()
}

/// Finds out which addresses share a bucket.
struct Probe<'w> {
    first: &'w mut Worker,
    second: &'w mut Worker,
    /// Where the workers wait before they are moved: at some of the addresses no thread can wait.
    helper: *mut u32,
}

impl Probe<'_> {
    /// Queues one waiter at `a`, then one at `b`, and moves the first to `b`. If it keeps its
    /// place, it is woken first.
    fn collide(&mut self, a: *mut u32, b: *mut u32) -> bool {
        self.queue(true, a);
        self.queue(false, b);
        assert_eq!(kernel(a, libc::FUTEX_REQUEUE, 0, 1, b), Ok(1));
        assert_eq!(kernel(b, libc::FUTEX_WAKE, 1, 0, ptr::null_mut()), Ok(1));
        let first = loop {
            if self.first.returned().is_some() {
                break true;
            }
            if self.second.returned().is_some() {
                break false;
            }
            thread::yield_now();
        };
        assert_eq!(kernel(b, libc::FUTEX_WAKE, 1, 0, ptr::null_mut()), Ok(1));
        let other = if first { &mut self.second } else { &mut self.first };
        while other.returned().is_none() {
            thread::yield_now();
        }
        first
    }

    fn queue(&mut self, first: bool, address: *mut u32) {
        let worker = if first { &mut self.first } else { &mut self.second };
        worker.give(&Kernel, raw(self.helper, libc::FUTEX_WAIT, 0, 0, ptr::null_mut()));
        loop {
            match worker.look() {
                Seen::Blocked => break,
                Seen::Running => thread::yield_now(),
                Seen::Returned(result) => panic!("a wait without a deadline returned {result:?}"),
            }
        }
        assert_eq!(kernel(self.helper, libc::FUTEX_REQUEUE, 0, 1, address), Ok(1));
    }
}

fn kernel(uaddr: *mut u32, op: i32, val: u32, val2: usize, uaddr2: *mut u32) -> Result<i64, i32> {
    // SAFETY: none of the operations used here writes.
    unsafe { raw(uaddr, op, val, val2, uaddr2).perform(&Kernel) }
}

fn raw(uaddr: *mut u32, op: i32, val: u32, val2: usize, uaddr2: *mut u32) -> Raw {
    let op = op | libc::FUTEX_PRIVATE_FLAG;
    Raw::Futex { uaddr, op, val, timeout: None, val2, uaddr2, val3: 0 }
}
