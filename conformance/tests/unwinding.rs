//! A signal handler that leaves for good unwinds from the instruction that it interrupted. In a
//! function with a table of what to drop (an LSDA), only calls have entries in the table: an unwind
//! from another instruction aborts the process. So the functions that a handler may interrupt have
//! no table: those of the preload, except the ones that run before the program, and those of the
//! engine that let handlers in (`furwock::unstable::signals`).

use furwock_conformance::preload;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::collections::BTreeMap;
use std::fs;

/// Functions with these in their names may have a table: they run at the start, or in a thread of
/// the library's own.
const MAY_HAVE_ONE: [&str; 6] = [
    "5start",
    "7symbols",
    "11environment",
    "8longjmps",
    "7longjmp7look_up",
    "26cancel_a_thread_of_our_own",
];

/// Functions of the engine that a handler may interrupt: those that let handlers in.
const OF_THE_ENGINE: [&str; 3] = ["7signals8open_for", "7signals7deliver", "furwock_syscall"];

/// Reads a section.
struct Reader<'d> {
    data: &'d [u8],
    at: usize,
}

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let bytes = self.data[self.at..self.at + N].try_into().expect("the section goes on");
        self.at += N;
        bytes
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    fn uleb128(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let [byte] = self.bytes();
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return value;
            }
        }
    }
}

/// Four bytes, relative to where they stand.
const PCREL_SDATA4: u8 = 0x1b;

/// The text of a CIE that describes its FDEs.
fn augmentation(data: &[u8], cie: usize) -> String {
    let text = data[cie + 9..].iter().take_while(|byte| **byte != 0);
    let text: String = text.map(|byte| char::from(*byte)).collect();
    let mut reader = Reader { data, at: cie + 9 + text.len() + 1 };
    reader.uleb128();
    reader.uleb128();
    reader.uleb128();
    reader.uleb128();
    for letter in text.chars() {
        match letter {
            'z' | 'S' => {}
            'P' => reader.at += 5,
            'R' | 'L' => assert_eq!(reader.bytes(), [PCREL_SDATA4], "another encoding"),
            other => panic!("an unknown augmentation: {other}"),
        }
    }
    text
}

/// The addresses of functions with unwind tables, and whether they have something to drop.
fn functions(data: &[u8], address: u64) -> BTreeMap<u64, bool> {
    let mut functions = BTreeMap::new();
    let mut reader = Reader { data, at: 0 };
    while reader.at + 4 <= data.len() {
        let length = reader.u32() as usize;
        if length == 0 {
            break;
        }
        let start = reader.at;
        let back = reader.u32() as usize;
        if back != 0 {
            let cie = start - back;
            let place = address + reader.at as u64;
            let first = place.wrapping_add_signed(i64::from(reader.u32().cast_signed()));
            reader.u32();
            let size = reader.uleb128();
            let has_table = augmentation(data, cie).contains('L') && size >= 4;
            functions.insert(first, has_table && reader.u32() != 0);
        }
        reader.at = start + length;
    }
    functions
}

#[test]
fn a_function_that_a_handler_may_interrupt_has_nothing_to_drop() {
    if cfg!(debug_assertions) {
        println!("skipped: code that isn't optimized has more to drop");
        return;
    }
    let file = fs::read(preload()).expect("the library is there");
    let file = object::File::parse(file.as_slice()).expect("the library is an ELF file");
    let frames = file.section_by_name(".eh_frame").expect("it has unwind tables");
    let functions = functions(frames.data().expect("they are there"), frames.address());

    let is_code = |symbol: &object::Symbol<'_, '_>| symbol.kind() == SymbolKind::Text;
    let is_exported = |symbol: &object::Symbol<'_, '_>| symbol.is_definition() && is_code(symbol);
    let exported: Vec<_> = file.dynamic_symbols().filter(is_exported).collect();
    let name = |symbol: &object::Symbol<'_, '_>| symbol.name().expect("names are text").to_owned();
    let is_ours = |name: &str| {
        let may = MAY_HAVE_ONE.iter().any(|part| name.contains(part));
        let must_not = OF_THE_ENGINE.iter().any(|part| name.contains(part));
        must_not || (name.contains("furwock_preload") && !may)
    };
    let text = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
    let internal: Vec<_> = text.filter(|symbol| is_ours(&name(symbol))).collect();
    assert!(exported.len() > 50, "the exported functions have been found");
    assert!(internal.len() > 20, "the symbols have been stripped");

    for symbol in exported.iter().chain(&internal) {
        let has_table = functions.get(&symbol.address());
        assert_eq!(has_table, Some(&false), "{}: {has_table:?}", name(symbol));
    }
}
