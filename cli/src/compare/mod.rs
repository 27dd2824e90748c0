//! `furwock compare`: the same work on glibc's locks and on furwock's, in pairs.

mod builtin;
mod program;
mod program_table;
mod side;

use crate::args::CompareArguments;
use crate::failure::Failure;
use crate::report::model::{BarGroup, Bars, Block, Tone};
use crate::statistics::Verdict;

/// Returns the exit status.
pub fn compare(arguments: &CompareArguments) -> Result<i32, Failure> {
    if arguments.list {
        builtin::list();
        Ok(0)
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
         its own. Figures are medians. A verdict is a two-sided sign test over the pairs, at 1/16: \
         of 5 to 8 pairs all must point the same way, of 9 to 11 all but one. A median within 1 % \
         of 1 counts as no difference.",
        "A pair during which a CPU was away for more than a millisecond (probed before and after) \
         is repeated, up to a limit.",
    ];
    paragraphs.map(str::to_owned).into()
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Faster => Tone::Win,
        Verdict::Slower => Tone::Loss,
        Verdict::NoDifference | Verdict::TooFewPairs => Tone::Neutral,
    }
}

fn gains(groups: impl Iterator<Item = (String, f64)>) -> Block {
    Block::Bars(Bars {
        caption: "furwock's gain over glibc".to_owned(),
        axis: "times".to_owned(),
        kinds: vec!["furwock over glibc".to_owned()],
        groups: groups.map(|(name, gain)| BarGroup { name, values: vec![Some(gain)] }).collect(),
        notes: vec!["More than 1: furwock does better.".to_owned()],
    })
}
