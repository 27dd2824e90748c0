//! How a look is drawn, at any width.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row as TableRow, Table, TableState, Wrap};

use super::rates::{Look, Row, rate};
use super::view::{SORTS, View};
use crate::contention::words;
use crate::measuring::number::digits;

/// Columns behind the name: title, width, and the terminal's width from which on it is shown.
const COLUMNS: [(&str, u16, u16); 8] = [
    ("kind", 9, 60),
    ("ops/s", 9, 40),
    ("cont.", 6, 30),
    ("waits/s", 9, 70),
    ("sleeps/s", 9, 90),
    ("waiting", 7, 0),
    ("longest", 7, 78),
    ("now", 4, 50),
];

pub fn draw(frame: &mut Frame<'_>, look: &Look, view: &View) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)])
            .areas(frame.area());
    let frozen = if view.is_frozen { "  [frozen]" } else { "" };
    let head_text = format!("{}{frozen}", look.head);
    frame.render_widget(Paragraph::new(head_text).style(Style::new().bold()), head);
    let rows = view.rows(look);
    match rows.get(view.cursor(&rows)).filter(|_| view.is_open) {
        Some(row) => open(frame, body, row, view),
        None => table(frame, body, &rows, view),
    }
    frame.render_widget(Paragraph::new(foot_text(view)).style(Style::new().dim()), foot);
}

fn foot_text(view: &View) -> String {
    if view.is_typing {
        return format!("filter: {}_  (Enter: keep, Esc: none)", view.filter);
    }
    if view.is_open {
        return "Esc back  f freeze  q quit".to_owned();
    }
    let sorted = SORTS.iter().find(|(sort, ..)| *sort == view.sort).map_or("", |(.., name)| name);
    let filter = if view.filter.is_empty() { String::new() } else { format!(" /{}", view.filter) };
    format!("by {sorted}{filter}  (w c o s l n)  / filter  Enter open  f freeze  q quit")
}

fn table(frame: &mut Frame<'_>, area: Rect, rows: &[&Row], view: &View) {
    if rows.is_empty() {
        let says = if view.filter.is_empty() { "no thread has waited yet" } else { "no such lock" };
        frame.render_widget(Paragraph::new(says), area);
        return;
    }
    let shown: Vec<usize> =
        (0..COLUMNS.len()).filter(|column| COLUMNS[*column].2 <= area.width).collect();
    let taken: u16 = shown.iter().map(|column| COLUMNS[*column].1 + 1).sum();
    let room = area.width.saturating_sub(taken);
    let right = |text: String| Line::from(text).right_aligned();
    let header = shown.iter().map(|column| match COLUMNS[*column].0 {
        "kind" => Line::from("kind"),
        title => right(title.to_owned()),
    });
    let header = std::iter::once(Line::from("lock")).chain(header);
    let line = |row: &&Row| {
        let name = Line::from(words::cell(&row.name, usize::from(room)));
        let cells = shown.iter().map(|column| match COLUMNS[*column].0 {
            "kind" => Line::from(words::kind(row.kind)),
            title => right(cell(row, title)),
        });
        TableRow::new(std::iter::once(name).chain(cells).collect::<Vec<_>>())
    };
    let widths = shown.iter().map(|column| Constraint::Length(COLUMNS[*column].1));
    let widths = std::iter::once(Constraint::Length(room)).chain(widths);
    let table = Table::new(rows.iter().map(line).collect::<Vec<_>>(), widths.collect::<Vec<_>>())
        .header(TableRow::new(header.collect::<Vec<_>>()).style(Style::new().bold()))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
        .column_spacing(1);
    let mut state = TableState::default().with_selected(view.cursor(rows));
    frame.render_stateful_widget(table, area, &mut state);
}

fn cell(row: &Row, title: &str) -> String {
    match title {
        "ops/s" => rate(row.operations),
        "cont." => words::percent(row.share),
        "waits/s" => rate(row.waits),
        "sleeps/s" => rate(row.sleeps),
        "waiting" => digits(row.waiting),
        "longest" => words::seconds(row.longest),
        _ => row.waiters.len().to_string(),
    }
}

fn open(frame: &mut Frame<'_>, area: Rect, row: &Row, view: &View) {
    let mut lines = vec![
        Line::from(row.called.clone()).bold(),
        Line::from(format!(
            "operations {}, contended {}, waits {}, sleeps {}",
            rate(row.operations),
            words::percent(row.share),
            rate(row.waits),
            rate(row.sleeps)
        )),
        Line::from(format!(
            "{} threads waited on average; longest wait {}",
            digits(row.waiting),
            words::seconds(row.longest)
        )),
        Line::from(""),
    ];
    let count = words::plural(row.waiters.len() as u64, "thread waits", "threads wait");
    lines.push(Line::from(format!("{count} now")).bold());
    lines.extend(row.waiters.iter().map(|waiter| Line::from(format!("  {waiter}"))));
    lines.push(Line::from(""));
    lines.push(Line::from("Since the start").bold());
    lines.extend(row.details.iter().map(|line| Line::from(format!("  {line}"))));
    let last = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_sub(1);
    let text = Paragraph::new(lines).wrap(Wrap { trim: false });
    frame.render_widget(text.scroll((view.scrolled.min(last), 0)), area);
}

#[cfg(test)]
pub mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::{KeyCode, KeyEvent};

    use super::*;
    use crate::record::entries::Kind;

    pub fn look() -> Look {
        let row = |name: &str, operations: f64, waiting: f64| Row {
            name: name.to_owned(),
            called: format!("mutex {name}"),
            kind: Kind::Mutex,
            operations,
            waits: 1200.0 * waiting,
            sleeps: 10.0,
            share: 0.123,
            waiting,
            longest: 0.012,
            waiters: vec!["worker (4712) for 3.00 ms".to_owned()],
            details: vec!["41 waits, 1.20 s in all, longest 12.0 ms".to_owned(), "    get".into()],
        };
        Look {
            head: "bank (4711): 4 threads, 2.00 s".to_owned(),
            is_running: true,
            rows: vec![
                row("journal", 2e6, 0.5),
                row("cache.mutex", 1e6, 1.5),
                row("a long name of a lock in a template", 10.0, 0.0),
            ],
        }
    }

    fn drawn(width: u16, view: &View) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, 16)).unwrap();
        terminal.draw(|frame| draw(frame, &look(), view)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let cells = buffer.content().chunks(usize::from(width));
        cells.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>()).collect()
    }

    #[test]
    fn fits_80_columns() {
        let lines = drawn(80, &View::new());
        assert_eq!(lines[0].trim_end(), "bank (4711): 4 threads, 2.00 s");
        let header = "kind          ops/s  cont.   waits/s waiting longest  now";
        assert!(lines[1].starts_with("lock") && lines[1].ends_with(header), "{lines:#?}");
        assert!(lines[2].starts_with("cache.mutex"), "{lines:#?}");
        assert!(lines[2].contains("1.00 M/s 12.3 %  1.80 k/s    1.50 12.0 ms    1"), "{lines:#?}");
        assert!(lines[4].starts_with("a long name"), "{lines:#?}");
    }

    #[test]
    fn any_width_shows_what_costs_most() {
        for width in [10, 20, 33, 40, 60, 100, 200] {
            let lines = drawn(width, &View::new());
            let has = lines[2].contains("1.50");
            assert!(has, "{width}: {lines:#?}");
            assert_eq!(lines[1].contains("sleeps/s"), width >= 90, "{width}: {lines:#?}");
        }
    }

    #[test]
    fn an_open_lock_shows_waiters_and_stacks() {
        let mut view = View::new();
        view.key(KeyEvent::from(KeyCode::Enter), &look());
        let text = drawn(80, &view).join("\n");
        for says in ["mutex cache.mutex", "1 thread waits now", "worker (4712) for", "get"] {
            assert!(text.contains(says), "{says}: {text}");
        }
        view.is_frozen = true;
        assert!(drawn(80, &view)[0].contains("[frozen]"));
    }
}
