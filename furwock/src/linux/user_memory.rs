//! Reading and changing words at addresses that a caller of a system call names, valid or not.
//!
//! The kernel answers an address where there is nothing with `EFAULT`. So does this, in two steps.
//! The first access to a page (and the first write) asks the kernel, which looks without effect;
//! pages that it found are remembered. Later accesses are plain instructions, a few of which stand in a table: should one
//! of those fault, since the page has been unmapped since, a signal handler lets it fail instead (as
//! the kernel's own exception table does). Any other `SIGSEGV` or `SIGBUS` it leaves to whoever
//! handled them before. A program that installs a handler of its own later takes this one's place:
//! then a page that was unmapped after its first use is not caught.

use crate::sys::futex as kernel;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Nothing can be read, or written, there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault;

/// Above this the kernel has to say whether an address is a program's: 47 bits and less are, on
/// every 64-bit machine that Linux runs on.
const SURELY_USER: usize = 1 << 47;

/// Whether an address may be a futex word's: aligned, and a program's.
#[inline]
pub(super) fn is_word(word: *const u32) -> bool {
    word.is_aligned() && word.addr() < SURELY_USER - 4096
}

const PAGE_BITS: u32 = 12;
const KNOWN_PAGES: usize = 256;

/// Pages, each in one place; 0 (which nobody may map) in empty ones.
struct Pages([AtomicUsize; KNOWN_PAGES]);

/// Those that have been read from.
static KNOWN: Pages = Pages::new();

/// Those that have been written to: not all that can be read can be.
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

    /// Unless the next fault there wouldn't be caught.
    fn remember(&self, address: usize) {
        if fixup::install() {
            let page = address >> PAGE_BITS;
            self.place(page).store(page, Ordering::Relaxed);
        }
    }
}

#[inline]
fn know(address: usize) -> Result<(), Fault> {
    if KNOWN.has(address) { Ok(()) } else { ask_kernel(address) }
}

#[cold]
fn ask_kernel(address: usize) -> Result<(), Fault> {
    let word: *const u32 = core::ptr::with_exposed_provenance(address & !3);
    let op = libc::FUTEX_CMP_REQUEUE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: reads the word and moves nobody.
    if let Err(errno) = unsafe { kernel::futex(word, op, 0, 0, word, 0) }
        && errno.0 == libc::EFAULT
    {
        return Err(Fault);
    }
    KNOWN.remember(address);
    Ok(())
}

/// What can be loaded in one access.
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

/// Copies what lies there: plain memory, which others may be writing.
pub(super) fn copy<T: Copy>(from: *const T) -> Result<T, Fault> {
    let bytes = from.cast::<u8>();
    let last = bytes.wrapping_add(size_of::<T>() - 1);
    if last.addr() >= SURELY_USER || last.addr() < bytes.addr() {
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

/// Replaces what a word holds by `f` of it, in one step. Returns what it held.
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

/// Has the kernel OR nothing into the word.
#[cold]
fn ask_kernel_to_write(word: *const u32) -> Result<(), Fault> {
    static NOBODY: AtomicUsize = AtomicUsize::new(0);
    const OR: u32 = 2 << 28;
    const IF_EQUAL_TO_MINUS_2048: u32 = 0x800;
    let op = libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG;
    let nobody = NOBODY.as_ptr().cast::<u32>();
    // SAFETY: leaves the word as it is. At worst it wakes somebody who waits in the kernel.
    match unsafe { kernel::futex(nobody, op, 0, 0, word, OR | IF_EQUAL_TO_MINUS_2048) } {
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

#[cfg(target_arch = "x86_64")]
mod fixup {
    use super::Fault;
    use core::ffi::{c_int, c_void};
    use core::sync::atomic::{AtomicU8, Ordering};
    use std::sync::OnceLock;

    // Each function's instruction that may fault comes with a label; the handler goes on at
    // `furwock_user_fault`, which returns to the function's caller. So none may move the stack.
    core::arch::global_asm!(
        ".pushsection .text.furwock_user_0_1,\"ax\",@progbits",
        ".hidden furwock_user_load8_0_1",
        ".hidden furwock_user_load16_0_1",
        ".hidden furwock_user_load32_0_1",
        ".hidden furwock_user_load64_0_1",
        ".hidden furwock_user_cas32_0_1",
        ".hidden furwock_user_cas32_at_0_1",
        ".hidden furwock_user_copy_0_1",
        ".hidden furwock_user_copy_at_0_1",
        ".hidden furwock_user_fault_0_1",
        ".globl furwock_user_load8_0_1",
        ".globl furwock_user_load16_0_1",
        ".globl furwock_user_load32_0_1",
        ".globl furwock_user_load64_0_1",
        ".globl furwock_user_cas32_0_1",
        ".globl furwock_user_cas32_at_0_1",
        ".globl furwock_user_copy_0_1",
        ".globl furwock_user_copy_at_0_1",
        ".globl furwock_user_fault_0_1",
        ".p2align 4",
        "furwock_user_load8_0_1:",
        "movzx eax, byte ptr [rdi]",
        "xor edx, edx",
        "ret",
        ".p2align 4",
        "furwock_user_load16_0_1:",
        "movzx eax, word ptr [rdi]",
        "xor edx, edx",
        "ret",
        ".p2align 4",
        "furwock_user_load32_0_1:",
        "mov eax, dword ptr [rdi]",
        "xor edx, edx",
        "ret",
        ".p2align 4",
        "furwock_user_load64_0_1:",
        "mov rax, qword ptr [rdi]",
        "xor edx, edx",
        "ret",
        ".p2align 4",
        "furwock_user_cas32_0_1:",
        "mov eax, esi",
        "furwock_user_cas32_at_0_1:",
        "lock cmpxchg dword ptr [rdi], edx",
        "mov edx, 0",
        "ret",
        ".p2align 4",
        "furwock_user_copy_0_1:",
        "mov rcx, rdx",
        "furwock_user_copy_at_0_1:",
        "rep movsb",
        "xor edx, edx",
        "ret",
        ".p2align 4",
        "furwock_user_fault_0_1:",
        "mov edx, 1",
        "ret",
        ".popsection",
    );

    /// In rax and rdx.
    #[repr(C)]
    struct Loaded {
        value: u64,
        faulted: u64,
    }

    impl Loaded {
        #[inline]
        fn get(self) -> Result<u64, Fault> {
            if self.faulted == 0 { Ok(self.value) } else { Err(Fault) }
        }
    }

    unsafe extern "C" {
        fn furwock_user_load8_0_1(word: *const u8) -> Loaded;
        fn furwock_user_load16_0_1(word: *const u16) -> Loaded;
        fn furwock_user_load32_0_1(word: *const u32) -> Loaded;
        fn furwock_user_load64_0_1(word: *const u64) -> Loaded;
        fn furwock_user_cas32_0_1(word: *mut u32, old: u32, new: u32) -> Loaded;
        fn furwock_user_cas32_at_0_1();
        fn furwock_user_copy_0_1(to: *mut u8, from: *const u8, bytes: usize) -> Loaded;
        fn furwock_user_copy_at_0_1();
        fn furwock_user_fault_0_1();
    }

    #[inline]
    pub(super) unsafe fn load8(word: *const u8) -> Result<u8, Fault> {
        // SAFETY: by the caller's contract, as in the others.
        unsafe { furwock_user_load8_0_1(word) }.get().map(|value| value as u8)
    }

    #[inline]
    pub(super) unsafe fn load16(word: *const u16) -> Result<u16, Fault> {
        // SAFETY: see `load8`.
        unsafe { furwock_user_load16_0_1(word) }.get().map(|value| value as u16)
    }

    #[inline]
    pub(super) unsafe fn load32(word: *const u32) -> Result<u32, Fault> {
        // SAFETY: see `load8`.
        unsafe { furwock_user_load32_0_1(word) }.get().map(|value| value as u32)
    }

    #[inline]
    pub(super) unsafe fn load64(word: *const u64) -> Result<u64, Fault> {
        // SAFETY: see `load8`.
        unsafe { furwock_user_load64_0_1(word) }.get()
    }

    /// Returns what the word held.
    pub(super) unsafe fn compare_exchange(
        word: *mut u32,
        old: u32,
        new: u32,
    ) -> Result<u32, Fault> {
        // SAFETY: see `load8`.
        unsafe { furwock_user_cas32_0_1(word, old, new) }.get().map(|found| found as u32)
    }

    pub(super) unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) -> Result<(), Fault> {
        // SAFETY: see `load8`.
        unsafe { furwock_user_copy_0_1(to, from, bytes) }.get().map(|_| ())
    }

    static STATE: AtomicU8 = AtomicU8::new(NOT_YET);
    const NOT_YET: u8 = 0;
    const INSTALLING: u8 = 1;
    const INSTALLED: u8 = 2;
    const NOT_OURS: u8 = 3;

    /// Whether faults are caught.
    pub(super) fn install() -> bool {
        match STATE.load(Ordering::Acquire) {
            NOT_YET => {
                let first = STATE.compare_exchange(
                    NOT_YET,
                    INSTALLING,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
                if first.is_err() {
                    return false;
                }
                let caught = take_over(libc::SIGSEGV);
                take_over(libc::SIGBUS);
                STATE.store(if caught { INSTALLED } else { NOT_OURS }, Ordering::Release);
                caught
            }
            state => state == INSTALLED,
        }
    }

    /// Who handled the signals before, SIGSEGV first.
    static BEFORE: [OnceLock<libc::sigaction>; 2] = [const { OnceLock::new() }; 2];

    fn before(signal: c_int) -> &'static OnceLock<libc::sigaction> {
        &BEFORE[usize::from(signal != libc::SIGSEGV)]
    }

    /// Goes before whoever handles `signal`.
    fn take_over(signal: c_int) -> bool {
        // SAFETY: zero is a valid sigaction; the handler is one of three arguments, as SA_SIGINFO
        // says, and does only what a signal handler may.
        unsafe {
            let mut old: libc::sigaction = core::mem::zeroed();
            if libc::sigaction(signal, core::ptr::null(), &mut old) != 0
                || old.sa_flags & libc::SA_RESETHAND != 0
                || before(signal).set(old).is_err()
            {
                return false;
            }
            let mut new = old;
            new.sa_sigaction = on_fault as extern "C" fn(_, _, _) as usize;
            new.sa_flags |= libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(signal, &new, core::ptr::null_mut()) == 0
        }
    }

    extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        let catches = [
            furwock_user_load8_0_1 as *const () as usize,
            furwock_user_load16_0_1 as *const () as usize,
            furwock_user_load32_0_1 as *const () as usize,
            furwock_user_load64_0_1 as *const () as usize,
            furwock_user_cas32_at_0_1 as *const () as usize,
            furwock_user_copy_at_0_1 as *const () as usize,
        ];
        // SAFETY: the kernel's own arguments.
        let (at, sent) = unsafe {
            let context = &mut *context.cast::<libc::ucontext_t>();
            (&mut context.uc_mcontext.gregs[libc::REG_RIP as usize], (*info).si_code <= 0)
        };
        if !sent && catches.contains(&(*at as usize)) {
            *at = furwock_user_fault_0_1 as *const () as i64;
            return;
        }
        let old = before(signal).get().expect("set before the handler was installed");
        match old.sa_sigaction {
            libc::SIG_IGN if sent => {}
            // As if there had been no handler: what faulted faults again, what was sent is sent
            // again.
            // SAFETY: resets a disposition and signals the calling thread.
            libc::SIG_DFL | libc::SIG_IGN => unsafe {
                libc::signal(signal, libc::SIG_DFL);
                if sent {
                    libc::raise(signal);
                }
            },
            // SAFETY: the handler that stood there, called as its flags say, with its mask.
            handler => unsafe {
                if old.sa_flags & libc::SA_SIGINFO != 0 {
                    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                        core::mem::transmute(handler);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(c_int) = core::mem::transmute(handler);
                    handler(signal);
                }
            },
        }
    }
}

/// No table of instructions for this processor: the kernel is asked every time.
#[cfg(not(target_arch = "x86_64"))]
mod fixup {
    use super::Fault;
    use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

    pub(super) fn install() -> bool {
        false
    }

    macro_rules! loads {
        ($($load:ident: $atomic:ty => $word:ty),* $(,)?) => {$(
            pub(super) unsafe fn $load(word: *const $word) -> Result<$word, Fault> {
                // SAFETY: the kernel has just read it.
                Ok(unsafe { <$atomic>::from_ptr(word.cast_mut()) }.load(Ordering::SeqCst))
            }
        )*};
    }

    loads! {
        load8: AtomicU8 => u8,
        load16: AtomicU16 => u16,
        load32: AtomicU32 => u32,
        load64: AtomicU64 => u64,
    }

    pub(super) unsafe fn compare_exchange(
        word: *mut u32,
        old: u32,
        new: u32,
    ) -> Result<u32, Fault> {
        // SAFETY: the kernel has just written to it.
        let word = unsafe { AtomicU32::from_ptr(word) };
        match word.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(found) | Err(found) => Ok(found),
        }
    }

    pub(super) unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) -> Result<(), Fault> {
        // SAFETY: the kernel has just read from both of its pages.
        unsafe { core::ptr::copy_nonoverlapping(from, to, bytes) };
        Ok(())
    }
}
