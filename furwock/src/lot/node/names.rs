//! Names of objects, by their addresses: for people who look at waits. A name costs the object
//! nothing. It stands in a table of its own, which is mapped when the first object is named, and
//! which holds a number of names and no more. Beside the name the table counts the object's waits.
//!
//! An address picks a set of places, and a name stands in one of them. Writers hold a lock. Readers
//! hold none: an object that a thread waits for keeps its name meanwhile, unless it is renamed, and
//! then a reader may see a part of either name.

use super::short_lock::ShortLock;
use crate::sys::{fork, memory};
use core::fmt;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

const SETS: usize = 256;
/// Places for the addresses that pick a set: two cache lines of addresses.
const WAYS: usize = 16;
/// How many names there may be at once, if they spread evenly.
const PLACES: usize = SETS * WAYS;

/// The longest name, in bytes. Longer ones are cut.
pub(crate) const MOST_BYTES: usize = 95;
const WORDS: usize = (MOST_BYTES + 1) / size_of::<u64>();

/// The name of an object, and what is counted of it.
#[repr(C, align(128))]
struct Entry {
    /// With zeroes behind it.
    text: [AtomicU64; WORDS],
    waits: AtomicU64,
    waited_ns: AtomicU64,
    longest_ns: AtomicU64,
}

#[repr(C)]
struct Table {
    /// The address of the object that each entry is of, 0 if it is none's.
    objects: [AtomicUsize; PLACES],
    entries: [Entry; PLACES],
}

static TABLE: AtomicPtr<Table> = AtomicPtr::new(core::ptr::null_mut());
static LOCK: ShortLock = ShortLock::new();

/// Where a reader in another process finds the names.
#[derive(Debug)]
pub(crate) struct NamesLayout {
    /// The pointer to the table, null while nothing has a name.
    pub(crate) table: *const core::ffi::c_void,
    /// How many objects and entries the table has.
    pub(crate) places: usize,
    /// Within the table.
    pub(crate) objects: usize,
    pub(crate) entries: usize,
    pub(crate) entry_size: usize,
    /// Within an entry: the text, the three counts.
    pub(crate) text: usize,
    pub(crate) text_size: usize,
    pub(crate) waits: usize,
}

impl NamesLayout {
    pub(crate) const OURS: Self = Self {
        table: (&raw const TABLE).cast(),
        places: PLACES,
        objects: core::mem::offset_of!(Table, objects),
        entries: core::mem::offset_of!(Table, entries),
        entry_size: size_of::<Entry>(),
        text: core::mem::offset_of!(Entry, text),
        text_size: MOST_BYTES + 1,
        waits: core::mem::offset_of!(Entry, waits),
    };
}

/// An object's name: a copy.
///
/// ```
/// let cache = furwock::inspect::Named::new("cache", furwock::Mutex::new(0));
/// assert_eq!(cache.name().unwrap().to_string(), "cache");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name {
    bytes: [u8; MOST_BYTES + 1],
    length: usize,
}

impl Name {
    /// As much of `text` as there is room for, up to a NUL.
    fn new(text: &str) -> Self {
        let text = text.split('\0').next().unwrap_or_default();
        let most = text.len().min(MOST_BYTES);
        let length = (0..=most).rfind(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let mut bytes = [0; MOST_BYTES + 1];
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        Self { bytes, length }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        // Not a string only if another thread has renamed the object meanwhile.
        match core::str::from_utf8(&self.bytes[..self.length]) {
            Ok(text) => text,
            Err(error) => {
                core::str::from_utf8(&self.bytes[..error.valid_up_to()]).unwrap_or_default()
            }
        }
    }
}

impl core::ops::Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// What is counted of a named object's waits. Waits are those in which the thread went to sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) waits: u64,
    pub(crate) waited_ns: u64,
    pub(crate) longest_ns: u64,
}

/// An object that has a name.
#[derive(Clone, Copy)]
pub(crate) struct Named(&'static Entry);

impl Named {
    pub(crate) fn name(self) -> Name {
        let mut bytes = [0; MOST_BYTES + 1];
        for (part, word) in bytes.chunks_exact_mut(size_of::<u64>()).zip(&self.0.text) {
            part.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(MOST_BYTES);
        Name { bytes, length }
    }

    pub(crate) fn counts(self) -> Counts {
        Counts {
            waits: self.0.waits.load(Ordering::Relaxed),
            waited_ns: self.0.waited_ns.load(Ordering::Relaxed),
            longest_ns: self.0.longest_ns.load(Ordering::Relaxed),
        }
    }

    /// A wait is over that took so long.
    pub(crate) fn count(self, waited_ns: u64) {
        self.0.waits.fetch_add(1, Ordering::Relaxed);
        self.0.waited_ns.fetch_add(waited_ns, Ordering::Relaxed);
        self.0.longest_ns.fetch_max(waited_ns, Ordering::Relaxed);
    }
}

fn table() -> Option<&'static Table> {
    // SAFETY: null, or mapped for ever; zeroes are a table.
    unsafe { TABLE.load(Ordering::Acquire).as_ref() }
}

/// The places of the set that `address` picks.
fn places(address: usize) -> core::ops::Range<usize> {
    // Fibonacci hashing: the top bits of the product.
    let hash = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SETS.ilog2());
    let first = hash as usize * WAYS;
    first..first + WAYS
}

impl Table {
    fn find(&'static self, address: usize) -> Option<usize> {
        places(address).find(|place| self.objects[*place].load(Ordering::Acquire) == address)
    }
}

/// Whether the table is there.
#[inline]
pub(crate) fn are_there_any() -> bool {
    !TABLE.load(Ordering::Relaxed).is_null()
}

/// The object at `address`, if it has a name. One load while nothing has one.
#[inline]
pub(crate) fn find(address: usize) -> Option<Named> {
    find_in(table()?, address)
}

#[cold]
fn find_in(table: &'static Table, address: usize) -> Option<Named> {
    Some(Named(&table.entries[table.find(address)?]))
}

/// Gives the object at `address` a name; one that has a name is renamed, and its counts stay.
/// Returns whether there was room for the name.
pub(crate) fn set(address: usize, text: &str) -> bool {
    static HOOK: fork::Hook = fork::Hook(forget_holder);
    fork::on_child(&HOOK);
    fork::watch();
    let _held = LOCK.lock();
    let Some(table) = table().or_else(map) else { return false };
    let known = table.find(address);
    let free = || places(address).find(|at| table.objects[*at].load(Ordering::Relaxed) == 0);
    let Some(place) = known.or_else(free) else { return false };
    let entry = &table.entries[place];
    let name = Name::new(text);
    for (word, part) in entry.text.iter().zip(name.bytes.chunks_exact(size_of::<u64>())) {
        word.store(u64::from_ne_bytes(part.try_into().unwrap_or_default()), Ordering::Relaxed);
    }
    if known.is_none() {
        for count in [&entry.waits, &entry.waited_ns, &entry.longest_ns] {
            count.store(0, Ordering::Relaxed);
        }
        table.objects[place].store(address, Ordering::Release);
    }
    true
}

/// Takes the name from the object at `address`, if it has one.
#[inline]
pub(crate) fn remove(address: usize) {
    if let Some(table) = table() {
        remove_from(table, address);
    }
}

#[cold]
fn remove_from(table: &'static Table, address: usize) {
    let _held = LOCK.lock();
    if let Some(place) = table.find(address) {
        table.objects[place].store(0, Ordering::Release);
    }
}

/// Under the lock.
fn map() -> Option<&'static Table> {
    let pages = memory::map_zeroed(size_of::<Table>())?;
    TABLE.store(pages.cast().as_ptr(), Ordering::Release);
    table()
}

/// In a forked child, which has the names too: a thread of the parent's may have held the lock.
fn forget_holder(_tid: u32) {
    LOCK.reset();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// The table has room for the names of one test at a time.
    fn alone() -> MutexGuard<'static, ()> {
        static ROOM: Mutex<()> = Mutex::new(());
        ROOM.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn an_object_has_the_name_that_it_was_given_last() {
        let (one, other) = (0x7000_0000_1000, 0x7000_0000_1008);
        assert!(find(one).is_none());
        assert!(set(one, "one") && set(other, "other"));
        find(one).unwrap().count(5);
        assert!(set(one, "uno"));
        assert_eq!(find(one).unwrap().name().as_str(), "uno");
        assert_eq!(find(one).unwrap().counts().waits, 1, "a new name resets no count");
        remove(one);
        assert!(find(one).is_none());
        assert_eq!(find(other).unwrap().name().as_str(), "other");
        assert!(set(one, "another lock at the address"));
        assert_eq!(find(one).unwrap().counts(), Counts::default());
        remove(one);
        remove(other);
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let name = Name::new(&"\u{e9}".repeat(60));
        assert_eq!(name.as_str(), "\u{e9}".repeat(MOST_BYTES / 2));
        assert_eq!(Name::new("a\0b").as_str(), "a");
        assert_eq!(Name::new("").as_str(), "");
    }

    #[test]
    fn there_is_room_for_a_thousand_and_no_object_pays_for_those_that_went() {
        let _room = alone();
        let at = |object: usize| 0x7100_0000_0000 + object * 40;
        for round in 0..20 {
            let named = (0..1000).filter(|object| set(at(*object), &format!("{object}"))).count();
            assert_eq!(named, 1000, "round {round}");
            assert_eq!(find(at(77)).unwrap().name().as_str(), "77");
            (0..1000).for_each(|object| remove(at(object)));
        }
    }

    #[test]
    fn names_that_find_no_room_are_refused() {
        let _room = alone();
        let same_set = |object: &usize| places(*object) == places(0x7200_0000_0000);
        let objects: Vec<_> =
            (0x7200_0000_0000..).step_by(8).filter(same_set).take(WAYS + 1).collect();
        let named: Vec<_> = objects.iter().filter(|object| set(**object, "x")).collect();
        assert_eq!(named.len(), WAYS);
        objects.iter().for_each(|object| remove(*object));
        assert!(set(objects[WAYS], "x"));
        remove(objects[WAYS]);
    }

    #[test]
    fn counts_add_up() {
        let object = 0x7300_0000_0000;
        set(object, "counted");
        let named = find(object).unwrap();
        [3, 9, 4].into_iter().for_each(|ns| named.count(ns));
        assert_eq!(named.counts(), Counts { waits: 3, waited_ns: 16, longest_ns: 9 });
        remove(object);
    }
}
