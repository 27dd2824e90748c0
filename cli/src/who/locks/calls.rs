//! System calls other than futex(2), by what a thread in one waits for.

use crate::who::process::descriptors;
use crate::who::process::memory::Memory;
use crate::who::process::peers::{self, Peers};

/// Descriptors of one call that are looked at.
const MOST: usize = 64;

/// "read from pipe 7 (written by cat (12)), descriptor 3".
pub fn describe(pid: i32, number: i64, arguments: &[u64; 6], peers: &Peers) -> String {
    let on =
        |verb: &str, descriptor| format!("{verb} {}", descriptors::name(pid, descriptor, peers));
    match number {
        libc::SYS_read | libc::SYS_readv | libc::SYS_pread64 => on("read from", arguments[0]),
        libc::SYS_write | libc::SYS_writev | libc::SYS_pwrite64 => on("write to", arguments[0]),
        libc::SYS_recvfrom | libc::SYS_recvmsg | libc::SYS_recvmmsg => {
            on("receive from", arguments[0])
        }
        libc::SYS_sendto | libc::SYS_sendmsg | libc::SYS_sendmmsg => on("send to", arguments[0]),
        libc::SYS_splice | libc::SYS_sendfile => on("move data from or to", arguments[0]),
        libc::SYS_accept | libc::SYS_accept4 => on("accept on", arguments[0]),
        libc::SYS_connect => on("connect", arguments[0]),
        libc::SYS_fsync | libc::SYS_fdatasync => on("sync", arguments[0]),
        libc::SYS_flock => held(on("file lock on", arguments[0]), pid, arguments[0]),
        libc::SYS_fcntl if is_lock(arguments[1]) => {
            held(on("record lock on", arguments[0]), pid, arguments[0])
        }
        libc::SYS_fcntl => on("fcntl on", arguments[0]),
        libc::SYS_ioctl => on("ioctl on", arguments[0]),
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => epoll(pid, arguments[0], peers),
        libc::SYS_io_uring_enter => on("io_uring", arguments[0]),
        libc::SYS_ppoll => poll(pid, arguments, peers),
        libc::SYS_pselect6 => select(pid, arguments, peers),
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => "sleep".to_owned(),
        libc::SYS_wait4 => child(pid, arguments[0] as i32),
        libc::SYS_waitid if arguments[0] == u64::from(libc::P_PID) => {
            child(pid, arguments[1] as i32)
        }
        libc::SYS_waitid => child(pid, -1),
        libc::SYS_rt_sigtimedwait | libc::SYS_rt_sigsuspend => "a signal".to_owned(),
        libc::SYS_sched_yield => "sched_yield".to_owned(),
        libc::SYS_semop | libc::SYS_semtimedop => {
            format!("System V semaphore, set {}", arguments[0])
        }
        libc::SYS_msgrcv | libc::SYS_msgsnd => {
            format!("System V message queue {}", arguments[0])
        }
        libc::SYS_mq_timedreceive | libc::SYS_mq_timedsend => on("message queue", arguments[0]),
        libc::SYS_openat => "open a file".to_owned(),
        libc::SYS_clone | libc::SYS_clone3 => started(pid),
        libc::SYS_execve | libc::SYS_execveat => "execve".to_owned(),
        libc::SYS_exit | libc::SYS_exit_group => "its end".to_owned(),
        libc::SYS_restart_syscall => "a call with a timeout, interrupted once".to_owned(),
        number => of_this_machine(pid, number, arguments, peers),
    }
}

#[cfg(target_arch = "x86_64")]
fn of_this_machine(pid: i32, number: i64, arguments: &[u64; 6], peers: &Peers) -> String {
    match number {
        libc::SYS_epoll_wait => epoll(pid, arguments[0], peers),
        libc::SYS_poll => poll(pid, arguments, peers),
        libc::SYS_select => select(pid, arguments, peers),
        libc::SYS_pause => "a signal".to_owned(),
        libc::SYS_open | libc::SYS_creat => "open a file".to_owned(),
        libc::SYS_fork | libc::SYS_vfork => started(pid),
        number => format!("system call {number}"),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn of_this_machine(_pid: i32, number: i64, _arguments: &[u64; 6], _peers: &Peers) -> String {
    format!("system call {number}")
}

fn is_lock(command: u64) -> bool {
    [libc::F_SETLKW, libc::F_OFD_SETLKW].contains(&(command as i32))
}

fn held(says: String, pid: i32, descriptor: u64) -> String {
    let holder = peers::holder_of_file(pid, descriptor as i32);
    holder.map_or(says.clone(), |holder| format!("{says}, held by {holder}"))
}

/// A process that is started with vfork has its parent wait.
fn started(pid: i32) -> String {
    match peers::listed(pid, &peers::children(pid)) {
        Some(children) => format!("a process that it starts, {children}, to run a program or end"),
        None => "a process or thread that it starts".to_owned(),
    }
}

fn child(pid: i32, which: i32) -> String {
    let children = peers::children(pid);
    // In a container the process calls its child by another id.
    if which > 0 && children.contains(&which) {
        return format!("child process {} to end", peers::called(which));
    }
    match peers::listed(pid, &children) {
        Some(children) => format!("a child process to end: {children}"),
        None => "a child process to end".to_owned(),
    }
}

fn epoll(pid: i32, descriptor: u64, peers: &Peers) -> String {
    let watched = descriptors::watched(pid, descriptor, peers);
    let watched = watched.map_or(String::new(), |watched| format!(", which watches {watched}"));
    format!("epoll descriptor {}{watched}", descriptor as i32)
}

fn poll(pid: i32, arguments: &[u64; 6], peers: &Peers) -> String {
    let count = usize::try_from(arguments[1]).unwrap_or(0);
    let size = size_of::<libc::pollfd>();
    let list = Memory::new(pid).range(arguments[0], count.min(MOST) * size);
    if count == 0 {
        return "sleep, by poll".to_owned();
    }
    let Some(list) = list else { return "poll of files".to_owned() };
    let number = |each: &[u8]| i32::from_ne_bytes(each[..4].try_into().unwrap_or_default());
    let files: Vec<i32> =
        list.chunks_exact(size).map(number).filter(|descriptor| *descriptor >= 0).collect();
    format!("poll of {}", descriptors::several(pid, &files, peers))
}

fn select(pid: i32, arguments: &[u64; 6], peers: &Peers) -> String {
    let bytes = usize::try_from(arguments[0]).unwrap_or(0).min(libc::FD_SETSIZE).div_ceil(64) * 8;
    let sets = arguments[1..4].iter().filter(|set| **set != 0);
    let sets: Vec<Vec<u8>> = sets.filter_map(|set| Memory::new(pid).range(*set, bytes)).collect();
    let is_in = |set: &Vec<u8>, at: usize| set[at / 8] & 1 << (at % 8) != 0;
    let files = (0..bytes * 8).filter(|at| sets.iter().any(|set| is_in(set, *at)));
    let files: Vec<i32> = files.filter_map(|at| i32::try_from(at).ok()).collect();
    match files.is_empty() {
        true => "sleep, by select".to_owned(),
        false => format!("select of {}", descriptors::several(pid, &files, peers)),
    }
}
