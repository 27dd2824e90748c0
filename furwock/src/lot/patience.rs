//! Whether it pays to look a little longer before a sleep, where a thread waits for what another is to
//! do: each bucket keeps what such waits learnt there.
//!
//! A look that is rewarded saves a sleep and a wake; one that isn't costs its time. So the time grows
//! to twice what it took, shrinks by a quarter with each failure, down to none, and one wait in many
//! looks for as long as a sleep would cost, to see how things are now.

use super::bucket;
use super::table::processors;
use crate::prim::atomic::Ordering;
use crate::prim::spin_loop;

/// Pauses between two looks, about 0.1 us.
const PAUSES: u32 = 8;
/// The most looks: some 4 us, about what a sleep and a wake cost.
const MOST: u32 = 40;
/// One wait in so many looks for that long.
const TRY_AGAIN: u32 = 64;

const LOOKS: u32 = 0xffff;
const ONE_WAIT: u32 = LOOKS + 1;

/// Calls `ready` now and then, as long as that has paid lately at `key`. Returns whether it was.
pub(crate) fn look_first(key: usize, mut ready: impl FnMut() -> bool) -> bool {
    if cfg!(any(loom, shuttle)) || processors() == 1 {
        return false;
    }
    let advice = bucket::patience(key);
    let seen = advice.load(Ordering::Relaxed);
    let learnt = seen & LOOKS;
    let budget = if (seen / ONE_WAIT).is_multiple_of(TRY_AGAIN) { MOST } else { learnt };
    let mut looks = 0;
    let mut is_ready = false;
    while looks < budget && !is_ready {
        for _ in 0..PAUSES {
            spin_loop();
        }
        looks += 1;
        is_ready = ready();
    }
    let next =
        if is_ready { (2 * looks + 4).min(MOST).max(learnt) } else { learnt - learnt.div_ceil(4) };
    advice.store((seen & !LOOKS).wrapping_add(ONE_WAIT) | next, Ordering::Relaxed);
    is_ready
}
