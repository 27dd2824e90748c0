//! The versions of a library's symbols: those that it has, and those that another one needs of it.

use std::cell::Cell;
use std::fs::File;

use object::elf::{FileHeader64, SHT_STRTAB};
use object::read::StringTable;
use object::read::elf::{FileHeader, SectionHeader, SectionTable};
use object::{Endianness, ReadCache, SectionIndex};

use super::limited::{Limited, MOST_BYTES};

/// More names than any library has, and the length of the longest.
const MOST_NAMES: usize = 4096;
const LONGEST_NAME: usize = 256;

type Names = Vec<String>;
type Header = FileHeader64<Endianness>;
type Sections<'data> = SectionTable<'data, Header, Limited<'data>>;

/// What the library has; none if it is no library of 64 bits, or has no versions.
pub fn defined(library: &File) -> Option<Names> {
    read(library, |sections, endian, data| {
        let (definitions, link) = sections.gnu_verdef(endian, data).ok()??;
        let strings = strings(sections, endian, data, link)?;
        let named = definitions.flatten().filter_map(|(_, mut names)| names.next().ok()?);
        Some(texts(named.filter_map(|name| name.name(endian, strings).ok())))
    })
}

/// What the library needs of `other`.
pub fn needed(library: &File, other: &str) -> Option<Names> {
    read(library, |sections, endian, data| {
        let (needs, link) = sections.gnu_verneed(endian, data).ok()??;
        let strings = strings(sections, endian, data, link)?;
        let of_other = needs.flatten().filter(|(file, _)| {
            file.file(endian, strings).is_ok_and(|file| file == other.as_bytes())
        });
        let names = of_other.flat_map(|(_, names)| names.flatten());
        Some(texts(names.filter_map(|name| name.name(endian, strings).ok())))
    })
}

fn read(
    library: &File,
    look: impl for<'data> FnOnce(&Sections<'data>, Endianness, Limited<'data>) -> Option<Names>,
) -> Option<Names> {
    let (cache, budget) = (ReadCache::new(library), Cell::new(MOST_BYTES));
    let data = Limited { file: &cache, budget: &budget };
    let header = Header::parse(data).ok()?;
    let endian = header.endian().ok()?;
    look(&header.sections(endian, data).ok()?, endian, data)
}

/// The strings of a section, read at once: one by one, each of them would take two system calls of
/// each start of a program.
fn strings<'data>(
    sections: &Sections<'data>,
    endian: Endianness,
    data: Limited<'data>,
    index: SectionIndex,
) -> Option<StringTable<'data>> {
    let section = sections.section(index).ok()?;
    let is_table = section.sh_type(endian) == SHT_STRTAB;
    let bytes = section.data(endian, data).ok().filter(|_| is_table)?;
    Some(StringTable::new(bytes, 0, bytes.len() as u64))
}

fn texts<'names>(names: impl Iterator<Item = &'names [u8]>) -> Names {
    let short = names.filter(|name| name.len() <= LONGEST_NAME);
    let texts = short.filter_map(|name| std::str::from_utf8(name).ok());
    texts.map(str::to_owned).take(MOST_NAMES).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::reads;
    use super::*;

    #[test]
    fn this_program_finds_in_its_glibc_what_it_needs() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let path = maps.lines().find_map(|line| line.split_whitespace().nth(5).filter(is_libc));
        let has = defined(&File::open(path.unwrap()).unwrap()).unwrap();
        let needs = needed(&File::open("/proc/self/exe").unwrap(), "libc.so.6").unwrap();
        assert!(needs.contains(&"GLIBC_2.2.5".to_owned()), "{needs:?}");
        assert!(needs.iter().all(|version| has.contains(version)), "{needs:?} {has:?}");
        assert!(!has.contains(&"GLIBC_9.9".to_owned()));
    }

    #[test]
    fn names_are_not_read_one_by_one() {
        let Some(before) = reads() else { return eprintln!("skipped: the kernel doesn't count") };
        let names = needed(&File::open("/proc/self/exe").unwrap(), "libc.so.6").unwrap();
        let calls = reads().unwrap() - before;
        assert!(
            names.len() > 4 && calls < 2 + names.len() as u64,
            "{calls} reads of {} names",
            names.len()
        );
    }

    fn is_libc(path: &&str) -> bool {
        path.contains("/libc.so") || path.contains("/libc-2")
    }

    #[test]
    fn a_text_has_none() {
        let file = File::open("/proc/self/status").unwrap();
        assert!(defined(&file).is_none() && needed(&file, "libc.so.6").is_none());
    }
}
