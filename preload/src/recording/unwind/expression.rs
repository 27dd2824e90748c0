//! Expressions, by which a table says what its plain rules can't.

use super::bytes::Bytes;
use super::{Frame, StackCopy};

/// The value of an expression, of the operations that compilers and glibc use.
pub(super) fn evaluate(
    mut program: Bytes,
    frame: &Frame,
    first: Option<usize>,
    stack: &StackCopy,
) -> Option<usize> {
    let mut values = [0_usize; 16];
    let mut depth = 0;
    if let Some(first) = first {
        values[0] = first;
        depth = 1;
    }
    while program.at < program.end {
        let code: u8 = program.take()?;
        let pushed = match code {
            0x08 => program.take::<u8>()?.into(),
            0x09 => program.take::<i8>()? as usize,
            0x0a => program.take::<u16>()?.into(),
            0x0b => program.take::<i16>()? as usize,
            0x0c => program.take::<u32>()? as usize,
            0x0d => program.take::<i32>()? as usize,
            0x10 => program.unsigned()? as usize,
            0x11 => program.signed()? as usize,
            0x30..=0x4f => usize::from(code - 0x30),
            0x70..=0x8f => {
                let register = *frame.registers.get(usize::from(code - 0x70))?;
                register.wrapping_add(program.signed()? as usize)
            }
            0x06 => {
                depth = usize::checked_sub(depth, 1)?;
                frame.word(values[depth], stack)?
            }
            0x23 => {
                depth = usize::checked_sub(depth, 1)?;
                values[depth].wrapping_add(program.unsigned()? as usize)
            }
            0x1a | 0x1c | 0x22 | 0x24 | 0x2a => {
                depth = usize::checked_sub(depth, 2)?;
                let (a, b) = (values[depth], values[depth + 1]);
                match code {
                    0x1a => a & b,
                    0x1c => a.wrapping_sub(b),
                    0x22 => a.wrapping_add(b),
                    0x24 => a.checked_shl(b as u32)?,
                    _ => usize::from(a as isize >= b as isize),
                }
            }
            _ => return None,
        };
        *values.get_mut(depth)? = pushed;
        depth += 1;
    }
    Some(values[usize::checked_sub(depth, 1)?])
}
