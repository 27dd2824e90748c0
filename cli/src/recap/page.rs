//! The report as a page.

use super::{folded, text, timeline};
use crate::contention::chains::chains;
use crate::contention::{Contention, sentences, words};
use crate::record::entries::Site;
use crate::report;
use crate::report::model::{Block, Cell, Finding, Flame, Folded, Page, Section, Table, Tone};
use crate::symbols;

/// Processes that have sections of their own, and locks with a sentence.
const PROCESSES: usize = 4;
const LOCKS: usize = 12;
const CHAINS: usize = 12;
const SITES: usize = 6;

pub fn html(all: &mut [Contention<'_>]) -> String {
    let title = all.first().map_or("?", |of| of.part.name());
    let title = format!("Where the threads of {title} waited");
    let mut provenance: Vec<String> = all
        .iter()
        .take(PROCESSES)
        .map(|of| format!("{}: {}", of.part.pid, of.part.command.join(" ")))
        .collect();
    provenance.push(format!("furwock {}", env!("CARGO_PKG_VERSION")));
    let (mut sections, several) = (Vec::new(), all.len() > 1);
    for of in all.iter_mut().take(PROCESSES) {
        process(of, several, &mut sections);
    }
    if several {
        sections.push(others(all));
    }
    let verdict =
        all.first().map(|of| Finding { tone: Tone::Neutral, text: sentences::verdict(of) });
    report::html(&Page { title, provenance, verdict, sections, ..Page::default() })
}

fn process(of: &mut Contention<'_>, several: bool, sections: &mut Vec<Section>) {
    let suffix = if several { format!(" of process {}", of.part.pid) } else { String::new() };
    let heading = |words: &str| format!("{words}{suffix}");
    let mut verdict = vec![format!("{}.", sentences::headline(of)), sentences::whole(of)];
    if several {
        verdict.insert(0, sentences::verdict(of));
    }
    verdict.extend(sentences::lost(of));
    sections.push(Section::new(heading("Verdict"), verdict, Vec::new()));
    if !of.locks.is_empty() {
        sections.push(worst(of, heading("Worst locks")));
    }
    if let Some(lanes) = timeline::timeline(of) {
        let blocks = vec![Block::Timeline(lanes)];
        sections.push(Section::new(heading("Timeline of waits"), Vec::new(), blocks));
    }
    sections.extend(wait_chains(of, heading("Wait chains")));
    sections.extend(flame(of, heading("Flame graph of waiting")));
    let rest = rest(of, heading("More figures"));
    sections.extend((!rest.blocks.is_empty()).then_some(rest));
}

fn worst(of: &mut Contention<'_>, heading: String) -> Section {
    let count = of.locks.len();
    let text = (0..count.min(LOCKS)).map(|at| sentences::lock(of, at)).collect();
    let time = |ticks| words::time(of.part, ticks);
    let rows: Vec<Vec<Cell>> = of
        .locks
        .iter()
        .map(|group| {
            let held =
                |ticks| if group.figures.hold.count == 0 { "—".to_owned() } else { time(ticks) };
            let cells = [
                group.spoken(),
                words::kind_in_full(group.kind).to_owned(),
                words::count(group.figures.operations),
                words::percent(group.share()),
                words::count(group.figures.sleeps),
                time(group.figures.wait.total),
                time(group.figures.wait.longest),
                held(group.figures.hold.total),
                held(group.figures.hold.longest),
                sentences::endings(group),
            ];
            cells.map(Cell::plain).into()
        })
        .collect();
    let header = [
        "lock",
        "kind",
        "operations",
        "contended",
        "sleeps",
        "waited",
        "longest wait",
        "held",
        "longest hold",
        "how it was got",
    ];
    let table = Table::new("Contended locks", header, rows).with_note(
        "Held: as far as measured, which is after contended attempts and now and then otherwise.",
    );
    Section::new(heading, text, vec![Block::Table(table)])
}

fn wait_chains(of: &Contention<'_>, heading: String) -> Option<Section> {
    let chains = chains(of.part, CHAINS);
    if chains.is_empty() {
        return None;
    }
    let rows = chains.iter().map(|chain| {
        let locks = chain.waits.iter().map(|wait| of.spoken(wait.lock));
        let locks = locks.collect::<Vec<_>>().join(" ← ");
        let cells = [locks, words::time(of.part, chain.overlap), text::sentence(of, chain)];
        cells.map(Cell::plain).into()
    });
    let table =
        Table::new("Locks whose holders waited", ["locks", "both waited", "the longest"], rows);
    let says = "A lock may be held for long only because its holder waits for another one, which is \
                then the one to look at.";
    Some(Section::new(heading, vec![says.to_owned()], vec![Block::Table(table)]))
}

fn flame(of: &mut Contention<'_>, heading: String) -> Option<Section> {
    let lines = folded::lines(of);
    if lines.is_empty() {
        return None;
    }
    let stacks = lines.into_iter().map(|line| (line.frames, line.microseconds)).collect();
    let flame = Flame {
        caption: "Time that threads waited for locks, by stack".to_owned(),
        stacks,
        amount: |microseconds| words::seconds(microseconds as f64 / 1e6),
        notes: Vec::new(),
    };
    let says = "A frame is as wide as the time that threads waited beneath it. The lock is below the \
                function that wanted it.";
    Some(Section::new(heading, vec![says.to_owned()], vec![Block::Flame(flame)]))
}

/// Stacks, waits for events, and threads.
fn rest(of: &mut Contention<'_>, heading: String) -> Section {
    let mut blocks: Vec<Block> = Vec::new();
    for at in 0..of.locks.len().min(LOCKS) {
        let (waits, holds) = (of.locks[at].waits.clone(), of.locks[at].holds.clone());
        let made_by = of.locks[at].made_by;
        let made = made(of, made_by);
        let text = format!("{}{}{made}", sites(of, "waits", &waits), sites(of, "holds", &holds));
        if !text.is_empty() {
            let summary = format!("Stacks of {}", of.locks[at].called());
            blocks.push(Block::Folded(Folded { summary, text }));
        }
    }
    let time = |ticks| words::time(of.part, ticks);
    let rows = of.events.iter().map(|group| {
        let cells = [
            group.name.clone(),
            words::kind_in_full(group.kind).to_owned(),
            words::count(group.figures.contended),
            words::count(group.figures.timeouts),
            time(group.figures.wait.total),
            time(group.figures.wait.longest),
        ];
        cells.map(Cell::plain).into()
    });
    let header = ["object", "kind", "waits", "timeouts", "waited", "longest"];
    let events = Table::new("Waits for events, which aren't contention", header, rows);
    let mut threads: Vec<_> = of.part.threads.iter().collect();
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.waited));
    let rows = threads.iter().map(|thread| {
        let name = of.part.thread_name(thread.tid);
        [name, time(thread.waited), time(thread.idle)].map(Cell::plain).into()
    });
    let threads = Table::new("Threads", ["thread", "waited for locks", "waited for events"], rows);
    blocks.extend(
        [events, threads].into_iter().filter(|table| !table.rows.is_empty()).map(Block::Table),
    );
    Section::new(heading, Vec::new(), blocks)
}

fn sites(of: &mut Contention<'_>, what: &str, sites: &[Site]) -> String {
    let mut text = String::new();
    for site in sites.iter().take(SITES) {
        let (count, total) = (words::count(site.count), words::time(of.part, site.total));
        let longest = words::time(of.part, site.longest);
        text += &format!("{count} {what}, {total} in all, the longest {longest}\n");
        for line in symbols::words::stack(&of.code.stack(site.stack)) {
            text += &format!("    {line}\n");
        }
    }
    text
}

/// The stack of the call that made a lock.
fn made(of: &mut Contention<'_>, made_by: u32) -> String {
    let lines = symbols::words::stack(&of.code.stack(made_by));
    let lines: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    if lines.is_empty() { lines } else { format!("made in\n{lines}") }
}

fn others(all: &[Contention<'_>]) -> Section {
    let rows = all.iter().map(|of| {
        let cells = [
            of.part.pid.to_string(),
            of.part.command.join(" "),
            words::time(of.part, of.part.length),
            words::time(of.part, of.waited()),
        ];
        cells.map(Cell::plain).into()
    });
    let table =
        Table::new("Processes", ["process", "command", "ran for", "waited for locks"], rows);
    Section::new("All processes", Vec::new(), vec![Block::Table(table)])
}
