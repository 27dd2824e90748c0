//! The vDSO: functions that the kernel maps into each process, found by their names.

use core::ffi::c_void;
use core::ptr::with_exposed_provenance;

/// Where the vDSO's function `name` is, if this kernel has it.
pub(crate) fn function(name: &[u8]) -> Option<*const c_void> {
    if cfg!(any(miri, not(target_pointer_width = "64"))) {
        return None;
    }
    // SAFETY: only asks.
    let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
    if base == 0 {
        return None;
    }
    // SAFETY: the kernel has mapped an ELF file there, of at least one page, for as long as the
    // process lives. It begins with its headers, and nothing writes it.
    let first = unsafe { core::slice::from_raw_parts(with_exposed_provenance(base), PAGE) };
    let size = Image(first).loaded()?.size;
    // SAFETY: the same, for as much as the headers say is mapped.
    let whole = unsafe { core::slice::from_raw_parts(with_exposed_provenance(base), size) };
    Some(with_exposed_provenance(base + Image(whole).function(name)?))
}

const PAGE: usize = 4096;

const PT_LOAD: usize = 1;
const PT_DYNAMIC: usize = 2;
const DT_NULL: usize = 0;
const DT_HASH: usize = 4;
const DT_STRTAB: usize = 5;
const DT_SYMTAB: usize = 6;
const DT_GNU_HASH: usize = 0x6fff_fef5;
const STT_FUNC: usize = 2;
const SYMBOL: usize = 24;

/// A 64-bit ELF file of this machine, as it is mapped. What lies outside of it isn't there.
struct Image<'i>(&'i [u8]);

/// The part of the file that is mapped: the whole, in a vDSO.
struct Loaded {
    /// The address that the file's own addresses count from.
    address: usize,
    size: usize,
}

impl Image<'_> {
    /// The number of this many bytes at an offset.
    fn number<const BYTES: usize>(&self, offset: usize) -> Option<usize> {
        let bytes = self.0.get(offset..offset.checked_add(BYTES)?)?;
        let mut whole = [0; 8];
        if cfg!(target_endian = "little") {
            whole[..BYTES].copy_from_slice(bytes);
        } else {
            whole[8 - BYTES..].copy_from_slice(bytes);
        }
        usize::try_from(u64::from_ne_bytes(whole)).ok()
    }

    /// The first segment of a kind: its offset, address and size.
    fn segment(&self, kind: usize) -> Option<[usize; 3]> {
        let (table, entry) = (self.number::<8>(32)?, self.number::<2>(54)?);
        let mut headers = (0..self.number::<2>(56)?).map(|index| table + index * entry);
        let header = headers.find(|&header| self.number::<4>(header) == Some(kind))?;
        let field = |offset| self.number::<8>(header + offset);
        Some([field(8)?, field(16)?, field(40)?])
    }

    fn loaded(&self) -> Option<Loaded> {
        let is_elf64 = self.0.starts_with(b"\x7fELF\x02");
        let [offset, address, size] = self.segment(PT_LOAD).filter(|_| is_elf64)?;
        (offset == 0).then_some(Loaded { address, size })
    }

    /// The offset of what the dynamic section names by `tag`.
    fn dynamic(&self, tag: usize) -> Option<usize> {
        let [offset, _, size] = self.segment(PT_DYNAMIC)?;
        let entries = (offset..offset.checked_add(size)?).step_by(16);
        let mut used = entries.take_while(|&at| self.number::<8>(at) != Some(DT_NULL));
        let entry = used.find(|&at| self.number::<8>(at) == Some(tag))?;
        self.number::<8>(entry + 8)?.checked_sub(self.loaded()?.address)
    }

    /// How many symbols there are, which only the hash tables say.
    fn symbols(&self) -> Option<usize> {
        if let Some(table) = self.dynamic(DT_HASH) {
            return self.number::<4>(table + 4);
        }
        let table = self.dynamic(DT_GNU_HASH)?;
        let header = |index: usize| self.number::<4>(table + 4 * index);
        let (buckets, first, filters) = (header(0)?, header(1)?, header(2)?);
        let bucket = |index: usize| self.number::<4>(table + 16 + 8 * filters + 4 * index);
        let chains = table + 16 + 8 * filters + 4 * buckets;
        // The last chain's last link, which is odd, is that of the last symbol.
        let mut last = (0..buckets).filter_map(bucket).max().filter(|&last| last >= first)?;
        while self.number::<4>(chains + 4 * (last - first))? & 1 == 0 {
            last += 1;
        }
        Some(last + 1)
    }

    /// The offset of a function that the file defines.
    fn function(&self, name: &[u8]) -> Option<usize> {
        let (symbols, names) = (self.dynamic(DT_SYMTAB)?, self.dynamic(DT_STRTAB)?);
        let is_named = |symbol: usize| {
            let text = names.checked_add(self.number::<4>(symbol)?)?;
            let text = self.0.get(text..)?;
            Some(text.starts_with(name) && text.get(name.len()) == Some(&0))
        };
        let is_defined_function = |symbol: usize| {
            let (info, section) = (self.number::<1>(symbol + 4)?, self.number::<2>(symbol + 6)?);
            Some(info & 15 == STT_FUNC && section != 0)
        };
        let fits = |symbol| Some(is_defined_function(symbol)? && is_named(symbol)?);
        let mut all = (0..self.symbols()?).map(|index| symbols + index * SYMBOL);
        let symbol = all.find(|&symbol| fits(symbol) == Some(true))?;
        let offset = self.number::<8>(symbol + 8)?.checked_sub(self.loaded()?.address)?;
        (offset < self.0.len()).then_some(offset)
    }
}

#[cfg(all(test, target_os = "linux", target_pointer_width = "64", not(miri)))]
mod tests {
    use super::*;

    /// A function that each kernel of the last years has.
    const KNOWN: &[u8] = if cfg!(any(target_arch = "x86_64", target_arch = "riscv64")) {
        b"__vdso_clock_gettime"
    } else {
        b"__kernel_clock_gettime"
    };

    /// The vDSO's bytes; none under an emulator that has no vDSO.
    fn image() -> Option<Vec<u8>> {
        // SAFETY: only asks.
        let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
        let at = with_exposed_provenance(base);
        // SAFETY: as in `function`.
        let first = (base != 0).then(|| unsafe { core::slice::from_raw_parts(at, PAGE) })?;
        let size = Image(first).loaded()?.size;
        // SAFETY: the same.
        Some(unsafe { core::slice::from_raw_parts(at, size) }.to_vec())
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn functions_are_where_the_loader_finds_them() {
        let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
        // SAFETY: C strings; a file that is loaded already.
        let found = unsafe {
            let vdso = libc::dlopen(c"linux-vdso.so.1".as_ptr(), flags);
            let name = std::ffi::CString::new(KNOWN).unwrap();
            if vdso.is_null() { return } else { libc::dlsym(vdso, name.as_ptr()) }
        };
        assert_eq!(function(KNOWN), Some(found.cast_const()));
    }

    #[test]
    fn a_name_must_be_whole() {
        assert_eq!(function(&KNOWN[..KNOWN.len() - 1]), None);
        assert_eq!(function(b"__vdso_that_no_kernel_has"), None);
    }

    #[test]
    fn either_hash_table_will_do() {
        let Some(image) = image() else { return };
        let whole = Image(&image);
        let found = whole.function(KNOWN);
        for tag in [DT_HASH, DT_GNU_HASH] {
            let [offset, _, size] = whole.segment(PT_DYNAMIC).unwrap();
            let mut entries = (offset..offset + size).step_by(16);
            let Some(entry) = entries.find(|&at| whole.number::<8>(at) == Some(tag)) else {
                continue;
            };
            let mut other = image.clone();
            // A tag that means nothing here.
            other[entry..entry + 8].copy_from_slice(&u64::to_ne_bytes(0x6fff_0000));
            let has_other = [DT_HASH, DT_GNU_HASH]
                .iter()
                .any(|&tag| whole.dynamic(tag).is_some() && Image(&other).dynamic(tag).is_some());
            assert_eq!(Image(&other).function(KNOWN), found.filter(|_| has_other), "{tag:x}");
        }
    }

    #[test]
    fn half_a_file_has_nothing() {
        let Some(image) = image() else { return };
        let found = Image(&image).function(KNOWN);
        for length in 0..image.len() {
            let function = Image(&image[..length]).function(KNOWN);
            assert!(function.is_none() || function == found, "{length}");
        }
        assert_eq!(Image(&image[..512]).function(KNOWN), None);
    }
}
