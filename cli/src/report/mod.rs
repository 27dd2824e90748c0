//! A standalone page of results: one file that needs no network, in light and dark, for screens of
//! any width and for paper.

mod axis;
mod bar_picture;
mod bar_scale;
mod bars;
mod chart;
mod chart_data;
mod heat;
mod ink;
mod look;
mod mark;
pub mod model;
mod page;
mod plot;
mod table;
mod text;

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

use model::{Bars, Page};

/// The whole page, as a file to be opened in a browser or printed.
pub fn html(page: &Page) -> String {
    page::html(page)
}

/// The bars as a standalone picture, for places that cannot show a page.
pub fn svg(bars: &Bars) -> String {
    bar_picture::svg(bars)
}
