//! Every figure of every implementation in every case, as lines of comma-separated values.

use std::io;
use std::path::Path;

use super::results::BenchmarkResults;
use crate::statistics::Spread;

const HEADER: [&str; 10] = [
    "benchmark",
    "case",
    "implementation",
    "figure",
    "rounds",
    "min",
    "lower_quartile",
    "median",
    "upper_quartile",
    "max",
];

pub fn write(path: &Path, benchmarks: &[BenchmarkResults]) -> io::Result<()> {
    let mut writer = csv::Writer::from_path(path)?;
    writer.write_record(HEADER)?;
    for results in benchmarks {
        for (case, entry) in results.entries() {
            for (figure, spread) in entry.spreads() {
                let Spread { min, lower_quartile, median, upper_quartile, max } = spread;
                let name = (results.benchmark.name, &case.name, entry.contestant);
                let numbers = [min, lower_quartile, median, upper_quartile, max];
                writer.serialize((name, figure, entry.runs.len(), numbers))?;
            }
        }
    }
    writer.flush()
}
