//! System calls other than futex(2), by what a thread in one waits for.

use crate::who::process::descriptors;

/// "read from pipe 7, descriptor 3".
pub fn describe(pid: i32, number: i64, arguments: &[u64; 6]) -> String {
    let on = |verb: &str, descriptor| format!("{verb} {}", descriptors::name(pid, descriptor));
    match number {
        libc::SYS_read | libc::SYS_readv | libc::SYS_pread64 => on("read from", arguments[0]),
        libc::SYS_write | libc::SYS_writev | libc::SYS_pwrite64 => on("write to", arguments[0]),
        libc::SYS_recvfrom | libc::SYS_recvmsg | libc::SYS_recvmmsg => {
            on("receive from", arguments[0])
        }
        libc::SYS_sendto | libc::SYS_sendmsg | libc::SYS_sendmmsg => on("send to", arguments[0]),
        libc::SYS_accept | libc::SYS_accept4 => on("accept on", arguments[0]),
        libc::SYS_connect => on("connect", arguments[0]),
        libc::SYS_fsync | libc::SYS_fdatasync => on("sync", arguments[0]),
        libc::SYS_flock => on("file lock on", arguments[0]),
        libc::SYS_fcntl => on("file lock or fcntl on", arguments[0]),
        libc::SYS_ioctl => on("ioctl on", arguments[0]),
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => on("idle, epoll on", arguments[0]),
        libc::SYS_io_uring_enter => on("io_uring", arguments[0]),
        libc::SYS_ppoll | libc::SYS_pselect6 => "poll for files".to_owned(),
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => "sleep".to_owned(),
        libc::SYS_wait4 | libc::SYS_waitid => "a child process to end".to_owned(),
        libc::SYS_rt_sigtimedwait | libc::SYS_rt_sigsuspend => "a signal".to_owned(),
        libc::SYS_sched_yield => "sched_yield".to_owned(),
        libc::SYS_semtimedop => "System V semaphore".to_owned(),
        libc::SYS_msgrcv | libc::SYS_msgsnd => "System V message queue".to_owned(),
        libc::SYS_mq_timedreceive | libc::SYS_mq_timedsend => on("message queue", arguments[0]),
        libc::SYS_restart_syscall => "a call with a timeout, interrupted once".to_owned(),
        number => of_this_machine(pid, number, arguments),
    }
}

#[cfg(target_arch = "x86_64")]
fn of_this_machine(pid: i32, number: i64, arguments: &[u64; 6]) -> String {
    match number {
        libc::SYS_epoll_wait => {
            format!("idle, epoll on {}", descriptors::name(pid, arguments[0]))
        }
        libc::SYS_poll | libc::SYS_select => "poll for files".to_owned(),
        libc::SYS_pause => "a signal".to_owned(),
        libc::SYS_open | libc::SYS_openat => "open a file".to_owned(),
        number => format!("system call {number}"),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn of_this_machine(_pid: i32, number: i64, _arguments: &[u64; 6]) -> String {
    format!("system call {number}")
}
