//! `core::hint`'s part: pauses.

use crate::description::Time;
use crate::world::{Op, World, spend};

/// Pauses are spent with the next step, but not more than this at a time: a thread may spin on
/// something that isn't an atomic.
const MOST_DEBT: Time = 5_000_000;

/// Tells the processor that the caller spins.
#[inline]
pub fn spin_loop() {
    let Some(world) = World::current() else { return core::hint::spin_loop() };
    // SAFETY: the world of the running simulation; no other reference to it exists while simulated
    // code runs.
    let debt = unsafe {
        let world = &mut *world;
        world.count().pauses += 1;
        world.debt += world.own_work(world.costs.pause);
        world.debt
    };
    if debt > MOST_DEBT {
        spend(world, 0, Op::Resumable);
    }
}
