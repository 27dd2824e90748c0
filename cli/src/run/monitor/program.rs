//! The BPF program: it notes at each switch of the scheduler which thread leaves the processor, and
//! which gets it.

use std::mem::size_of;

use furwock::unstable::monitor::{Header, OFF, ON};

use super::btf::Found;

/// One instruction, as linux/bpf.h lays it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    code: u8,
    /// The destination in the low half, the source in the high one.
    registers: u8,
    offset: i16,
    number: i32,
}

const LOAD_64: u8 = 0x79;
const LOAD_32: u8 = 0x61;
const LOAD_ADDRESS: u8 = 0x18;
const STORE_BYTE: u8 = 0x72;
const ADD: u8 = 0x0f;
const SET: u8 = 0xb7;
const JUMP_IF_0: u8 = 0x15;
const JUMP_IF_NOT_BELOW: u8 = 0x35;
const END: u8 = 0x95;

/// A source that makes `LOAD_ADDRESS` load the address of a map's value.
const OF_A_VALUE: u8 = 2;

/// The tracepoint's arguments, of eight bytes each, are whether it is a preemption, the task before
/// and the task after.
const BEFORE: i16 = 8;
const AFTER: i16 = 16;

/// The kernel lets only programs read its structures that are under the GPL, too.
pub const LICENSE: &std::ffi::CStr = c"Dual MIT/GPL";

/// The program for the map behind `map` with `size` threads' bytes.
pub fn of(found: Found, map: i32, size: u32) -> Vec<Instruction> {
    let note = |argument: i16, state: u8| {
        let (task, byte) = (2, 3);
        let end = Instruction::plain(JUMP_IF_NOT_BELOW, task, 0, 4, size as i32);
        [
            Instruction::plain(LOAD_64, task, 1, argument, 0),
            Instruction::plain(LOAD_32, task, task, found.pid, 0),
            // The processors' idle tasks, which hold no locks.
            Instruction::plain(JUMP_IF_0, task, 0, 5, 0),
            end,
            Instruction::plain(LOAD_ADDRESS, byte, OF_A_VALUE, 0, map),
            Instruction::plain(0, 0, 0, 0, size_of::<Header>() as i32),
            Instruction::plain(ADD, byte, task, 0, 0),
            Instruction::plain(STORE_BYTE, byte, 0, 0, i32::from(state)),
        ]
    };
    let end = [Instruction::plain(SET, 0, 0, 0, 0), Instruction::plain(END, 0, 0, 0, 0)];
    [note(BEFORE, OFF).as_slice(), &note(AFTER, ON), &end].concat()
}

impl Instruction {
    const fn plain(code: u8, to: u8, from: u8, offset: i16, number: i32) -> Self {
        let registers =
            if cfg!(target_endian = "little") { to | from << 4 } else { to << 4 | from };
        Self { code, registers, offset, number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_end_behind_the_store_that_they_skip() {
        let program = of(Found { switch: 1, pid: 8 }, 3, 100);
        for (at, jump) in program.iter().enumerate() {
            if [JUMP_IF_0, JUMP_IF_NOT_BELOW].contains(&jump.code) {
                let to = at + 1 + jump.offset as usize;
                assert_eq!(program[to - 1].code, STORE_BYTE, "{at}");
            }
        }
    }
}
