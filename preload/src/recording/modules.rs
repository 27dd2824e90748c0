//! The files that the program's code lies in, as far as stacks lead into them.

use super::kernel::call;
use super::part::{self, Lost, PROCESS, lost};
use crate::loaded::{self, Loaded};
use core::sync::atomic::{AtomicU8, Ordering};
use furwock_record::Module;
use libc::{Elf64_Ehdr, Elf64_Phdr};

/// Has the file that `address` lies in entered.
pub(super) fn note(address: usize) {
    let modules = part::entries::<Module>(|sections| &sections.modules);
    let used = (PROCESS.modules.load(Ordering::Acquire) as usize).min(modules.len());
    let Some(object) = loaded::find(address) else { return };
    let is_there = |module: &Module| {
        module.start.load(Ordering::Acquire) == object.start as u64
            && module.end.load(Ordering::Relaxed) == object.end as u64
    };
    if modules[..used].iter().any(is_there) {
        return;
    }
    // One thread at a time; what another misses, its next stack enters.
    if PROCESS.looks_for_modules.swap(1, Ordering::Acquire) != 0 {
        return;
    }
    let next = PROCESS.modules.load(Ordering::Acquire) as usize;
    if modules[..next.min(modules.len())].iter().any(is_there) {
        // Another was faster.
    } else if let Some(module) = modules.get(next) {
        enter(module, &object);
        PROCESS.modules.store(next as u32 + 1, Ordering::Release);
    } else {
        lost(Lost::Module);
    }
    PROCESS.looks_for_modules.store(0, Ordering::Release);
}

fn enter(module: &Module, object: &Loaded) {
    let mut path = [0_u8; 432];
    // SAFETY: glibc's, as long as the file is loaded, which it is while its code is on the stack.
    let (bias, name) = unsafe { ((*object.map).base, (*object.map).name) };
    // SAFETY: null, or a string that ends with NUL.
    let named = (!name.is_null()).then(|| unsafe { core::ffi::CStr::from_ptr(name) }.to_bytes());
    let length = match named {
        Some(name) if !name.is_empty() => {
            let length = name.len().min(path.len());
            path[..length].copy_from_slice(&name[..length]);
            length
        }
        // The program itself.
        _ => {
            let from = c"/proc/self/exe".as_ptr().expose_provenance();
            let to = path.as_mut_ptr().expose_provenance();
            // SAFETY: writes into the buffer.
            unsafe { call(libc::SYS_readlink, [from, to, path.len(), 0, 0, 0]) }.unwrap_or(0)
        }
    };
    write(&module.path, &path[..length]);
    module.path_len.store(length as u32, Ordering::Relaxed);
    if let Some(id) = build_id(object, bias) {
        let length = id.len().min(module.build_id.len());
        write(&module.build_id, &id[..length]);
        module.build_id_len.store(length as u32, Ordering::Relaxed);
    }
    module.bias.store(bias as u64, Ordering::Relaxed);
    module.end.store(object.end as u64, Ordering::Relaxed);
    module.start.store(object.start as u64, Ordering::Release);
}

fn write(to: &[AtomicU8], from: &[u8]) {
    for (to, &byte) in to.iter().zip(from) {
        to.store(byte, Ordering::Relaxed);
    }
}

/// The file's build id, if its headers are mapped where it begins.
fn build_id(object: &Loaded, bias: usize) -> Option<&'static [u8]> {
    const MAGIC: [u8; 4] = *b"\x7fELF";
    const BUILD_ID: u32 = 3;
    if object.end - object.start < size_of::<Elf64_Ehdr>() {
        return None;
    }
    // SAFETY: mapped memory of the file; any bytes are valid.
    let header = unsafe { &*core::ptr::with_exposed_provenance::<Elf64_Ehdr>(object.start) };
    let (first, count) = (header.e_phoff as usize, usize::from(header.e_phnum));
    let fits = first + count * size_of::<Elf64_Phdr>() <= 4096;
    if header.e_ident[..4] != MAGIC || !fits || !first.is_multiple_of(8) {
        return None;
    }
    // SAFETY: as above, within the first page.
    let segments = unsafe {
        let first = core::ptr::with_exposed_provenance::<Elf64_Phdr>(object.start + first);
        core::slice::from_raw_parts(first, count)
    };
    for segment in segments.iter().filter(|segment| segment.p_type == libc::PT_NOTE) {
        let start = bias.wrapping_add(segment.p_vaddr as usize);
        let end = start.wrapping_add(segment.p_filesz as usize);
        if start < object.start || end > object.end || start > end {
            continue;
        }
        // SAFETY: as above.
        let mut notes: &[u8] = unsafe {
            core::slice::from_raw_parts(core::ptr::with_exposed_provenance(start), end - start)
        };
        while let Some((head, rest)) = notes.split_first_chunk::<12>() {
            let word = |at: usize| {
                head[at..at + 4].iter().rev().fold(0_u32, |word, &byte| word << 8 | u32::from(byte))
            };
            let (name, length) = (word(0) as usize, word(4) as usize);
            let Some((name, rest)) = rest.split_at_checked(name.next_multiple_of(4)) else { break };
            if word(8) == BUILD_ID && name == b"GNU\0" {
                return rest.get(..length);
            }
            let Some(rest) = rest.get(length.next_multiple_of(4)..) else { break };
            notes = rest;
        }
    }
    None
}
