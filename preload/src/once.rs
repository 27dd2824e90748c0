//! `pthread_once` and C11's `call_once`.
//!
//! [`RawOnce`] has the words, which are glibc's, so that a control that is done in glibc is done
//! here. A call that was in progress in the parent, by a thread that the child doesn't have, starts
//! again in the child.

use crate::glibc::{CleanupHandler, Routine};
use crate::{glibc, layout};
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use furwock::lock::RawOnce;
use furwock::unstable::once::{begin, end};
use furwock::unstable::signals::closed;

/// POSIX `pthread_once`. Not a cancellation point itself; if `routine` is cancelled, or throws an
/// exception, it counts as not called.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_once(
    control: *mut libc::pthread_once_t,
    routine: Routine,
) -> c_int {
    if layout::is_off() {
        // SAFETY: by this function's contract.
        return unsafe { glibc::pthread_once(control, routine) };
    }
    // SAFETY: the program's control, an int.
    let once = unsafe { &*control.cast::<RawOnce>() };
    if !once.is_done() {
        // SAFETY: by this function's contract.
        unsafe { call(once, routine) };
    }
    0
}

/// glibc's other name, which old programs call.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pthread_once(
    control: *mut libc::pthread_once_t,
    routine: Routine,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { pthread_once(control, routine) }
}

/// C11 `call_once`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn call_once(flag: *mut c_void, routine: Routine) {
    // SAFETY: glibc's `once_flag` holds a control of pthread's.
    unsafe { pthread_once(flag.cast(), routine) };
}

#[cold]
unsafe fn call(once: &RawOnce, routine: Routine) {
    if closed(|| begin(once)) {
        // SAFETY: by this function's contract.
        unsafe { call_as_first(once, routine) };
    }
}

/// A call in progress: its clean-up, if the routine is left, is registered in two ways. An unwind
/// reaches the frame of `furwock_call_once`, which takes the other registration back. Where the
/// routine's own frames can't be unwound, a cancellation or `pthread_exit` ends the unwind and
/// calls what `_pthread_cleanup_push` has registered; so does one of glibc's jumps.
#[repr(C)]
struct Call<'o> {
    handler: MaybeUninit<CleanupHandler>,
    once: &'o RawOnce,
}

/// # Safety
/// The program's routine; the control lives as long as the program calls with it.
unsafe fn call_as_first(once: &RawOnce, routine: Routine) {
    let mut call = Call { handler: MaybeUninit::uninit(), once };
    // SAFETY: `call` outlives its registration, which ends below, or as the routine is left.
    unsafe {
        let argument = (&raw mut call).cast::<c_void>();
        glibc::_pthread_cleanup_push(call.handler.as_mut_ptr(), furwock_once_was_cut, argument);
        furwock_call_once(&mut call, routine);
        closed(|| {
            glibc::_pthread_cleanup_pop(call.handler.as_mut_ptr(), 0);
            end(once, true);
        });
    }
}

/// The routine was left by an unwind, which goes on after this.
unsafe extern "C-unwind" fn furwock_once_was_left(call: &mut Call<'_>) {
    // SAFETY: registered by `call_as_first`, and not called: what comes later would be this
    // frame's.
    closed(|| unsafe {
        glibc::_pthread_cleanup_pop(call.handler.as_mut_ptr(), 0);
        end(call.once, false);
    });
}

/// The routine was left, and nothing unwinds. glibc has taken the registration back.
unsafe extern "C-unwind" fn furwock_once_was_cut(call: *mut c_void) {
    // SAFETY: what `call_as_first` registered.
    closed(|| end(unsafe { (*call.cast::<Call<'_>>()).once }, false));
}

unsafe extern "C-unwind" {
    /// Calls `routine`; if that is left by an unwind, calls `furwock_once_was_left(call)` on the
    /// way.
    fn furwock_call_once(call: &mut Call<'_>, routine: Routine);
}

// This is assembly, since it has to clean up under an exception of C++ as well as under a
// cancellation, whose unwinding must not meet a Rust frame that has something to drop. By the
// table, every unwind out of the call continues at the landing pad. The personality is that of C's
// cleanup attribute.
/// Assembles `furwock_call_once` with these instructions, and the table of its calls.
macro_rules! with_table {
    ($($instruction:literal,)*) => {
        core::arch::global_asm!(
            ".pushsection .text.furwock_call_once,\"ax\",@progbits",
            ".hidden furwock_call_once",
            ".globl furwock_call_once",
            ".type furwock_call_once, @function",
            ".p2align 2",
            "furwock_call_once:",
            ".cfi_startproc",
            ".cfi_personality 0x9b, DW.ref.furwock_once_personality",
            ".cfi_lsda 0x1b, .Lfurwock_once_table",
            $($instruction,)*
            ".Lfurwock_once_end:",
            ".cfi_endproc",
            ".size furwock_call_once, . - furwock_call_once",
            ".popsection",
            ".pushsection .gcc_except_table.furwock_call_once,\"a\",@progbits",
            ".p2align 2",
            ".Lfurwock_once_table:",
            // No base for landing pads, no types; then the calls, in uleb128.
            ".byte 0xff, 0xff, 0x01",
            ".uleb128 .Lfurwock_once_calls_end - .Lfurwock_once_calls",
            ".Lfurwock_once_calls:",
            ".uleb128 .Lfurwock_once_call - furwock_call_once",
            ".uleb128 .Lfurwock_once_returned - .Lfurwock_once_call",
            ".uleb128 .Lfurwock_once_left - furwock_call_once",
            ".uleb128 0",
            // The rest of the function calls what doesn't unwind, and goes on unwinding.
            ".uleb128 .Lfurwock_once_returned - furwock_call_once",
            ".uleb128 .Lfurwock_once_end - .Lfurwock_once_returned",
            ".uleb128 0",
            ".uleb128 0",
            ".Lfurwock_once_calls_end:",
            ".popsection",
            ".pushsection .data.rel.furwock_once_personality,\"aw\",@progbits",
            ".p2align 3",
            "DW.ref.furwock_once_personality:",
            ".quad __gcc_personality_v0",
            ".popsection",
            left = sym furwock_once_was_left,
        );
    };
}

#[cfg(target_arch = "x86_64")]
with_table! {
    "endbr64",
    "push rbx",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbx, -16",
    "mov rbx, rdi",
    ".Lfurwock_once_call:",
    "call rsi",
    ".Lfurwock_once_returned:",
    "pop rbx",
    ".cfi_remember_state",
    ".cfi_def_cfa_offset 8",
    "ret",
    ".cfi_restore_state",
    ".Lfurwock_once_left:",
    "mov rdi, rbx",
    "mov rbx, rax",
    "call {left}",
    "mov rdi, rbx",
    "call _Unwind_Resume@PLT",
    "ud2",
}

#[cfg(target_arch = "aarch64")]
with_table! {
    // A landing pad for indirect calls, and below for indirect jumps.
    "hint 34",
    "stp x29, x30, [sp, -32]!",
    ".cfi_def_cfa_offset 32",
    ".cfi_offset x29, -32",
    ".cfi_offset x30, -24",
    "mov x29, sp",
    "str x19, [sp, 16]",
    ".cfi_offset x19, -16",
    "mov x19, x0",
    ".Lfurwock_once_call:",
    "blr x1",
    ".Lfurwock_once_returned:",
    ".cfi_remember_state",
    "ldr x19, [sp, 16]",
    "ldp x29, x30, [sp], 32",
    ".cfi_restore x19",
    ".cfi_restore x29",
    ".cfi_restore x30",
    ".cfi_def_cfa_offset 0",
    "ret",
    ".cfi_restore_state",
    ".Lfurwock_once_left:",
    "hint 36",
    "mov x1, x0",
    "mov x0, x19",
    "mov x19, x1",
    "bl {left}",
    "mov x0, x19",
    "bl _Unwind_Resume",
    // Not reached.
    "brk 1",
}
