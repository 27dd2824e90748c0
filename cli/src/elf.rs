//! What an ELF file says of the loader that will start it.

use std::fmt;
use std::fs::File;

use object::elf::{FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, Object, ObjectSymbol, ReadCache, ReadRef};

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
}

/// A sanitizer's runtime, as far as it and a preload are in each other's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sanitizer {
    /// As a library or linked in.
    Thread,
    /// The library's name. (What is linked in is in nobody's way.)
    Address(String),
}

/// Reads the headers of an ELF file; nothing if it is none, or a broken one.
pub fn read(file: &File) -> Option<Elf> {
    let cache = ReadCache::new(file);
    match FileKind::parse(&cache).ok()? {
        FileKind::Elf32 => headers::<FileHeader32<Endianness>, _>(&cache),
        FileKind::Elf64 => headers::<FileHeader64<Endianness>, _>(&cache),
        _ => None,
    }
    .map(|elf| Elf { sanitizer: sanitizer(&cache), ..elf })
}

/// By the libraries that the program asks for, and by the symbols of what is linked into it.
fn sanitizer<'data>(data: impl ReadRef<'data>) -> Option<Sanitizer> {
    let file = object::File::parse(data).ok()?;
    let libraries = file.import_libraries().ok().into_iter().flatten().flatten();
    for library in libraries {
        let name = String::from_utf8_lossy(library.name());
        let is = |gcc: &str, clang: &str| name.starts_with(gcc) || name.starts_with(clang);
        if is("libtsan.", "libclang_rt.tsan") {
            return Some(Sanitizer::Thread);
        }
        if is("libasan.", "libclang_rt.asan") {
            return Some(Sanitizer::Address(name.into_owned()));
        }
    }
    let mut symbols = file.dynamic_symbols().chain(file.symbols());
    let linked_in = symbols.any(|symbol| {
        symbol.is_definition() && symbol.name_bytes().is_ok_and(|name| name == b"__tsan_init")
    });
    linked_in.then_some(Sanitizer::Thread)
}

fn headers<'data, Header, Data>(data: Data) -> Option<Elf>
where
    Header: FileHeader<Endian = Endianness>,
    Data: ReadRef<'data>,
{
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
    Some(Elf { platform, interpreter, sanitizer: None })
}

/// The platform that furwock itself was built for.
pub fn own_platform() -> Option<Platform> {
    Some(read(&File::open("/proc/self/exe").ok()?)?.platform)
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

    #[test]
    fn a_text_is_no_elf() {
        assert!(read(&File::open("/proc/self/status").unwrap()).is_none());
    }
}
