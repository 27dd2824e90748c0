//! What threads do that hold locks for which others wait: looked at now and then, from outside, so
//! that it costs the program nothing. A thread that a processor works for runs, in the kernel too.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::Duration;

use furwock_record::Did;

use crate::record::{Wanted, Watched};
use crate::who::locks::holder_of;
use crate::who::process::access;
use crate::who::process::memory::Memory;
use crate::who::process::task::{Call, Task};

/// Between two looks. They differ, so that a program that repeats itself isn't always met at the
/// same place.
const PAUSES: [u64; 5] = [7, 11, 9, 13, 10];
/// The part of a processor's time that looks may take is one in so many.
const SHARE: u32 = 200;
/// After so many looks processes are looked for again.
const NEW_PROCESSES: usize = 8;

pub struct Holders {
    watched: Watched,
    /// This process's own.
    depth: usize,
    looks: usize,
    took: Duration,
}

impl Holders {
    /// None if the record can't be watched: then the report goes without.
    pub fn of(record: &Path) -> Option<Self> {
        let watched = Watched::open(record)?;
        Some(Self { watched, depth: depth("self")?, looks: 0, took: Duration::ZERO })
    }

    /// How long to wait until the next look.
    pub fn pause(&self) -> Duration {
        let pause = Duration::from_millis(PAUSES[self.looks % PAUSES.len()]);
        pause.max(self.took * SHARE)
    }

    pub fn look(&mut self) {
        let began = processor_time();
        if self.looks.is_multiple_of(NEW_PROCESSES) {
            self.watched.find();
        }
        self.looks += 1;
        let processes: Vec<(usize, u32)> = self.watched.processes().collect();
        let mut gone = Vec::new();
        for (at, pid) in processes {
            let wanted = self.watched.wanted(at);
            if wanted.is_empty() {
                continue;
            }
            // Ids in a namespace of its own aren't these.
            let is_named_so = depth(&pid.to_string()).is_some_and(|depth| depth == self.depth);
            let Some(outside) = i32::try_from(pid).ok().filter(|_| is_named_so) else {
                gone.push(pid);
                continue;
            };
            for lock in wanted {
                if let Some(does) = holder_does(outside, lock) {
                    self.watched.note(at, lock, does);
                }
            }
        }
        gone.into_iter().for_each(|pid| self.watched.forget(pid));
        self.took = processor_time().saturating_sub(began);
    }
}

/// What this thread has used. Time in which others run isn't a look's cost.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// In how many pid namespaces a process is, as far as this one's /proc shows; none if it is gone.
fn depth(pid: &str) -> Option<usize> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(access::ids(&status).count())
}

fn holder_does(pid: i32, lock: Wanted) -> Option<Did> {
    let holder = holder_of(Memory::new(pid), lock.kind, lock.address)?;
    let task = Task::look(pid, i32::try_from(holder).ok()?)?;
    Some(does(pid, &task))
}

fn does(pid: i32, task: &Task) -> Did {
    let (number, arguments) = match &task.call {
        Call::Running | Call::Unknown => return Did::Run,
        // A page that isn't there.
        Call::Elsewhere => return Did::Memory,
        Call::In { number, arguments, .. } => (*number, arguments),
    };
    let is_file = || {
        let kind = fs::metadata(format!("/proc/{pid}/fd/{}", arguments[0] as i32));
        kind.is_ok_and(|kind| kind.is_file() || kind.is_dir() || kind.file_type().is_block_device())
    };
    match number {
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_pread64
        | libc::SYS_preadv
        | libc::SYS_preadv2
            if is_file() =>
        {
            Did::ReadFile
        }
        libc::SYS_write
        | libc::SYS_writev
        | libc::SYS_pwrite64
        | libc::SYS_pwritev
        | libc::SYS_pwritev2
            if is_file() =>
        {
            Did::WriteFile
        }
        libc::SYS_fsync
        | libc::SYS_fdatasync
        | libc::SYS_sync_file_range
        | libc::SYS_sync
        | libc::SYS_syncfs
        | libc::SYS_msync
        | libc::SYS_fallocate
        | libc::SYS_ftruncate
        | libc::SYS_copy_file_range => Did::WriteFile,
        libc::SYS_openat
        | libc::SYS_close
        | libc::SYS_renameat2
        | libc::SYS_unlinkat
        | libc::SYS_mkdirat
        | libc::SYS_linkat
        | libc::SYS_statx
        | libc::SYS_newfstatat
        | libc::SYS_fstat
        | libc::SYS_getdents64
        | libc::SYS_faccessat
        | libc::SYS_lseek
        | libc::SYS_flock => Did::UseFiles,
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_recvfrom
        | libc::SYS_recvmsg
        | libc::SYS_recvmmsg
        | libc::SYS_accept
        | libc::SYS_accept4
        | libc::SYS_ppoll
        | libc::SYS_pselect6
        | libc::SYS_epoll_pwait
        | libc::SYS_epoll_pwait2 => Did::Receive,
        libc::SYS_write
        | libc::SYS_writev
        | libc::SYS_sendto
        | libc::SYS_sendmsg
        | libc::SYS_sendmmsg
        | libc::SYS_connect
        | libc::SYS_sendfile
        | libc::SYS_splice => Did::Send,
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => Did::Sleep,
        libc::SYS_futex | libc::SYS_futex_waitv => Did::WaitForThread,
        libc::SYS_wait4 | libc::SYS_waitid | libc::SYS_clone3 => Did::WaitForProcess,
        libc::SYS_mmap
        | libc::SYS_munmap
        | libc::SYS_mremap
        | libc::SYS_mprotect
        | libc::SYS_madvise
        | libc::SYS_brk => Did::Memory,
        libc::SYS_sched_yield => Did::Run,
        number => of_this_machine(number),
    }
}

#[cfg(target_arch = "x86_64")]
fn of_this_machine(number: i64) -> Did {
    match number {
        libc::SYS_open
        | libc::SYS_creat
        | libc::SYS_stat
        | libc::SYS_lstat
        | libc::SYS_access
        | libc::SYS_rename
        | libc::SYS_unlink
        | libc::SYS_mkdir
        | libc::SYS_rmdir
        | libc::SYS_link
        | libc::SYS_symlink
        | libc::SYS_readlink => Did::UseFiles,
        libc::SYS_poll | libc::SYS_select | libc::SYS_epoll_wait => Did::Receive,
        libc::SYS_fork | libc::SYS_vfork => Did::WaitForProcess,
        _ => Did::Other,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn of_this_machine(_number: i64) -> Did {
    Did::Other
}

#[cfg(test)]
mod tests {
    use std::io::pipe;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn what_a_call_does_depends_on_its_file() {
        let file = fs::File::open("/proc/self/exe").unwrap();
        let (end, _other) = pipe().unwrap();
        let own = std::process::id() as i32;
        let does = |call| {
            let (tid, name, state, runs) = (own, String::new(), 'S', None);
            super::does(own, &Task { tid, name, state, call, runs })
        };
        let called = |number, descriptor: i32| {
            let arguments = [descriptor as u64, 0, 0, 0, 0, 0];
            does(Call::In { number, arguments, stack: 0, code: 0 })
        };
        assert_eq!(called(libc::SYS_read, file.as_raw_fd()), Did::ReadFile);
        assert_eq!(called(libc::SYS_write, file.as_raw_fd()), Did::WriteFile);
        assert_eq!(called(libc::SYS_read, end.as_raw_fd()), Did::Receive);
        assert_eq!(called(libc::SYS_write, end.as_raw_fd()), Did::Send);
        assert_eq!(called(libc::SYS_write, -1), Did::Send, "closed meanwhile");
        assert_eq!(called(libc::SYS_fsync, file.as_raw_fd()), Did::WriteFile);
        assert_eq!(called(libc::SYS_futex, 0), Did::WaitForThread);
        assert_eq!(called(libc::SYS_getpid, 0), Did::Other);
        assert_eq!(does(Call::Running), Did::Run);
    }
}
