//! The picture as JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::text::names;
use crate::symbols;
use crate::who::chains::{Deadlock, Holder, ThreadId, Verdict, Waiting, World};
use crate::who::locks::{EndsBy, Kind};
use crate::who::stacks::Symbols;

/// All threads of all processes that were looked at; `docs/who.md` has the fields.
pub fn document(world: &World, verdict: &Verdict, seen: &mut Symbols) -> Value {
    let names = names(world, seen);
    let processes: Vec<Value> = world
        .processes
        .values()
        .map(|process| {
            let own = world.threads.iter().filter(|(id, _)| id.pid == process.pid);
            let threads = own.map(|(id, waiting)| thread(world, *id, waiting, &names));
            json!({
                "pid": process.pid,
                "name": process.name,
                "threads": threads.collect::<Vec<_>>(),
            })
        })
        .collect();
    let deadlocks: Vec<Value> = verdict
        .deadlocks
        .iter()
        .map(|deadlock| {
            let kind = match deadlock {
                Deadlock::Cycle(_) => "cycle",
                Deadlock::HolderEnded(_) => "holder ended",
                Deadlock::NoneLeft(_) => "none left to wake",
            };
            let threads = deadlock.threads(world);
            json!({ "kind": kind, "threads": threads.into_iter().map(id_of).collect::<Vec<_>>() })
        })
        .collect();
    let perhaps: Vec<Value> = verdict
        .perhaps
        .iter()
        .map(|cycle| json!({ "threads": cycle.iter().copied().map(id_of).collect::<Vec<_>>() }))
        .collect();
    json!({
        "format": 1,
        "deadlocks": deadlocks,
        "perhaps_deadlocks": perhaps,
        "only_a_signal_could_wake": verdict.only_by_signal,
        "processes": processes,
        "not_known": world.unknown,
    })
}

fn id_of(id: ThreadId) -> Value {
    json!({ "pid": id.pid, "tid": id.tid })
}

fn thread(
    world: &World,
    id: ThreadId,
    waiting: &Waiting,
    names: &BTreeMap<(i32, u64), String>,
) -> Value {
    let wait = &waiting.wait;
    let holders: Vec<Value> = waiting
        .holders
        .iter()
        .map(|holder| match holder {
            Holder::Thread(id) => id_of(*id),
            Holder::Ended(tid) => json!({ "tid": tid, "has_ended": true }),
            Holder::Unknown(tid) => json!({ "tid": tid, "is_unknown": true }),
        })
        .collect();
    let state = match wait.kind {
        Kind::Running => "runs",
        Kind::Unknown => "unknown",
        Kind::Call(_) => "in a call",
        _ => "waits",
    };
    let hex = |at: Option<u64>| at.map(|at| format!("{at:#x}"));
    let name = |at: Option<u64>| at.and_then(|at| names.get(&(id.pid, at)).cloned());
    json!({
        "tid": id.tid,
        "name": world.name(id),
        "state": state,
        "waits_for": if state == "runs" { Value::Null } else { wait.kind.name().into() },
        "object": hex(wait.object),
        "symbol": name(wait.object),
        "mutex": hex(wait.mutex),
        "mutex_symbol": name(wait.mutex),
        "holders": holders,
        "any_thread_may_wake": wait.ends_by == EndsBy::AnyThread,
        "has_timeout": wait.is_timed,
        "is_shared": wait.is_shared,
        "note": wait.note,
        "asleep_for_at_least_ms": waiting.asleep.map(|asleep| asleep.as_millis() as u64),
        "stack": symbols::document::stack(&waiting.stack),
        "stack_ends_early": waiting.stack.ends_early,
    })
}
