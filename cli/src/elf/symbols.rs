//! Whether a table of symbols defines one of a given name.
//!
//! Big programs have hundreds of thousands of symbols. So the strings are searched for the name,
//! block by block; a table whose strings don't have it isn't read at all.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use memchr::memmem::Finder;
use object::elf;
use object::pod::slice_from_all_bytes;
use object::read::elf::{FileHeader, SectionHeader, SectionTable, Sym};

use super::limited::Limited;

const BLOCK: usize = 1 << 20;

/// At most this much of a table is read: a file may claim any number of symbols.
const MOST_BYTES: u64 = 1 << 30;

/// Other names may end with this one; at most this many places in the strings are considered.
const MOST_PLACES: usize = 1 << 10;

/// Whether the first table of this type in the file defines `name`.
pub fn defines<'data, Header: FileHeader>(
    file: &File,
    endian: Header::Endian,
    sections: &SectionTable<'data, Header, Limited<'data>>,
    table: elf::SectionType,
    name: &[u8],
) -> bool {
    let Some(symbols) = sections.iter().find(|section| section.sh_type(endian) == table) else {
        return false;
    };
    let Ok(strings) = sections.section(symbols.link(endian)) else { return false };
    let places = places_of(file, extent::<Header>(strings, endian), name);
    let mut blocks = Blocks::of(file, extent::<Header>(symbols, endian), size_of::<Header::Sym>());
    if places.is_empty() {
        return false;
    }
    while let Some(block) = blocks.next() {
        let symbols: &[Header::Sym] = slice_from_all_bytes(block).unwrap_or(&[]);
        let is_it = |symbol: &&Header::Sym| {
            let section = symbol.st_shndx(endian);
            let is_defined = !section.is_special() || section == elf::SHN_XINDEX;
            is_defined && places.contains(&symbol.st_name(endian))
        };
        if symbols.iter().any(|symbol| is_it(&symbol)) {
            return true;
        }
    }
    false
}

/// Where in the file a section lies.
fn extent<Header: FileHeader>(
    section: &Header::SectionHeader,
    endian: Header::Endian,
) -> Range<u64> {
    let start = section.sh_offset(endian).into();
    let size: u64 = section.sh_size(endian).into();
    start..start.saturating_add(size.min(MOST_BYTES))
}

/// The offsets in `strings` of `name`, whole or as the end of another name.
fn places_of(file: &File, strings: Range<u64>, name: &[u8]) -> Vec<u32> {
    let needle = [name, b"\0"].concat();
    let finder = Finder::new(&needle);
    let mut places = Vec::new();
    // Blocks overlap, so that the name stands whole in one of them.
    let mut at = strings.start;
    let mut block = Vec::new();
    while at < strings.end && places.len() < MOST_PLACES {
        let end = strings.end.min(at + (BLOCK + needle.len() - 1) as u64);
        if !read(file, at..end, &mut block) {
            break;
        }
        let in_strings = at - strings.start;
        let found = finder.find_iter(&block).map(|place| (in_strings + place as u64) as u32);
        places.extend(found.take(MOST_PLACES));
        at += BLOCK as u64;
    }
    places
}

/// A part of a file in blocks of whole items.
struct Blocks<'a> {
    file: &'a File,
    rest: Range<u64>,
    item: usize,
    block: Vec<u8>,
}

impl<'a> Blocks<'a> {
    fn of(file: &'a File, rest: Range<u64>, item: usize) -> Self {
        Self { file, rest, item, block: Vec::new() }
    }

    /// The next; `None` at the end, and where the file is shorter.
    fn next(&mut self) -> Option<&[u8]> {
        let whole = |bytes: u64| bytes - bytes % self.item as u64;
        let bytes = whole((self.rest.end - self.rest.start).min(BLOCK as u64));
        let end = self.rest.start + bytes;
        if bytes == 0 || !read(self.file, self.rest.start..end, &mut self.block) {
            return None;
        }
        self.rest.start = end;
        Some(&self.block)
    }
}

/// Returns whether all of it could be read.
fn read(file: &File, range: Range<u64>, block: &mut Vec<u8>) -> bool {
    block.resize((range.end - range.start) as usize, 0);
    file.read_exact_at(block, range.start).is_ok()
}
