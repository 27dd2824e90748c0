//! The preload's static probes: they are glibc's, and calls hit them with glibc's arguments.

use furwock_conformance::program::stdout_of;
use furwock_conformance::{Artifact, Side, preload, scratch};
use object::elf::{FileHeader64, PF_X, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, Object, ObjectSymbol};
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// Name and number of arguments, as glibc's source and its nptl/DESIGN-systemtap-probes.txt have
/// them.
const PROBES: [(&str, usize); 18] = [
    ("cond_broadcast", 1),
    ("cond_destroy", 1),
    ("cond_signal", 1),
    ("cond_wait", 2),
    ("lll_lock_wait", 1),
    ("mutex_acquired", 1),
    ("mutex_clocklock_entry", 3),
    ("mutex_destroy", 1),
    ("mutex_entry", 1),
    ("mutex_release", 1),
    ("mutex_timedlock_acquired", 1),
    ("mutex_timedlock_entry", 2),
    ("rdlock_acquire_read", 1),
    ("rdlock_entry", 1),
    ("rwlock_destroy", 1),
    ("rwlock_unlock", 1),
    ("wrlock_acquire_write", 1),
    ("wrlock_entry", 1),
];

/// What each call hits.
const HITS: &str = "\
lock: mutex_entry(mutex) mutex_acquired(mutex)
unlock: mutex_release(mutex)
trylock:
timedlock fails: mutex_timedlock_entry(mutex,past)
timedlock: mutex_timedlock_entry(mutex,past) mutex_timedlock_acquired(mutex)
clocklock: mutex_clocklock_entry(mutex,1,past) mutex_timedlock_acquired(mutex)
cond_timedwait: cond_wait(cond,mutex) mutex_release(mutex) mutex_entry(mutex) mutex_acquired(mutex)
recursive lock: mutex_entry(recursive) mutex_acquired(recursive)
recursive lock again: mutex_entry(recursive)
recursive unlock once:
recursive unlock: mutex_release(recursive)
shared lock:
shared cond_timedwait:
shared unlock:
shared cond_signal:
cond_signal: cond_signal(cond)
cond_broadcast: cond_broadcast(cond)
cond_destroy: cond_destroy(cond)
rdlock: rdlock_entry(rwlock) rdlock_acquire_read(rwlock)
rd unlock: rwlock_unlock(rwlock)
wrlock: wrlock_entry(rwlock) wrlock_acquire_write(rwlock)
rdlock fails: rdlock_entry(rwlock)
wr unlock: rwlock_unlock(rwlock)
rwlock_destroy: rwlock_destroy(rwlock)
contended lock: mutex_entry(mutex) lll_lock_wait(mutex) mutex_acquired(mutex)
mutex_destroy: mutex_destroy(mutex)
";

struct Probe {
    provider: String,
    name: String,
    address: u64,
    arguments: String,
}

/// One note: three addresses (of the nop, of a section that shows whether the file was moved, of a
/// count of users) and three strings.
fn parse(mut description: &[u8]) -> Probe {
    let mut number = || {
        let (number, rest) = description.split_first_chunk().expect("three addresses");
        description = rest;
        u64::from_le_bytes(*number)
    };
    let (address, _base, semaphore) = (number(), number(), number());
    assert_eq!(semaphore, 0, "a probe costs a nop, and reads no count");
    let mut strings = description.split(|byte| *byte == 0);
    let mut string = || String::from_utf8(strings.next().expect("three strings").to_vec()).unwrap();
    Probe { provider: string(), name: string(), address, arguments: string() }
}

fn probes() -> Vec<Probe> {
    let file = fs::read(preload()).unwrap();
    let data = file.as_slice();
    let header = FileHeader64::<Endianness>::parse(data).unwrap();
    let endian = header.endian().unwrap();
    let sections = header.sections(endian, data).unwrap();
    let (_, section) =
        sections.section_by_name(endian, b".note.stapsdt").expect("the preload has probes");
    let mut notes = section.notes(endian, data).unwrap().expect("a section of notes");
    let mut probes = Vec::new();
    while let Some(note) = notes.next().unwrap() {
        assert_eq!((note.name(), note.n_type(endian).0), (&b"stapsdt"[..], 3));
        probes.push(parse(note.desc()));
    }
    probes
}

#[test]
fn names_and_arguments_are_glibcs() {
    let mut found = BTreeMap::new();
    for probe in probes() {
        assert_eq!(probe.provider, "libc", "{}", probe.name);
        let count = probe.arguments.split_whitespace().count();
        let before = found.insert(probe.name.clone(), count);
        assert!(before.is_none_or(|before| before == count), "{}", probe.name);
    }
    let expected: BTreeMap<_, _> = PROBES.map(|(name, count)| (name.to_owned(), count)).into();
    assert_eq!(found, expected);
}

/// perf takes a probe's address for its place in the file. If they differ it puts its breakpoint
/// into the middle of other code.
#[test]
fn addresses_are_places_in_the_file() {
    let file = fs::read(preload()).unwrap();
    let data = file.as_slice();
    let header = FileHeader64::<Endianness>::parse(data).unwrap();
    let endian = header.endian().unwrap();
    let segments = header.program_headers(endian, data).unwrap();
    let loaded = segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD);
    let code: Vec<_> = loaded.filter(|segment| segment.p_flags(endian).0 & PF_X.0 != 0).collect();
    assert!(!code.is_empty(), "read wrongly");
    for segment in code {
        assert_eq!(segment.p_vaddr(endian), segment.p_offset(endian));
    }
}

/// On the way to a free mutex an argument is where the caller put it: a probe adds its nop and
/// nothing else.
#[test]
#[cfg_attr(debug_assertions, ignore = "unoptimised code moves its arguments")]
fn the_fast_paths_move_nothing_for_them() {
    let file = fs::read(preload()).unwrap();
    let file = object::File::parse(file.as_slice()).unwrap();
    for (function, names) in [
        ("pthread_mutex_lock", &["mutex_entry", "mutex_acquired"][..]),
        ("pthread_mutex_unlock", &["mutex_release"]),
    ] {
        let mut symbols = file.dynamic_symbols();
        let symbol = symbols.find(|symbol| symbol.name() == Ok(function)).expect("it is exported");
        let code = symbol.address()..symbol.address() + symbol.size();
        let inside: Vec<Probe> =
            probes().into_iter().filter(|probe| code.contains(&probe.address)).collect();
        for name in names {
            assert!(inside.iter().any(|probe| probe.name == *name), "{name} in {function}");
        }
        for probe in inside {
            assert_eq!(probe.arguments, "-8@%rdi", "{} in {function}", probe.name);
        }
    }
}

#[test]
fn calls_hit_them() {
    let folder = scratch("probes");
    let program = Artifact::program("probes/probed.c", &folder, "probed").build();
    let mut command = Side::Furwock.command(&program);
    for probe in probes() {
        command.arg(format!("{} {:#x} {}", probe.name, probe.address, probe.arguments));
    }
    assert_eq!(stdout_of(command, Duration::from_secs(40)), HITS);
}
