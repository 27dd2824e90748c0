//! What the commands that measure have in common: child processes and what they took, whether the
//! machine was disturbed meanwhile, and how the figures are shown.

pub mod child;
pub mod document;
pub mod interrupt;
pub mod layout;
pub mod limits;
pub mod machine;
pub mod noise;
pub mod number;
pub mod output;
pub mod table;
pub mod tally;
pub mod width;
pub mod workload_run;

use indicatif::{ProgressBar, ProgressStyle};

/// The exit status after Ctrl-C.
pub const STATUS_INTERRUPTED: i32 = 130;

/// On standard error, and hidden if that is no terminal.
pub fn progress_bar(steps: usize) -> ProgressBar {
    // What is cut off in a narrow terminal comes last.
    const TEMPLATE: &str = "{bar:20} {pos}/{len} (about {eta} left) {wide_msg}";
    let style = ProgressStyle::with_template(TEMPLATE);
    ProgressBar::new(steps as u64).with_style(style.expect("a valid template"))
}
