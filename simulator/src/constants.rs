//! The constants of furwock's code that a case may set, and those that a run asked for. There are
//! none in builds without furwock.

use std::collections::BTreeMap;

/// What a sweep needs to know of a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    pub name: &'static str,
    pub unit: &'static str,
    pub least: u64,
    pub most: u64,
    pub file: &'static str,
    pub what: &'static str,
}

#[cfg(simulated)]
mod of_furwock {
    use furwock::unstable::constants;

    pub fn all() -> Vec<super::Constant> {
        let known = |constant: &constants::Constant| {
            let (least, most) = constant.range();
            super::Constant {
                name: constant.name(),
                unit: constant.unit(),
                least,
                most,
                file: constant.file(),
                what: constant.what(),
            }
        };
        constants::Constant::ALL.iter().map(known).collect()
    }

    pub fn set(name: &str, value: u64) -> Result<(), String> {
        let constant = constants::Constant::named(name).ok_or_else(|| super::unknown(name))?;
        constant.set(value).map_err(|error| error.to_string())
    }

    pub fn used() -> super::BTreeMap<String, u64> {
        let used = |constant: &constants::Constant| {
            Some((constant.name().to_owned(), constant.default_if_used()?))
        };
        constants::Constant::ALL.iter().filter_map(used).collect()
    }
}

#[cfg(not(simulated))]
mod of_furwock {
    pub fn all() -> Vec<super::Constant> {
        Vec::new()
    }

    pub fn set(name: &str, _value: u64) -> Result<(), String> {
        Err(super::unknown(name))
    }

    pub fn used() -> super::BTreeMap<String, u64> {
        super::BTreeMap::new()
    }
}

pub use of_furwock::{all, used};

fn unknown(name: &str) -> String {
    let names: Vec<&str> = all().iter().map(|constant| constant.name).collect();
    match &names[..] {
        [] => format!("no constant \"{name}\": this build is without furwock's locks"),
        names => format!("no constant \"{name}\"; there are {}", names.join(", ")),
    }
}

/// Sets those that a case names, before its locks are made.
pub fn set(values: &BTreeMap<String, u64>) -> Result<(), String> {
    values.iter().try_for_each(|(name, value)| of_furwock::set(name, *value))
}

/// A constant and the values to try, as the command line has it: `turn`, or `turn=100000/400000`.
pub fn asked(text: &str) -> Result<(Constant, Vec<u64>), String> {
    let (name, values) = match text.split_once('=') {
        Some((name, values)) => (name, values.split('/').collect()),
        None => (text, Vec::new()),
    };
    let found = all().into_iter().find(|constant| constant.name == name);
    let constant = found.ok_or_else(|| unknown(name))?;
    let value = |text: &str| match text.trim().parse::<u64>() {
        Ok(value) if (constant.least..=constant.most).contains(&value) => Ok(value),
        _ => Err(format!(
            "constant \"{name}\" can't be {} {}: {} to {}",
            text.trim(),
            constant.unit,
            constant.least,
            constant.most
        )),
    };
    Ok((constant, values.into_iter().map(value).collect::<Result<_, _>>()?))
}

#[cfg(all(test, simulated))]
mod tests {
    use super::*;

    #[test]
    fn a_constant_is_asked_for_with_values_or_without() {
        assert!(asked("turn").unwrap().1.is_empty());
        let (turn, values) = asked("turn=1000/0").unwrap();
        assert_eq!((turn.name, values), ("turn", vec![1000, 0]));
    }

    #[test]
    fn bad_input_is_refused_by_name_and_range() {
        let said = asked("tern").unwrap_err();
        assert!(said.starts_with("no constant \"tern\"; there are mutex-spin, "), "{said}");
        let said = asked("fan-out=4/33").unwrap_err();
        assert_eq!(said, "constant \"fan-out\" can't be 33 threads: 1 to 32");
        for bad in ["fan-out=", "fan-out=-1", "fan-out=many", "fan-out=4/"] {
            let said = asked(bad).unwrap_err();
            assert!(said.ends_with("threads: 1 to 32"), "{said}");
        }
    }
}
