//! Tools that watch a program's locks, and have to see glibc's own calls. furwock leaves the
//! program to glibc under them: otherwise they would report every access under a lock as a race.

use crate::environment::Environment;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;

const RTLD_DL_SYMENT: c_int = 1;

/// The tool that this process runs under, if any. Checks before any call that the tool might
/// intercept, since it isn't set up yet.
pub(crate) fn find(environment: &Environment) -> Option<&'static str> {
    if is_under_valgrind(environment) {
        return Some(
            "valgrind has to see glibc's own locks: the program runs on those (run valgrind without \
             furwock to be rid of this line)",
        );
    }
    if has_thread_sanitizer() {
        return Some(
            "ThreadSanitizer has to see glibc's own locks: the program runs on those (run it without \
             furwock to be rid of this line)",
        );
    }
    if program_has_own_locks() {
        return Some(
            "the program has a pthread_mutex_lock of its own, as sanitizers link it in: furwock \
             stays out of its way",
        );
    }
    None
}

/// valgrind preloads its own library into each process that it runs, and removes the library's name
/// from the environment of other processes.
fn is_under_valgrind(environment: &Environment) -> bool {
    const LIBRARY: &[u8] = b"/vgpreload_core";
    environment
        .get(c"LD_PRELOAD")
        .is_some_and(|value| value.to_bytes().windows(LIBRARY.len()).any(|part| part == LIBRARY))
}

/// As a library, or exported by a program that it is linked into. This uses the loader's own
/// look-up: a failing `dlsym` allocates, from a `malloc` that may not be set up.
pub(crate) fn has_thread_sanitizer() -> bool {
    let start: usize;
    // SAFETY: reads the offset table, where the loader leaves 0 for a weak symbol that no object
    // defines.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(
            ".weak __tsan_init",
            "mov {start}, qword ptr [rip + __tsan_init@GOTPCREL]",
            start = out(reg) start,
            options(pure, nomem, nostack, preserves_flags),
        );
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!(
            ".weak __tsan_init",
            "adrp {start}, :got:__tsan_init",
            "ldr {start}, [{start}, :got_lo12:__tsan_init]",
            start = out(reg) start,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    start != 0
}

/// Whether the program itself defines a function that furwock replaces. (A library before this one
/// may do so: it calls furwock's, or has its reasons.)
fn program_has_own_locks() -> bool {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    let mut symbol: *mut libc::Elf64_Sym = ptr::null_mut();
    // SAFETY: C strings; writes one `Dl_info` and the address of a symbol, both of which live as
    // long as the object they are in, which never goes.
    unsafe {
        let first = libc::dlsym(libc::RTLD_DEFAULT, c"pthread_mutex_lock".as_ptr());
        // (Not to be compared with this library's own by address: the linker may bind that to the
        // program's as well.)
        let found =
            libc::dladdr1(first, info.as_mut_ptr(), (&raw mut symbol).cast(), RTLD_DL_SYMENT);
        if found == 0 || symbol.is_null() {
            return false;
        }
        // A program that isn't position-independent may have an entry for a function that it only
        // calls: that symbol is undefined, but has an address.
        (*symbol).st_shndx != 0 && is_program(info.assume_init().dli_fbase)
    }
}

/// Whether the object that was loaded at `base` is the program.
fn is_program(base: *mut c_void) -> bool {
    let mut program = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the entry point is the program's, wherever the loader itself lies; writes one
    // `Dl_info`.
    unsafe {
        let entry = libc::getauxval(libc::AT_ENTRY) as *const c_void;
        libc::dladdr(entry, program.as_mut_ptr()) != 0 && program.assume_init().dli_fbase == base
    }
}
