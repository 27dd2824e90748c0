//! `furwock compare`: the same work on glibc's locks and on furwock's, in pairs.

pub mod arguments;
mod builtin;
mod builtin_cases;
mod exports;
mod lost_wakeup;
mod program;
mod program_table;
mod side;
mod steps;
mod variations;

use crate::failure::Failure;
use crate::report::model::{BarGroup, Bars, Block, Tone};
use crate::statistics::Verdict;
use arguments::CompareArguments;

/// Returns the exit status.
pub fn compare(arguments: &CompareArguments) -> Result<i32, Failure> {
    if arguments.list {
        builtin_cases::list();
        Ok(0)
    } else if arguments.lost_wakeup {
        lost_wakeup::show(&arguments.outputs())
    } else if arguments.command.is_empty() {
        builtin::compare(arguments)
    } else {
        program::compare(arguments)
    }
}

/// How pairs are measured, for the page.
fn method() -> Vec<String> {
    let paragraphs = [
        "glibc and furwock run in turn, in pairs whose order alternates; each run is a process of \
         its own. Figures are medians, and a gain is the ratio of two of them: more than 1 is \
         better for furwock. Its interval, of Wilcoxon's signed ranks over the pairs, holds the \
         true gain 19 times of 20. An interval that contains 1 is inconclusive, unless all of it \
         is within 1 % of 1.",
        "A pair during which a CPU was away for more than a millisecond (probed before and after) \
         is repeated, up to a limit.",
    ];
    paragraphs.map(str::to_owned).into()
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Faster => Tone::Win,
        Verdict::Slower => Tone::Loss,
        Verdict::Same | Verdict::Inconclusive | Verdict::TooFewPairs => Tone::Neutral,
    }
}

fn gains(groups: impl Iterator<Item = (String, f64, Option<Tone>)>) -> Block {
    let group = |(name, gain, tone)| BarGroup { name, values: vec![Some(gain)], outcome: tone };
    Block::Bars(Bars {
        caption: "furwock's gain over glibc".to_owned(),
        axis: "times".to_owned(),
        kinds: vec!["furwock over glibc".to_owned()],
        groups: groups.map(group).collect(),
        notes: vec!["More than 1: furwock does better.".to_owned()],
    })
}
