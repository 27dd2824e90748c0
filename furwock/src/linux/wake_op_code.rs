//! `FUTEX_WAKE_OP`'s third value: an operation and a comparison in 32 bits.
//!
//! | bits | meaning |
//! |---|---|
//! | 31 | the operand is the number of a bit |
//! | 28..30 | the operation |
//! | 24..27 | the comparison |
//! | 12..23 | the operand, signed |
//! | 0..11 | the comparand, signed |

use crate::futex::{Comparison, Operation};

/// Decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WakeOpCode {
    operation: Operation,
    operand: i32,
    comparison: Comparison,
    comparand: i32,
}

impl WakeOpCode {
    /// `None` if it names an operation or a comparison that there isn't.
    pub(super) fn decode(code: u32) -> Option<Self> {
        let operation = match (code >> 28) & 7 {
            0 => Operation::Set,
            1 => Operation::Add,
            2 => Operation::Or,
            3 => Operation::AndNot,
            4 => Operation::Xor,
            _ => return None,
        };
        let comparison = match (code >> 24) & 15 {
            0 => Comparison::Equal,
            1 => Comparison::NotEqual,
            2 => Comparison::Less,
            3 => Comparison::LessOrEqual,
            4 => Comparison::Greater,
            5 => Comparison::GreaterOrEqual,
            _ => return None,
        };
        let operand = signed_12_bits(code >> 12);
        // The kernel takes a bit's number modulo 32, with a grumble in its log.
        let operand = if code >> 31 == 0 { operand } else { 1 << (operand & 31) };
        Some(Self { operation, operand, comparison, comparand: signed_12_bits(code) })
    }

    pub(super) fn apply(self, old: u32) -> u32 {
        let operand = self.operand.cast_unsigned();
        match self.operation {
            Operation::Set => operand,
            Operation::Add => old.wrapping_add(operand),
            Operation::Or => old | operand,
            Operation::AndNot => old & !operand,
            Operation::Xor => old ^ operand,
        }
    }

    /// Compares as signed numbers.
    pub(super) fn holds(self, old: u32) -> bool {
        self.comparison.holds(old.cast_signed(), self.comparand)
    }
}

fn signed_12_bits(low: u32) -> i32 {
    (low << 20).cast_signed() >> 20
}
