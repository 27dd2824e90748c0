//! Files that threads wait for, by name.

use std::fs;

/// "pipe 123", "socket 45", a path, or what else the kernel calls it.
pub fn name(pid: i32, descriptor: u64) -> String {
    let descriptor = descriptor as i32;
    let Ok(link) = fs::read_link(format!("/proc/{pid}/fd/{descriptor}")) else {
        return format!("descriptor {descriptor}");
    };
    let link = link.to_string_lossy().into_owned();
    for kind in ["pipe", "socket"] {
        let inode = link.strip_prefix(kind).and_then(|rest| rest.strip_prefix(":["));
        if let Some(inode) = inode.and_then(|rest| rest.strip_suffix(']')) {
            let peer = if kind == "socket" { socket(pid, inode) } else { None };
            let peer = peer.map_or(String::new(), |peer| format!(" ({peer})"));
            return format!("{kind} {inode}{peer}, descriptor {descriptor}");
        }
    }
    let name = link.strip_prefix("anon_inode:").unwrap_or(&link);
    format!("{}, descriptor {descriptor}", name.trim_matches(['[', ']']))
}

/// Both ends of a TCP or UDP socket, or a Unix socket's path.
fn socket(pid: i32, inode: &str) -> Option<String> {
    for protocol in ["tcp", "tcp6", "udp", "udp6"] {
        let table = fs::read_to_string(format!("/proc/{pid}/net/{protocol}")).unwrap_or_default();
        for line in table.lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.get(9) == Some(&inode) {
                let (own, other) = (port(words[1])?, port(words[2])?);
                let state = if words[3] == "0A" { " listening".to_owned() } else { String::new() };
                let to = if other == 0 { String::new() } else { format!(" to port {other}") };
                return Some(format!("{protocol} port {own}{to}{state}"));
            }
        }
    }
    let table = fs::read_to_string(format!("/proc/{pid}/net/unix")).unwrap_or_default();
    let line = table.lines().find(|line| line.split_whitespace().nth(6) == Some(inode))?;
    Some(line.split_whitespace().nth(7).map_or("unix".to_owned(), |path| format!("unix {path}")))
}

fn port(address: &str) -> Option<u16> {
    u16::from_str_radix(address.rsplit(':').next()?, 16).ok()
}
