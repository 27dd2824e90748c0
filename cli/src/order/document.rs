//! The findings for programs.

use serde_json::{Value, json};

use super::findings::{Finding, Findings};
use super::{Edge, Names, Order};
use furwock_record::{HELD_READ, MANY_THREADS, TAKEN_READ, WAITED, WAKES};

/// Raised when a field's meaning changes.
pub const FORMAT: u32 = 1;

pub fn document(found: &Findings, order: &Order, names: &dyn Names) -> Value {
    let findings = found.findings.iter().map(|each| finding(each, order, names));
    json!({
        "findings": findings.collect::<Vec<_>>(),
        "suppressed": found.suppressed,
        "is_cut": found.is_cut,
        "lost": order.lost,
        "lost_stacks": order.lost_stacks,
    })
}

fn finding(finding: &Finding, order: &Order, names: &dyn Names) -> Value {
    let steps = finding.steps.iter().map(|each| step(each, order, names));
    json!({
        "kind": finding.kind.word(),
        "counts": finding.counts,
        "alike": finding.alike,
        "steps": steps.collect::<Vec<_>>(),
    })
}

fn step(step: &Edge, order: &Order, names: &dyn Names) -> Value {
    let lock = |at: usize| {
        let lock = &order.locks[at];
        json!({
            "name": lock.name,
            "text": lock.text,
            "made_in": lock.made_in,
            "is_gone": lock.is_gone,
        })
    };
    let stack = |number: u32| -> Vec<Value> {
        let frames = names.stack(number).into_iter();
        frames.map(|each| json!({ "function": each.function, "place": each.place })).collect()
    };
    let gates = step.gates.iter().map(|gate| lock(gate.lock)).collect::<Vec<_>>();
    json!({
        "held": lock(step.held),
        "held_for_reading": step.is(HELD_READ),
        "held_stack": stack(step.held_stack),
        "taken": lock(step.taken),
        "taken_for_reading": step.is(TAKEN_READ),
        "taken_stack": stack(step.taken_stack),
        "is_wait": step.is(WAITED),
        "is_wake": step.is(WAKES),
        "thread": names.thread(step.thread),
        "several_threads": step.is(MANY_THREADS),
        "count": step.count,
        "gates": gates,
    })
}
