//! Is it true? Compares simulated figures with those that were measured: LiTL's on 64 cores
//! (`litl`), the tables of Molnar and Bueso (`published`), and files that `furwock bench` wrote on
//! the machines that two of the descriptions stand for (`measured`).

mod fit;
mod floors;
mod litl;
mod measured;
mod published;

use crate::options::{Options, Part};

/// Runs the comparisons; true if all that is asked of them holds.
pub fn run(options: &Options, parts: &[Part]) -> Result<bool, String> {
    let jobs = super::jobs(options);
    let mut holds = true;
    if parts.contains(&Part::Litl) {
        holds &= litl::compare(options.seed, jobs)?;
    }
    if parts.contains(&Part::Papers) {
        holds &= published::compare(options.seed, jobs)?;
    }
    if parts.contains(&Part::Short) {
        holds &= litl::keeps(&floors::LITL, options.seed, jobs)?;
        holds &= published::keeps(&floors::PAPERS, options.seed, jobs)?;
    }
    if !parts.contains(&Part::Machines) {
        return Ok(holds);
    }
    for named in &options.measurement {
        let (machine, path) = named
            .split_once('=')
            .ok_or_else(|| format!("\"{named}\": not a machine and a file, as in sixteen=FILE"))?;
        holds &= measured::compare(machine, path.as_ref(), options.seed, jobs)?;
    }
    if options.measurement.is_empty() {
        println!(
            "Virtual machines: none was compared. `furwock bench mutex --json FILE` measures one; \
             --measurement MACHINE=FILE compares it."
        );
    }
    Ok(holds)
}

/// How a comparison came out.
fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "DOES NOT HOLD" }
}
