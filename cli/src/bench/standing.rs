//! How furwock stands among its peers: by case, and over all cases.

use anstyle::AnsiColor;
use serde::Serialize;

use crate::contestants::Contestant;
use crate::measuring::number::times;
use crate::measuring::table::{self, paint};
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

/// One of furwock's two in one case.
#[derive(Serialize)]
pub struct Standing {
    case: String,
    contestant: Contestant,
    best_peer: Option<Contestant>,
    over_best_peer: Option<Ratio>,
    over_glibc: Option<Ratio>,
}

/// One's speed over another's.
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

    /// Of furwock's own in each case.
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

    /// Over each peer and over the best of each case, of furwock's own.
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
        let mut header = vec!["case".to_owned(), "best peer".to_owned()];
        let glibc = self.contestants.contains(&Contestant::Glibc);
        for contestant in self.ours() {
            header.push(format!("{}/best", contestant.heading()));
            if glibc {
                header.push(format!("{}/glibc", contestant.heading()));
            }
        }
        let row = |case: &CaseSpeeds| {
            let best = self.best_peer(case).map_or("-", |(peer, _)| peer.name());
            let mut row = vec![case.case.clone(), best.to_owned()];
            for contestant in self.ours() {
                let standing = self.standing(case, contestant);
                row.push(standing.over_best_peer.map_or("-".to_owned(), Ratio::shown));
                if glibc {
                    row.push(standing.over_glibc.map_or("-".to_owned(), Ratio::shown));
                }
            }
            row
        };
        let rows: Vec<_> = std::iter::once(header).chain(self.cases.iter().map(row)).collect();
        format!(
            "speed over peers', more than 1 where furwock is faster ({NO_DIFFERENCE}: no difference that \
             the rounds' spread supports)\n{}",
            table::render(2, 0, &rows)
        )
    }

    fn render_means(&self) -> String {
        let means = self.means();
        let mut rows = vec![vec!["over".to_owned()]];
        for contestant in self.ours() {
            rows[0].extend([contestant.heading().to_owned(), "(min–max)".to_owned()]);
        }
        rows[0].push("cases".to_owned());
        for over in self.peers().map(Some).chain([None]) {
            let mut row = vec![over.map_or("best of each case", Contestant::name).to_owned()];
            let mut cases = 0;
            for contestant in self.ours() {
                let mean =
                    means.iter().find(|mean| mean.contestant == contestant && mean.over == over);
                match mean {
                    None => row.extend(["-".to_owned(), String::new()]),
                    Some(mean) => {
                        row.extend([
                            mean_shown(mean.mean),
                            format!("({}–{})", times(mean.min), times(mean.max)),
                        ]);
                        cases = cases.max(mean.cases);
                    }
                }
            }
            row.push(cases.to_string());
            rows.push(row);
        }
        format!("geometric means over all cases\n{}", table::render(1, 0, &rows))
    }
}

impl Ratio {
    pub fn shown(self) -> String {
        let text = times(self.ratio);
        match self {
            Ratio { differs: false, .. } => format!("{NO_DIFFERENCE}{text}"),
            Ratio { ratio, .. } if ratio > 1.0 => paint(&text, AnsiColor::Green),
            Ratio { .. } => paint(&text, AnsiColor::Red),
        }
    }
}

/// A difference less than this goes uncoloured.
const NOTICEABLE: f64 = 0.02;

fn mean_shown(ratio: f64) -> String {
    let text = times(ratio);
    match ratio {
        _ if ratio > 1.0 + NOTICEABLE => paint(&text, AnsiColor::Green),
        _ if ratio < 1.0 - NOTICEABLE => paint(&text, AnsiColor::Red),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTESTANTS: [Contestant; 4] =
        [Contestant::Furwock, Contestant::FurwockPreload, Contestant::Glibc, Contestant::Std];

    fn speeds(cases: &[[Option<f64>; 4]]) -> Speeds<'static> {
        // Three rounds of each, so close together that a tenth tells.
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
    fn renders_who_is_there() {
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
