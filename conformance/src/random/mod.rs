//! Random programs of pthread calls, on whatever serves them: glibc, or the preload beneath.
//!
//! A program is a list of steps. Each says which thread makes which call on which object; threads
//! begin one step at a time, or up to four at once. After that all threads either return or sleep.
//! A specification (`state.rs`, `moves.rs`) says what calls may return, and which may go on
//! sleeping. Where POSIX leaves a choice it keeps all states that may be the case, and what is seen
//! narrows them down; if none is left, the program fails. At the end all calls are let go: one that
//! sleeps on has been forgotten.
//!
//! Steps are drawn as the program runs, since what is legal depends on what happened. So a seed
//! repeats its program unless threads race; the text of a program that failed is printed, too.

mod ffi;
mod fork;
mod generate;
mod hunt;
mod kind;
mod legal;
mod make;
mod moves;
mod moves_cond;
mod moves_rwlock;
mod perform;
mod run;
mod state;
mod step;
mod trace;
mod worker;
mod wrong;

pub use hunt::{Hunt, Tally};
pub use trace::Failure;
pub use wrong::Fault;
