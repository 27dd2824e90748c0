//! A stack as JSON.

use serde_json::{Value, json};

use super::Stack;

/// The innermost frame first; `docs/who.md` has the fields.
pub fn stack(stack: &Stack) -> Vec<Value> {
    let frames = stack.frames.iter();
    let frames = frames.map(|frame| {
        let functions: Vec<Value> = frame
            .places
            .iter()
            .map(|place| {
                json!({
                    "function": place.function,
                    "file": place.file,
                    "line": place.line,
                    "is_inlined": place.is_inlined,
                })
            })
            .collect();
        json!({
            "code": format!("{:#x}", frame.code),
            "module": frame.origin.as_ref().map(|origin| &origin.name),
            "build_id": frame.origin.as_ref().and_then(|origin| origin.build_id.as_ref()),
            "address": format!("{:#x}", frame.address),
            "functions": functions,
        })
    });
    frames.collect()
}
