//! Kinds, numbers and times in words.

use crate::measuring::number::{self, Unit};
use crate::record::Part;
use crate::record::entries::Kind;

/// Whether waits for it are contention.
pub fn is_lock(kind: Kind) -> bool {
    matches!(kind, Kind::Mutex | Kind::RwLock | Kind::Spin)
}

/// As a table has it.
pub fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Mutex => "mutex",
        Kind::RwLock => "rwlock",
        Kind::Condvar => "condvar",
        Kind::Semaphore => "semaphore",
        Kind::Barrier => "barrier",
        Kind::Word => "futex word",
        Kind::Spin => "spin",
        Kind::Thread => "thread",
    }
}

/// As a sentence has it.
pub fn kind_in_full(kind: Kind) -> &'static str {
    match kind {
        Kind::Spin => "spin lock",
        other => self::kind(other),
    }
}

/// The same of several.
pub fn kinds(kind: Kind) -> &'static str {
    match kind {
        Kind::Mutex => "mutexes",
        Kind::RwLock => "rwlocks",
        Kind::Condvar => "condvars",
        Kind::Semaphore => "semaphores",
        Kind::Barrier => "barriers",
        Kind::Word => "futex words",
        Kind::Spin => "spin locks",
        Kind::Thread => "threads",
    }
}

/// What threads did that held locks, in the order of `Did`, as a sentence has it.
pub const DID: [&str; furwock_record::DID] = [
    "running",
    "reading a file",
    "writing a file",
    "opening or changing files",
    "waiting for input",
    "sending output",
    "sleeping",
    "waiting for another thread",
    "waiting for another process",
    "waiting for memory",
    "in other system calls",
];

/// `12`, `41.2k`: at most five letters, of damaged records too.
pub fn count(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..999_000_000_000 => number::compact(count as f64),
        _ => ">999G".to_owned(),
    }
}

pub fn time(part: &Part, ticks: u64) -> String {
    seconds(part.seconds(ticks))
}

/// `12.3 ms`: at most seven letters.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        0.0 => "0".to_owned(),
        short if short < 9999.0 => number::with_unit(short, Unit::Seconds),
        long if long < 99_999.0 * 3600.0 => format!("{:.0} h", long / 3600.0),
        _ => ">99999h".to_owned(),
    }
}

/// `12.3 %` of a share between 0 and 1.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        small if small < 0.05 => "<0.1 %".to_owned(),
        large if large >= 99.95 => format!("{large:.0} %"),
        middle => format!("{middle:.1} %"),
    }
}

/// The part of a whole; 0 of nothing.
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// "1 lock", "2 locks".
pub fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", self::count(count), if count == 1 { one } else { many })
}

/// A name as it stands in a table's cell: that a file has no symbols is said with the stacks.
pub fn brief(name: &str) -> String {
    let Some((place, rest)) = name.split_once(" (no symbols") else { return name.to_owned() };
    // How many locks there are stays.
    let count = rest.split_once(')').map_or("", |(_, count)| count);
    format!("{place}{count}")
}

/// A name in a cell of at most `room` letters: without its source line if that has no room.
pub fn cell(name: &str, room: usize) -> String {
    let name = brief(name);
    if name.chars().count() <= room {
        return name;
    }
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (place, count) = match name.rfind(" (") {
        Some(at) if is_number(name[at + 2..].trim_end_matches(')')) => name.split_at(at),
        _ => (&*name, ""),
    };
    let source = place.rfind(" (").filter(|_| place.ends_with(')'));
    fitted(&format!("{}{count}", &place[..source.unwrap_or(place.len())]), room)
}

/// At most `room` letters: what is too long loses its middle.
pub fn fitted(text: &str, room: usize) -> String {
    let length = text.chars().count();
    if length <= room {
        return text.to_owned();
    }
    let (head, tail) = ((room.saturating_sub(1)).div_ceil(2), room.saturating_sub(1) / 2);
    let letters =
        |from: usize, count: usize| text.chars().skip(from).take(count).collect::<String>();
    format!("{}…{}", letters(0, head), letters(length - tail, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_without_symbols_fits_a_cell() {
        assert_eq!(brief("in pigz+0x11322 (no symbols)"), "in pigz+0x11322");
        assert_eq!(brief("in a.so+0x1 (no symbols, build-id 72a4) (3)"), "in a.so+0x1 (3)");
        assert_eq!(brief("in get (3)"), "in get (3)");
    }

    #[test]
    fn a_long_place_loses_its_line_first() {
        assert_eq!(cell("made in get (a.c:1) (3)", 30), "made in get (a.c:1) (3)");
        assert_eq!(cell("made in get (a.c:1) (3)", 21), "made in get (3)");
        assert_eq!(cell("made in get (cache.c:12)", 21), "made in get");
        assert_eq!(cell("in a_function_of_31_letters (3)", 21), "in a_funct…etters (3)");
        assert_eq!(cell("(anonymous namespace)::registry", 21), "(anonymous…::registry");
    }

    #[test]
    fn shares_and_counts_are_short() {
        assert_eq!([0.0, 0.0001, 0.123, 1.0].map(percent), ["0 %", "<0.1 %", "12.3 %", "100 %"]);
        assert_eq!([0, 999, 41_234].map(count), ["0", "999", "41.2k"]);
        for number in (0..64).map(|bit| 1 << bit).chain([u64::MAX]) {
            assert!(count(number).len() <= 5, "{number}");
            assert!(seconds(number as f64 / 1e9).len() <= 7, "{number}");
            assert!(seconds(number as f64).len() <= 7, "{number}");
        }
        assert_eq!(fitted("abcdefghij", 5), "ab…ij");
        assert_eq!(fitted("abc", 3), "abc");
    }
}
