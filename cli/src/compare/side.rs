//! The two sides of a comparison.

use std::fmt;

use serde::Serialize;

use crate::measuring::child::Sample;

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
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// One value for each side.
#[derive(Serialize, Clone, Copy, Debug)]
pub struct Both<T> {
    pub glibc: T,
    pub furwock: T,
}

impl<T> Both<T> {
    /// Calls `make` for each side, in the order of the pair.
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

/// A program's runs on both sides.
#[derive(Serialize)]
pub struct Pair {
    pub order: [Side; 2],
    #[serde(flatten)]
    pub samples: Both<Sample>,
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
