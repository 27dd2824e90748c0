//! Slots in which a thread publishes the address of what it is using, for others to wait until it
//! doesn't: what lets readers of a lock enter without writing to anything they share (Dice and
//! Kogan 2019, "BRAVO").
//!
//! Each thread has a row of slots of its own, on cache lines of its own; an address picks one of
//! them. Publishing costs one locked instruction on that line, withdrawing a store. A waiting
//! writer looks at one slot of each row that was ever used: 64 KiB hold the rows of all threads,
//! and threads for which there is none publish nothing. Rows of threads that have ended are
//! collected before others are used (`ended`).
//!
//! The orderings are argued in ORDERING.md (W-3).

use crate::lot::{ANY, Debt, Key, Owner, Place, Wait, Watch, announce, is_empty, lock, node};
use crate::prim::atomic::{AtomicU32, AtomicUsize, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::prim::{adjustable, full_fence, full_fence_after_rmw, spin_loop};
use crate::sys::clock::Deadline;
use core::time::Duration;

/// Slots in a row: addresses that a thread can publish at once, if they pick different ones.
const SLOTS: usize = if cfg!(any(loom, shuttle)) { 1 } else { 8 };

/// Probes before a sleep, each after 16 pauses: some 20 us, about what a sleep and a wake cost.
const PROBES: u32 = if cfg!(any(loom, shuttle)) { 0 } else { 100 };
const PAUSES: u32 = 16;

/// To look at so many rows takes 0.2 us where nobody writes to them, as 8 reads do.
const MANY: usize = 128;

/// How long a sleep may last before the slot is looked at again.
const SLICE: Duration = Duration::from_millis(1);

#[repr(C, align(128))]
#[derive(Debug)]
pub(super) struct Row {
    slots: [AtomicUsize; SLOTS],
    /// How many wait for a slot of this row; on another line than the slots.
    awaited: AtomicU32,
    /// The thread that has the row.
    owner: Owner,
}

impl Row {
    #[cfg(not(any(loom, shuttle)))]
    const fn new() -> Self {
        Self {
            slots: [const { AtomicUsize::new(0) }; SLOTS],
            awaited: AtomicU32::new(0),
            owner: Owner::none(),
        }
    }

    #[cfg(any(loom, shuttle))]
    fn new() -> Self {
        Self {
            slots: core::array::from_fn(|_| AtomicUsize::new(0)),
            awaited: AtomicU32::new(0),
            owner: Owner::none(),
        }
    }

    #[inline(always)]
    fn slot(&self, address: usize) -> &AtomicUsize {
        &self.slots[index(address)]
    }

    /// Whether its thread has published `address`. Acquires what the thread did before it withdrew.
    fn holds(&self, address: usize) -> bool {
        self.slot(address).load(Ordering::Acquire) & !DEPTH == address
    }
}

#[inline(always)]
fn index(address: usize) -> usize {
    (address >> 3 ^ address >> 7 ^ address >> 12) % SLOTS
}

/// Whether a thread has published an address by a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Published {
    /// It has, and hadn't before.
    First,
    /// It had, and has to withdraw once more.
    Again,
    /// Its slot is in use, or it has none.
    Not,
}

/// How often a slot's address is published besides, in the bits that an aligned address leaves.
const DEPTH: usize = align_of::<u64>() - 1;

/// Publishes `address`, a multiple of eight, for the calling thread. The first time the thread only
/// gets its slots, for the next.
///
/// After `First` a full fence has passed: a reader that now finds that no writer has begun to wait
/// for `address` has published in time. Signal handlers that leave what they find may do the same
/// in between.
#[inline(always)]
pub(crate) fn publish(address: usize) -> Published {
    let Some(row) = known() else { return take() };
    let slot = row.slot(address);
    let value = slot.load(Ordering::Relaxed);
    if value != 0 {
        return publish_again(slot, value, address);
    }
    if mutant::active(Mutant::PublishWithoutFence) {
        slot.store(address, Ordering::Relaxed);
    } else {
        slot.swap(address, Ordering::Relaxed);
        full_fence_after_rmw();
    }
    Published::First
}

#[cold]
fn publish_again(slot: &AtomicUsize, value: usize, address: usize) -> Published {
    if value & !DEPTH != address || value & DEPTH == DEPTH {
        return Published::Not;
    }
    slot.store(value + 1, Ordering::Relaxed);
    Published::Again
}

/// Withdraws `address` once, and releases what the thread did meanwhile. False if it isn't
/// published by this thread.
#[inline(always)]
pub(crate) fn withdraw(address: usize) -> bool {
    let Some(row) = known() else { return false };
    let slot = row.slot(address);
    let value = slot.load(Ordering::Relaxed);
    if value & !DEPTH != address {
        return false;
    }
    if value != address {
        slot.store(value - 1, Ordering::Release);
        return true;
    }
    slot.store(0, Ordering::Release);
    order_withdrawal();
    if row.awaited.load(Ordering::Relaxed) != 0 {
        wake(slot);
    }
    true
}

/// Between a slot's store and the look for its waiters. The processor may still reorder them: then
/// the waiter, which doesn't sleep for long, finds out by itself (W-3). A model has no time for
/// that, and full fences instead.
#[inline(always)]
fn order_withdrawal() {
    if cfg!(any(loom, shuttle)) {
        full_fence();
    } else {
        core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
    }
}

/// How many times the calling thread has published `address`.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn depth(address: usize) -> usize {
    let value = known().map_or(0, |row| row.slot(address).load(Ordering::Relaxed));
    if value & !DEPTH == address { (value & DEPTH) + 1 } else { 0 }
}

/// Whether the calling thread has published any address.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn publishes() -> bool {
    known().is_some_and(|row| row.slots.iter().any(|slot| slot.load(Ordering::Relaxed) != 0))
}

#[cold]
#[inline(never)]
fn wake(slot: &'static AtomicUsize) {
    let key = Key::slot(core::ptr::from_ref(slot).addr());
    if !is_empty(key) {
        closed(|| lock(key).choose_many(key, usize::MAX, ANY));
    }
}

/// The kernel's ids of the threads that have published `address`.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn publishers(address: usize) -> impl Iterator<Item = u32> {
    rows().filter(move |row| row.holds(address)).map(|row| row.owner.tid())
}

/// What is published in the slot at `address`, and the kernel's id of the row's thread; zeroes for
/// any other address.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn published_in(address: usize) -> (usize, u32) {
    let slots = rows().flat_map(|row| row.slots.iter().map(move |slot| (row, slot)));
    let found = slots.into_iter().find(|(_, slot)| core::ptr::from_ref(*slot).addr() == address);
    found.map_or((0, 0), |(row, slot)| (slot.load(Ordering::Relaxed) & !DEPTH, row.owner.tid()))
}

/// Whether any thread has published `address`. The caller has changed what publishers look at; what
/// those that have withdrawn did is visible if the answer is no.
pub(crate) fn is_published(address: usize) -> bool {
    full_fence();
    rows().any(|row| row.holds(address))
}

/// Whether so many rows are looked at that it takes as long as a good many reads.
pub(super) fn are_many() -> bool {
    rows().nth(MANY).is_some()
}

/// Waits until no thread has published `address` any more; `None` if the deadline passes first.
/// Returns how often it slept. As `is_published` otherwise.
///
/// A look at one cache line for each thread that ever published, and whatever time those need to
/// withdraw that have published it. `debt` is what the caller owes if it leaves for good.
pub(crate) fn wait_until_withdrawn(
    address: usize,
    deadline: Option<&Deadline>,
    debt: Debt,
) -> Option<u32> {
    if !mutant::active(Mutant::DrainWithoutFence) {
        full_fence();
    }
    rows().try_fold(0, |sleeps, row| Some(sleeps + wait_for(row, address, deadline, debt)?))
}

fn wait_for(
    row: &'static Row,
    address: usize,
    deadline: Option<&Deadline>,
    debt: Debt,
) -> Option<u32> {
    for _ in 0..adjustable!(PROBES, SlotProbes) {
        if !row.holds(address) {
            return Some(0);
        }
        (0..adjustable!(PAUSES, SlotPauses)).for_each(|_| spin_loop());
    }
    if !row.holds(address) {
        return Some(0);
    }
    // Before the full fence of `announce`, after which the slot is looked at again.
    row.awaited.fetch_add(1, Ordering::Relaxed);
    let mut watch = Watch::begin(Key::rwlock(address));
    let mut sleeps = 0;
    let mut held = true;
    while held && !(sleeps != 0 && deadline.is_some_and(Deadline::has_passed)) {
        watch.look_again();
        sleep(row, address, deadline, debt);
        sleeps += 1;
        held = row.holds(address);
    }
    watch.end();
    // (A child that a signal handler forked meanwhile starts at 0.)
    let _ = row
        .awaited
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |awaited| awaited.checked_sub(1));
    (!held).then_some(sleeps)
}

/// Sleeps until the row's thread has withdrawn, at most for a slice.
fn sleep(row: &'static Row, address: usize, deadline: Option<&Deadline>, debt: Debt) {
    let Some(node) = node() else { return crate::sys::thread::nap() };
    let key = Key::slot(core::ptr::from_ref(row.slot(address)).addr());
    let mut bucket = announce(key);
    if !row.holds(address) {
        return bucket.retract();
    }
    let at_most = adjustable!(SLICE, SlotSlice);
    let slice = Deadline::after(at_most);
    let until = match deadline {
        _ if cfg!(any(loom, shuttle)) => deadline,
        Some(deadline) if deadline.is_within(at_most) => Some(deadline),
        _ => Some(&slice),
    };
    let wait =
        Wait::enqueue(&mut bucket, &node, key, 0, Place::Back).until(until).owing(Some(debt));
    drop(bucket);
    wait.sleep(|_was_last| {});
}

/// Withdraws `address` from one slot of whichever thread. False if no thread has published it.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn withdraw_anothers(address: usize) -> bool {
    let found = rows().map(|row| (row, row.slot(address))).find(|(_, slot)| {
        let once_less = |value| match value {
            value if value & !DEPTH != address => None,
            value if value == address => Some(0),
            value => Some(value - 1),
        };
        slot.fetch_update(Ordering::Release, Ordering::Relaxed, once_less).is_ok()
    });
    if let Some((row, slot)) = found {
        full_fence_after_rmw();
        if row.awaited.load(Ordering::Relaxed) != 0 {
            wake(slot);
        }
    }
    found.is_some()
}

/// Whether no thread waits for a slot, and none is said to.
#[cfg(all(test, shuttle))]
pub(crate) fn no_slot_is_awaited() -> bool {
    rows().all(|row| row.awaited.load(Ordering::Relaxed) == 0)
}

/// Forgets `address`, which is no longer used, whichever threads may have left it published.
pub(crate) fn forget(address: usize) {
    for row in rows() {
        let _ = row.slot(address).fetch_update(Ordering::Relaxed, Ordering::Relaxed, |value| {
            (value & !DEPTH == address).then_some(0)
        });
    }
}

/// Publishes `address` for a reader that will never leave.
#[cfg(all(test, any(loom, shuttle)))]
pub(crate) fn leave_behind(address: usize) {
    assert_eq!(publish(address), Published::First);
}

#[cfg(not(any(loom, shuttle)))]
pub(crate) use native::{are_given_back_by_others, note_given_back_by_another};
#[cfg(not(any(loom, shuttle)))]
use {
    crate::sys::signals::closed,
    native::{known, rows, take},
};

#[cfg(any(loom, shuttle))]
pub(crate) use model::are_given_back_by_others;
#[cfg(any(loom, shuttle))]
use model::{closed, known, rows, take};

/// Where a reader in another process finds the rows.
#[cfg(not(any(loom, shuttle)))]
#[derive(Debug)]
pub(crate) struct RowsLayout {
    /// The first row, and the word that says how many are used.
    pub(crate) rows: *const core::ffi::c_void,
    pub(crate) used: *const core::ffi::c_void,
    pub(crate) row_size: usize,
    pub(crate) slots: usize,
    /// Within a row: its thread.
    pub(crate) owner: usize,
}

#[cfg(not(any(loom, shuttle)))]
impl RowsLayout {
    pub(crate) const OURS: Self = Self {
        rows: (&raw const native::TABLE).cast(),
        used: (&raw const native::USED).cast(),
        row_size: size_of::<Row>(),
        slots: SLOTS,
        owner: core::mem::offset_of!(Row, owner),
    };
}

#[cfg(not(any(loom, shuttle)))]
mod native {
    use super::*;
    use crate::lot::{self, Census, Fate};
    use crate::prim::atomic::AtomicBool;
    use crate::sys::fork;
    use crate::sys::thread::{exists, slot};

    const ROWS: usize = 512;

    pub(super) static TABLE: [Row; ROWS] = [const { Row::new() }; ROWS];

    /// Whether a thread of this process has ever given back what another may have published.
    static GIVEN_BACK: AtomicBool = AtomicBool::new(false);

    /// A thread gives back what it hasn't published. A row is its thread's alone to write, with
    /// plain stores, so that slots aren't for programs that do this.
    pub(crate) fn note_given_back_by_another() {
        GIVEN_BACK.store(true, Ordering::Relaxed);
    }

    pub(crate) fn are_given_back_by_others() -> bool {
        GIVEN_BACK.load(Ordering::Relaxed)
    }

    /// Rows beyond this one were never used.
    pub(super) static USED: AtomicUsize = AtomicUsize::new(0);

    /// Of the threads that asked for a row.
    static CENSUS: Census = Census::new();

    /// Instead of a row, in a thread that gets none.
    const NONE: *const core::ffi::c_void = core::ptr::without_provenance(1);

    pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
        TABLE[..USED.load(Ordering::Relaxed)].iter()
    }

    /// The calling thread's row, if it has one.
    #[inline(always)]
    pub(super) fn known() -> Option<&'static Row> {
        let row = slot().row.get();
        if row.addr() <= NONE.addr() {
            return None;
        }
        // SAFETY: `take_one` stored a reference into the table.
        Some(unsafe { &*row.cast::<Row>() })
    }

    /// Gets the calling thread a row, if it never asked for one. Nothing is published, for
    /// `publish`.
    #[cold]
    #[inline(never)]
    pub(super) fn take() -> Published {
        if slot().row.get().is_null() {
            closed(take_one);
        }
        Published::Not
    }

    fn take_one() {
        slot().row.set(NONE);
        // Before anything is published in it: a child that forgets nothing finds its parent's.
        static HOOK: fork::Hook = fork::Hook(forget_others);
        fork::on_child(&HOOK);
        fork::watch();
        let caller = lot::caller();
        if let Some(row) = claim(caller) {
            slot().row.set(core::ptr::from_ref(row).cast());
            core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
            // If a signal handler has forked since, the child took it for the row of a thread that
            // it lacks. (It stays the child's under the parent's id.)
            row.owner.set(caller);
        }
        CENSUS.count();
    }

    fn claim(caller: u64) -> Option<&'static Row> {
        let free = |row: &&'static Row| row.owner.claim(caller);
        let used = || rows().find(free);
        let collected = || {
            if !CENSUS.pays() {
                return None;
            }
            CENSUS.take(|| collect(caller));
            used()
        };
        let unused = || {
            let index = TABLE.iter().position(|row| free(&row))?;
            // Before anything is published in it.
            USED.fetch_max(index + 1, Ordering::Relaxed);
            Some(&TABLE[index])
        };
        used().or_else(collected).or_else(unused)
    }

    /// Takes back rows of threads that have ended. Returns how many exist.
    fn collect(caller: u64) -> usize {
        let mut exist = 0;
        if !lot::can_be_asked_for() {
            return exist;
        }
        // The caller has none yet: its own are those of an earlier thread of its id.
        for row in rows() {
            match row.owner.fate(caller, exists) {
                Fate::Caller | Fate::Ended if row.is_empty() => row.owner.release(),
                Fate::Exists => exist += 1,
                _ => {}
            }
        }
        exist
    }

    impl Row {
        /// Whether nothing is published in it. No thread takes the row of a thread that ended while
        /// it used something: that is in use for ever.
        fn is_empty(&self) -> bool {
            self.slots.iter().all(|slot| slot.load(Ordering::Relaxed) == 0)
        }
    }

    /// In a forked child: other threads use nothing any more, and the caller has another id.
    fn forget_others(_tid: u32) {
        let own = known();
        for row in rows() {
            row.awaited.store(0, Ordering::Relaxed);
            if own.is_some_and(|own| core::ptr::eq(own, row)) {
                row.owner.set(lot::caller());
            } else {
                row.slots.iter().for_each(|slot| slot.store(0, Ordering::Relaxed));
                row.owner.release();
            }
        }
        CENSUS.forget();
    }
}

#[cfg(any(loom, shuttle))]
mod model {
    use super::*;

    /// As many as any model has threads: a row is for one. Each is one more for loom to look at.
    const ROWS: usize = if cfg!(loom) { 3 } else { 10 };

    crate::prim::model_static! {
        static ref TABLE: [Row; ROWS] = core::array::from_fn(|_| Row::new());
    }

    /// A model has no signal handlers.
    pub(super) fn closed<R>(call: impl FnOnce() -> R) -> R {
        call()
    }

    pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
        let rows: &'static [Row; ROWS] = crate::prim::for_ever(&TABLE);
        rows.iter()
    }

    pub(crate) fn are_given_back_by_others() -> bool {
        false
    }

    pub(super) fn take() -> Published {
        Published::Not
    }

    pub(super) fn known() -> Option<&'static Row> {
        rows().nth(crate::prim::model_thread_id() as usize % ROWS)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn in_a_thread<R: Send>(f: impl FnOnce() -> R + Send) -> R {
        std::thread::scope(|scope| scope.spawn(f).join().unwrap())
    }

    fn publishes(address: usize) -> bool {
        // The first time a thread only gets its row.
        let published = [publish(address), publish(address)];
        published[1] == Published::First && withdraw(address)
    }

    #[test]
    fn rows_of_ended_threads_serve_others() {
        let address = 8;
        let published = (0..2000).filter(|_| in_a_thread(|| publishes(address))).count();
        assert_eq!(published, 2000);
    }

    #[test]
    fn a_row_in_use_at_its_threads_end_stays() {
        // Both pick the same slot of a row.
        let (address, other) = (16, 80);
        let stays = || is_published(address);
        in_a_thread(|| {
            publish(address);
            assert_eq!(publish(address), Published::First);
        });
        assert!((0..1000).all(|_| in_a_thread(|| publishes(other)) && stays()));
        assert!(withdraw_anothers(address) && !stays());
    }
}
