//! What a look found, for people and for programs.

mod document;
mod text;
mod thread;

pub use document::document;
pub use text::text;
