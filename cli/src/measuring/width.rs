//! How wide the tables of what was measured may be.

use std::io;

use crate::streams::{NARROWEST, terminal_width};

/// Where the output is no terminal and COLUMNS isn't set.
pub const WIDTH: usize = 80;

/// COLUMNS, if it is set; else the terminal's width; else 80.
pub fn width() -> usize {
    let given = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    let given = given.filter(|columns| *columns > 0);
    given.or_else(|| terminal_width(io::stdout())).unwrap_or(WIDTH).max(NARROWEST)
}
