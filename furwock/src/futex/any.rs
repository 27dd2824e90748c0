//! Waiting on many words at once (`futex_waitv`, without its cap).

use super::Word;
use super::word::sealed::Bits;
use crate::lot::{AnyEnded, Group, Key, Until, may_not_lock};
use crate::sys::clock::Deadline;
use crate::sys::thread::nap;

/// A word and the value that it is expected to hold.
#[derive(Clone, Copy)]
pub struct Expected<'w> {
    word: &'w dyn Bits,
    value: u64,
}

impl<'w> Expected<'w> {
    /// `word`, expected to hold `value`.
    pub fn new<W: Word>(word: &'w W, value: W::Value) -> Self {
        Self { word, value: W::to_bits(value) }
    }

    /// What its waiters queue at.
    pub(super) fn key(&self) -> Key {
        self.word.key()
    }

    /// Sets the value of `word`, which is this one, registered as number `index`.
    pub(super) fn expect<W: Word>(&mut self, index: usize, word: &'w W, value: W::Value) {
        assert_eq!(word.key(), self.key(), "not the word registered as number {index}");
        self.value = W::to_bits(value);
    }

    /// Whether the word holds the value. Read with `SeqCst`.
    #[inline]
    fn holds(&self) -> bool {
        self.word.bits() == self.value
    }
}

impl core::fmt::Debug for Expected<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut debug = f.debug_struct("Expected");
        debug.field("word", &self.word.key());
        debug.field("value", &format_args!("{:#x}", self.value)).finish()
    }
}

/// How a wait on many words ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyWaited {
    /// Woken at the word with this index. Rarely, when the kernel has no memory for the waiter's
    /// nodes, the wakeup is spurious.
    Woken(usize),
    /// The word with this index, the first such, didn't hold its value; the call didn't wait.
    Mismatch(usize),
    /// The deadline passed first.
    TimedOut,
}

/// Waits until woken at any of `words`, if all of them hold their values.
///
/// A wait takes only one wake: a second `wake`, at another of the words, goes on to the next waiter
/// there, as if this one had left. Values are first checked without a lock, then each again under
/// its bucket's lock as the wait is queued there; otherwise as [`wait`](super::wait). There may be
/// any number of words, of different widths, and the same word twice. With no words at all, waits
/// for the deadline.
///
/// Costs two short locks a word. For repeated waits on the same words, use a [`Registration`].
pub fn wait_any(words: &[Expected<'_>], deadline: Option<&Deadline>) -> AnyWaited {
    if let Err(index) = look(words) {
        return AnyWaited::Mismatch(index);
    }
    let keys = words.iter().map(|expected| expected.word.key());
    let look = |index: usize| if words[index].holds() { Ok(()) } else { Err(index) };
    let until = Until { deadline, ..Until::default() };
    if may_not_lock() {
        return cannot_queue(deadline);
    }
    Group::once(keys, look, false, until).map_or_else(|| cannot_queue(deadline), ended)
}

/// Words for repeated waits: queued once, and left in the queues between waits.
///
/// A wait then costs a store, a fence, and a load for each word, which makes thousands of words
/// cheap. In return, while no thread waits in a registration, every other wake and wait at its
/// words has to step over its place in the queue.
///
/// A wake that comes between two waits finds no waiter. Nothing is lost if wakers change the word
/// first, as they must: the next wait sees the change as a mismatch.
///
/// A woken registration goes to the end of that word's queue.
pub struct Registration<'w> {
    words: Vec<Expected<'w>>,
    /// `None` when the kernel had no memory, and before the first wait.
    group: Option<Group>,
}

impl<'w> Registration<'w> {
    /// Registers `words` with the values that they should hold in the first wait.
    pub fn new(words: Vec<Expected<'w>>) -> Self {
        let mut registration = Self { words, group: None };
        registration.register();
        registration
    }

    /// Sets the value that the word with this index should hold in later waits.
    ///
    /// # Panics
    /// If there is no such word, or if `word` isn't the one that was registered with this index.
    pub fn expect<W: Word>(&mut self, index: usize, word: &'w W, value: W::Value) {
        self.words[index].expect(index, word, value);
    }

    pub(super) fn into_words(self) -> Vec<Expected<'w>> {
        self.words
    }

    /// The words, with their expected values.
    pub fn words(&self) -> &[Expected<'w>] {
        &self.words
    }

    /// As [`wait_any`].
    pub fn wait(&mut self, deadline: Option<&Deadline>) -> AnyWaited {
        if self.group.as_ref().is_none_or(|group| !group.is_in_place()) {
            self.register();
        }
        let Some(group) = &mut self.group else {
            return look(&self.words).map_or_else(AnyWaited::Mismatch, |()| cannot_queue(deadline));
        };
        let words = &self.words;
        ended(group.wait(|| look(words), Until { deadline, ..Until::default() }))
    }

    #[cold]
    fn register(&mut self) {
        // The old one leaves first, so that its nodes can be reused.
        self.group = None;
        if !may_not_lock() {
            self.group = Group::register(self.words.iter().map(|expected| expected.word.key()));
        }
    }
}

impl core::fmt::Debug for Registration<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Registration").field("words", &self.words).finish_non_exhaustive()
    }
}

/// The first that doesn't hold its value.
pub(super) fn look(words: &[Expected<'_>]) -> Result<(), usize> {
    words.iter().position(|expected| !expected.holds()).map_or(Ok(()), Err)
}

fn ended(how: AnyEnded<usize>) -> AnyWaited {
    match how {
        AnyEnded::Chosen(index) => AnyWaited::Woken(index),
        AnyEnded::Refused(index) => AnyWaited::Mismatch(index),
        AnyEnded::TimedOut | AnyEnded::Signalled => AnyWaited::TimedOut,
    }
}

#[cold]
fn cannot_queue(deadline: Option<&Deadline>) -> AnyWaited {
    nap();
    let passed = deadline.is_some_and(Deadline::has_passed);
    if passed { AnyWaited::TimedOut } else { AnyWaited::Woken(0) }
}
