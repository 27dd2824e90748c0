//! Look-ups that go to libc itself find this library's functions.
//!
//! A preloaded library comes first in the global scope, but not every look-up starts there. A
//! library loaded with `RTLD_DEEPBIND` is bound to its own dependencies first, and libc is one of
//! them. `dlsym` with libc's handle, or that of any library that depends on it, looks there alone.
//! `dlvsym` wants a version, which this library's names don't have. `RTLD_NEXT` starts after the
//! calling library. An object that is used half by glibc's code and half by furwock's hangs, or
//! admits two threads.
//!
//! So the preload changes libc's symbol table in this process's memory: at start, before any other
//! library runs, it makes the entries of the functions that it defines lead here. Every look-up
//! goes through that table: at load time, on a first call, in a constructor, and so on. What was
//! bound earlier came from the global scope. glibc's own calls among its functions don't use
//! symbols, and this library has looked up glibc's addresses before (`glibc::look_up`).
//!
//! The alternatives are worse. An interposed `dlopen` has to leave its caller's return address to
//! glibc's, which derives the search path and the namespace from it. So it can clear the flag and
//! jump on, which binds the library to other functions than it asked for; or it can patch the
//! library's slots, but only after its constructors have run, in a race with other threads that
//! unload it, and only if the call may come from here instead. Neither helps with `dlsym`.
//!
//! glibc keeps the oldest condvars (`GLIBC_2.2.5`), which have another format; another namespace's
//! copy of libc (`dlmopen`), whose objects no other code can use anyway; and everything, if a
//! library between this one and libc wraps a function under glibc's version: the calls that this
//! library passes to glibc go there, and must not come back. A program can see two effects:
//! `dladdr` has no name for an address inside glibc's own versions of these functions, and libc's
//! first segment shows as more than one mapping. Where the memory can't be made writable, nothing
//! changes.

use crate::glibc;
use crate::loaded::{Dynamic, entries};
use core::ffi::{CStr, c_char, c_int, c_void};
use libc::{Elf64_Phdr, Elf64_Sym, dl_phdr_info};

/// The C library, in one file or, before 2.34, two.
const C_LIBRARY: [&CStr; 2] = [c"libc.so.6", c"libpthread.so.0"];

/// Makes the C library's entries for this library's functions lead here. Called once, while there
/// is one thread, and after all of glibc's own have been looked up.
pub(crate) fn take_over() {
    let mut loaded = Loaded::default();
    // SAFETY: `note` has the type asked for, and gets what it expects.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut loaded).cast()) };
    let Some(own) = loaded.own else { return };
    let c_library = || loaded.c_library.iter().flatten();
    if !glibc::all(|function| c_library().any(|library| library.contains(function.addr()))) {
        return;
    }
    for library in c_library() {
        library.while_writable(|| {
            for ours in own.symbols().filter(|symbol| symbol.is_function()) {
                library.lead(ours.name(), ours.address());
            }
        });
    }
}

/// The loaded objects that matter here.
#[derive(Default)]
struct Loaded {
    own: Option<Object>,
    /// If it comes after this library in the search order. (A program that loads this one later,
    /// with `dlopen`, is bound to libc's already.)
    c_library: [Option<Object>; 2],
}

/// Called by the loader with each object, in search order.
unsafe extern "C" fn note(info: *mut dl_phdr_info, _size: usize, loaded: *mut c_void) -> c_int {
    // SAFETY: what `dl_iterate_phdr` hands on, and what `take_over` gave it.
    let (object, loaded) = unsafe { (Object::read(&*info), &mut *loaded.cast::<Loaded>()) };
    let Some(object) = object else { return 0 };
    if loaded.own.is_none() {
        loaded.own = object.contains(take_over as fn() as usize).then_some(object);
    } else if let Some(at) = C_LIBRARY.iter().position(|name| object.name() == Some(*name)) {
        loaded.c_library[at] = Some(object);
    }
    0
}

const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_SONAME: i64 = 14;
const DT_GNU_HASH: i64 = 0x6fff_fef5;
const DT_VERSYM: i64 = 0x6fff_fff0;

/// A version that exists for old programs only.
const HIDDEN: u16 = 0x8000;

const STT_FUNC: u8 = 2;
const SHN_UNDEF: u16 = 0;

/// An object that the loader has mapped, with a symbol table. It isn't unloaded while this is used.
struct Object {
    base: usize,
    headers: &'static [Elf64_Phdr],
    symbols: *mut Elf64_Sym,
    strings: *const c_char,
    soname: Option<usize>,
    hash: Hash,
    /// Null if its symbols have no versions.
    versions: *const u16,
}

impl Object {
    /// # Safety
    /// `info` describes an object that stays loaded.
    unsafe fn read(info: &dl_phdr_info) -> Option<Self> {
        let base = info.dlpi_addr as usize;
        // SAFETY: by this function's contract.
        let headers: &'static [Elf64_Phdr] =
            unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let dynamic = at::<Dynamic>(base.wrapping_add(dynamic.p_vaddr as usize));
        let (mut symbols, mut strings, mut hash, mut versions) = (0, 0, 0, 0);
        let mut soname = None;
        // SAFETY: the object's own section; it stays loaded.
        for entry in unsafe { entries(dynamic) } {
            let address = entry.address(base);
            match entry.tag {
                DT_SYMTAB => symbols = address,
                DT_STRTAB => strings = address,
                DT_GNU_HASH => hash = address,
                DT_VERSYM => versions = address,
                DT_SONAME => soname = Some(entry.value),
                _ => {}
            }
        }
        if symbols == 0 || strings == 0 || hash == 0 {
            return None;
        }
        // SAFETY: what DT_GNU_HASH points to.
        let hash = unsafe { Hash::read(at(hash)) };
        let symbols = at::<Elf64_Sym>(symbols).cast_mut();
        let (strings, versions) = (at(strings), at(versions));
        Some(Self { base, headers, symbols, strings, soname, hash, versions })
    }

    /// The name by which other objects require it.
    fn name(&self) -> Option<&CStr> {
        // SAFETY: an offset in the table of strings, each of which ends with NUL.
        self.soname.map(|soname| unsafe { CStr::from_ptr(self.strings.add(soname)) })
    }

    /// The segment that contains `address`.
    fn segment_of(&self, address: usize) -> Option<&Elf64_Phdr> {
        self.headers.iter().find(|header| {
            let start = self.base.wrapping_add(header.p_vaddr as usize);
            header.p_type == libc::PT_LOAD
                && (start..start + header.p_memsz as usize).contains(&address)
        })
    }

    fn contains(&self, address: usize) -> bool {
        self.segment_of(address).is_some()
    }

    fn symbol(&self, index: usize) -> Symbol<'_> {
        Symbol { object: self, index }
    }

    /// The symbols that it defines.
    fn symbols(&self) -> impl Iterator<Item = Symbol<'_>> {
        self.hash.all().map(|(index, _)| self.symbol(index))
    }

    /// Its definitions of `name`, one for each version.
    fn named(&self, name: &CStr) -> impl Iterator<Item = Symbol<'_>> {
        let wanted = hash_of(name);
        // The lowest bit marks the end of a chain.
        let alike = self.hash.chain_of(wanted).filter(move |(_, hash)| (hash ^ wanted) | 1 == 1);
        alike.map(|(index, _)| self.symbol(index)).filter(move |symbol| symbol.name() == name)
    }

    /// Makes the current definitions of `name`, under any version, lead to `address`.
    fn lead(&self, name: &CStr, address: usize) {
        let current = self.named(name).find(|symbol| !symbol.is_hidden()).map(|it| it.address());
        for symbol in self.named(name).filter(|symbol| symbol.is_function()) {
            if current.is_none_or(|current| current == symbol.address()) {
                let value = address.wrapping_sub(self.base) as u64;
                // SAFETY: writable, and there is one thread.
                unsafe { (&raw mut (*symbol.entry()).st_value).write(value) };
            }
        }
    }

    /// Calls `write` while its symbols are writable, if they can be made so.
    fn while_writable(&self, write: impl FnOnce()) {
        // SAFETY: asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let last = self.hash.all().map(|(index, _)| index).max().unwrap_or(0);
        let start = self.symbols.addr() & !(page - 1);
        let end = self.symbols.wrapping_add(last + 1).addr();
        let protect = |protection| {
            // SAFETY: pages of the object's, which hold tables; `write` alone writes to them.
            unsafe { libc::mprotect(at::<c_void>(start).cast_mut(), end - start, protection) == 0 }
        };
        let Some(segment) = self.segment_of(start) else { return };
        if protect(libc::PROT_READ | libc::PROT_WRITE) {
            write();
            // The object may have been linked without a separate code segment; if this is refused,
            // there is no code here.
            let has_code = segment.p_flags & libc::PF_X != 0;
            let _ = (has_code && protect(libc::PROT_READ | libc::PROT_EXEC))
                || protect(libc::PROT_READ);
        }
    }
}

fn at<T>(address: usize) -> *const T {
    core::ptr::with_exposed_provenance(address)
}

/// A symbol that an object defines.
struct Symbol<'o> {
    object: &'o Object,
    index: usize,
}

impl<'o> Symbol<'o> {
    fn entry(&self) -> *mut Elf64_Sym {
        self.object.symbols.wrapping_add(self.index)
    }

    fn get(&self) -> Elf64_Sym {
        // SAFETY: an index out of the object's hash table.
        unsafe { self.entry().read() }
    }

    fn name(&self) -> &'o CStr {
        // SAFETY: an offset in the table of strings, each of which ends with NUL.
        unsafe { CStr::from_ptr(self.object.strings.add(self.get().st_name as usize)) }
    }

    fn address(&self) -> usize {
        self.object.base.wrapping_add(self.get().st_value as usize)
    }

    /// Whether it is a function, and not an indirect one (ifunc).
    fn is_function(&self) -> bool {
        let symbol = self.get();
        symbol.st_info & 0xf == STT_FUNC && symbol.st_shndx != SHN_UNDEF
    }

    fn is_hidden(&self) -> bool {
        let versions = self.object.versions;
        // SAFETY: there is one for each symbol.
        !versions.is_null() && unsafe { versions.add(self.index).read() } & HIDDEN != 0
    }
}

/// A hash table in the GNU format: each bucket is a run of names' hashes that ends with an odd one,
/// in the order of the symbols.
struct Hash {
    buckets: &'static [u32],
    /// The hash of the symbol `first`.
    hashes: *const u32,
    first: usize,
}

impl Hash {
    /// # Safety
    /// `table` points to such a table, which stays mapped.
    unsafe fn read(table: *const u32) -> Self {
        // SAFETY: by this function's contract; a Bloom filter of 64-bit words precedes the buckets.
        unsafe {
            let [buckets, first, bloom] = [0, 1, 2].map(|at| table.add(at).read() as usize);
            let start = table.add(4 + 2 * bloom);
            let hashes = start.add(buckets);
            Self { buckets: core::slice::from_raw_parts(start, buckets), hashes, first }
        }
    }

    /// The symbols of a bucket that begins with the symbol `start`, and their hashes.
    fn chain(&self, start: u32) -> impl Iterator<Item = (usize, u32)> {
        let hashed = move |index: usize| {
            // SAFETY: from a bucket's start to its end.
            (index, unsafe { self.hashes.add(index - self.first).read() })
        };
        let start = (start != 0).then(|| hashed(start as usize));
        core::iter::successors(start, move |(index, hash)| {
            (hash & 1 == 0).then(|| hashed(index + 1))
        })
    }

    fn all(&self) -> impl Iterator<Item = (usize, u32)> {
        self.buckets.iter().flat_map(|&start| self.chain(start))
    }

    fn chain_of(&self, hash: u32) -> impl Iterator<Item = (usize, u32)> {
        let bucket = (hash as usize).checked_rem(self.buckets.len());
        self.chain(bucket.map_or(0, |bucket| self.buckets[bucket]))
    }
}

fn hash_of(name: &CStr) -> u32 {
    let step = |hash: u32, &byte: &u8| hash.wrapping_mul(33).wrapping_add(byte.into());
    name.to_bytes().iter().fold(5381, step)
}
