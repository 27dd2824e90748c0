//! Walks the calling thread's stack by the call frame information that compilers write for
//! exceptions (.eh_frame), and where there is none by frame pointers.
//!
//! Not by libgcc's unwinder, which takes a lock for code that was made at run time, and may
//! allocate while it holds that; a thread that comes here may be in the program's allocator. Which
//! file an address lies in is asked from glibc's `_dl_find_object` (2.35), which takes no lock; the
//! functions before it take the loader's, whose holder may wait for a lock of the program. Where it
//! is missing, stacks are unknown.
//!
//! What the tables describe is read directly, as an exception would. From the first frame on that
//! they don't describe, the stack is read through the kernel, which refuses where there is no
//! memory: a guess can't stop the program.

use super::kernel::call;
use crate::loaded::{self, Loaded};
use core::cell::{Cell, UnsafeCell};
use core::ptr::with_exposed_provenance;
use core::sync::atomic::Ordering;

/// A copy of a stretch of the stack.
pub(super) struct Copy {
    from: Cell<usize>,
    length: Cell<usize>,
    bytes: UnsafeCell<[u8; COPIED]>,
}

const COPIED: usize = 4 * PAGE;
const PAGE: usize = 4096;

impl Copy {
    /// What it has was read during another wait.
    pub(super) fn forget(&self) {
        self.length.set(0);
    }

    /// The word at `address`.
    fn word(&self, address: usize) -> Option<usize> {
        let is_in = |address: usize| {
            address >= self.from.get()
                && address - self.from.get() + size_of::<usize>() <= self.length.get()
        };
        if !is_in(address) {
            self.fill(address);
            if !is_in(address) {
                return None;
            }
        }
        let at = address - self.from.get();
        // SAFETY: within what was filled, by this thread alone.
        Some(unsafe { self.bytes.get().cast::<u8>().add(at).cast::<usize>().read_unaligned() })
    }

    /// Copies from `address` on, as far as there is memory.
    fn fill(&self, address: usize) {
        self.length.set(0);
        // SAFETY: this thread's own buffer.
        let to = unsafe { &mut *self.bytes.get() };
        let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: COPIED };
        // A stretch ends at the first that isn't there: one for each page.
        let mut start = address;
        let remote: [libc::iovec; 4] = core::array::from_fn(|_| {
            let end = (start + 1).next_multiple_of(PAGE);
            let page = libc::iovec {
                iov_base: core::ptr::without_provenance_mut(start),
                iov_len: end - start,
            };
            start = end;
            page
        });
        let process = super::part::PROCESS.id.load(Ordering::Relaxed) as usize;
        let (local, remote) =
            ((&raw const local).expose_provenance(), remote.as_ptr().expose_provenance());
        // SAFETY: writes into the buffer.
        let copied = unsafe { call(libc::SYS_process_vm_readv, [process, local, 1, remote, 4, 0]) };
        self.from.set(address);
        self.length.set(copied.unwrap_or(0));
    }
}

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
    pub(super) fn caller(&self, stack: &Copy) -> Option<(Self, usize)> {
        let within = self.address() - usize::from(!self.is_interrupted);
        let found = loaded::find(within).and_then(|object| step(self, within, &object, stack));
        found.or_else(|| self.caller_by_frame_pointer(stack))
    }

    /// The word at `address`, on the stack at this frame or above.
    fn word(&self, address: usize, stack: &Copy) -> Option<usize> {
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

    fn caller_by_frame_pointer(&self, stack: &Copy) -> Option<(Self, usize)> {
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

/// Reads bytes of a mapped file.
#[derive(Clone, Copy)]
struct Bytes {
    at: usize,
    end: usize,
}

impl Bytes {
    fn take<T: core::marker::Copy>(&mut self) -> Option<T> {
        if self.end - self.at < size_of::<T>() {
            return None;
        }
        // SAFETY: in a segment of a file that is mapped while its code is on the stack.
        let value = unsafe { with_exposed_provenance::<T>(self.at).read_unaligned() };
        self.at += size_of::<T>();
        Some(value)
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        (count <= self.end - self.at).then(|| self.at += count)
    }

    fn unsigned(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0_u64, 0);
        loop {
            let byte: u8 = self.take()?;
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
    }

    fn signed(&mut self) -> Option<i64> {
        let (mut value, mut shift) = (0_i64, 0);
        loop {
            let byte: u8 = self.take()?;
            if shift < 64 {
                value |= i64::from(byte & 0x7f) << shift;
            }
            shift += 7;
            if byte & 0x80 == 0 {
                let negative = byte & 0x40 != 0 && shift < 64;
                return Some(if negative { value | -1 << shift } else { value });
            }
        }
    }

    /// An address in one of the encodings that .eh_frame has. `data` is what some count from.
    fn pointer(&mut self, encoding: u8, data: usize) -> Option<usize> {
        let here = self.at;
        let value = match encoding & 0x0f {
            0x00 | 0x04 | 0x0c => self.take::<u64>()? as usize,
            0x01 => self.unsigned()? as usize,
            0x02 => self.take::<u16>()?.into(),
            0x03 => self.take::<u32>()? as usize,
            0x09 => self.signed()? as usize,
            0x0a => self.take::<i16>()? as usize,
            0x0b => self.take::<i32>()? as usize,
            _ => return None,
        };
        match encoding & 0x70 {
            0x00 => Some(value),
            0x10 => Some(here.wrapping_add(value)),
            0x30 => Some(data.wrapping_add(value)),
            _ => None,
        }
    }
}

/// How a register of the caller is found.
#[derive(Clone, Copy)]
enum Rule {
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
struct Row {
    /// The frame's address: a register and a number, or an expression.
    register: usize,
    offset: i64,
    expression: Option<Bytes>,
    rules: [Rule; REGISTERS],
}

/// What describes the functions of one kind.
struct Common {
    code_unit: u64,
    data_unit: i64,
    encoding: u8,
    has_augmentation: bool,
    is_signal: bool,
    program: Bytes,
}

/// The caller of `frame`, whose code at `within` is in `object`.
fn step(frame: &Frame, within: usize, object: &Loaded, stack: &Copy) -> Option<(Frame, usize)> {
    let entry = find(object, within)?;
    let (length, mut description) = record(entry, object.end)?;
    let common_at = description.at - description.take::<u32>()? as usize;
    let common = common(common_at, object)?;
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
    run(common.program, &common, begin, usize::MAX, &mut row, &initial)?;
    let initial = row;
    run(description, &common, begin, within, &mut row, &initial)?;
    apply(frame, &row, common.is_signal, stack)
}

/// A record's contents, and its length.
fn record(at: usize, end: usize) -> Option<(usize, Bytes)> {
    let mut bytes = Bytes { at, end };
    let length = bytes.take::<u32>()? as usize;
    // (The long form isn't used for code.)
    if length == 0 || length == u32::MAX as usize || length > end - bytes.at {
        return None;
    }
    Some((length, Bytes { at: bytes.at, end: bytes.at + length }))
}

/// The description of the function that `address` lies in, by the sorted table.
fn find(object: &Loaded, address: usize) -> Option<usize> {
    const SORTED: u8 = 0x3b;
    let table = object.table;
    if table == 0 {
        return None;
    }
    let mut bytes = Bytes { at: table, end: object.end };
    let [version, frame, count, entries]: [u8; 4] = bytes.take()?;
    if version != 1 || entries != SORTED {
        return None;
    }
    bytes.pointer(frame, table)?;
    let count = bytes.pointer(count, table)?;
    if count == 0 || count > (object.end - bytes.at) / 8 {
        return None;
    }
    let entry = |at: usize| {
        // SAFETY: within the table.
        let [start, description] =
            unsafe { with_exposed_provenance::<[i32; 2]>(bytes.at + at * 8).read_unaligned() };
        (table.wrapping_add(start as usize), table.wrapping_add(description as usize))
    };
    let (mut low, mut high) = (0, count);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if entry(middle).0 <= address { low = middle } else { high = middle }
    }
    let (start, description) = entry(low);
    let is_inside = |at: usize| at >= object.start && at < object.end;
    (start <= address && is_inside(description)).then_some(description)
}

fn common(at: usize, object: &Loaded) -> Option<Common> {
    if at < object.start || at >= object.end {
        return None;
    }
    let (_, mut bytes) = record(at, object.end)?;
    let (_id, version): (u32, u8) = (bytes.take()?, bytes.take()?);
    let mut augmentation = bytes;
    while bytes.take::<u8>()? != 0 {}
    let (code_unit, data_unit) = (bytes.unsigned()?, bytes.signed()?);
    let return_register =
        if version == 1 { u64::from(bytes.take::<u8>()?) } else { bytes.unsigned()? };
    if return_register != RIP as u64 {
        return None;
    }
    let mut common = Common {
        code_unit,
        data_unit,
        encoding: 0,
        has_augmentation: false,
        is_signal: false,
        program: bytes,
    };
    loop {
        match augmentation.take::<u8>()? {
            0 => return Some(common),
            b'z' => {
                common.has_augmentation = true;
                let length = bytes.unsigned()? as usize;
                common.program = bytes;
                common.program.skip(length)?;
            }
            b'R' => common.encoding = bytes.take()?,
            b'L' => _ = bytes.take::<u8>()?,
            b'P' => {
                let encoding: u8 = bytes.take()?;
                // (Its last bit says that a pointer to it is kept.)
                bytes.pointer(encoding & 0x0f, 0)?;
            }
            b'S' => common.is_signal = true,
            b'B' => {}
            _ => return None,
        }
    }
}

/// How deep a program remembers rows.
const REMEMBERED: usize = 4;

/// Runs a program of call frame instructions up to the row for `until`.
fn run(
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

fn apply(frame: &Frame, row: &Row, is_signal: bool, stack: &Copy) -> Option<(Frame, usize)> {
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

/// The value of an expression, of the operations that compilers and glibc use.
fn evaluate(
    mut program: Bytes,
    frame: &Frame,
    first: Option<usize>,
    stack: &Copy,
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
