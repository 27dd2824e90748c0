//! What was found, and how it is printed.

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::text::wrapped;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Ok,
    /// furwock works, but less well, or without something.
    Note,
    /// furwock can't serve programs.
    Problem,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub state: State,
    pub subject: &'static str,
    pub text: String,
    /// What to do about it.
    pub mend: Option<String>,
}

/// The width of the state's and the subject's columns.
const STATE: usize = 9;
const SUBJECT: usize = 13;

impl Finding {
    pub fn ok(subject: &'static str, text: impl Into<String>) -> Self {
        Finding { state: State::Ok, subject, text: text.into(), mend: None }
    }

    pub fn note(subject: &'static str, text: impl Into<String>, mend: impl Into<String>) -> Self {
        Finding { state: State::Note, subject, text: text.into(), mend: Some(mend.into()) }
    }

    pub fn problem(
        subject: &'static str,
        text: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Finding { state: State::Problem, subject, text: text.into(), mend: Some(mend.into()) }
    }

    /// The finding, and below it how to mend it, in lines of `columns` letters.
    pub fn lines(&self, columns: usize) -> String {
        let (word, style) = match self.state {
            State::Ok => ("ok", Style::new()),
            State::Note => ("note", Style::new().fg_color(Some(AnsiColor::Yellow.into()))),
            State::Problem => ("problem", Style::new().fg_color(Some(AnsiColor::Red.into()))),
        };
        let mend = self.mend.as_ref().map(|mend| format!("-> {mend}"));
        let texts = std::iter::once(&self.text).chain(&mend);
        let width = columns.saturating_sub(STATE + SUBJECT);
        let mut lines = texts.flat_map(|text| wrapped(text, width));
        let first = lines.next().unwrap_or_default();
        let blank = " ".repeat(STATE - word.len());
        let subject = self.subject;
        let mut text = format!("{style}{word}{style:#}{blank}{subject:SUBJECT$}{first}\n");
        lines.for_each(|line| text += &format!("{:1$}{line}\n", "", STATE + SUBJECT));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_a_terminal() {
        let long = "word ".repeat(40);
        let finding = Finding::problem("descriptors", long.clone(), long);
        let plain = |columns| anstream::adapter::strip_str(&finding.lines(columns)).to_string();
        for columns in [40, 80] {
            let plain = plain(columns);
            assert!(plain.lines().all(|line| line.chars().count() <= columns), "{plain}");
        }
        let plain = plain(80);
        assert!(plain.starts_with("problem  descriptors  word word"), "{plain}");
        assert!(plain.contains("\n                      -> word"), "{plain}");
        assert_eq!(Finding::ok("kernel", "Linux").lines(80), "ok       kernel       Linux\n");
    }
}
