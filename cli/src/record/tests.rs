//! Reading of records: whole, cut off, and damaged at random.

use std::fs;
use std::path::PathBuf;

use super::sample::{self, MS};
use super::{File, State};
use crate::harness::Random;
use crate::{recap, stats};

fn scratch(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("furwock-{name}-{}", std::process::id()));
    fs::write(&path, bytes).unwrap();
    path
}

fn opened(name: &str, bytes: &[u8]) -> Result<File, String> {
    let path = scratch(name, bytes);
    let file = File::open(&path).map_err(|failure| failure.to_string());
    fs::remove_file(path).unwrap();
    file
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let record = opened("whole", &sample::typical("boot")).unwrap().look().unwrap();
    assert!(record.damages.is_empty(), "{:?}", record.damages);
    let part = &record.parts[0];
    assert_eq!((part.pid, part.name(), part.state), (4711, "bank", State::Ended));
    assert_eq!((part.length, part.left_to_glibc), (2000 * MS, 12));
    let cache = &part.locks[&1];
    assert_eq!(cache.name.as_deref(), Some("cache.mutex"));
    assert_eq!(
        (cache.figures.operations, cache.figures.contended, cache.figures.timeouts),
        (1_200_000, 147_000, 3)
    );
    assert_eq!((cache.figures.wait.total, cache.figures.wait.longest), (1640 * MS, 12 * MS));
    assert_eq!(part.stacks[&cache.figures.wait.longest_stack].frames, [0x10010, 0x10100]);
    assert_eq!((part.threads.len(), part.events.len(), part.sites.len()), (4, 42, 3));
    assert_eq!(part.modules[0].path, "/usr/bin/bank");
}

#[test]
fn what_is_no_record_is_refused_by_its_reason() {
    let whole = sample::typical("boot");
    let says = |name, bytes: &[u8]| opened(name, bytes).err().unwrap_or_default();
    assert!(says("empty", b"").ends_with("empty: nothing has been recorded in it"));
    assert!(says("text", b"int main(void)\n").contains("not a record of furwock"));
    assert!(says("short", &whole[..4]).contains("not a record of furwock"));
    assert!(
        says("page", &whole[..100]).ends_with("cut off after 100 bytes, within its first page")
    );
    let mut newer = whole.clone();
    newer[16] = 99;
    assert!(says("newer", &newer).contains("a record of version 99; this furwock reads version"));
    let mut sizes = whole.clone();
    sizes[20..24].copy_from_slice(&17_u32.to_ne_bytes());
    assert!(says("sizes", &sizes).ends_with("damaged: its first page makes no sense"));
}

#[test]
fn what_is_cut_off_is_said_and_the_rest_read() {
    let mut two = sample::Sample::new("boot", 4);
    two.process(1, &["one"], MS);
    two.process(2, &["two"], MS);
    let bytes = &two.bytes[..two.bytes.len() - sample::part_size()];
    let record = opened("cut", bytes).unwrap().look().unwrap();
    assert_eq!(record.parts.len(), 1);
    assert_eq!(record.damages, ["cut off: 1 of 2 processes are missing"]);
}

/// Whatever the bytes are, they are shown or refused, in little time and memory.
#[test]
fn damaged_records_harm_nothing() {
    let whole = sample::typical("boot");
    let seed = 0x5eed;
    let mut random = Random::new(seed, 0, 0.5);
    let mut shown = 0;
    for round in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.below(40) {
            // Headers and entries are few among empty bytes.
            let used = [64, 4096 + 1400, 4096 + 1400 + 20_000, bytes.len()];
            let end = used[random.below(4)];
            let at = random.below(end);
            bytes[at] = match random.below(3) {
                0 => 0xff,
                1 => 0,
                _ => random.below(256) as u8,
            };
        }
        if random.below(4) == 0 {
            let length = random.below(bytes.len());
            bytes.truncate(length);
        }
        let Ok(file) = opened("damaged", &bytes) else { continue };
        let Ok(record) = file.look() else { continue };
        shown += usize::from(!record.parts.is_empty());
        let [report, ..] = recap::everything(&record);
        let table = |width| (stats::text(&record, width), width);
        for (text, width) in [table(40), table(61), table(80), (report, 80)] {
            let is_narrow = text.lines().all(|line| line.chars().count() <= width);
            assert!(is_narrow, "seed {seed:#x}, round {round}, {width}: {text}");
            assert!(!text.contains('\u{1b}'), "seed {seed:#x}, round {round}");
        }
    }
    assert!(shown > 30, "only {shown} could be read: nothing is tested");
}
