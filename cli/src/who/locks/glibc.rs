//! glibc's objects around a futex word. What is read is believed only if it can be what it should.

use super::{EndsBy, Kind, Wait};
use crate::symbols::Stack;
use crate::who::process::Process;
use crate::who::process::memory::Memory;

const RECURSIVE_OR_CHECKED: u32 = 3;
const ROBUST: u32 = 16;
const INHERIT: u32 = 32;
const PROTECT: u32 = 64;
const SHARED: u32 = 128;
const ELISION: u32 = 256 | 512;

const WAITERS: u32 = 1 << 31;
const OWNER_DIED: u32 = 1 << 30;
const OWNER: u32 = OWNER_DIED - 1;

/// `pthread_mutex_t`.
struct Mutex {
    word: u32,
    owner: u32,
    users: u32,
    kind: u32,
}

impl Mutex {
    fn read(memory: Memory, at: u64) -> Option<Self> {
        let bytes: [u8; 24] = memory.bytes(at)?;
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
        let mutex = Self { word: word(0), owner: word(8), users: word(12), kind: word(16) };
        mutex.is_plausible().then_some(mutex)
    }

    fn is_plausible(&self) -> bool {
        let known = RECURSIVE_OR_CHECKED | ROBUST | INHERIT | PROTECT | SHARED | ELISION;
        let names_owner = self.kind & (ROBUST | INHERIT) != 0;
        let word = names_owner || self.kind & PROTECT != 0 || self.word <= 2;
        self.kind & !known == 0 && word && self.owner <= OWNER && self.users < 1 << 24
    }

    /// Its holder; 0 if it has none, or is just changing hands.
    fn holder(&self) -> u32 {
        if self.kind & (ROBUST | INHERIT) != 0 { self.word & OWNER } else { self.owner }
    }
}

/// The mutex whose word is at `at`.
pub fn mutex(memory: Memory, at: u64, is_private: bool) -> Option<Wait> {
    let mutex = Mutex::read(memory, at)?;
    // A robust mutex's wait is a shared one, whatever its kind says.
    let is_shared = mutex.kind & SHARED != 0 && !is_private;
    let holder = mutex.holder();
    let died = mutex.kind & (ROBUST | INHERIT) != 0 && mutex.word & OWNER_DIED != 0;
    let wait = match holder {
        _ if died => {
            Wait::new(Kind::Mutex, EndsBy::Outside).noting("its last holder died holding it")
        }
        0 if mutex.word == 0 || mutex.word == WAITERS => {
            Wait::new(Kind::Mutex, EndsBy::Outside).noting("it is free: about to be taken")
        }
        0 => Wait::new(Kind::Mutex, EndsBy::AnyThread).noting("it changes hands just now"),
        holder => Wait::new(Kind::Mutex, EndsBy::Holders(vec![holder])),
    };
    // Only these kinds compare the thread that unlocks them.
    let checks = mutex.kind & (ROBUST | INHERIT) != 0 || matches!(mutex.kind & 3, 1 | 2);
    Some(Wait { is_shared, any_may_unlock: !checks, ..wait.at(at) })
}

/// A mutex with priority inheritance, or a program's own such word: the kernel defines it.
pub fn pi_mutex(memory: Memory, at: u64, is_private: bool) -> Option<Wait> {
    let word = memory.u32(at)?;
    let wait = match word & OWNER {
        0 => Wait::new(Kind::Mutex, EndsBy::Outside),
        holder => Wait::new(Kind::Mutex, EndsBy::Holders(vec![holder])),
    };
    Some(Wait { is_shared: !is_private, ..wait.at(at) }.noting("with priority inheritance"))
}

/// A mutex with priority inheritance that the kernel refused to lock, since that would be a
/// deadlock, or its holder has ended: glibc then has the thread wait for ever, on a word of its
/// own stack.
pub fn refused_mutex(memory: Memory, stack: &Stack, frame: usize, own: u32) -> Option<Wait> {
    let is_it = |at: &u64| {
        let mutex = Mutex::read(memory, *at);
        at.is_multiple_of(4)
            && mutex.is_some_and(|mutex| mutex.kind & INHERIT != 0 && mutex.holder() != 0)
    };
    // The function itself keeps the address of the mutex's kind.
    const KIND: u64 = 16;
    let own_part = stack.frames.get(frame).map_or(&[][..], |frame| &frame.preserved);
    let by_kind = own_part.iter().filter_map(|at| at.checked_sub(KIND)).filter(|at| *at > 4096);
    let all = by_kind.chain(kept(memory, stack, frame));
    let mutexes: Vec<u64> = all.filter(is_it).collect();
    // The caller may keep the address of one that it holds.
    let anothers = |at: &&u64| memory.u32(**at).is_some_and(|word| word & OWNER != own);
    let wait = match mutexes.iter().find(anothers) {
        Some(at) => pi_mutex(memory, *at, true)?,
        None => Wait::new(Kind::Mutex, EndsBy::AnyThread),
    };
    Some(wait.noting("the kernel refused it as a deadlock, and glibc waits for ever"))
}

/// The condvar that has the word at `at`: where it begins depends on glibc's version, unless the
/// waiting function's stack says it.
pub fn condvar(memory: Memory, at: u64, is_private: bool, stack: &Stack, frame: usize) -> Wait {
    const WORDS_UNTIL_2_40: [u64; 2] = [40, 44];
    const WORDS_SINCE_2_41: [u64; 2] = [32, 36];
    let kept = kept(memory, stack, frame);
    let begins = WORDS_UNTIL_2_40.into_iter().chain(WORDS_SINCE_2_41);
    let mut begins = begins.filter_map(|offset| at.checked_sub(offset)).filter(|at| at % 8 == 0);
    let condvar = begins.find(|condvar| kept.contains(condvar));
    let by = if is_private { EndsBy::AnyThread } else { EndsBy::Outside };
    let mutexes = kept.iter().filter(|kept| Some(**kept) != condvar && *kept % 4 == 0);
    let mut mutexes: Vec<u64> = mutexes
        .copied()
        .filter(|at| condvar.is_none_or(|condvar| at.abs_diff(condvar) >= 40))
        .filter(|at| Mutex::read(memory, *at).is_some_and(|mutex| mutex.users != 0))
        .collect();
    mutexes.dedup();
    let wait = Wait { is_shared: !is_private, ..Wait::new(Kind::Condvar, by) };
    Wait { mutex: mutexes.first().copied(), ..wait.at(condvar.unwrap_or(at)) }
}

/// Addresses that the function and those that it called keep: its arguments are among them.
fn kept(memory: Memory, stack: &Stack, frame: usize) -> Vec<u64> {
    let Some(function) = stack.frames.get(frame) else { return Vec::new() };
    let (start, end) = function.stack;
    let length = usize::try_from(end.saturating_sub(start)).unwrap_or(0).min(1024) / 8 * 8;
    let words = memory.range(start, length).unwrap_or_default();
    let words = words.chunks_exact(8);
    let words = words.map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
    function.preserved.iter().copied().chain(words).filter(|word| *word > 4096).collect()
}

/// The rwlock that has the word at `at`: the third of its words, or the fourth.
pub fn rwlock(memory: Memory, at: u64, kind: Kind) -> Option<Wait> {
    let start = if at.is_multiple_of(8) { at.checked_sub(8)? } else { at.checked_sub(12)? };
    let bytes: [u8; 56] = memory.bytes(start)?;
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
    let (readers, writer, shared) = (word(0) >> 3, word(24), word(28));
    if shared > 1 || writer > OWNER {
        return None;
    }
    let by = if shared == 1 { EndsBy::Outside } else { EndsBy::AnyThread };
    let wait = match writer {
        0 if readers == 0 => Wait::new(kind, by),
        0 => {
            let plural = if readers == 1 { "reader" } else { "readers" };
            Wait::new(kind, by)
                .noting(format!("{readers} {plural}; glibc doesn't note which threads"))
        }
        writer => Wait::new(kind, EndsBy::Holders(vec![writer])),
    };
    Some(Wait { is_shared: shared == 1, any_may_unlock: true, ..wait.at(start) })
}

pub fn semaphore(memory: Memory, at: u64) -> Wait {
    let is_shared = memory.u32(at + 8).is_none_or(|private| private != 0);
    let by = if is_shared { EndsBy::Outside } else { EndsBy::AnyThread };
    Wait { is_shared, ..Wait::new(Kind::Semaphore, by).at(at) }
}

/// The barrier whose second word is at `at`.
pub fn barrier(memory: Memory, at: u64) -> Wait {
    let start = at.saturating_sub(4);
    let is_shared = memory.u32(start + 12).is_none_or(|shared| shared != 0);
    let by = if is_shared { EndsBy::Outside } else { EndsBy::AnyThread };
    let wait = Wait { is_shared, ..Wait::new(Kind::Barrier, by).at(start) };
    let count = memory.u32(start + 8).filter(|count| (1..1 << 20).contains(count));
    count.map_or(wait.clone(), |count| wait.noting(format!("{count} threads have to meet")))
}

/// The thread whose id the kernel clears at its end.
pub fn join(process: &Process, at: u64) -> Option<Wait> {
    let joined = process.memory.u32(at)?;
    let is_there = process.outer(joined).is_some_and(|tid| process.task(tid).is_some());
    is_there.then(|| Wait::new(Kind::Join, EndsBy::Holders(vec![joined])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_cannot_be_a_mutexs_isnt_believed() {
        let mutex = |word, owner, kind| Mutex { word, owner, users: 1, kind };
        assert!(mutex(2, 4711, 0).is_plausible() && mutex(1, 4711, 1).is_plausible());
        assert!(mutex(WAITERS | 4711, 0, ROBUST | SHARED).is_plausible());
        assert!(!mutex(3, 4711, 0).is_plausible(), "a normal mutex's word is 0, 1 or 2");
        assert!(!mutex(2, 4711, 1 << 12).is_plausible(), "no such kind");
        assert!(!mutex(2, u32::MAX, 0).is_plausible(), "no thread has that id");
        assert_eq!(mutex(WAITERS | 4711, 1, INHERIT).holder(), 4711);
        assert_eq!(mutex(2, 4712, 0).holder(), 4712);
    }
}
