//! A record's entries, as copies.

use std::mem::offset_of;

use furwock_record as layout;
pub use furwock_record::Kind;

use super::bytes::Bytes;

/// One kind of entry.
pub trait Entry: Sized {
    const SIZE: usize;
    /// Whether entries are written again: one that is the same in two copies is whole.
    const IS_REUSED: bool = false;

    /// None if nothing is there, or nothing that makes sense.
    fn read(bytes: Bytes<'_>) -> Option<Self>;
}

#[derive(Clone, Debug)]
pub struct Lock {
    pub address: u64,
    pub kind: Kind,
    pub is_destroyed: bool,
    /// The key of a stack; 0 if unknown.
    pub made_by: u32,
    pub name: Option<String>,
    /// With those that threads haven't handed in yet.
    pub figures: Figures,
}

/// What one lock cost, or several.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub operations: u64,
    pub contended: u64,
    pub timeouts: u64,
    pub got: [u64; 4],
    pub sleeps: u64,
    pub wait: Spell,
    pub hold: Spell,
    /// What holders were found doing while others waited: looks by [`layout::Did`].
    pub holder_did: [u64; layout::DID],
}

/// Times of one kind, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spell {
    pub count: u64,
    pub total: u64,
    pub longest: u64,
    pub longest_began: u64,
    pub longest_stack: u32,
    pub longest_thread: u32,
}

#[derive(Clone, Debug)]
pub struct Thread {
    pub tid: u32,
    pub name: String,
    pub waited: u64,
    pub idle: u64,
    pub waits_for: u64,
    pub waits_kind: Option<Kind>,
    pub waits_since: u64,
    pub waits_stack: u32,
    pub waits_holder: u32,
    /// What it hasn't handed in yet.
    pub counts: Vec<Count>,
    pub pending: Vec<Pending>,
    pub other_operations: u64,
    pub left_to_glibc: u64,
}

/// Operations of one thread on one object.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    pub address: u64,
    pub kind: Kind,
    pub operations: u64,
}

/// Waits or holds of one thread for one lock with one stack.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    pub site: Site,
    pub longest_began: u64,
    pub sleeps: u64,
    pub got: [u32; 5],
}

#[derive(Clone, Debug)]
pub struct Stack {
    /// The innermost first: addresses that calls return to.
    pub frames: Vec<u64>,
    pub is_cut: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The key of a lock.
    pub lock: u32,
    pub stack: u32,
    /// Of holding the lock, instead of waiting for it.
    pub holds: bool,
    pub count: u64,
    pub total: u64,
    pub longest: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub number: u64,
    pub began: u64,
    pub took: u64,
    pub lock: u32,
    pub stack: u32,
    pub thread: u32,
    pub holder: u32,
    pub got: u32,
}

#[derive(Clone, Debug)]
pub struct Module {
    pub start: u64,
    pub end: u64,
    pub bias: u64,
    pub build_id: Option<String>,
    pub path: String,
}

/// A lock that was taken while another was held.
#[allow(dead_code, reason = "the order of locks isn't shown yet")]
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub held: u32,
    pub taken: u32,
    pub held_stack: u32,
    pub taken_stack: u32,
    pub thread: u32,
    pub flags: u32,
    pub count: u64,
    pub gates: [u32; 4],
}

impl Figures {
    pub fn add(&mut self, other: &Self) {
        add(&mut self.operations, other.operations);
        add(&mut self.contended, other.contended);
        add(&mut self.timeouts, other.timeouts);
        add(&mut self.sleeps, other.sleeps);
        self.got.iter_mut().zip(other.got).for_each(|(sum, more)| add(sum, more));
        let did = self.holder_did.iter_mut().zip(other.holder_did);
        did.for_each(|(sum, more)| add(sum, more));
        self.wait.add(&other.wait);
        self.hold.add(&other.hold);
    }
}

impl Site {
    /// Adds another one of the same lock and stack.
    pub fn add(&mut self, other: &Self) {
        add(&mut self.count, other.count);
        add(&mut self.total, other.total);
        self.longest = self.longest.max(other.longest);
    }
}

/// A damaged record may claim any number.
pub fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

impl Spell {
    fn read(bytes: Bytes<'_>) -> Self {
        Self {
            count: bytes.u64(offset_of!(layout::Spell, count)),
            total: bytes.u64(offset_of!(layout::Spell, total)),
            longest: bytes.u64(offset_of!(layout::Spell, longest)),
            longest_began: bytes.u64(offset_of!(layout::Spell, longest_began)),
            longest_stack: bytes.u32(offset_of!(layout::Spell, longest_stack)),
            longest_thread: bytes.u32(offset_of!(layout::Spell, longest_thread)),
        }
    }

    pub fn add(&mut self, other: &Self) {
        add(&mut self.count, other.count);
        add(&mut self.total, other.total);
        if other.longest > self.longest {
            let sums = (self.count, self.total);
            *self = *other;
            (self.count, self.total) = sums;
        }
    }
}

impl Entry for Lock {
    const SIZE: usize = size_of::<layout::Lock>();

    fn read(bytes: Bytes<'_>) -> Option<Self> {
        let (address, kind) = object(bytes.u64(offset_of!(layout::Lock, object)))?;
        let length = bytes.u32(offset_of!(layout::Lock, name_len));
        let name = bytes.text(offset_of!(layout::Lock, name), length, 40);
        let got = offset_of!(layout::Lock, got);
        Some(Self {
            address,
            kind,
            is_destroyed: bytes.u32(offset_of!(layout::Lock, is_destroyed)) != 0,
            made_by: bytes.u32(offset_of!(layout::Lock, made_by)),
            name: (!name.is_empty()).then(|| printable(name)),
            figures: Figures {
                operations: bytes.u64(offset_of!(layout::Lock, operations)),
                contended: bytes.u64(offset_of!(layout::Lock, contended)),
                timeouts: bytes.u64(offset_of!(layout::Lock, timeouts)),
                got: [0, 1, 2, 3].map(|at| bytes.u64(got + 8 * at)),
                sleeps: bytes.u64(offset_of!(layout::Lock, sleeps)),
                wait: Spell::read(bytes.from(offset_of!(layout::Lock, wait))),
                hold: Spell::read(bytes.from(offset_of!(layout::Lock, hold))),
                holder_did: std::array::from_fn(|at| {
                    bytes.u32(offset_of!(layout::Lock, holder_did) + 4 * at).into()
                }),
            },
        })
    }
}

impl Entry for Thread {
    const SIZE: usize = size_of::<layout::Thread>();

    fn read(bytes: Bytes<'_>) -> Option<Self> {
        let tid = bytes.u32(offset_of!(layout::Thread, tid));
        if tid == 0 {
            return None;
        }
        let name = bytes.text(offset_of!(layout::Thread, name), 16, 16);
        let name = name.split(|byte| *byte == 0).next().unwrap_or(&[]);
        let counts = bytes.from(offset_of!(layout::Thread, counts));
        let pending = bytes.from(offset_of!(layout::Thread, pending));
        let count = |at| Count::read(counts.from(at * size_of::<layout::Count>()));
        let sum = |at| Pending::read(pending.from(at * size_of::<layout::Pending>()));
        Some(Self {
            tid,
            name: printable(name),
            waited: bytes.u64(offset_of!(layout::Thread, waited)),
            idle: bytes.u64(offset_of!(layout::Thread, idle)),
            waits_for: bytes.u64(offset_of!(layout::Thread, waits_for)),
            waits_kind: kind(bytes.u32(offset_of!(layout::Thread, waits_kind))),
            waits_since: bytes.u64(offset_of!(layout::Thread, waits_since)),
            waits_stack: bytes.u32(offset_of!(layout::Thread, waits_stack)),
            waits_holder: bytes.u32(offset_of!(layout::Thread, waits_holder)),
            counts: (0..layout::COUNTS).filter_map(count).collect(),
            pending: (0..layout::PENDING).filter_map(sum).collect(),
            other_operations: bytes.u64(offset_of!(layout::Thread, other_operations)),
            left_to_glibc: bytes.u64(offset_of!(layout::Thread, left_to_glibc)),
        })
    }
}

impl Count {
    fn read(bytes: Bytes<'_>) -> Option<Self> {
        let (address, kind) = object(bytes.u64(offset_of!(layout::Count, object)))?;
        let operations = bytes.u64(offset_of!(layout::Count, operations));
        Some(Self { address, kind, operations })
    }
}

impl Pending {
    fn read(bytes: Bytes<'_>) -> Option<Self> {
        let lock = bytes.u32(offset_of!(layout::Pending, lock));
        let got = offset_of!(layout::Pending, got);
        (lock != 0).then(|| Self {
            site: Site {
                lock,
                stack: bytes.u32(offset_of!(layout::Pending, stack)),
                holds: bytes.u32(offset_of!(layout::Pending, holds)) != 0,
                count: bytes.u64(offset_of!(layout::Pending, count)),
                total: bytes.u64(offset_of!(layout::Pending, total)),
                longest: bytes.u64(offset_of!(layout::Pending, longest)),
            },
            longest_began: bytes.u64(offset_of!(layout::Pending, longest_began)),
            sleeps: bytes.u64(offset_of!(layout::Pending, sleeps)),
            got: [0, 1, 2, 3, 4].map(|at| bytes.u32(got + 4 * at)),
        })
    }
}

impl Entry for Stack {
    const SIZE: usize = size_of::<layout::Stack>();

    fn read(bytes: Bytes<'_>) -> Option<Self> {
        if bytes.u64(offset_of!(layout::Stack, hash)) == 0 {
            return None;
        }
        let length = bytes.u32(offset_of!(layout::Stack, len)) as usize;
        let frames = bytes.from(offset_of!(layout::Stack, frames));
        Some(Self {
            frames: (0..length.min(layout::FRAMES)).map(|at| frames.u64(8 * at)).collect(),
            is_cut: bytes.u32(offset_of!(layout::Stack, is_cut)) != 0,
        })
    }
}

impl Entry for Site {
    const SIZE: usize = size_of::<layout::Site>();

    fn read(bytes: Bytes<'_>) -> Option<Self> {
        let lock = bytes.u32(offset_of!(layout::Site, lock));
        (lock != 0).then(|| Self {
            lock,
            stack: bytes.u32(offset_of!(layout::Site, stack)),
            holds: bytes.u32(offset_of!(layout::Site, holds)) != 0,
            count: bytes.u64(offset_of!(layout::Site, count)),
            total: bytes.u64(offset_of!(layout::Site, total)),
            longest: bytes.u64(offset_of!(layout::Site, longest)),
        })
    }
}

impl Entry for Event {
    const SIZE: usize = size_of::<layout::Event>();
    const IS_REUSED: bool = true;

    fn read(bytes: Bytes<'_>) -> Option<Self> {
        let number = bytes.u64(offset_of!(layout::Event, number));
        (number != 0).then(|| Self {
            number,
            began: bytes.u64(offset_of!(layout::Event, began)),
            took: bytes.u64(offset_of!(layout::Event, took)),
            lock: bytes.u32(offset_of!(layout::Event, lock)),
            stack: bytes.u32(offset_of!(layout::Event, stack)),
            thread: bytes.u32(offset_of!(layout::Event, thread)),
            holder: bytes.u32(offset_of!(layout::Event, holder)),
            got: bytes.u32(offset_of!(layout::Event, got)),
        })
    }
}

impl Entry for Module {
    const SIZE: usize = size_of::<layout::Module>();

    fn read(bytes: Bytes<'_>) -> Option<Self> {
        let start = bytes.u64(offset_of!(layout::Module, start));
        let end = bytes.u64(offset_of!(layout::Module, end));
        if start == 0 || end <= start {
            return None;
        }
        let length = bytes.u32(offset_of!(layout::Module, build_id_len));
        let id = bytes.text(offset_of!(layout::Module, build_id), length, 32);
        let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let length = bytes.u32(offset_of!(layout::Module, path_len));
        let path = bytes.text(offset_of!(layout::Module, path), length, 432);
        Some(Self {
            start,
            end,
            bias: bytes.u64(offset_of!(layout::Module, bias)),
            build_id: (!id.is_empty()).then_some(id),
            path: printable(path),
        })
    }
}

impl Entry for Edge {
    const SIZE: usize = size_of::<layout::Edge>();

    fn read(bytes: Bytes<'_>) -> Option<Self> {
        let held = bytes.u32(offset_of!(layout::Edge, held));
        let gates = offset_of!(layout::Edge, gates);
        (held != 0).then(|| Self {
            held,
            taken: bytes.u32(offset_of!(layout::Edge, taken)),
            held_stack: bytes.u32(offset_of!(layout::Edge, held_stack)),
            taken_stack: bytes.u32(offset_of!(layout::Edge, taken_stack)),
            thread: bytes.u32(offset_of!(layout::Edge, thread)),
            flags: bytes.u32(offset_of!(layout::Edge, flags)),
            count: bytes.u64(offset_of!(layout::Edge, count)),
            gates: [0, 1, 2, 3].map(|at| bytes.u32(gates + 4 * at)),
        })
    }
}

pub(super) fn kind(number: u32) -> Option<Kind> {
    const ALL: [Kind; 8] = [
        Kind::Mutex,
        Kind::RwLock,
        Kind::Condvar,
        Kind::Semaphore,
        Kind::Barrier,
        Kind::Word,
        Kind::Spin,
        Kind::Thread,
    ];
    ALL.into_iter().find(|kind| *kind as u32 == number)
}

/// An address and its kind, as in [`layout::Count::object`]; none if there is none.
pub(super) fn object(word: u64) -> Option<(u64, Kind)> {
    let address = word & layout::ADDRESS;
    let number = word >> layout::KIND_SHIFT & layout::KIND_MASK;
    (address != 0).then_some((address, kind(number as u32)?))
}

/// Text from a file that isn't trusted: it can't move a terminal's cursor.
pub fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}
