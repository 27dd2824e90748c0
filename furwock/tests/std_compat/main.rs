//! `furwock::std_compat` beside `std::sync`: each scenario runs with both, and does the same.

#[path = "../common/mod.rs"]
mod common;
mod once;
mod poison;
mod traits;
mod waits;

/// A scenario, once with std's types and once with furwock's. Returns what each returned. It names
/// the types' module `sync`.
macro_rules! with_both {
    ($scenario:block) => {
        (
            {
                use std::sync;
                $scenario
            },
            {
                use furwock::std_compat as sync;
                $scenario
            },
        )
    };
}
pub(crate) use with_both;

/// Both return this.
macro_rules! assert_both {
    ($scenario:block, $expected:expr) => {{
        let (std, furwock) = crate::with_both!($scenario);
        let expected = $expected;
        assert_eq!(std, expected, "std");
        assert_eq!(furwock, expected, "furwock");
    }};
}
pub(crate) use assert_both;
