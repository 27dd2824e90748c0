//! How wide the tables of what was measured may be.

use std::io;

use crate::streams::{NARROWEST, columns_of};

/// Where the output is no terminal and COLUMNS isn't set.
pub const WIDTH: usize = 80;

/// COLUMNS, if it is set; else the terminal's width; else 80.
pub fn width() -> usize {
    columns_of(io::stdout()).unwrap_or(WIDTH).max(NARROWEST)
}
