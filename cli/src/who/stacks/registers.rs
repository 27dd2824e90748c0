//! A thread's registers, by DWARF's numbers; those that aren't known are none.

use crate::who::process::task::Call;

#[derive(Clone, Debug)]
pub struct Registers {
    /// The instruction to go on at.
    pub code: u64,
    values: [Option<u64>; COUNT],
}

#[cfg(target_arch = "x86_64")]
mod arch {
    pub const COUNT: usize = 17;
    pub const STACK: u16 = 7;
    pub const FRAME: u16 = 6;
    pub const RETURN: u16 = 16;
    /// The return address lies on the stack at a function's start.
    pub const RETURN_IS_STACKED: bool = true;
    /// Those that functions preserve.
    pub const SAVED: &[u16] = &[3, 6, 12, 13, 14, 15];
    /// Where the kernel's register set has each of DWARF's, the code's address and the stack's.
    pub const IN_SET: &[(u16, usize)] = &[
        (0, 10),
        (1, 12),
        (2, 11),
        (3, 5),
        (4, 13),
        (5, 14),
        (6, 4),
        (7, 19),
        (8, 9),
        (9, 8),
        (10, 7),
        (11, 6),
        (12, 3),
        (13, 2),
        (14, 1),
        (15, 0),
    ];
    pub const CODE_IN_SET: usize = 16;
    pub const SET: usize = 27;
}

#[cfg(not(target_arch = "x86_64"))]
mod arch {
    /// As on aarch64: 31 general registers, then the stack's.
    pub const COUNT: usize = 32;
    pub const STACK: u16 = 31;
    pub const FRAME: u16 = 29;
    pub const RETURN: u16 = 30;
    pub const RETURN_IS_STACKED: bool = false;
    pub const SAVED: &[u16] = &[19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30];
    pub const IN_SET: &[(u16, usize)] = &[
        (19, 19),
        (20, 20),
        (21, 21),
        (22, 22),
        (23, 23),
        (24, 24),
        (25, 25),
        (26, 26),
        (27, 27),
        (28, 28),
        (29, 29),
        (30, 30),
        (31, 31),
    ];
    pub const CODE_IN_SET: usize = 32;
    pub const SET: usize = 34;
}

use arch::*;

impl Registers {
    /// What is known of a thread in a call without stopping it: its stack and its code.
    pub fn of_call(call: &Call) -> Option<Self> {
        let Call::In { stack, code, .. } = call else { return None };
        let mut registers = Self { code: *code, values: [None; COUNT] };
        registers.set(STACK, Some(*stack));
        Some(registers)
    }

    /// Those of a thread that this one traces and that has stopped.
    pub fn of_stopped(tid: i32) -> Option<Self> {
        let mut set = [0_u64; SET];
        let mut into =
            libc::iovec { iov_base: set.as_mut_ptr().cast(), iov_len: size_of_val(&set) };
        // SAFETY: the kernel writes as much as `into` has room for.
        let got = unsafe {
            libc::ptrace(libc::PTRACE_GETREGSET, tid, libc::NT_PRSTATUS as usize, &raw mut into)
        };
        if got != 0 || into.iov_len != size_of_val(&set) {
            return None;
        }
        let mut registers = Self { code: set[CODE_IN_SET], values: [None; COUNT] };
        for (register, at) in IN_SET {
            registers.set(*register, Some(set[*at]));
        }
        Some(registers)
    }

    pub fn get(&self, register: u16) -> Option<u64> {
        self.values.get(usize::from(register)).copied().flatten()
    }

    pub fn set(&mut self, register: u16, value: Option<u64>) {
        if let Some(place) = self.values.get_mut(usize::from(register)) {
            *place = value;
        }
    }

    pub fn stack(&self) -> u64 {
        self.get(STACK).unwrap_or(0)
    }

    pub fn frame(&self) -> Option<u64> {
        self.get(FRAME)
    }

    /// What callees preserve, of what is known.
    pub fn preserved(&self) -> impl Iterator<Item = u64> {
        SAVED.iter().filter_map(|register| self.get(*register))
    }

    /// The caller's, as far as the callee left them alone.
    pub fn of_caller(&self, stack: u64) -> Self {
        let mut caller = Self { code: 0, values: [None; COUNT] };
        for register in SAVED {
            caller.set(*register, self.get(*register));
        }
        caller.set(STACK, Some(stack));
        caller
    }

    /// Goes on at the return address; `found` is what the unwinding rules say it is.
    pub fn return_to(&mut self, found: Option<u64>) -> Option<()> {
        self.code = match found {
            Some(code) => code,
            None if !RETURN_IS_STACKED => self.get(RETURN)?,
            None => return None,
        };
        Some(())
    }

    pub fn is_return(register: u16) -> bool {
        register == RETURN
    }
}
