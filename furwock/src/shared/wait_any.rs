//! `futex_waitv`: waiting on many words.

use super::error::Error;
use super::wait::{Waited, ended};
use super::word::Word;
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::sys::clock::Deadline;
use crate::sys::futex2::{self, Call, WAITV_MOST, Waitv};
use core::marker::PhantomData;

/// The most words that one [`wait_any`] takes.
pub const MOST_WORDS: usize = WAITV_MOST;

/// A word and the value that it is expected to hold.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Awaited<'word> {
    waitv: Waitv,
    word: PhantomData<&'word AtomicU32>,
}

impl<'word> Awaited<'word> {
    /// `word`, expected to hold `expected`.
    pub fn new<W: Word>(word: &'word W, expected: W::Value) -> Self {
        let target = word.target();
        target.settle();
        let waitv = Waitv::new(target.address(), W::bits(expected), target.flags());
        Self { waitv, word: PhantomData }
    }

    fn mismatches(&self) -> bool {
        let word = core::ptr::with_exposed_provenance_mut(self.waitv.uaddr as usize);
        // SAFETY: the address of a live atomic of 32 bits, borrowed for as long as `self` lives.
        let word = unsafe { AtomicU32::from_ptr(word) };
        u64::from(word.load(Ordering::SeqCst)) != self.waitv.val
    }
}

/// How a wait on several words ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitedAny {
    /// Woken on the word with this index. Others may have been woken as well, which isn't reported:
    /// look at all of them.
    Woken(usize),
    /// A word didn't hold its expected value; the call didn't wait.
    ///
    /// The kernel doesn't say which: this is the first word that differs when looked at once more,
    /// and `None` if by then all hold their expected values again.
    Mismatch(Option<usize>),
    /// The deadline passed first.
    TimedOut,
    /// A signal handler ran that was installed without `SA_RESTART`.
    Interrupted,
}

/// Waits until one of `words` is woken, if all hold their expected values.
///
/// The words are checked and queued for one after another, in order: a wake that follows a change
/// is not lost on any of them, but there needn't have been a time at which all held their values. A
/// wake may hit a word whose wait is about to end in a mismatch on a later one: then the call
/// returns `Woken`, never a mismatch that hides a wake. The kernel matches any bitset.
///
/// # Errors
/// `TooManyWords` above [`MOST_WORDS`], `NoWords` for none, `Unsupported` on kernels before 5.16,
/// `Os` with the kernel's errno.
pub fn wait_any(words: &[Awaited<'_>], deadline: Option<&Deadline>) -> Result<WaitedAny, Error> {
    if words.is_empty() {
        return Err(Error::NoWords);
    }
    if words.len() > MOST_WORDS {
        return Err(Error::TooManyWords { given: words.len(), most: MOST_WORDS });
    }
    // SAFETY: `Awaited` is a transparent `Waitv`.
    let vector = unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), words.len()) };
    let flags = words.iter().fold(0, |flags, word| flags | word.waitv.flags);
    // SAFETY: the words are borrowed meanwhile; those with a node own the memory of their node.
    let answer = unsafe { futex2::waitv(vector, deadline) };
    Ok(match ended(answer, Call::Waitv, flags)? {
        (Waited::Woken, index) => WaitedAny::Woken(index),
        (Waited::Mismatch, _) => WaitedAny::Mismatch(words.iter().position(Awaited::mismatches)),
        (Waited::TimedOut, _) => WaitedAny::TimedOut,
        (Waited::Interrupted, _) => WaitedAny::Interrupted,
    })
}
