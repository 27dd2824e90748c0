//! The stacks by which objects were made: a hash table whose entries are claimed, filled and then
//! shown, as the record's are, but in the process's own memory.

use super::super::modules;
use super::super::tables;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use furwock_record::FRAMES;

/// How many there may be.
pub(super) const MOST: usize = 2048;
/// Once so many are in use, a new stack is only its innermost frames: programs that make objects by
/// recursion have any number of whole ones.
const SHORT_FROM: u32 = MOST as u32 / 4 * 3;
const SHORT: usize = 4;
/// Entries that are looked at.
const LONGEST: usize = 64;

struct Place {
    /// Written last; 0 if there is none.
    hash: AtomicU64,
    /// How many frames; not 0 once a thread writes the entry.
    length: AtomicU32,
    is_cut: AtomicU32,
    frames: [AtomicU64; FRAMES],
}

/// All zero, so that what isn't used takes no memory. The first stays empty.
static PLACES: [Place; MOST] = [const {
    Place {
        hash: AtomicU64::new(0),
        length: AtomicU32::new(0),
        is_cut: AtomicU32::new(0),
        frames: [const { AtomicU64::new(0) }; FRAMES],
    }
}; MOST];
static USED: AtomicU32 = AtomicU32::new(0);

/// The number of the place with these frames, innermost first; 0 if there is no room, or none.
pub(in super::super) fn find_or_enter(frames: &[u64], is_cut: bool) -> u32 {
    let is_short = USED.load(Ordering::Relaxed) >= SHORT_FROM && frames.len() > SHORT;
    let (frames, is_cut) = if is_short { (&frames[..SHORT], true) } else { (frames, is_cut) };
    if frames.is_empty() {
        return 0;
    }
    let hash = tables::hash_of(frames, is_cut);
    let start = hash as usize >> 1;
    for at in (0..LONGEST).map(|step| (start + step) % MOST).filter(|&at| at != 0) {
        let place = &PLACES[at];
        if place.is(hash, frames) {
            return at as u32;
        }
        let (length, order) = (frames.len() as u32, Ordering::Relaxed);
        if place.length.compare_exchange(0, length, order, order).is_ok() {
            for (to, &frame) in place.frames.iter().zip(frames) {
                to.store(frame, order);
            }
            place.is_cut.store(is_cut.into(), order);
            place.hash.store(hash, Ordering::Release);
            USED.fetch_add(1, order);
            return at as u32;
        }
    }
    0
}

impl Place {
    fn is(&self, hash: u64, frames: &[u64]) -> bool {
        self.hash.load(Ordering::Acquire) == hash
            && self.length.load(Ordering::Relaxed) as usize == frames.len()
            && self.frames.iter().zip(frames).all(|(a, &b)| a.load(Ordering::Relaxed) == b)
    }
}

/// The place as a stack of the record.
pub(super) fn in_record(number: u32) -> u32 {
    let Some(place) = PLACES.get(number as usize) else { return 0 };
    if place.hash.load(Ordering::Acquire) == 0 {
        return 0;
    }
    let length = (place.length.load(Ordering::Relaxed) as usize).min(FRAMES);
    let mut frames = [0; FRAMES];
    for (to, frame) in frames.iter_mut().zip(&place.frames) {
        *to = frame.load(Ordering::Relaxed);
    }
    let frames = &frames[..length];
    frames.iter().for_each(|&frame| modules::note(frame as usize));
    tables::stack(frames, place.is_cut.load(Ordering::Relaxed) != 0)
}
