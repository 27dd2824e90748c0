//! What lies at an address: a symbol, or a place in a loaded file. Without the loader's lock.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::fmt::Write;
use core::mem::{MaybeUninit, transmute};
use core::sync::atomic::{AtomicPtr, Ordering};

/// glibc's `_dl_find_object`, which takes no lock; since 2.35.
static FIND: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// glibc's `struct dl_find_object`.
#[repr(C)]
struct Found {
    flags: u64,
    start: *mut c_void,
    end: *mut c_void,
    map: *const LinkMap,
    frames: *mut c_void,
    reserved: [u64; 7],
}

/// The part of `struct link_map` that <link.h> shows.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
    dynamic: *const Entry,
}

/// An entry of a file's dynamic section.
#[repr(C)]
struct Entry {
    tag: i64,
    value: usize,
}

const END: i64 = 0;
const HASH: i64 = 4;
const STRINGS: i64 = 5;
const SYMBOLS: i64 = 6;
const GNU_HASH: i64 = 0x6fff_fef5;

/// At the start, where a look-up may wait for the loader.
pub(crate) fn look_up() {
    // SAFETY: a C string.
    let find = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    FIND.store(find, Ordering::Release);
}

/// Writes ` (symbol)`, ` (file+0x10)`, or nothing for memory that no file is loaded to.
pub(crate) fn write_place(text: &mut impl Write, address: usize) {
    let Some(map) = find(address) else { return };
    if let Some((name, offset)) = symbol(map, address) {
        _ = write!(text, " ({name}");
        if offset != 0 {
            _ = write!(text, "+{offset:#x}");
        }
        _ = text.write_str(")");
        return;
    }
    // SAFETY: the loader's string.
    let path = unsafe { CStr::from_ptr(map.name) };
    let path = if path.is_empty() { program() } else { path };
    let path = path.to_str().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or(path);
    _ = write!(text, " ({name}+{:#x})", address.wrapping_sub(map.base));
}

/// The file that `address` lies in. A thread waits for an object in it: it stays loaded.
fn find(address: usize) -> Option<&'static LinkMap> {
    type Find = unsafe extern "C" fn(*const c_void, *mut Found) -> c_int;
    let find = FIND.load(Ordering::Acquire);
    if find.is_null() {
        return None;
    }
    let mut found = MaybeUninit::<Found>::uninit();
    // SAFETY: glibc's function of that name has this type, and fills one structure if it returns 0.
    unsafe {
        let find = transmute::<*mut c_void, Find>(find);
        if find(core::ptr::with_exposed_provenance(address), found.as_mut_ptr()) != 0 {
            return None;
        }
        found.assume_init().map.as_ref()
    }
}

/// The path that the program was started by.
fn program() -> &'static CStr {
    // SAFETY: the kernel's string, or 0.
    unsafe {
        let path = libc::getauxval(libc::AT_EXECFN) as *const c_char;
        if path.is_null() { c"program" } else { CStr::from_ptr(path) }
    }
}

/// The variable that `address` lies in, by the symbols that the file exports.
fn symbol(map: &'static LinkMap, address: usize) -> Option<(&'static str, usize)> {
    let symbols: *const libc::Elf64_Sym = core::ptr::with_exposed_provenance(entry(map, SYMBOLS)?);
    let strings = entry(map, STRINGS)?;
    let value = address.wrapping_sub(map.base);
    for index in 0..count(map)? {
        // SAFETY: the table has as many.
        let symbol = unsafe { &*symbols.add(index) };
        let start = symbol.st_value as usize;
        let is_variable = symbol.st_info & 0xf == 1 && symbol.st_shndx != 0;
        if is_variable && (start..start + symbol.st_size as usize).contains(&value) {
            let name = core::ptr::with_exposed_provenance(strings + symbol.st_name as usize);
            // SAFETY: a string of the file's.
            let name = unsafe { CStr::from_ptr(name) };
            return Some((name.to_str().ok()?, value - start));
        }
    }
    None
}

/// The value of an entry that is an address. glibc relocates these.
fn entry(map: &LinkMap, tag: i64) -> Option<usize> {
    let mut at = map.dynamic;
    loop {
        // SAFETY: the section ends with an entry of its own.
        let entry = unsafe { at.as_ref()? };
        if entry.tag == tag {
            return Some(if entry.value < map.base { entry.value + map.base } else { entry.value });
        }
        if entry.tag == END {
            return None;
        }
        // SAFETY: as above.
        at = unsafe { at.add(1) };
    }
}

/// How many symbols the file has: its hash tables know.
fn count(map: &LinkMap) -> Option<usize> {
    if let Some(table) = entry(map, HASH) {
        let table: *const u32 = core::ptr::with_exposed_provenance(table);
        // SAFETY: the second word is their number.
        return Some(unsafe { *table.add(1) } as usize);
    }
    let table: *const u32 = core::ptr::with_exposed_provenance(entry(map, GNU_HASH)?);
    // SAFETY: the table's format: four words, a filter of 64-bit words, the buckets, and for each
    // symbol from `first` on a word whose lowest bit marks the last of its bucket.
    unsafe {
        let (buckets, first, filter) = (*table, *table.add(1) as usize, *table.add(2) as usize);
        let heads = table.add(4 + 2 * filter);
        let chains = heads.add(buckets as usize);
        let last = (0..buckets as usize).map(|bucket| *heads.add(bucket) as usize).max()?;
        if last < first {
            return Some(first);
        }
        let mut at = last;
        while *chains.add(at - first) & 1 == 0 {
            at += 1;
        }
        Some(at + 1)
    }
}
