//! Memory of every kind, for operands.

use crate::differential::{Futex, FutexCall, Kernel, Waitv};
use std::ptr;

pub(super) const PAGE: usize = 4096;

/// The id of no thread: the kernel's are below it.
pub(super) const NO_THREAD: u32 = 0x3fff_fff0;

/// Where an operand may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// A word that holds `NO_THREAD`.
    Word,
    /// A word that holds 0.
    Free,
    /// This many bytes into a word.
    Inside(usize),
    /// The last bytes before a page that can't be read: fewer than are needed.
    Edge,
    /// A page that can only be read.
    ReadOnly,
    /// A page that can't be read.
    Barred,
    /// A page that was there, and was used.
    Gone,
    /// Null.
    Null,
    /// This address.
    Address(usize),
}

impl Spot {
    /// One of each kind.
    pub(super) const ALL: [Self; 21] = [
        Spot::Word,
        Spot::Free,
        Spot::Inside(1),
        Spot::Inside(2),
        Spot::Inside(3),
        Spot::Edge,
        Spot::ReadOnly,
        Spot::Barred,
        Spot::Gone,
        Spot::Null,
        Spot::Address(4),
        // The end of x86-64's user half, and what lies beyond.
        Spot::Address(0x7fff_ffff_effc),
        Spot::Address(0x7fff_ffff_f000),
        Spot::Address(0x8000_0000_0000),
        // Of aarch64's with 48 and 52 bits, and of both with 56 or more.
        Spot::Address(0xffff_ffff_fffc),
        Spot::Address(0x1_0000_0000_0000),
        Spot::Address(0xf_ffff_ffff_f000),
        Spot::Address(0x100_0000_0000_0000),
        Spot::Address(0xffff_8000_0000_0000),
        Spot::Address(0xffff_ffff_8100_0000),
        Spot::Address(usize::MAX - 3),
    ];
}

/// The memory that the spots mean.
pub(super) struct Ground {
    /// Readable and writable, zero but for the words; then one that can't be read.
    pages: *mut u8,
    read_only: *mut u8,
    gone: *mut u8,
}

/// Where the page that is to go stands: far from where the kernel puts new mappings, so that none
/// takes its place.
const GONE: usize = 0x10_0000_0000;

impl Ground {
    /// Maps it. All of `users` use the page that is to go.
    pub(super) fn new(users: &[&dyn Futex]) -> Self {
        let (write, read) = (libc::PROT_READ | libc::PROT_WRITE, libc::PROT_READ);
        let pages = map(0, 2 * PAGE, write);
        let gone = map(GONE, PAGE, write);
        let (wait, wake) = (
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
        );
        let call = |op, val, timeout_or_val2| {
            let (uaddr, uaddr2) = (gone.cast(), ptr::null_mut());
            FutexCall { uaddr, op, val, timeout_or_val2, uaddr2, val3: 0 }
        };
        for user in users {
            let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: one waits for no time, one wakes no waiter.
            let results = unsafe {
                (user.futex(call(wait, 0, &zero)), user.futex(call(wake, 1, ptr::null())))
            };
            assert_eq!(results, (Err(libc::ETIMEDOUT), Ok(0)), "{}", user.name());
        }
        // SAFETY: pages of this function, which nothing points into.
        unsafe {
            assert_eq!(libc::munmap(gone.cast(), PAGE), 0);
            assert_eq!(libc::mprotect(pages.wrapping_add(PAGE).cast(), PAGE, libc::PROT_NONE), 0);
        }
        Self { pages, read_only: map(0, PAGE, read), gone }
    }

    pub(super) fn address(&self, spot: Spot) -> *mut u8 {
        match spot {
            Spot::Word => self.pages,
            Spot::Free => self.pages.wrapping_add(64),
            Spot::Inside(bytes) => self.pages.wrapping_add(bytes),
            Spot::Edge => self.pages.wrapping_add(PAGE - 2),
            Spot::ReadOnly => self.read_only,
            Spot::Barred => self.pages.wrapping_add(PAGE),
            Spot::Gone => self.gone,
            Spot::Null => ptr::null_mut(),
            Spot::Address(address) => ptr::without_provenance_mut(address),
        }
    }

    /// What a word at the spot holds; 0 if there is none.
    pub(super) fn held(spot: Spot) -> u32 {
        if spot == Spot::Word { NO_THREAD } else { 0 }
    }

    /// Stores what it holds at first.
    pub(super) fn reset(&self) {
        // SAFETY: the first page is this value's own, and no other thread runs.
        unsafe {
            ptr::write_bytes(self.pages, 0, PAGE);
            self.address(Spot::Word).cast::<u32>().write(NO_THREAD);
        }
    }

    /// All that a call may have changed.
    pub(super) fn contents(&self) -> Vec<u8> {
        // SAFETY: as in `reset`.
        unsafe { std::slice::from_raw_parts(self.pages, PAGE) }.to_vec()
    }

    /// Writes `values` so that they end where the readable page does, `beyond` bytes too late.
    pub(super) fn at_the_edge(&self, values: &[Waitv], beyond: usize) -> *const Waitv {
        let length = size_of_val(values);
        let start = self.pages.wrapping_add(PAGE - (length - beyond));
        // SAFETY: within the page, as far as it is written.
        unsafe { ptr::copy(values.as_ptr().cast::<u8>(), start, length - beyond) };
        start.cast()
    }
}

fn map(address: usize, length: usize, access: i32) -> *mut u8 {
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let kind = if address == 0 { kind } else { kind | libc::MAP_FIXED_NOREPLACE };
    let address = ptr::without_provenance_mut(address);
    // SAFETY: a new mapping, which replaces none.
    let pages = unsafe { libc::mmap(address, length, access, kind, -1, 0) };
    assert_ne!(pages, libc::MAP_FAILED, "a page can be mapped");
    pages.cast()
}

/// The kernel and the one that is compared with it.
pub(super) fn both(other: &'static dyn Futex) -> [&'static dyn Futex; 2] {
    [&Kernel, other]
}
