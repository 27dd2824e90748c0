//! The entrances: what the kernel calls in place of a program's signal handlers (`handlers`).

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};
use furwock::unstable::signals;

/// How many different handlers a program may have. The kernel calls further ones directly.
const MOST: usize = 512;

/// The handler behind each pair of entrances; 0 if there is none. Entries are never reused: a
/// program may install the handler again, and another thread may be running the entrance.
static HANDLERS: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];

/// Bytes of code from an entrance to the next.
const ENTRANCE: usize = 16;

unsafe extern "C" {
    /// The first of the entrances; two for each handler, the second with `SA_SIGINFO`.
    fn furwock_entrances();
}

// An entrance knows its number, and nothing else. The code after it may change neither the stack
// nor the registers that hold a handler's arguments.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .text.furwock_entrances,\"ax\",@progbits",
    ".hidden furwock_entrances",
    ".globl furwock_entrances",
    ".type furwock_entrances, @function",
    ".p2align 4",
    "furwock_entrances:",
    ".cfi_startproc",
    ".set .Lfurwock_number, 0",
    ".rept {entrances}",
    ".p2align 4",
    "endbr64",
    "movl $.Lfurwock_number, %eax",
    "jmp .Lfurwock_arrives",
    ".set .Lfurwock_number, .Lfurwock_number + 1",
    ".endr",
    ".p2align 4",
    ".Lfurwock_arrives:",
    "pushq %rdi",
    ".cfi_adjust_cfa_offset 8",
    "pushq %rsi",
    ".cfi_adjust_cfa_offset 8",
    "pushq %rdx",
    ".cfi_adjust_cfa_offset 8",
    "pushq %rax",
    ".cfi_adjust_cfa_offset 8",
    "subq $8, %rsp",
    ".cfi_adjust_cfa_offset 8",
    "movl %eax, %ecx",
    "call {is_put_off}",
    "addq $8, %rsp",
    ".cfi_adjust_cfa_offset -8",
    "popq %rcx",
    ".cfi_adjust_cfa_offset -8",
    "popq %rdx",
    ".cfi_adjust_cfa_offset -8",
    "popq %rsi",
    ".cfi_adjust_cfa_offset -8",
    "popq %rdi",
    ".cfi_adjust_cfa_offset -8",
    "testb %al, %al",
    "jne 2f",
    "shrl $1, %ecx",
    "leaq {handlers}(%rip), %rax",
    "jmpq *(%rax,%rcx,8)",
    "2:",
    "ret",
    ".cfi_endproc",
    ".size furwock_entrances, . - furwock_entrances",
    ".popsection",
    entrances = const 2 * MOST,
    is_put_off = sym is_put_off,
    handlers = sym HANDLERS,
    options(att_syntax),
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".pushsection .text.furwock_entrances,\"ax\",@progbits",
    ".hidden furwock_entrances",
    ".globl furwock_entrances",
    ".type furwock_entrances, @function",
    ".p2align 4",
    "furwock_entrances:",
    ".cfi_startproc",
    ".set .Lfurwock_number, 0",
    ".rept {entrances}",
    ".p2align 4",
    // A landing pad for indirect calls.
    "hint 34",
    "mov w9, .Lfurwock_number",
    "b .Lfurwock_arrives",
    ".set .Lfurwock_number, .Lfurwock_number + 1",
    ".endr",
    ".p2align 4",
    ".Lfurwock_arrives:",
    "stp x29, x30, [sp, -48]!",
    ".cfi_def_cfa_offset 48",
    ".cfi_offset x29, -48",
    ".cfi_offset x30, -40",
    "mov x29, sp",
    "stp x0, x1, [sp, 16]",
    "stp x2, x9, [sp, 32]",
    "mov w3, w9",
    "bl {is_put_off}",
    "mov w10, w0",
    "ldp x0, x1, [sp, 16]",
    "ldp x2, x9, [sp, 32]",
    "ldp x29, x30, [sp], 48",
    ".cfi_restore x29",
    ".cfi_restore x30",
    ".cfi_def_cfa_offset 0",
    "tbnz w10, 0, 2f",
    "lsr w9, w9, 1",
    "adrp x10, {handlers}",
    "add x10, x10, :lo12:{handlers}",
    "ldr x16, [x10, x9, lsl 3]",
    "br x16",
    "2:",
    "ret",
    ".cfi_endproc",
    ".size furwock_entrances, . - furwock_entrances",
    ".popsection",
    entrances = const 2 * MOST,
    is_put_off = sym is_put_off,
    handlers = sym HANDLERS,
);

unsafe extern "C-unwind" fn is_put_off(
    signal: c_int,
    info: *const libc::siginfo_t,
    context: *mut c_void,
    number: u32,
) -> bool {
    // SAFETY: the kernel's arguments; entrances are installed with SA_SIGINFO.
    unsafe { signals::postpone(signal, info, context, entrance(number as usize)) }
}

fn entrance(number: usize) -> usize {
    furwock_entrances as *const () as usize + number * ENTRANCE
}

/// The number of the entrance at `address`, if there is one.
pub(crate) fn number(address: usize) -> Option<usize> {
    let offset = address.wrapping_sub(furwock_entrances as *const () as usize);
    (offset < 2 * MOST * ENTRANCE && offset.is_multiple_of(ENTRANCE)).then_some(offset / ENTRANCE)
}

/// The entrance for `handler`, in the `SA_SIGINFO` form if `info` is set. `None` if there are too
/// many.
pub(crate) fn entrance_for(handler: usize, info: bool) -> Option<usize> {
    let start = (handler >> 4 ^ handler >> 13) % MOST;
    let places = (0..MOST).map(|at| (start + at) % MOST);
    for place in places {
        let mine =
            HANDLERS[place].compare_exchange(0, handler, Ordering::Release, Ordering::Acquire);
        if mine.is_ok() || mine == Err(handler) {
            return Some(entrance(2 * place + usize::from(info)));
        }
    }
    None
}

/// The handler behind the entrance `number`.
pub(crate) fn handler(number: usize) -> usize {
    HANDLERS[number / 2].load(Ordering::Acquire)
}

/// Whether the entrance `number` is one of a handler with `SA_SIGINFO`.
pub(crate) fn has_info(number: usize) -> bool {
    !number.is_multiple_of(2)
}
