//! What is mapped where in a process.

use std::fs;
use std::io;

/// One line of /proc/PID/maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    pub start: u64,
    pub end: u64,
    pub offset: u64,
    pub is_executable: bool,
    pub is_writable: bool,
    pub is_shared: bool,
    /// The file's device, as the kernel writes it, and its inode.
    pub file: (String, u64),
    pub path: String,
}

impl Map {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(6, ' ');
        let (start, end) = words.next()?.split_once('-')?;
        let rights = words.next()?;
        let offset = u64::from_str_radix(words.next()?, 16).ok()?;
        let device = words.next()?.to_owned();
        let inode = words.next()?.parse().ok()?;
        Some(Self {
            start: u64::from_str_radix(start, 16).ok()?,
            end: u64::from_str_radix(end, 16).ok()?,
            offset,
            is_executable: rights.as_bytes().get(2) == Some(&b'x'),
            is_writable: rights.as_bytes().get(1) == Some(&b'w'),
            is_shared: rights.as_bytes().get(3) == Some(&b's'),
            file: (device, inode),
            path: words.next().unwrap_or("").trim_start().to_owned(),
        })
    }
}

pub fn read(pid: i32) -> io::Result<Vec<Map>> {
    let text = fs::read(format!("/proc/{pid}/maps"))?;
    Ok(String::from_utf8_lossy(&text).lines().filter_map(Map::parse).collect())
}

/// The mapping at an address, among mappings in order.
pub fn find(maps: &[Map], address: u64) -> Option<&Map> {
    let at = maps.partition_point(|map| map.end <= address);
    maps.get(at).filter(|map| map.start <= address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_lines() {
        let line = "7f00-7f80 r-xs 00001000 fe:01 42                         /a b (deleted)";
        let map = Map::parse(line).unwrap();
        assert_eq!((map.start, map.end, map.offset), (0x7f00, 0x7f80, 0x1000));
        assert!(map.is_executable && map.is_shared && !map.is_writable);
        assert_eq!((map.file, map.path), (("fe:01".into(), 42), "/a b (deleted)".into()));
        assert!(Map::parse("7f00-7f80 rw-p 0 00:00 0").is_some_and(|map| map.path.is_empty()));
        assert_eq!(Map::parse("nonsense"), None);
    }

    #[test]
    fn finds_what_contains_an_address() {
        let map = |start: u64| Map::parse(&format!("{start:x}-{:x} r--p 0 0:0 0", start + 16));
        let maps = [map(16).unwrap(), map(64).unwrap()];
        let start = |address| find(&maps, address).map(|map| map.start);
        assert_eq!(
            [15, 16, 31, 32, 64, 80].map(start),
            [None, Some(16), Some(16), None, Some(64), None]
        );
    }
}
