//! The file in which a recorded program's furwock counts what its locks cost, and in what order
//! they are taken: `furwock run --stats` names it to the preload, which maps it and counts in the
//! mapping. `furwock stats`, `top` and `report` read it, while the program runs and after its end,
//! however that came.
//!
//! The file is a [`File`] header, and a [`Part`] for each process: a program that starts others, or
//! becomes another by exec, has several. A part's sections are arrays of one kind of entry. All
//! integers are the machine's own; offsets count from the part's beginning.
//!
//! A reader may see an entry while it is written. Each entry has a field that is written last, with
//! release: while it is 0, the entry isn't there. Counters grow one by one and need no agreement
//! between each other.
//!
//! Memory is bounded: what finds its section full is counted in [`Part::lost`] and left out.

#![no_std]

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Changes with the meaning of any field.
pub const VERSION: u32 = 2;
/// What the file begins with.
pub const MAGIC: [u8; 16] = *b"furwock-record\0\0";
/// The size of [`File`], and the unit of its `part_size`.
pub const PAGE: usize = 4096;

/// The environment variable with the file's absolute path. The library records if it is set.
pub const VARIABLE: &str = "FURWOCK_RECORD";
/// The environment variable that asks for the order of locks as well: 1.
pub const ORDER_VARIABLE: &str = "FURWOCK_LOCK_ORDER";

/// The file's first page. The command that starts the program writes it, but for `parts`.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct File {
    /// [`MAGIC`].
    pub magic: [u8; 16],
    /// [`VERSION`].
    pub version: u32,
    /// The size of a part in bytes, a multiple of [`PAGE`].
    pub part_size: u32,
    /// How many parts there may be.
    pub parts_at_most: u32,
    /// How many parts processes have claimed; may be greater than `parts_at_most`. Part `n` begins
    /// at `PAGE + n * part_size`, and is there once its `magic` is.
    pub parts: AtomicU32,
    /// Ticks of [`Part::began`]'s clock in a second: those of the processor's time-stamp counter,
    /// or 1,000,000,000 if that isn't sound and the clock is CLOCK_MONOTONIC.
    pub ticks_per_second: u64,
    /// CLOCK_REALTIME in nanoseconds when the file was made.
    pub made_at: u64,
    /// The machine's boot id, as text.
    pub boot_id: [u8; 36],
}

/// One process, or what one was before an exec.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Part {
    /// [`PART_MAGIC`]; written last.
    pub magic: AtomicU64,
    /// The process's id.
    pub pid: u32,
    /// Its parent's id.
    pub parent: u32,
    /// When the part was begun, in ticks.
    pub began: u64,
    /// When the part was begun: CLOCK_REALTIME in nanoseconds.
    pub began_at: u64,
    /// When the process ended by itself, in ticks: by `exit`, `_exit`, or the like. 0 if it runs,
    /// was killed, left by an instruction of its own, or has become another by exec.
    pub ended: AtomicU64,
    /// The process's command line, arguments separated by zero bytes, cut off if it is longer.
    pub command: [u8; 1024],
    /// How long it is.
    pub command_len: u32,
    /// Which optional sections are written: [`ORDER`].
    pub records: u32,
    /// Where the sections are.
    pub sections: Sections,
    /// How many sections' entries there was no room for, in the order of [`Sections`].
    pub lost: [AtomicU64; 7],
    /// Calls for objects that were left to glibc: those that processes share, and those with
    /// priorities or robustness. Handed in by threads: [`Thread::left_to_glibc`] has the rest.
    pub left_to_glibc: AtomicU64,
    /// Operations on objects without a [`Lock`], handed in by threads: their `other_operations`
    /// have the rest.
    pub other_operations: AtomicU64,
    /// Changes with each entry that a reader of live figures may want to look at again.
    pub changes: AtomicU64,
}

/// [`Part::magic`].
pub const PART_MAGIC: u64 = u64::from_le_bytes(*b"furwpart");
/// In a part's `records`: the order of locks.
pub const ORDER: u32 = 1;

/// Where a section is in its part, and what it holds.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Section {
    /// In bytes from the part's beginning.
    pub offset: u32,
    /// The size of an entry.
    pub size: u32,
    /// How many entries it has room for.
    pub count: u32,
    /// Zero.
    pub reserved: u32,
}

/// The sections of a part.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Sections {
    /// [`Lock`], a hash table by address.
    pub locks: Section,
    /// [`Thread`].
    pub threads: Section,
    /// [`Stack`], a hash table by content; index 0 stays empty and means "unknown".
    pub stacks: Section,
    /// [`Site`], a hash table by lock and stack.
    pub sites: Section,
    /// [`Event`], a ring.
    pub events: Section,
    /// [`Module`].
    pub modules: Section,
    /// [`Edge`], a hash table by both locks.
    pub edges: Section,
}

/// What an object is.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A mutex.
    Mutex = 1,
    /// A rwlock, waited for by readers and writers.
    RwLock = 2,
    /// A condvar. Its waits aren't contention.
    Condvar = 3,
    /// A semaphore. Its waits aren't contention.
    Semaphore = 4,
    /// A barrier. Its waits aren't contention.
    Barrier = 5,
    /// A futex word that is waited on by number.
    Word = 6,
    /// A spin lock.
    Spin = 7,
    /// A thread, which others wait for by joining it. Its address is its pthread_t.
    Thread = 8,
}

/// How a contended lock was got. The index of [`Lock::got`].
#[repr(usize)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Got {
    /// It came free at once: taken past waiters, or at the second look.
    Stolen = 0,
    /// After spinning.
    Spun = 1,
    /// After sleeping.
    Slept = 2,
    /// The holder handed it over.
    HandedOver = 3,
}

/// A lock that a thread has had to wait for, or that has a name, or (with the order of locks) was
/// taken while another was held. Objects that follow each other at one address are several.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Lock {
    /// The object's address and its [`Kind`], as in [`Count::object`]; 0 if the entry is free. A
    /// thread takes the entry by writing this, so that an object has one though several threads
    /// come at the same moment; the rest follows.
    pub object: AtomicU64,
    /// 1 after it was destroyed.
    pub is_destroyed: AtomicU32,
    /// The stack of the call that made it, 0 if it is static or unknown.
    pub made_by: AtomicU32,
    /// How long the name is.
    pub name_len: AtomicU32,
    /// The name that the program gave it.
    pub name: [AtomicU8; 40],
    /// Operations that threads have handed in: see [`Thread::counts`] for the rest.
    pub operations: AtomicU64,
    /// Attempts that didn't get it at once. For what isn't a lock: waits. Counted when they end.
    pub contended: AtomicU64,
    /// Those of them that gave up at a deadline.
    pub timeouts: AtomicU64,
    /// How the others got it: see [`Got`].
    pub got: [AtomicU64; 4],
    /// How often threads slept.
    pub sleeps: AtomicU64,
    /// How long its waits took, in ticks.
    pub wait: Spell,
    /// How long it was held, as far as measured: after a wait of 2 us or more, and each time if it
    /// was held for 2 us or more the last time that the thread measured. Otherwise every eighth
    /// time after a contended attempt, and every 128th time once it was contended. The first hold
    /// of a thread for which others waited counts from when the first of them came. Those of
    /// writers and mutexes only.
    pub hold: Spell,
    /// The thread that held it when a wait for it began that has been handed in; 0 if unknown.
    pub holder: AtomicU32,
    /// What the command that started the program found the holder doing, at looks at moments when
    /// threads waited for the lock: see [`Did`]. It alone writes them.
    pub holder_did: [AtomicU32; DID],
}

/// How many kinds of doings there are.
pub const DID: usize = 11;

/// What a thread does that holds a lock for which others wait. The index of [`Lock::holder_did`].
#[repr(usize)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// It runs, in the kernel too, or waits for a processor.
    Run = 0,
    /// It reads a file.
    ReadFile = 1,
    /// It writes or syncs a file.
    WriteFile = 2,
    /// It opens, closes, renames or removes files, or asks about them.
    UseFiles = 3,
    /// It waits for input: by poll, epoll or select, or from a pipe, a socket or a terminal.
    Receive = 4,
    /// It sends to a pipe, a socket or a terminal.
    Send = 5,
    /// It sleeps for a time.
    Sleep = 6,
    /// It waits in futex(2) or one of its kin: for another lock, or for a thread.
    WaitForThread = 7,
    /// It waits for a process that it has started.
    WaitForProcess = 8,
    /// It maps memory, gives it back, or waits for a page of it.
    Memory = 9,
    /// It is in another system call.
    Other = 10,
}

/// Times of one kind.
#[repr(C)]
#[derive(Debug)]
pub struct Spell {
    /// How many.
    pub count: AtomicU64,
    /// Their sum, in ticks.
    pub total: AtomicU64,
    /// The longest, in ticks.
    pub longest: AtomicU64,
    /// When the longest began, in ticks.
    pub longest_began: AtomicU64,
    /// The stack of the longest.
    pub longest_stack: AtomicU32,
    /// The thread of the longest.
    pub longest_thread: AtomicU32,
}

/// How many objects' operations a thread counts by itself at a time.
pub const COUNTS: usize = 128;
/// For how many pairs of a lock and a stack a thread sums up by itself at a time.
pub const PENDING: usize = 8;

/// A thread that took part. It alone writes its entry.
///
/// What it counts and sums up here is handed in to the [`Lock`]s now and then. The figures of a
/// lock are its own and those that threads have not yet handed in: [`Thread::counts`] of its
/// address and kind (for the newest of several locks at one address), and [`Thread::pending`].
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Thread {
    /// The kernel's id; written last. A thread ends without telling; its entry stays as it is, and
    /// is used again for a new thread, once handed in, when the section is full or the new thread
    /// has the same id.
    pub tid: AtomicU32,
    /// The kernel's id of the thread that held the lock when the wait began; 0 if unknown.
    pub waits_holder: AtomicU32,
    /// Its name, as the kernel knew it when the entry was made.
    pub name: [AtomicU8; 16],
    /// How long it waited for locks, in ticks.
    pub waited: AtomicU64,
    /// How long it waited for condvars, semaphores, barriers and words, in ticks.
    pub idle: AtomicU64,
    /// The lock that it waits for now: its address; 0 if none.
    pub waits_for: AtomicU64,
    /// Since when, in ticks.
    pub waits_since: AtomicU64,
    /// The stack with which it waits.
    pub waits_stack: AtomicU32,
    /// The [`Kind`] of what it waits for.
    pub waits_kind: AtomicU32,
    /// Operations on objects without a [`Lock`] that it counted, had no room for any more in
    /// `counts`, and has not yet handed in.
    pub other_operations: AtomicU64,
    /// Calls that it left to glibc and has not yet handed in.
    pub left_to_glibc: AtomicU64,
    /// Operations that it has counted and not yet handed in.
    pub counts: [Count; COUNTS],
    /// Waits and holds that it has summed up and not yet handed in. It hands in what has waited
    /// here for a millisecond or has seen a wait of 20 us, at its next wait or at the end of a hold
    /// that is measured.
    pub pending: [Pending; PENDING],
}

/// Operations of one thread on one object: times that it was taken, or tried to be. For condvars
/// waits and notifications, for semaphores and barriers waits, for words waits and wakes.
#[repr(C)]
#[derive(Debug)]
pub struct Count {
    /// The object's address in the bits of [`ADDRESS`], its [`Kind`] in those from [`KIND_SHIFT`]
    /// to 62; 0 if the entry is free. Bit 63 is the thread's own note.
    pub object: AtomicU64,
    /// How many.
    pub operations: AtomicU64,
}

/// In [`Count::object`]: the address.
pub const ADDRESS: u64 = (1 << KIND_SHIFT) - 1;
/// In [`Count::object`]: the lowest bit of the kind.
pub const KIND_SHIFT: u32 = 56;
/// In [`Count::object`]: the bits of the kind, once shifted down.
pub const KIND_MASK: u64 = 0x7f;

/// What one thread's waits for one lock with one stack came to, or its holds of it. When it is
/// handed in, it is freed first, so that nothing is counted twice.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Pending {
    /// The index of its [`Lock`], plus 1; written last; 0 if the entry is free.
    pub lock: AtomicU32,
    /// The index of its [`Stack`].
    pub stack: AtomicU32,
    /// 0 for waits, 1 for holding, as in [`Site`].
    pub holds: AtomicU32,
    /// The thread that held the lock when the longest wait began; 0 if unknown.
    pub holder: AtomicU32,
    /// How many.
    pub count: AtomicU64,
    /// Their time in ticks.
    pub total: AtomicU64,
    /// The longest in ticks.
    pub longest: AtomicU64,
    /// When it began.
    pub longest_began: AtomicU64,
    /// How often threads slept in them.
    pub sleeps: AtomicU64,
    /// How waits ended: [`Got`], and in the last timeouts.
    pub got: [AtomicU32; 5],
    /// How the longest did: an index of `got`.
    pub longest_got: AtomicU32,
}

/// The size of a part that has room for a large program's figures. Its latter half is for stacks
/// that find no room before, and has memory only then.
pub const PART_SIZE: u32 = 16 << 20;
/// The size of the smallest part.
pub const PART_SIZE_AT_LEAST: u32 = 256 << 10;

/// How many frames a stack has at most.
pub const FRAMES: usize = 29;

/// A stack, innermost frame first: addresses that calls return to. furwock's own frames are left
/// out.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Stack {
    /// Of its frames; never 0; written last.
    pub hash: AtomicU64,
    /// How many frames.
    pub len: AtomicU32,
    /// 1 if there were more.
    pub is_cut: AtomicU32,
    /// The frames.
    pub frames: [AtomicU64; FRAMES],
}

/// What waits for one object cost at one place, or what holding it cost.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Site {
    /// The index of its [`Lock`], plus 1; written last.
    pub lock: AtomicU32,
    /// The index of its [`Stack`].
    pub stack: AtomicU32,
    /// 0 for waits, 1 for holding: then the stack is that of the call that took the lock if it had
    /// to wait, and that of its release otherwise.
    pub holds: AtomicU32,
    /// 1 once a thread writes the entry.
    pub claimed: AtomicU32,
    /// How many.
    pub count: AtomicU64,
    /// Their time in ticks.
    pub total: AtomicU64,
    /// The longest in ticks.
    pub longest: AtomicU64,
}

/// A wait, once it is over. The ring keeps the last ones. Each wait of 20 us or more leaves one; of
/// shorter ones a thread leaves the longest of each millisecond, for each lock and stack.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Event {
    /// Its number in the order of ends, from 1; written last, and 0 while the entry is written.
    pub number: AtomicU64,
    /// When it began, in ticks.
    pub began: AtomicU64,
    /// How long it took, in ticks.
    pub took: AtomicU64,
    /// The index of its [`Lock`], plus 1.
    pub lock: AtomicU32,
    /// The index of its [`Stack`].
    pub stack: AtomicU32,
    /// The thread.
    pub thread: AtomicU32,
    /// The thread that held the lock when the wait began; 0 if unknown.
    pub holder: AtomicU32,
    /// A [`Got`]; 4 if it timed out.
    pub got: AtomicU32,
    /// Zero.
    pub reserved: AtomicU32,
}

/// A file that was mapped with code in it.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Module {
    /// The lowest address; written last.
    pub start: AtomicU64,
    /// The first address behind it.
    pub end: AtomicU64,
    /// What to take from an address for the one in the file's headers.
    pub bias: AtomicU64,
    /// How long the build id is.
    pub build_id_len: AtomicU32,
    /// How long the path is.
    pub path_len: AtomicU32,
    /// The build id.
    pub build_id: [AtomicU8; 32],
    /// The path.
    pub path: [AtomicU8; 432],
}

/// A lock that was taken, or would have been waited for, while another was held. Written before the
/// thread waits. One entry for each pair of locks, their flags and their gates, as long as there is
/// room for it; entries beyond that share one, whose gates are those that all of them had.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Edge {
    /// The index of the lock that was held, plus 1; written last.
    pub held: AtomicU32,
    /// The index of the lock that was taken, plus 1.
    pub taken: AtomicU32,
    /// With which stack the first was taken.
    pub held_stack: AtomicU32,
    /// With which stack the second was taken.
    pub taken_stack: AtomicU32,
    /// Which thread was the first to do so.
    pub thread: AtomicU32,
    /// [`HELD_READ`] and those below.
    pub flags: AtomicU32,
    /// How often, as far as counted.
    pub count: AtomicU64,
    /// Locks that were held beside the first (gates), in ascending order: indices plus 1, and
    /// [`GATE_READ`]; 0 if none. What is more than four is left out.
    pub gates: [AtomicU32; 4],
    /// 1 once a thread writes the entry.
    pub claimed: AtomicU32,
}

/// In [`Edge::flags`]: the first was held for reading.
pub const HELD_READ: u32 = 1;
/// In [`Edge::flags`]: the second was taken for reading.
pub const TAKEN_READ: u32 = 2;
/// In [`Edge::flags`]: more than one thread did it.
pub const MANY_THREADS: u32 = 4;
/// In [`Edge::flags`]: the second is a condvar, a semaphore or a thread, which was waited for with
/// the first held.
pub const WAITED: u32 = 8;
/// In [`Edge::flags`]: the second was taken for reading, and such a read waits for waiting writers:
/// a rwlock that prefers writers.
pub const BEHIND_WRITERS: u32 = 16;
/// In [`Edge::flags`]: the first and the second are one rwlock that prefers writers, and it was
/// taken for writing: with which locks held is in the gates.
pub const WRITES: u32 = 32;
/// In [`Edge::flags`]: the first is a condvar, a semaphore or a thread, and the thread that
/// signalled, posted or ended it had taken the second since it last waited itself.
pub const WAKES: u32 = 64;
/// In [`Edge::flags`]: the same, but a thread had not taken the second.
pub const WAKES_WITHOUT: u32 = 128;
/// In [`Edge::gates`]: the lock was held for reading.
pub const GATE_READ: u32 = 1 << 31;
