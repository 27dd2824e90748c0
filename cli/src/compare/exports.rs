//! What was measured of a program, in the columns and keys that hyperfine's readers know.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::Serialize;

use super::program::{Measured, Statuses};
use super::side::Side;
use crate::measuring::child::Sample;
use crate::statistics::{Spread, mean, standard_deviation};

/// One side of one variation.
#[derive(Serialize)]
pub struct Result<'a> {
    command: String,
    side: Side,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    statuses: &'a Statuses,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'a str, &'a str>,
}

/// Both sides, if there is any pair.
pub fn results(measured: &Measured) -> Vec<Result<'_>> {
    if measured.pairs.is_empty() {
        return Vec::new();
    }
    let side = |side: Side| {
        let samples = || {
            measured.pairs.iter().map(move |pair| match side {
                Side::Glibc => &pair.samples.glibc,
                Side::Furwock => &pair.samples.furwock,
            })
        };
        let all = |of: fn(&Sample) -> f64| samples().map(of).collect::<Vec<f64>>();
        let times = all(|sample| sample.wall_s);
        let spread = Spread::of(&times);
        let settings = measured.variation.settings.iter();
        Result {
            command: measured.variation.words().join(" "),
            side,
            mean: mean(&times),
            stddev: standard_deviation(&times),
            median: spread.median,
            user: mean(&all(|sample| sample.user_s)),
            system: mean(&all(|sample| sample.system_s)),
            min: spread.min,
            max: spread.max,
            times,
            statuses: match side {
                Side::Glibc => &measured.statuses.glibc,
                Side::Furwock => &measured.statuses.furwock,
            },
            parameters: settings.map(|(name, value)| (name.as_str(), value.as_str())).collect(),
        }
    };
    [Side::Glibc, Side::Furwock].map(side).into()
}

/// hyperfine's columns, and then the side.
pub fn write_csv(path: &Path, all: &[Measured]) -> io::Result<()> {
    let mut writer = csv::Writer::from_path(path)?;
    let mut header: Vec<String> =
        ["command", "mean", "stddev", "median", "user", "system", "min", "max", "side"]
            .map(str::to_owned)
            .into();
    let settings = all.first().map_or(&[][..], |measured| &measured.variation.settings);
    header.extend(settings.iter().map(|(name, _)| format!("parameter_{name}")));
    writer.write_record(&header)?;
    for measured in all {
        for result in results(measured) {
            let Result { mean, median, user, system, min, max, .. } = result;
            let stddev = result.stddev.map_or_else(String::new, |value| value.to_string());
            let mut line = vec![result.command.clone(), mean.to_string(), stddev];
            line.extend([median, user, system, min, max].map(|value| value.to_string()));
            line.push(result.side.to_string());
            line.extend(measured.variation.settings.iter().map(|(_, value)| value.clone()));
            writer.write_record(&line)?;
        }
    }
    writer.flush()
}
