//! Files that threads wait for, by name, and the processes at their other ends.

use std::fs;

use super::peers::Peers;

/// "pipe 123", "socket 45", a path, or what else the kernel calls it, and which descriptor it is.
pub fn name(pid: i32, descriptor: u64, peers: &Peers) -> String {
    let descriptor = descriptor as i32;
    match what(pid, descriptor, peers) {
        Some(what) => format!("{what}, descriptor {descriptor}"),
        None => format!("descriptor {descriptor}"),
    }
}

/// The same without the descriptor.
pub fn what(pid: i32, descriptor: i32, peers: &Peers) -> Option<String> {
    let link = fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).ok()?;
    let link = link.to_string_lossy().into_owned();
    if let Some(inode) = inode(&link, "pipe") {
        let ends = peers.other_ends_of_pipe(pid, descriptor, inode);
        let ends = ends.map_or(String::new(), |ends| format!(" ({ends})"));
        return Some(format!("pipe {inode}{ends}"));
    }
    if let Some(inode) = inode(&link, "socket") {
        let socket = peers.socket(pid, inode);
        let socket = socket.map_or(String::new(), |socket| format!(" ({socket})"));
        return Some(format!("socket {inode}{socket}"));
    }
    if is_fifo(pid, descriptor) {
        let ends = peers.other_ends_of_fifo(pid, descriptor, &link);
        let ends = ends.map_or(String::new(), |ends| format!(" ({ends})"));
        return Some(format!("pipe {link}{ends}"));
    }
    let name = link.strip_prefix("anon_inode:").unwrap_or(&link);
    Some(name.trim_matches(['[', ']']).to_owned())
}

/// What an epoll descriptor watches: "eventfd, socket 45 and 3 others".
pub fn watched(pid: i32, descriptor: u64, peers: &Peers) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/fdinfo/{}", descriptor as i32)).ok()?;
    let files = text.lines().filter_map(|line| {
        line.strip_prefix("tfd:")?.split_whitespace().next()?.parse::<i32>().ok()
    });
    Some(several(pid, &files.collect::<Vec<_>>(), peers))
}

/// Of many files, those that a reader wants to see.
pub fn several(pid: i32, descriptors: &[i32], peers: &Peers) -> String {
    const SHOWN: usize = 3;
    let shown = descriptors.iter().take(SHOWN);
    let shown =
        shown.map(|each| what(pid, *each, peers).unwrap_or_else(|| format!("descriptor {each}")));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    match descriptors.len().saturating_sub(SHOWN) {
        0 if descriptors.is_empty() => text.push_str("no file"),
        0 => {}
        1 => text.push_str(" and 1 other"),
        more => text.push_str(&format!(" and {more} others")),
    }
    text
}

/// Of "pipe:[123]".
pub fn inode<'l>(link: &'l str, kind: &str) -> Option<&'l str> {
    link.strip_prefix(kind)?.strip_prefix(":[")?.strip_suffix(']')
}

fn is_fifo(pid: i32, descriptor: i32) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let found = fs::metadata(format!("/proc/{pid}/fd/{descriptor}"));
    found.is_ok_and(|found| found.file_type().is_fifo())
}
