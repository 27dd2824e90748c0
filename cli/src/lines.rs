//! Lines that fit the terminal: long ones go on below, behind the tree's branches.

/// The width that everything fits in, unless a narrower one is asked for.
pub const WIDTH: usize = 80;

/// A space at which no line ends.
pub const TIED: char = '\u{a0}';

pub struct Lines {
    text: String,
    width: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Self::within(WIDTH)
    }
}

impl Lines {
    /// Lines of at most `width` letters.
    pub fn within(width: usize) -> Self {
        Self { text: String::new(), width }
    }

    /// A line that begins with `first`, and goes on in lines that begin with `rest`.
    pub fn add(&mut self, first: &str, rest: &str, text: &str) {
        let mut line = first.to_owned();
        let mut room = self.width.saturating_sub(width(first));
        let mut is_empty = true;
        for word in text.split(' ') {
            let mut word = word;
            if !is_empty && width(word) + 1 > room {
                self.end(&line);
                (line, room, is_empty) =
                    (rest.to_owned(), self.width.saturating_sub(width(rest)), true);
            }
            if !is_empty {
                line.push(' ');
                room -= 1;
            }
            // A name that is longer than a line.
            while width(word) > room {
                let at = word.char_indices().nth(room.max(1)).map_or(word.len(), |(at, _)| at);
                line.push_str(&word[..at]);
                self.end(&line);
                (line, room) = (rest.to_owned(), self.width.saturating_sub(width(rest)));
                word = &word[at..];
            }
            line.push_str(word);
            room -= width(word);
            is_empty = false;
        }
        self.end(&line);
    }

    /// A line that its author has made to fit.
    pub fn row(&mut self, text: &str) {
        self.end(text);
    }

    pub fn plain(&mut self, text: &str) {
        self.add("", "  ", text);
    }

    pub fn empty(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn end(&mut self, line: &str) {
        self.text.push_str(&line.trim_end().replace(TIED, " "));
        self.text.push('\n');
    }

    pub fn into_text(self) -> String {
        self.text
    }
}

pub fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_and_lose_nothing() {
        let name = "a::".repeat(60);
        let text = format!("waits for {name} and {} more words of text", "some ".repeat(20));
        for most in [40, WIDTH] {
            let mut lines = Lines::within(most);
            lines.add("└─ ", "   ", &text);
            let out = lines.into_text();
            assert!(out.lines().all(|line| width(line) <= most), "{out}");
            let letters = |text: &str| text.replace([' ', '\n', '└', '─'], "");
            assert_eq!(letters(&out), letters(&text));
        }
    }
}
