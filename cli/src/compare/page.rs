//! The page of a comparison: the same as a benchmark's.

use super::builtin_table::{Measured, Summary as Cells};
use super::program_table::Summary;
use super::runs::ProgramPair as Pair;
use crate::measuring::machine::Machine;
use crate::measuring::number::times;
use crate::measuring::number::with_unit;
use crate::report::model::{BarGroup, Bars, Block, Cell, Finding, Page, Section, Table, Tone};
use crate::statistics::Verdict;

fn plain(text: impl Into<String>) -> Cell {
    Cell { text: text.into(), tone: Tone::Neutral }
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Faster => Tone::Win,
        Verdict::Slower => Tone::Loss,
        Verdict::NoDifference | Verdict::TooFewPairs => Tone::Neutral,
    }
}

fn method(pairs: &str, notes: &str) -> Section {
    let mut text = vec![
        format!(
            "glibc and furwock run in turn, in pairs whose order alternates; {pairs} Figures are medians. A \
             verdict is a two-sided sign test over the pairs, at 1/16: of 5 to 8 pairs all must point the same \
             way, of 9 to 11 all but one. A median within 1 % counts as no difference."
        ),
        "A pair during which a CPU was away for more than a millisecond (probed before and after) is repeated, \
         up to a limit."
            .to_owned(),
    ];
    text.extend(notes.lines().map(str::to_owned));
    Section { heading: "How it was measured".to_owned(), text, blocks: Vec::new() }
}

fn page(machine: &Machine, summary: Vec<Finding>, sections: Vec<Section>) -> Page {
    Page {
        title: "furwock compare: glibc's locks and furwock's".to_owned(),
        provenance: vec![
            machine.to_string(),
            format!("furwock {}", std::env::args().skip(1).collect::<Vec<_>>().join(" ")),
            format!("furwock {}", env!("CARGO_PKG_VERSION")),
        ],
        summary,
        sections,
    }
}

fn gains(groups: Vec<BarGroup>) -> Block {
    Block::Bars(Bars {
        caption: "furwock's gain over glibc".to_owned(),
        axis: "times".to_owned(),
        kinds: vec!["furwock over glibc".to_owned()],
        groups,
        logarithmic: true,
        neutral: 1.0,
        notes: vec!["More than 1: furwock does better.".to_owned()],
    })
}

/// Of the built-in workloads.
pub fn of_builtin(machine: &Machine, cells: &[Cells], notes: &str) -> Page {
    let measured: Vec<(&Cells, &Measured)> =
        cells.iter().filter_map(|cells| Some((cells, cells.measured.as_ref()?))).collect();
    let count = |wanted: Verdict| {
        measured.iter().filter(|(_, measured)| measured.verdict == wanted).count()
    };
    let (better, worse) = (count(Verdict::Faster), count(Verdict::Slower));
    let overall = Finding {
        tone: if better > worse { Tone::Win } else { Tone::Neutral },
        text: format!(
            "Of {} figures furwock does better in {better}, worse in {worse}, and no different in {}.",
            measured.len(),
            measured.len() - better - worse
        ),
    };
    let notable = |verdict: Verdict| {
        measured.iter().filter(move |(_, measured)| measured.verdict == verdict).map(
            |(cells, measured)| Finding {
                tone: tone(measured.verdict),
                text: format!(
                    "{}: {} as good as glibc.",
                    cells.title(),
                    times(measured.gain.median)
                ),
            },
        )
    };
    let mut findings = vec![overall];
    findings.extend(notable(Verdict::Slower));
    let mut best: Vec<_> =
        measured.iter().filter(|(_, measured)| measured.verdict == Verdict::Faster).collect();
    best.sort_by(|one, other| other.1.gain.median.total_cmp(&one.1.gain.median));
    findings.extend(best.into_iter().take(3).map(|(cells, measured)| Finding {
        tone: Tone::Win,
        text: format!("{}: {} as good as glibc.", cells.title(), times(measured.gain.median)),
    }));

    let row = |cells: &Cells| {
        let words = cells.words();
        let tone = match (&cells.measured, cells.ok) {
            (_, false) => Tone::Loss,
            (Some(measured), true) => tone(measured.verdict),
            (None, true) => Tone::Neutral,
        };
        let last = words.len() - 1;
        let cell = |(index, text): (usize, String)| {
            let text = anstream::adapter::strip_str(&text).to_string();
            if index == last { Cell { text, tone } } else { plain(text) }
        };
        words.into_iter().enumerate().map(cell).collect()
    };
    let table = Table {
        caption: "All figures".to_owned(),
        header: super::builtin_table::HEADER.map(str::to_owned).to_vec(),
        rows: cells.iter().map(row).collect(),
        notes: vec!["Switches are voluntary ones, per operation.".to_owned()],
    };
    let group = |(cells, measured): &(&Cells, &Measured)| BarGroup {
        name: cells.title(),
        values: vec![Some(measured.gain.median)],
    };
    let section = Section {
        heading: "Built-in workloads".to_owned(),
        text: vec![
            "The same program, once on glibc and once with furwock's library beneath it. Each run checks its \
             own result."
                .to_owned(),
        ],
        blocks: vec![gains(measured.iter().map(group).collect()), Block::Table(table)],
    };
    page(machine, findings, vec![section, method("each run is a process of its own.", notes)])
}

/// Of a program's runs.
pub fn of_program(
    machine: &Machine,
    command: &str,
    pairs: &[Pair],
    summary: &Summary,
    notes: &str,
) -> Page {
    let finding = Finding { tone: tone(summary.verdict), text: summary.sentence(pairs) };
    let row = |row: &super::program_table::Row| {
        let said = |value| with_unit(value, row.unit);
        let ratio = row.ratio;
        vec![
            plain(row.figure),
            plain(said(row.median.glibc)),
            plain(said(row.median.furwock)),
            plain(times(ratio.median)),
            plain(format!("{} to {}", times(ratio.min), times(ratio.max))),
        ]
    };
    let header = ["median of runs", "glibc", "furwock", "furwock/glibc", "least to greatest"];
    let table = Table {
        caption: "What the runs took".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        rows: summary.figures.iter().map(row).collect(),
        notes: vec!["Costs: less than 1 is better for furwock.".to_owned()],
    };
    let groups = summary.figures.iter().filter(|row| row.ratio.median > 0.0).map(|row| BarGroup {
        name: row.figure.to_owned(),
        values: vec![Some(1.0 / row.ratio.median)],
    });
    let section = Section {
        heading: "The program".to_owned(),
        text: vec![format!("{command}, {} pairs of runs.", pairs.len())],
        blocks: vec![gains(groups.collect()), Block::Table(table)],
    };
    page(machine, vec![finding], vec![section, method("", notes)])
}
