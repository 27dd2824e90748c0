//! `furwock::linux` where the kernel and the engine both have waiters of one word:
//! priority-inheriting operations beside plain ones, and operations with flags that furwock doesn't
//! know.
//!
//! conformance/pthread/futex_pi.c has more of the former, on the kernel and beneath the preload.

mod common;

use common::{asleep, bounded, kept};
use furwock::linux::futex;
use std::ptr::{null, null_mut, without_provenance};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

const PRIVATE: i32 = libc::FUTEX_PRIVATE_FLAG;
const ANY: u32 = u32::MAX;

type Answer = Result<usize, i32>;

fn tid() -> u32 {
    // SAFETY: asks for a number.
    unsafe { libc::gettid() as u32 }
}

fn call(
    word: &AtomicU32,
    op: i32,
    val: u32,
    val2: usize,
    word2: Option<&AtomicU32>,
    val3: u32,
) -> Answer {
    let word2 = word2.map_or(null_mut(), AtomicU32::as_ptr);
    // SAFETY: words that outlive the call, and no timeouts.
    unsafe { futex(word.as_ptr(), op | PRIVATE, val, without_provenance(val2), word2, val3) }
}

fn wake(word: &AtomicU32, count: u32) -> Answer {
    call(word, libc::FUTEX_WAKE, count, 0, None, 0)
}

/// A thread that sleeps in this call.
fn start(
    word: &'static AtomicU32,
    op: i32,
    word2: Option<&'static AtomicU32>,
) -> thread::JoinHandle<Answer> {
    asleep(move || call(word, op, word.load(Ordering::SeqCst), 0, word2, ANY))
}

fn word() -> &'static AtomicU32 {
    kept(AtomicU32::new(0))
}

#[test]
fn a_plain_waiter_is_seen_by_inheriting_operations() {
    bounded(move || {
        let (at, to) = (word(), word());
        let waiter = start(at, libc::FUTEX_WAIT, None);
        let requeue = || call(at, libc::FUTEX_CMP_REQUEUE_PI, 1, 0, Some(to), 0);
        assert_eq!(requeue(), Err(libc::EINVAL));
        for op in [libc::FUTEX_LOCK_PI, libc::FUTEX_LOCK_PI2, libc::FUTEX_TRYLOCK_PI] {
            assert_eq!(call(at, op, 0, 0, None, 0), Err(libc::EINVAL));
        }
        at.store(tid(), Ordering::SeqCst);
        let lock = || call(at, libc::FUTEX_LOCK_PI, 0, 0, None, 0);
        assert_eq!(lock(), Err(libc::EDEADLK));
        let unlock = || call(at, libc::FUTEX_UNLOCK_PI, 0, 0, None, 0);
        assert_eq!(unlock(), Err(libc::EINVAL));
        assert_eq!(wake(at, 1), Ok(1));
        assert_eq!(waiter.join().unwrap(), Ok(0));
        assert_eq!(unlock(), Ok(0));
        assert_eq!(requeue(), Ok(0));
    });
}

#[test]
fn an_inheriting_waiter_is_seen_by_plain_operations() {
    bounded(move || {
        let (at, to) = (word(), word());
        let waiter = start(at, libc::FUTEX_WAIT_REQUEUE_PI, Some(to));
        let refused = Err(libc::EINVAL);
        assert_eq!(wake(at, 1), refused);
        assert_eq!(call(at, libc::FUTEX_WAKE_BITSET, 1, 0, None, 1), refused);
        assert_eq!(call(at, libc::FUTEX_REQUEUE, 0, 1, Some(to), 0), refused);
        assert_eq!(call(at, libc::FUTEX_CMP_REQUEUE, 1, 1, Some(to), 0), refused);
        assert_eq!(call(at, libc::FUTEX_CMP_REQUEUE_PI, 1, 0, Some(to), 0), Ok(1));
        assert_eq!(waiter.join().unwrap(), Ok(0));
        assert_eq!(wake(at, 1), Ok(0));
        let waiter = {
            to.store(tid(), Ordering::SeqCst);
            start(to, libc::FUTEX_LOCK_PI, None)
        };
        assert_eq!(wake(to, 1), refused);
        assert_eq!(call(to, libc::FUTEX_UNLOCK_PI, 0, 0, None, 0), Ok(0));
        assert_eq!(waiter.join().unwrap(), Ok(0));
    });
}

/// A later kernel, played by a filter that traps calls with the new flag, and a handler that does
/// what such a kernel does.
#[cfg(target_arch = "x86_64")]
mod later_kernel {
    use super::common::seccomp::{NUMBER, allow, argument, jump, live_under, load, trap};
    use super::*;
    use core::arch::asm;

    /// `FUTEX_ROBUST_UNLOCK`: the word becomes 0, and the pointer at `uaddr2` null, before the
    /// wake.
    const ROBUST_UNLOCK: i32 = 512;

    /// The system call itself, without libc.
    unsafe fn kernel(number: i64, a: [i64; 6]) -> i64 {
        let result;
        // SAFETY: by the caller's promise.
        unsafe {
            asm!(
                "syscall",
                inlateout("rax") number => result,
                in("rdi") a[0], in("rsi") a[1], in("rdx") a[2],
                in("r10") a[3], in("r8") a[4], in("r9") a[5],
                lateout("rcx") _, lateout("r11") _,
            );
        }
        result
    }

    extern "C" fn play(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the handler of a trapped call: its registers, and what its arguments point at.
        unsafe {
            let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
            let number = registers[libc::REG_RAX as usize];
            let names = [
                libc::REG_RDI,
                libc::REG_RSI,
                libc::REG_RDX,
                libc::REG_R10,
                libc::REG_R8,
                libc::REG_R9,
            ];
            let mut a = names.map(|name| registers[name as usize]);
            a[1] &= !i64::from(ROBUST_UNLOCK);
            let is_wake =
                [libc::FUTEX_WAKE, libc::FUTEX_WAKE_BITSET].contains(&((a[1] & 127) as i32));
            if is_wake && a[4] != 0 {
                (*(a[0] as *const AtomicU32)).store(0, Ordering::SeqCst);
                *(a[4] as *mut usize) = 0;
            }
            registers[libc::REG_RAX as usize] = kernel(number, a);
        }
    }

    /// From now on this thread, and the threads that it starts, live on such a kernel.
    fn begin() {
        let filter = [
            load(NUMBER),
            jump(libc::BPF_JEQ, libc::SYS_futex as u32, 0, 3),
            load(argument(1)),
            jump(libc::BPF_JSET, ROBUST_UNLOCK as u32, 0, 1),
            trap(),
            allow(),
        ];
        // SAFETY: an all-zero sigaction but for the handler.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = play as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
            assert_eq!(libc::sigaction(libc::SIGSYS, &action, null_mut()), 0);
        }
        live_under(&filter).unwrap();
    }

    #[test]
    fn a_wake_with_a_new_flag_finds_waiters_of_both() {
        for (op, bits) in [(libc::FUTEX_WAKE, 0), (libc::FUTEX_WAKE_BITSET, 4)] {
            bounded(move || {
                begin();
                let at = word();
                let mut pending = 8usize;
                let mut unlock = |count: u32| {
                    at.store(tid(), Ordering::SeqCst);
                    pending = 8;
                    // SAFETY: the handler writes one pointer.
                    let list = unsafe { AtomicU32::from_ptr((&raw mut pending).cast()) };
                    let woken = call(at, op | ROBUST_UNLOCK, count, 0, Some(list), bits);
                    assert_eq!((at.load(Ordering::SeqCst), pending), (0, 0));
                    woken
                };
                assert_eq!(unlock(1), Ok(0));
                at.store(tid(), Ordering::SeqCst);
                let here = [(); 3].map(|()| start(at, libc::FUTEX_WAIT, None));
                // A wait with the flag is in the kernel.
                let there = start(at, libc::FUTEX_WAIT | ROBUST_UNLOCK, None);
                assert_eq!(unlock(2), Ok(2));
                assert_eq!(there.join().unwrap(), Ok(0));
                assert_eq!(unlock(u32::MAX >> 1), Ok(2));
                for waiter in here {
                    assert_eq!(waiter.join().unwrap(), Ok(0));
                }
            });
        }
    }

    #[test]
    fn a_wake_finds_waits_with_a_new_flag() {
        bounded(move || {
            begin();
            let at = word();
            let there = start(at, libc::FUTEX_WAIT | ROBUST_UNLOCK, None);
            assert_eq!(wake(at, 2), Ok(1));
            assert_eq!(there.join().unwrap(), Ok(0));
        });
    }

    #[test]
    fn a_requeue_with_a_new_flag_moves_waiters_of_both() {
        for op in [libc::FUTEX_REQUEUE, libc::FUTEX_CMP_REQUEUE] {
            bounded(move || {
                begin();
                let (at, to) = (word(), word());
                let here = [(); 3].map(|()| start(at, libc::FUTEX_WAIT, None));
                let there = start(at, libc::FUTEX_WAIT | ROBUST_UNLOCK, None);
                let requeue =
                    |wake, relocate| call(at, op | ROBUST_UNLOCK, wake, relocate, Some(to), 0);
                // The kernel's waiter is woken, and one of ours moved; then one each of ours.
                assert_eq!(requeue(1, 1), Ok(2));
                assert_eq!(there.join().unwrap(), Ok(0));
                assert_eq!(wake(to, 9), Ok(1));
                assert_eq!(requeue(1, 9), Ok(2));
                assert_eq!(wake(at, 9), Ok(0));
                assert_eq!(wake(to, 9), Ok(1));
                for waiter in here {
                    assert_eq!(waiter.join().unwrap(), Ok(0));
                }
            });
        }
    }

    #[test]
    fn a_wake_op_with_a_new_flag_finds_waiters_of_both_words() {
        bounded(move || {
            begin();
            let (at, to) = (word(), word());
            let first = start(at, libc::FUTEX_WAIT, None);
            let second = start(to, libc::FUTEX_WAIT, None);
            // It adds 1, and wakes there if the word was 0.
            let add = 1 << 28 | 1 << 12;
            let op = libc::FUTEX_WAKE_OP | ROBUST_UNLOCK;
            assert_eq!(call(at, op, 1, 1, Some(to), add), Ok(2));
            assert_eq!(to.load(Ordering::SeqCst), 1);
            assert_eq!(first.join().unwrap(), Ok(0));
            assert_eq!(second.join().unwrap(), Ok(0));
        });
    }
}

/// A kernel that doesn't know a flag refuses the call, and no waiter is woken.
#[test]
fn a_flag_that_the_kernel_does_not_know_wakes_no_waiter() {
    bounded(move || {
        let at = word();
        let waiter = start(at, libc::FUTEX_WAIT, None);
        for op in [libc::FUTEX_WAKE, libc::FUTEX_WAKE_BITSET, libc::FUTEX_REQUEUE] {
            let unknown = 1 << 30;
            let answer = call(at, op | unknown, 1, 1, Some(word()), 1);
            let kernel = {
                let (at, to) = (word(), word());
                let op = op | unknown | PRIVATE;
                // SAFETY: words of this test.
                unsafe {
                    libc::syscall(libc::SYS_futex, at.as_ptr(), op, 1, null::<u8>(), to.as_ptr(), 1)
                }
            };
            assert_eq!(kernel, -1, "this kernel knows the flag");
            assert_eq!(answer, Err(std::io::Error::last_os_error().raw_os_error().unwrap()));
        }
        assert_eq!(wake(at, 9), Ok(1));
        assert_eq!(waiter.join().unwrap(), Ok(0));
    });
}
