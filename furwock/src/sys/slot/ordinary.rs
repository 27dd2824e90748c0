//! For Miri, the simulator and other processors: a thread-local of the language's.

#[cfg(not(any(loom, shuttle)))]
use super::PutOff;
use super::Slot;
use core::cell::Cell;
use core::sync::atomic::AtomicPtr;
#[cfg(simulated)]
use machine::thread_local;
#[cfg(not(simulated))]
use std::thread_local;

/// This thread's slot.
pub(crate) fn slot<'thread>() -> &'thread Slot {
    thread_local! {
        static SLOT: Slot = const {
            Slot {
                tid: Cell::new(0),
                claim: Cell::new(0),
                holding: Cell::new(0),
                reads: Cell::new(0),
                distrust: Cell::new(0),
                data: Cell::new(core::ptr::null()),
                on_release: Cell::new(None),
                deferred: AtomicPtr::new(core::ptr::null_mut()),
                row: Cell::new(core::ptr::null()),
                closed: Cell::new(0),
                has_signals: Cell::new(false),
                closed_at: Cell::new(0),
                #[cfg(not(any(loom, shuttle)))]
                signals: Cell::new(PutOff { mask: 0, blocked: 0 }),
                noted: Cell::new(0),
                refused: Cell::new(0),
            }
        };
    }
    // SAFETY: a const-initialised thread-local without a destructor lives as long as its thread.
    SLOT.with(|slot| unsafe { &*core::ptr::from_ref(slot) })
}
