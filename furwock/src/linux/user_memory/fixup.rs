//! Accesses that may fault, and the signal handler that lets them fail instead.

use super::Fault;
use crate::sys::symbol::versioned;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU8, Ordering};
use std::sync::OnceLock;

/// Defines these symbols, each followed by its instructions.
///
/// In each function an instruction that may fault has a symbol; the handler continues at `fault`,
/// which returns to the function's caller. So none of them may move the stack pointer.
macro_rules! assemble {
    ($($name:literal: $($instruction:literal)*;)*) => {
        core::arch::global_asm!(
            concat!(".pushsection .text.", versioned!("user"), ",\"ax\",@progbits"),
            ".p2align 4",
            $(
                concat!(".hidden ", versioned!($name)),
                concat!(".globl ", versioned!($name)),
                concat!(versioned!($name), ":"),
                $($instruction,)*
            )*
            ".popsection",
        );
    };
}

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
use aarch64::{may_fault, program_counter};
#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
use x86_64::{may_fault, program_counter};

/// In two registers.
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

/// The symbols.
mod assembled {
    use super::{Loaded, versioned};

    unsafe extern "C" {
        #[link_name = versioned!("user_load8")]
        pub(super) fn load8(word: *const u8) -> Loaded;
        #[link_name = versioned!("user_load16")]
        pub(super) fn load16(word: *const u16) -> Loaded;
        #[link_name = versioned!("user_load32")]
        pub(super) fn load32(word: *const u32) -> Loaded;
        #[link_name = versioned!("user_load64")]
        pub(super) fn load64(word: *const u64) -> Loaded;
        #[link_name = versioned!("user_cas32")]
        pub(super) fn cas32(word: *mut u32, old: u32, new: u32) -> Loaded;
        #[link_name = versioned!("user_copy")]
        pub(super) fn copy(to: *mut u8, from: *const u8, bytes: usize) -> Loaded;
        #[link_name = versioned!("user_fault")]
        pub(super) fn fault();
    }
}

#[inline]
pub(super) unsafe fn load8(word: *const u8) -> Result<u8, Fault> {
    // SAFETY: by the caller's contract, as in the others.
    unsafe { assembled::load8(word) }.get().map(|value| value as u8)
}

#[inline]
pub(super) unsafe fn load16(word: *const u16) -> Result<u16, Fault> {
    // SAFETY: see `load8`.
    unsafe { assembled::load16(word) }.get().map(|value| value as u16)
}

#[inline]
pub(super) unsafe fn load32(word: *const u32) -> Result<u32, Fault> {
    // SAFETY: see `load8`.
    unsafe { assembled::load32(word) }.get().map(|value| value as u32)
}

#[inline]
pub(super) unsafe fn load64(word: *const u64) -> Result<u64, Fault> {
    // SAFETY: see `load8`.
    unsafe { assembled::load64(word) }.get()
}

/// Returns what the word held.
pub(super) unsafe fn compare_exchange(word: *mut u32, old: u32, new: u32) -> Result<u32, Fault> {
    // SAFETY: see `load8`.
    unsafe { assembled::cas32(word, old, new) }.get().map(|found| found as u32)
}

pub(super) unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) -> Result<(), Fault> {
    // SAFETY: see `load8`.
    unsafe { assembled::copy(to, from, bytes) }.get().map(|_| ())
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
            let first =
                STATE.compare_exchange(NOT_YET, INSTALLING, Ordering::Relaxed, Ordering::Relaxed);
            if first.is_err() {
                return false;
            }
            // An access to a file's mapping beyond its end raises SIGBUS.
            let caught = take_over(libc::SIGSEGV) & take_over(libc::SIGBUS);
            STATE.store(if caught { INSTALLED } else { NOT_OURS }, Ordering::Release);
            caught
        }
        state => state == INSTALLED,
    }
}

/// The previous handlers, SIGSEGV's first.
static BEFORE: [OnceLock<libc::sigaction>; 2] = [const { OnceLock::new() }; 2];

fn before(signal: c_int) -> &'static OnceLock<libc::sigaction> {
    &BEFORE[usize::from(signal != libc::SIGSEGV)]
}

/// Installs the handler in front of the present one of `signal`.
fn take_over(signal: c_int) -> bool {
    // SAFETY: zero is a valid sigaction; the handler is one of three arguments, as SA_SIGINFO
    // says, and does only what a signal handler may.
    unsafe {
        let mut old: libc::sigaction = core::mem::zeroed();
        if libc::sigaction(signal, core::ptr::null(), &mut old) != 0
            || before(signal).set(old).is_err()
        {
            return false;
        }
        let mut new = old;
        new.sa_sigaction = on_fault as extern "C" fn(_, _, _) as usize;
        new.sa_flags |= libc::SA_SIGINFO | libc::SA_ONSTACK;
        // The handler that stood there may be for one call only. This one isn't; it sees to that.
        new.sa_flags &= !libc::SA_RESETHAND;
        libc::sigaction(signal, &new, core::ptr::null_mut()) == 0
    }
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's own arguments.
    let (at, sent) = unsafe {
        (program_counter(&mut *context.cast::<libc::ucontext_t>()), (*info).si_code <= 0)
    };
    if !sent && may_fault().contains(&(*at as usize)) {
        *at = assembled::fault as *const () as _;
        return;
    }
    let old = before(signal).get().expect("set before the handler was installed");
    if old.sa_flags & libc::SA_RESETHAND != 0 && old.sa_sigaction != libc::SIG_IGN {
        // From now on faults aren't caught: the kernel is asked again about each page.
        STATE.store(NOT_OURS, Ordering::Release);
        super::forget_pages();
        // SAFETY: what the kernel does before it calls such a handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    match old.sa_sigaction {
        libc::SIG_IGN if sent => {}
        // As if there had been no handler: the fault repeats, or the signal is sent again.
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
