//! Which dynamic loader an ELF file needs.

mod limited;
mod symbols;
pub mod versions;

use std::cell::Cell;
use std::fmt;
use std::fs::File;

use object::elf::{DT_NEEDED, DT_SONAME, FileHeader32, FileHeader64, SHT_DYNSYM, SHT_SYMTAB};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, ReadCache};

use limited::{Limited, MOST_BYTES};

/// What must agree between a program and a library that is loaded into it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Platform {
    machine: u16,
    is_64: bool,
    is_big_endian: bool,
}

#[derive(Debug)]
pub struct Elf {
    pub platform: Platform,
    /// The dynamic loader's path; a static program has none.
    pub interpreter: Option<String>,
    pub sanitizer: Option<Sanitizer>,
    /// It is a dynamic loader itself, by the name that it has for others.
    pub is_loader: bool,
}

/// A sanitizer's runtime that conflicts with a preload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sanitizer {
    /// ThreadSanitizer, as a library or linked in.
    Thread,
    /// AddressSanitizer, with its library's name. (A runtime that is linked in doesn't conflict.)
    Address(String),
}

/// Reads an ELF file; none if it isn't one or is broken.
pub fn read(file: &File) -> Option<Elf> {
    parse(file, true)
}

/// The platform that furwock itself was built for.
pub fn own_platform() -> Option<Platform> {
    Some(parse(&File::open("/proc/self/exe").ok()?, false)?.platform)
}

fn parse(file: &File, with_sanitizer: bool) -> Option<Elf> {
    let (cache, budget) = (ReadCache::new(file), Cell::new(MOST_BYTES));
    let data = Limited { file: &cache, budget: &budget };
    match FileKind::parse(data).ok()? {
        FileKind::Elf32 => headers::<FileHeader32<Endianness>>(file, data, with_sanitizer),
        FileKind::Elf64 => headers::<FileHeader64<Endianness>>(file, data, with_sanitizer),
        _ => None,
    }
}

fn headers<Header: FileHeader<Endian = Endianness>>(
    file: &File,
    data: Limited<'_>,
    with_sanitizer: bool,
) -> Option<Elf> {
    let header = Header::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let platform = Platform {
        machine: header.e_machine(endian).0,
        is_64: header.is_class_64(),
        is_big_endian: header.is_big_endian(),
    };
    let segments = header.program_headers(endian, data).ok()?;
    let interpreter =
        segments.iter().find_map(|segment| segment.interpreter(endian, data).ok().flatten());
    let interpreter = interpreter.map(|name| String::from_utf8_lossy(name).into_owned());
    let sanitizer = if with_sanitizer { sanitizer(file, header, endian, data) } else { None };
    let is_loader = interpreter.is_none() && is_loader(header, endian, data);
    Some(Elf { platform, interpreter, sanitizer, is_loader })
}

fn is_loader<Header: FileHeader<Endian = Endianness>>(
    header: &Header,
    endian: Endianness,
    data: Limited<'_>,
) -> bool {
    let name = || {
        let dynamic = header.sections(endian, data).ok()?.dynamic_table(endian, data).ok()?;
        let entry = dynamic.iter().find(|entry| entry.tag == DT_SONAME)?;
        dynamic.string(entry).ok()
    };
    name().is_some_and(|name: &[u8]| name.starts_with(b"ld-") || name.starts_with(b"ld64"))
}

/// Found by the libraries that the program needs, and by the symbols that are linked into it.
fn sanitizer<Header: FileHeader<Endian = Endianness>>(
    file: &File,
    header: &Header,
    endian: Endianness,
    data: Limited<'_>,
) -> Option<Sanitizer> {
    let sections = header.sections(endian, data).ok()?;
    let dynamic = sections.dynamic_table(endian, data).ok();
    let entries = dynamic.iter().flatten().filter(|entry| entry.tag == DT_NEEDED);
    let libraries = entries.filter_map(|entry| dynamic.as_ref()?.string(entry).ok());
    for library in libraries {
        let name = String::from_utf8_lossy(library);
        let is = |gcc: &str, clang: &str| name.starts_with(gcc) || name.starts_with(clang);
        if is("libtsan.", "libclang_rt.tsan") {
            return Some(Sanitizer::Thread);
        }
        if is("libasan.", "libclang_rt.asan") {
            return Some(Sanitizer::Address(name.into_owned()));
        }
    }
    let linked_in = [SHT_DYNSYM, SHT_SYMTAB]
        .into_iter()
        .any(|table| symbols::defines::<Header>(file, endian, &sections, table, b"__tsan_init"));
    linked_in.then_some(Sanitizer::Thread)
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = if self.is_64 { 64 } else { 32 };
        let name = match self.machine {
            3 => "x86",
            21 => "PowerPC",
            22 => "S/390",
            40 => "Arm",
            62 => "x86-64",
            183 => "AArch64",
            243 => "RISC-V",
            258 => "LoongArch",
            machine => return write!(f, "{bits}-bit machine {machine}"),
        };
        write!(f, "{bits}-bit {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_itself() {
        let elf = read(&File::open("/proc/self/exe").unwrap()).unwrap();
        assert_eq!(Some(elf.platform), own_platform());
        assert!(elf.interpreter.unwrap().contains("ld-"));
        assert_eq!(elf.sanitizer, None);
    }

    /// How often this thread has called read(2) and the like; `None` if the kernel doesn't count.
    pub fn reads() -> Option<u64> {
        let counts = std::fs::read_to_string("/proc/thread-self/io").ok()?;
        counts.lines().find_map(|line| line.strip_prefix("syscr: "))?.parse().ok()
    }

    /// A program of some ten thousand symbols: this one.
    #[test]
    fn symbols_are_not_read_one_by_one() {
        let Some(before) = reads() else { return eprintln!("skipped: the kernel doesn't count") };
        let file = File::open("/proc/self/exe").unwrap();
        read(&file).unwrap();
        let calls = reads().unwrap() - before;
        let blocks = file.metadata().unwrap().len() >> 20;
        assert!(calls < 100 + blocks, "{calls} reads");
    }

    #[test]
    fn a_text_is_no_elf() {
        assert!(read(&File::open("/proc/self/status").unwrap()).is_none());
    }
}
