//! `core::hint`'s part: pauses.

use crate::world::{Op, World, spend};

/// Tells the processor that the caller spins.
#[inline]
pub fn spin_loop() {
    let Some(world) = World::current() else { return core::hint::spin_loop() };
    // SAFETY: the world of the running simulation; no other reference to it exists while simulated
    // code runs.
    let pause = unsafe {
        let world = &mut *world;
        world.count().pauses += 1;
        let pause = world.costs.pause;
        world.own_work(pause)
    };
    spend(world, pause, Op::Resumable);
}
