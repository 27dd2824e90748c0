//! Call frame instructions: where a function's caller has its registers, for each of its addresses.

use super::REGISTERS;
use super::bytes::Bytes;
use super::table::Common;

/// How a register of the caller is found.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    Same,
    Undefined,
    /// On the stack, so far from the frame's address.
    At(i64),
    /// That address itself.
    Is(i64),
    Register(usize),
    /// Where an expression says.
    AtExpression(Bytes),
    IsExpression(Bytes),
}

#[derive(Clone, Copy)]
pub(super) struct Row {
    /// The frame's address: a register and a number, or an expression.
    pub(super) register: usize,
    pub(super) offset: i64,
    pub(super) expression: Option<Bytes>,
    pub(super) rules: [Rule; REGISTERS],
}

/// How deep a program remembers rows.
const REMEMBERED: usize = 4;

/// Runs a program of call frame instructions up to the row for `until`.
pub(super) fn run(
    mut program: Bytes,
    common: &Common,
    begin: usize,
    until: usize,
    row: &mut Row,
    initial: &Row,
) -> Option<()> {
    let mut location = begin;
    let mut remembered = [*initial; REMEMBERED];
    let mut depth = 0;
    let register = |number: u64| (number < REGISTERS as u64).then_some(number as usize);
    while program.at < program.end {
        let code: u8 = program.take()?;
        let low = usize::from(code & 0x3f);
        let mut advance = 0;
        match code {
            0x40..=0x7f => advance = low as u64,
            0x80..=0xbf => {
                let offset = program.unsigned()? as i64 * common.data_unit;
                if low < REGISTERS {
                    row.rules[low] = Rule::At(offset);
                }
            }
            0xc0..=0xff => {
                if low < REGISTERS {
                    row.rules[low] = initial.rules[low];
                }
            }
            0x00 => {}
            0x01 => location = program.pointer(common.encoding, 0)?,
            0x02 => advance = program.take::<u8>()?.into(),
            0x03 => advance = program.take::<u16>()?.into(),
            0x04 => advance = program.take::<u32>()?.into(),
            // On the stack, signed or not, and at the address itself.
            0x05 | 0x11 | 0x14 | 0x15 => {
                let number = program.unsigned()?;
                let offset = if code == 0x05 || code == 0x14 {
                    program.unsigned()? as i64
                } else {
                    program.signed()?
                } * common.data_unit;
                if let Some(at) = register(number) {
                    row.rules[at] = if code < 0x14 { Rule::At(offset) } else { Rule::Is(offset) };
                }
            }
            0x06..=0x08 => {
                let number = program.unsigned()?;
                if let Some(at) = register(number) {
                    row.rules[at] = match code {
                        0x06 => initial.rules[at],
                        0x07 => Rule::Undefined,
                        _ => Rule::Same,
                    };
                }
            }
            0x09 => {
                let (to, from) = (program.unsigned()?, program.unsigned()?);
                if let Some(at) = register(to) {
                    row.rules[at] = Rule::Register(register(from)?);
                }
            }
            0x0a => {
                *remembered.get_mut(depth)? = *row;
                depth += 1;
            }
            0x0b => {
                depth = depth.checked_sub(1)?;
                *row = remembered[depth];
            }
            0x0c => {
                (row.register, row.offset) =
                    (register(program.unsigned()?)?, program.unsigned()? as i64);
                row.expression = None;
            }
            0x12 => {
                (row.register, row.offset) =
                    (register(program.unsigned()?)?, program.signed()? * common.data_unit);
                row.expression = None;
            }
            0x0d => row.register = register(program.unsigned()?)?,
            0x0e => row.offset = program.unsigned()? as i64,
            0x13 => row.offset = program.signed()? * common.data_unit,
            0x0f => row.expression = Some(expression(&mut program)?),
            0x10 | 0x16 => {
                let number = program.unsigned()?;
                let expression = expression(&mut program)?;
                if let Some(at) = register(number) {
                    row.rules[at] = if code == 0x10 {
                        Rule::AtExpression(expression)
                    } else {
                        Rule::IsExpression(expression)
                    };
                }
            }
            // The size of arguments.
            0x2e => _ = program.unsigned()?,
            _ => return None,
        }
        location = location.wrapping_add((advance * common.code_unit) as usize);
        if location > until {
            return Some(());
        }
    }
    Some(())
}

fn expression(program: &mut Bytes) -> Option<Bytes> {
    let length = program.unsigned()? as usize;
    let bytes = Bytes { at: program.at, end: program.at + length };
    program.skip(length)?;
    Some(bytes)
}
