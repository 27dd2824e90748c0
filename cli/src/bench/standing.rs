//! How furwock stands among its peers: by case, and over all cases.

use serde::{Serialize, Serializer};

use crate::contestants::Contestant;
use crate::measuring::layout::{self, Columns};
use crate::measuring::number::{range, times};
use crate::measuring::tally::Tally;
use crate::report::model::{Cell, Table, Tone};
use crate::statistics::{Gain, Interval, Verdict, geometric_mean, median};

/// Marks a ratio of too few rounds.
const TOO_FEW: &str = "?";
/// How to read the ratios: once above the tables that have some.
pub const LEGEND: &str = "More than 1: furwock is faster. A range, as 0.97–1.08, is inconclusive: \
                          the rounds can't tell on which side of 1 the ratio is.";
/// A contestant is fair in a case if Jain's index of its threads' operations is at least this. Of
/// two threads one then does at most twice as much as the other; of many, their numbers deviate by
/// a third of the mean.
pub const FAIR: f64 = 0.9;

/// How fast each contestant was in each case, the more the better.
pub struct Speeds<'a> {
    pub contestants: &'a [Contestant],
    pub cases: Vec<CaseSpeeds>,
}

pub struct CaseSpeeds {
    pub case: String,
    /// Of each round, in the contestants' order; empty for one that failed or was not measured.
    pub speeds: Vec<Vec<f64>>,
    /// Jain's index of each, the median of its rounds; none where nothing was counted by threads.
    pub jain: Vec<Option<f64>>,
}

/// What a contestant is compared with in each case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    Peer(Contestant),
    /// The fastest peer of the case.
    Best,
    /// The fastest of those that are fair in the case.
    BestFair,
    /// In each round the peer that was the fastest in the others. The fastest of several equal
    /// peers is one that was lucky; here luck has no part.
    BestByOtherRounds,
}

impl Over {
    pub fn name(self) -> &'static str {
        match self {
            Over::Peer(peer) => peer.name(),
            Over::Best => "best of each case",
            Over::BestFair => "best fair of each case",
            Over::BestByOtherRounds => "best by other rounds",
        }
    }
}

impl Serialize for Over {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Over::Peer(peer) => peer.serialize(serializer),
            Over::Best => serializer.serialize_none(),
            Over::BestFair => serializer.serialize_str("best-fair-peer"),
            Over::BestByOtherRounds => serializer.serialize_str("best-peer-by-other-rounds"),
        }
    }
}

/// One of furwock's contestants in one case.
#[derive(Serialize)]
pub struct Standing {
    case: String,
    contestant: Contestant,
    best_peer: Option<Contestant>,
    over_best_peer: Option<Ratio>,
    /// Of the peers that are fair in this case.
    best_fair_peer: Option<Contestant>,
    over_best_fair_peer: Option<Ratio>,
    over_glibc: Option<Ratio>,
}

/// The speed of one contestant, divided by that of another.
#[derive(Serialize, Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub ratio: f64,
    /// Does the whole interval lie on one side of 1?
    pub differs: bool,
    pub interval: Option<Interval>,
    #[serde(skip)]
    pub verdict: Verdict,
}

impl From<Gain> for Ratio {
    fn from(gain: Gain) -> Self {
        let Gain { gain: ratio, interval } = gain;
        Ratio { ratio, differs: gain.differs(), interval, verdict: gain.verdict() }
    }
}

/// The geometric mean of one contestant's speed over another's, of all cases that both were
/// measured in.
#[derive(Serialize)]
pub struct Mean {
    contestant: Contestant,
    over: Over,
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
        Some(Gain::of_rounds(ones, others).into())
    }

    pub fn ours(&self) -> impl Iterator<Item = Contestant> {
        self.contestants.iter().copied().filter(|contestant| contestant.is_ours())
    }

    pub fn peers(&self) -> impl Iterator<Item = Contestant> {
        self.contestants.iter().copied().filter(|contestant| !contestant.is_ours())
    }

    /// Is any fairness known?
    pub fn knows_fairness(&self) -> bool {
        self.cases.iter().any(|case| case.jain.iter().any(Option::is_some))
    }

    fn is_fair(&self, case: &CaseSpeeds, contestant: Contestant) -> bool {
        let column = self.contestants.iter().position(|known| *known == contestant);
        column.and_then(|column| case.jain[column]).is_some_and(|jain| jain >= FAIR)
    }

    /// In each round the speed of the peer that was the fastest in the others.
    fn best_by_other_rounds(&self, case: &CaseSpeeds) -> Option<Vec<f64>> {
        let peers: Vec<&[f64]> = self.peers().filter_map(|peer| self.rounds(case, peer)).collect();
        let rounds = peers.iter().map(|speeds| speeds.len()).min().filter(|rounds| *rounds > 1)?;
        let in_others = |speeds: &[f64], round: usize| {
            let mut others = speeds.to_vec();
            others.remove(round);
            median(&others)
        };
        let best_in = |round: usize| {
            let by_others = |peer: &&&[f64]| in_others(peer, round);
            let best = peers.iter().max_by(|one, two| by_others(one).total_cmp(&by_others(two)));
            best.map(|peer| peer[round])
        };
        (0..rounds).map(best_in).collect()
    }

    /// The peer that `over` means in this case, if it is one.
    pub fn peer(&self, case: &CaseSpeeds, over: Over) -> Option<Contestant> {
        let fastest = |wanted: &dyn Fn(Contestant) -> bool| {
            let measured = self.peers().filter(|peer| wanted(*peer));
            let measured = measured.filter_map(|peer| Some((peer, self.speed(case, peer)?)));
            measured.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(peer, _)| peer)
        };
        match over {
            Over::Peer(peer) => Some(peer),
            Over::Best => fastest(&|_| true),
            Over::BestFair => fastest(&|peer| self.is_fair(case, peer)),
            Over::BestByOtherRounds => None,
        }
    }

    /// All that a contestant may be compared with, the best last.
    pub fn all_over(&self) -> impl Iterator<Item = Over> {
        let fair = self.knows_fairness().then_some(Over::BestFair);
        self.peers().map(Over::Peer).chain([Over::Best]).chain(fair)
    }

    /// The same for the means.
    fn all_over_in_means(&self) -> impl Iterator<Item = Over> {
        let has_others = |case| self.best_by_other_rounds(case).is_some();
        let is_known = self.peers().count() > 1 && self.cases.iter().any(has_others);
        self.all_over().chain(is_known.then_some(Over::BestByOtherRounds))
    }

    pub fn ratio_over(&self, case: &CaseSpeeds, one: Contestant, over: Over) -> Option<Ratio> {
        if over == Over::BestByOtherRounds {
            let (ours, best) = (self.rounds(case, one)?, self.best_by_other_rounds(case)?);
            return Some(Gain::of_rounds(ours, &best).into());
        }
        self.ratio(case, one, self.peer(case, over)?)
    }

    fn standing(&self, case: &CaseSpeeds, contestant: Contestant) -> Standing {
        let over = |over| self.ratio_over(case, contestant, over);
        Standing {
            case: case.case.clone(),
            contestant,
            best_peer: self.peer(case, Over::Best),
            over_best_peer: over(Over::Best),
            best_fair_peer: self.peer(case, Over::BestFair),
            over_best_fair_peer: over(Over::BestFair),
            over_glibc: over(Over::Peer(Contestant::Glibc)),
        }
    }

    /// The standings of furwock's own in each case.
    pub fn standings(&self) -> Vec<Standing> {
        let of_case = |case| self.ours().map(move |contestant| self.standing(case, contestant));
        self.cases.iter().flat_map(of_case).collect()
    }

    fn mean(&self, contestant: Contestant, over: Over) -> Option<Mean> {
        let ratio = |case| Some(self.ratio_over(case, contestant, over)?.ratio);
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
        let overs = || self.all_over_in_means();
        let of = |contestant| overs().filter_map(move |over| self.mean(contestant, over));
        self.ours().flat_map(of).collect()
    }

    /// Is there one of ours, and a peer?
    pub fn can_stand(&self) -> bool {
        self.ours().next().is_some() && self.peers().next().is_some()
    }

    /// Nothing without one of ours and a peer.
    pub fn render(&self, width: usize) -> String {
        if !self.can_stand() {
            return String::new();
        }
        let mut standings = self.standings_table(Contestant::heading);
        let mut shorter = standings.clone();
        shorten(&mut shorter.header);
        // A folded table's parts have the whole names.
        if layout::fits(width, &shorter) {
            standings = shorter;
        }
        let means = self.means_table(Contestant::heading);
        let cases = [means.header.len() - 1];
        let names = 2 + usize::from(self.knows_fairness());
        let named = |names| Columns { names, ..Columns::default() };
        format!(
            "speed over peers'\n{}\n{}\ngeometric means over all cases\n{}",
            layout::fitted(named(names), width, &standings),
            layout::wrapped(width, LEGEND),
            layout::fitted(Columns { spare: &[&cases], ..named(1) }, width, &means)
        )
    }

    /// One contestant's verdicts over another, in all cases that both were measured in.
    pub fn tally(&self, one: Contestant, over: Over) -> Tally {
        let ratios = self.cases.iter().filter_map(|case| self.ratio_over(case, one, over));
        Tally::of(ratios.map(|ratio| ratio.verdict))
    }

    /// A row for each case: the best peers, and the ratios to them. `heading` names a contestant's
    /// columns.
    pub fn standings_table(&self, heading: fn(Contestant) -> &'static str) -> Table {
        let glibc = self.contestants.contains(&Contestant::Glibc);
        let fair = self.knows_fairness().then_some(("fair", Over::BestFair));
        let glibc = glibc.then_some(("glibc", Over::Peer(Contestant::Glibc)));
        let overs: Vec<_> = [("best", Over::Best)].into_iter().chain(fair).chain(glibc).collect();
        let names = [Some("case"), Some("best peer"), fair.map(|_| "best fair peer")];
        let names = names.into_iter().flatten().map(str::to_owned);
        let columns = |ours| overs.iter().map(move |(name, _)| format!("{}/{name}", heading(ours)));
        let header = names.chain(self.ours().flat_map(columns));
        let row = |case: &CaseSpeeds| {
            let peer = |over| Cell::plain(self.peer(case, over).map_or("-", Contestant::name));
            let mut row = vec![Cell::plain(&case.case), peer(Over::Best)];
            row.extend(fair.map(|(_, over)| peer(over)));
            for ours in self.ours() {
                let ratio = |(_, over): &(_, Over)| self.ratio_over(case, ours, *over);
                row.extend(overs.iter().map(ratio).map(Ratio::cell));
            }
            row
        };
        Table::new("Speed over the best peers", header, self.cases.iter().map(row))
    }

    /// A row for each peer, and for the best of each case.
    pub fn means_table(&self, heading: fn(Contestant) -> &'static str) -> Table {
        let columns = self.ours().map(|each| format!("{} (min–max)", heading(each)));
        let header = ["over".to_owned()].into_iter().chain(columns).chain(["cases".to_owned()]);
        let row = |over: Over| {
            let mut row = vec![Cell::plain(over.name())];
            let mut cases = 0;
            for contestant in self.ours() {
                let Some(mean) = self.mean(contestant, over) else {
                    row.push(Cell::plain("-"));
                    continue;
                };
                row.push(mean.cell());
                cases = cases.max(mean.cases);
            }
            row.push(Cell::plain(cases.to_string()));
            row
        };
        Table::new("Geometric means over all cases", header, self.all_over_in_means().map(row))
    }
}

/// `furwock/best`, `furwock/fair`: of a contestant's columns only the first repeats its name.
fn shorten(header: &mut [String]) {
    for column in (1..header.len()).rev() {
        let (before, after) = header.split_at_mut(column);
        let (before, name) = (&before[column - 1], &mut after[0]);
        if let (Some((left, _)), Some((own, over))) = (before.split_once('/'), name.split_once('/'))
            && left == own
        {
            *name = format!("/{over}");
        }
    }
}

impl Ratio {
    /// `1.23x`; `0.97–1.08` where that is inconclusive; `1.01x?` of too few rounds.
    pub fn shown(self) -> String {
        match (self.verdict, self.interval) {
            (Verdict::Inconclusive, Some(interval)) => range(interval),
            (Verdict::TooFewPairs, _) => format!("{}{TOO_FEW}", times(self.ratio)),
            _ => times(self.ratio),
        }
    }

    pub fn tone(self) -> Tone {
        match self.verdict {
            Verdict::Faster => Tone::Win,
            Verdict::Slower => Tone::Loss,
            Verdict::Same | Verdict::Inconclusive | Verdict::TooFewPairs => Tone::Neutral,
        }
    }

    pub fn cell(ratio: Option<Ratio>) -> Cell {
        ratio.map_or(Cell::plain("-"), |ratio| Cell::new(ratio.shown(), ratio.tone()))
    }
}

/// A difference less than this goes uncoloured.
const NOTICEABLE: f64 = 0.02;

impl Mean {
    fn cell(&self) -> Cell {
        let Mean { mean, min, max, .. } = *self;
        let tone = match mean {
            _ if mean > 1.0 + NOTICEABLE => Tone::Win,
            _ if mean < 1.0 - NOTICEABLE => Tone::Loss,
            _ => Tone::Neutral,
        };
        Cell::new(format!("{} ({})", times(mean), range(Interval { low: min, high: max })), tone)
    }
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
            jain: vec![None; 4],
        };
        Speeds { contestants: &CONTESTANTS, cases: cases.iter().map(case).collect() }
    }

    /// The same, with Jain's index of glibc and of std in each case.
    fn with_fairness(speeds: &[[Option<f64>; 4]], jain: &[[f64; 2]]) -> Speeds<'static> {
        let mut all = self::speeds(speeds);
        for (case, [glibc, std]) in all.cases.iter_mut().zip(jain) {
            case.jain = vec![Some(0.5), Some(1.0), Some(*glibc), Some(*std)];
        }
        all
    }

    fn words(line: &str) -> Vec<&str> {
        line.split_whitespace().collect()
    }

    fn rendered(speeds: &Speeds) -> String {
        anstream::adapter::strip_str(&speeds.render(120)).to_string()
    }

    #[test]
    fn the_best_peer_is_none_of_ours() {
        let speeds = speeds(&[[Some(4.0), Some(8.0), Some(1.0), Some(2.0)]]);
        let standings = speeds.standings();
        assert_eq!(standings.len(), 2);
        assert_eq!(standings[0].best_peer, Some(Contestant::Std));
        let shown = |ratio: Option<Ratio>| ratio.map(|ratio| (ratio.ratio, ratio.differs));
        assert_eq!(shown(standings[0].over_best_peer), Some((2.0, true)));
        assert_eq!(shown(standings[1].over_glibc), Some((8.0, true)));
        assert_eq!(speeds.tally(Contestant::Furwock, Over::Best).better, 1);
    }

    #[test]
    fn the_best_fair_peer_is_the_fastest_of_the_fair_ones() {
        let four = [Some(4.0), Some(8.0), Some(1.0), Some(2.0)];
        let speeds = with_fairness(&[four; 3], &[[0.9, 0.899], [0.9, 1.0], [0.5, 0.5]]);
        let standings = speeds.standings();
        let of_case = |case: usize| &standings[2 * case];
        assert_eq!(of_case(0).best_peer, Some(Contestant::Std));
        assert_eq!(of_case(0).best_fair_peer, Some(Contestant::Glibc));
        assert_eq!(of_case(0).over_best_fair_peer.unwrap().ratio, 4.0);
        assert_eq!(of_case(1).best_fair_peer, Some(Contestant::Std));
        assert_eq!((of_case(2).best_fair_peer, of_case(2).over_best_fair_peer), (None, None));

        let means = speeds.means();
        let fair = means.iter().find(|mean| mean.over == Over::BestFair).unwrap();
        assert_eq!((fair.contestant, fair.cases), (Contestant::Furwock, 2));
        assert_eq!((fair.min, fair.max), (2.0, 4.0));
        assert!((fair.mean - 8f64.sqrt()).abs() < 1e-12);
        let over = |mean: &Mean| serde_json::to_value(mean).unwrap()["over"].clone();
        assert_eq!(over(fair), "best-fair-peer");
        let best = means.iter().find(|mean| mean.over == Over::Best).unwrap();
        assert!(over(best).is_null());
    }

    #[test]
    fn shows_the_best_fair_peer_where_fairness_is_known() {
        let four = [Some(4.0), Some(8.0), Some(1.0), Some(2.0)];
        let text = rendered(&with_fairness(&[four; 2], &[[1.0, 0.5], [0.5, 0.5]]));
        let lines: Vec<&str> = text.lines().collect();
        let header = "case best peer best fair peer furwock/best /fair /glibc preload/best /fair \
                      /glibc";
        assert_eq!(words(lines[1]).join(" "), header);
        let row = "a case std glibc 2.00x 4.00x 4.00x 4.00x 8.00x 8.00x";
        assert_eq!(words(lines[2]).join(" "), row);
        assert_eq!(words(lines[3])[3..6], ["-", "2.00x", "-"]);
        assert!(text.contains("best fair of each case"), "{text}");
        let unknown = rendered(&speeds(&[four]));
        assert!(!unknown.contains("fair"), "{unknown}");
    }

    #[test]
    fn means_are_of_cases_that_both_were_measured_in() {
        let speeds = speeds(&[
            [Some(4.0), None, Some(1.0), Some(2.0)],
            [Some(1.0), None, Some(1.0), None],
            [None, None, Some(1.0), Some(9.0)],
        ]);
        let means = speeds.means();
        // furwock over glibc, over std, over the best, of one kind and the other; nothing of the
        // preload.
        assert_eq!(means.len(), 4);
        assert_eq!((means[0].mean, means[0].min, means[0].max, means[0].cases), (2.0, 1.0, 4.0, 2));
        assert_eq!((means[1].mean, means[1].cases), (2.0, 1));
        assert_eq!((means[2].over, means[2].cases), (Over::Best, 2));
        assert!((means[2].mean - 2f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn the_best_by_other_rounds_is_no_lucky_one() {
        // Each peer is lucky in another round.
        let case = CaseSpeeds {
            case: "a case".to_owned(),
            speeds: vec![vec![1.0; 2], vec![], vec![2.0, 1.0], vec![1.0, 2.0]],
            jain: vec![None; 4],
        };
        let mut speeds = Speeds { contestants: &CONTESTANTS, cases: vec![case] };
        assert_eq!(speeds.best_by_other_rounds(&speeds.cases[0]), Some(vec![1.0; 2]));
        // One is the best in both.
        speeds.cases[0].speeds[3] = vec![3.0, 5.0];
        let best = speeds.best_by_other_rounds(&speeds.cases[0]);
        assert_eq!(best.as_ref(), Some(&speeds.cases[0].speeds[3]));
        let means = speeds.means();
        let mean = means.iter().find(|mean| mean.over == Over::BestByOtherRounds).unwrap();
        assert_eq!(mean.mean, 0.25);
        assert_eq!(serde_json::to_value(mean).unwrap()["over"], "best-peer-by-other-rounds");
        // One round has no others.
        speeds.cases[0].speeds.iter_mut().for_each(|rounds| rounds.truncate(1));
        assert_eq!(speeds.best_by_other_rounds(&speeds.cases[0]), None);
    }

    #[test]
    fn renders_the_contestants_that_were_measured() {
        let text = rendered(&speeds(&[[Some(4.0), None, Some(1.0), Some(2.0)]]));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(words(lines[2]), ["a", "case", "std", "2.00x", "4.00x", "-", "-"]);
        assert!(text.contains("best of each case"), "{text}");
    }

    #[test]
    fn says_where_it_cannot_tell() {
        let text = speeds(&[[Some(1.015), None, Some(1.0), Some(0.5)]]).render(120);
        let row = text.lines().nth(2).unwrap();
        assert!(row.contains("0.99–1.04") && !row.contains('x'), "{text}");
        let mut few = speeds(&[[Some(1.5), None, Some(1.0), Some(0.5)]]);
        few.cases[0].speeds.iter_mut().for_each(|rounds| rounds.truncate(1));
        assert!(few.render(120).contains("1.50x?"), "{}", few.render(120));
    }
}
