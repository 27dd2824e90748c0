//! What `FUTEX_WAKE_OP` does to its second word, and which old values wake that word's waiters.
//!
//! The kernel takes it in 32 bits: from the top, one bit for a shifted operand, three for the
//! operation, four for the comparison, twelve for the operand, twelve for the comparand. Both
//! twelves are signed.

use crate::prim::atomic::{AtomicU32, Ordering};

/// What is done to the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `word = operand`
    Set,
    /// `word += operand`, wrapping.
    Add,
    /// `word |= operand`
    Or,
    /// `word &= !operand`
    AndNot,
    /// `word ^= operand`
    Xor,
}

/// How the word's old value is compared, as a signed number, with the comparand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `old == comparand`
    Equal,
    /// `old != comparand`
    NotEqual,
    /// `old < comparand`
    Less,
    /// `old <= comparand`
    LessOrEqual,
    /// `old > comparand`
    Greater,
    /// `old >= comparand`
    GreaterOrEqual,
}

/// What the operation is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A number in `-2048..=2047`, extended by its sign.
    Value(i32),
    /// The one bit `1 << n`, with `n` in `0..=31`.
    Bit(u32),
}

impl Operand {
    /// The operand in full. Bits wrap around at 32, as in the kernel.
    pub fn value(self) -> i32 {
        match self {
            Operand::Value(value) => value,
            Operand::Bit(bit) => 1i32.wrapping_shl(bit),
        }
    }
}

/// What a wake-op does to its second word, and when it wakes that word's waiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WakeOperation {
    /// What is done to the word.
    pub operation: Operation,
    /// What it is done with.
    pub operand: Operand,
    /// How the old value is compared.
    pub comparison: Comparison,
    /// What with: a number in `-2048..=2047`.
    pub comparand: i32,
}

/// A number that doesn't fit into an encoded wake-op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfRange {
    /// The operand, outside of `-2048..=2047`.
    Operand(i32),
    /// The bit, above 31.
    Bit(u32),
    /// The comparand, outside of `-2048..=2047`.
    Comparand(i32),
}

impl core::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            OutOfRange::Operand(value) => {
                write!(
                    f,
                    "a wake-op's operand must be in -2048..=2047 or a single bit, not {value}"
                )
            }
            OutOfRange::Bit(bit) => {
                write!(f, "a wake-op's bit must be in 0..=31, not {bit}")
            }
            OutOfRange::Comparand(value) => {
                write!(f, "a wake-op's comparand must be in -2048..=2047, not {value}")
            }
        }
    }
}

impl core::error::Error for OutOfRange {}

/// An encoded wake-op that no kernel knows (futex(2): `ENOSYS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The operation's number. The kernel leaves the word as it is.
    Operation(u32),
    /// The comparison's number. The kernel finds out only when it has changed the word.
    Comparison(u32),
}

impl core::fmt::Display for Unknown {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Unknown::Operation(number) => {
                write!(f, "no wake-op has operation {number}: there are 0 to 4")
            }
            Unknown::Comparison(number) => {
                write!(f, "no wake-op has comparison {number}: there are 0 to 5")
            }
        }
    }
}

impl core::error::Error for Unknown {}

const SHIFTED: u32 = 1 << 31;

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

/// The low twelve bits of `value`, if its sign extends them to all of it.
fn twelve_bits(value: i32) -> Option<u32> {
    (-2048..=2047).contains(&value).then_some(value as u32 & 0xfff)
}

/// Bits `at..at + 12` of `code`, extended by the sign.
fn signed_at(code: u32, at: u32) -> i32 {
    ((code >> at) << 20) as i32 >> 20
}

impl WakeOperation {
    /// The 32 bits that the kernel takes.
    ///
    /// # Errors
    /// The number that doesn't fit.
    pub fn encode(&self) -> Result<u32, OutOfRange> {
        let operand = match self.operand {
            Operand::Value(value) => twelve_bits(value).ok_or(OutOfRange::Operand(value))?,
            Operand::Bit(bit @ 0..=31) => bit | SHIFTED >> 12,
            Operand::Bit(bit) => return Err(OutOfRange::Bit(bit)),
        };
        let comparand = twelve_bits(self.comparand).ok_or(OutOfRange::Comparand(self.comparand))?;
        let operation = self.operation as u32;
        let comparison = self.comparison as u32;
        Ok(operation << 28 | comparison << 24 | operand << 12 | comparand)
    }

    /// What the kernel takes 32 bits for. Of a shifted operand it takes the low five bits.
    ///
    /// # Errors
    /// The number of an operation, or else of a comparison, that doesn't exist.
    pub fn decode(code: u32) -> Result<Self, Unknown> {
        let operation = code >> 28 & 0x7;
        let comparison = code >> 24 & 0xf;
        let operand = if code & SHIFTED != 0 {
            Operand::Bit(code >> 12 & 31)
        } else {
            Operand::Value(signed_at(code, 12))
        };
        Ok(Self {
            operation: *OPERATIONS.get(operation as usize).ok_or(Unknown::Operation(operation))?,
            operand,
            comparison: *COMPARISONS
                .get(comparison as usize)
                .ok_or(Unknown::Comparison(comparison))?,
            comparand: signed_at(code, 0),
        })
    }

    /// Does the operation to `word`, in one step. Returns the old value.
    ///
    /// Sequentially consistent.
    pub fn apply(&self, word: &AtomicU32) -> i32 {
        let operand = self.operand.value() as u32;
        let old = match self.operation {
            Operation::Set => word.swap(operand, Ordering::SeqCst),
            Operation::Add => word.fetch_add(operand, Ordering::SeqCst),
            Operation::Or => word.fetch_or(operand, Ordering::SeqCst),
            Operation::AndNot => word.fetch_and(!operand, Ordering::SeqCst),
            Operation::Xor => word.fetch_xor(operand, Ordering::SeqCst),
        };
        old as i32
    }

    /// Whether `old` wakes the second word's waiters.
    pub fn holds(&self, old: i32) -> bool {
        match self.comparison {
            Comparison::Equal => old == self.comparand,
            Comparison::NotEqual => old != self.comparand,
            Comparison::Less => old < self.comparand,
            Comparison::LessOrEqual => old <= self.comparand,
            Comparison::Greater => old > self.comparand,
            Comparison::GreaterOrEqual => old >= self.comparand,
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn operands() -> impl Iterator<Item = Operand> {
        (-2048..=2047).map(Operand::Value).chain((0..=31).map(Operand::Bit))
    }

    #[test]
    fn whatever_fits_survives_the_encoding() {
        for operation in OPERATIONS {
            for comparison in COMPARISONS {
                for operand in operands() {
                    for comparand in [-2048, -1, 0, 1, 2047, operand.value() % 2048] {
                        let op = WakeOperation { operation, operand, comparison, comparand };
                        assert_eq!(WakeOperation::decode(op.encode().unwrap()), Ok(op));
                    }
                }
                for comparand in -2048..=2047 {
                    let operand = Operand::Value(!comparand);
                    let op = WakeOperation { operation, operand, comparison, comparand };
                    assert_eq!(WakeOperation::decode(op.encode().unwrap()), Ok(op));
                }
            }
        }
    }

    /// linux/futex.h, from right to left: a comparand, an operand, the numbers by name.
    #[test]
    fn the_bits_are_the_kernels() {
        let op = WakeOperation {
            operation: Operation::Add,
            operand: Operand::Value(-1),
            comparison: Comparison::GreaterOrEqual,
            comparand: 0x123,
        };
        assert_eq!(op.encode(), Ok(0x15ff_f123));
        let op = WakeOperation { operand: Operand::Bit(31), ..op };
        assert_eq!(op.encode(), Ok(0x9501_f123));
        assert_eq!(op.operand.value(), i32::MIN);
        assert_eq!(Operation::AndNot as u32, 3);
        assert_eq!(Comparison::Less as u32, 2);
        assert_eq!(Comparison::LessOrEqual as u32, 3);
        assert_eq!(Comparison::Greater as u32, 4);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let op = WakeOperation {
            operation: Operation::Set,
            operand: Operand::Value(2048),
            comparison: Comparison::Equal,
            comparand: -2049,
        };
        assert_eq!(op.encode(), Err(OutOfRange::Operand(2048)));
        let op = WakeOperation { operand: Operand::Value(-2049), ..op };
        assert_eq!(op.encode(), Err(OutOfRange::Operand(-2049)));
        let op = WakeOperation { operand: Operand::Bit(32), ..op };
        assert_eq!(op.encode(), Err(OutOfRange::Bit(32)));
        let op = WakeOperation { operand: Operand::Bit(0), ..op };
        assert_eq!(op.encode(), Err(OutOfRange::Comparand(-2049)));
    }

    #[test]
    fn a_code_means_the_same_when_encoded_anew() {
        // An arbitrary odd stride visits all sixteen top and bottom bits' patterns.
        for step in 0..1u32 << 20 {
            let code = step.wrapping_mul(0x9e37_79b1);
            match WakeOperation::decode(code) {
                Ok(op) => {
                    let again = op.encode().unwrap();
                    // Only what a shift ignores of its operand may be lost.
                    let ignored = if code & SHIFTED != 0 { 0xfe0 << 12 } else { 0 };
                    assert_eq!(again, code & !ignored, "{code:#x}");
                }
                Err(Unknown::Operation(number)) => assert!(number > 4 && code >> 28 & 7 == number),
                Err(Unknown::Comparison(number)) => {
                    assert!(number > 5 && code >> 24 & 15 == number);
                }
            }
        }
    }

    #[test]
    fn operations_and_comparisons() {
        let op = |operation, operand| WakeOperation {
            operation,
            operand,
            comparison: Comparison::Less,
            comparand: 0,
        };
        let applied = |op: WakeOperation, before: u32| {
            let word = AtomicU32::new(before);
            assert_eq!(op.apply(&word), before as i32);
            word.into_inner()
        };
        assert_eq!(applied(op(Operation::Set, Operand::Value(-3)), 9), -3i32 as u32);
        assert_eq!(applied(op(Operation::Add, Operand::Value(-3)), 2), u32::MAX);
        assert_eq!(applied(op(Operation::Or, Operand::Bit(31)), 1), 0x8000_0001);
        assert_eq!(applied(op(Operation::AndNot, Operand::Value(6)), 15), 9);
        assert_eq!(applied(op(Operation::Xor, Operand::Value(-1)), 5), !5);
        assert!(op(Operation::Set, Operand::Bit(0)).holds(-1));
        assert!(!op(Operation::Set, Operand::Bit(0)).holds(0));
    }
}
