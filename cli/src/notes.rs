//! The notes at the end of a command's help: examples, environment, exit statuses. They are written
//! for 100 columns, and set anew for the terminal's width and for manual pages.
//!
//! A line that ends with a colon and isn't indented begins a section. In it, two columns are a list
//! of terms, a line with deeper lines below it is a term, and other lines are paragraphs.

use clap::Command;

use crate::lines::{Lines, width};
use crate::streams::columns_of;

/// The narrowest and the widest help.
const NARROWEST: usize = 40;
const WIDEST: usize = 100;
/// Where the text of terms begins at most, in a narrow terminal.
const NARROW_COLUMN: usize = 7;
const NARROW: usize = 70;

#[derive(Debug, PartialEq, Eq)]
pub enum Note {
    Heading(String),
    /// A term, its text, and the column at which that begins.
    Term(String, String, usize),
    Paragraph(String),
    Space,
}

pub fn parsed(notes: &str) -> Vec<Note> {
    let lines: Vec<&str> = notes.lines().collect();
    let mut found: Vec<Note> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        match found.last_mut() {
            _ if text.is_empty() => found.push(Note::Space),
            _ if indent == 0 && text.ends_with(':') => {
                found.push(Note::Heading(text.trim_end_matches(':').to_owned()));
            }
            Some(Note::Term(_, rest, _)) if indent > 2 => {
                if !rest.is_empty() {
                    rest.push(' ');
                }
                rest.push_str(text);
            }
            last => match (term(line, lines.get(at + 1).copied()), last) {
                (Some((term, rest, column)), _) => {
                    found.push(Note::Term(term.to_owned(), rest.to_owned(), column));
                }
                (None, Some(Note::Paragraph(paragraph))) => {
                    paragraph.push(' ');
                    paragraph.push_str(text);
                }
                (None, _) => found.push(Note::Paragraph(text.to_owned())),
            },
        }
    }
    found
}

/// The two columns of a line, with a gap between them or with the second where the next line
/// begins; and where the second begins.
fn term<'a>(line: &'a str, next: Option<&str>) -> Option<(&'a str, &'a str, usize)> {
    let text = line.strip_prefix("  ").filter(|text| !text.starts_with(' '))?;
    if let Some((term, rest)) = text.split_once("  ") {
        let rest = rest.trim_start();
        return Some((term, rest, line.len() - rest.len()));
    }
    let next = next?;
    let column = next.len() - next.trim_start().len();
    if column <= 2 || next.trim_start().is_empty() {
        return None;
    }
    match line.get(..column) {
        Some(term) if term.ends_with(' ') => Some((term.trim(), line[column..].trim(), column)),
        _ => Some((text, "", column)),
    }
}

/// The notes within so many columns.
fn fitted(notes: &str, columns: usize) -> String {
    let mut lines = Lines::within(columns);
    for note in parsed(notes) {
        match note {
            Note::Heading(heading) => lines.row(&format!("{heading}:")),
            Note::Space => lines.row(""),
            Note::Paragraph(text) => lines.add("  ", "  ", &text),
            Note::Term(term, text, column) => {
                let column = if columns < NARROW { column.min(NARROW_COLUMN) } else { column };
                let rest = " ".repeat(column);
                if text.is_empty() || width(&term) + 2 >= column {
                    lines.add("  ", "      ", &term);
                    if !text.is_empty() {
                        lines.add(&rest, &rest, &text);
                    }
                } else {
                    lines.add(&format!("  {term:0$}", column - 2), &rest, &text);
                }
            }
        }
    }
    lines.into_text().trim_end().to_owned()
}

/// How wide help is here.
fn columns() -> usize {
    let seen = columns_of(std::io::stdout()).or_else(|| columns_of(std::io::stderr()));
    seen.unwrap_or(WIDEST).clamp(NARROWEST, WIDEST)
}

/// The command with help that fits.
pub fn set(command: Command) -> Command {
    set_within(command, columns())
}

fn set_within(command: Command, columns: usize) -> Command {
    let notes = of(&command);
    let command = match notes.is_empty() {
        true => command,
        false => {
            let notes = fitted(&notes, columns);
            command.after_help(notes.clone()).after_long_help(notes)
        }
    };
    command.term_width(columns).mut_subcommands(|each| set_within(each, columns))
}

/// A command's notes as they are written.
pub fn of(command: &Command) -> String {
    let notes = command.get_after_long_help().or(command.get_after_help());
    notes.map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Arguments;

    #[test]
    fn notes_are_taken_apart() {
        let notes = "Examples:\n  furwock x --y\n      does it\n\nEnvironment:\n  SHORT      one\n  \
                     ABCDEFGHIJ two,\n             more\n\nVerdict:\n  A sentence.\n  Another.";
        let owned = str::to_owned;
        let expected = [
            Note::Heading(owned("Examples")),
            Note::Term(owned("furwock x --y"), owned("does it"), 6),
            Note::Space,
            Note::Heading(owned("Environment")),
            Note::Term(owned("SHORT"), owned("one"), 13),
            Note::Term(owned("ABCDEFGHIJ"), owned("two, more"), 13),
            Note::Space,
            Note::Heading(owned("Verdict")),
            Note::Paragraph(owned("A sentence. Another.")),
        ];
        assert_eq!(parsed(notes), expected);
        let narrow = "Examples:\n  furwock x --y\n      does it\n\nEnvironment:\n  SHORT\n       \
                      one\n  ABCDEFGHIJ\n       two, more\n\nVerdict:\n  A sentence. Another.";
        assert_eq!(fitted(notes, 40), narrow);
    }

    /// Every command and those below it.
    fn each(command: &mut Command, act: &mut impl FnMut(&mut Command)) {
        act(command);
        let names: Vec<String> =
            command.get_subcommands().map(|each| each.get_name().to_owned()).collect();
        // The help's commands have the names of the others.
        for name in names.into_iter().filter(|name| name != "help") {
            each(command.find_subcommand_mut(&name).expect("listed"), act);
        }
    }

    #[test]
    fn every_help_fits_its_width() {
        let mut count = 0;
        for columns in [60, 80, 100] {
            let mut command = set_within(Arguments::plain(), columns);
            command.build();
            each(&mut command, &mut |command| {
                let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
                for help in [command.render_help(), command.render_long_help()] {
                    for line in help.to_string().lines() {
                        assert!(width(line) <= columns, "{name} at {columns}: {line}");
                    }
                    count += 1;
                }
            });
        }
        assert!(count > 150, "{count}");
    }

    #[test]
    fn every_command_has_examples_and_exit_statuses() {
        let mut command = Arguments::plain();
        command.build();
        each(&mut command, &mut |command| {
            if command.is_hide_set() {
                return;
            }
            let notes = parsed(&of(command));
            let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
            for wanted in ["Examples", "Exit status"] {
                let has = |note: &Note| matches!(note, Note::Heading(heading) if heading == wanted);
                assert!(notes.iter().any(has), "{name}: {wanted}");
            }
        });
    }
}
