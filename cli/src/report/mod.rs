//! A standalone page of results: one file that needs no network, in light and dark, for screens of
//! any width and for paper.

mod axis;
mod bar_picture;
mod bar_scale;
mod bars;
mod chart;
mod chart_data;
mod first;
mod flame;
mod folded;
mod heat;
mod ink;
mod labels;
mod look;
mod mark;
pub mod model;
mod page;
mod plot;
mod table;
mod text;
mod timeline;

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

pub use bar_picture::svg;
pub use page::html;
