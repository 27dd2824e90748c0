//! The `key=value` parameters of a workload.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::work::calibrate;
use crate::contestants::Contestant;

pub struct Parameters(BTreeMap<String, String>);

/// Why a workload has no figures.
#[derive(Debug)]
pub enum Failed {
    /// It was given bad parameters, and did not start.
    Parameter(String),
    /// It cannot run here, or its check of its own result failed.
    Check(String),
}

impl From<String> for Failed {
    fn from(reason: String) -> Self {
        Failed::Check(reason)
    }
}

fn bad<T>(message: String) -> Result<T, Failed> {
    Err(Failed::Parameter(message))
}

impl Parameters {
    pub fn parse(words: &[String]) -> Result<Self, Failed> {
        let pairs = words.iter().map(|word| match word.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => bad(format!("{word}: not KEY=VALUE")),
        });
        Ok(Parameters(pairs.collect::<Result<_, _>>()?))
    }

    /// Takes the value of `key` out; `default` if it is not given.
    pub fn take<T: FromStr>(&mut self, key: &str, default: T) -> Result<T, Failed> {
        let Some(text) = self.0.remove(key) else { return Ok(default) };
        text.parse().or_else(|_| bad(format!("{key}={text}: not a valid value")))
    }

    /// A count of at least one.
    pub fn count(&mut self, key: &str, default: usize) -> Result<usize, Failed> {
        match self.take(key, default)? {
            0 => bad(format!("{key}=0: must be at least 1")),
            count => Ok(count),
        }
    }

    /// A finite number, not negative.
    pub fn amount(&mut self, key: &str, default: f64) -> Result<f64, Failed> {
        match self.take(key, default)? {
            amount if amount.is_finite() && amount >= 0.0 => Ok(amount),
            amount => bad(format!("{key}={amount}: must be a number from 0")),
        }
    }

    /// 0 or 1.
    pub fn flag(&mut self, key: &str) -> Result<bool, Failed> {
        Ok(self.take(key, 0u8)? != 0)
    }

    /// The implementation to measure; without the parameter, the pthread library of this process.
    pub fn contestant(&mut self) -> Result<Contestant, Failed> {
        self.contestants().map(|contestants| contestants[0])
    }

    /// The implementations, at least one, all of which can be measured on this machine.
    pub fn contestants(&mut self) -> Result<Vec<Contestant>, Failed> {
        let names = self.take("impl", Contestant::Glibc.name().to_owned())?;
        let named = |name| {
            let found = Contestant::named(name);
            found.ok_or_else(|| Failed::Parameter(format!("impl={name}: no such implementation")))
        };
        let contestants = names.split(',').map(named).collect::<Result<Vec<_>, _>>()?;
        match contestants.iter().find_map(|each| each.absent()) {
            Some(reason) => Err(Failed::Check(reason)),
            None => Ok(contestants),
        }
    }

    /// Parameters in microseconds of work, as loops of `work::spin`.
    pub fn loops<const N: usize>(&mut self, keys: [&str; N]) -> Result<[u64; N], Failed> {
        let loops_per_us = match self.amount("loops_per_us", 0.0)? {
            0.0 => calibrate(),
            given => given,
        };
        let mut loops = [0; N];
        for (loops, key) in loops.iter_mut().zip(keys) {
            *loops = (self.amount(key, 0.0)? * loops_per_us).round() as u64;
        }
        Ok(loops)
    }

    /// Refuses parameters that were not taken.
    pub fn finish(self) -> Result<(), Failed> {
        match self.0.into_keys().next() {
            None => Ok(()),
            Some(key) => bad(format!("{key}: no such parameter")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(words: &[&str]) -> Parameters {
        Parameters::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn takes_and_refuses() {
        let mut given = parameters(&["threads=4", "cs=0.5", "games=0"]);
        assert_eq!(given.count("threads", 1).unwrap(), 4);
        assert_eq!(given.amount("cs", 0.0).unwrap(), 0.5);
        assert_eq!(given.amount("ncs", 2.0).unwrap(), 2.0);
        assert!(given.count("games", 1).is_err());
        assert!(given.finish().is_ok());
        assert!(parameters(&["thread=4"]).finish().is_err());
        assert!(parameters(&["cs=-1"]).amount("cs", 0.0).is_err());
        assert!(Parameters::parse(&["cs".to_owned()]).is_err());
        assert!(parameters(&["impl=no-such"]).contestant().is_err());
    }
}
