//! How furwock stands among its peers: by case, and over all cases.

use serde::Serialize;

use crate::contestants::Contestant;
use crate::measuring::number::times;
use crate::measuring::table;
use crate::report::model::{Cell, Table, Tone};
use crate::statistics::{differ, geometric_mean, median};

/// Marks a ratio that the rounds' spread doesn't support.
const NO_DIFFERENCE: &str = "~";

/// How fast each contestant was in each case, the more the better.
pub struct Speeds<'a> {
    pub contestants: &'a [Contestant],
    pub cases: Vec<CaseSpeeds>,
}

pub struct CaseSpeeds {
    pub case: String,
    /// Of each round, in the contestants' order; empty for one that failed or was not measured.
    pub speeds: Vec<Vec<f64>>,
}

/// One of furwock's contestants in one case.
#[derive(Serialize)]
pub struct Standing {
    case: String,
    contestant: Contestant,
    best_peer: Option<Contestant>,
    over_best_peer: Option<Ratio>,
    over_glibc: Option<Ratio>,
}

/// The speed of one contestant, divided by that of another.
#[derive(Serialize, Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub ratio: f64,
    /// Does the spread of the rounds support it?
    pub differs: bool,
}

/// The geometric mean of one contestant's speed over another's, of all cases that both were
/// measured in.
#[derive(Serialize)]
pub struct Mean {
    contestant: Contestant,
    /// None is the best peer of each case.
    over: Option<Contestant>,
    mean: f64,
    min: f64,
    max: f64,
    cases: usize,
}

impl Speeds<'_> {
    fn rounds<'c>(&self, case: &'c CaseSpeeds, contestant: Contestant) -> Option<&'c [f64]> {
        let column = self.contestants.iter().position(|known| *known == contestant)?;
        Some(case.speeds[column].as_slice()).filter(|rounds| !rounds.is_empty())
    }

    fn speed(&self, case: &CaseSpeeds, contestant: Contestant) -> Option<f64> {
        self.rounds(case, contestant).map(median)
    }

    pub fn ratio(&self, case: &CaseSpeeds, one: Contestant, other: Contestant) -> Option<Ratio> {
        let (ones, others) = (self.rounds(case, one)?, self.rounds(case, other)?);
        Some(Ratio { ratio: median(ones) / median(others), differs: differ(ones, others) })
    }

    pub fn ours(&self) -> impl Iterator<Item = Contestant> {
        self.contestants.iter().copied().filter(|contestant| contestant.is_ours())
    }

    pub fn peers(&self) -> impl Iterator<Item = Contestant> {
        self.contestants.iter().copied().filter(|contestant| !contestant.is_ours())
    }

    fn best_peer(&self, case: &CaseSpeeds) -> Option<(Contestant, f64)> {
        let measured = self.peers().filter_map(|peer| Some((peer, self.speed(case, peer)?)));
        measured.max_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    fn standing(&self, case: &CaseSpeeds, contestant: Contestant) -> Standing {
        let best = self.best_peer(case).map(|(peer, _)| peer);
        let over = |peer: Option<Contestant>| self.ratio(case, contestant, peer?);
        Standing {
            case: case.case.clone(),
            contestant,
            best_peer: best,
            over_best_peer: over(best),
            over_glibc: over(Some(Contestant::Glibc)),
        }
    }

    /// The standings of furwock's own in each case.
    pub fn standings(&self) -> Vec<Standing> {
        let of_case = |case| self.ours().map(move |contestant| self.standing(case, contestant));
        self.cases.iter().flat_map(of_case).collect()
    }

    fn mean(&self, contestant: Contestant, over: Option<Contestant>) -> Option<Mean> {
        let ratio = |case: &CaseSpeeds| {
            let peer = match over {
                Some(peer) => self.speed(case, peer)?,
                None => self.best_peer(case)?.1,
            };
            Some(self.speed(case, contestant)? / peer)
        };
        let ratios: Vec<f64> = self.cases.iter().filter_map(ratio).collect();
        (!ratios.is_empty()).then(|| Mean {
            contestant,
            over,
            mean: geometric_mean(&ratios),
            min: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            max: ratios.iter().copied().fold(0.0, f64::max),
            cases: ratios.len(),
        })
    }

    /// The means of furwock's own over each peer and over the best of each case.
    pub fn means(&self) -> Vec<Mean> {
        let over = || self.peers().map(Some).chain([None]);
        let of = |contestant| over().filter_map(move |peer| self.mean(contestant, peer));
        self.ours().flat_map(of).collect()
    }

    /// Nothing without one of ours and a peer.
    pub fn render(&self) -> String {
        if self.ours().next().is_none() || self.peers().next().is_none() {
            return String::new();
        }
        format!("{}\n{}", self.render_standings(), self.render_means())
    }

    fn render_standings(&self) -> String {
        let glibc = self.contestants.contains(&Contestant::Glibc);
        let over = |name: &str| {
            let over_glibc = glibc.then(|| format!("{name}/glibc"));
            std::iter::once(format!("{name}/best")).chain(over_glibc)
        };
        let names = ["case", "best peer"].map(str::to_owned);
        let header = names.into_iter().chain(self.ours().flat_map(|each| over(each.heading())));
        let row = |case: &CaseSpeeds| {
            let best = self.best_peer(case).map_or("-", |(peer, _)| peer.name());
            let mut row = vec![Cell::plain(&case.case), Cell::plain(best)];
            for contestant in self.ours() {
                let standing = self.standing(case, contestant);
                row.push(Ratio::cell(standing.over_best_peer));
                row.extend(glibc.then(|| Ratio::cell(standing.over_glibc)));
            }
            row
        };
        let table = Table::new("", header, self.cases.iter().map(row));
        format!(
            "speed over peers', more than 1 where furwock is faster ({NO_DIFFERENCE}: no difference \
             that the rounds' spread supports)\n{}",
            table::render(2, 0, &table)
        )
    }

    fn render_means(&self) -> String {
        let columns = self.ours().flat_map(|each| [each.heading(), "(min–max)"]);
        let header = ["over"].into_iter().chain(columns).chain(["cases"]);
        let row = |over: Option<Contestant>| {
            let mut row = vec![Cell::plain(over.map_or("best of each case", Contestant::name))];
            let mut cases = 0;
            for contestant in self.ours() {
                let Some(mean) = self.mean(contestant, over) else {
                    row.extend([Cell::plain("-"), Cell::plain("")]);
                    continue;
                };
                let range = format!("({}–{})", times(mean.min), times(mean.max));
                row.extend([mean_cell(mean.mean), Cell::plain(range)]);
                cases = cases.max(mean.cases);
            }
            row.push(Cell::plain(cases.to_string()));
            row
        };
        let table = Table::new("", header, self.peers().map(Some).chain([None]).map(row));
        format!("geometric means over all cases\n{}", table::render(1, 0, &table))
    }
}

impl Ratio {
    /// `~1.01x`
    pub fn shown(self) -> String {
        format!("{}{}", if self.differs { "" } else { NO_DIFFERENCE }, times(self.ratio))
    }

    pub fn tone(self) -> Tone {
        match self {
            Ratio { differs: false, .. } => Tone::Neutral,
            Ratio { ratio, .. } if ratio > 1.0 => Tone::Win,
            Ratio { .. } => Tone::Loss,
        }
    }

    fn cell(ratio: Option<Ratio>) -> Cell {
        ratio.map_or(Cell::plain("-"), |ratio| Cell::new(ratio.shown(), ratio.tone()))
    }
}

/// A difference less than this goes uncoloured.
const NOTICEABLE: f64 = 0.02;

fn mean_cell(ratio: f64) -> Cell {
    let tone = match ratio {
        _ if ratio > 1.0 + NOTICEABLE => Tone::Win,
        _ if ratio < 1.0 - NOTICEABLE => Tone::Loss,
        _ => Tone::Neutral,
    };
    Cell::new(times(ratio), tone)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTESTANTS: [Contestant; 4] =
        [Contestant::Furwock, Contestant::FurwockPreload, Contestant::Glibc, Contestant::Std];

    fn speeds(cases: &[[Option<f64>; 4]]) -> Speeds<'static> {
        // Three rounds of each, so close together that a tenth is a difference.
        let rounds = |speed: &Option<f64>| {
            speed.map_or(Vec::new(), |speed| vec![0.99 * speed, speed, 1.01 * speed])
        };
        let case = |speeds: &[Option<f64>; 4]| CaseSpeeds {
            case: "a case".to_owned(),
            speeds: speeds.iter().map(rounds).collect(),
        };
        Speeds { contestants: &CONTESTANTS, cases: cases.iter().map(case).collect() }
    }

    #[test]
    fn the_best_peer_is_none_of_ours() {
        let speeds = speeds(&[[Some(4.0), Some(8.0), Some(1.0), Some(2.0)]]);
        let standings = speeds.standings();
        assert_eq!(standings.len(), 2);
        assert_eq!(standings[0].best_peer, Some(Contestant::Std));
        assert_eq!(standings[0].over_best_peer, Some(Ratio { ratio: 2.0, differs: true }));
        assert_eq!(standings[1].over_glibc, Some(Ratio { ratio: 8.0, differs: true }));
    }

    #[test]
    fn means_are_of_cases_that_both_were_measured_in() {
        let speeds = speeds(&[
            [Some(4.0), None, Some(1.0), Some(2.0)],
            [Some(1.0), None, Some(1.0), None],
            [None, None, Some(1.0), Some(9.0)],
        ]);
        let means = speeds.means();
        // furwock over glibc, over std, over the best; nothing of the preload.
        assert_eq!(means.len(), 3);
        assert_eq!((means[0].mean, means[0].min, means[0].max, means[0].cases), (2.0, 1.0, 4.0, 2));
        assert_eq!((means[1].mean, means[1].cases), (2.0, 1));
        assert_eq!((means[2].over, means[2].cases), (None, 2));
        assert!((means[2].mean - 2f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn renders_the_contestants_that_were_measured() {
        let text = speeds(&[[Some(4.0), None, Some(1.0), Some(2.0)]]).render();
        let text = anstream::adapter::strip_str(&text).to_string();
        let lines: Vec<&str> = text.lines().collect();
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(lines[2]), ["a", "case", "std", "2.00x", "4.00x", "-", "-"]);
        assert!(text.contains("best of each case"), "{text}");
    }

    #[test]
    fn says_where_there_is_no_difference() {
        let text = speeds(&[[Some(1.015), None, Some(1.0), Some(0.5)]]).render();
        assert!(text.contains("~1.01x"), "{text}");
    }
}
