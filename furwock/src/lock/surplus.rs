//! Whether more threads than one are surplus at a rwlock, and what those do.
//!
//! Where writers hold a lock for a few hundred nanoseconds at a time, and threads do next to
//! nothing outside of it, a second processor adds nothing: it waits, and takes the lock's cache
//! line to and fro. One thread alone gets as much done in half of the processor time (Dice 2017,
//! "Malthusian Locks", restricts concurrency for the same reason).
//!
//! A bucket learns by looks at the word whether a lock is one of these. Then a writer that was
//! woken sits out for a turn: it sleeps on, while the word says that it is on its way, so that no
//! release wakes another. A thread that meets contention meanwhile queues at once. The one that is
//! left runs alone. It may leave the lock to itself, or lose its processor; so a writer that sits
//! out looks at the lock now and then, and takes it if it is free and nobody uses it.

use super::bits::{Bits, OWNER, owner};
use super::spin::{CROWDING, SPELLS, now_ns};
use super::turn;
use crate::lot::{self, Key};
use crate::prim::adjustable;
use crate::prim::atomic::Ordering;
use crate::prim::spin_loop;
use crate::sys::thread::nap_for;

/// How often the word is loaded for one look, after a pause each: 1 to 3 us in all.
const LOADS: u32 = 64;

/// Threads are surplus where 16 looks show so many changes, and a look in which there is one so
/// many loads with an owner, and so many with nobody inside, on average. Readers alone are better
/// off together. The longer sections are, the better those of readers overlap, and the less they
/// change the word: sections of 0.2, 0.5 and 1 us, half of them writes, do so some 100, 16 to 50,
/// and 9 to 27 times (docs/experiments.md, "Surplus threads"). Where threads do something outside
/// of the lock, it is free in between.
const LEAST_CHANGES: u32 = 48;
const LEAST_OWNED: u32 = 20;
const MOST_FREE: u32 = 12;

/// How long a writer that sits out sleeps between two looks. A look costs a sleep and a wake by the
/// clock, 5 to 10 us; and for so long a lock may lie idle though a thread waits for it.
const NAP_NS: u32 = 200_000;

/// One in so many spells of a thread begins with a look.
const LEARNING_SPELLS: u32 = 256;

/// A thread queues at once only if it has run for so long: the one that has sat out gets its turn
/// from those that ran meanwhile.
const LEAST_RUN_NS: u64 = 100_000;

/// What a look has seen, in loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    changes: u32,
    owned: u32,
    free: u32,
}

/// Looks at a word.
fn look(bits: &Bits, load: impl Fn() -> u64) -> Seen {
    let inside = |word| word & (OWNER | bits.shared);
    let is_free = |word| inside(word) == 0;
    // (The thread that woke this one may be on its way back from the kernel.)
    for _ in 0..LOADS {
        if !is_free(load()) {
            break;
        }
        spin_loop();
    }
    let (mut seen, mut last) = (Seen::default(), load());
    for _ in 0..LOADS {
        spin_loop();
        let word = load();
        seen.changes += u32::from(inside(word) != inside(last));
        seen.owned += u32::from(owner(word) != 0);
        seen.free += u32::from(is_free(word));
        last = word;
    }
    seen
}

/// What the last looks have seen, on average, in a bucket's word: the loads with nobody inside in
/// its lower bits, then those with an owner, and the changes. (A semaphore in the same bucket takes
/// the lower bits for a number of looks: they are few where threads are surplus.)
#[derive(Clone, Copy)]
struct Averages(u32);

/// Each look counts for one part of so many; the first for a half, so that several have to agree.
const WEIGHT: u32 = 16;

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
}

impl Averages {
    /// Of a look that shows no change, all loads are alike: a holder has lost its processor, or
    /// stays for long.
    fn after(self, seen: Seen) -> Self {
        let word = self.0;
        let changes = CHANGES.after(word, seen.changes);
        Self(match seen.changes {
            0 => changes | OWNED.kept(word) | FREE.kept(word),
            _ => changes | OWNED.after(word, seen.owned) | FREE.after(word, seen.free),
        })
    }

    fn say_surplus(self) -> bool {
        let Self(word) = self;
        CHANGES.of(word) * 16 >= CHANGES.scale * adjustable!(LEAST_CHANGES, SurplusChanges)
            && OWNED.of(word) >= OWNED.scale * adjustable!(LEAST_OWNED, SurplusOwned)
            && FREE.of(word) <= FREE.scale * adjustable!(MOST_FREE, SurplusFree)
    }
}

/// Whether more threads than one have lately been surplus at the lock at `key`.
fn seems_so(key: Key) -> bool {
    let learnt = &lot::advice(key)[CROWDING];
    !cfg!(any(loom, shuttle)) && Averages(learnt.load(Ordering::Relaxed)).say_surplus()
}

/// The same by a look besides, which is learnt.
fn is_so(key: Key, bits: &Bits, load: impl Fn() -> u64) -> (bool, Seen) {
    let seen = look(bits, load);
    let learnt = &lot::advice(key)[CROWDING];
    let averages = Averages(learnt.load(Ordering::Relaxed)).after(seen);
    learnt.store(averages.0, Ordering::Relaxed);
    (averages.say_surplus(), seen)
}

/// Whether a thread that meets contention at the lock at `key` is to queue at once, since another
/// runs there; only if it `may`, as one that waits is on its way already.
pub(super) fn is_surplus(key: Key, bits: &Bits, may: bool, load: impl Fn() -> u64) -> bool {
    let may = may && seems_so(key) && turn::has_run_for(LEAST_RUN_NS);
    if !may && !is_time_to_learn() {
        return false;
    }
    let (is_so, seen) = is_so(key, bits, load);
    may && is_so && seen.changes != 0
}

/// Whether this thread is to look at the lock for the sake of all: threads that spin for short
/// sections seldom sleep, so that none is woken.
fn is_time_to_learn() -> bool {
    !cfg!(any(loom, shuttle))
        && lot::own().is_some_and(|thread| {
            let spells = thread.notes.counts[SPELLS].load(Ordering::Relaxed);
            spells % LEARNING_SPELLS == LEARNING_SPELLS / 2
        })
}

/// Sleeps as long as another thread runs at the lock at `key` and more are surplus, for a turn at
/// most. The caller has been woken, and the word says that it is on its way.
pub(super) fn sit_out(key: Key, bits: &Bits, load: impl Fn() -> u64) {
    let began = now_ns();
    let goes_on =
        || now_ns().saturating_sub(began) < turn::whole_ns() && is_to_sit_out(key, bits, &load);
    while goes_on() {
        nap_for(adjustable!(NAP_NS, SurplusNap));
    }
}

fn is_to_sit_out(key: Key, bits: &Bits, load: impl Fn() -> u64) -> bool {
    if cfg!(any(loom, shuttle)) {
        return false;
    }
    let (is_so, seen) = is_so(key, bits, &load);
    let word = load();
    // A holder that seems to stand still has no processor, or a reader that was let in hasn't got
    // one yet.
    let runs = seen.changes != 0 || !bits.is_available(word);
    is_so && runs && word & bits.promised == 0
}

/// As if looks had shown again and again that more threads than one are surplus.
#[cfg(all(test, not(any(loom, shuttle))))]
pub(super) fn learn_that_threads_are(key: Key) {
    let seen = Seen { changes: 7, owned: LOADS / 2, free: 4 };
    let learnt = (0..20).fold(Averages(0), |averages, _| averages.after(seen));
    lot::advice(key)[CROWDING].store(learnt.0, Ordering::Relaxed);
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::lock::writers_bits as bits;
    use core::cell::Cell;
    use std::time::{Duration, Instant};

    const OWNER_INSIDE: u64 = 1;

    fn reader_inside() -> u64 {
        bits().shared & bits().shared.wrapping_neg()
    }

    /// A key of its own, whose bucket has learnt nothing.
    fn key(place: &u32) -> Key {
        let key = Key::rwlock(core::ptr::from_ref(place).addr());
        lot::advice(key)[CROWDING].store(0, Ordering::Relaxed);
        key
    }

    /// What becomes of a word's averages if all looks show the same.
    fn averages(seen: Seen, looks: u32) -> Averages {
        (0..looks).fold(Averages(0), |averages, _| averages.after(seen))
    }

    const CROWDED: Seen = Seen { changes: 7, owned: LOADS / 2, free: 4 };

    #[test]
    fn several_looks_tell_that_threads_are_surplus() {
        assert!(!averages(CROWDED, 1).say_surplus());
        assert!(averages(CROWDED, 12).say_surplus());
        for other in [
            Seen { changes: 2, ..CROWDED },
            Seen { owned: LOADS / 8, ..CROWDED },
            Seen { free: LOADS / 2, ..CROWDED },
        ] {
            assert!(!averages(other, 99).say_surplus(), "{other:?}");
            let mut after = averages(CROWDED, 12);
            (0..99).for_each(|_| after = after.after(other));
            assert!(!after.say_surplus(), "{other:?}, not crowded any more");
        }
    }

    #[test]
    fn a_holder_without_a_processor_says_nothing_of_who_is_inside() {
        let still = Seen { changes: 0, owned: 0, free: 0 };
        let mut averages = averages(CROWDED, 12);
        let (owned, free) = (OWNED.of(averages.0), FREE.of(averages.0));
        (0..99).for_each(|_| averages = averages.after(still));
        assert_eq!((OWNED.of(averages.0), FREE.of(averages.0)), (owned, free));
        assert!(!averages.say_surplus(), "the word changes seldom");
    }

    /// Whatever another lock has left there.
    #[test]
    fn averages_stay_in_their_places() {
        let most = Seen { changes: LOADS, owned: LOADS, free: LOADS };
        for word in [u32::MAX, 1, 0xfff, 0xffff_f000, 0x5555_5555] {
            let after = (0..99).fold(Averages(word), |averages, _| averages.after(most)).0;
            for field in [FREE, OWNED, CHANGES] {
                let wrong = field.of(after).abs_diff(LOADS * field.scale);
                assert!(wrong < field.scale, "{:#x}", after);
            }
            let none = (0..999).fold(Averages(word), |averages, _| {
                averages.after(Seen { changes: 1, owned: 0, free: 0 })
            });
            assert!(FREE.of(none.0) < FREE.scale && OWNED.of(none.0) < OWNED.scale);
        }
    }

    #[test]
    fn a_look_counts_what_is_inside() {
        let looks = Cell::new(0);
        let of = |words: &[u64]| {
            looks.set(0);
            look(bits(), || {
                looks.set(looks.get() + 1);
                words[looks.get() % words.len()]
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
        assert_eq!(looks.get(), 2 * LOADS as usize + 1, "it waits for a first section");
    }

    /// How long a writer sits out at a lock of that word, and how often it looks.
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
        // One look after the other, of a lock that isn't like that.
        let idle = || 0_u64;
        let long = || OWNER_INSIDE;
        for (load, most) in [(&idle as &dyn Fn() -> u64, 2), (&long, 99)] {
            learn_that_threads_are(key);
            let (_, looks) = sits_out(key, load);
            assert!(looks <= most, "{looks}");
        }
        lot::advice(key)[CROWDING].store(0, Ordering::Relaxed);
        assert_eq!(sits_out(key, long).1, 1, "nothing is known of it");
        learn_that_threads_are(key);
        let promised = || crowded() | bits().promised;
        assert_eq!(sits_out(key, promised).1, 1, "it goes to one that waits");
    }
}
