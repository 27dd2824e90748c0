//! Verdicts, counted in a sentence.

use crate::statistics::Verdict;

#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Tally {
    pub better: usize,
    pub worse: usize,
    pub same: usize,
    /// Inconclusive, or of too few measurements.
    pub undecided: usize,
}

impl Tally {
    pub fn of(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        let mut tally = Tally::default();
        for verdict in verdicts {
            *match verdict {
                Verdict::Faster => &mut tally.better,
                Verdict::Slower => &mut tally.worse,
                Verdict::Same => &mut tally.same,
                Verdict::Inconclusive | Verdict::TooFewPairs => &mut tally.undecided,
            } += 1;
        }
        tally
    }

    pub fn all(&self) -> usize {
        self.better + self.worse + self.same + self.undecided
    }

    /// `faster in 3, slower in 1, undecided in 5 of 9`
    pub fn said(&self, [better, worse]: [&str; 2]) -> String {
        if self.all() == 0 {
            return "not measured".to_owned();
        }
        let Tally { same, undecided, .. } = *self;
        let same = if same == 0 { String::new() } else { format!("the same in {same}, ") };
        format!(
            "{better} in {}, {worse} in {}, {same}undecided in {undecided} of {}",
            self.better,
            self.worse,
            self.all()
        )
    }
}

/// `1 round`, `3 rounds`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// With a capital letter, and a full stop.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_counted() {
        use Verdict::{Faster, Inconclusive, Same, Slower, TooFewPairs};
        let said = |verdicts: &[Verdict]| {
            sentence(&Tally::of(verdicts.iter().copied()).said(["faster", "slower"]))
        };
        let verdicts = [Faster, Slower, Inconclusive, Faster, TooFewPairs];
        assert_eq!(said(&verdicts), "Faster in 2, slower in 1, undecided in 2 of 5.");
        let same = said(&[Same, Inconclusive]);
        assert_eq!(same, "Faster in 0, slower in 0, the same in 1, undecided in 1 of 2.");
        assert_eq!(said(&[]), "Not measured.");
        assert_eq!(
            (counted(1, "round"), counted(2, "round")),
            ("1 round".into(), "2 rounds".into())
        );
    }
}
