//! One step up a stack, by the rules that compilers write for exceptions and debuggers.

use gimli::{CfaRule, Register, RegisterRule, UnwindContext, UnwindSection};

use super::registers::Registers;
use crate::symbols::image::{Slice, Unwinding};
use crate::who::process::memory::Memory;

type Row = gimli::UnwindTableRow<usize>;

/// Why a step can't be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The outermost function.
    End,
    /// The rules need a register that isn't known.
    Unknown,
    /// Nothing says how.
    NoRules,
}

pub struct Step {
    pub caller: Registers,
    /// The callee was entered by a signal, not by a call.
    pub is_signal: bool,
}

/// The caller's registers. `address` is the code's in the file, `bias` what is added to it in the
/// process.
pub fn step(
    registers: &Registers,
    address: u64,
    bias: u64,
    unwinding: &Unwinding,
    memory: Memory,
) -> Result<Step, Stop> {
    let mut context = UnwindContext::new();
    let bases = &unwinding.bases;
    if let Some(frame) = &unwinding.eh_frame {
        let fde = match unwinding.table.as_ref().and_then(|table| table.table()) {
            Some(table) => {
                table.fde_for_address(frame, bases, address, gimli::EhFrame::cie_from_offset)
            }
            None => frame.fde_for_address(bases, address, gimli::EhFrame::cie_from_offset),
        };
        if let Ok(fde) = fde
            && let Ok(row) = fde.unwind_info_for_address(frame, bases, &mut context, address)
        {
            let rules =
                Rules { registers, bias, memory, section: frame, encoding: fde.cie().encoding() };
            return rules.apply(row, fde.is_signal_trampoline());
        }
    }
    if let Some(frame) = &unwinding.debug_frame
        && let Ok(fde) = frame.fde_for_address(bases, address, gimli::DebugFrame::cie_from_offset)
        && let Ok(row) = fde.unwind_info_for_address(frame, bases, &mut context, address)
    {
        let rules =
            Rules { registers, bias, memory, section: frame, encoding: fde.cie().encoding() };
        return rules.apply(row, fde.is_signal_trampoline());
    }
    Err(Stop::NoRules)
}

/// By the frame pointer, for code without rules.
pub fn step_by_frame(registers: &Registers, memory: Memory) -> Result<Step, Stop> {
    let frame = registers.frame().ok_or(Stop::Unknown)?;
    if frame < registers.stack() || frame % 8 != 0 {
        return Err(Stop::NoRules);
    }
    let next = memory.u64(frame).ok_or(Stop::NoRules)?;
    let code = memory.u64(frame + 8).ok_or(Stop::NoRules)?;
    let mut caller = registers.of_caller(frame + 16);
    caller.set(if cfg!(target_arch = "x86_64") { 6 } else { 29 }, Some(next));
    caller.code = code;
    Ok(Step { caller, is_signal: false })
}

struct Rules<'a, Section> {
    registers: &'a Registers,
    bias: u64,
    memory: Memory,
    section: &'a Section,
    encoding: gimli::Encoding,
}

impl<Section: UnwindSection<Slice>> Rules<'_, Section> {
    fn apply(&self, row: &Row, is_signal: bool) -> Result<Step, Stop> {
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                let value = self.registers.get(register.0).ok_or(Stop::Unknown)?;
                value.wrapping_add_signed(*offset)
            }
            CfaRule::Expression(expression) => self.evaluate(expression, None)?,
        };
        if !is_signal && cfa <= self.registers.stack() {
            return Err(Stop::End);
        }
        let mut caller = self.registers.of_caller(cfa);
        let mut code = None;
        for (register, rule) in row.registers() {
            let value = self.value(rule, *register, cfa);
            if Registers::is_return(register.0) {
                if *rule == RegisterRule::Undefined {
                    return Err(Stop::End);
                }
                code = Some(value.ok_or(Stop::End)?);
            }
            caller.set(register.0, value);
        }
        caller.return_to(code).ok_or(Stop::End)?;
        if caller.code == 0 {
            return Err(Stop::End);
        }
        Ok(Step { caller, is_signal })
    }

    fn value(&self, rule: &RegisterRule<usize>, register: Register, cfa: u64) -> Option<u64> {
        match rule {
            RegisterRule::SameValue => self.registers.get(register.0),
            RegisterRule::Offset(offset) => self.memory.u64(cfa.wrapping_add_signed(*offset)),
            RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(*offset)),
            RegisterRule::Register(other) => self.registers.get(other.0),
            RegisterRule::Expression(expression) => {
                self.memory.u64(self.evaluate(expression, Some(cfa)).ok()?)
            }
            RegisterRule::ValExpression(expression) => self.evaluate(expression, Some(cfa)).ok(),
            RegisterRule::Constant(value) => Some(*value),
            _ => None,
        }
    }

    fn evaluate(
        &self,
        expression: &gimli::UnwindExpression<usize>,
        cfa: Option<u64>,
    ) -> Result<u64, Stop> {
        use gimli::EvaluationResult as Asks;
        let expression = expression.get(self.section).map_err(|_| Stop::NoRules)?;
        let mut evaluation = expression.evaluation(self.encoding);
        if let Some(cfa) = cfa {
            evaluation.set_initial_value(cfa);
        }
        let mut asks = evaluation.evaluate().map_err(|_| Stop::NoRules)?;
        loop {
            asks = match asks {
                Asks::Complete => break,
                Asks::RequiresRegister { register, .. } => {
                    let value = self.registers.get(register.0).ok_or(Stop::Unknown)?;
                    evaluation.resume_with_register(gimli::Value::Generic(value))
                }
                Asks::RequiresMemory { address, size, .. } => {
                    let value = self.memory.u64(address).ok_or(Stop::NoRules)?;
                    let bits = u32::from(size.min(8)) * 8;
                    let value = if bits == 64 { value } else { value & ((1 << bits) - 1) };
                    evaluation.resume_with_memory(gimli::Value::Generic(value))
                }
                Asks::RequiresRelocatedAddress(address) => {
                    evaluation.resume_with_relocated_address(address.wrapping_add(self.bias))
                }
                _ => return Err(Stop::NoRules),
            }
            .map_err(|_| Stop::NoRules)?;
        }
        match evaluation.result().first().map(|piece| piece.location) {
            Some(gimli::Location::Address { address }) => Ok(address),
            Some(gimli::Location::Value { value }) => value.to_u64(!0).map_err(|_| Stop::NoRules),
            _ => Err(Stop::NoRules),
        }
    }
}
