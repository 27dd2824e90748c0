//! Each object's place, by its address and kind: a word for each, which is written at once. Rows of
//! eight words; an object whose row is full takes the place of another one there, since programs
//! free objects without destroying them.

use super::super::Kind;
use super::super::tables::mix;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const ROWS: usize = 1 << 14;
const WAYS: usize = 8;

#[repr(align(64))]
struct Row([AtomicU64; WAYS]);

/// Zero is a free word. All zero, so that what isn't used takes no memory.
static OBJECTS: [Row; ROWS] = [const { Row([const { AtomicU64::new(0) }; WAYS]) }; ROWS];

/// Where the next object goes whose row is full.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// From the lowest bit: the place, the kind, the address without its two lowest bits.
const PLACE_BITS: u32 = 16;
const KIND_BITS: u32 = 3;
const ALIGNED: u32 = 2;

const _: () = assert!(Kind::Spin as u32 == (1 << KIND_BITS) - 1);
const _: () = assert!(super::places::MOST < 1 << PLACE_BITS);

/// The word without a place. None for an address that no program has by default.
fn key(object: usize, kind: u32) -> Option<u64> {
    let address = (object >> ALIGNED) as u64;
    let fits = address >> (u64::BITS - PLACE_BITS - KIND_BITS) == 0 && kind >> KIND_BITS == 0;
    fits.then(|| (address << KIND_BITS | u64::from(kind)) << PLACE_BITS)
}

fn row(key: u64) -> &'static [AtomicU64; WAYS] {
    &OBJECTS[mix(key >> (PLACE_BITS + KIND_BITS)) as usize % ROWS].0
}

/// The object's word, and what it holds.
fn word(key: u64) -> Option<(&'static AtomicU64, u64)> {
    let words = row(key).iter().map(|word| (word, word.load(Ordering::Acquire)));
    words.into_iter().find(|(_, value)| value >> PLACE_BITS == key >> PLACE_BITS)
}

pub(super) fn insert(object: usize, kind: Kind, place: u32) {
    let Some(key) = key(object, kind as u32) else { return };
    let value = key | u64::from(place);
    if let Some((word, _)) = word(key) {
        return word.store(value, Ordering::Release);
    }
    let row = row(key);
    let (free, order) = (0, Ordering::Relaxed);
    let takes = |word: &&AtomicU64| {
        word.load(order) == free
            && word.compare_exchange(free, value, Ordering::Release, order).is_ok()
    };
    if row.iter().find(takes).is_none() {
        let next = NEXT.fetch_add(1, order) as usize % WAYS;
        row[next].store(value, Ordering::Release);
    }
}

pub(super) fn remove(object: usize, kind: Kind) {
    let found = key(object, kind as u32).and_then(word);
    if let Some((word, value)) = found {
        // Unless another object has taken its place.
        _ = word.compare_exchange(value, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// The place of the object, if it is known.
pub(super) fn find(object: usize, kind: u32) -> Option<u32> {
    let (_, value) = word(key(object, kind)?)?;
    Some((value & ((1 << PLACE_BITS) - 1)) as u32)
}
