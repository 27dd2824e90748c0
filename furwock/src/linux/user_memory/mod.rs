//! Reading and changing words at addresses passed to a system call, valid or not.
//!
//! For an address without memory the kernel returns `EFAULT`. So does this module, in two steps.
//! The first access to a page (and the first write) asks the kernel, with an operation without
//! effect; pages that exist are remembered. Later accesses are plain instructions, which are listed
//! in a table: if one of them faults because the page has been unmapped, a signal handler makes it
//! fail instead (like the kernel's own exception table). The handler passes any other `SIGSEGV` or
//! `SIGBUS` to the previous one. If the program later replaces this handler, a page that is
//! unmapped after its first use is not caught.

use crate::sys::futex as kernel;
use core::sync::atomic::{AtomicUsize, Ordering};

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod fixup;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "unchecked.rs"]
mod fixup;
mod reach;

use reach::Reach;

/// The address can't be read, or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault;

/// How far user space reaches, as far as the kernel was asked.
static USER_SPACE: Reach = Reach::new();

/// Whether an address may be a futex word's: aligned, and in user space.
#[inline]
pub(super) fn is_word(word: *const u32) -> bool {
    word.is_aligned() && USER_SPACE.covers(word.addr(), is_in_user_space)
}

/// Makes the kernel requeue none of the word's waiters. It doesn't read the word for that, so that
/// it complains about an address only if no memory can be there.
fn is_in_user_space(address: usize) -> bool {
    let word: *const u32 = core::ptr::without_provenance(address);
    let op = libc::FUTEX_REQUEUE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: reads nothing and moves no waiter.
    let asked = unsafe { kernel::futex(word, op, 0, 0, word, 0) };
    !asked.is_err_and(|errno| errno.0 == libc::EFAULT)
}

const PAGE_BITS: u32 = 12;
const KNOWN_PAGES: usize = 256;

/// Pages, each in its slot; 0 (which can't be mapped) in empty ones.
struct Pages([AtomicUsize; KNOWN_PAGES]);

/// Those that have been read from.
static KNOWN: Pages = Pages::new();

/// Those that have been written to: a readable page may not be writable.
static WRITABLE: Pages = Pages::new();

impl Pages {
    const fn new() -> Self {
        Self([const { AtomicUsize::new(0) }; KNOWN_PAGES])
    }

    #[inline]
    fn place(&self, page: usize) -> &AtomicUsize {
        &self.0[(page ^ (page >> 8)) % KNOWN_PAGES]
    }

    #[inline]
    fn has(&self, address: usize) -> bool {
        let page = address >> PAGE_BITS;
        page != 0 && self.place(page).load(Ordering::Relaxed) == page
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn forget(&self) {
        self.0.iter().for_each(|page| page.store(0, Ordering::Relaxed));
    }

    /// Unless a fault there wouldn't be caught.
    fn remember(&self, address: usize) {
        if fixup::install() {
            let page = address >> PAGE_BITS;
            self.place(page).store(page, Ordering::Relaxed);
        }
    }
}

/// Faults aren't caught any more.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn forget_pages() {
    KNOWN.forget();
    WRITABLE.forget();
}

#[inline]
fn know(address: usize) -> Result<(), Fault> {
    if KNOWN.has(address) { Ok(()) } else { ask_kernel(address) }
}

#[cold]
fn ask_kernel(address: usize) -> Result<(), Fault> {
    let word: *const u32 = core::ptr::with_exposed_provenance(address & !3);
    let op = libc::FUTEX_CMP_REQUEUE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: reads the word and moves no waiter.
    let answer = unsafe { kernel::futex(word, op, 0, 0, word, 0) };
    if answer.is_err_and(|errno| errno.0 == libc::EFAULT) {
        return Err(Fault);
    }
    KNOWN.remember(address);
    Ok(())
}

/// A value that can be loaded in one access.
pub(super) trait Loadable: Copy {
    /// # Safety
    /// The access may fault where it says so, and nowhere else.
    unsafe fn load_or_fault(word: *const Self) -> Result<Self, Fault>;
}

/// Loads a word, with `SeqCst`.
#[inline]
pub(super) fn load<T: Loadable>(word: *const T) -> Result<T, Fault> {
    know(word.addr())?;
    // SAFETY: readable a moment ago; if no more, the fault is caught.
    unsafe { T::load_or_fault(word) }
}

/// Whether there is a futex word that holds another value, so that a wait for `value` is in vain.
#[inline]
pub(super) fn holds_another(word: *const u32, value: u32) -> bool {
    is_word(word) && load(word).is_ok_and(|held| held != value)
}

/// Copies plain memory, which other threads may be writing.
pub(super) fn copy<T: Copy>(from: *const T) -> Result<T, Fault> {
    let bytes = from.cast::<u8>();
    let last = bytes.wrapping_add(size_of::<T>() - 1);
    if last.addr() < bytes.addr() {
        return Err(Fault);
    }
    know(bytes.addr())?;
    know(last.addr())?;
    let mut copy = core::mem::MaybeUninit::<T>::uninit();
    // SAFETY: readable a moment ago; if no more, the fault is caught. All of it is written, and the
    // types copied here are made of integers.
    unsafe {
        fixup::copy(copy.as_mut_ptr().cast(), bytes, size_of::<T>())?;
        Ok(copy.assume_init())
    }
}

pub(super) fn load_timespec(from: *const libc::timespec) -> Result<libc::timespec, Fault> {
    copy(from)
}

/// Replaces a word's value by `f` of it, atomically. Returns the old value.
///
/// # Safety
/// If the word can be written, the caller may.
pub(super) unsafe fn update(word: *mut u32, f: impl Fn(u32) -> u32) -> Result<u32, Fault> {
    let mut seen = load(word)?;
    if !WRITABLE.has(word.addr()) {
        ask_kernel_to_write(word)?;
    }
    loop {
        // SAFETY: by this function's contract; if it can't be written, the fault is caught.
        let found = unsafe { fixup::compare_exchange(word, seen, f(seen))? };
        if found == seen {
            return Ok(seen);
        }
        seen = found;
    }
}

/// Makes the kernel OR zero into the word.
#[cold]
fn ask_kernel_to_write(word: *const u32) -> Result<(), Fault> {
    static UNUSED: AtomicUsize = AtomicUsize::new(0);
    const OR: u32 = 2 << 28;
    const IF_EQUAL_TO_MINUS_2048: u32 = 0x800;
    let op = libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG;
    let unused = UNUSED.as_ptr().cast::<u32>();
    // SAFETY: leaves the word as it is. At worst it wakes a waiter in the kernel.
    match unsafe { kernel::futex(unused, op, 0, 0, word, OR | IF_EQUAL_TO_MINUS_2048) } {
        Err(errno) if errno.0 == libc::EFAULT => Err(Fault),
        _ => {
            WRITABLE.remember(word.addr());
            Ok(())
        }
    }
}

macro_rules! loadable {
    ($($word:ty => $load:ident),* $(,)?) => {$(
        impl Loadable for $word {
            #[inline]
            unsafe fn load_or_fault(word: *const Self) -> Result<Self, Fault> {
                // SAFETY: by this function's contract.
                unsafe { fixup::$load(word) }
            }
        }
    )*};
}

loadable! { u8 => load8, u16 => load16, u32 => load32, u64 => load64 }

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_words_where_the_kernel_says_so() {
        let wakes = |address: usize| {
            let op = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
            let word = core::ptr::without_provenance::<u32>(address);
            // SAFETY: no thread waits so close to a power of two; waking writes nothing.
            unsafe { kernel::futex(word, op, 1, 0, core::ptr::null(), 0) }.is_ok()
        };
        let (mut inside, mut outside) = (0, 0);
        for bits in 30..64 {
            for address in [(1 << bits) - 4096, (1 << bits) - 4, 1 << bits] {
                let is = wakes(address);
                if is {
                    inside += 1
                } else {
                    outside += 1
                }
                assert_eq!(is_word(core::ptr::without_provenance(address)), is, "{address:#x}");
            }
        }
        assert!(inside > 9 && outside > 0, "{inside} addresses inside, {outside} outside");
    }
}
