//! A wake-op in the kernel's 32 bits.
//!
//! | bits | meaning |
//! |---|---|
//! | 31 | the operand is the number of a bit |
//! | 28..=30 | the operation |
//! | 24..=27 | the comparison |
//! | 12..=23 | the operand, extended by its sign |
//! | 0..=11 | the comparand, extended by its sign |

use super::{Comparison, Operation, WakeOp};

const IS_BIT: u32 = 1 << 31;

/// In the order of their numbers.
const OPERATIONS: [Operation; 5] =
    [Operation::Set, Operation::Add, Operation::Or, Operation::AndNot, Operation::Xor];

/// In the order of their numbers.
const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

/// A number that doesn't fit into the kernel's form of a wake-op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfRange {
    /// The operand, neither in `-2048..=2047` nor a single bit.
    Operand(i32),
    /// The comparand, outside of `-2048..=2047`.
    Comparand(i32),
}

impl core::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Operand(value) => write!(
                f,
                "the kernel takes a wake-op's operand in -2048..=2047 or a single bit, not {value}"
            ),
            Self::Comparand(value) => {
                write!(f, "the kernel takes a wake-op's comparand in -2048..=2047, not {value}")
            }
        }
    }
}

impl core::error::Error for OutOfRange {}

/// An invalid number in a code (futex(2): `ENOSYS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The operation's. The kernel leaves the word as it is.
    Operation(u32),
    /// The comparison's. The kernel finds out only when it has changed the word.
    Comparison(u32),
}

impl core::fmt::Display for Unknown {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Operation(number) => {
                write!(f, "no wake-op has operation {number}: there are 0 to 4")
            }
            Self::Comparison(number) => {
                write!(f, "no wake-op has comparison {number}: there are 0 to 5")
            }
        }
    }
}

impl core::error::Error for Unknown {}

/// The low twelve bits of `value`, if its sign extends them to all of it.
fn twelve_bits(value: i32) -> Option<u32> {
    (-2048..=2047).contains(&value).then_some(value as u32 & 0xfff)
}

fn extended(low: u32) -> i32 {
    (low << 20) as i32 >> 20
}

impl WakeOp<i32> {
    /// The 32 bits that the kernel takes (and `linux/futex.h`'s `FUTEX_OP` makes).
    ///
    /// # Errors
    /// The number that doesn't fit.
    pub fn encode(&self) -> Result<u32, OutOfRange> {
        let operand = match twelve_bits(self.operand) {
            Some(operand) => operand << 12,
            None if self.operand.count_ones() == 1 => IS_BIT | self.operand.trailing_zeros() << 12,
            None => return Err(OutOfRange::Operand(self.operand)),
        };
        let comparand = twelve_bits(self.comparand).ok_or(OutOfRange::Comparand(self.comparand))?;
        Ok((self.operation as u32) << 28 | (self.comparison as u32) << 24 | operand | comparand)
    }

    /// The operation that 32 bits mean to the kernel. It uses the low five bits of a bit's number.
    ///
    /// # Errors
    /// The number of an operation, or else of a comparison, that doesn't exist.
    pub fn decode(code: u32) -> Result<Self, Unknown> {
        let operation = code >> 28 & 7;
        let comparison = code >> 24 & 15;
        let operand = extended(code >> 12);
        Ok(Self {
            operation: *OPERATIONS.get(operation as usize).ok_or(Unknown::Operation(operation))?,
            operand: if code & IS_BIT == 0 { operand } else { 1 << (operand & 31) },
            comparison: *COMPARISONS
                .get(comparison as usize)
                .ok_or(Unknown::Comparison(comparison))?,
            comparand: extended(code),
        })
    }

    /// The operation's result for `old`.
    pub fn applied_to(&self, old: i32) -> i32 {
        match self.operation {
            Operation::Set => self.operand,
            Operation::Add => old.wrapping_add(self.operand),
            Operation::Or => old | self.operand,
            Operation::AndNot => old & !self.operand,
            Operation::Xor => old ^ self.operand,
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn all(operand: i32, comparand: i32) -> impl Iterator<Item = WakeOp<i32>> {
        OPERATIONS.into_iter().flat_map(move |operation| {
            COMPARISONS.into_iter().map(move |comparison| WakeOp {
                operation,
                operand,
                comparison,
                comparand,
            })
        })
    }

    #[test]
    fn whatever_fits_survives_the_encoding() {
        let bits = (0..32).map(|bit| 1i32 << bit);
        for operand in (-2048..=2047).chain(bits) {
            for comparand in [-2048, -1, 0, 1, 2047, operand % 2048] {
                for op in all(operand, comparand) {
                    assert_eq!(WakeOp::decode(op.encode().unwrap()), Ok(op));
                }
            }
        }
        for comparand in -2048..=2047 {
            for op in all(!comparand, comparand) {
                assert_eq!(WakeOp::decode(op.encode().unwrap()), Ok(op));
            }
        }
    }

    #[test]
    fn the_bits_are_the_kernels() {
        let op = WakeOp {
            operation: Operation::Add,
            operand: -1,
            comparison: Comparison::GreaterOrEqual,
            comparand: 0x123,
        };
        assert_eq!(op.encode(), Ok(0x15ff_f123));
        assert_eq!(WakeOp { operand: i32::MIN, ..op }.encode(), Ok(0x9501_f123));
        assert_eq!(Operation::AndNot as u32, 3);
        assert_eq!(Comparison::Less as u32, 2);
        assert_eq!(Comparison::Greater as u32, 4);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let op = WakeOp {
            operation: Operation::Set,
            operand: 2049,
            comparison: Comparison::Equal,
            comparand: -2049,
        };
        assert_eq!(op.encode(), Err(OutOfRange::Operand(2049)));
        assert_eq!(WakeOp { operand: -2049, ..op }.encode(), Err(OutOfRange::Operand(-2049)));
        assert_eq!(WakeOp { operand: 2048, ..op }.encode(), Err(OutOfRange::Comparand(-2049)));
    }

    #[test]
    fn a_code_means_the_same_when_encoded_anew() {
        for step in 0..1u32 << 20 {
            // An odd stride visits all patterns of the top and the bottom bits.
            let code = step.wrapping_mul(0x9e37_79b1);
            match WakeOp::decode(code) {
                Ok(op) => assert_eq!(WakeOp::decode(op.encode().unwrap()), Ok(op), "{code:#x}"),
                Err(Unknown::Operation(number)) => {
                    assert!(number > 4 && code >> 28 & 7 == number);
                }
                Err(Unknown::Comparison(number)) => {
                    assert!(number > 5 && code >> 24 & 15 == number);
                }
            }
        }
    }
}
