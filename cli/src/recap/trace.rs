//! The last waits as Chrome's trace events, which Perfetto opens too.

use serde_json::{Value, json};

use crate::contention::{Contention, words};
use crate::record::entries::Event;
use crate::symbols::words::functions;

const ENDS: [&str; 5] = ["stolen", "spun", "slept", "handed over", "timed out"];

pub fn text(all: &mut [Contention<'_>]) -> String {
    let first = all.iter().map(|of| of.part.began).min().unwrap_or(0);
    let mut events = Vec::new();
    for of in all {
        process(of, first, &mut events);
    }
    let document = json!({ "displayTimeUnit": "ms", "traceEvents": events });
    format!("{document}\n")
}

fn process(of: &mut Contention<'_>, first: u64, events: &mut Vec<Value>) {
    let part = of.part;
    let command = part.command.join(" ");
    events.push(json!({
        "ph": "M", "name": "process_name", "pid": part.pid, "args": { "name": command },
    }));
    for thread in &part.threads {
        events.push(json!({
            "ph": "M", "name": "thread_name", "pid": part.pid, "tid": thread.tid,
            "args": { "name": thread.name },
        }));
    }
    for event in &part.events {
        events.push(wait(of, first, event));
    }
}

fn wait(of: &mut Contention<'_>, first: u64, event: &Event) -> Value {
    let part = of.part;
    let kind = part.locks.get(&event.lock).map_or("lock", |lock| words::kind_in_full(lock.kind));
    let stack = functions(&of.code.stack(event.stack));
    let holder = (event.holder != 0).then(|| part.thread_name(event.holder));
    json!({
        "ph": "X",
        "name": of.name(event.lock),
        "cat": kind,
        "pid": part.pid,
        "tid": event.thread,
        "ts": part.seconds(event.began.saturating_sub(first)) * 1e6,
        "dur": part.seconds(event.took) * 1e6,
        "args": {
            "held by": holder,
            "ended": ENDS.get(event.got as usize),
            "stack": stack,
        },
    })
}
