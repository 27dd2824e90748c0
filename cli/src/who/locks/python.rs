//! CPython's global interpreter lock: a condvar that a thread waits for in steps of 5 ms, and
//! beside it the state of the thread that has the lock.

use super::{EndsBy, Kind, Wait};
use crate::symbols::Stack;
use crate::who::process::Process;
use crate::who::process::memory::Memory;

/// Functions that wait for it; the first is a local one, which a stripped library doesn't name.
const WAITERS: [&str; 6] = [
    "take_gil",
    "PyEval_RestoreThread",
    "PyEval_AcquireThread",
    "PyGILState_Ensure",
    "_PyThreadState_Attach",
    "_PyEval_EvalFrameDefault",
];
/// They are as near as this to the condvar's function.
const NEAR: usize = 4;

/// From the interval at the start of the lock to its mutex, in CPython 3.2 and later.
const LAST_HOLDER: usize = 8;
const LOCKED: usize = 16;
const COND: usize = 32;
const MUTEX: usize = COND + 48;
/// Thread states begin with what is looked for here.
const OF_A_STATE: usize = 512;

/// The lock, if the thread waits for it in the condvar at `cond`.
pub fn gil(process: &Process, stack: &Stack, cond: u64, frame: usize) -> Option<Wait> {
    let near = stack.frames.iter().skip(frame).take(NEAR).flat_map(|frame| frame.places.iter());
    if !near.clone().any(|place| WAITERS.contains(&place.function.as_str())) {
        return None;
    }
    let memory = process.memory;
    let start = cond.checked_sub(COND as u64)?;
    let state: [u8; MUTEX + 4] = memory.bytes(start)?;
    let word = |at: usize| u64::from_ne_bytes(state[at..at + 8].try_into().unwrap_or_default());
    let half = |at: usize| u32::from_ne_bytes(state[at..at + 4].try_into().unwrap_or_default());
    let (interval, locked) = (word(0), half(LOCKED));
    if !(1..=100_000_000).contains(&interval) || locked > 1 {
        return None;
    }
    let wait = |by| Wait { is_polled: true, ..Wait::new(Kind::Gil, by).at(start) };
    if locked == 0 || half(MUTEX) != 0 {
        return Some(wait(EndsBy::AnyThread).noting("it changes hands just now"));
    }
    Some(match thread_of(process, memory, word(LAST_HOLDER)) {
        Some(holder) => wait(EndsBy::Holders(vec![holder])),
        None => wait(EndsBy::AnyThread).noting("which thread has it can't be read"),
    })
}

/// The thread that a thread state is of: it has the thread's `pthread_t`, and from 3.11 on its id
/// behind that.
fn thread_of(process: &Process, memory: Memory, state: u64) -> Option<u32> {
    let words = memory.range(state, OF_A_STATE)?;
    let words: Vec<u64> = words
        .chunks_exact(8)
        .map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()))
        .collect();
    let is_its = |id: u32| process.outer(id).is_some_and(|tid| process.task(tid).is_some());
    words.iter().enumerate().find_map(|(at, word)| {
        if *word < 4096 || word % 8 != 0 {
            return None;
        }
        let id = memory.u32(word.wrapping_add(glibc::TID)).filter(|id| is_its(*id))?;
        let follows = words.get(at + 1) == Some(&u64::from(id));
        (follows || glibc::is_a_thread(memory, *word)).then_some(id)
    })
}

/// What `pthread_t` points to.
mod glibc {
    use super::Memory;

    #[cfg(target_arch = "x86_64")]
    pub const TID: u64 = 0x2d0;
    #[cfg(not(target_arch = "x86_64"))]
    pub const TID: u64 = 0xd0;

    /// On x86-64 a thread's block has its own address at two places.
    pub fn is_a_thread(memory: Memory, at: u64) -> bool {
        cfg!(target_arch = "x86_64")
            && memory.u64(at) == Some(at)
            && memory.u64(at + 16) == Some(at)
    }
}
