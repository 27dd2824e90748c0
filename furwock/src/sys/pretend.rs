//! What a model says of processes and threads in Linux's place: models can't fork, and their threads
//! aren't Linux's.

use std::cell::{Cell, RefCell};

std::thread_local! {
    /// Whether the model's threads are those of a forked child.
    pub(crate) static CHILD: Cell<bool> = const { Cell::new(false) };

    /// Ids of model threads that have died.
    pub(crate) static DEAD: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

/// The id of a thread that only the parent has.
pub(crate) const PARENTS_THREAD: u32 = 4_000_000;

/// Whether thread `tid` is one of this process's; `None` where Linux may be asked.
pub(super) fn is_ours(tid: u32) -> Option<bool> {
    let is_models = if cfg!(shuttle) { tid != 0 } else { CHILD.get() };
    is_models.then(|| tid != PARENTS_THREAD && DEAD.with_borrow(|dead| !dead.contains(&tid)))
}
