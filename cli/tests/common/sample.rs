//! Records that no program has written: what the recording library would leave.

use std::mem::offset_of;

use furwock_record as layout;
use furwock_record::{Kind, MAGIC, PAGE, PART_MAGIC, VERSION};

/// Entries of each section that a part has room for.
const ROOM: [u32; 7] = [64, 32, 64, 64, 512, 16, 32];
/// Ticks are nanoseconds.
pub const TICKS: u64 = 1_000_000_000;
pub const BEGAN: u64 = 5_000_000_000;
pub const BEGAN_AT: u64 = 1_750_000_000_000_000_000;
pub const MS: u64 = 1_000_000;

/// A record in the making.
pub struct Sample {
    pub bytes: Vec<u8>,
    parts: u32,
}

/// A process in it, to which entries are added.
pub struct Process<'s> {
    bytes: &'s mut [u8],
    used: [u32; 7],
}

/// A lock's figures, in ticks.
#[derive(Clone, Copy)]
pub struct Figures {
    pub operations: u64,
    pub contended: u64,
    pub sleeps: u64,
    pub got: [u64; 4],
    pub timeouts: u64,
    /// Sum, longest, the longest one's stack and thread.
    pub wait: (u64, u64, u32, u32),
    pub hold: (u64, u64, u32, u32),
}

fn sizes() -> [usize; 7] {
    [
        size_of::<layout::Lock>(),
        size_of::<layout::Thread>(),
        size_of::<layout::Stack>(),
        size_of::<layout::Site>(),
        size_of::<layout::Event>(),
        size_of::<layout::Module>(),
        size_of::<layout::Edge>(),
    ]
}

pub fn part_size() -> usize {
    let sections: usize = sizes().iter().zip(ROOM).map(|(size, room)| size * room as usize).sum();
    (size_of::<layout::Part>() + sections).next_multiple_of(PAGE)
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

impl Sample {
    pub fn new(boot_id: &str, parts_at_most: u32) -> Self {
        let mut bytes = vec![0; PAGE];
        put(&mut bytes, 0, &MAGIC);
        let mut number = |at: usize, value: u32| put(&mut bytes, at, &value.to_ne_bytes());
        number(offset_of!(layout::File, version), VERSION);
        number(offset_of!(layout::File, part_size), part_size() as u32);
        number(offset_of!(layout::File, parts_at_most), parts_at_most);
        put(&mut bytes, offset_of!(layout::File, ticks_per_second), &TICKS.to_ne_bytes());
        put(&mut bytes, offset_of!(layout::File, made_at), &BEGAN_AT.to_ne_bytes());
        put(&mut bytes, offset_of!(layout::File, boot_id), boot_id.as_bytes());
        Self { bytes, parts: 0 }
    }

    /// A process that ended by itself after `length`, or was killed if that is 0.
    pub fn process(&mut self, pid: u32, command: &[&str], length: u64) -> Process<'_> {
        let start = self.bytes.len();
        self.bytes.resize(start + part_size(), 0);
        self.parts += 1;
        let parts = self.parts.to_ne_bytes();
        put(&mut self.bytes, offset_of!(layout::File, parts), &parts);
        let bytes = &mut self.bytes[start..];
        put(bytes, offset_of!(layout::Part, magic), &PART_MAGIC.to_ne_bytes());
        put(bytes, offset_of!(layout::Part, pid), &pid.to_ne_bytes());
        put(bytes, offset_of!(layout::Part, parent), &1_u32.to_ne_bytes());
        put(bytes, offset_of!(layout::Part, began), &BEGAN.to_ne_bytes());
        put(bytes, offset_of!(layout::Part, began_at), &BEGAN_AT.to_ne_bytes());
        let ended = if length == 0 { 0 } else { BEGAN + length };
        put(bytes, offset_of!(layout::Part, ended), &ended.to_ne_bytes());
        let command = command.join("\0");
        put(bytes, offset_of!(layout::Part, command), command.as_bytes());
        let length = command.len() as u32;
        put(bytes, offset_of!(layout::Part, command_len), &length.to_ne_bytes());
        let mut offset = size_of::<layout::Part>();
        for (at, (size, room)) in sizes().into_iter().zip(ROOM).enumerate() {
            let section = offset_of!(layout::Part, sections) + at * size_of::<layout::Section>();
            put(bytes, section, &(offset as u32).to_ne_bytes());
            put(bytes, section + 4, &(size as u32).to_ne_bytes());
            put(bytes, section + 8, &room.to_ne_bytes());
            offset += size * room as usize;
        }
        Process { bytes, used: [0; 7] }
    }
}

impl Process<'_> {
    /// The next free entry of a section: its place, and its number.
    fn entry(&mut self, section: usize) -> (usize, u32) {
        let number = self.used[section];
        assert!(number < ROOM[section]);
        self.used[section] += 1;
        let sections: usize =
            sizes().iter().zip(ROOM).take(section).map(|(size, room)| size * room as usize).sum();
        let start = size_of::<layout::Part>() + sections;
        (start + sizes()[section] * number as usize, number)
    }

    fn u64(&mut self, at: usize, value: u64) {
        put(self.bytes, at, &value.to_ne_bytes());
    }

    fn u32(&mut self, at: usize, value: u32) {
        put(self.bytes, at, &value.to_ne_bytes());
    }

    /// Returns its key.
    pub fn lock(&mut self, address: u64, kind: Kind, name: &str, figures: &Figures) -> u32 {
        let (at, number) = self.entry(0);
        let object = address | (kind as u64) << layout::KIND_SHIFT;
        self.u64(at + offset_of!(layout::Lock, object), object);
        self.u32(at + offset_of!(layout::Lock, name_len), name.len() as u32);
        put(self.bytes, at + offset_of!(layout::Lock, name), name.as_bytes());
        self.u64(at + offset_of!(layout::Lock, operations), figures.operations);
        self.u64(at + offset_of!(layout::Lock, contended), figures.contended);
        self.u64(at + offset_of!(layout::Lock, timeouts), figures.timeouts);
        for (place, count) in figures.got.into_iter().enumerate() {
            self.u64(at + offset_of!(layout::Lock, got) + 8 * place, count);
        }
        self.u64(at + offset_of!(layout::Lock, sleeps), figures.sleeps);
        let wait = at + offset_of!(layout::Lock, wait);
        self.spell(wait, figures.contended, figures.wait);
        self.spell(at + offset_of!(layout::Lock, hold), figures.contended, figures.hold);
        number + 1
    }

    pub fn made_by(&mut self, lock: u32, stack: u32) {
        let at = size_of::<layout::Part>() + sizes()[0] * (lock - 1) as usize;
        self.u32(at + offset_of!(layout::Lock, made_by), stack);
    }

    fn spell(
        &mut self,
        at: usize,
        count: u64,
        (total, longest, stack, thread): (u64, u64, u32, u32),
    ) {
        self.u64(at + offset_of!(layout::Spell, count), count);
        self.u64(at + offset_of!(layout::Spell, total), total);
        self.u64(at + offset_of!(layout::Spell, longest), longest);
        self.u64(at + offset_of!(layout::Spell, longest_began), BEGAN + 100 * MS);
        self.u32(at + offset_of!(layout::Spell, longest_stack), stack);
        self.u32(at + offset_of!(layout::Spell, longest_thread), thread);
    }

    pub fn thread(&mut self, tid: u32, name: &str, waited: u64) {
        let (at, _) = self.entry(1);
        self.u32(at + offset_of!(layout::Thread, tid), tid);
        put(self.bytes, at + offset_of!(layout::Thread, name), name.as_bytes());
        self.u64(at + offset_of!(layout::Thread, waited), waited);
    }

    /// Returns its key. The first entry stays empty.
    pub fn stack(&mut self, frames: &[u64]) -> u32 {
        if self.used[2] == 0 {
            self.entry(2);
        }
        let (at, number) = self.entry(2);
        self.u64(at + offset_of!(layout::Stack, hash), 7 + u64::from(number));
        self.u32(at + offset_of!(layout::Stack, len), frames.len() as u32);
        for (place, frame) in frames.iter().enumerate() {
            self.u64(at + offset_of!(layout::Stack, frames) + 8 * place, *frame);
        }
        number
    }

    pub fn site(
        &mut self,
        lock: u32,
        stack: u32,
        holds: bool,
        (count, total, longest): (u64, u64, u64),
    ) {
        let (at, _) = self.entry(3);
        self.u32(at + offset_of!(layout::Site, lock), lock);
        self.u32(at + offset_of!(layout::Site, stack), stack);
        self.u32(at + offset_of!(layout::Site, holds), u32::from(holds));
        self.u64(at + offset_of!(layout::Site, count), count);
        self.u64(at + offset_of!(layout::Site, total), total);
        self.u64(at + offset_of!(layout::Site, longest), longest);
    }

    /// A wait of `thread` from `began` (since the process's beginning) on.
    pub fn event(
        &mut self,
        lock: u32,
        stack: u32,
        (thread, holder): (u32, u32),
        (began, took): (u64, u64),
    ) {
        let (at, number) = self.entry(4);
        self.u64(at + offset_of!(layout::Event, number), 1 + u64::from(number));
        self.u64(at + offset_of!(layout::Event, began), BEGAN + began);
        self.u64(at + offset_of!(layout::Event, took), took);
        self.u32(at + offset_of!(layout::Event, lock), lock);
        self.u32(at + offset_of!(layout::Event, stack), stack);
        self.u32(at + offset_of!(layout::Event, thread), thread);
        self.u32(at + offset_of!(layout::Event, holder), holder);
        self.u32(at + offset_of!(layout::Event, got), 2);
    }

    pub fn module(&mut self, start: u64, end: u64, path: &str) {
        let (at, _) = self.entry(5);
        self.u64(at + offset_of!(layout::Module, start), start);
        self.u64(at + offset_of!(layout::Module, end), end);
        self.u64(at + offset_of!(layout::Module, bias), start);
        self.u32(at + offset_of!(layout::Module, path_len), path.len() as u32);
        put(self.bytes, at + offset_of!(layout::Module, path), path.as_bytes());
    }

    pub fn left_to_glibc(&mut self, calls: u64) {
        self.u64(offset_of!(layout::Part, left_to_glibc), calls);
    }

    /// How often a section had no room.
    pub fn lost(&mut self, section: usize, count: u64) {
        self.u64(offset_of!(layout::Part, lost) + 8 * section, count);
    }
}

/// A small record: a cache's mutex that costs much, a rwlock that costs little, one that was never
/// contended, and a condvar.
pub fn typical(boot_id: &str) -> Vec<u8> {
    let mut sample = Sample::new(boot_id, 4);
    let mut process = sample.process(4711, &["/usr/bin/bank", "--fast"], 2000 * MS);
    process.module(0x10000, 0x20000, "/usr/bin/bank");
    let get = process.stack(&[0x10010, 0x10100]);
    let evict = process.stack(&[0x10020, 0x10100]);
    let main = process.stack(&[0x10030]);
    for (tid, waited) in [(4711, 10 * MS), (4712, 900 * MS), (4713, 700 * MS), (4714, 0)] {
        process.thread(tid, "worker", waited);
    }
    let cache = Figures {
        operations: 1_200_000,
        contended: 147_000,
        sleeps: 41_000,
        got: [58_800, 45_000, 41_000, 2_197],
        timeouts: 3,
        wait: (1640 * MS, 12 * MS, get, 4712),
        hold: (900 * MS, 8 * MS, evict, 4713),
    };
    let cache = process.lock(0x7f00_0000_1000, Kind::Mutex, "cache.mutex", &cache);
    process.made_by(cache, main);
    let table = Figures {
        operations: 30_000,
        contended: 300,
        sleeps: 4,
        got: [200, 96, 4, 0],
        timeouts: 0,
        wait: (10 * MS, MS, get, 4711),
        hold: (2 * MS, MS, get, 4712),
    };
    let table = process.lock(0x7f00_0000_2000, Kind::RwLock, "", &table);
    let idle =
        Figures { contended: 0, got: [0; 4], wait: (0, 0, 0, 0), hold: (0, 0, 0, 0), ..IDLE };
    process.lock(0x7f00_0000_3000, Kind::Mutex, "quiet", &idle);
    process.lock(0x7f00_0000_4000, Kind::Condvar, "", &IDLE);
    process.site(cache, get, false, (147_000, 1640 * MS, 12 * MS));
    process.site(cache, evict, true, (1000, 900 * MS, 8 * MS));
    process.site(table, get, false, (300, 10 * MS, MS));
    // 4712 waits for the cache, which 4713 holds, which waits for the table meanwhile.
    process.event(table, get, (4713, 4711), (203 * MS, 4 * MS));
    process.event(cache, get, (4712, 4713), (200 * MS, 12 * MS));
    for at in 0..40 {
        process.event(cache, get, (4712, 4713), ((300 + 20 * at) * MS, 10 * MS));
    }
    process.left_to_glibc(12);
    sample.bytes
}

const IDLE: Figures = Figures {
    operations: 500,
    contended: 20,
    sleeps: 18,
    got: [0, 2, 18, 0],
    timeouts: 1,
    wait: (1500 * MS, 700 * MS, 0, 4714),
    hold: (0, 0, 0, 0),
};
