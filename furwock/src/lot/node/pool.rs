//! Type-stable memory for what each waiting thread owns: handed out, taken back, collected from
//! threads that have ended, never unmapped.

use super::ended::{self, Census, Fate};
use super::ownership;
use super::short_lock::ShortLock;
use super::waiter::Thread;
use crate::prim::CheckedCell;
use crate::prim::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sys::memory;
use core::ptr;

/// Threads a chunk of memory serves.
const CHUNK_THREADS: usize = 256;

struct Chunk {
    used: AtomicUsize,
    older: Option<&'static Chunk>,
    threads: [core::mem::MaybeUninit<Thread>; CHUNK_THREADS],
}

struct Pool {
    lock: ShortLock,
    /// Under the lock: given back, linked through `Thread::next_free`.
    free: CheckedCell<Option<&'static Thread>>,
    /// The newest chunk; written under the lock.
    newest: AtomicPtr<Chunk>,
    /// Of the threads that have registered.
    census: Census,
}

static POOL: Pool = Pool {
    lock: ShortLock::new(),
    free: CheckedCell::new(None),
    newest: AtomicPtr::new(ptr::null_mut()),
    census: Census::new(),
};

/// Where a reader in another process finds all threads' records.
#[derive(Debug)]
pub(crate) struct PoolLayout {
    /// The pointer to the newest chunk.
    pub(crate) newest: *const core::ffi::c_void,
    /// Within a chunk: how many records are used, the next older chunk, the records.
    pub(crate) used: usize,
    pub(crate) older: usize,
    pub(crate) threads: usize,
    /// The size of a record.
    pub(crate) thread_size: usize,
}

impl PoolLayout {
    pub(crate) const OURS: Self = Self {
        newest: (&raw const POOL.newest).cast(),
        used: core::mem::offset_of!(Chunk, used),
        older: core::mem::offset_of!(Chunk, older),
        threads: core::mem::offset_of!(Chunk, threads),
        thread_size: size_of::<Thread>(),
    };
}

impl Pool {
    fn newest(&self) -> Option<&'static Chunk> {
        // SAFETY: a chunk is initialised before it is published and lives for ever.
        unsafe { self.newest.load(Ordering::Acquire).as_ref() }
    }
}

/// `count` of them that nothing else uses, linked through `next_free`; `None` when the kernel has
/// no memory.
pub(super) fn take(count: usize) -> Option<&'static Thread> {
    take_from(given_back, count).or_else(|| {
        if POOL.census.pays() {
            POOL.census.take(collect);
        }
        take_from(|| given_back().or_else(never_used), count)
    })
}

fn take_from(
    source: impl Fn() -> Option<&'static Thread>,
    count: usize,
) -> Option<&'static Thread> {
    let _held = POOL.lock.lock();
    let mut first = None;
    for _ in 0..count {
        let Some(thread) = source() else {
            if let Some(first) = first {
                put_back(first);
            }
            return None;
        };
        // SAFETY: just taken.
        unsafe { thread.next_free.set(first) };
        first = Some(thread);
    }
    first
}

/// Under the pool's lock.
fn given_back() -> Option<&'static Thread> {
    // SAFETY: under the pool's lock.
    unsafe {
        let thread = POOL.free.get()?;
        POOL.free.set(thread.next_free.get());
        Some(thread)
    }
}

/// Under the pool's lock.
fn never_used() -> Option<&'static Thread> {
    let chunk = match POOL.newest() {
        Some(chunk) if chunk.used.load(Ordering::Relaxed) < CHUNK_THREADS => chunk,
        older => grow(older)?,
    };
    let index = chunk.used.load(Ordering::Relaxed);
    let place = chunk.threads[index].as_ptr().cast_mut();
    // SAFETY: under the pool's lock, places from `used` on are handed out by no other thread, and
    // readers stop at `used`.
    unsafe { place.write(Thread::new()) };
    chunk.used.store(index + 1, Ordering::Release);
    // SAFETY: just initialised; never moved or unmapped.
    Some(unsafe { &*place })
}

/// A thread has registered.
pub(super) fn count_registered() {
    POOL.census.count();
}

/// Takes back what threads owned that have ended. Returns how many exist.
fn collect() -> usize {
    let caller = ended::caller();
    let (mut exist, mut first) = (0, None);
    if !ended::can_be_asked_for() {
        return 0;
    }
    for_each(|thread| match ownership::collect(thread, caller) {
        Fate::Ended => {
            // SAFETY: no other thread's.
            unsafe { thread.next_free.set(first) };
            first = Some(thread);
        }
        Fate::Exists | Fate::Caller => exist += 1,
        Fate::Uncollectable => {}
    });
    if let Some(first) = first {
        give_back(first);
    }
    exist
}

fn grow(older: Option<&'static Chunk>) -> Option<&'static Chunk> {
    let chunk = memory::map_zeroed(size_of::<Chunk>())?.cast::<Chunk>().as_ptr();
    // SAFETY: zero pages of the right size, which no other thread knows; `used` is zero already.
    unsafe { (&raw mut (*chunk).older).write(older) };
    POOL.newest.store(chunk, Ordering::Release);
    POOL.newest()
}

/// Takes back what `take` gave. They must not be used again.
pub(super) fn give_back(first: &'static Thread) {
    let _held = POOL.lock.lock();
    put_back(first);
}

/// Under the pool's lock.
fn put_back(first: &'static Thread) {
    // SAFETY: under the pool's lock; the chain is the caller's.
    unsafe {
        let mut last = first;
        while let Some(next) = last.next_free.get() {
            last = next;
        }
        last.next_free.set(POOL.free.get());
        POOL.free.set(Some(first));
    }
}

/// Calls `f` for each `Thread` ever handed out, in use or not.
pub(crate) fn for_each(mut f: impl FnMut(&'static Thread)) {
    let mut at = POOL.newest();
    while let Some(chunk) = at {
        for thread in &chunk.threads[..chunk.used.load(Ordering::Acquire)] {
            // SAFETY: places below `used` are initialised.
            f(unsafe { thread.assume_init_ref() });
        }
        at = chunk.older;
    }
}

/// In a forked child: whatever the parent's threads owned stays behind, unused. (Their nodes may
/// have been half written.) The pool's own lock may have been held.
pub(super) fn forget() {
    POOL.lock.reset();
    // SAFETY: the child has one thread.
    unsafe { POOL.free.set(None) };
    POOL.newest.store(ptr::null_mut(), Ordering::Relaxed);
    POOL.census.forget();
}
