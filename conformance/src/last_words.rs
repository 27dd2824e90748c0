//! A crash or a hang names the program that it happened in.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

/// A program that takes longer hangs.
const LIMIT_SECONDS: u32 = 60;

static SEED: AtomicU64 = AtomicU64::new(0);

/// From now on the handler of a deadly signal names the running program. To be called before the
/// engine puts its own handler before this one.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(install);
}

fn install() {
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGABRT, libc::SIGALRM] {
        let handler = speak as extern "C" fn(i32);
        // SAFETY: the handler only makes calls that handlers may make; an all-zero action has no
        // flags and an empty mask.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as libc::sighandler_t;
            action.sa_flags = libc::SA_RESETHAND | libc::SA_ONSTACK;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// The program of this seed begins; it has a minute.
pub(crate) fn begin(seed: u64) {
    SEED.store(seed, Ordering::Relaxed);
    // SAFETY: no pointers.
    unsafe { libc::alarm(LIMIT_SECONDS) };
}

/// No program runs any more.
pub(crate) fn end() {
    // SAFETY: no pointers.
    unsafe { libc::alarm(0) };
}

extern "C" fn speak(signal: i32) {
    let mut text = *b"\nsignal .. in the program of seed 0x................ (14: it hangs)\n";
    let digit = |value: u64| b"0123456789abcdef"[(value & 15) as usize];
    let (tens, ones) = (signal as u64 / 10, signal as u64 % 10);
    [text[8], text[9]] = [digit(tens), digit(ones)];
    let seed = SEED.load(Ordering::Relaxed);
    for (place, byte) in text[35..51].iter_mut().enumerate() {
        *byte = digit(seed >> (60 - 4 * place));
    }
    // SAFETY: the text is that long. The default action, which is in place again, ends the process.
    unsafe {
        libc::write(2, text.as_ptr().cast(), text.len());
        libc::raise(signal);
    }
}
