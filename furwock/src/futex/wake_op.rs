//! `FUTEX_WAKE_OP`: change one word, wake at another, and depending on what the first held, wake
//! there too. One call where a condvar's signal with the mutex held takes three.

use super::Word;
use super::wake::wake_at;
use crate::lot::{self, Key};
use crate::prim::atomic::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32,
    AtomicU64, AtomicUsize, Ordering,
};
use crate::prim::full_fence_after_rmw;
use crate::prim::mutant::{self, Mutant};

/// What is done to the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// It becomes the operand.
    Set,
    /// The operand is added, wrapping around.
    Add,
    /// The operand's bits are set.
    Or,
    /// The operand's bits are cleared.
    AndNot,
    /// The operand's bits are flipped.
    Xor,
}

/// How the word's old value compares with the comparand, in the word's own type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "they say it")]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// Whether `old` compares so with `comparand`.
    pub fn holds<V: PartialOrd>(self, old: V, comparand: V) -> bool {
        match self {
            Self::Equal => old == comparand,
            Self::NotEqual => old != comparand,
            Self::Less => old < comparand,
            Self::LessOrEqual => old <= comparand,
            Self::Greater => old > comparand,
            Self::GreaterOrEqual => old >= comparand,
        }
    }
}

/// A change of a word, and a comparison with its old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeOp<V> {
    /// What is done to the word.
    pub operation: Operation,
    /// With what.
    pub operand: V,
    /// The question.
    pub comparison: Comparison,
    /// Compared with what the word held before.
    pub comparand: V,
}

/// The result of a wake-op.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WokenBoth {
    /// Waiters woken at the first word.
    pub woken: usize,
    /// Waiters woken at the changed word; 0 if the comparison didn't hold.
    pub woken_at_changed: usize,
}

/// A word that [`wake_op`] can change.
pub trait IntegerWord: Word<Value: PartialOrd> {
    /// Applies the operation as one read-modify-write (`SeqCst`) and returns what it found.
    fn apply(&self, operation: Operation, operand: Self::Value) -> Self::Value;
}

macro_rules! integer_words {
    ($($atomic:ty => $value:ty),* $(,)?) => {$(
        impl IntegerWord for $atomic {
            #[inline]
            fn apply(&self, operation: Operation, operand: $value) -> $value {
                match operation {
                    Operation::Set => self.swap(operand, Ordering::SeqCst),
                    Operation::Add => self.fetch_add(operand, Ordering::SeqCst),
                    Operation::Or => self.fetch_or(operand, Ordering::SeqCst),
                    Operation::AndNot => self.fetch_and(!operand, Ordering::SeqCst),
                    Operation::Xor => self.fetch_xor(operand, Ordering::SeqCst),
                }
            }
        }
    )*};
}

integer_words! {
    AtomicU8 => u8,
    AtomicI8 => i8,
    AtomicU16 => u16,
    AtomicI16 => i16,
    AtomicU32 => u32,
    AtomicI32 => i32,
    AtomicU64 => u64,
    AtomicI64 => i64,
    AtomicUsize => usize,
    AtomicIsize => isize,
}

/// Changes `changed`, wakes up to `count` waiters of `word`, and, if the comparison holds for what
/// `changed` held before, up to `count_at_changed` of its own waiters.
///
/// The change and both wakes are one atomic step for every call that waits on, wakes or requeues
/// either word.
pub fn wake_op<W: Word, C: IntegerWord>(
    word: &W,
    count: usize,
    changed: &C,
    count_at_changed: usize,
    op: WakeOp<C::Value>,
) -> WokenBoth {
    let change = || {
        let old = changed.apply(op.operation, op.operand);
        Ok::<_, core::convert::Infallible>(op.comparison.holds(old, op.comparand))
    };
    let Ok(both) = wake_op_at(word.key(), changed.key(), change, count, count_at_changed);
    both
}

pub(crate) fn wake_op_at<E>(
    word: Key,
    changed: Key,
    change: impl FnOnce() -> Result<bool, E>,
    count: usize,
    count_at_changed: usize,
) -> Result<WokenBoth, E> {
    if lot::may_not_lock() {
        let holds = change()?;
        let woken = wake_at(word, count, lot::ANY);
        let woken_at_changed = if holds { wake_at(changed, count_at_changed, lot::ANY) } else { 0 };
        return Ok(WokenBoth { woken, woken_at_changed });
    }
    let mut pair = lot::lock_pair(word, changed);
    let holds = change()?;
    if !mutant::active(Mutant::ChangeWithoutFence) {
        // Between the change and the claim of a registered wait.
        full_fence_after_rmw();
    }
    let woken = pair.from.choose_many(word, count, lot::ANY);
    let woken_at_changed = if holds { pair.choose_at_other(changed, count_at_changed) } else { 0 };
    Ok(WokenBoth { woken, woken_at_changed })
}
