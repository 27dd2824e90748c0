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
}

macro_rules! jumps {
    ($($name:ident to $real:ident;)*) => {$(
        /// Ends the waits that the jump leaves, and jumps to glibc's function.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(environment: *mut c_void, value: c_int) -> ! {
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
            )
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
