//! What the user has chosen to see: order, filter, one lock, a look that stays.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::rates::{Look, Row};
use crate::contention::words;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Waiting,
    Contended,
    Operations,
    Sleeps,
    Longest,
    Name,
}

pub const SORTS: [(Sort, char, &str); 6] = [
    (Sort::Waiting, 'w', "waiting"),
    (Sort::Contended, 'c', "contended"),
    (Sort::Operations, 'o', "operations"),
    (Sort::Sleeps, 's', "sleeps"),
    (Sort::Longest, 'l', "longest"),
    (Sort::Name, 'n', "name"),
];

/// What happens after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Stay,
    Quit,
}

#[derive(Debug)]
pub struct View {
    pub sort: Sort,
    pub filter: String,
    /// The filter is being typed.
    pub is_typing: bool,
    pub is_frozen: bool,
    /// The one with the cursor: it stays with its lock when the order changes.
    pub selected: Option<String>,
    /// The selected one is shown alone.
    pub is_open: bool,
    /// Lines of an open one that have been scrolled past.
    pub scrolled: u16,
}

impl View {
    pub fn new() -> Self {
        Self {
            sort: Sort::Waiting,
            filter: String::new(),
            is_typing: false,
            is_frozen: false,
            selected: None,
            is_open: false,
            scrolled: 0,
        }
    }

    /// The rows that are shown, in order.
    pub fn rows<'l>(&self, look: &'l Look) -> Vec<&'l Row> {
        let wanted = self.filter.to_lowercase();
        let mut rows: Vec<&Row> =
            look.rows.iter().filter(|row| row.name.to_lowercase().contains(&wanted)).collect();
        let value = |row: &Row| match self.sort {
            Sort::Waiting => row.waiting + row.waiters.len() as f64 * 1e-9,
            Sort::Contended => row.share,
            Sort::Operations => row.operations,
            Sort::Sleeps => row.sleeps,
            Sort::Longest => row.longest,
            Sort::Name => 0.0,
        };
        rows.sort_by(|one, other| {
            let by_value = value(other).total_cmp(&value(one));
            // A condvar's waiters are idle: locks come first.
            let by_kind = words::is_lock(other.kind).cmp(&words::is_lock(one.kind));
            by_kind.then(by_value).then_with(|| one.name.cmp(&other.name))
        });
        rows
    }

    /// The cursor's place among the rows.
    pub fn cursor(&self, rows: &[&Row]) -> usize {
        let selected = self.selected.as_ref();
        rows.iter().position(|row| Some(&row.name) == selected).unwrap_or(0)
    }

    pub fn key(&mut self, key: KeyEvent, look: &Look) -> Next {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && matches!(key.code, KeyCode::Char('c' | 'C')) {
            return Next::Quit;
        }
        if self.is_typing {
            self.type_filter(key.code);
            return Next::Stay;
        }
        match key.code {
            KeyCode::Char('q') => return Next::Quit,
            KeyCode::Esc | KeyCode::Backspace | KeyCode::Left if self.is_open => {
                self.is_open = false
            }
            KeyCode::Esc if !self.filter.is_empty() => self.filter.clear(),
            KeyCode::Enter | KeyCode::Right => {
                let rows = self.rows(look);
                self.selected = rows.get(self.cursor(&rows)).map(|row| row.name.clone());
                (self.is_open, self.scrolled) = (self.selected.is_some(), 0);
            }
            KeyCode::Char('/') => (self.is_typing, self.is_open) = (true, false),
            KeyCode::Char(' ' | 'f') => self.is_frozen = !self.is_frozen,
            KeyCode::Down | KeyCode::Char('j') => self.step(look, 1),
            KeyCode::Up | KeyCode::Char('k') => self.step(look, -1),
            KeyCode::PageDown => self.step(look, 10),
            KeyCode::PageUp => self.step(look, -10),
            KeyCode::Char(letter) => {
                let chosen = SORTS.iter().find(|(_, key, _)| *key == letter);
                self.sort = chosen.map_or(self.sort, |(sort, ..)| *sort);
            }
            _ => {}
        }
        Next::Stay
    }

    fn type_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => (self.is_typing, self.filter) = (false, String::new()),
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(letter) => self.filter.push(letter),
            _ => {}
        }
    }

    fn step(&mut self, look: &Look, by: isize) {
        if self.is_open {
            self.scrolled = (isize::from(self.scrolled as i16) + by).clamp(0, 10_000) as u16;
            return;
        }
        let rows = self.rows(look);
        let last = rows.len().saturating_sub(1);
        let to = self.cursor(&rows).saturating_add_signed(by).min(last);
        self.selected = rows.get(to).map(|row| row.name.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::screen::tests::look;

    fn press(view: &mut View, keys: &str) {
        for letter in keys.chars() {
            let code = match letter {
                '\n' => KeyCode::Enter,
                '\u{1b}' => KeyCode::Esc,
                letter => KeyCode::Char(letter),
            };
            view.key(KeyEvent::from(code), &look());
        }
    }

    fn names(view: &View) -> Vec<String> {
        view.rows(&look()).iter().map(|row| row.name.clone()).collect()
    }

    #[test]
    fn rows_are_sorted_and_filtered_by_keys() {
        let mut view = View::new();
        assert_eq!(names(&view), ["cache.mutex", "journal", "a long name of a lock in a template"]);
        press(&mut view, "o");
        assert_eq!(names(&view)[0], "journal");
        press(&mut view, "n");
        assert_eq!(names(&view)[0], "a long name of a lock in a template");
        press(&mut view, "/JOUR\nw");
        assert_eq!((names(&view), view.sort), (vec!["journal".to_owned()], Sort::Waiting));
        press(&mut view, "\u{1b}");
        assert_eq!(names(&view).len(), 3);
    }

    #[test]
    fn the_cursor_stays_with_its_lock() {
        let mut view = View::new();
        press(&mut view, "jn");
        assert_eq!(view.selected.as_deref(), Some("journal"));
        let look = look();
        assert_eq!(view.cursor(&view.rows(&look)), 2);
        press(&mut view, "\n");
        assert!(view.is_open);
        press(&mut view, "\u{1b}f");
        assert!(!view.is_open && view.is_frozen);
    }

    #[test]
    fn quits_by_q_and_control_c_but_not_while_typing() {
        let mut view = View::new();
        let look = look();
        assert_eq!(view.key(KeyEvent::from(KeyCode::Char('q')), &look), Next::Quit);
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        press(&mut view, "/");
        assert_eq!(view.key(KeyEvent::from(KeyCode::Char('q')), &look), Next::Stay);
        assert_eq!(view.key(interrupt, &look), Next::Quit);
    }
}
