//! A shared library's ordinary thread-local costs a call, to `__tls_get_addr` or a descriptor's
//! function. The slot is therefore declared in the initial-exec model, which Rust has no stable
//! word for: the assembler declares it, and a few instructions find it.

use super::Slot;
use crate::sys::symbol::versioned;

const _: () = assert!(size_of::<Slot>() <= 96, "the assembly below reserves 96 bytes");

core::arch::global_asm!(
    concat!(".pushsection .tbss.", versioned!("thread_slot"), ",\"awT\",@nobits"),
    concat!(".hidden ", versioned!("thread_slot")),
    concat!(".globl ", versioned!("thread_slot")),
    concat!(".type ", versioned!("thread_slot"), ", @object"),
    concat!(".size ", versioned!("thread_slot"), ", 96"),
    ".p2align 4",
    concat!(versioned!("thread_slot"), ":"),
    ".zero 96",
    ".popsection",
);

/// This thread's slot.
#[inline(always)]
pub(crate) fn slot<'thread>() -> &'thread Slot {
    let slot: *const Slot;
    // SAFETY: reads the slot's offset from the global offset table and adds the thread pointer,
    // which x86-64's ABI keeps at fs:0 and aarch64's in a register. The slot is zeroed, lives as
    // long as its thread, and `Slot` is neither Send nor Sync, so that no other thread gets at it.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(
            concat!("mov {slot}, qword ptr [rip + ", versioned!("thread_slot"), "@GOTTPOFF]"),
            "add {slot}, qword ptr fs:[0]",
            slot = out(reg) slot,
            options(pure, nomem, nostack),
        );
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!(
            concat!("adrp {offset}, :gottprel:", versioned!("thread_slot")),
            concat!("ldr {offset}, [{offset}, :gottprel_lo12:", versioned!("thread_slot"), "]"),
            "mrs {slot}, tpidr_el0",
            "add {slot}, {slot}, {offset}",
            offset = out(reg) _,
            slot = out(reg) slot,
            options(pure, nomem, nostack, preserves_flags),
        );
        &*slot
    }
}
