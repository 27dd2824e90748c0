//! Threads that meet at an object.

use super::pool::Pool;
use super::round::{AnyKind, NOW, Random, Round, Seat, tid};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Spins before a thread gives its processor away: two threads on two processors never do.
const SPINS: u64 = 3000;
/// The same for larger teams.
const SPINS_OF_MANY: u64 = 100;

/// The threads that meet.
pub(super) struct Team {
    pub(super) seats: usize,
    pub(super) rounds: u64,
    pub(super) seed: u64,
}

/// Where they meet: a word that counts arrivals.
struct Place {
    arrivals: AtomicU64,
    seats: u64,
}

impl Place {
    /// Waits for the others, in this thread's meeting of number `met`, which it counts.
    fn meet(&self, met: &mut u64) {
        *met += self.seats;
        self.arrivals.fetch_add(1, Ordering::AcqRel);
        let spins = if self.seats > 2 { SPINS_OF_MANY } else { SPINS };
        let mut spun = 0u64;
        while self.arrivals.load(Ordering::Acquire) < *met {
            spun += 1;
            if spun.is_multiple_of(spins) {
                thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }
}

/// What the leader sets up for a round.
struct Stage<'k> {
    kind: &'k dyn AnyKind,
    at: *mut u8,
    round: Round,
}

struct Shared<'k>(UnsafeCell<Option<Stage<'k>>>);

// SAFETY: the leader writes it between two meetings, while no other thread looks.
unsafe impl Sync for Shared<'_> {}

/// Runs the rounds of a team. The caller leads it.
pub(super) fn lockstep(team: &Team, pool: &Pool, kinds: &[&dyn AnyKind], counts: &[AtomicU64]) {
    let place = Place { arrivals: AtomicU64::new(0), seats: team.seats as u64 };
    let shared = Shared(UnsafeCell::new(None));
    thread::scope(|scope| {
        for number in 1..team.seats {
            let (place, shared) = (&place, &shared);
            scope.spawn(move || follow(team, number, place, shared));
        }
        lead(team, pool, kinds, counts, &place, &shared);
    });
    NOW.tids.iter().for_each(|tid| tid.store(0, Ordering::Relaxed));
}

fn seat(team: &Team, number: usize) -> Seat {
    NOW.tids[number].store(tid(), Ordering::Relaxed);
    Seat { number, random: Random::new(team.seed.wrapping_add(number as u64)) }
}

fn follow(team: &Team, number: usize, place: &Place, shared: &Shared<'_>) {
    let (mut seat, mut met) = (seat(team, number), 0);
    for _ in 0..team.rounds {
        place.meet(&mut met);
        // SAFETY: the leader set it before we met, and sets it next after the meeting below.
        let stage = unsafe { (*shared.0.get()).as_ref() }.expect("set up");
        seat.dawdle();
        // SAFETY: made by the leader, which ends it when all have met.
        seat.inside(|seat| unsafe { stage.kind.meet(stage.at, &stage.round, seat) });
        place.meet(&mut met);
    }
}

fn lead<'k>(
    team: &Team,
    pool: &Pool,
    kinds: &[&'k dyn AnyKind],
    counts: &[AtomicU64],
    place: &Place,
    shared: &Shared<'k>,
) {
    let (mut seat, mut met) = (seat(team, 0), 0);
    let mut choices = Random::new(team.seed ^ 0x5eed);
    let mut again: Option<(usize, *mut u8)> = None;
    for _ in 0..team.rounds {
        let (kind, at) = again.take().unwrap_or_else(|| {
            let kind = choose_kind(&mut choices, kinds.len());
            (kind, pool.place(&mut choices, kinds[kind].layout()))
        });
        let round = begin_round(team.seats, &mut choices, kind);
        // SAFETY: the others wait for us in their next meeting.
        let stage = unsafe { (*shared.0.get()).insert(Stage { kind: kinds[kind], at, round }) };
        // SAFETY: the pool's, and no other object is alive.
        unsafe { stage.kind.make(at, &stage.round) };
        let stage = ptr::from_ref(stage);
        place.meet(&mut met);
        // SAFETY: no thread changes it until the end of the round.
        let stage = unsafe { &*stage };
        seat.dawdle();
        // SAFETY: made above, and ended below when all have met.
        seat.inside(|seat| unsafe { stage.kind.meet(at, &stage.round, seat) });
        place.meet(&mut met);
        // SAFETY: no other thread uses it any more.
        let stays = seat.inside(|seat| unsafe { stage.kind.end(at, &stage.round, seat) });
        again = stays.then_some((kind, at));
        end_round(&counts[kind]);
    }
}

/// Mostly chooses the first kind, the rwlock: its beginning takes the longest.
fn choose_kind(choices: &mut Random, kinds: usize) -> usize {
    if choices.below(3) == 0 { 0 } else { choices.below(kinds as u64) as usize }
}

fn begin_round(seats: usize, choices: &mut Random, kind: usize) -> Round {
    NOW.kind.store(kind, Ordering::Relaxed);
    let number = NOW.round.fetch_add(1, Ordering::Relaxed) + 1;
    Round::new(number, seats, choices.next() >> 8)
}

fn end_round(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
    NOW.done.fetch_add(1, Ordering::Relaxed);
}

/// One round of new threads that end with it.
pub(super) fn mortal(
    team: &Team,
    seed: u64,
    pool: &Pool,
    kinds: &[&dyn AnyKind],
    counts: &[AtomicU64],
) {
    let mut choices = Random::new(seed);
    let number = choose_kind(&mut choices, kinds.len());
    let kind = kinds[number];
    let at = pool.place(&mut choices, kind.layout());
    let round = begin_round(team.seats, &mut choices, number).mortal();
    // SAFETY: the pool's, and no other object is alive.
    unsafe { kind.make(at, &round) };
    let place = Place { arrivals: AtomicU64::new(0), seats: team.seats as u64 };
    let address = at.expose_provenance();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..team.seats)
            .map(|number| {
                let (place, round) = (&place, &round);
                scope.spawn(move || {
                    let mut seat = seat(team, number);
                    place.meet(&mut 0);
                    seat.inside(|seat| {
                        let at = ptr::with_exposed_provenance_mut(address);
                        // SAFETY: made above, and ended below when all have been joined.
                        unsafe { kind.meet(at, round, seat) };
                    });
                })
            })
            .collect();
        // Also for what threads do as they end.
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    });
    NOW.tids.iter().for_each(|tid| tid.store(0, Ordering::Relaxed));
    let mut seat = seat(team, 0);
    // SAFETY: all have been joined.
    unsafe { kind.end(at, &round, &mut seat) };
    end_round(&counts[number]);
}
