//! What each thread holds, and which locks it has taken lately. Only the thread itself adds to its
//! lists; others look at them when it has ended, or when they release what it holds.

use super::super::part::{Lost, lost};
use super::super::{Kind, tables, thread};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use furwock_record::GATE_READ;

/// Locks that a thread holds at most; more are left out.
const MOST: usize = 64;
/// Locks that it has taken before, and which are remembered.
const TAKEN: usize = 32;
/// Entries that the thread knows to have been written.
pub(super) const SEEN: usize = 256;
/// As many as an entry has room for.
pub(super) const GATES: usize = 4;

const ORDER: Ordering = Ordering::Relaxed;

/// A lock that the thread holds.
pub(super) struct Held {
    /// 0 if another thread has released it.
    object: AtomicUsize,
    kind: AtomicU32,
    /// Of its lock, plus 1; 0 until it is asked for.
    lock: AtomicU32,
    stack: AtomicU32,
    reads: AtomicU32,
    /// How often.
    depth: AtomicU32,
}

impl Held {
    pub(super) fn reads(&self) -> bool {
        self.reads.load(ORDER) != 0
    }

    pub(super) fn stack(&self) -> u32 {
        self.stack.load(ORDER)
    }

    pub(super) fn object(&self) -> usize {
        self.object.load(ORDER)
    }

    /// The index of its lock.
    pub(super) fn lock(&self) -> Option<u32> {
        if let Some(known) = self.lock.load(ORDER).checked_sub(1) {
            return Some(known);
        }
        let object = self.object();
        if object == 0 {
            return None;
        }
        let lock = tables::find_or_enter(object as u64, kind(self.kind.load(ORDER)))?;
        self.lock.store(lock + 1, ORDER);
        Some(lock)
    }

    fn copy(&self, from: &Held) {
        self.object.store(from.object.load(ORDER), ORDER);
        for (to, from) in [
            (&self.kind, &from.kind),
            (&self.lock, &from.lock),
            (&self.stack, &from.stack),
            (&self.reads, &from.reads),
            (&self.depth, &from.depth),
        ] {
            to.store(from.load(ORDER), ORDER);
        }
    }
}

/// Of the kinds that threads hold.
fn kind(number: u32) -> Kind {
    match number {
        number if number == Kind::RwLock as u32 => Kind::RwLock,
        number if number == Kind::Spin as u32 => Kind::Spin,
        _ => Kind::Mutex,
    }
}

/// A lock that the thread has taken, and waited for if need be.
pub(super) struct Taken {
    object: AtomicUsize,
    kind: AtomicU32,
    stack: AtomicU32,
    /// The thread's own waits until then.
    waits: AtomicU32,
}

/// What a thread keeps.
pub(in super::super) struct Own {
    held: [Held; MOST],
    count: AtomicU32,
    taken: [Taken; TAKEN],
    next: AtomicU32,
    /// How often it has waited for something that another thread had to do.
    waits: AtomicU32,
    pub(super) seen: [AtomicU64; SEEN],
    /// Its pthread_t, once it is known; 0 after it was joined.
    thread: AtomicUsize,
    /// The greater, the later it began.
    born: AtomicU32,
}

static BORN: AtomicU32 = AtomicU32::new(1);

impl Own {
    pub(super) fn count(&self) -> usize {
        (self.count.load(ORDER) as usize).min(MOST)
    }

    /// What it holds, the first taken first.
    pub(super) fn all(&self) -> impl Iterator<Item = &Held> {
        self.held[..self.count()].iter().filter(|held| held.object() != 0)
    }

    pub(super) fn find(&self, object: usize) -> Option<&Held> {
        self.all().find(|held| held.object() == object)
    }

    /// The locks that are held beside one, in ascending order.
    pub(super) fn gates(&self, beside: Option<&Held>) -> [u32; GATES] {
        let others = self.all().filter(|&held| beside.is_none_or(|one| !core::ptr::eq(one, held)));
        let mut gates = [0; GATES];
        let mut count = 0;
        for held in others {
            let Some(lock) = held.lock() else { continue };
            if count < GATES {
                gates[count] = (lock + 1) | if held.reads() { GATE_READ } else { 0 };
                count += 1;
            }
        }
        gates[..count].sort_unstable();
        gates
    }

    pub(super) fn hold(&self, object: usize, kind: Kind, reads: bool, stack: u32) {
        self.know_thread();
        if let Some(held) = self.find(object) {
            held.depth.store(held.depth.load(ORDER) + 1, ORDER);
            return;
        }
        let at = self.count();
        let Some(held) = self.held.get(at) else { return lost(Lost::Edge) };
        held.kind.store(kind as u32, ORDER);
        held.lock.store(0, ORDER);
        held.stack.store(stack, ORDER);
        held.reads.store(reads.into(), ORDER);
        held.depth.store(1, ORDER);
        held.object.store(object, ORDER);
        self.count.store(at as u32 + 1, ORDER);
    }

    /// Returns false if the thread doesn't hold it.
    pub(super) fn release(&self, object: usize) -> bool {
        let count = self.count();
        let is_it = |held: &Held| held.object() == object;
        let Some(at) = self.held[..count].iter().rposition(is_it) else { return false };
        let depth = self.held[at].depth.load(ORDER);
        if depth > 1 {
            self.held[at].depth.store(depth - 1, ORDER);
        } else {
            self.remove(at, count);
        }
        true
    }

    fn remove(&self, at: usize, count: usize) {
        for at in at..count - 1 {
            self.held[at].copy(&self.held[at + 1]);
        }
        let mut count = count - 1;
        // What others have released goes once it is the last.
        while count > 0 && self.held[count - 1].object() == 0 {
            count -= 1;
        }
        self.count.store(count as u32, ORDER);
    }

    pub(super) fn has_taken(&self, object: usize, kind: Kind, stack: u32) {
        let known = self.taken.iter().find(|taken| taken.object.load(ORDER) == object);
        let taken = known.unwrap_or_else(|| {
            let next = self.next.load(ORDER) as usize;
            self.next.store((next as u32 + 1) % TAKEN as u32, ORDER);
            &self.taken[next % TAKEN]
        });
        taken.object.store(object, ORDER);
        taken.kind.store(kind as u32, ORDER);
        taken.stack.store(stack, ORDER);
        taken.waits.store(self.waits.load(ORDER), ORDER);
    }

    /// The locks that it has taken: their addresses and stacks. Since it last waited, or ever.
    pub(super) fn taken(&self, ever: bool) -> impl Iterator<Item = (usize, Kind, u32)> {
        let waits = self.waits.load(ORDER);
        let those = self.taken.iter().filter(move |taken| {
            taken.object.load(ORDER) != 0 && (ever || taken.waits.load(ORDER) == waits)
        });
        those.map(|taken| {
            let kind = kind(taken.kind.load(ORDER));
            (taken.object.load(ORDER), kind, taken.stack.load(ORDER))
        })
    }

    /// It waits for something that another thread has to do: what it took before, it needn't take
    /// again to go on.
    pub(super) fn has_waited(&self) {
        self.waits.store(self.waits.load(ORDER).wrapping_add(1), ORDER);
    }

    pub(super) fn know_thread(&self) {
        if self.thread.load(ORDER) == 0 {
            // SAFETY: no arguments.
            let thread = unsafe { libc::pthread_self() } as usize;
            self.born.store(BORN.fetch_add(1, ORDER), ORDER);
            self.thread.store(thread, ORDER);
        }
    }

    pub(super) fn forget(&self) {
        self.count.store(0, ORDER);
        self.thread.store(0, ORDER);
        self.taken.iter().for_each(|taken| taken.object.store(0, ORDER));
        self.seen.iter().for_each(|seen| seen.store(0, ORDER));
    }
}

/// A thread releases what it doesn't hold: another does so no longer.
#[cold]
pub(super) fn release_by_another(object: usize) {
    for (_, own) in thread::all() {
        let held = own.order.held[..own.order.count()].iter();
        let found = held.rev().find(|held| held.object() == object);
        if let Some(held) = found {
            let depth = held.depth.load(ORDER);
            if depth > 1 {
                held.depth.store(depth - 1, ORDER);
            } else {
                _ = held.object.compare_exchange(object, 0, ORDER, ORDER);
            }
            return;
        }
    }
}

/// The thread with this pthread_t, which has been joined: its id and what it kept.
pub(super) fn ended(joined: usize) -> Option<(u32, &'static Own)> {
    let those = thread::all().filter(|(_, own)| own.order.thread.load(ORDER) == joined);
    let (tid, own) = those.max_by_key(|(_, own)| own.order.born.load(ORDER))?;
    own.order.thread.store(0, ORDER);
    Some((tid, &own.order))
}
