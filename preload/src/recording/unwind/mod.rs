//! Walks the calling thread's stack by the call frame information that compilers write for
//! exceptions (.eh_frame), and where there is none by frame pointers.
//!
//! Not by libgcc's unwinder, which takes a lock for code that was made at run time, and may
//! allocate while it holds that; a thread that comes here may be in the program's allocator. Which
//! file an address lies in is asked from glibc's `_dl_find_object` (2.35), which takes no lock; the
//! functions before it take the loader's, whose holder may wait for a lock of the program. Where it
//! is missing, `loaded` reads the list that the loader keeps for debuggers.
//!
//! What the tables describe is read directly, as an exception would. From the first frame on that
//! they don't describe, the stack is read through the kernel, which refuses where there is no
//! memory: a guess can't stop the program.
//!
//! - `table` finds the record of a function, whose numbers `bytes` reads.
//! - `program` runs it up to the address in question; `expression` is a part of some.
//! - `copy` reads the stack beyond.

mod bytes;
mod copy;
mod expression;
mod program;
mod table;

use crate::loaded::{self, Loaded};
use core::ptr::with_exposed_provenance;

use expression::evaluate;
use program::{Row, Rule};

pub(super) use copy::StackCopy;

/// Registers by their numbers in DWARF, the return address last.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    registers: [usize; REGISTERS],
    /// The address may be that of an instruction that was interrupted, rather than one that a call
    /// returns to.
    is_interrupted: bool,
    /// It was found by a frame pointer, or from one that was.
    is_guessed: bool,
}

const REGISTERS: usize = 17;
const RBP: usize = 6;
const RSP: usize = 7;
const RIP: usize = 16;

impl Frame {
    /// The caller's.
    #[inline(always)]
    pub(super) fn here() -> Self {
        let mut registers = [0_usize; REGISTERS];
        // SAFETY: reads registers.
        unsafe {
            core::arch::asm!(
                "mov [{to} + 3 * 8], rbx",
                "mov [{to} + 6 * 8], rbp",
                "mov [{to} + 7 * 8], rsp",
                "mov [{to} + 12 * 8], r12",
                "mov [{to} + 13 * 8], r13",
                "mov [{to} + 14 * 8], r14",
                "mov [{to} + 15 * 8], r15",
                "lea {rip}, [rip]",
                "mov [{to} + 16 * 8], {rip}",
                to = in(reg) registers.as_mut_ptr(),
                rip = out(reg) _,
                options(nostack, preserves_flags),
            );
        }
        Self { registers, is_interrupted: true, is_guessed: false }
    }

    pub(super) fn stack_pointer(&self) -> usize {
        self.registers[RSP]
    }

    pub(super) fn address(&self) -> usize {
        self.registers[RIP]
    }

    /// The caller of this frame, and where its address is kept on the stack: 0 if elsewhere.
    pub(super) fn caller(&self, stack: &StackCopy) -> Option<(Self, usize)> {
        let within = self.address() - usize::from(!self.is_interrupted);
        let found = loaded::find(within).and_then(|object| step(self, within, &object, stack));
        found.or_else(|| self.caller_by_frame_pointer(stack))
    }

    /// The word at `address`, on the stack at this frame or above.
    fn word(&self, address: usize, stack: &StackCopy) -> Option<usize> {
        let offset = address.wrapping_sub(self.registers[RSP]);
        if self.is_guessed {
            return stack.word(address);
        }
        if offset > FRAME_MOST || !address.is_multiple_of(8) {
            return None;
        }
        // SAFETY: where the caller's frame is, or what it has saved, by the tables of its function.
        Some(unsafe { with_exposed_provenance::<usize>(address).read() })
    }

    fn caller_by_frame_pointer(&self, stack: &StackCopy) -> Option<(Self, usize)> {
        let (old, sp) = (self.registers[RBP], self.registers[RSP]);
        if old < sp || old - sp > FRAME_MOST || !old.is_multiple_of(8) {
            return None;
        }
        let mut next = *self;
        next.is_guessed = true;
        next.registers[RBP] = next.word(old, stack)?;
        next.registers[RIP] = next.word(old + 8, stack)?;
        next.registers[RSP] = old + 16;
        next.is_interrupted = false;
        // What it returns to is code, or the walk has gone astray.
        loaded::find(next.address())?;
        Some((next, old + 8))
    }
}

/// No frame is larger.
const FRAME_MOST: usize = 1 << 24;

/// The caller of `frame`, whose code at `within` is in `object`.
fn step(
    frame: &Frame,
    within: usize,
    object: &Loaded,
    stack: &StackCopy,
) -> Option<(Frame, usize)> {
    let entry = table::find(object, within)?;
    let (length, mut description) = table::record(entry, object.end)?;
    let common_at = description.at - description.take::<u32>()? as usize;
    let common = table::common(common_at, object)?;
    let begin = description.pointer(common.encoding, object.table)?;
    let size = description.pointer(common.encoding & 0x0f, 0)?;
    if length == 0 || within < begin || within - begin >= size {
        return None;
    }
    if common.has_augmentation {
        let skipped = description.unsigned()? as usize;
        description.skip(skipped)?;
    }
    let mut row =
        Row { register: RSP, offset: 8, expression: None, rules: [Rule::Same; REGISTERS] };
    let initial = row;
    program::run(common.program, &common, begin, usize::MAX, &mut row, &initial)?;
    let initial = row;
    program::run(description, &common, begin, within, &mut row, &initial)?;
    apply(frame, &row, common.is_signal, stack)
}

fn apply(frame: &Frame, row: &Row, is_signal: bool, stack: &StackCopy) -> Option<(Frame, usize)> {
    let old = &frame.registers;
    let address = match row.expression {
        Some(expression) => evaluate(expression, frame, None, stack)?,
        None => old[row.register].wrapping_add(row.offset as usize),
    };
    if address <= old[RSP] && !is_signal || address.wrapping_sub(old[RSP]) > FRAME_MOST {
        return None;
    }
    let mut next = *frame;
    next.registers[RSP] = address;
    next.is_interrupted = is_signal;
    let mut kept_at = 0;
    for (at, rule) in row.rules.iter().enumerate() {
        let place = match *rule {
            Rule::Same => continue,
            // So the first function says that it has no caller.
            Rule::Undefined if at == RIP => return None,
            Rule::Undefined => continue,
            Rule::Is(offset) => {
                next.registers[at] = address.wrapping_add(offset as usize);
                continue;
            }
            Rule::Register(from) => {
                next.registers[at] = old[from];
                continue;
            }
            Rule::IsExpression(expression) => {
                next.registers[at] = evaluate(expression, frame, Some(address), stack)?;
                continue;
            }
            Rule::At(offset) => address.wrapping_add(offset as usize),
            Rule::AtExpression(expression) => evaluate(expression, frame, Some(address), stack)?,
        };
        next.registers[at] = frame.word(place, stack)?;
        if at == RIP {
            kept_at = place;
        }
    }
    let is_end = next.address() == 0 || matches!(row.rules[RIP], Rule::Same);
    (!is_end).then_some((next, kept_at))
}
