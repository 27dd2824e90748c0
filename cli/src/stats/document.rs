//! One process as JSON; `docs/stats.md` has the fields.

use serde_json::{Value, json};

use crate::contention::{Contention, words};
use crate::record::State;
use crate::record::entries::{Site, Spell};
use crate::symbols;

pub fn process(of: &mut Contention<'_>) -> Value {
    let part = of.part;
    let state = match part.state {
        State::Running => "runs",
        State::Ended => "ended",
        State::Replaced => "replaced by exec",
        State::Killed => "killed",
    };
    let threads: Vec<Value> = part
        .threads
        .iter()
        .map(|thread| {
            json!({
                "tid": thread.tid,
                "name": thread.name,
                "waited_s": part.seconds(thread.waited),
                "waited_for_events_s": part.seconds(thread.idle),
            })
        })
        .collect();
    let locks: Vec<Value> = (0..of.locks.len()).map(|at| group(of, at, true)).collect();
    let events: Vec<Value> = (0..of.events.len()).map(|at| group(of, at, false)).collect();
    json!({
        "pid": part.pid,
        "parent": part.parent,
        "command": part.command,
        "state": state,
        "length_s": part.seconds(part.length),
        "threads": threads,
        "operations": of.operations(),
        "waited_s": part.seconds(of.waited()),
        "waited_share": of.share(of.waited()),
        "waited_for_events_s": part.seconds(of.waited_for_events()),
        "left_to_glibc": part.left_to_glibc,
        "locks": locks,
        "events": events,
        "had_no_room": part.lost,
    })
}

fn group(of: &mut Contention<'_>, at: usize, is_lock: bool) -> Value {
    let groups = if is_lock { &of.locks } else { &of.events };
    let (waits, holds) = (groups[at].waits.clone(), groups[at].holds.clone());
    let (wait, hold) = (groups[at].figures.wait, groups[at].figures.hold);
    let (wait, hold) = (spell(of, &wait), spell(of, &hold));
    let (waits, holds) = (sites(of, &waits), sites(of, &holds));
    let made_by = if is_lock { of.locks[at].made_by } else { of.events[at].made_by };
    let made_stack = symbols::document::stack(&of.code.stack(made_by));
    let groups = if is_lock { &of.locks } else { &of.events };
    let group = &groups[at];
    let did = group.figures.holder_did.iter().zip(words::DID).filter(|(count, _)| **count > 0);
    let did: Value = did.map(|(count, words)| (words.to_owned(), json!(count))).collect();
    let waiting: Vec<u32> = of.waiters(group).map(|thread| thread.tid).collect();
    json!({
        "name": group.name,
        "kind": words::kind(group.kind),
        "objects": group.locks.len(),
        "address": group.address.map(|at| format!("{at:#x}")),
        "made_in": group.made,
        "made_stack": made_stack,
        "worst": group.worst.map(|(address, waited)| {
            json!({ "address": format!("{address:#x}"), "waited_s": of.part.seconds(waited) })
        }),
        "operations": group.figures.operations,
        "contended": group.figures.contended,
        "stolen": group.figures.got[0],
        "spun": group.figures.got[1],
        "slept": group.figures.got[2],
        "handed_over": group.figures.got[3],
        "timeouts": group.figures.timeouts,
        "sleeps": group.figures.sleeps,
        "holders_did": did,
        "wait": wait,
        "hold": hold,
        "waits": waits,
        "holds": holds,
        "waiting_now": waiting,
    })
}

fn spell(of: &mut Contention<'_>, spell: &Spell) -> Value {
    let part = of.part;
    json!({
        "count": spell.count,
        "total_s": part.seconds(spell.total),
        "longest_s": part.seconds(spell.longest),
        "longest_thread": spell.longest_thread,
        "longest_began_s": part.seconds(spell.longest_began.saturating_sub(part.began)),
        "longest_stack": symbols::document::stack(&of.code.stack(spell.longest_stack)),
    })
}

fn sites(of: &mut Contention<'_>, sites: &[Site]) -> Vec<Value> {
    let part = of.part;
    let mut site = |site: &Site| {
        json!({
            "count": site.count,
            "total_s": part.seconds(site.total),
            "longest_s": part.seconds(site.longest),
            "stack": symbols::document::stack(&of.code.stack(site.stack)),
        })
    };
    sites.iter().map(&mut site).collect()
}
