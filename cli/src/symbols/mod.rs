//! Functions and objects by name: of running processes, and of what they have left behind.

pub mod document;
pub mod functions;
pub mod image;
pub mod makers;
mod names;
pub mod words;

use std::rc::Rc;

use image::{Image, Place};

/// A file that code comes from.
#[derive(Debug)]
pub struct Origin {
    /// Without its folders.
    pub name: String,
    pub build_id: Option<String>,
}

/// A function in a stack, with those that were inlined into it.
#[derive(Clone, Debug)]
pub struct Frame {
    pub code: u64,
    /// Its part of the stack, and what it keeps for its caller: where its arguments may be.
    pub stack: (u64, u64),
    pub preserved: Vec<u64>,
    /// If the code is a file's.
    pub origin: Option<Rc<Origin>>,
    /// The innermost first.
    pub places: Rc<Vec<Place>>,
    /// The address in the file.
    pub address: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Stack {
    /// The innermost first.
    pub frames: Vec<Frame>,
    /// What keeps it from being whole.
    pub ends_early: Option<&'static str>,
}

impl Frame {
    /// Empty if the code isn't a file's.
    pub fn file_name(&self) -> &str {
        self.origin.as_ref().map_or("", |origin| &origin.name)
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.origin.name)
    }
}
