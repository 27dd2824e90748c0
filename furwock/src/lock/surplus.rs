//! Whether more threads than one are surplus at a rwlock, and what those do.
//!
//! Where writers hold a lock for a few hundred nanoseconds at a time, and threads do next to
//! nothing outside of it, a second processor adds nothing: it waits, and moves the lock's cache
//! line back and forth. One thread alone gets as much done in half of the processor time. The same
//! is so where threads do next to nothing inside, too, also as readers. (Dice 2017, "Malthusian
//! Locks", has others stand by for that reason.)
//!
//! A bucket learns by looks at the word whether a lock is one of the first; of the others a thread
//! knows by itself (`interval::this_thread_does_little`). Then a writer that was woken sits out for
//! a turn: it sleeps on, while the word says that it is on its way, so that no release wakes
//! another. Other writers that meet contention meanwhile queue at once. The thread that is left
//! runs alone. It may leave the lock to itself, or lose its processor; so a writer that sits out
//! looks at the lock now and then, and takes it if it is free and nobody uses it. Nor does it sit
//! out where readers are queued: they are let in when a writer leaves, which a thread on its way
//! puts off.

use super::bits::{Bits, OWNER, owner};
use super::interval::{SPELLS, this_thread_does_little};
use super::options::Options;
use super::spin::{CROWDING, now_ns};
use super::turn;
use crate::lot::{self, Key};
use crate::prim::adjustable;
use crate::prim::atomic::Ordering;
use crate::prim::spin_loop;
use crate::sys::thread::nap_for;

/// How often the word is loaded for one look, after a pause each: 1 to 3 us in all.
const LOADS: u32 = 64;

/// Threads are surplus where 16 looks show so many changes, looks that show one average so many
/// loads with an owner, and a thread that runs alone leaves nobody inside in so many loads at most.
/// Readers alone are better off together. The longer sections are, the better those of readers
/// overlap, and the less they change the word: sections of 0.2, 0.5 and 1 us, half of them writes,
/// do so some 100, 16 to 50, and 9 to 27 times (docs/experiments.md, "Surplus threads"). A thread
/// that does something outside of the lock leaves it free then, whatever it looked like when others
/// ran, too.
const LEAST_CHANGES: u32 = 48;
const LEAST_OWNED: u32 = 20;
const MOST_FREE: u32 = 12;

/// How long a writer that sits out sleeps between two looks. A look costs a sleep and a wake by the
/// clock, 5 to 10 us; and for so long a lock may lie idle though a thread waits for it.
const NAP_NS: u32 = 200_000;

/// A writer whose nap has taken so many times as long sits out no longer.
const LONGEST_NAPS: u64 = 5;

/// One in so many spells of a thread begins with a look.
const LEARNING_SPELLS: u32 = 256;

/// A thread queues at once only if it has run for so long, so that of two threads the one that has
/// just sat out stays.
const LEAST_RUN_NS: u64 = 100_000;

/// A thread that does little is surplus where so many loads, after a pause each, show so many
/// changes, and nobody inside so often. Where it does little at another lock, whose sections last
/// for 0.2 or 1 us, one load in 12 or 50 shows a change, and somebody is inside nearly always; at
/// one with empty sections, one in four, and nobody at every other one.
const FEW_LOADS: u32 = 16;
const FEW_CHANGES: u32 = 2;
const FEW_FREE: u32 = 2;

/// What a look has seen, in loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    changes: u32,
    owned: u32,
    free: u32,
}

/// Looks at a word by so many loads, after a pause each.
fn look_for(loads: u32, bits: &Bits, load: impl Fn() -> u64) -> Seen {
    let inside = |word| word & (OWNER | bits.shared);
    let (mut seen, mut last) = (Seen::default(), load());
    for _ in 0..loads {
        spin_loop();
        let word = load();
        seen.changes += u32::from(inside(word) != inside(last));
        seen.owned += u32::from(owner(word) != 0);
        seen.free += u32::from(inside(word) == 0);
        last = word;
    }
    seen
}

/// Looks at a word.
fn look(bits: &Bits, load: impl Fn() -> u64) -> Seen {
    // (The thread that woke this one may be on its way back from the kernel.)
    for _ in 0..LOADS {
        if load() & (OWNER | bits.shared) != 0 {
            break;
        }
        spin_loop();
    }
    look_for(LOADS, bits, load)
}

/// A short look, for a thread that does little: each load takes the line from the one that runs.
/// `None` where others do more than such a thread, or nothing.
fn look_briefly(bits: &Bits, load: impl Fn() -> u64) -> Option<Seen> {
    let seen = look_for(FEW_LOADS, bits, load);
    (seen.changes >= FEW_CHANGES && seen.free >= FEW_FREE).then_some(seen)
}

/// What the last looks have seen, on average, in a bucket's word: in its lower bits the loads with
/// nobody inside while one thread ran alone, then those with an owner, and the changes.
#[derive(Clone, Copy)]
struct Averages(u32);

/// Whose look it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looker {
    /// A thread that met contention. How often nobody is inside says nothing of one that would run
    /// alone.
    Newcomer,
    /// A writer that sits out.
    Sitter,
}

/// Each look counts for one part of so many; the first for a half, so that several have to agree.
const WEIGHT: u32 = 16;
/// The same of looks at a thread that runs alone, which are few.
const ALONE_WEIGHT: u32 = 4;

/// An average in the word, which is `scale` times as large.
struct Field {
    at: u32,
    bits: u32,
    scale: u32,
}

const FREE: Field = Field { at: 0, bits: 10, scale: 16 };
const OWNED: Field = Field { at: 10, bits: 10, scale: 16 };
const CHANGES: Field = Field { at: 20, bits: 12, scale: 64 };

impl Field {
    fn of(&self, word: u32) -> u32 {
        word >> self.at & ((1 << self.bits) - 1)
    }

    /// The word with this average alone, after another look; it is 0 before the first.
    fn after(&self, word: u32, loads: u32) -> u32 {
        let average = self.of(word);
        let new = match word {
            0 => loads * self.scale / 2,
            _ => average - (average + WEIGHT / 2) / WEIGHT + loads * self.scale / WEIGHT,
        };
        new.min((1 << self.bits) - 1) << self.at
    }

    fn kept(&self, word: u32) -> u32 {
        self.of(word) << self.at
    }

    /// The same after a look that says nothing of it: what was too much is tried again in the end,
    /// after some hundred looks.
    fn faded(&self, word: u32) -> u32 {
        self.of(word).saturating_sub(1) << self.at
    }

    /// The same after a look at a thread that runs alone. If it leaves the lock free too often, the
    /// average is set to the most, so that it takes long until this is tried again.
    fn after_alone(&self, word: u32, loads: u32) -> u32 {
        let average = self.of(word);
        let new = average - average / ALONE_WEIGHT + loads * self.scale / ALONE_WEIGHT;
        let most = (1 << self.bits) - 1;
        let is_too_much = new > self.scale * most_free();
        (if is_too_much { most } else { new }) << self.at
    }
}

impl Averages {
    /// Of a look that shows no change, all loads are alike: a holder has lost its processor, or
    /// stays for long.
    fn after(self, seen: Seen, looker: Looker) -> Self {
        let word = self.0;
        let changes = CHANGES.after(word, seen.changes);
        Self(match (seen.changes, looker) {
            (0, _) => changes | OWNED.kept(word) | FREE.kept(word),
            (_, Looker::Newcomer) => changes | OWNED.after(word, seen.owned) | FREE.faded(word),
            (_, Looker::Sitter) => {
                changes | OWNED.after(word, seen.owned) | FREE.after_alone(word, seen.free)
            }
        })
    }

    fn say_surplus(self) -> bool {
        let Self(word) = self;
        CHANGES.of(word) * 16 >= CHANGES.scale * adjustable!(LEAST_CHANGES, SurplusChanges)
            && OWNED.of(word) >= OWNED.scale * adjustable!(LEAST_OWNED, SurplusOwned)
            && FREE.of(word) <= FREE.scale * most_free()
    }
}

fn most_free() -> u32 {
    adjustable!(MOST_FREE, SurplusFree)
}

/// Whether a waiter of this kind, which is to wait so, may ever be surplus: not where priorities
/// count, nor in a model, which has no time.
#[inline]
pub(super) fn may_be(bits: &Bits, options: &Options) -> bool {
    !cfg!(any(loom, shuttle))
        && bits.may_be_surplus
        && options.are_patient()
        && !lot::are_there_ranks()
}

/// Whether more threads than one have lately been surplus at the lock at `key`.
fn seems_so(key: Key) -> bool {
    let learnt = &lot::advice(key)[CROWDING];
    Averages(learnt.load(Ordering::Relaxed)).say_surplus()
}

/// The same by a look besides, which is learnt.
fn is_so(key: Key, bits: &Bits, looker: Looker, load: impl Fn() -> u64) -> (bool, Seen) {
    let seen = look(bits, load);
    let learnt = &lot::advice(key)[CROWDING];
    let averages = Averages(learnt.load(Ordering::Relaxed)).after(seen, looker);
    learnt.store(averages.0, Ordering::Relaxed);
    (averages.say_surplus(), seen)
}

/// Whether a thread that meets contention at the lock at `key` is to queue at once, since another
/// runs there; only if it `may`, as one that waits is on its way already.
pub(super) fn is_surplus(key: Key, bits: &Bits, may: bool, load: impl Fn() -> u64) -> bool {
    let does_little = may && this_thread_does_little();
    let may = may && (does_little || seems_so(key)) && turn::has_run_for(LEAST_RUN_NS);
    if may && does_little && look_briefly(bits, &load).is_some() {
        return true;
    }
    if !may && !is_time_to_learn() {
        return false;
    }
    let (is_so, seen) = is_so(key, bits, Looker::Newcomer, load);
    may && is_so && seen.changes != 0 && seen.free <= most_free()
}

/// Whether this thread is to look at the lock for the sake of all: threads that spin for short
/// sections seldom sleep, so that none is woken.
fn is_time_to_learn() -> bool {
    lot::own().is_some_and(|thread| {
        let spells = thread.notes.counts[SPELLS].load(Ordering::Relaxed);
        spells % LEARNING_SPELLS == LEARNING_SPELLS / 2
    })
}

/// Sleeps as long as another thread runs at the lock at `key` and more are surplus, for a turn at
/// most, and until a signal comes. The caller has been woken, and the word says that it is on its
/// way.
pub(super) fn sit_out(key: Key, bits: &Bits, load: impl Fn() -> u64) {
    sit_out_by(nap_for, key, bits, load);
}

/// The same by naps for so many nanoseconds that say whether they were undisturbed.
fn sit_out_by(mut nap_for: impl FnMut(u32) -> bool, key: Key, bits: &Bits, load: impl Fn() -> u64) {
    // (As before it slept.)
    let does_little = this_thread_does_little();
    if bits.is_available(load()) && !does_little && !seems_so(key) {
        return;
    }
    let nap_ns = adjustable!(NAP_NS, SurplusNap);
    let began = now_ns();
    let mut slept_until = began;
    let mut has_seen_others = false;
    while slept_until.saturating_sub(began) < turn::whole_ns() {
        let (is_so, seen) = if does_little {
            (true, look_briefly(bits, &load).unwrap_or_default())
        } else {
            is_so(key, bits, Looker::Sitter, &load)
        };
        has_seen_others |= seen.changes != 0;
        let word = load();
        // A holder that seems to stand still has no processor, or a reader that was let in hasn't
        // got one yet.
        let runs = seen.changes != 0 || (has_seen_others && !bits.is_available(word));
        let is_others_turn = word & (bits.promised | bits.keeps_place_while) != 0;
        if !(is_so && runs) || is_others_turn || !nap_for(nap_ns) {
            return;
        }
        // (With coarse timers, or beside others that want the processor, it takes too long.)
        let now = now_ns();
        if now.saturating_sub(slept_until) > LONGEST_NAPS * u64::from(nap_ns) {
            return;
        }
        slept_until = now;
    }
}

/// A look where more threads than one are surplus.
#[cfg(all(test, not(any(loom, shuttle))))]
const CROWDED: Seen = Seen { changes: 7, owned: LOADS / 2, free: 4 };

/// As if looks had shown that again and again.
#[cfg(all(test, not(any(loom, shuttle))))]
pub(super) fn learn_that_threads_are(key: Key) {
    let learnt = (0..20).fold(Averages(0), |averages, _| averages.after(CROWDED, Looker::Newcomer));
    lot::advice(key)[CROWDING].store(learnt.0, Ordering::Relaxed);
}

/// As if nobody had looked at a lock of that bucket.
#[cfg(all(test, not(any(loom, shuttle))))]
pub(super) fn forget(key: Key) {
    lot::advice(key)[CROWDING].store(0, Ordering::Relaxed);
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::lock::interval;
    use crate::lock::writers_bits as bits;
    use core::cell::Cell;
    use std::time::{Duration, Instant};

    const OWNER_INSIDE: u64 = 1;

    fn reader_inside() -> u64 {
        bits().shared & bits().shared.wrapping_neg()
    }

    fn key(place: &u32) -> Key {
        Key::rwlock(core::ptr::from_ref(place).addr())
    }

    fn after(averages: Averages, seen: Seen, looker: Looker, looks: u32) -> Averages {
        (0..looks).fold(averages, |averages, _| averages.after(seen, looker))
    }

    #[test]
    fn several_looks_tell_that_threads_are_surplus() {
        use Looker::{Newcomer, Sitter};
        for looker in [Newcomer, Sitter] {
            let none = Averages(0);
            assert!(!after(none, CROWDED, looker, 1).say_surplus());
            let crowded = after(none, CROWDED, looker, 12);
            assert!(crowded.say_surplus());
            let few_changes = Seen { changes: 2, ..CROWDED };
            let seldom_owned = Seen { owned: LOADS / 8, ..CROWDED };
            for other in [few_changes, seldom_owned] {
                assert!(!after(none, other, looker, 99).say_surplus(), "{other:?}");
                assert!(!after(crowded, other, looker, 99).say_surplus(), "{other:?}");
            }
        }
    }

    #[test]
    fn a_thread_that_leaves_the_lock_free_is_not_left_alone_again_soon() {
        let often_free = Seen { free: LOADS / 2, ..CROWDED };
        let mut averages = after(Averages(0), often_free, Looker::Newcomer, 99);
        assert!(averages.say_surplus(), "it says nothing of a thread that runs alone");
        let looks = (1..).find(|_| {
            averages = averages.after(often_free, Looker::Sitter);
            !averages.say_surplus()
        });
        assert!(looks < Some(3), "{looks:?}");
        let again = (1..2_000)
            .find(|looks| after(averages, CROWDED, Looker::Newcomer, *looks).say_surplus());
        assert!(again > Some(500), "{again:?}");
    }

    #[test]
    fn a_holder_without_a_processor_says_nothing_of_who_is_inside() {
        let still = Seen { changes: 0, owned: 0, free: 0 };
        let crowded = after(Averages(0), CROWDED, Looker::Sitter, 12);
        let averages = after(crowded, still, Looker::Sitter, 99);
        for field in [OWNED, FREE] {
            assert_eq!(field.of(averages.0), field.of(crowded.0));
        }
        assert!(!averages.say_surplus(), "the word changes seldom");
    }

    /// Whatever another lock has left there.
    #[test]
    fn averages_stay_in_their_places() {
        let most = Seen { changes: LOADS, owned: LOADS, free: LOADS };
        let least = Seen { changes: 1, owned: 0, free: 0 };
        for looker in [Looker::Newcomer, Looker::Sitter] {
            for word in [u32::MAX, 1, 0xfff, 0xffff_f000, 0x5555_5555] {
                let much = after(Averages(word), most, looker, 99).0;
                for field in [OWNED, CHANGES] {
                    let wrong = field.of(much).abs_diff(LOADS * field.scale);
                    assert!(wrong < field.scale, "{much:#x}");
                }
                let little = after(Averages(word), least, looker, 2_000).0;
                assert!(OWNED.of(little) < OWNED.scale, "{little:#x}");
                let fades = looker == Looker::Newcomer;
                assert!(!fades || FREE.of(little) == 0, "{little:#x}");
            }
        }
    }

    #[test]
    fn a_look_counts_what_is_inside() {
        let loads = Cell::new(0);
        let of = |words: &[u64]| {
            loads.set(0);
            look(bits(), || {
                loads.set(loads.get() + 1);
                words[loads.get() % words.len()]
            })
        };
        let reader = reader_inside();
        let busy = of(&[OWNER_INSIDE, reader]);
        assert_eq!(busy, Seen { changes: LOADS, owned: LOADS / 2, free: 0 });
        assert_eq!(of(&[OWNER_INSIDE]), Seen { changes: 0, owned: LOADS, free: 0 });
        // Other bits are no changes.
        let queued = OWNER_INSIDE | bits().queues_as;
        assert_eq!(of(&[OWNER_INSIDE, queued]), Seen { changes: 0, owned: LOADS, free: 0 });
        assert_eq!(of(&[0]), Seen { changes: 0, owned: 0, free: LOADS });
        assert_eq!(loads.get(), 2 * LOADS as usize + 1, "it waits for a first section");
    }

    #[test]
    fn a_writer_that_does_little_sits_out_where_another_comes_and_goes() {
        let place = 0;
        let key = key(&place);
        // Whether it sits out where another is inside, or nobody, for so many loads each.
        let sits_out = |of_each: u32, other_bits: u64| {
            let (loads, mut naps) = (Cell::new(0), 0);
            let nap = |_| {
                naps += 1;
                false
            };
            forget(key);
            sit_out_by(nap, key, bits(), || {
                loads.set(loads.get() + 1);
                let is_inside = loads.get() / of_each % 2 == 1;
                other_bits | if is_inside { OWNER_INSIDE } else { 0 }
            });
            naps != 0
        };
        // (Another test's lock may be in the same bucket.)
        let comes = |of_each, other_bits| (0..100).any(|_| !sits_out(of_each, other_bits));
        assert!(comes(4, 0), "nothing is known");
        interval::learn_that_sections_are_short();
        assert!((0..100).all(|_| sits_out(4, 0)));
        for no_more in [bits().promised, bits().keeps_place_while] {
            assert!((0..100).all(|_| !sits_out(4, no_more)), "others come first");
        }
        assert!(comes(2 * FEW_LOADS, 0), "sections are longer");
        assert!(comes(u32::MAX, 0), "nobody uses it");
    }

    /// For how long a writer sits out at a lock of that word, and how often it looks.
    fn sits_out(key: Key, load: impl Fn() -> u64) -> (Duration, usize) {
        let loads = Cell::new(0);
        let start = Instant::now();
        sit_out(key, bits(), || {
            loads.set(loads.get() + 1);
            load()
        });
        (start.elapsed(), loads.get() / LOADS as usize)
    }

    #[test]
    fn a_writer_sits_out_for_a_turn_at_most() {
        let place = 0;
        let key = key(&place);
        let at = Cell::new(0_u32);
        let crowded = || {
            at.set(at.get() + 1);
            if at.get() / 9 % 2 == 0 { OWNER_INSIDE } else { reader_inside() }
        };
        learn_that_threads_are(key);
        let (lasted, looks) = sits_out(key, crowded);
        let (nap, turn) = (u64::from(NAP_NS), turn::whole_ns());
        assert!(lasted >= Duration::from_nanos(nap), "{lasted:?}");
        assert!(looks as u64 <= turn / nap + 2, "{looks} looks");
        // Of a lock that isn't like that.
        let (idle, held) = (|| 0, || OWNER_INSIDE);
        learn_that_threads_are(key);
        assert!(sits_out(key, idle).1 <= 2, "nobody uses it");
        for no_more in [bits().promised, bits().keeps_place_while] {
            learn_that_threads_are(key);
            assert_eq!(sits_out(key, || crowded() | no_more).1, 1, "others come first");
        }
        forget(key);
        assert_eq!(sits_out(key, held).1, 1, "nothing is known of it");
        assert_eq!(sits_out(key, idle).1, 0, "nor of this one, which is free");
    }
}
