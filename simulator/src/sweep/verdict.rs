//! What a constant's values come to: on each machine, and over all of them.

use std::collections::BTreeMap;

use crate::outcome::Outcome;
use crate::tables::distinct;

/// Rates that differ by less, as geometric means over a machine's cells, are taken as equal.
const SAME: f64 = 0.95;
/// A cell whose rate differs by more between seeds isn't judged.
const STEADY: f64 = 1.25;

/// How a value did on one machine against the default, over the cells that use the constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The geometric mean of the rates over the default's.
    pub rate: f64,
    /// The least of them, and its cell.
    pub worst: (f64, String),
    /// The greatest of them, and its cell.
    pub best: (f64, String),
    /// The geometric mean of the 99.9th percentiles of waits over the default's, if there are any.
    pub wait: Option<f64>,
    /// How much higher Jain's index is, in the mean.
    pub jain: f64,
}

/// A constant's values on a machine.
#[derive(Clone, Debug)]
pub struct OnMachine {
    pub machine: String,
    pub cells: usize,
    /// The default is among them: 1 by definition.
    pub values: BTreeMap<u64, Standing>,
}

/// What follows for the constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All values that were tried come to the same everywhere.
    Indifferent,
    /// The default is as good as the best, on all machines.
    DefaultIsGood,
    /// Another value is, and the default isn't.
    OtherIsGood(u64),
    /// None is.
    MustBeLearnt,
}

/// The default's outcomes with several seeds: those of one cell are each other's neighbours.
pub struct Baseline<'a>(pub &'a [Outcome]);

impl Baseline<'_> {
    fn of(&self, outcome: &Outcome) -> Vec<&Outcome> {
        self.0.iter().filter(|each| is_same_cell(each, outcome) && each.failure.is_none()).collect()
    }

    /// Whether the default's own rate is nearly the same with every seed. Otherwise one run with
    /// another value says nothing.
    fn is_steady(&self, outcome: &Outcome) -> bool {
        let rates: Vec<f64> = self.of(outcome).iter().map(|each| each.rate()).collect();
        let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let most = rates.iter().copied().fold(0.0, f64::max);
        most <= least * STEADY
    }

    /// The cells that are not judged.
    pub fn unsteady(&self) -> Vec<String> {
        let name = |outcome: &Outcome| {
            let case = &outcome.case;
            format!("{} {} on {}", case.workload, case.label(), case.machine)
        };
        distinct(self.0.iter().filter(|outcome| !self.is_steady(outcome)).map(name))
    }

    /// How far the default's own rates lie from their mean, as a geometric mean over cells.
    pub fn noise(&self) -> f64 {
        let spread = |first: &Outcome| {
            let rates: Vec<f64> = self.of(first).iter().map(|each| each.rate()).collect();
            let mean = geometric_mean(&rates)?;
            geometric_mean(
                &rates.iter().map(|rate| (rate / mean).ln().abs().exp()).collect::<Vec<_>>(),
            )
        };
        let spreads: Vec<f64> = self.0.iter().filter_map(spread).collect();
        geometric_mean(&spreads).unwrap_or(1.0)
    }
}

fn is_same_cell(one: &Outcome, other: &Outcome) -> bool {
    one.case.machine == other.case.machine
        && one.case.workload == other.case.workload
        && one.case.label() == other.case.label()
}

/// `None` for none, or if one of them isn't above 0.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let usable = !values.is_empty() && values.iter().all(|value| *value > 0.0);
    usable.then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

/// The 99.9th percentiles of a case's waits; a wait of nothing counts as one of a nanosecond.
fn waits(outcome: &Outcome) -> Option<f64> {
    let names = ["wait_p999_s", "read_wait_p999_s", "write_wait_p999_s"];
    let waits = names.iter().filter_map(|name| outcome.figure(name));
    geometric_mean(&waits.map(|wait| wait.max(1e-9)).collect::<Vec<_>>())
}

/// What the outcomes of `constant`'s values come to, machine by machine. A cell that failed has a
/// rate of a thousandth.
pub fn judge(constant: &str, baseline: &Baseline, outcomes: &[Outcome]) -> Vec<OnMachine> {
    let value = |outcome: &Outcome| outcome.case.constants.get(constant).copied();
    let machines = distinct(outcomes.iter().map(|outcome| outcome.case.machine.clone()));
    let of = |machine: String| {
        let here: Vec<&Outcome> = outcomes
            .iter()
            .filter(|outcome| {
                let is_here = outcome.case.machine == machine && value(outcome).is_some();
                is_here && baseline.is_steady(outcome)
            })
            .collect();
        let cells =
            distinct(here.iter().map(|each| (each.case.workload.clone(), each.case.label())));
        let values = distinct(here.iter().filter_map(|outcome| value(outcome)));
        let standing = |tried: u64| {
            let with: Vec<&Outcome> =
                here.iter().copied().filter(|outcome| value(outcome) == Some(tried)).collect();
            Some((tried, standing(baseline, &with)?))
        };
        let values = values.into_iter().filter_map(standing).collect();
        OnMachine { machine, cells: cells.len(), values }
    };
    machines.into_iter().map(of).filter(|on| !on.values.is_empty()).collect()
}

fn standing(baseline: &Baseline, outcomes: &[&Outcome]) -> Option<Standing> {
    const FAILED: f64 = 1e-3;
    let (mut rates, mut all_waits, mut jains) = (Vec::new(), Vec::new(), Vec::new());
    for outcome in outcomes {
        let before = baseline.of(outcome);
        let mean = |figure: &dyn Fn(&Outcome) -> Option<f64>| {
            geometric_mean(&before.iter().filter_map(|each| figure(each)).collect::<Vec<_>>())
        };
        let Some(rate) = mean(&|each| Some(each.rate())) else { continue };
        let label = format!("{} {}", outcome.case.workload, outcome.case.label());
        rates.push(((outcome.rate() / rate).max(FAILED), label));
        if let (Some(now), Some(before)) = (waits(outcome), mean(&waits)) {
            all_waits.push(now / before);
        }
        if let (Some(now), Some(before)) =
            (outcome.figure("jain"), mean(&|each| each.figure("jain")))
        {
            jains.push(now - before);
        }
    }
    let order = |one: &&(f64, String), other: &&(f64, String)| one.0.total_cmp(&other.0);
    Some(Standing {
        rate: geometric_mean(&rates.iter().map(|rate| rate.0).collect::<Vec<_>>())?,
        worst: rates.iter().min_by(order)?.clone(),
        best: rates.iter().max_by(order)?.clone(),
        wait: geometric_mean(&all_waits),
        jain: jains.iter().sum::<f64>() / jains.len().max(1) as f64,
    })
}

/// What the default comes to against the best value, on the machine where that is least.
pub fn loss(default: u64, machines: &[OnMachine]) -> Option<(f64, &str)> {
    let share = |on: &OnMachine| {
        let others = on.values.iter().filter(|(value, _)| **value != default);
        1.0 / others.map(|(_, standing)| standing.rate).fold(1.0, f64::max)
    };
    let shares = machines.iter().map(|on| (share(on), on.machine.as_str()));
    shares.min_by(|one, other| one.0.total_cmp(&other.0))
}

/// Over all machines: is there a value that is nowhere worse than the best by more than noise?
pub fn verdict(default: u64, machines: &[OnMachine]) -> Verdict {
    let rate = |on: &OnMachine, value: u64| match value == default {
        true => Some(1.0),
        false => on.values.get(&value).map(|standing| standing.rate),
    };
    let tried = distinct(machines.iter().flat_map(|on| on.values.keys().copied()));
    let best =
        |on: &OnMachine| tried.iter().filter_map(|value| rate(on, *value)).fold(1.0, f64::max);
    let loss = |value: u64| {
        let shares = machines.iter().filter_map(|on| Some(rate(on, value)? / best(on)));
        shares.fold(1.0, f64::min)
    };
    let good: Vec<u64> = tried.iter().copied().filter(|value| loss(*value) >= SAME).collect();
    match loss(default) >= SAME {
        true if good.len() == tried.len() => Verdict::Indifferent,
        true => Verdict::DefaultIsGood,
        false => good
            .into_iter()
            .max_by(|one, other| loss(*one).total_cmp(&loss(*other)))
            .map_or(Verdict::MustBeLearnt, Verdict::OtherIsGood),
    }
}

impl Verdict {
    pub fn text(&self, unit: &str) -> String {
        match self {
            Verdict::Indifferent => "all values tried are equally good everywhere".to_owned(),
            Verdict::DefaultIsGood => "the default is good everywhere".to_owned(),
            Verdict::OtherIsGood(value) => {
                format!("{value} {unit} is good everywhere, and the default isn't")
            }
            Verdict::MustBeLearnt => {
                "no value is good everywhere: it must be learned, or derived from a cost".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;

    fn outcome(machine: &str, threads: usize, value: Option<u64>, rate: f64) -> Outcome {
        let mut case = Case::new(machine, "mutex", "furwock", threads);
        case.constants.extend(value.map(|value| ("turn".to_owned(), value)));
        let mut outcome = Outcome::failed(&case, String::new());
        outcome.failure = None;
        outcome.figures.insert("ops_per_second".to_owned(), rate);
        outcome.figures.insert("wait_p999_s".to_owned(), 1.0 / rate);
        outcome.figures.insert("jain".to_owned(), 0.5);
        outcome
    }

    fn on(machine: &str, rates: &[(u64, f64)]) -> OnMachine {
        let baseline = [outcome(machine, 2, None, 100.0)];
        let outcomes: Vec<Outcome> = rates
            .iter()
            .map(|(value, rate)| outcome(machine, 2, Some(*value), rate * 100.0))
            .collect();
        judge("turn", &Baseline(&baseline), &outcomes).remove(0)
    }

    #[test]
    fn a_value_stands_by_the_mean_over_cells_of_its_machine() {
        let baseline =
            [outcome("a", 2, None, 100.0), outcome("a", 4, None, 10.0), outcome("b", 2, None, 1e6)];
        let outcomes = [outcome("a", 2, Some(7), 200.0), outcome("a", 4, Some(7), 5.0)];
        let judged = judge("turn", &Baseline(&baseline), &outcomes);
        let [on] = &judged[..] else { panic!("{judged:?}") };
        assert_eq!((on.machine.as_str(), on.cells), ("a", 2));
        let standing = &on.values[&7];
        assert!((standing.rate - 1.0).abs() < 1e-9);
        let is = |found: &(f64, String), ratio: f64, cell: &str| {
            assert!((found.0 - ratio).abs() < 1e-9 && found.1 == cell, "{found:?}");
        };
        is(&standing.worst, 0.5, "mutex 0/0 x 4");
        is(&standing.best, 2.0, "mutex 0/0 x 2");
        assert!((standing.wait.unwrap() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_failed_cell_is_the_worst() {
        let mut failed = outcome("a", 2, Some(7), 0.0);
        failed.failure = Some("livelock".to_owned());
        let judged = judge("turn", &Baseline(&[outcome("a", 2, None, 100.0)]), &[failed]);
        assert_eq!(judged[0].values[&7].worst.0, 1e-3);
    }

    #[test]
    fn verdicts() {
        let small = on("a", &[(1, 1.01), (9, 0.99)]);
        assert_eq!(verdict(5, std::slice::from_ref(&small)), Verdict::Indifferent);
        let steep = on("b", &[(1, 0.5), (9, 1.01)]);
        assert_eq!(verdict(5, &[small.clone(), steep]), Verdict::DefaultIsGood);
        let up = on("b", &[(1, 0.5), (9, 1.5)]);
        assert_eq!(verdict(5, &[small, up.clone()]), Verdict::OtherIsGood(9));
        let down = on("c", &[(1, 1.5), (9, 0.5)]);
        assert_eq!(verdict(5, &[up, down]), Verdict::MustBeLearnt);
    }

    #[test]
    fn the_default_loses_most_on_one_machine() {
        let machines =
            [on("a", &[(1, 1.25), (5, 9.0)]), on("b", &[(1, 2.0)]), on("c", &[(1, 0.5)])];
        let (share, machine) = loss(5, &machines).unwrap();
        assert!((share - 0.5).abs() < 1e-9 && machine == "b", "{share} on {machine}");
        assert_eq!(loss(5, &machines[2..]), Some((1.0, "c")));
        assert_eq!(loss(5, &[]), None);
    }

    #[test]
    fn a_cell_that_differs_between_seeds_is_not_judged() {
        let seeds = [outcome("a", 2, None, 100.0), outcome("a", 2, None, 126.0)];
        let baseline = Baseline(&seeds);
        assert_eq!(baseline.unsteady(), ["mutex 0/0 x 2 on a"]);
        assert!(judge("turn", &baseline, &[outcome("a", 2, Some(7), 9.0)]).is_empty());
        assert!(Baseline(&seeds[..1]).unsteady().is_empty());
    }

    #[test]
    fn noise_is_how_far_seeds_differ() {
        let seeds = [outcome("a", 2, None, 100.0), outcome("a", 2, None, 121.0)];
        assert!((Baseline(&seeds).noise() - 1.1).abs() < 1e-9);
    }
}
