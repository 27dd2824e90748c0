//! A flame graph: the whole on top, what it consists of below. A click enlarges a frame.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::model::Flame;
use super::text::{escape, paragraphs};

const ROW: usize = 19;
/// Deeper frames are left out.
const DEEPEST: usize = 48;
/// Frames that take less of the whole are left out.
const LEAST: f64 = 0.0004;
const COLOURS: u32 = 6;

const SCRIPT: &str = include_str!("flame.js");

#[derive(Default)]
struct Node {
    /// Its own and its callees'.
    total: u64,
    below: BTreeMap<String, Node>,
}

pub fn html(flame: &Flame) -> String {
    let mut root = Node::default();
    for (frames, amount) in &flame.stacks {
        let mut node = &mut root;
        node.total = node.total.saturating_add(*amount);
        for frame in frames.iter().take(DEEPEST) {
            node = node.below.entry(frame.clone()).or_default();
            node.total = node.total.saturating_add(*amount);
        }
    }
    let mut picture =
        Picture { flame, whole: root.total.max(1) as f64, svg: String::new(), rows: 0 };
    picture.frame("all", &root, 0.0, 0);
    format!(
        "<figure class=\"flame\">\n<figcaption>{}</figcaption>\n<p class=\"note\"><button \
         type=\"button\">Whole</button> A click on a frame or Enter enlarges it; arrow keys go \
         from frame to frame.</p>\n<svg width=\"100%\" height=\"{}\" role=\"tree\" \
         aria-label=\"{}\">\n{}</svg>\n{}</figure>\n<script>\n{SCRIPT}\
         </script>\n",
        escape(&flame.caption),
        picture.rows * ROW,
        escape(&flame.caption),
        picture.svg,
        paragraphs("note", &flame.notes),
    )
}

struct Picture<'f> {
    flame: &'f Flame,
    whole: f64,
    svg: String,
    rows: usize,
}

impl Picture<'_> {
    fn frame(&mut self, name: &str, node: &Node, from: f64, row: usize) {
        let share = node.total as f64 / self.whole;
        if share < LEAST {
            return;
        }
        self.rows = self.rows.max(row + 1);
        let amount = (self.flame.amount)(node.total);
        let name = escape(name);
        let _ = writeln!(
            self.svg,
            "<svg role=\"treeitem\" aria-level=\"{}\" tabindex=\"{}\" x=\"{:.3}%\" y=\"{}\" \
             width=\"{:.3}%\" height=\"{}\" data-x=\"{from:.6}\" data-w=\"{share:.6}\"><title>{name}: {} ({:.1} %)</title><rect class=\"flame-{}\" \
             width=\"100%\" height=\"100%\"/><text x=\"3\" y=\"13\">{name}</text></svg>",
            row + 1,
            if row == 0 { 0 } else { -1 },
            from * 100.0,
            row * ROW,
            share * 100.0,
            ROW - 1,
            escape(&amount),
            share * 100.0,
            colour(&name),
        );
        let mut from = from;
        for (name, below) in &node.below {
            self.frame(name, below, from, row + 1);
            from += below.total as f64 / self.whole;
        }
    }
}

/// The same function has the same colour everywhere.
fn colour(name: &str) -> u32 {
    let mix = |sum: u32, byte: u8| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    (name.bytes().fold(0x811c_9dc5, mix) >> 8) % COLOURS
}
