//! The states of a rwlock's word: all of it, 64 bits (Drepper 2008). Pure: no atomics, no waiting.
//!
//! | bits | name | meaning |
//! |---|---|---|
//! | 0..=21 | owner | kernel thread id of the writer or the upgradable reader; 0 if there is neither |
//! | 22 | WRITER | the owner writes: no other thread is inside |
//! | 23 | SPIN | a running writer spins for the lock and will look at it again |
//! | 24 | HANDOFF | the lock goes to the waiter whose turn it is; no thread may steal it |
//! | 25 | UPGRADING | the owner isn't inside as a writer yet: it waits for the readers to leave |
//! | 26 | READERS_PARKED | readers may be queued at the word's address |
//! | 27 | WRITERS_PARKED | writers, upgradable readers or an upgrader may be |
//! | 28 | BIASED | readers may enter by publishing the lock in a slot of their own (`slots`) |
//! | 29 | REVOKED | slots may still hold readers, though no reader enters that way any more |
//! | 30..=32 | wakes | writers that have been chosen, and will look at the lock again |
//! | 33 | WAS_BIASED | the lock has been biased before |
//! | 34..=39 | heat | reads counted since the last write, and a head start; at its top bit the lock is biased |
//! | 40..=41 | | unused |
//! | 42..=60 | readers | readers inside that aren't published in slots; the top bit stays free |
//! | 61..=63 | policy | which side goes first (`Policy`) |
//!
//! When a bit may be set, and when it may be left out or cleared:
//!
//! | bit | set | cleared |
//! |---|---|---|
//! | parked bits | under the bucket lock, in an RMW that sees the lock unavailable, or a thread on its way to it | under the bucket lock, when no thread is queued at the address, or the last is chosen |
//! | SPIN | by a running writer that sees the lock unavailable and SPIN and HANDOFF clear | by the spinner, in an RMW that takes the lock or sees it unavailable |
//! | wakes | raised under the bucket lock by a thread that chooses a writer | lowered by a chosen writer, in an RMW that takes the lock or sees it unavailable |
//! | HANDOFF | under the bucket lock, by a waiter that queues itself first; by a fair release | under the bucket lock, as the lock is granted, or when no thread is queued |
//! | UPGRADING | by the upgradable reader; by a writer that takes a lock whose slots may hold readers | by itself, or as it is granted the write lock |
//! | BIASED | by a reader that enters counted, with no WRITER, UPGRADING and no waiters | by a writer that enters or announces itself: it becomes REVOKED |
//! | WAS_BIASED | with the first BIASED | never |
//! | REVOKED | as above | by the owner, with UPGRADING set, once it has seen all slots without the lock; as BIASED is set again |
//!
//! Transitions (what isn't named stays; "mine" is the role that the thread has):
//!
//! | from | to | by | ordering |
//! |---|---|---|---|
//! | no thread inside or before | readers + 1, heat + 1 [BIASED] | a reader | Acquire |
//! | no WRITER, no UPGRADING, and the policy lets it | the same | a reader past sleepers | Acquire |
//! | free, neither BIASED nor REVOKED | owner = me, WRITER, heat = 0, less mine | a writer | Acquire |
//! | free, BIASED or REVOKED | owner = me, UPGRADING, BIASED to REVOKED, less mine | a writer, that then drains the slots | Acquire |
//! | owner = me, UPGRADING, REVOKED | -REVOKED | the owner, which has seen the slots empty | Relaxed |
//! | free, PARKED or wakes, no SPIN, HANDOFF, BIASED | readers + 1 | a reader past sleepers, at once | Acquire |
//! | free, PARKED or wakes, neither SPIN, BIASED nor REVOKED | owner = me, WRITER, heat = 0 | a writer past sleepers, at once | Acquire |
//! | no owner | owner = me, less mine | an upgradable reader | Acquire |
//! | owner = me, no readers, neither BIASED nor REVOKED | WRITER, -UPGRADING | the upgradable reader | Acquire |
//! | unavailable | +SPIN, BIASED to REVOKED, less mine | a running writer | Relaxed |
//! | unavailable | +parked [+HANDOFF, or wakes + 1], BIASED to REVOKED, less mine | a waiter, as it queues [its turn being over] | Relaxed |
//! | readers > 0 | readers - 1 | a reader; if it was the last and others wait: settles | Release |
//! | WRITER | -owner, -WRITER; then settles, if others wait and none is on its way | the writer | Release |
//! | no WRITER, readers queued whose turn it is | readers + n | a thread that settles | Acquire |
//! | available, a writer first | wakes + 1, or, with HANDOFF, or after long reads, owner = it, WRITER | a thread that settles | Acquire |
//!
//! Where BIASED becomes REVOKED, or an owner is about to drain a lock that is REVOKED, the lock
//! becomes warm: its heat is `AGAIN` reads short of what biases it. A write leaves a warm lock that
//! was drained as it is, unless there are many slots to look at; to others it leaves no heat.
//!
//! *To settle* is to look under the bucket lock at the queue and the word, and to let in or wake
//! the waiters whose turn it is (`settle`). Its rule: whenever the bucket lock is dropped while a
//! queued thread could be inside, a spinner or a woken writer will look at the lock, or a thread is
//! on its way to settle (ORDERING.md, W-1).

use crate::lock::bits::{Bits, Leaves};
use crate::lock::interval::Short;
use crate::lock::spin::Probing;
use crate::prim::adjustable;

pub(super) use crate::lock::bits::{HANDOFF, OWNER, SPIN, owner};

pub(super) const WRITER: u64 = 1 << 22;
pub(super) const UPGRADING: u64 = 1 << 25;
pub(super) const READERS_PARKED: u64 = 1 << 26;
pub(super) const WRITERS_PARKED: u64 = 1 << 27;
pub(super) const PARKED: u64 = READERS_PARKED | WRITERS_PARKED;
pub(super) const BIASED: u64 = 1 << 28;
pub(super) const REVOKED: u64 = 1 << 29;
pub(super) const ONE_WAKE: u64 = 1 << 30;
pub(super) const WAKES: u64 = 7 << 30;
pub(super) const WAS_BIASED: u64 = 1 << 33;
pub(super) const ONE_HEAT: u64 = 1 << 34;
pub(super) const HEAT: u64 = 0x3f << 34;
/// The heat that biases a lock: 32 reads since the last write.
pub(super) const HOT: u64 = 1 << 39;
/// A write leaves a lock that was biased as it came so many reads short of that: where so many
/// reads lay between two writes, the next two are likely to be as far apart (docs/experiments.md,
/// "A bias that comes sooner").
const AGAIN: u64 = if cfg!(any(loom, shuttle)) { 1 } else { 8 };
pub(super) const ONE_READER: u64 = 1 << 42;
pub(super) const READERS: u64 = 0x7_ffff << 42;
/// The counter is never that full: what lies above it is safe from it.
const TOO_MANY_READERS: u64 = 1 << 60;
pub(super) const POLICY: u64 = 7 << POLICY_AT;
const POLICY_AT: u32 = 61;

/// A reader that sees none of these, and no hot lock, is in by one exchange.
const STOPS_READERS: u64 =
    WRITER | SPIN | HANDOFF | UPGRADING | PARKED | WAKES | BIASED | TOO_MANY_READERS;

/// A writer that sees none of these is in by one exchange: the lock is free, and no thread waits.
const STOPS_WRITERS: u64 = !(HEAT | POLICY | WAS_BIASED);

/// Which side goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Policy {
    /// Neither side starves. Readers wait for a writer that waits, for longer the longer it does;
    /// when a writer leaves, all readers that wait enter together, before the next writer.
    #[default]
    PhaseFair = 0,
    /// The same, except that no reader waits for waiting writers for more than a few milliseconds:
    /// so that a thread may read what it, or a thread that it waits for, reads already. What POSIX
    /// asks of a rwlock.
    Recursive = 1,
    /// Readers never wait for writers that wait. Writers starve if readers never leave.
    PreferReaders = 2,
    /// Readers wait as long as any writer waits. They starve if writers never leave.
    PreferWriters = 3,
    /// As [`Recursive`](Self::Recursive), but when a writer leaves, the next writer goes first.
    PreferWritersRecursive = 4,
}

/// A free lock under `policy`.
pub(super) const fn free(policy: Policy) -> u64 {
    (policy as u64) << POLICY_AT
}

/// The word under another policy.
pub(super) const fn under(word: u64, policy: Policy) -> u64 {
    (word & !POLICY) | free(policy)
}

#[inline]
pub(super) const fn policy(word: u64) -> Policy {
    match word >> POLICY_AT {
        1 => Policy::Recursive,
        2 => Policy::PreferReaders,
        3 => Policy::PreferWriters,
        4 => Policy::PreferWritersRecursive,
        _ => Policy::PhaseFair,
    }
}

/// The lock as one kind of waiter wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Reader = 1,
    Writer = 2,
    /// An upgradable reader.
    Upgradable = 3,
    /// An upgradable reader that wants to write.
    Upgrader = 4,
    /// A reader that waits for waiting writers, and wakes up by itself if that takes long.
    BriefReader = 5,
}

impl Policy {
    /// Whether no reader may be made to wait for ever for a writer that only waits.
    #[inline]
    pub(super) const fn lets_readers_recurse(self) -> bool {
        matches!(self, Policy::Recursive | Policy::PreferWritersRecursive)
    }
}

impl Kind {
    /// What a waiter of this kind tells threads that look through the queue.
    pub(super) const fn token(self) -> usize {
        self as usize
    }

    /// Whether it wants to read, and no more.
    pub(super) const fn reads(self) -> bool {
        matches!(self, Kind::Reader | Kind::BriefReader)
    }

    /// # Panics
    /// If no waiter of a rwlock says `token`.
    pub(super) const fn from_token(token: usize) -> Self {
        match token {
            1 => Kind::Reader,
            2 => Kind::Writer,
            3 => Kind::Upgradable,
            4 => Kind::Upgrader,
            5 => Kind::BriefReader,
            _ => unreachable!(),
        }
    }
}

#[inline]
pub(super) const fn readers(word: u64) -> u64 {
    (word & READERS) / ONE_READER
}

/// Readers that may still be counted in. (A downgrade doesn't check for room.)
pub(super) const fn room(word: u64) -> u64 {
    (TOO_MANY_READERS / ONE_READER).saturating_sub(readers(word))
}

impl Kind {
    /// What keeps this kind out if no other thread waits.
    #[inline]
    const fn kept_out_by(self) -> u64 {
        match self {
            Kind::Reader | Kind::BriefReader => WRITER | UPGRADING,
            Kind::Writer => OWNER | READERS,
            // It may become a reader, which has to be counted.
            Kind::Upgradable => OWNER | TOO_MANY_READERS,
            Kind::Upgrader => READERS | BIASED | REVOKED,
        }
    }
}

/// Whether `kind` could be inside at once if no other thread waits.
#[inline]
pub(super) const fn has_room_for(word: u64, kind: Kind) -> bool {
    word & kind.kept_out_by() == 0
}

/// Whether a writer or an upgradable reader may take it, past those that wait.
#[inline]
pub(super) const fn is_available(word: u64, kind: Kind) -> bool {
    bits(kind).is_available(word)
}

/// The word as waiters of `kind` see it.
#[inline]
pub(super) const fn bits(kind: Kind) -> &'static Bits {
    match kind {
        Kind::Reader | Kind::BriefReader => &READS,
        Kind::Writer => &WRITES,
        Kind::Upgradable => &MAY_UPGRADE,
        Kind::Upgrader => &UPGRADES,
    }
}

const WRITES: Bits = Bits {
    closed: Kind::Writer.kept_out_by() | HANDOFF,
    promised: HANDOFF,
    parked: PARKED,
    shared: READERS,
    queues_as: WRITERS_PARKED,
    wakes: WAKES,
    one_wake: ONE_WAKE,
    stale: PARKED | HANDOFF,
    cleared_by_last: PARKED | HANDOFF,
    keeps_place: true,
    leaves_place: Leaves::LongSections,
    takes_place: |token| matches!(Kind::from_token(token), Kind::Writer | Kind::Upgradable),
    // With a wake under way, a writer's release doesn't let readers in.
    keeps_place_while: READERS_PARKED,
    may_be_surplus: true,
    token: Kind::Writer.token(),
    probing: PROBING,
    announce: revoked,
    take: |word, tid| taken(word, Kind::Writer, tid),
    seize: |word, tid| seized(word, Kind::Writer, tid),
    in_child,
};

const MAY_UPGRADE: Bits = Bits {
    closed: Kind::Upgradable.kept_out_by() | HANDOFF,
    may_be_surplus: false,
    token: Kind::Upgradable.token(),
    announce: |word| word,
    take: |word, tid| taken(word, Kind::Upgradable, tid),
    seize: |word, tid| seized(word, Kind::Upgradable, tid),
    ..WRITES
};

/// An upgrader is inside already: no thread can be handed the lock, or be let in, before it has
/// left.
const UPGRADES: Bits = Bits {
    closed: Kind::Upgrader.kept_out_by(),
    promised: 0,
    parked: 0,
    leaves_place: Leaves::Never,
    may_be_surplus: false,
    token: Kind::Upgrader.token(),
    // It keeps readers out already: while it stood aside, the lock would stand idle.
    probing: Probing { aside_ns: 0, ..PROBING },
    take: |word, tid| taken(word, Kind::Upgrader, tid),
    // The owner is the upgrader itself: there is no other thread to take the lock over from.
    seize: |_, _| None,
    ..WRITES
};

/// Readers enter by rules of their own (`stops_reader`, `read`). They queue by these.
const READS: Bits = Bits {
    // Readers are let in when a writer leaves, which a thread on its way would put off.
    may_be_surplus: false,
    closed: Kind::Reader.kept_out_by() | HANDOFF,
    queues_as: READERS_PARKED,
    keeps_place: false,
    keeps_place_while: WRITER,
    token: Kind::Reader.token(),
    announce: |word| word,
    take: |word, _| read(word, false),
    seize: |word, _| seized_by_reader(word),
    ..WRITES
};

/// A rwlock's waiters look at it as often as a mutex's do, but for those that have waited for long.
pub(super) const PROBING: Probing = Probing {
    // A spinner's patience. Less than a mutex's: a preempted reader may be what it waits for, and
    // that needs the processor.
    spin_ns: 50_000,
    longer_ns: 0,
    is_cut_short: true,
    #[cfg(simulated)]
    spin: crate::prim::constant::Constant::RwlockSpin,
    #[cfg(simulated)]
    longer: crate::prim::constant::Constant::RwlockSpinsLonger,
    pauses: 1,
    most_pauses: 8,
    unseen: 256,
    unseen_by_sharers: 8,
    short: Short { looks: 20, lines: 16 },
    aside_ns: 12_500,
    yields: 100,
};

/// The bit of the heat at which readers bias the lock.
#[inline(always)]
fn hot() -> u64 {
    ONE_HEAT << adjustable!(HOT / ONE_HEAT, BiasAfter).ilog2()
}

/// The heat of a lock that has been biased lately: what a write leaves to it.
fn warm() -> u64 {
    hot() - hot().min(ONE_HEAT * adjustable!(AGAIN, BiasAgainAfter))
}

/// The word after a reader that saw nothing in its way entered; `None` if there is more to it.
#[inline]
pub(super) fn read_at_once(word: u64) -> Option<u64> {
    if word & (STOPS_READERS | hot()) == 0 { Some(word + (ONE_READER + ONE_HEAT)) } else { None }
}

/// Whether a reader sees nothing in its way but sleepers, and no hot lock.
#[inline]
pub(super) fn is_open_but_for_sleepers(word: u64) -> bool {
    read_at_once(word & !(PARKED | WAKES)).is_some()
}

/// What came of a reader's try to enter a free lock past sleepers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastSleepers {
    /// It has entered.
    Entered,
    /// The lock was free, and another thread changed its word at that moment, as a rule: the
    /// exchange is weak.
    Lost,
    /// There are no sleepers, or more is in the way.
    Not,
}

/// The word after a reader entered a free lock past sleepers; `None` if there are none, or there is
/// more to it: a hot lock has to cool (`read`).
#[inline]
pub(super) fn read_past_sleepers(word: u64) -> Option<u64> {
    let stops = (STOPS_READERS & !(PARKED | WAKES)) | OWNER | READERS | hot();
    let waits = matches!(policy(word), Policy::PreferWriters);
    let passes = word & (PARKED | WAKES) != 0 && word & stops == 0 && !waits;
    if passes { Some(word + ONE_READER) } else { None }
}

/// The word after `tid` entered a free lock as the writer, past sleepers; `None` if there are none,
/// or there is more to it: one who passes a spinner may have to say so (`yields::note_steal`).
#[inline]
pub(super) fn written_past_sleepers(word: u64, tid: u32) -> Option<u64> {
    let available = is_available(word, Kind::Writer) && !may_be_published(word);
    let passes = word & (PARKED | WAKES) != 0 && word & SPIN == 0 && available;
    passes.then(|| taken(word, Kind::Writer, tid))
}

/// The word after `tid` entered as the writer of a lock that no other thread is using; `None` if
/// there is more to it.
#[inline]
pub(super) const fn written_at_once(word: u64, tid: u32) -> Option<u64> {
    if word & STOPS_WRITERS == 0 {
        Some(word & (POLICY | WAS_BIASED) | WRITER | tid as u64)
    } else {
        None
    }
}

/// The word of a phase-fair lock in which `tid` writes, and no thread waits.
#[inline]
pub(super) const fn only_writer(tid: u32) -> u64 {
    WRITER | tid as u64
}

/// The word after a reader entered, whatever else is so. It biases the lock if that has become hot,
/// no thread waits, and `may_bias`.
#[inline]
pub(super) fn read(word: u64, may_bias: bool) -> u64 {
    let in_use = word & (WRITER | SPIN | HANDOFF | UPGRADING | PARKED | BIASED);
    if word & hot() == 0 {
        let heat = if in_use == 0 { ONE_HEAT } else { 0 };
        return word + ONE_READER + heat;
    }
    let cold = word & !HEAT;
    let hot = may_bias && in_use == 0;
    let word = if hot { (cold & !REVOKED) | BIASED | WAS_BIASED } else { cold };
    word + ONE_READER
}

/// Whether `read` gives the lock its first bias.
#[inline]
pub(super) fn is_to_be_biased_first(word: u64) -> bool {
    word & hot() != 0 && word & WAS_BIASED == 0
}

#[inline]
pub(super) const fn is_biased(word: u64) -> bool {
    word & BIASED != 0
}

/// Whether slots may hold readers.
#[inline]
pub(super) const fn may_be_published(word: u64) -> bool {
    word & (BIASED | REVOKED) != 0
}

#[inline]
pub(super) const fn is_written(word: u64) -> bool {
    word & WRITER != 0
}

/// Whether readers are inside, none of them in a slot, and one that leaves has nothing to settle.
#[inline]
pub(super) const fn is_quietly_read(word: u64) -> bool {
    word & READERS != 0
        && word & (WRITER | HANDOFF | UPGRADING | PARKED) == 0
        && !may_be_published(word)
}

/// Whether a writer is inside, or about to be, which may leave soon, and this thread isn't to let
/// sleepers go first.
#[inline]
pub(super) fn is_worth_a_spin(word: u64, turn_is_over: impl FnOnce() -> bool) -> bool {
    word & (WRITER | UPGRADING) != 0
        && word & HANDOFF == 0
        && !(word & PARKED != 0 && turn_is_over())
}

/// The word after a reader entered in place of the writer.
#[inline]
pub(super) const fn seized_by_reader(word: u64) -> Option<u64> {
    if word & WRITER != 0 { Some(written(word) + ONE_READER) } else { None }
}

/// Why a reader may not enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// A writer is inside, or an upgrade or a hand-off is due: it can't enter.
    Closed,
    /// A running writer spins for the lock: let it have it, if that is soon.
    Spinner,
    /// Writers sleep: it may enter as long as its turn lasts, and may yield to them first.
    Sleepers,
    /// Writers wait, and go first, however long it takes.
    WritersFirst,
    /// There are more readers than can be counted.
    TooMany,
}

/// What keeps a reader from entering. With `forced` it waits for no other waiter.
#[inline]
pub(super) const fn stops_reader(word: u64, forced: bool) -> Option<Stop> {
    if word & TOO_MANY_READERS != 0 {
        return Some(Stop::TooMany);
    }
    if word & WRITER != 0 {
        return Some(Stop::Closed);
    }
    if forced || matches!(policy(word), Policy::PreferReaders) {
        return None;
    }
    if word & (UPGRADING | HANDOFF) != 0 {
        return Some(Stop::Closed);
    }
    match policy(word) {
        Policy::PreferWriters if word & (SPIN | WAKES | WRITERS_PARKED) != 0 => {
            Some(Stop::WritersFirst)
        }
        _ if word & SPIN != 0 => Some(Stop::Spinner),
        // No thread is inside: sleepers will be woken once this reader leaves.
        _ if word & WRITERS_PARKED != 0 && word & (READERS | OWNER) != 0 => Some(Stop::Sleepers),
        _ => None,
    }
}

/// Whether a reader that was stopped may queue itself: some thread will settle, or take the lock
/// and then settle. (A spinner may give up without either.)
#[inline]
pub(super) const fn may_park_reader(stop: Stop) -> bool {
    match stop {
        Stop::Closed => true,
        Stop::Sleepers | Stop::WritersFirst => true,
        Stop::Spinner | Stop::TooMany => false,
    }
}

/// Whether the readers that a writer has kept out enter now, before other writers.
#[inline]
pub(super) const fn enters_after_writer(word: u64) -> bool {
    let writers_first =
        matches!(policy(word), Policy::PreferWriters | Policy::PreferWritersRecursive);
    !is_written(word) && !writers_first
}

/// The word when no reader may enter by a slot any more.
#[inline]
pub(super) fn revoked(word: u64) -> u64 {
    if is_biased(word) { without_bias(word) } else { word }
}

/// The word of a lock whose slots may hold readers, when none enters by one any more.
fn without_bias(word: u64) -> u64 {
    (word & !(BIASED | HEAT)) | REVOKED | warm()
}

/// The word when its owner is to wait for the readers in slots, and then to become the writer: as
/// an upgradable reader does, so that other readers may go on in the meantime.
#[inline]
pub(super) fn drained_by(word: u64) -> u64 {
    let word = if may_be_published(word) { without_bias(word) } else { word };
    word | UPGRADING
}

/// The word after `tid` took the lock as `kind`. A writer isn't inside yet if slots may hold
/// readers: then it has the upgradable reader's place.
#[inline]
pub(super) fn taken(word: u64, kind: Kind, tid: u32) -> u64 {
    match kind {
        Kind::Writer if may_be_published(word) => drained_by(word) | tid as u64,
        Kind::Writer => (word & !HEAT) | WRITER | tid as u64,
        Kind::Upgradable => word | tid as u64,
        // The owner is known. (A lock that it has drained is warm, and stays that.)
        Kind::Upgrader => {
            let heat = if word & HEAT == warm() { warm() } else { 0 };
            (word & !(HEAT | UPGRADING)) | heat | WRITER
        }
        // Readers have a way of their own.
        Kind::Reader | Kind::BriefReader => word,
    }
}

/// The word after `tid` took the lock as `kind`, over from its owner; `None` if others keep it out.
fn seized(word: u64, kind: Kind, tid: u32) -> Option<u64> {
    let rest = word & !(OWNER | WRITER | UPGRADING);
    if has_room_for(rest, kind) { Some(taken(rest, kind, tid)) } else { None }
}

/// The word in a forked child with an empty queue. A thread that only the parent has may own the
/// lock and wait there for readers to leave: it has written nothing.
fn in_child(word: u64, is_ours: fn(u32) -> bool) -> u64 {
    let word = word & !STALE_IN_CHILD;
    let waits = word & (UPGRADING | WRITER) == UPGRADING;
    if waits && !is_ours(owner(word)) { upgradable_left(word) } else { word }
}

/// The word after the writer left.
#[inline]
pub(super) const fn written(word: u64) -> u64 {
    word & !(OWNER | WRITER)
}

/// The word after the upgradable reader left.
#[inline]
pub(super) const fn upgradable_left(word: u64) -> u64 {
    word & !(OWNER | UPGRADING)
}

/// Whether a thread may be waiting for a release that left this word, and no other thread sees to
/// it.
#[inline]
pub(super) const fn is_to_be_settled(word: u64) -> bool {
    (word & PARKED != 0 && word & (SPIN | WAKES) == 0) || word & (HANDOFF | UPGRADING) != 0
}

/// The same after a counted reader left: only the last has to see to others.
#[inline]
pub(super) const fn is_to_be_settled_by_reader(word: u64) -> bool {
    word & READERS == 0 && is_to_be_settled(word)
}

/// The bits that are stale in a forked child with an empty queue.
pub(super) const STALE_IN_CHILD: u64 = SPIN | WAKES;

/// What is waiting at a lock's address, as far as `next` wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    /// The first in the queue.
    pub(super) first: Kind,
    /// Whether a reader is.
    pub(super) reader: bool,
    /// Whether one is that doesn't wake up by itself.
    pub(super) stuck: bool,
    /// The first that isn't a reader.
    pub(super) other: Option<Kind>,
    /// Whether the upgrader is.
    pub(super) upgrader: bool,
}

/// What has to be done for the waiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing: it is no waiter's turn, or a thread is on its way.
    Nothing,
    /// Let all readers in that wait.
    Readers,
    /// Let those in that don't wake up by themselves.
    StuckReaders,
    /// Let the upgrader write.
    Upgrader,
    /// Give the lock to the first that isn't a reader.
    Give(Kind),
    /// Wake the first that isn't a reader: it takes the lock by itself.
    WakeOther,
}

/// What has made room, or left the waiters to themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A writer left, or became a reader.
    Written,
    /// The last reader left, where reads are long (`long_reads`).
    ReadForLong,
    /// Anything else.
    Left,
}

/// Whose turn it is. As many woken writers may be on their way at once as `ahead` says.
pub(super) const fn next(word: u64, waiting: Waiting, cause: Cause, ahead: u64) -> Next {
    if word & WRITER != 0 {
        return Next::Nothing;
    }
    // A reader that is inside may wait for one that sleeps here, which must not wait for a writer
    // on top of that.
    let is_read = word & (READERS | OWNER | REVOKED) != 0;
    let readers_join = match policy(word) {
        Policy::PreferReaders if waiting.reader => Next::Readers,
        Policy::Recursive | Policy::PreferWritersRecursive if waiting.stuck && is_read => {
            Next::StuckReaders
        }
        _ => Next::Nothing,
    };
    if word & UPGRADING != 0 {
        // If it isn't queued it is awake.
        let may_write = waiting.upgrader && has_room_for(word, Kind::Upgrader);
        return if may_write { Next::Upgrader } else { readers_join };
    }
    let written = matches!(cause, Cause::Written);
    let first_reads = waiting.first.reads();
    let promised = word & HANDOFF != 0;
    // Where writers are preferred, yet readers may recurse, a writer that asked for the hand-off
    // goes first as soon as no thread is inside; others go first after a writer.
    let writers_first = if promised { !is_read } else { written };
    let readers_turn = match policy(word) {
        Policy::PreferWriters => {
            waiting.other.is_none() && (promised || word & (SPIN | WAKES) == 0)
        }
        // A writer that became a reader leaves no room for the next: readers don't wait for both.
        Policy::PreferWritersRecursive if writers_first => match waiting.other {
            None => true,
            Some(kind) => first_reads && !has_room_for(word, kind),
        },
        Policy::PreferWritersRecursive => first_reads,
        Policy::PhaseFair | Policy::Recursive | Policy::PreferReaders => {
            first_reads || (waiting.reader && written)
        }
    };
    if readers_turn {
        return Next::Readers;
    }
    if promised {
        return match waiting.other {
            Some(kind) if has_room_for(word, kind) => Next::Give(kind),
            _ => readers_join,
        };
    }
    if !matches!(readers_join, Next::Nothing) {
        return readers_join;
    }
    match waiting.other {
        Some(kind) if !has_room_for(word, kind) => Next::Nothing,
        // No more can be counted.
        Some(_) if word & WAKES == WAKES => Next::Nothing,
        // The thread on the way may want to write, and wait for longer than this one.
        Some(Kind::Upgradable) => Next::WakeOther,
        Some(kind) if word & SPIN == 0 && word & WAKES < ahead * ONE_WAKE => match cause {
            Cause::ReadForLong if !waiting.reader && !may_be_published(word) => Next::Give(kind),
            _ => Next::WakeOther,
        },
        _ => Next::Nothing,
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
