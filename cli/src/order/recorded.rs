//! The order that a record has, of one process, with its functions' and locks' names.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use furwock_record::GATE_READ;
use serde_json::{Value, json};

use super::document::{FORMAT, document};
use super::{Edge, Findings, Frame, Gate, Lock, Names, Node, Options, Order, Suppressions, text};
use crate::contention::code::{Code, Images};
use crate::contention::words;
use crate::failure::{Failure, STATUS_FAILED};
use crate::lines::Lines;
use crate::record::entries::Kind;
use crate::record::{Part, Record};
use crate::symbols::functions::is_start;

/// What was recorded of a process, and what it is called.
pub struct Recorded<'p> {
    pub order: Order,
    part: &'p Part,
    code: RefCell<Code<'p>>,
    stacks: RefCell<HashMap<u32, Vec<Frame>>>,
}

impl<'p> Recorded<'p> {
    pub fn of(part: &'p Part, images: &mut Images) -> Self {
        let mut code = Code::of(part, images);
        let mut classes: HashMap<(u32, String), usize> = HashMap::new();
        let mut nodes: HashMap<u32, Node> = HashMap::new();
        let [locks, threads, stacks, .., edges] = part.lost;
        let lost = locks.saturating_add(threads).saturating_add(edges);
        let mut order = Order { lost, lost_stacks: stacks, ..Order::default() };
        for (&key, lock) in &part.locks {
            nodes.insert(key, order.locks.len());
            let address = format!("{:#x}", lock.address);
            let made_in = code.maker(lock.made_by);
            let class = made_in.clone().map(|place| {
                let next = classes.len();
                *classes.entry((lock.kind as u32, place)).or_insert(next)
            });
            let named = lock.name.clone().or_else(|| code.symbol(lock.address));
            let place = || made_in.as_ref().map(|place| format!("made in {place}"));
            let named = named.or_else(place).or_else(|| code.file(lock.address));
            let kind = words::kind_in_full(lock.kind);
            let text = match &named {
                _ if lock.kind == Kind::Thread => "the thread".to_owned(),
                Some(name) => format!("{kind} {name} ({address})"),
                None => format!("{kind} {address}"),
            };
            order.locks.push(Lock {
                text,
                name: named.unwrap_or(address),
                made_in,
                class,
                is_gone: lock.is_destroyed,
                is_thread: lock.kind == Kind::Thread,
            });
        }
        let gate = |gate: u32| {
            let lock = *nodes.get(&(gate & !GATE_READ))?;
            Some(Gate { lock, for_reading: gate & GATE_READ != 0 })
        };
        let edges = part.edges.iter().filter_map(|edge| {
            Some(Edge {
                held: *nodes.get(&edge.held)?,
                taken: *nodes.get(&edge.taken)?,
                held_stack: edge.held_stack,
                taken_stack: edge.taken_stack,
                thread: edge.thread,
                flags: edge.flags,
                count: edge.count,
                gates: edge
                    .gates
                    .iter()
                    .filter(|gate| **gate != 0)
                    .filter_map(|&each| gate(each))
                    .collect(),
            })
        });
        order.edges = edges.collect();
        Self { order, part, code: RefCell::new(code), stacks: RefCell::default() }
    }
}

impl Names for Recorded<'_> {
    fn stack(&self, number: u32) -> Vec<Frame> {
        if number == 0 {
            return Vec::new();
        }
        if let Some(known) = self.stacks.borrow().get(&number) {
            return known.clone();
        }
        let stack = self.code.borrow_mut().stack(number);
        let mut frames = Vec::new();
        for frame in &stack.frames {
            if frame.places.is_empty() {
                let function = format!("{:#x}", frame.address);
                frames.push(Frame { function, place: frame.file_name().to_owned() });
            }
            let named = frame.places.iter().filter(|place| !is_start(&place.function));
            frames.extend(named.map(|place| {
                let file = place.file.as_deref().and_then(|file| file.rsplit('/').next());
                let place_text = match (file, place.line) {
                    (Some(file), Some(line)) => format!("{file}:{line}"),
                    (Some(file), None) => file.to_owned(),
                    (None, _) => frame.file_name().to_owned(),
                };
                Frame { function: place.function.clone(), place: place_text }
            }));
        }
        self.stacks.borrow_mut().insert(number, frames.clone());
        frames
    }

    fn thread(&self, tid: u32) -> String {
        self.part.thread_name(tid)
    }
}

/// The report of all processes of a record, and whether one of them could deadlock.
pub fn report(record: &Record, options: &Options, width: usize) -> (String, bool) {
    let mut images = Images::default();
    let mut output = String::new();
    let mut any_counts = false;
    let ordered: Vec<&Part> = record.parts.iter().filter(|part| part.has_order).collect();
    for part in &ordered {
        let recorded = Recorded::of(part, &mut images);
        let found = Findings::of(&recorded.order, options, &recorded);
        any_counts |= found.any_counts();
        let says = text(&found, &recorded.order, &recorded, width);
        if !says.is_empty() {
            output += &head(part, &recorded.order, &found, width);
            output += "\n";
            output += &says;
        }
    }
    if output.is_empty() && !ordered.is_empty() {
        output = match &ordered[..] {
            [part] => {
                let order = Recorded::of(part, &mut images).order;
                head(part, &order, &Findings::default(), width)
            }
            _ => {
                let mut lines = Lines::within(width);
                let count = ordered.len();
                lines.plain(&format!("Lock order: {count} processes, no possible deadlock"));
                lines.into_text()
            }
        };
    }
    (output, any_counts)
}

fn head(part: &Part, order: &Order, found: &Findings, width: usize) -> String {
    let (pid, name) = (part.pid, part.name());
    let (steps, locks) = (order.edges.len() as u64, order.locks.len() as u64);
    let counting = found.findings.iter().filter(|finding| finding.counts).count() as u64;
    let found = match counting {
        0 => "no possible deadlock".to_owned(),
        count => words::plural(count, "possible deadlock", "possible deadlocks"),
    };
    let mut lines = Lines::within(width);
    lines.plain(&format!(
        "Lock order of {name} ({pid}): {found}; {} taken with another held, of {}",
        words::plural(steps, "step: a lock", "steps: a lock"),
        words::plural(locks, "lock", "locks"),
    ));
    lines.into_text()
}

/// The same for programs.
pub fn report_document(record: &Record, options: &Options) -> Value {
    let mut images = Images::default();
    let ordered = record.parts.iter().filter(|part| part.has_order);
    let processes = ordered.map(|part| {
        let recorded = Recorded::of(part, &mut images);
        let found = Findings::of(&recorded.order, options, &recorded);
        let mut process = document(&found, &recorded.order, &recorded);
        process["pid"] = part.pid.into();
        process["command"] = part.command.clone().into();
        process
    });
    json!({ "format": FORMAT, "processes": processes.collect::<Vec<_>>() })
}

/// What the command's options ask for. Reads a file of suppressions, if one is named.
pub fn options(suppressions: Option<&Path>, by_place: bool) -> Result<Options, Failure> {
    let Some(path) = suppressions else { return Ok(Options { by_place, ..Options::default() }) };
    let failed = |why: String| Failure::new(STATUS_FAILED, format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let suppressions = Suppressions::parse(&text).map_err(failed)?;
    Ok(Options { suppressions, by_place })
}
