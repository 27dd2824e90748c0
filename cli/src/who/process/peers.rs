//! Which processes have the other ends of pipes and sockets, and which hold locks of files.
//!
//! The kernel tells it by lists of all that is open. They are read when a thread is found that
//! waits for such an end, and once for a look.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use super::access;
use super::descriptors::inode;
use super::unix_sockets;

/// Processes that are named at most.
const SHOWN: usize = 3;

#[derive(Default)]
pub struct Peers {
    open: OnceCell<HashMap<String, Vec<Open>>>,
    sockets: OnceCell<Sockets>,
}

/// A descriptor of a pipe or a socket.
struct Open {
    pid: i32,
    descriptor: i32,
}

#[derive(Default)]
struct Sockets {
    /// Of TCP and UDP, by inode: the protocol, both addresses, the state.
    by_inode: HashMap<String, (&'static str, String, String, String)>,
    by_addresses: HashMap<(String, String), String>,
    /// A Unix socket's peer.
    unix: HashMap<u32, u32>,
}

impl Peers {
    /// "written by cat (12)" for a pipe's reader.
    pub fn other_ends_of_pipe(&self, pid: i32, descriptor: i32, inode: &str) -> Option<String> {
        self.other_ends(pid, descriptor, &format!("pipe:[{inode}]"))
    }

    /// A pipe with a name is a file: what other processes call it, too.
    pub fn other_ends_of_fifo(&self, pid: i32, descriptor: i32, path: &str) -> Option<String> {
        self.other_ends(pid, descriptor, path)
    }

    fn other_ends(&self, pid: i32, descriptor: i32, link: &str) -> Option<String> {
        let writes = access_mode(pid, descriptor)?;
        let ends = self.open().get(link)?.iter();
        let ends = ends.filter(|open| {
            access_mode(open.pid, open.descriptor).is_some_and(|mode| match writes {
                libc::O_RDONLY => mode != libc::O_RDONLY,
                _ => mode != libc::O_WRONLY,
            })
        });
        let pids: Vec<i32> = ends.map(|open| open.pid).collect();
        let verb = if writes == libc::O_RDONLY { "written" } else { "read" };
        Some(match listed(pid, &pids) {
            Some(names) => format!("{verb} by {names}"),
            None => format!("{verb} by no process that can be seen"),
        })
    }

    /// Both ends of a TCP or UDP socket, or a Unix socket's path, and the process at the other end.
    pub fn socket(&self, pid: i32, inode: &str) -> Option<String> {
        let sockets = self.sockets.get_or_init(|| Sockets::read(pid));
        if let Some((protocol, own, other, state)) = sockets.by_inode.get(inode) {
            let state = if state == "0A" { " listening" } else { "" };
            let peer = sockets.by_addresses.get(&(other.clone(), own.clone()));
            let (own, other) = (port(own)?, port(other)?);
            let to = if other == 0 { String::new() } else { format!(" to port {other}") };
            let by = peer.and_then(|peer| self.owners(pid, peer));
            let by = by.map_or(String::new(), |by| format!(" of {by}"));
            return Some(format!("{protocol} port {own}{to}{by}{state}"));
        }
        let table = fs::read_to_string(format!("/proc/{pid}/net/unix")).unwrap_or_default();
        let line = table.lines().find(|line| line.split_whitespace().nth(6) == Some(inode))?;
        let path = line.split_whitespace().nth(7).map_or(String::new(), |path| format!(" {path}"));
        let peer = inode.parse().ok().and_then(|inode| sockets.unix.get(&inode));
        let by = peer.and_then(|peer| self.owners(pid, &peer.to_string()));
        let by = by.map_or(String::new(), |by| format!(" to {by}"));
        Some(format!("unix{path}{by}"))
    }

    fn owners(&self, pid: i32, socket: &str) -> Option<String> {
        let owners = self.open().get(&format!("socket:[{socket}]"))?;
        listed(pid, &owners.iter().map(|open| open.pid).collect::<Vec<_>>())
    }

    fn open(&self) -> &HashMap<String, Vec<Open>> {
        self.open.get_or_init(|| {
            let mut open: HashMap<String, Vec<Open>> = HashMap::new();
            let pids = numbers("/proc");
            for pid in pids {
                for descriptor in numbers(&format!("/proc/{pid}/fd")) {
                    let Ok(link) = fs::read_link(format!("/proc/{pid}/fd/{descriptor}")) else {
                        continue;
                    };
                    let link = link.to_string_lossy();
                    let is_end = inode(&link, "pipe").is_some() || inode(&link, "socket").is_some();
                    // A pipe with a name is a file, as far as its link tells.
                    if is_end || link.starts_with('/') {
                        let each = Open { pid, descriptor };
                        open.entry(link.into_owned()).or_default().push(each);
                    }
                }
            }
            open
        })
    }
}

impl Sockets {
    fn read(pid: i32) -> Self {
        let mut found = Self::default();
        for protocol in ["tcp", "tcp6", "udp", "udp6"] {
            let table =
                fs::read_to_string(format!("/proc/{pid}/net/{protocol}")).unwrap_or_default();
            for line in table.lines().skip(1) {
                let words: Vec<&str> = line.split_whitespace().collect();
                let [_, own, other, state, .., inode] = &words[..words.len().min(10)] else {
                    continue;
                };
                let (own, other) = ((*own).to_owned(), (*other).to_owned());
                found.by_addresses.insert((own.clone(), other.clone()), (*inode).to_owned());
                let about = (protocol, own, other, (*state).to_owned());
                found.by_inode.insert((*inode).to_owned(), about);
            }
        }
        // Those of another network namespace can't be asked for.
        let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        if namespace("self") == namespace(&pid.to_string()) {
            found.unix = unix_sockets::peers().unwrap_or_default();
        }
        found
    }
}

/// Which process holds the lock of a file that a thread of `pid` waits for: the kernel lists
/// waiters right behind the lock.
pub fn holder_of_file(pid: i32, descriptor: i32) -> Option<String> {
    let file = fs::metadata(format!("/proc/{pid}/fd/{descriptor}")).ok()?;
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let holder = holder(&locks, pid, file.ino())?;
    Some(match holder {
        1.. if fs::exists(format!("/proc/{holder}")).unwrap_or(false) => called(holder),
        1.. => format!("what process {holder} left open, which has ended"),
        _ => "a process that the kernel doesn't name".to_owned(),
    })
}

fn holder(locks: &str, pid: i32, file: u64) -> Option<i32> {
    let mut last: Option<(&str, i32)> = None;
    // A file of several layers (overlayfs) has another number there. If the process waits for one
    // lock only, it is that.
    let mut elsewhere = Vec::new();
    for line in locks.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let waits = words.get(1) == Some(&"->");
        let at = if waits { 5 } else { 4 };
        let (Some(id), Some(owner)) = (words.first(), words.get(at)) else { continue };
        let owner: i32 = owner.parse().unwrap_or(-1);
        let inode = words.get(at + 1).and_then(|file| file.rsplit(':').next()?.parse().ok());
        match last {
            Some((of, holder)) if waits && of == *id => {
                if owner == pid && inode == Some(file) {
                    return Some(holder);
                }
                if owner == pid {
                    elsewhere.push(holder);
                }
            }
            _ => last = Some((id, owner)),
        }
    }
    match elsewhere[..] {
        [holder] => Some(holder),
        _ => None,
    }
}

/// "sleep (12)": the process's name, and what this process calls it.
pub fn called(pid: i32) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    format!("{} ({pid})", access::text(&status, "Name").unwrap_or("?"))
}

/// A process's children, as far as they run or haven't been waited for.
pub fn children(pid: i32) -> Vec<i32> {
    let lists = numbers(&format!("/proc/{pid}/task"))
        .into_iter()
        .map(|tid| fs::read_to_string(format!("/proc/{pid}/task/{tid}/children")));
    let lists: Result<Vec<String>, _> = lists.collect();
    let mut children: Vec<i32> = match lists {
        Ok(lists) => {
            lists.iter().flat_map(|list| list.split_whitespace()).flat_map(str::parse).collect()
        }
        // Not every kernel keeps these lists, but each process tells its parent.
        Err(_) => numbers("/proc").into_iter().filter(|each| parent(*each) == Some(pid)).collect(),
    };
    children.sort_unstable();
    children
}

fn parent(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    access::text(&status, "PPid")?.parse().ok()
}

/// "a (1), b (2) and 3 others", without `pid` unless it is the only one.
pub fn listed(pid: i32, pids: &[i32]) -> Option<String> {
    let mut others: Vec<i32> = pids.iter().copied().filter(|other| *other != pid).collect();
    others.sort_unstable();
    others.dedup();
    if others.is_empty() {
        return (!pids.is_empty()).then(|| "this process only".to_owned());
    }
    let names: Vec<String> = others.iter().take(SHOWN).map(|pid| called(*pid)).collect();
    let more = match others.len().saturating_sub(SHOWN) {
        0 => String::new(),
        1 => " and 1 other".to_owned(),
        more => format!(" and {more} others"),
    };
    Some(format!("{}{more}", names.join(", ")))
}

/// O_RDONLY, O_WRONLY or O_RDWR.
fn access_mode(pid: i32, descriptor: i32) -> Option<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).ok()?;
    let flags = access::text(&text, "flags")?;
    Some(i32::from_str_radix(flags, 8).ok()? & libc::O_ACCMODE)
}

fn numbers(folder: &str) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn port(address: &str) -> Option<u16> {
    u16::from_str_radix(address.rsplit(':').next()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use std::process::{self, Command};

    use super::*;

    #[test]
    fn a_child_is_known_by_both_ways() {
        let own = process::id() as i32;
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        let id = child.id() as i32;
        let found = (children(own).contains(&id), parent(id));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, (true, Some(own)));
    }

    #[test]
    fn a_file_locks_holder_is_listed_before_those_that_wait() {
        let locks = "\
            1: POSIX  ADVISORY  WRITE 11 fe:01:70 0 EOF\n\
            2: FLOCK  ADVISORY  WRITE 12 fe:01:71 0 EOF\n\
            2: -> FLOCK  ADVISORY  WRITE 13 fe:01:71 0 EOF\n\
            2: -> FLOCK  ADVISORY  WRITE 14 fe:01:71 0 EOF\n\
            3: OFDLCK ADVISORY  WRITE -1 fe:01:72 0 EOF\n\
            3: -> OFDLCK ADVISORY  WRITE 15 fe:01:72 0 EOF\n\
            4: POSIX  ADVISORY  WRITE 16 fe:01:73 0 EOF\n\
            4: -> POSIX  ADVISORY  WRITE 17 fe:01:73 0 EOF\n\
            5: POSIX  ADVISORY  WRITE 18 fe:01:74 0 EOF\n\
            5: -> POSIX  ADVISORY  WRITE 17 fe:01:74 0 EOF\n";
        assert_eq!(holder(locks, 13, 71), Some(12));
        assert_eq!(holder(locks, 14, 71), Some(12));
        assert_eq!(holder(locks, 14, 70), Some(12), "by another number, but its only wait");
        assert_eq!(holder(locks, 15, 72), Some(-1), "of an open file");
        assert_eq!(holder(locks, 11, 70), None, "it has it");
        assert_eq!(holder(locks, 17, 74), Some(18));
        assert_eq!(holder(locks, 17, 75), None, "either of two waits");
    }
}
