//! An ELF file that is mapped in a process, or its copy in memory: symbols, unwinding rules, debug
//! information.

use std::cell::OnceCell;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use gimli::{BaseAddresses, EndianSlice, NativeEndian};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

use super::Origin;
use super::names::readable;

pub type Slice = EndianSlice<'static, NativeEndian>;
type Elf = ElfFile64<'static, object::Endianness, &'static [u8]>;

pub struct Image {
    pub origin: Rc<Origin>,
    elf: Elf,
    segments: Vec<Segment>,
    pub unwinding: Unwinding,
    symbols: OnceCell<Vec<Symbol>>,
    debug: OnceCell<Option<addr2line::Context<Slice>>>,
    separate: OnceCell<Option<Elf>>,
    /// Where the process's root is, and the file's folder in it, for files with debug information.
    root: PathBuf,
    folder: PathBuf,
}

pub struct Unwinding {
    pub bases: BaseAddresses,
    pub eh_frame: Option<gimli::EhFrame<Slice>>,
    pub table: Option<gimli::ParsedEhFrameHdr<Slice>>,
    pub debug_frame: Option<gimli::DebugFrame<Slice>>,
}

/// A part of the file that is loaded.
struct Segment {
    offset: u64,
    size: u64,
    address: u64,
    is_executable: bool,
}

struct Symbol {
    start: u64,
    end: u64,
    name: &'static str,
}

/// A function at an address, and where in the source.
#[derive(Clone, Debug, Default)]
pub struct Place {
    pub function: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub is_inlined: bool,
}

impl Image {
    pub fn open(path: &Path, name: &str, root: &Path) -> Option<Self> {
        Self::parse(mapped(path)?, name, root)
    }

    /// From bytes that live for ever.
    pub fn parse(data: &'static [u8], name: &str, root: &Path) -> Option<Self> {
        let elf = Elf::parse(data).ok()?;
        let endian = elf.endian();
        let headers = elf.elf_header().program_headers(endian, data).ok()?;
        let loaded = headers.iter().filter(|header| header.p_type(endian) == object::elf::PT_LOAD);
        let segments = loaded.map(|header| Segment {
            offset: header.p_offset(endian),
            size: header.p_filesz(endian),
            address: header.p_vaddr(endian),
            is_executable: header.p_flags(endian).0 & object::elf::PF_X.0 != 0,
        });
        let segments = segments.collect();
        Some(Self {
            origin: Rc::new(Origin {
                name: name.rsplit('/').next().unwrap_or(name).to_owned(),
                build_id: elf.build_id().ok().flatten().map(hex),
            }),
            unwinding: Unwinding::of(&elf),
            elf,
            segments,
            symbols: OnceCell::new(),
            debug: OnceCell::new(),
            separate: OnceCell::new(),
            root: root.to_owned(),
            folder: Path::new(name).parent().unwrap_or(Path::new("/")).to_owned(),
        })
    }

    /// The address, as the file has it, of what is mapped from `offset` on. A page of the file may
    /// be of two segments, and be mapped twice.
    pub fn address_of(&self, offset: u64, is_executable: bool) -> Option<u64> {
        const PAGE: u64 = 4095;
        let contains = |segment: &&Segment| {
            segment.offset & !PAGE <= offset && offset < segment.offset + segment.size
        };
        let mut alike = self.segments.iter().filter(|each| each.is_executable == is_executable);
        let segment = alike.rfind(contains).or_else(|| self.segments.iter().rfind(contains))?;
        Some(segment.address.wrapping_add(offset).wrapping_sub(segment.offset))
    }

    /// The address of a symbol.
    pub fn symbol(&self, name: &str) -> Option<u64> {
        let symbols = self.elf.dynamic_symbols().chain(self.elf.symbols());
        let mut named = symbols.filter(|symbol| symbol.name() == Ok(name));
        named.find(|symbol| symbol.is_definition()).map(|symbol| symbol.address())
    }

    /// The static object at an address: its name, and how far into it.
    pub fn object(&self, address: u64) -> Option<String> {
        let apart = self.separate().into_iter().flat_map(|elf| elf.symbols());
        let mut symbols = self.elf.symbols().chain(self.elf.dynamic_symbols()).chain(apart);
        let symbol = symbols.find(|symbol| {
            let range = symbol.address()..symbol.address() + symbol.size();
            symbol.kind() == SymbolKind::Data && symbol.is_definition() && range.contains(&address)
        })?;
        let name = readable(symbol.name().ok()?);
        let into = address - symbol.address();
        Some(if into == 0 { name } else { format!("{name}+{into}") })
    }

    /// Inlined functions first, then the one that contains them. Empty if nothing is known.
    pub fn places(&self, address: u64) -> Vec<Place> {
        let mut places = self.debug().map_or(Vec::new(), |debug| inlined(debug, address));
        let has_name = places.last().is_some_and(|place| !place.function.is_empty());
        if !has_name && let Some(name) = self.nearest(address) {
            let whole = places.pop().unwrap_or_default();
            places.push(Place { function: readable(name), is_inlined: false, ..whole });
        }
        places
    }

    fn nearest(&self, address: u64) -> Option<&'static str> {
        let symbols = self.symbols();
        let after = symbols.partition_point(|symbol| symbol.start <= address);
        // Overlapping symbols are short: the one that contains it is near.
        let before = symbols[..after].iter().rev().take(8);
        before.filter(|symbol| address < symbol.end).map(|symbol| symbol.name).next()
    }

    fn symbols(&self) -> &[Symbol] {
        self.symbols.get_or_init(|| {
            let mut symbols = symbols_of(&self.elf);
            if self.elf.section_by_name(".symtab").is_none()
                && let Some(elf) = self.separate()
            {
                symbols.extend(symbols_of(elf));
            }
            // The plainest of several names is first from behind.
            symbols.sort_by_key(|symbol| (symbol.start, std::cmp::Reverse(symbol.name.len())));
            symbols
        })
    }

    fn debug(&self) -> Option<&addr2line::Context<Slice>> {
        let make = || {
            let own = self.elf.section_by_name(".debug_info").is_some();
            let separate = if own { None } else { Some(self.separate()?) };
            let elf = separate.unwrap_or(&self.elf);
            context(elf, self.common(elf).as_ref())
        };
        self.debug.get_or_init(make).as_ref()
    }

    /// The file that has the debug information of a stripped one.
    fn separate(&self) -> Option<&Elf> {
        let by_id = || self.with_build_id(self.origin.build_id.as_ref()?);
        self.separate.get_or_init(|| by_id().or_else(|| self.by_link())).as_ref()
    }

    fn with_build_id(&self, id: &str) -> Option<Elf> {
        let (start, rest) = id.split_at_checked(2)?;
        self.debug_file(&format!("usr/lib/debug/.build-id/{start}/{rest}.debug"), id)
    }

    /// The file that the stripped one names, beside it or below /usr/lib/debug.
    fn by_link(&self) -> Option<Elf> {
        let id = self.origin.build_id.as_ref()?;
        let (name, _) = self.elf.gnu_debuglink().ok()??;
        let name = std::str::from_utf8(name).ok().filter(|name| !name.contains('/'))?;
        let folder = self.folder.strip_prefix("/").ok()?.display();
        let places = [
            format!("{folder}/{name}"),
            format!("{folder}/.debug/{name}"),
            format!("usr/lib/debug/{folder}/{name}"),
        ];
        places.iter().find_map(|place| self.debug_file(place, id))
    }

    /// What several files' debug information has in common, and they refer to (dwz).
    fn common(&self, elf: &Elf) -> Option<Elf> {
        let (name, id) = elf.gnu_debugaltlink().ok()??;
        let id = hex(id);
        let by_name = || {
            let name = std::str::from_utf8(name).ok()?.rsplit('/').next()?;
            let near = format!("{}/{name}", self.folder.strip_prefix("/").ok()?.display());
            let places = [near, format!("usr/lib/debug/.dwz/{name}")];
            places.iter().find_map(|place| self.debug_file(place, &id))
        };
        self.with_build_id(&id).or_else(by_name)
    }

    /// In the process's root, or in this one's, if it is the file that is meant.
    fn debug_file(&self, path: &str, id: &str) -> Option<Elf> {
        let open = |root: &Path| Elf::parse(mapped(&root.join(path))?).ok();
        let is_it = |elf: &Elf| elf.build_id().ok().flatten().is_some_and(|found| hex(found) == id);
        [self.root.as_path(), Path::new("/")].into_iter().filter_map(open).find(is_it)
    }

    /// Go's linker notes what it builds, in stripped programs too.
    pub fn is_of_go(&self) -> bool {
        let mut names = self.elf.sections().filter_map(|section| section.name().ok());
        names.any(|name| name == ".go.buildinfo" || name.ends_with(".gopclntab"))
    }

    /// Bytes of writable data, with their addresses.
    pub fn data(&self) -> impl Iterator<Item = (u64, &'static [u8])> + '_ {
        let names = [".data.rel.ro", ".data", ".rodata"];
        let sections = names.into_iter().filter_map(|name| self.elf.section_by_name(name));
        sections.filter_map(|section| Some((section.address(), section.data().ok()?)))
    }
}

impl Unwinding {
    fn of(elf: &Elf) -> Self {
        let slice = |name| {
            let data = elf.section_by_name(name)?.data().ok()?;
            (!data.is_empty()).then(|| EndianSlice::new(data, NativeEndian))
        };
        let address = |name| elf.section_by_name(name).map_or(0, |section| section.address());
        let bases = BaseAddresses::default()
            .set_eh_frame_hdr(address(".eh_frame_hdr"))
            .set_eh_frame(address(".eh_frame"))
            .set_text(address(".text"))
            .set_got(address(".got"));
        let header = slice(".eh_frame_hdr").map(gimli::EhFrameHdr::from);
        Self {
            table: header.and_then(|header| header.parse(&bases, 8).ok()),
            eh_frame: slice(".eh_frame").map(gimli::EhFrame::from),
            debug_frame: slice(".debug_frame").map(gimli::DebugFrame::from),
            bases,
        }
    }
}

fn symbols_of(elf: &Elf) -> Vec<Symbol> {
    let all = elf.symbols().chain(elf.dynamic_symbols());
    let functions =
        all.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    let named = functions.filter_map(|symbol| {
        let (start, name) = (symbol.address(), symbol.name().ok()?);
        (!name.is_empty()).then_some(Symbol { start, end: start + symbol.size().max(1), name })
    });
    named.collect()
}

fn inlined(debug: &addr2line::Context<Slice>, address: u64) -> Vec<Place> {
    let Ok(mut frames) = debug.find_frames(address).skip_all_loads() else { return Vec::new() };
    let mut places = Vec::new();
    while let Ok(Some(frame)) = frames.next() {
        let raw = frame.function.as_ref().and_then(|function| function.raw_name().ok());
        let location = frame.location.as_ref();
        places.push(Place {
            function: raw.map_or(String::new(), |raw| readable(&raw)),
            file: location.and_then(|location| Some(location.file?.to_owned())),
            line: location.and_then(|location| location.line),
            is_inlined: true,
        });
    }
    if let Some(whole) = places.last_mut() {
        whole.is_inlined = false;
    }
    places
}

fn context(elf: &Elf, common: Option<&Elf>) -> Option<addr2line::Context<Slice>> {
    let load = |elf: &Elf, id: gimli::SectionId| -> Result<Slice, gimli::Error> {
        let section = elf.section_by_name(id.name());
        let data: &'static [u8] = match section.map(|section| section.uncompressed_data()) {
            Some(Ok(std::borrow::Cow::Borrowed(data))) => data,
            Some(Ok(std::borrow::Cow::Owned(data))) => data.leak(),
            _ => &[],
        };
        Ok(EndianSlice::new(data, NativeEndian))
    };
    let mut dwarf = gimli::Dwarf::load(|id| load(elf, id)).ok()?;
    if let Some(common) = common {
        dwarf.load_sup(|id| load(common, id)).ok()?;
    }
    addr2line::Context::from_arc_dwarf(Arc::new(dwarf)).ok()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A file's bytes, mapped for as long as the command runs.
fn mapped(path: &Path) -> Option<&'static [u8]> {
    // The path may come from a record, by which its writer could name a pipe or a device: opening
    // one may wait for ever, or do more.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    let metadata = file.metadata().ok().filter(Metadata::is_file)?;
    let size = usize::try_from(metadata.len()).ok().filter(|size| *size > 0)?;
    // SAFETY: a new mapping at an address of the kernel's choice, which is never unmapped.
    let start = unsafe {
        use std::os::fd::AsRawFd;
        let private = libc::MAP_PRIVATE;
        libc::mmap(std::ptr::null_mut(), size, libc::PROT_READ, private, file.as_raw_fd(), 0)
    };
    if start == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: as long as the file isn't truncated; what a process runs from, the kernel protects
    // from that.
    Some(unsafe { std::slice::from_raw_parts(start.cast(), size) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a record may name as a program's file, though no process ran from it.
    #[test]
    fn pipes_and_devices_arent_opened() {
        let pipe = std::env::temp_dir().join(format!("furwock-pipe-{}", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let (done, is_done) = std::sync::mpsc::channel();
        let path = pipe.clone();
        std::thread::spawn(move || done.send(mapped(&path).is_none()));
        let found = is_done.recv_timeout(std::time::Duration::from_secs(10));
        std::fs::remove_file(&pipe).unwrap();
        assert_eq!(found, Ok(true), "waits for the pipe's other end");
        assert!(mapped(Path::new("/dev/zero")).is_none());
    }
}
