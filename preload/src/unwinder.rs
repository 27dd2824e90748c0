//! The functions that unwind the stack, found when they are needed.
//!
//! Rust's standard library is linked with libgcc_s, which a container for C programs may lack:
//! there the loader would start no program with this library. The static libgcc would do without
//! it, but would be a second unwinder in the process. glibc cancels with libgcc_s, which it loads
//! itself; that unwinder's contexts would reach this library's frames, whose personality functions
//! would read and change them with the static copy's functions (`_Unwind_SetGR` stops the program
//! if its own copy has never unwound anything).
//!
//! So the names are defined here, hidden, and lead to libgcc_s. If the program loads it at the
//! start, it is found then; glibc's cancellation and `pthread_exit` load it before they unwind.
//! Without it neither this library nor glibc can unwind.

use crate::say::say;
use core::ffi::{CStr, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

/// One function: where to jump to. Null before it has been looked up.
struct Function {
    name: &'static CStr,
    address: &'static AtomicPtr<c_void>,
    /// The replacement where there is no libgcc_s.
    otherwise: unsafe extern "C-unwind" fn() -> c_int,
}

/// The result of an attempt to unwind where that isn't possible (`_URC_END_OF_STACK`).
const END_OF_STACK: c_int = 5;

/// Rust then reports that the panic couldn't be thrown, and ends the program.
unsafe extern "C-unwind" fn refuse() -> c_int {
    END_OF_STACK
}

/// Another unwinder has reached one of this library's frames, whose personality needs libgcc_s.
unsafe extern "C-unwind" fn give_up() -> c_int {
    say("libgcc_s.so.1 is needed to unwind the stack");
    std::process::abort()
}

macro_rules! functions {
    ($($name:ident in $slot:ident otherwise $otherwise:ident;)*) => {
        $(
            static $slot: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

            // Leaves no frame. None of these functions has more than five arguments.
            #[cfg(target_arch = "x86_64")]
            core::arch::global_asm!(
                concat!(".hidden ", stringify!($name)),
                concat!(".globl ", stringify!($name)),
                concat!(".type ", stringify!($name), ", @function"),
                concat!(stringify!($name), ":"),
                "endbr64",
                "mov r11, qword ptr [rip + {slot}]",
                "test r11, r11",
                "jz 2f",
                "jmp r11",
                "2:",
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "call {look_up}",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "jmp qword ptr [rip + {slot}]",
                concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
                slot = sym $slot,
                look_up = sym look_up,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::global_asm!(
                concat!(".hidden ", stringify!($name)),
                concat!(".globl ", stringify!($name)),
                concat!(".type ", stringify!($name), ", @function"),
                ".p2align 2",
                concat!(stringify!($name), ":"),
                "hint 34",
                "adrp x16, {slot}",
                "ldr x16, [x16, :lo12:{slot}]",
                "cbz x16, 2f",
                "br x16",
                "2:",
                "stp x29, x30, [sp, -64]!",
                "mov x29, sp",
                "stp x0, x1, [sp, 16]",
                "stp x2, x3, [sp, 32]",
                "str x4, [sp, 48]",
                "bl {look_up}",
                "ldp x0, x1, [sp, 16]",
                "ldp x2, x3, [sp, 32]",
                "ldr x4, [sp, 48]",
                "ldp x29, x30, [sp], 64",
                "adrp x16, {slot}",
                "ldr x16, [x16, :lo12:{slot}]",
                "br x16",
                concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
                slot = sym $slot,
                look_up = sym look_up,
            );
        )*

        const FUNCTIONS: &[Function] = &[$(Function {
            name: match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => unreachable!(),
            },
            address: &$slot,
            otherwise: $otherwise,
        }),*];
    };
}

functions! {
    _Unwind_Backtrace in BACKTRACE otherwise refuse;
    _Unwind_DeleteException in DELETE_EXCEPTION otherwise give_up;
    _Unwind_GetDataRelBase in GET_DATA_REL_BASE otherwise give_up;
    _Unwind_GetIP in GET_IP otherwise give_up;
    _Unwind_GetIPInfo in GET_IP_INFO otherwise give_up;
    _Unwind_GetLanguageSpecificData in GET_LANGUAGE_SPECIFIC_DATA otherwise give_up;
    _Unwind_GetRegionStart in GET_REGION_START otherwise give_up;
    _Unwind_GetTextRelBase in GET_TEXT_REL_BASE otherwise give_up;
    _Unwind_RaiseException in RAISE_EXCEPTION otherwise refuse;
    _Unwind_Resume in RESUME otherwise give_up;
    _Unwind_SetGR in SET_GR otherwise give_up;
    _Unwind_SetIP in SET_IP otherwise give_up;
    __gcc_personality_v0 in PERSONALITY otherwise give_up;
}

/// Looks them up if libgcc_s is loaded, as a dependency of something that the program starts with.
///
/// Not with `dlopen`, though it would load nothing: at the start it runs the constructors of the
/// objects loaded so far, libc's among them, with an environment that isn't set yet.
pub(crate) fn look_up_if_loaded() {
    // SAFETY: the callback has the right type, and looks at what it is given only.
    if unsafe { libc::dl_iterate_phdr(Some(is_libgcc), null_mut()) } != 0 {
        find_in(libc::RTLD_NEXT);
    }
}

/// Ends the walk over the loaded objects.
unsafe extern "C" fn is_libgcc(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    // SAFETY: the loader's, with a path that ends with NUL.
    let path = unsafe { (*info).dlpi_name };
    if path.is_null() {
        return 0;
    }
    // SAFETY: as above.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    let name = path.rsplit(|&byte| byte == b'/').next();
    c_int::from(name == Some(LIBRARY.to_bytes()))
}

const LIBRARY: &CStr = c"libgcc_s.so.1";

/// Looks up all of them, so that each has a target afterwards.
extern "C" fn look_up() {
    // SAFETY: the name ends with NUL. glibc loads the same for its own unwinding.
    find_in(unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW) });
}

fn find_in(library: *mut c_void) {
    for function in FUNCTIONS {
        let mut found = null_mut();
        if !library.is_null() {
            // SAFETY: a library that is never closed, and a name that ends with NUL.
            found = unsafe { libc::dlsym(library, function.name.as_ptr()) };
        }
        if found.is_null() {
            found = function.otherwise as *mut c_void;
        }
        function.address.store(found, Ordering::Release);
    }
}
