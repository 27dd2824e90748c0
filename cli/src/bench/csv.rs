//! Every figure of every implementation in every case, as lines of comma-separated values.

use std::io;
use std::path::Path;

use super::results::BenchmarkResults;

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
        for case in &results.cases {
            for entry in &case.entries {
                for (figure, spread) in entry.spreads() {
                    let named = [
                        results.benchmark.name,
                        &case.case.name,
                        entry.contestant.name(),
                        figure,
                        &entry.runs.len().to_string(),
                    ]
                    .map(str::to_owned);
                    let numbers = [
                        spread.min,
                        spread.lower_quartile,
                        spread.median,
                        spread.upper_quartile,
                        spread.max,
                    ]
                    .map(|number| number.to_string());
                    writer.write_record(named.iter().chain(&numbers))?;
                }
            }
        }
    }
    writer.flush()
}
