//! Simulations may set the locks' constants, and nothing else changes with that.

use super::scenarios::contend;
use super::simulation;
use furwock::unstable::constants::Constant;
use machine::isolated;

/// What a run with these values came to, and the defaults of the constants that it asked for.
fn run(values: &'static [(Constant, u64)]) -> String {
    let said = isolated(|| {
        values.iter().for_each(|(constant, value)| constant.set(*value).unwrap());
        let run = contend(simulation("sixteen", 1), 16, 40, (500, 500)).unwrap();
        let used = |constant: &Constant| {
            let default = constant.default_if_used()?;
            Some(format!(" {}={default}", constant.name()))
        };
        let used: String = Constant::ALL.iter().filter_map(used).collect();
        format!("{:x}{used}", run.trace_hash).into()
    });
    String::from_utf8(said.unwrap()).unwrap()
}

#[test]
fn a_constant_that_is_set_changes_the_run() {
    let plain = run(&[]);
    for part in [" mutex-spin=25000", " probe-pauses=1"] {
        assert!(plain.contains(part), "{part} is missing in: {plain}");
    }
    assert!(!plain.contains("slot-probes"), "{plain}");
    // Its own value, and one that no code here asks for.
    assert_eq!(run(&[(Constant::ProbePauses, 1), (Constant::SlotProbes, 1)]), plain);
    let other = run(&[(Constant::ProbePauses, 100)]);
    assert_ne!(other, plain);
    assert!(other.contains(" probe-pauses=1"), "{other}");
}

#[test]
fn what_is_out_of_range_is_refused_and_says_so() {
    let refused = Constant::FanOut.set(33).unwrap_err();
    assert_eq!(refused.to_string(), "constant \"fan-out\" can't be 33 threads: 1 to 32");
}

#[test]
fn names_are_distinct_and_files_exist() {
    for &constant in Constant::ALL {
        assert_eq!(Constant::named(constant.name()), Some(constant));
        let (least, most) = constant.range();
        assert!(least < most && !constant.what().is_empty());
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/").to_owned() + constant.file();
        assert!(std::fs::exists(&file).unwrap(), "{file}");
    }
    assert_eq!(Constant::named("tern"), None);
}
