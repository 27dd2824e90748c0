//! Whether the thread that holds a lock runs, by the processor time that it uses.
//!
//! A holder that sleeps, or has lost its processor, won't release the lock soon, and a thread that
//! spins for it burns a processor. The kernel says how much time any thread of the process has
//! used, to the nanosecond: that of a thread that runs grows, and that of another stands still. So
//! a spinner that has waited for a while asks for the holder's, and asks again when it has waited
//! for twice as long. A question is a system call, 0.2 us, and takes the holder's run queue's lock
//! for a moment. (A holder that was interrupted for all of the time in between seems to be off,
//! too.)

use crate::sys::processor_time::{is_exact, time_of_ns};

/// What one spell of spinning has learnt of the holder.
#[derive(Debug, Default)]
pub(super) struct Holder {
    tid: u32,
    used_ns: u64,
    /// When the spell began, and when to ask.
    began_ns: u64,
    next_ns: u64,
}

impl Holder {
    /// Of a spell that begins at `now_ns` and asks first after `after_ns`.
    pub(super) fn since(now_ns: u64, after_ns: u64) -> Self {
        Self { began_ns: now_ns, next_ns: now_ns.saturating_add(after_ns), ..Self::default() }
    }

    /// Whether thread `tid`, which has held the lock since the spell began, as far as is known, has
    /// had no processor since the last question, if it is time for one. (It may have just been
    /// given one.)
    pub(super) fn is_off(&mut self, tid: u32, now_ns: u64) -> bool {
        if now_ns < self.next_ns {
            return false;
        }
        self.next_ns = now_ns.saturating_add(now_ns.saturating_sub(self.began_ns));
        // (A task holds it, or it isn't known who does.)
        let Some(used_ns) = time_of_ns(tid) else { return false };
        let is_off = self.tid == tid && self.used_ns == used_ns && is_exact();
        (self.tid, self.used_ns) = (tid, used_ns);
        is_off
    }
}

/// Calls `test` with the id of a thread that sleeps, or is about to.
#[cfg(all(test, not(any(loom, shuttle, miri, simulated))))]
pub(super) fn beside_a_sleeper(test: impl FnOnce(u32)) {
    use std::sync::mpsc::channel;
    let ((says, hears), (end, ended)) = (channel(), channel::<()>());
    let sleeper = std::thread::spawn(move || {
        says.send(crate::lot::tid()).unwrap();
        _ = ended.recv();
    });
    test(hears.recv().unwrap());
    drop(end);
    sleeper.join().unwrap();
}

#[cfg(all(test, not(any(loom, shuttle, miri, simulated))))]
mod tests {
    use super::*;
    use crate::lot;
    use std::thread;
    use std::time::{Duration, Instant};

    /// Whether `tid` is off its processor at the second question.
    fn is_off(tid: u32) -> bool {
        let mut holder = Holder::since(10, 5);
        assert!(!holder.is_off(tid, 14), "it isn't time yet");
        assert!(!holder.is_off(tid, 15), "it is the first question");
        assert!(!holder.is_off(tid, 19), "it isn't time again");
        holder.is_off(tid, 20)
    }

    #[test]
    fn a_thread_that_runs_is_on() {
        assert!(!is_off(lot::tid()));
    }

    #[test]
    fn a_thread_that_sleeps_is_off() {
        beside_a_sleeper(|tid| {
            let began = Instant::now();
            while !is_off(tid) {
                assert!(began.elapsed() < Duration::from_secs(20));
                thread::yield_now();
            }
        });
    }

    #[test]
    fn of_others_nothing_is_known() {
        assert!(!is_off(0), "it would be the caller's clock");
        assert!(!is_off(crate::lock::TASK));
    }

    #[test]
    fn another_holder_is_another_question() {
        beside_a_sleeper(|tid| {
            let mut holder = Holder::since(0, 1);
            assert!(!holder.is_off(lot::tid(), 1));
            assert!(!holder.is_off(tid, 2));
        });
    }
}
