//! Text that a reader may unfold.

use super::model::Folded;
use super::text::escape;

pub fn html(folded: &Folded) -> String {
    format!(
        "<details class=\"folded\">\n<summary>{}</summary>\n<pre>{}</pre>\n</details>\n",
        escape(&folded.summary),
        escape(&folded.text)
    )
}
