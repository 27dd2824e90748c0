//! The two sides of a comparison, and what sets them apart: LD_PRELOAD.

use std::env;
use std::ffi::OsString;
use std::fmt;

use serde::Serialize;

use crate::preload::Preload;

#[derive(Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    Glibc,
    Furwock,
}

impl Side {
    /// The order of a pair alternates, so that a drift of the machine favours neither side.
    pub fn order(pair: usize) -> [Side; 2] {
        if pair.is_multiple_of(2) {
            [Side::Glibc, Side::Furwock]
        } else {
            [Side::Furwock, Side::Glibc]
        }
    }

    /// This side's LD_PRELOAD; both keep what others have put there.
    pub fn ld_preload(self, preload: &Preload) -> OsString {
        let inherited = env::var_os("LD_PRELOAD").unwrap_or_default();
        match self {
            Side::Glibc => preload.removed_from(&inherited),
            Side::Furwock => preload.prepended_to(Some(&inherited)),
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Glibc => "glibc",
            Side::Furwock => "furwock",
        })
    }
}

/// A thing for each side.
#[derive(Serialize, Clone, Copy, Debug)]
pub struct Both<T> {
    pub glibc: T,
    pub furwock: T,
}

impl<T> Both<T> {
    /// What `make` makes for each side, made in the order of the pair.
    pub fn try_in_order<E>(
        pair: usize,
        mut make: impl FnMut(Side) -> Result<T, E>,
    ) -> Result<Self, E> {
        let [first, second] = Side::order(pair);
        let (one, other) = (make(first)?, make(second)?);
        Ok(match first {
            Side::Glibc => Both { glibc: one, furwock: other },
            Side::Furwock => Both { glibc: other, furwock: one },
        })
    }

    pub fn map<U>(&self, mut each: impl FnMut(&T) -> U) -> Both<U> {
        Both { glibc: each(&self.glibc), furwock: each(&self.furwock) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_alternate_but_keep_the_sides_apart() {
        for pair in 0..2 {
            let mut started = Vec::new();
            let both = Both::try_in_order(pair, |side| {
                started.push(side);
                Ok::<Side, ()>(side)
            });
            let both = both.unwrap();
            assert_eq!((both.glibc, both.furwock), (Side::Glibc, Side::Furwock));
            assert_eq!(started, Side::order(pair));
        }
        assert_ne!(Side::order(0), Side::order(1));
    }
}
