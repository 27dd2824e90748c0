//! `furwock pages`: what packages install of the command line: a manual page of each command, and
//! completions for bash, zsh and fish.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::args::Arguments;
use crate::failure::{Failure, STATUS_FAILED};
use crate::notes::{self, Note};

/// Write manual pages and completions
///
/// FOLDER gets man1, with a page of each command, and the completions furwock.bash, _furwock (zsh)
/// and furwock.fish. Packages install them.
#[derive(Args)]
pub struct PagesArguments {
    /// Where to; made if it isn't there
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

pub fn pages(arguments: &PagesArguments) -> Result<i32, Failure> {
    let folder = &arguments.folder;
    let failed =
        |error: io::Error| Failure::new(STATUS_FAILED, format!("{}: {error}", folder.display()));
    write(folder).map_err(failed)?;
    Ok(0)
}

fn write(folder: &Path) -> io::Result<()> {
    let man = folder.join("man1");
    fs::create_dir_all(&man)?;
    let mut command = shown();
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        // The names that the shells look for, but bash's: it wants none.
        let name = match shell {
            Shell::Zsh => "_furwock",
            Shell::Fish => "furwock.fish",
            _ => "furwock.bash",
        };
        clap_complete::generate(
            shell,
            &mut command.clone(),
            "furwock",
            &mut fs::File::create(folder.join(name))?,
        );
    }
    command.build();
    each(&command, &mut |command| {
        let name = command.get_display_name().unwrap_or(command.get_name());
        fs::write(man.join(format!("{name}.1")), page(command)?)
    })
}

/// The command line without what is hidden.
fn shown() -> Command {
    let all = Arguments::plain();
    let shown = all.get_subcommands().filter(|each| !each.is_hide_set()).cloned();
    let command = Command::new("furwock").version(env!("CARGO_PKG_VERSION"));
    command
        .about(all.get_about().cloned().unwrap_or_default())
        .long_about(all.get_long_about().cloned().unwrap_or_default())
        .after_long_help(notes::of(&all))
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands(shown.map(|each| match each.has_subcommands() {
            true => each.disable_help_subcommand(true),
            false => each,
        }))
}

/// A command and those below it.
fn each(command: &Command, act: &mut impl FnMut(&Command) -> io::Result<()>) -> io::Result<()> {
    act(command)?;
    command.get_subcommands().try_for_each(|below| each(below, act))
}

/// A command's manual page. The notes at the end of its help are sections of their own.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let notes = notes::of(command);
    let man = Man::new(command.clone());
    let name = command.get_display_name().unwrap_or(command.get_name());
    let mut page = Vec::new();
    // Without a date: the same sources make the same page.
    writeln!(page, ".TH {name} 1 \"\" \"furwock {}\"", env!("CARGO_PKG_VERSION"))?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut rest = sections(&notes);
    see_also(command, &mut rest);
    rest.to_writer(&mut page)?;
    Ok(page)
}

fn see_also(command: &Command, page: &mut Roff) {
    let name = command.get_display_name().unwrap_or(command.get_name());
    page.control("SH", ["SEE ALSO"]);
    match name.rsplit_once('-') {
        Some((above, _)) => page.text([bold(above), roman("(1)")]),
        None => page.text([bold("furwock"), roman("(3)")]),
    };
}

/// The notes of a help text as sections, terms and paragraphs.
fn sections(notes: &str) -> Roff {
    let mut page = Roff::new();
    let mut is_after_term = false;
    for note in notes::parsed(notes) {
        match &note {
            Note::Heading(heading) => {
                page.control("SH", [heading.to_uppercase().as_str()]);
            }
            Note::Space => {}
            Note::Term(term, text, _) => {
                page.control("TP", []);
                page.text([bold(term)]);
                if !text.is_empty() {
                    page.text([roman(text)]);
                }
            }
            Note::Paragraph(text) => {
                if is_after_term {
                    page.control("PP", []);
                }
                page.text([roman(text)]);
            }
        }
        is_after_term = matches!(note, Note::Term(..));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_become_sections_and_terms() {
        let notes = "Environment:\n  A_LONG_VARIABLE\n             a time\n  SHORT      one\n  \
                     ABCDEFGHIJ two,\n             more\n\nVerdict:\n  A sentence.\n  Another.\n\
                     \nExit status:\n  0    done\n  else the status\n       of it";
        let page = sections(notes).to_roff();
        let expected = ".SH ENVIRONMENT\n.TP\n\\fBA_LONG_VARIABLE\\fR\na time\n.TP\n\
                        \\fBSHORT\\fR\none\n.TP\n\\fBABCDEFGHIJ\\fR\ntwo, more\n\
                        .SH VERDICT\nA sentence. Another.\n.SH \"EXIT STATUS\"\n.TP\n\
                        \\fB0\\fR\ndone\n.TP\n\\fBelse\\fR\nthe status of it\n";
        assert_eq!(page, expected);
    }

    #[test]
    fn each_shown_command_has_a_page_with_its_options() {
        let mut command = shown();
        command.build();
        let mut names = Vec::new();
        each(&command, &mut |command| {
            let text = String::from_utf8(page(command)?).unwrap();
            for option in command.get_opts().filter_map(clap::Arg::get_long) {
                let option = option.replace('-', "\\-");
                assert!(text.contains(&format!("\\-\\-{option}")), "{option} in {text}");
            }
            names.push(command.get_display_name().unwrap_or(command.get_name()).to_owned());
            Ok(())
        })
        .unwrap();
        for name in ["furwock", "furwock-run", "furwock-who", "furwock-bench-mutex"] {
            assert!(names.iter().any(|each| each == name), "{names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("workload") || name.contains("pages")));
    }
}
