//! Which loaded file an address lies in. Without the loader's lock, whose holder may wait for a
//! lock of the program.

mod listed;

use core::ffi::{c_char, c_int, c_void};
use core::mem::{MaybeUninit, transmute};
use core::sync::atomic::{AtomicPtr, Ordering};

/// glibc's `_dl_find_object`, which takes no lock; since 2.35. Without it, `listed`.
static FIND: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// glibc's `struct dl_find_object`.
#[repr(C)]
pub(crate) struct Loaded {
    flags: u64,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) map: *const LinkMap,
    /// The segment that begins with the table of functions.
    pub(crate) table: usize,
    reserved: [u64; 7],
}

/// The part of `struct link_map` that <link.h> shows.
#[repr(C)]
pub(crate) struct LinkMap {
    pub(crate) base: usize,
    pub(crate) name: *const c_char,
    pub(crate) dynamic: *const Dynamic,
}

/// An entry of a file's dynamic section.
#[repr(C)]
pub(crate) struct Dynamic {
    pub(crate) tag: i64,
    pub(crate) value: usize,
}

/// At the start, where a look-up may wait for the loader.
pub(crate) fn look_up() {
    // SAFETY: a C string.
    let find = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    FIND.store(find, Ordering::Release);
    if find.is_null() {
        listed::look_up();
    }
}

/// The kernel isn't asked any more where glibc can't be.
#[cfg_attr(not(feature = "recording"), allow(dead_code, reason = "for the recorder's sandboxes"))]
pub(crate) fn ask_kernel_no_more() {
    listed::read_no_more();
}

/// The file that `address`, one on the caller's stack or in use by it, lies in.
pub(crate) fn find(address: usize) -> Option<Loaded> {
    type Find = Option<unsafe extern "C" fn(usize, *mut Loaded) -> c_int>;
    // SAFETY: null, or glibc's function, which has this type.
    let find: Find = unsafe { transmute(FIND.load(Ordering::Acquire)) };
    let Some(find) = find else { return listed::find(address) };
    let mut loaded = MaybeUninit::<Loaded>::zeroed();
    // SAFETY: fills one structure if it returns 0; zeroes are valid, too.
    unsafe { (find(address, loaded.as_mut_ptr()) == 0).then(|| loaded.assume_init()) }
}

impl Dynamic {
    /// The address that the entry holds. glibc relocates addresses in place; the kernel's own
    /// object keeps them as they are.
    pub(crate) fn address(&self, base: usize) -> usize {
        if self.value < base { base + self.value } else { self.value }
    }
}

/// The entries of a dynamic section that begins at `first`.
///
/// # Safety
/// It does, or `first` is null, and the file stays loaded as long as they are used.
pub(crate) unsafe fn entries(first: *const Dynamic) -> impl Iterator<Item = &'static Dynamic> {
    const END: i64 = 0;
    let mut at = first;
    core::iter::from_fn(move || {
        // SAFETY: by this function's contract; the section ends with an entry of its own.
        let entry = unsafe { at.as_ref()? };
        if entry.tag == END {
            return None;
        }
        at = at.wrapping_add(1);
        Some(entry)
    })
}
