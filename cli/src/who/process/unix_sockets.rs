//! Which Unix sockets are connected: the kernel answers by netlink (sock_diag(7)).

use std::collections::HashMap;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const UDIAG_SHOW_PEER: u32 = 4;
const UNIX_DIAG_PEER: u16 = 2;
/// Of a message, of the request's own part, and of the answer's.
const HEADER: usize = 16;
const REQUEST: usize = 24;
const ANSWER: usize = 16;

/// Each connected socket's peer, by inodes.
pub fn peers() -> Option<HashMap<u32, u32>> {
    // SAFETY: a new descriptor, or -1.
    let socket = unsafe {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        let socket = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_SOCK_DIAG);
        (socket >= 0).then(|| OwnedFd::from_raw_fd(socket))?
    };
    let mut request = Vec::with_capacity(HEADER + REQUEST);
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    request.extend(((HEADER + REQUEST) as u32).to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(flags.to_ne_bytes());
    request.extend([0; 8]);
    request.extend([libc::AF_UNIX as u8, 0, 0, 0]);
    // All states; no particular inode.
    request.extend(u32::MAX.to_ne_bytes());
    request.extend([0; 4]);
    request.extend(UDIAG_SHOW_PEER.to_ne_bytes());
    request.extend([0xff; 8]);
    let own = socket.as_raw_fd();
    // SAFETY: the request is as long as said.
    if unsafe { libc::send(own, request.as_ptr().cast(), request.len(), 0) } < 0 {
        return None;
    }
    let mut peers = HashMap::new();
    let mut room = vec![0_u8; 1 << 16];
    loop {
        // SAFETY: `room` is as long as said.
        let got = unsafe { libc::recv(own, room.as_mut_ptr().cast(), room.len(), 0) };
        let got = usize::try_from(got).ok().filter(|got| *got > 0)?;
        if note(&room[..got], &mut peers) {
            return Some(peers);
        }
    }
}

/// Whether these messages are the last.
fn note(mut messages: &[u8], peers: &mut HashMap<u32, u32>) -> bool {
    while messages.len() >= HEADER {
        let length = word(messages, 0) as usize;
        let kind = half(messages, 4);
        if kind != SOCK_DIAG_BY_FAMILY || length < HEADER || length > messages.len() {
            return true;
        }
        let message = &messages[HEADER..length];
        if message.len() >= ANSWER {
            let inode = word(message, 4);
            let mut rest = &message[ANSWER..];
            while rest.len() >= 4 {
                let length = usize::from(half(rest, 0)).clamp(4, rest.len());
                if half(rest, 2) == UNIX_DIAG_PEER && length >= 8 {
                    peers.insert(inode, word(rest, 4));
                }
                rest = &rest[length.next_multiple_of(4).min(rest.len())..];
            }
        }
        messages = &messages[length.next_multiple_of(4).min(messages.len())..];
    }
    false
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap_or_default())
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes(bytes[at..at + 2].try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_pairs_ends_are_each_others() {
        let (one, other) = UnixStream::pair().unwrap();
        let inode = |socket: &UnixStream| -> u32 {
            let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
            let link = link.to_str().unwrap().to_owned();
            link.trim_start_matches("socket:[").trim_end_matches(']').parse().unwrap()
        };
        // A kernel without sock_diag answers nothing.
        let Some(peers) = peers().filter(|peers| !peers.is_empty()) else { return };
        assert_eq!(peers.get(&inode(&one)), Some(&inode(&other)));
        assert_eq!(peers.get(&inode(&other)), Some(&inode(&one)));
    }
}
