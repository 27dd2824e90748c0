//! What lies at an address: a symbol, or a place in a loaded file. Without the loader's lock.

use crate::loaded::{self, LinkMap};
use core::ffi::{CStr, c_char};
use core::fmt::Write;

const HASH: i64 = 4;
const STRINGS: i64 = 5;
const SYMBOLS: i64 = 6;
const GNU_HASH: i64 = 0x6fff_fef5;

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
    // SAFETY: glibc's, as long as the file is loaded.
    unsafe { loaded::find(address)?.map.as_ref() }
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

/// The value of an entry that is an address.
fn entry(map: &LinkMap, tag: i64) -> Option<usize> {
    // SAFETY: the file's own section; it stays loaded (`find`).
    let mut entries = unsafe { loaded::entries(map.dynamic) };
    entries.find(|entry| entry.tag == tag).map(|entry| entry.address(map.base))
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
