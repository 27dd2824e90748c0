//! Something that is called once, in one word.
//!
//! | word | meaning | set by |
//! |---|---|---|
//! | `NEW`, 0 | not called yet; of a pthread control: or the call was cut short | its maker, `end` |
//! | generation + `CALLING`, 1 | a thread of this generation of the process is calling | the caller, from `NEW`, `POISONED` or another generation's `CALLING` |
//! | `DONE`, 2 | called, for good | the caller |
//! | `POISONED`, 4 | the call was cut short | the caller |
//!
//! The generation is a multiple of 4 that grows with each fork. A call that was running in the
//! parent, in a thread that the child doesn't have, counts there as one that was cut short. A call
//! that the forking thread itself was in goes on in the child: the child's fork handler finds it in
//! a list that each thread keeps of the calls that it is in, and gives it the new generation.
//!
//! glibc's controls have the same words but `POISONED`, which none of them holds.
//!
//! What the caller did is visible to all that find `DONE`: `end` releases, each look acquires
//! (ORDERING.md, ON-1). Waiting is the futex protocol on the word (O-1). `end` touches the word in
//! one step and needs its address only from then on: a thread that finds `DONE` may free it.

use crate::futex;
use crate::lot;
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::const_unless_model;
use crate::prim::mutant::{self, Mutant};
use crate::sys::fork;
use running::Running;

const NEW: u32 = 0;
const CALLING: u32 = 1;
const DONE: u32 = 2;
const POISONED: u32 = 4;
const GENERATION: u32 = 4;

/// Calls something once, and lets other threads wait until that is done.
///
/// Zero is one that hasn't been called. It may be moved and freed as soon as no thread is in one of
/// its functions, also while the call that completed it hasn't returned yet.
#[derive(Debug)]
#[repr(transparent)]
pub struct RawOnce {
    word: AtomicU32,
}

/// How far a [`RawOnce`], or a [`Once`](crate::Once), has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnceState {
    /// No call has begun.
    New,
    /// A call was cut short by a panic, and no other has begun since. In a forked child also: by
    /// the fork, because the thread that was calling is the parent's.
    Poisoned,
    /// A thread is calling.
    InProgress,
    /// A call has returned.
    Done,
}

impl OnceState {
    /// Whether the last call was cut short.
    #[must_use]
    #[inline]
    pub const fn is_poisoned(&self) -> bool {
        matches!(self, OnceState::Poisoned)
    }

    /// Whether a call has returned.
    #[must_use]
    #[inline]
    pub const fn is_done(&self) -> bool {
        matches!(self, OnceState::Done)
    }
}

/// What a call does if the last one was cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfPoisoned {
    /// It calls anew.
    Call,
    /// It panics.
    Panic,
}

/// What `word` means in this process.
fn state(word: u32) -> OnceState {
    if word & DONE != 0 {
        OnceState::Done
    } else if word & CALLING == 0 {
        if word == NEW { OnceState::New } else { OnceState::Poisoned }
    } else if word == calling() {
        OnceState::InProgress
    } else {
        OnceState::Poisoned
    }
}

/// The word of a call that begins now. (The number of forks is far below 2^30.)
fn calling() -> u32 {
    fork::generation().wrapping_mul(GENERATION) | CALLING
}

impl RawOnce {
    const_unless_model! {
        /// One that hasn't been called.
        pub fn new() -> Self {
            Self { word: AtomicU32::new(NEW) }
        }

        /// One that has been called already.
        pub fn done() -> Self {
            Self { word: AtomicU32::new(DONE) }
        }
    }

    /// Whether a call has returned. Acquire: then what that call did is visible.
    #[inline(always)]
    pub fn is_done(&self) -> bool {
        self.word.load(Ordering::Acquire) & DONE != 0
    }

    /// How far it has come. Acquire.
    pub fn state(&self) -> OnceState {
        state(self.word.load(Ordering::Acquire))
    }

    /// Calls `routine`, unless a call has returned or returns while this one waits for it. What a
    /// call did is visible once this returns.
    ///
    /// `routine` gets `New` or `Poisoned`, whichever the state was, and returns whether the call
    /// counts: if it returns false, and if it panics, the state is `Poisoned` afterwards.
    ///
    /// # Panics
    /// If the last call was cut short and `poisoned` says so; if it is called by its own routine,
    /// which it would wait for without end; and as `routine` does.
    #[cold]
    pub fn call(&self, poisoned: IfPoisoned, routine: &mut dyn FnMut(OnceState) -> bool) {
        running::prepare();
        let objects = |found| match (found, poisoned) {
            (OnceState::Poisoned, IfPoisoned::Panic) => panic_poisoned(),
            (OnceState::InProgress, _) => running::assert_not_in(&self.word),
            _ => {}
        };
        let Some(from) = self.begin(objects) else {
            return;
        };
        let mut cut = CutShort { once: self, completed: false };
        let running = Running::new(&self.word);
        let _listed = running.enlist();
        cut.completed = routine(from);
    }

    /// Waits until a call has returned. Acquire.
    ///
    /// # Panics
    /// If a call was cut short and `poisoned` says so.
    #[cold]
    pub fn wait(&self, poisoned: IfPoisoned) {
        loop {
            let seen = self.word.load(Ordering::Acquire);
            match state(seen) {
                OnceState::Done => return,
                OnceState::Poisoned if poisoned == IfPoisoned::Panic => panic_poisoned(),
                _ => _ = futex::wait(&self.word, seen, None),
            }
        }
    }

    /// Makes the calling thread the one that calls, and returns the state that it found; or waits
    /// until a call has returned. Each state that it finds `objects` may panic about.
    fn begin(&self, objects: impl Fn(OnceState)) -> Option<OnceState> {
        loop {
            let seen = self.word.load(Ordering::Acquire);
            let from = state(seen);
            objects(from);
            match from {
                OnceState::Done => return None,
                OnceState::InProgress => _ = futex::wait(&self.word, seen, None),
                OnceState::New | OnceState::Poisoned => {
                    let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
                    if self.word.compare_exchange(seen, calling(), success, failure).is_ok() {
                        return Some(from);
                    }
                }
            }
        }
    }

    /// Ends the caller's call, which leaves `word`.
    fn end(&self, word: u32) {
        let publish =
            if mutant::active(Mutant::OnceRelaxed) { Ordering::Relaxed } else { Ordering::Release };
        let address = core::ptr::from_ref(&self.word).cast::<()>();
        self.word.store(word, publish);
        // It may be gone.
        if !mutant::active(Mutant::OnceWithoutWake) {
            futex::wake_address(address, usize::MAX, lot::ANY);
        }
    }
}

impl Default for RawOnce {
    fn default() -> Self {
        Self::new()
    }
}

/// Ends a call, however its routine is left.
struct CutShort<'o> {
    once: &'o RawOnce,
    completed: bool,
}

impl Drop for CutShort<'_> {
    fn drop(&mut self) {
        self.once.end(if self.completed { DONE } else { POISONED });
    }
}

#[cold]
#[inline(never)]
fn panic_poisoned() -> ! {
    panic!("Once instance has previously been poisoned")
}

/// The calls that each thread is in.
#[cfg(not(any(loom, shuttle)))]
mod running {
    use super::{AtomicU32, Ordering, calling, fork};
    use core::cell::Cell;
    use core::ptr;
    use core::sync::atomic::compiler_fence;
    #[cfg(simulated)]
    use machine::thread_local;
    #[cfg(not(simulated))]
    use std::thread_local;

    thread_local! {
        /// The innermost.
        static INNERMOST: Cell<*const Running> = const { Cell::new(ptr::null()) };
    }

    /// A call that its thread is in, in the frame that makes it.
    pub(super) struct Running {
        word: *const AtomicU32,
        /// The one that it was made in.
        outer: Cell<*const Running>,
    }

    /// Takes the innermost call off the list.
    pub(super) struct Listed<'r>(&'r Running);

    impl Running {
        pub(super) fn new(word: &AtomicU32) -> Self {
            Self { word, outer: Cell::new(ptr::null()) }
        }

        pub(super) fn enlist(&self) -> Listed<'_> {
            self.outer.set(INNERMOST.with(Cell::get));
            // A signal handler may fork.
            compiler_fence(Ordering::SeqCst);
            INNERMOST.with(|innermost| innermost.set(self));
            Listed(self)
        }
    }

    impl Drop for Listed<'_> {
        fn drop(&mut self) {
            INNERMOST.with(|innermost| innermost.set(self.0.outer.get()));
            compiler_fence(Ordering::SeqCst);
        }
    }

    fn for_each(mut f: impl FnMut(*const AtomicU32)) {
        let mut at = INNERMOST.with(Cell::get);
        // SAFETY: listed calls are in frames of this thread that haven't been left.
        while let Some(running) = unsafe { at.as_ref() } {
            f(running.word);
            at = running.outer.get();
        }
    }

    /// Before a call: a child has to be told which calls it is in.
    pub(super) fn prepare() {
        static HOOK: fork::Hook = fork::Hook(|_| {
            // SAFETY: a listed call borrows its word.
            for_each(|word| unsafe { &*word }.store(calling(), Ordering::Relaxed));
        });
        fork::on_child(&HOOK);
        fork::watch();
    }

    pub(super) fn assert_not_in(word: &AtomicU32) {
        let mut is_in = false;
        for_each(|listed| is_in |= ptr::eq(listed, word));
        assert!(!is_in, "a Once is called by what it calls");
    }
}

/// Models don't fork, and their routines don't call them.
#[cfg(any(loom, shuttle))]
mod running {
    use super::AtomicU32;

    pub(super) struct Running;

    impl Running {
        pub(super) fn new(_word: &AtomicU32) -> Self {
            Self
        }

        pub(super) fn enlist(&self) {}
    }

    pub(super) fn prepare() {}

    pub(super) fn assert_not_in(_word: &AtomicU32) {}
}

/// What the preload needs for `pthread_once`, whose routines may be left by a jump or a
/// cancellation. Unstable.
pub mod unstable {
    use super::{DONE, NEW, RawOnce};

    /// Whether the caller is to call the routine, and to [`end`] the call; otherwise a call has
    /// returned. A call that was cut short counts as none. In a forked child so does one that was
    /// running in the parent.
    ///
    /// The process has called [`prepare`](crate::lock::prepare) before, so that children are told
    /// from their parents.
    #[must_use]
    pub fn begin(once: &RawOnce) -> bool {
        once.begin(|_| {}).is_some()
    }

    /// Ends the caller's call, which has `returned` or was left.
    pub fn end(once: &RawOnce, returned: bool) {
        once.end(if returned { DONE } else { NEW });
    }
}
