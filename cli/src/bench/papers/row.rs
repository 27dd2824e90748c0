//! Rows of published figures beside measured ones, each with a verdict.

use serde::Serialize;

use crate::bench::figure::Figure;
use crate::bench::results::{BenchmarkResults, Entry};
use crate::bench::standing::Ratio;
use crate::contestants::Contestant;
use crate::measuring::number::times;
use crate::report::model::Tone;
use crate::statistics::{self, Interval, ratio};

/// How far below the published gain still counts as reached: what two runs on one machine differ
/// by.
const REACHED: f64 = 0.98;
const BEATEN: f64 = 1.02;

#[derive(Serialize)]
pub struct Row {
    pub what: String,
    /// Figures as the paper has them.
    pub published: String,
    /// What the paper's change gained; none if it gives no figure.
    pub published_gain: Option<f64>,
    pub measured: String,
    pub gain: Option<Gain>,
    pub verdict: Verdict,
}

/// A measured gain: more than 1 where furwock is better.
#[derive(Serialize, Clone, Copy)]
pub struct Gain {
    pub gain: f64,
    /// Does the whole interval lie on one side of 1?
    pub differs: bool,
    pub interval: Option<Interval>,
    #[serde(skip)]
    pub verdict: statistics::Verdict,
}

impl Gain {
    fn shown(self) -> String {
        let Gain { gain: ratio, differs, interval, verdict } = self;
        Ratio { ratio, differs, interval, verdict }.shown()
    }

    fn is_told(self) -> bool {
        self.differs || self.verdict == statistics::Verdict::Same
    }
}

impl From<statistics::Gain> for Gain {
    fn from(gain: statistics::Gain) -> Self {
        let (differs, verdict) = (gain.differs(), gain.verdict());
        Gain { gain: gain.gain, differs, interval: gain.interval, verdict }
    }
}

#[derive(Serialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case", tag = "verdict", content = "why")]
pub enum Verdict {
    Beaten,
    Reached,
    Short(String),
    /// No gain was published to compare with.
    Ahead,
    /// Within 1 %.
    Same,
    Inconclusive,
    Behind,
    NotMeasured(String),
}

impl Row {
    /// A row whose verdict follows from the gains; `short` says why it may be short.
    pub fn new(
        what: impl Into<String>,
        published: impl Into<String>,
        published_gain: Option<f64>,
        measured: impl Into<String>,
        gain: Option<Gain>,
        short: &str,
    ) -> Row {
        let verdict = match (published_gain, gain) {
            (_, None) => Verdict::NotMeasured("interrupted, or a run failed".to_owned()),
            // A gain that the rounds don't support is none, however near it is to the published
            // one.
            (Some(published), Some(gain)) if is_gain(published) && gain.is_told() => {
                match gain.gain / published {
                    BEATEN.. => Verdict::Beaten,
                    REACHED.. => Verdict::Reached,
                    _ => Verdict::Short(short.to_owned()),
                }
            }
            // Where the paper lost, or gave no figure, the row is judged alone: losing less than
            // the paper's change did is still losing.
            (_, Some(gain)) if !gain.is_told() => Verdict::Inconclusive,
            (_, Some(Gain { differs: false, .. })) => Verdict::Same,
            (_, Some(Gain { gain, .. })) if gain > 1.0 => Verdict::Ahead,
            (_, Some(_)) => Verdict::Behind,
        };
        let (what, published, measured) = (what.into(), published.into(), measured.into());
        Row { what, published, published_gain, measured, gain, verdict }
    }

    /// Did the paper gain anything here?
    pub fn has_published_gain(&self) -> bool {
        self.published_gain.is_some_and(is_gain)
    }

    pub fn words(&self) -> [String; 5] {
        [
            self.what.clone(),
            self.published.clone(),
            self.published_gain.map_or_else(|| "—".to_owned(), times),
            self.measured.clone(),
            self.gain.map_or_else(|| "—".to_owned(), Gain::shown),
        ]
    }
}

/// A change that gained less than what two runs differ by gained nothing.
fn is_gain(published: f64) -> bool {
    published >= BEATEN
}

impl Verdict {
    pub fn tone(&self) -> Tone {
        match self {
            Verdict::Beaten | Verdict::Reached | Verdict::Ahead => Tone::Win,
            Verdict::Short(_) | Verdict::Behind => Tone::Loss,
            Verdict::Same | Verdict::Inconclusive | Verdict::NotMeasured(_) => Tone::Neutral,
        }
    }

    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Beaten => "beaten",
            Verdict::Reached => "reached",
            Verdict::Short(_) => "short",
            Verdict::Ahead => "ahead",
            Verdict::Same => "the same",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Behind => "behind",
            Verdict::NotMeasured(_) => "not measured",
        }
    }

    pub fn why(&self) -> &str {
        match self {
            Verdict::Short(why) | Verdict::NotMeasured(why) => why,
            _ => "",
        }
    }
}

/// `55 % less`, of a cost.
pub fn percent_less(before: f64, after: f64) -> String {
    // (Nothing before and after is the same: time in the kernel is counted in ticks.)
    let percent = (1.0 - ratio(after, before)) * 100.0;
    if percent < 0.0 { format!("{:.0} % more", -percent) } else { format!("{percent:.0} % less") }
}

/// What was measured, to look things up in.
pub struct Measured<'a>(pub &'a [BenchmarkResults]);

/// One implementation beside another in one case, by one figure.
#[derive(Clone, Copy)]
pub struct Comparison<'a> {
    pub benchmark: &'a str,
    pub case: &'a str,
    pub ours: Contestant,
    pub theirs: Contestant,
    pub figure: Figure,
}

impl Measured<'_> {
    fn entry(&self, at: Comparison, contestant: Contestant) -> Option<&Entry> {
        let results = self.0.iter().filter(|results| results.benchmark.name == at.benchmark);
        let case = results.filter_map(|results| results.case(at.case)).next()?;
        case.entry(contestant).filter(|entry| entry.failure.is_none())
    }

    /// The figure of each round.
    pub fn values(&self, at: Comparison, contestant: Contestant) -> Vec<f64> {
        self.entry(at, contestant).map_or(Vec::new(), |entry| entry.values(at.figure.name))
    }

    /// Theirs and ours.
    pub fn medians(&self, at: Comparison) -> Option<(f64, f64)> {
        let of = |contestant| self.entry(at, contestant)?.median(at.figure.name);
        Some((of(at.theirs)?, of(at.ours)?))
    }

    /// More than 1 where `ours` is better.
    pub fn gain(&self, at: Comparison) -> Option<Gain> {
        let speeds = |contestant| -> Vec<f64> {
            self.values(at, contestant).iter().map(|value| at.figure.speed(*value)).collect()
        };
        let (ours, theirs) = (speeds(at.ours), speeds(at.theirs));
        let is_measured = !ours.is_empty() && !theirs.is_empty();
        is_measured.then(|| statistics::Gain::of_rounds(&ours, &theirs).into())
    }

    /// `THEIRS -> OURS`, as `said` writes them.
    pub fn here(&self, at: Comparison, said: impl Fn(f64, f64) -> String) -> String {
        self.medians(at).map_or_else(|| "—".to_owned(), |(theirs, ours)| said(theirs, ours))
    }

    /// A row whose figures are written as the figure is.
    pub fn row(
        &self,
        what: impl Into<String>,
        published: impl Into<String>,
        published_gain: Option<f64>,
        at: Comparison,
        short: &str,
    ) -> Row {
        let said = |theirs, ours| format!("{} -> {}", at.figure.text(theirs), at.figure.text(ours));
        Row::new(what, published, published_gain, self.here(at, said), self.gain(at), short)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn row(published: Option<f64>, gain: f64, differs: bool) -> Row {
        let spread = if differs { 0.0 } else { 0.5 };
        let interval = Interval { low: gain - spread, high: gain + spread };
        let gain = statistics::Gain { gain, interval: Some(interval) };
        Row::new("a row", "1 s", published, "2 s", Some(gain.into()), "two are not eighty")
    }

    #[test]
    fn verdicts_follow_from_gains() {
        let verdict = |published, gain, differs| row(published, gain, differs).verdict;
        assert_eq!(verdict(Some(2.0), 2.5, true), Verdict::Beaten);
        assert_eq!(verdict(Some(2.0), 1.99, true), Verdict::Reached);
        assert_eq!(verdict(Some(2.0), 1.5, true), Verdict::Short("two are not eighty".to_owned()));
        assert_eq!(verdict(None, 1.5, true), Verdict::Ahead);
        assert_eq!(verdict(None, 1.5, false), Verdict::Inconclusive);
        assert_eq!(verdict(None, 0.5, true), Verdict::Behind);
        // Chance is no gain.
        assert_eq!(verdict(Some(1.04), 1.05, false), Verdict::Inconclusive);
        // Where the document lost, losing less is no win.
        assert_eq!(verdict(Some(0.65), 0.8, true), Verdict::Behind);
        assert_eq!(verdict(Some(0.65), 1.01, false), Verdict::Inconclusive);
        assert_eq!(verdict(Some(1.0), 1.2, true), Verdict::Ahead);
        assert_eq!(verdict(None, 1.005, true), Verdict::Same);
        assert_eq!(verdict(Some(2.0), 1.0, true), Verdict::Short("two are not eighty".to_owned()));
        let none = Row::new("a row", "", Some(1.0), "", None, "");
        assert!(matches!(none.verdict, Verdict::NotMeasured(_)));
    }
}
