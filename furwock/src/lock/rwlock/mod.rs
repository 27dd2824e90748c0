//! The rwlock: one 64-bit word, readers that scale, writers that don't starve.
//!
//! All there is to know of a lock is in its word (Drepper 2008), so that a reader enters or leaves by
//! one read-modify-write and nobody needs an inner lock. Locks that are mostly read become *biased*:
//! then readers publish themselves in slots of their own threads and write to nothing they share
//! (Dice and Kogan 2019). Writers spin, steal, sleep and are handed the lock as a mutex's waiters are
//! (Long 2017); readers that have slept are let in together.
//!
//! `state` has the word and its transitions, `waiting` what the slow path (`contender`) asks of it,
//! `shared` how readers enter, `settle` the queue's side. The ordering arguments are in ORDERING.md (W-1 ff.).

mod settle;
mod shared;
pub(crate) mod slots;
#[cfg(all(test, any(loom, shuttle)))]
mod starts;
mod state;
mod waiting;

use self::slots::Published;
use super::contender::{self, Contender};
use super::options::{How, Options, Status};
use crate::lot::{self, Debt, Key};
use crate::prim::atomic::{AtomicU64, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::sys::clock::Deadline;
use settle::{OnLeave, owner_left, settle, settle_at, upgrader_left};
use shared::Reader;
use state::{
    Cause, HANDOFF, Kind, ONE_READER, PARKED, REVOKED, UPGRADING, WRITER, free, is_available,
    is_biased, is_to_be_settled, is_to_be_settled_by_reader, is_written, may_be_published,
    only_writer, owner, policy, read_at_once, readers, taken, upgradable_left, written,
    written_at_once,
};
use waiting::Waiting;

pub use state::Policy;

/// A reader-writer lock without data: one 64-bit word, zero when free and phase-fair.
///
/// Shared by readers, or held by one writer; besides the readers one *upgradable* reader may be
/// inside, who can become the writer without letting go. For threads of one process. Up to 262,144
/// readers are counted at once; one more waits until another leaves.
///
/// Who goes first is its [`Policy`]. Under the fair ones a running writer may take a free lock past
/// sleepers for about a millisecond, and a reader read past them for about four, before it queues up
/// itself; a writer that has waited for 5 ms asks for the lock to be handed over.
///
/// # Cost
/// A lock that was read 128 times without a write becomes biased. Reading then takes one locked
/// instruction on memory of the thread's own. The next writer pays for it: it looks at one cache line
/// for each thread that ever read a biased lock, of at most 512, and waits for those that read this
/// one. Slots for that take 64 KiB a process, touched as threads use them. A thread that reads more
/// locks at once than it has free slots is counted in the word instead.
///
/// It may be moved only while nobody uses it, which includes a read guard that was forgotten: a biased
/// lock that is moved to where another lay whose forgotten reader was never dropped waits for that
/// reader. Its memory may be freed as soon as it has been unlocked for the last time, even while that
/// unlock is still returning in another thread.
#[derive(Debug)]
#[repr(transparent)]
pub struct RawRwLock {
    word: AtomicU64,
}

impl Default for RawRwLock {
    fn default() -> Self {
        Self::new()
    }
}

impl RawRwLock {
    /// A free lock, phase-fair.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> Self {
        Self::with_policy(Policy::PhaseFair)
    }

    /// A free lock.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> Self {
        Self::with_policy(Policy::PhaseFair)
    }

    /// A free lock under `policy`.
    ///
    /// ```
    /// use furwock::lock::{Policy, RawRwLock};
    ///
    /// let settings =
    ///     furwock::RwLock::from_raw(RawRwLock::with_policy(Policy::PreferWriters), vec![1, 2]);
    /// assert_eq!(settings.read().len(), 2);
    /// ```
    #[cfg(not(any(loom, shuttle)))]
    pub const fn with_policy(policy: Policy) -> Self {
        Self { word: AtomicU64::new(free(policy)) }
    }

    /// A free lock under `policy`.
    #[cfg(any(loom, shuttle))]
    pub fn with_policy(policy: Policy) -> Self {
        Self { word: AtomicU64::new(free(policy)) }
    }

    /// Who goes first.
    #[inline]
    pub fn policy(&self) -> Policy {
        policy(self.word.load(Ordering::Relaxed))
    }

    /// Sets who goes first, from the next lock call on.
    pub fn set_policy(&self, new: Policy) {
        let mut word = self.word.load(Ordering::Relaxed);
        while let Err(now) = self.exchange(word, state::under(word, new), Ordering::Relaxed) {
            word = now;
        }
    }

    #[inline]
    fn exchange(&self, old: u64, new: u64, success: Ordering) -> Result<u64, u64> {
        self.word.compare_exchange_weak(old, new, success, Ordering::Relaxed)
    }

    /// What waiters queue at.
    #[inline]
    fn key(&self) -> Key {
        Key::rwlock(self.address())
    }

    /// What readers publish in their slots.
    #[inline(always)]
    pub(crate) fn address(&self) -> usize {
        core::ptr::from_ref(&self.word).addr()
    }

    fn debt(&self, settle: OnLeave) -> Debt {
        Debt { settle, address: core::ptr::from_ref(self).expose_provenance() }
    }
}

/// Reading.
impl RawRwLock {
    /// Enters as a reader, waiting as long as it takes. Acquire.
    ///
    /// A thread that reads already may wait for itself, if a writer waits: see
    /// [`lock_shared_recursive`](Self::lock_shared_recursive).
    #[inline]
    pub fn lock_shared(&self) {
        if !self.read_fast() {
            self.read_slow(&const { Options::new() }, false);
        }
    }

    /// Enters as a reader unless it would have to wait. Acquire on success.
    ///
    /// Under the fair policies it would have to, too, while writers wait; not at all times: a
    /// running thread has its turn.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        self.read_fast() || Reader::new(self, &const { Options::new() }, false).try_enter()
    }

    /// Enters as a reader, or gives up at `deadline`. Returns whether it entered; Acquire if so.
    #[inline]
    pub fn lock_shared_until(&self, deadline: &Deadline) -> bool {
        self.read_fast() || self.read_slow(&Options::new().until(*deadline), false).is_some()
    }

    /// Enters as a reader as `options` has it, and tells how; `None` at the deadline. Acquire.
    #[inline]
    pub fn lock_shared_with(&self, options: &Options) -> Option<Status> {
        if self.read_fast() { Some(Status::FAST) } else { self.read_slow(options, false) }
    }

    /// Enters as a reader, past all writers but one that is inside: for threads that read already,
    /// and mustn't wait for a writer that waits for them. Acquire.
    #[inline]
    pub fn lock_shared_recursive(&self) {
        if !self.read_fast() {
            self.read_slow(&const { Options::new() }, true);
        }
    }

    /// The same, if no writer is inside. Acquire on success.
    #[inline]
    pub fn try_lock_shared_recursive(&self) -> bool {
        self.read_fast() || Reader::new(self, &const { Options::new() }, true).try_enter()
    }

    /// The same, or gives up at `deadline`.
    #[inline]
    pub fn lock_shared_recursive_until(&self, deadline: &Deadline) -> bool {
        self.read_fast() || self.read_slow(&Options::new().until(*deadline), true).is_some()
    }

    /// Leaves as a reader. Release.
    ///
    /// Touches the word once and never again. The caller is a reader.
    #[inline]
    pub fn unlock_shared(&self) {
        self.unlock_shared_counting();
    }

    /// `unlock_shared`; returns how many waiters it let in or woke.
    #[inline]
    pub fn unlock_shared_counting(&self) -> usize {
        let ordering = if mutant::active(Mutant::ReadUnlockRelaxed) {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        if self.unlock_published() {
            return 0;
        }
        // After the release the lock may be gone; its address still names the queue.
        let word = &raw const self.word;
        let left = self.word.fetch_sub(ONE_READER, ordering) - ONE_READER;
        if mutant::active(Mutant::UpgraderForgotten) && left & UPGRADING != 0 {
            return 0;
        }
        if is_to_be_settled_by_reader(left) { settle_at(word, Cause::Left) } else { 0 }
    }

    /// Whether so many readers are inside that no more can be counted. One more waits.
    pub fn is_full(&self) -> bool {
        state::room(self.word.load(Ordering::Relaxed)) == 0
    }

    /// Leaves as a reader that published itself. False if the caller isn't one. Calls nothing, but
    /// where a writer sleeps for it.
    #[inline(always)]
    pub fn unlock_published(&self) -> bool {
        // Who is in a slot keeps these bits set; a slot of a lock that lay here before doesn't.
        may_be_published(self.word.load(Ordering::Relaxed)) && slots::withdraw(self.address())
    }

    /// Leaves in the place of any reader, who may be another thread than the caller. Release. False if
    /// there is none.
    ///
    /// For callers that can't know who calls: `unlock_shared` relies on its caller being a reader. They
    /// count the reads of each thread ([`reads`](super::reads)), the one that ends here until this returns.
    ///
    /// Once a thread has given back a read without having one, no lock of the process is biased any more.
    /// If the lock is biased then, and the reader reads or leaves at that moment, the two may take one
    /// another's change of the slot for their own: see ORDERING.md, "Known to be broken".
    #[cfg(not(any(loom, shuttle)))]
    pub fn unlock_shared_of_any(&self) -> bool {
        if self.unlock_published() {
            return true;
        }
        if !crate::sys::thread::reads() {
            slots::note_given_back_by_another();
        }
        let pointer = &raw const self.word;
        let mut word = self.word.load(Ordering::Relaxed);
        while readers(word) != 0 {
            let left = word - ONE_READER;
            match self.exchange(word, left, Ordering::Release) {
                Ok(_) => {
                    if is_to_be_settled_by_reader(left) {
                        settle_at(pointer, Cause::Left);
                    }
                    return true;
                }
                Err(now) => word = now,
            }
        }
        if !may_be_published(word) {
            return false;
        }
        slots::note_given_back_by_another();
        while let Err(now) = self.exchange(word, state::revoked(word), Ordering::Relaxed) {
            word = now;
        }
        slots::withdraw_anothers(self.address())
    }

    /// Leaves in the place of any counted reader, unless that may let somebody go on: then false, and
    /// nothing done. Release.
    #[cfg(not(any(loom, shuttle)))]
    #[inline]
    pub fn unlock_counted_quietly(&self) -> bool {
        self.leave_quietly(
            |word| readers(word) != 0,
            |word| word - ONE_READER,
            is_to_be_settled_by_reader,
        )
    }

    /// Forgets readers that never left, as nobody uses the lock any more: before its memory goes to
    /// another use without the lock being dropped.
    pub fn forget_readers(&self) {
        if may_be_published(self.word.load(Ordering::Relaxed)) {
            slots::forget(self.address());
        }
    }

    /// Enters as a reader if nothing is in the way, by the word or by a slot. Acquire on success. False
    /// may mean nothing: the caller takes another way then.
    #[inline(always)]
    pub fn read_fast(&self) -> bool {
        // Acquire: a reader that sees the first bias publishes itself after the slots were emptied (W-5).
        let word = self.word.load(Ordering::Acquire);
        match read_at_once(word) {
            Some(new) => self.exchange(word, new, Ordering::Acquire).is_ok(),
            None => is_biased(word) && self.read_biased(),
        }
    }

    /// Publishes this thread as a reader, and is in if the lock is still biased then (W-3).
    #[inline(always)]
    fn read_biased(&self) -> bool {
        match slots::publish(self.address()) {
            Published::First => is_biased(self.word.load(Ordering::Acquire)) || self.take_back(),
            // The thread is inside.
            Published::Again => true,
            Published::Not => false,
        }
    }

    /// The bias went away while this thread published itself. False, for `read_biased`.
    #[cold]
    #[inline(never)]
    fn take_back(&self) -> bool {
        slots::withdraw(self.address());
        false
    }

    #[cold]
    fn read_slow(&self, options: &Options, forced: bool) -> Option<Status> {
        Reader::new(self, options, forced).enter()
    }
}

/// Writing.
impl RawRwLock {
    /// Enters as the writer, waiting as long as it takes. Acquire.
    ///
    /// A thread that is inside already waits for ever.
    #[inline]
    pub fn lock_exclusive(&self) {
        if !self.write_fast_as(lot::tid()) {
            self.write_slow(&const { Options::new() });
        }
    }

    /// Enters as the writer unless it would have to wait. Acquire on success.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        self.write_fast_as(lot::tid()) || self.try_own_slow(Kind::Writer)
    }

    /// Enters as the writer, or gives up at `deadline`. Returns whether it entered; Acquire if so.
    #[inline]
    pub fn lock_exclusive_until(&self, deadline: &Deadline) -> bool {
        self.lock_exclusive_with(&Options::new().until(*deadline)).is_some()
    }

    /// Enters as the writer as `options` has it, and tells how; `None` at the deadline. Acquire.
    #[inline]
    pub fn lock_exclusive_with(&self, options: &Options) -> Option<Status> {
        if self.write_fast_as(lot::tid()) { Some(Status::FAST) } else { self.write_slow(options) }
    }

    /// Leaves as the writer. Release.
    ///
    /// Touches the word once and never again. Does nothing if nobody writes; ends the writing,
    /// whoever writes, otherwise.
    #[inline]
    pub fn unlock_exclusive(&self) {
        self.unlock_exclusive_counting();
    }

    /// `unlock_exclusive`; returns how many waiters it let in or woke.
    #[inline]
    pub fn unlock_exclusive_counting(&self) -> usize {
        if self.try_unlock_exclusive_as(lot::tid()) {
            return 0;
        }
        self.leave(is_written, written, Cause::Written)
    }

    /// Leaves as the writer, unless that may let somebody go on: then false, and nothing done. Release.
    #[cfg(not(any(loom, shuttle)))]
    #[inline]
    pub fn unlock_exclusive_quietly(&self) -> bool {
        self.leave_quietly(is_written, written, is_to_be_settled)
    }

    /// Enters as the writer if nobody is around; `tid` is the caller's
    /// [`thread_id`](super::thread_id). Acquire on success. False may mean nothing: the caller takes
    /// another way then.
    #[inline(always)]
    pub fn write_fast_as(&self, tid: u32) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        written_at_once(word, tid)
            .is_some_and(|new| self.exchange(word, new, Ordering::Acquire).is_ok())
    }

    /// Leaves as the writer if the word says no more than that `tid` writes a phase-fair lock. Calls
    /// nothing.
    #[inline(always)]
    pub fn try_unlock_exclusive_as(&self, tid: u32) -> bool {
        let word = only_writer(tid);
        self.word
            .compare_exchange(word, free(Policy::PhaseFair), Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }

    #[cold]
    fn write_slow(&self, options: &Options) -> Option<Status> {
        let status = self.contend(Kind::Writer, options)?;
        if self.is_locked_exclusive() {
            return Some(status);
        }
        let waited = self.become_writer(options, owner_left);
        if waited.is_none() {
            self.unlock_upgradable();
        }
        waited.map(|waited| status.and_then(waited))
    }

    /// Turns the owner, who calls and is no writer yet, into the writer once all readers have left,
    /// those in slots first. `None` if the deadline comes first: then it is the upgradable reader.
    fn become_writer(&self, options: &Options, on_leave: OnLeave) -> Option<Status> {
        let sleeps = self.drain(options.deadline.as_ref(), on_leave);
        let status = sleeps.and_then(|sleeps| {
            let wanted = Waiting { lock: self, kind: Kind::Upgrader, on_leave: Some(on_leave) };
            let status = Contender::new(wanted, options).contend()?;
            let how = if sleeps == 0 { status.how } else { How::Slept };
            Some(Status { how, sleeps, ..Status::FAST }.and_then(status))
        });
        if status.is_none() {
            self.word.fetch_and(!UPGRADING, Ordering::Relaxed);
            self.settle_after_leaving();
        }
        status
    }

    /// Waits until no reader is in a slot; `None` at the deadline. Returns how often it slept. The
    /// caller owns the lock, and UPGRADING says that it is to become the writer: so nobody else drains,
    /// and nobody biases the lock.
    fn drain(&self, deadline: Option<&Deadline>, on_leave: OnLeave) -> Option<u32> {
        let published = may_be_published(self.word.load(Ordering::Relaxed));
        let drains = published && !mutant::active(Mutant::GrantedWriterDrainsNothing);
        let debt = self.debt(on_leave);
        let sleeps =
            if drains { slots::wait_until_withdrawn(self.address(), deadline, debt)? } else { 0 };
        self.word.fetch_and(!REVOKED, Ordering::Relaxed);
        Some(sleeps)
    }
}

/// Upgradable reading.
impl RawRwLock {
    /// Enters as the upgradable reader, waiting as long as it takes. Acquire.
    ///
    /// It shares the lock with readers, and excludes the writer and other upgradable readers.
    #[inline]
    pub fn lock_upgradable(&self) {
        if !self.own_fast(Kind::Upgradable) {
            self.contend(Kind::Upgradable, &const { Options::new() });
        }
    }

    /// Enters as the upgradable reader unless it would have to wait. Acquire on success.
    #[inline]
    pub fn try_lock_upgradable(&self) -> bool {
        self.own_fast(Kind::Upgradable) || self.try_own_slow(Kind::Upgradable)
    }

    /// Enters as the upgradable reader, or gives up at `deadline`. Acquire on success.
    #[inline]
    pub fn lock_upgradable_until(&self, deadline: &Deadline) -> bool {
        self.own_fast(Kind::Upgradable)
            || self.contend(Kind::Upgradable, &Options::new().until(*deadline)).is_some()
    }

    /// Leaves as the upgradable reader. Release. Returns how many waiters it let in or woke.
    #[inline]
    pub fn unlock_upgradable(&self) -> usize {
        let held = |word| owner(word) != 0 && !is_written(word);
        self.leave(held, upgradable_left, Cause::Left)
    }

    /// Turns the upgradable reader, who calls, into the writer, once all readers have left; none
    /// enters meanwhile. Acquire.
    #[inline]
    pub fn upgrade(&self) {
        self.upgrade_with(&const { Options::new() });
    }

    /// The same if there are no readers. Acquire on success.
    pub fn try_upgrade(&self) -> bool {
        if self.own_fast(Kind::Upgrader) {
            return true;
        }
        self.prepare_upgrade();
        self.try_become_writer()
    }

    /// The same, or gives up at `deadline`: then the caller is the upgradable reader still.
    pub fn upgrade_until(&self, deadline: &Deadline) -> bool {
        self.upgrade_with(&Options::new().until(*deadline))
    }

    fn upgrade_with(&self, options: &Options) -> bool {
        if self.own_fast(Kind::Upgrader) {
            return true;
        }
        self.prepare_upgrade();
        self.become_writer(options, upgrader_left).is_some()
    }

    /// From here on nobody comes in but who must not wait (W-4).
    fn prepare_upgrade(&self) {
        if mutant::active(Mutant::UpgradeLeftOpen) {
            return;
        }
        let mut word = self.word.load(Ordering::Relaxed);
        while let Err(now) = self.exchange(word, state::drained_by(word), Ordering::Relaxed) {
            word = now;
        }
    }

    /// Turns the upgradable reader, who calls, into a reader. Release.
    pub fn downgrade_upgradable(&self) {
        self.downgrade_by(|word| upgradable_left(word) + ONE_READER);
    }
}

/// Less than before, without letting go.
impl RawRwLock {
    /// Turns the writer, who calls, into a reader. Release.
    pub fn downgrade(&self) {
        self.downgrade_by(|word| written(word) + ONE_READER);
    }

    /// Turns the writer, who calls, into the upgradable reader. Release.
    pub fn downgrade_to_upgradable(&self) {
        self.downgrade_by(|word| word & !WRITER);
    }

    fn downgrade_by(&self, change: impl Fn(u64) -> u64) {
        let mut word = self.word.load(Ordering::Relaxed);
        while let Err(now) = self.exchange(word, change(word), Ordering::Release) {
            word = now;
        }
        // The caller is inside: the lock is still there.
        if word & PARKED != 0 {
            settle_at(&raw const self.word, Cause::Written);
        }
    }
}

/// Fair releases: the lock goes to whoever has waited longest, not to whoever comes first.
impl RawRwLock {
    /// `unlock_shared`, after which nobody gets past those who wait.
    pub fn unlock_shared_fair(&self) {
        self.ask_for_hand_off();
        self.unlock_shared();
    }

    /// `unlock_exclusive`, after which nobody gets past those who wait.
    pub fn unlock_exclusive_fair(&self) {
        self.ask_for_hand_off();
        self.unlock_exclusive();
    }

    /// `unlock_upgradable`, after which nobody gets past those who wait.
    pub fn unlock_upgradable_fair(&self) {
        self.ask_for_hand_off();
        self.unlock_upgradable();
    }

    /// The caller is inside. Under the bucket's lock: somebody has to be queued.
    fn ask_for_hand_off(&self) {
        if self.word.load(Ordering::Relaxed) & PARKED != 0 {
            let queue = lot::lock(self.key());
            if queue.has(self.key()) {
                self.word.fetch_or(HANDOFF, Ordering::Relaxed);
            }
        }
    }
}

/// What can be seen of it. Out of date at once, unless the caller is inside.
impl RawRwLock {
    /// Whether anybody is inside.
    pub fn is_locked(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        owner(word) != 0
            || readers(word) != 0
            || (may_be_published(word) && slots::is_published(self.address()))
    }

    /// Whether a writer is inside.
    #[inline]
    pub fn is_locked_exclusive(&self) -> bool {
        is_written(self.word.load(Ordering::Relaxed))
    }

    /// The kernel thread id of the writer or the upgradable reader, 0 if there is neither.
    #[inline]
    pub fn owner(&self) -> u32 {
        owner(self.word.load(Ordering::Relaxed))
    }
}

/// What the kinds of owner have in common.
impl RawRwLock {
    #[inline]
    fn own_fast(&self, kind: Kind) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        let new = taken(word, kind, lot::tid());
        is_available(word, kind) && self.exchange(word, new, Ordering::Acquire).is_ok()
    }

    #[cold]
    fn try_own_slow(&self, kind: Kind) -> bool {
        self.forget_parents();
        let mut word = self.word.load(Ordering::Relaxed);
        while is_available(word, kind) {
            let new = taken(word, kind, lot::tid());
            match self.exchange(word, new, Ordering::Acquire) {
                Ok(_) if kind == Kind::Upgradable || is_written(new) => return true,
                Ok(_) => {
                    let wrote = self.try_become_writer();
                    if !wrote {
                        self.unlock_upgradable();
                    }
                    return wrote;
                }
                Err(now) => word = now,
            }
        }
        false
    }

    /// `become_writer` if there are no readers.
    fn try_become_writer(&self) -> bool {
        if !slots::is_published(self.address()) {
            self.word.fetch_and(!REVOKED, Ordering::Relaxed);
            let mut word = self.word.load(Ordering::Relaxed);
            while is_available(word, Kind::Upgrader) {
                let new = taken(word, Kind::Upgrader, 0);
                match self.exchange(word, new, Ordering::Acquire) {
                    Ok(_) => return true,
                    Err(now) => word = now,
                }
            }
        }
        self.word.fetch_and(!UPGRADING, Ordering::Relaxed);
        self.settle_after_leaving();
        false
    }

    #[inline(never)]
    fn contend(&self, kind: Kind, options: &Options) -> Option<Status> {
        let wanted = Waiting { lock: self, kind, on_leave: None };
        let status = Contender::new(wanted, options).contend()?;
        let word = self.word.load(Ordering::Relaxed);
        let alone = mutant::active(Mutant::UpgradableEntersAlone);
        if word & PARKED != 0 && !is_written(word) && !alone {
            // Others may be inside besides, and have not been woken for this one's sake.
            settle_at(&raw const self.word, Cause::Left);
        }
        Some(status)
    }

    /// Releases what `held` says is held, as `left` says, unless `settles` says that others are to be seen
    /// to then.
    #[cfg(not(any(loom, shuttle)))]
    #[inline]
    fn leave_quietly(
        &self,
        held: impl Fn(u64) -> bool,
        left: impl Fn(u64) -> u64,
        settles: impl Fn(u64) -> bool,
    ) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        while held(word) && !settles(left(word)) {
            match self.exchange(word, left(word), Ordering::Release) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Releases what `held` says is held, as `left` says, and sees to those who wait.
    #[cold]
    fn leave(&self, held: impl Fn(u64) -> bool, left: impl Fn(u64) -> u64, cause: Cause) -> usize {
        let pointer = &raw const self.word;
        let mut word = self.word.load(Ordering::Relaxed);
        while held(word) {
            let new = left(word);
            match self.exchange(word, new, Ordering::Release) {
                // Who is on the way sees to the others; if it is a writer that comes, and an
                // upgradable reader that left, it may have to wait all the same.
                Ok(_)
                    if is_to_be_settled(new) || (cause != Cause::Written && new & PARKED != 0) =>
                {
                    return settle_at(pointer, cause);
                }
                Ok(_) => return 0,
                Err(now) => word = now,
            }
        }
        0
    }

    /// In a forked child: takes back what the word says of threads that only the parent has, if nobody
    /// is queued. Whoever queues does so anyway; for callers that won't.
    fn forget_parents(&self) {
        let speaks_of_others = state::PARKED | HANDOFF | UPGRADING | state::STALE_IN_CHILD;
        if !crate::sys::fork::is_child()
            || self.word.load(Ordering::Relaxed) & speaks_of_others == 0
        {
            return;
        }
        let waiting = Waiting { lock: self, kind: Kind::Writer, on_leave: None };
        let queue = lot::lock(self.key());
        let mut word = self.word.load(Ordering::Relaxed);
        while let Err(now) =
            self.exchange(word, contender::cleaned(&waiting, word, &queue), Ordering::Relaxed)
        {
            word = now;
        }
    }

    /// The caller has waited in vain, and is inside no longer than its call on this lock: lets those
    /// go on that it held up.
    fn settle_after_leaving(&self) {
        let mut queue = lot::lock(self.key());
        if queue.has(self.key()) {
            settle(&raw const self.word, &mut queue, Cause::Left);
        } else {
            self.word.fetch_and(!(PARKED | HANDOFF), Ordering::Relaxed);
        }
    }
}

impl Drop for RawRwLock {
    /// A reader's guard may have been forgotten: its slot mustn't speak of whatever comes to lie at
    /// this address.
    fn drop(&mut self) {
        if crate::prim::checker_has_failed() {
            return;
        }
        self.forget_readers();
    }
}
