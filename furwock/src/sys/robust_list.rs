//! The kernel's robust list: the locks that a thread holds, which the kernel marks when the thread
//! dies.
//!
//! A thread has one list, whose head glibc registered when the thread started. Its entries and
//! glibc's robust mutexes are therefore links of the same chain, in any order, and each side links
//! and unlinks beside the other's entries. What both must agree on, on 64-bit machines:
//!
//! | where | what | read by |
//! |---|---|---|
//! | link - 32 | the lock's word: owner's thread id, WAITERS, OWNER_DIED | kernel, all users |
//! | link - 8 | address of the link before this one; of the head's link if it is the first | glibc, this file |
//! | link | address of the next link, the head's at the end; bit 0: the next one is a PI lock | kernel, glibc, this file |
//!
//! The head is a link too: glibc keeps a word for its `prev` 8 bytes before it, which may be
//! written like any other's. The kernel follows the forward links only, so that these have to be in
//! order at every instruction; it stops after 2048 entries.
//!
//! A lock's word and its link can't change together. `begin` therefore tells the kernel of the one
//! entry that the thread is about to take or to release (`list_op_pending`), until `end`.

use super::unsupported::Unsupported;
use core::sync::atomic::AtomicUsize;

/// An entry's place in the list of the thread that holds it. The lock's word lies at
/// [`WORD_TO_NEXT`] bytes before `next`.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Links {
    prev: AtomicUsize,
    next: AtomicUsize,
}

impl Links {
    pub(crate) const fn new() -> Self {
        Self { prev: AtomicUsize::new(0), next: AtomicUsize::new(0) }
    }
}

/// The distance that glibc registers, negated.
pub(crate) const WORD_TO_NEXT: usize = 32;
/// Where `next` stands in [`Links`].
pub(crate) const PREV_TO_NEXT: usize = core::mem::offset_of!(Links, next);

#[cfg(not(any(loom, shuttle)))]
pub(crate) use native::{List, own};

#[cfg(any(loom, shuttle))]
pub(crate) use model::{List, own};

#[cfg(not(any(loom, shuttle)))]
mod native {
    use super::super::robust_unlock;
    use super::super::syscall::syscall;
    use super::{AtomicUsize, Links, PREV_TO_NEXT, Unsupported, WORD_TO_NEXT};
    use core::cell::Cell;
    use core::sync::atomic::{AtomicIsize, AtomicU32, Ordering, compiler_fence};

    /// The part that the kernel knows.
    #[repr(C)]
    struct Head {
        next: AtomicUsize,
        futex_offset: AtomicIsize,
        pending: AtomicUsize,
    }

    /// Bit 0 of a link.
    const PI: usize = 1;

    /// The calling thread's list. Not `Send`: a thread must not touch another's list.
    #[derive(Clone, Copy)]
    pub(crate) struct List {
        head: *const Head,
    }

    std::thread_local! {
        /// The list's owner, too: the thread of a forked child has another id, and asks again.
        static OWN: Cell<(u32, *const Head)> = const { Cell::new((0, core::ptr::null())) };
    }

    /// The list of the calling thread, whose id is `tid`.
    #[inline]
    pub(crate) fn own(tid: u32) -> Result<List, Unsupported> {
        let (owner, head) = OWN.get();
        if owner == tid { Ok(List { head }) } else { find(tid) }
    }

    #[cold]
    fn find(tid: u32) -> Result<List, Unsupported> {
        let mut head: usize = 0;
        let mut size: usize = 0;
        let arguments = [
            0,
            core::ptr::from_mut(&mut head).expose_provenance(),
            core::ptr::from_mut(&mut size).expose_provenance(),
            0,
            0,
            0,
        ];
        // SAFETY: writes two words, both live.
        unsafe { syscall(libc::SYS_get_robust_list, arguments) }
            .map_err(|_| Unsupported { call: "get_robust_list", since: "Linux 2.6.17" })?;
        if head == 0 {
            return Err(Unsupported {
                call: "robust list registered by the C library",
                since: "glibc 2.4",
            });
        }
        let head: *const Head = core::ptr::with_exposed_provenance(head);
        // SAFETY: the kernel was given this address by the thread's own C library, for as long as
        // the thread lives, and the size says that it is a head.
        let fits = cfg!(target_pointer_width = "64")
            && size == size_of::<Head>()
            && unsafe { &*head }.futex_offset.load(Ordering::Relaxed) == -(WORD_TO_NEXT as isize);
        if !fits {
            return Err(Unsupported {
                call: "robust list in the layout of 64-bit glibc",
                since: "glibc 2.4",
            });
        }
        robust_unlock::look();
        OWN.set((tid, head));
        Ok(List { head })
    }

    /// The `prev` of the entry, or head, with this link.
    ///
    /// # Safety
    /// `link` is a link of the calling thread's list.
    unsafe fn prev_of<'list>(link: usize) -> &'list AtomicUsize {
        // SAFETY: by the contract; every link has its prev before it (the table above).
        unsafe { &*core::ptr::with_exposed_provenance((link & !PI) - PREV_TO_NEXT) }
    }

    /// What a link points from.
    ///
    /// # Safety
    /// `link` is a link of the calling thread's list.
    unsafe fn next_of<'list>(link: usize) -> &'list AtomicUsize {
        // SAFETY: by the contract.
        unsafe { &*core::ptr::with_exposed_provenance(link & !PI) }
    }

    fn address(links: &Links) -> usize {
        // With the provenance of both words: neighbours write `prev` through it.
        core::ptr::from_ref(links).expose_provenance() + PREV_TO_NEXT
    }

    impl List {
        #[inline]
        fn head(&self) -> &Head {
            // SAFETY: the head lives as long as its thread, which is the caller's.
            unsafe { &*self.head }
        }

        /// From here on the kernel looks at this entry's word, should the thread die: if it names
        /// the thread, the lock is marked; if it is 0, one waiter is woken.
        #[inline]
        pub(crate) fn begin(self, links: &Links) {
            self.head().pending.store(address(links), Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
        }

        /// Ends what `begin` began.
        #[inline]
        pub(crate) fn end(self) {
            compiler_fence(Ordering::SeqCst);
            self.head().pending.store(0, Ordering::Relaxed);
        }

        /// Releases a word that holds `tid` and nothing else, and ends what `begin` began; or says
        /// what it holds. Nothing happens between the two steps if the kernel sees to that
        /// (`robust_unlock`).
        #[inline]
        pub(crate) fn unlock(self, word: &AtomicU32, tid: u32) -> Result<(), u32> {
            if let Some(result) = robust_unlock::try_unlock(word, tid, &self.head().pending) {
                return result;
            }
            word.compare_exchange(tid, 0, Ordering::Release, Ordering::Relaxed)?;
            self.end();
            Ok(())
        }

        /// Releases the word, wakes one waiter, and ends what `begin` began, in one step that a
        /// kill can't cut: `true`. Or does nothing, because only newer kernels can.
        pub(crate) fn unlock_and_wake(self, word: &AtomicU32) -> bool {
            robust_unlock::unlock_and_wake(word, &self.head().pending)
        }

        /// Puts an entry in front.
        ///
        /// # Safety
        /// The thread has just taken the entry's lock, under `begin`, and the entry stays where it
        /// is, mapped, until it is unlinked.
        #[inline]
        pub(crate) unsafe fn link(self, links: &Links) {
            let head = &self.head().next;
            let first = head.load(Ordering::Relaxed);
            let entry = address(links);
            // SAFETY: the head points to a link of this list, or to itself.
            unsafe { prev_of(first) }.store(entry, Ordering::Relaxed);
            links.next.store(first, Ordering::Relaxed);
            links.prev.store(self.head.expose_provenance(), Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
            head.store(entry, Ordering::Relaxed);
        }

        /// Takes an entry out.
        ///
        /// # Safety
        /// The calling thread has linked it, and not unlinked it since.
        #[inline]
        pub(crate) unsafe fn unlink(self, links: &Links) {
            let next = links.next.load(Ordering::Relaxed);
            let prev = links.prev.load(Ordering::Relaxed);
            // SAFETY: the neighbours of an entry in this list are in this list.
            unsafe { prev_of(next) }.store(prev, Ordering::Relaxed);
            // SAFETY: the same.
            unsafe { next_of(prev) }.store(next, Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
        }

        /// Whether an entry is in the list, by a walk: its word alone may still name an earlier
        /// thread with the same id, which the kernel hasn't marked. Entries that the list leads
        /// through are only read.
        pub(crate) fn contains(self, links: &Links) -> bool {
            let head = self.head.expose_provenance();
            let entry = address(links);
            let mut link = self.head().next.load(Ordering::Relaxed) & !PI;
            while link != head && link != entry {
                // SAFETY: reached from the head.
                link = unsafe { next_of(link) }.load(Ordering::Relaxed) & !PI;
            }
            link == entry
        }
    }
}

/// No thread dies in a model, unless the model plays the kernel's part itself.
#[cfg(any(loom, shuttle))]
mod model {
    use super::{Links, Unsupported};

    #[derive(Clone, Copy)]
    pub(crate) struct List;

    pub(crate) fn own(_tid: u32) -> Result<List, Unsupported> {
        Ok(List)
    }

    impl List {
        pub(crate) fn begin(self, _links: &Links) {}
        pub(crate) fn end(self) {}

        /// # Safety
        /// None needed.
        pub(crate) unsafe fn link(self, _links: &Links) {}

        /// # Safety
        /// None needed.
        pub(crate) unsafe fn unlink(self, _links: &Links) {}
    }
}
