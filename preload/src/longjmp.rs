//! `longjmp` and its names: a signal handler that jumps out of a wait of its own thread.
//!
//! In glibc the kernel does the waiting, and the wait is over when the handler runs. Here the
//! thread stands in a queue, and would still take wakes after the jump. So the jump first checks
//! whether it leaves a wait, which costs a load where there is none.

use crate::{cancel, glibc, recording};
use core::arch::naked_asm;
use core::cell::OnceCell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
#[cfg(target_arch = "aarch64")]
use core::sync::atomic::{AtomicBool, AtomicUsize};
use core::sync::atomic::{AtomicPtr, Ordering};
use furwock::unstable::{abandon_waits, signals};

/// glibc's functions.
static LONGJMP: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static UNDERSCORE_LONGJMP: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static SIGLONGJMP: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static LONGJMP_CHK: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Looks them up.
pub(crate) fn look_up() {
    let [longjmp, underscore_longjmp, siglongjmp, longjmp_chk] = glibc::longjmps();
    LONGJMP.store(longjmp, Ordering::Release);
    UNDERSCORE_LONGJMP.store(underscore_longjmp, Ordering::Release);
    SIGLONGJMP.store(siglongjmp, Ordering::Release);
    LONGJMP_CHK.store(longjmp_chk, Ordering::Release);
    #[cfg(target_arch = "aarch64")]
    find_guard();
}

macro_rules! jumps {
    ($($name:ident to $real:ident;)*) => {$(
        /// Ends the waits that the jump leaves, and jumps to glibc's function.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(environment: *mut c_void, value: c_int) -> ! {
            #[cfg(target_arch = "x86_64")]
            naked_asm!(
                ".cfi_startproc",
                "endbr64",
                "push rdi",
                ".cfi_adjust_cfa_offset 8",
                "push rsi",
                ".cfi_adjust_cfa_offset 8",
                "sub rsp, 8",
                ".cfi_adjust_cfa_offset 8",
                "call {before}",
                "add rsp, 8",
                ".cfi_adjust_cfa_offset -8",
                "pop rsi",
                ".cfi_adjust_cfa_offset -8",
                "pop rdi",
                ".cfi_adjust_cfa_offset -8",
                "jmp qword ptr [rip + {real}]",
                ".cfi_endproc",
                before = sym before,
                real = sym $real,
            );
            #[cfg(target_arch = "aarch64")]
            naked_asm!(
                ".cfi_startproc",
                "hint 34",
                "stp x29, x30, [sp, -32]!",
                ".cfi_def_cfa_offset 32",
                ".cfi_offset x29, -32",
                ".cfi_offset x30, -24",
                "mov x29, sp",
                "stp x0, x1, [sp, 16]",
                "bl {before}",
                "ldp x0, x1, [sp, 16]",
                "ldp x29, x30, [sp], 32",
                ".cfi_restore x29",
                ".cfi_restore x30",
                ".cfi_def_cfa_offset 0",
                "adrp x16, {real}",
                "ldr x16, [x16, :lo12:{real}]",
                "br x16",
                ".cfi_endproc",
                before = sym before,
                real = sym $real,
            );
        }
    )*};
}

jumps! {
    longjmp to LONGJMP;
    _longjmp to UNDERSCORE_LONGJMP;
    siglongjmp to SIGLONGJMP;
    __longjmp_chk to LONGJMP_CHK;
}

unsafe extern "C-unwind" fn before(environment: *const usize) {
    if LONGJMP.load(Ordering::Acquire).is_null() {
        look_up();
    }
    // Read only if there is a wait.
    let leaves = OnceCell::new();
    let is_left = |frame| {
        // SAFETY: the program's buffer, which `setjmp` has filled.
        leaves.get_or_init(|| Leaves::by(unsafe { stack_pointer(environment) })).covers(frame)
    };
    signals::leave(is_left);
    signals::closed(|| abandon_waits(is_left));
    recording::jumped(is_left);
    // SAFETY: may unwind this frame, which has nothing to drop.
    unsafe { cancel::put_back(is_left) };
}

/// The stack pointer in a `jmp_buf`, which glibc has mangled with the thread's pointer guard.
///
/// # Safety
/// `environment` is a `jmp_buf` that `setjmp` has filled.
#[cfg(target_arch = "x86_64")]
unsafe fn stack_pointer(environment: *const usize) -> usize {
    const RSP: usize = 6;
    const ROTATED: u32 = 17;
    let guard: usize;
    // SAFETY: by this function's contract; the guard is a word of the thread's control block.
    unsafe {
        core::arch::asm!("mov {}, fs:[0x30]", out(reg) guard, options(pure, readonly, nostack));
        environment.add(RSP).read().rotate_right(ROTATED) ^ guard
    }
}

/// glibc's pointer guard is no word of the thread's here, but a variable that glibc doesn't export.
/// So the library finds it out from a buffer of its own.
#[cfg(target_arch = "aarch64")]
static GUARD: AtomicUsize = AtomicUsize::new(0);

/// Whether both of what a `jmp_buf` mangles have the same guard, as they do where it is laid out as
/// this library knows it.
#[cfg(target_arch = "aarch64")]
static IS_KNOWN: AtomicBool = AtomicBool::new(false);

/// Whether this library can read a `jmp_buf`.
pub(crate) fn is_known() -> bool {
    #[cfg(target_arch = "aarch64")]
    return IS_KNOWN.load(Ordering::Relaxed);
    #[cfg(not(target_arch = "aarch64"))]
    true
}

/// Where a `jmp_buf` has its stack pointer.
#[cfg(target_arch = "aarch64")]
const SP: usize = 13;

/// # Safety
/// As above.
#[cfg(target_arch = "aarch64")]
unsafe fn stack_pointer(environment: *const usize) -> usize {
    // SAFETY: by this function's contract.
    unsafe { environment.add(SP).read() ^ GUARD.load(Ordering::Relaxed) }
}

#[cfg(target_arch = "aarch64")]
fn find_guard() {
    /// Where a `jmp_buf` has the address to return to.
    const LR: usize = 11;
    /// What `_setjmp` was called with.
    #[repr(C)]
    struct Called {
        stack: usize,
        back: usize,
    }

    /// Fills a `jmp_buf`, which no jump uses.
    #[unsafe(naked)]
    unsafe extern "C" fn fill(environment: *mut usize) -> Called {
        naked_asm!(
            ".cfi_startproc",
            "hint 34",
            "stp x29, x30, [sp, -16]!",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset x29, -16",
            ".cfi_offset x30, -8",
            "mov x29, sp",
            "bl _setjmp",
            "2:",
            "mov x0, sp",
            "adr x1, 2b",
            "ldp x29, x30, [sp], 16",
            ".cfi_restore x29",
            ".cfi_restore x30",
            ".cfi_def_cfa_offset 0",
            "ret",
            ".cfi_endproc",
        )
    }
    let mut environment = [0_usize; 64];
    // SAFETY: as large as a `jmp_buf`, which has 22 registers and a mask of signals.
    let Called { stack, back } = unsafe { fill(environment.as_mut_ptr()) };
    let guard = environment[SP] ^ stack;
    GUARD.store(guard, Ordering::Relaxed);
    IS_KNOWN.store(guard == environment[LR] ^ back, Ordering::Relaxed);
}

/// A target further away than this lies on another stack.
const STACK: usize = 1 << 30;

/// Which frames a jump leaves.
struct Leaves {
    target: usize,
    /// The alternate signal stack, if the jump comes from there.
    alternate: core::ops::Range<usize>,
}

impl Leaves {
    fn by(target: usize) -> Self {
        let mut now = MaybeUninit::<libc::stack_t>::zeroed();
        // SAFETY: writes one `stack_t`. It doesn't fail for want of a new one.
        let now = unsafe {
            libc::sigaltstack(core::ptr::null(), now.as_mut_ptr());
            now.assume_init()
        };
        let alternate = if now.ss_flags & libc::SS_ONSTACK != 0 {
            now.ss_sp.addr()..now.ss_sp.addr() + now.ss_size
        } else {
            0..0
        };
        Self { target, alternate }
    }

    fn covers(&self, frame: usize) -> bool {
        match (self.alternate.contains(&frame), self.alternate.contains(&self.target)) {
            // Off the alternate stack, which is left as a whole.
            (true, false) => true,
            // Within a handler, on a stack of its own.
            (false, true) => false,
            _ => frame < self.target && self.target - frame < STACK,
        }
    }
}
