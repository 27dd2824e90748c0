//! What a model checker can replace: atomics, checked cells, the kernel's sleep and wake.
//!
//! Everything above imports these names from here and from nowhere else. `native` is the real
//! thing; `model` stands in under `--cfg loom` (every interleaving of a small scenario, weak
//! orderings included) and `--cfg shuttle` (random schedules of a large one, sequentially
//! consistent), `simulated` under `--cfg simulated` (virtual time on a machine that is described).

mod cell;
mod const_fn;
pub mod constant;
#[cfg(any(loom, shuttle))]
mod model;
#[cfg(any(loom, shuttle))]
pub(crate) mod model_pi;
#[cfg(not(any(loom, shuttle)))]
#[cfg_attr(simulated, allow(unused))]
mod native;
#[cfg(simulated)]
mod simulated;
#[cfg(any(loom, shuttle, simulated))]
mod two_steps;

pub mod mutant;

pub(crate) use crate::sys::futex::Sleep;
pub(crate) use cell::CheckedCell;
pub(crate) use const_fn::const_unless_model;
pub(crate) use constant::adjustable;
#[cfg(any(loom, shuttle))]
pub(crate) use model::*;
#[cfg(any(loom, shuttle))]
pub(crate) use model_pi as pi;
#[cfg(not(any(loom, shuttle, simulated)))]
pub(crate) use native::*;
#[cfg(simulated)]
pub(crate) use simulated::*;
#[cfg(any(loom, shuttle, simulated))]
pub(crate) use two_steps::*;
