//! What a program that looks from outside has to know: where the engine keeps which thread waits
//! for which lock. `furwock who` finds `furwock_inspect` by its name in the symbol tables of a
//! process's files, or by `MAGIC` in their data, and reads the rest from the process's memory.
//!
//! The engine never reads it, and looking takes no lock: what is read may be half changed, and a
//! reader believes only what it finds twice.
//!
//! - A thread that waits sleeps on the word at `parker` of its record. Its record's `key` is the
//!   object's address with the kind in the bits from 60 up: 0 a word, 1 a mutex, 2 a rwlock, 3 a
//!   condvar, 4 a semaphore, 5 a barrier, 6 the slot of a rwlock's reader, 15 none. `token` is a
//!   condvar's mutex.
//! - Bits 0 to 21 of a mutex's or rwlock's word are the id of the thread that holds it. In a rwlock
//!   bits 42 to 60 count readers; those that aren't counted have put its address, with a count in
//!   the low three bits, into a slot of the row whose `owner`'s low 32 bits are their id.

use core::ffi::c_void;

use crate::lock::rwlock::slots::RowsLayout;
use crate::lot::names::NamesLayout;
use crate::lot::{PoolLayout, ThreadLayout};

/// Changes with the meaning of any field. New fields are added at the end, and raise `size`.
pub const VERSION: u32 = 1;
/// What it begins with.
pub const MAGIC: [u8; 16] = *b"furwock-inspect\0";

/// The layout, in the order of its fields.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Inspect {
    /// [`MAGIC`].
    pub magic: [u8; 16],
    /// [`VERSION`].
    pub version: u32,
    /// In bytes.
    pub size: u32,
    /// Its own address, so that a copy of the magic elsewhere isn't taken for it.
    pub this: *const c_void,
    /// The pointer to the newest chunk of records.
    pub newest_chunk: *const c_void,
    /// Within a chunk: how many records are used.
    pub chunk_used: u64,
    /// Within a chunk: the next older chunk.
    pub chunk_older: u64,
    /// Within a chunk: the first record.
    pub chunk_threads: u64,
    /// The size of a record.
    pub thread_size: u64,
    /// Within a record: the word that the thread sleeps on.
    pub parker: u64,
    /// Within a record: what it waits for.
    pub key: u64,
    /// Within a record: a condvar's mutex.
    pub token: u64,
    /// Within a record: the kernel's id of the thread.
    pub tid: u64,
    /// The first row of readers' slots.
    pub rows: *const c_void,
    /// How many rows are used.
    pub rows_used: *const c_void,
    /// The size of a row.
    pub row_size: u64,
    /// How many slots a row has. They come first in it.
    pub row_slots: u64,
    /// Within a row: its owner's id.
    pub row_owner: u64,
    /// The pointer to the table of names; null while no object has one. From here on since `size`
    /// is 208.
    pub names: *const c_void,
    /// How many places the table has.
    pub names_places: u64,
    /// Within the table: the addresses of the objects, one for each place; 0 is none.
    pub names_objects: u64,
    /// Within the table: the entries, one for each place.
    pub names_entries: u64,
    /// The size of an entry.
    pub name_size: u64,
    /// Within an entry: the name as a Rust string, with zeroes behind it.
    pub name_text: u64,
    /// How many bytes a name has, zeroes included.
    pub name_text_size: u64,
    /// Within an entry: three numbers of 64 bits, of the waits in which a thread slept: how many,
    /// their nanoseconds together, those of the longest.
    pub name_waits: u64,
}

// SAFETY: it is never written, and the engine doesn't use its pointers.
unsafe impl Sync for Inspect {}

/// The layout of the engine that this process uses.
#[used]
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "a name for readers of symbol tables")]
pub static furwock_inspect: Inspect = Inspect {
    magic: MAGIC,
    version: VERSION,
    size: size_of::<Inspect>() as u32,
    this: (&raw const furwock_inspect).cast(),
    newest_chunk: PoolLayout::OURS.newest,
    chunk_used: PoolLayout::OURS.used as u64,
    chunk_older: PoolLayout::OURS.older as u64,
    chunk_threads: PoolLayout::OURS.threads as u64,
    thread_size: PoolLayout::OURS.thread_size as u64,
    parker: ThreadLayout::OURS.parker as u64,
    key: ThreadLayout::OURS.key as u64,
    token: ThreadLayout::OURS.token as u64,
    tid: ThreadLayout::OURS.tid as u64,
    rows: RowsLayout::OURS.rows,
    rows_used: RowsLayout::OURS.used,
    row_size: RowsLayout::OURS.row_size as u64,
    row_slots: RowsLayout::OURS.slots as u64,
    row_owner: RowsLayout::OURS.owner as u64,
    names: NamesLayout::OURS.table,
    names_places: NamesLayout::OURS.places as u64,
    names_objects: NamesLayout::OURS.objects as u64,
    names_entries: NamesLayout::OURS.entries as u64,
    name_size: NamesLayout::OURS.entry_size as u64,
    name_text: NamesLayout::OURS.text as u64,
    name_text_size: NamesLayout::OURS.text_size as u64,
    name_waits: NamesLayout::OURS.waits as u64,
};
