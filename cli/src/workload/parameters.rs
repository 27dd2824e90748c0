//! The `key=value` words that a workload is given.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

pub struct Parameters(BTreeMap<String, String>);

#[derive(Debug)]
pub struct BadParameter(pub String);

impl fmt::Display for BadParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Parameters {
    pub fn parse(words: &[String]) -> Result<Self, BadParameter> {
        let pairs = words.iter().map(|word| match word.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(BadParameter(format!("{word}: not KEY=VALUE"))),
        });
        Ok(Parameters(pairs.collect::<Result<_, _>>()?))
    }

    /// The value of `key`, taken out, or what it is when nobody says.
    pub fn take<T: FromStr>(&mut self, key: &str, default: T) -> Result<T, BadParameter> {
        match self.0.remove(key) {
            None => Ok(default),
            Some(text) => {
                text.parse().map_err(|_| BadParameter(format!("{key}={text}: not a valid value")))
            }
        }
    }

    /// A count of at least one.
    pub fn take_count(&mut self, key: &str, default: usize) -> Result<usize, BadParameter> {
        match self.take(key, default)? {
            0 => Err(BadParameter(format!("{key}=0: must be at least 1"))),
            count => Ok(count),
        }
    }

    /// A finite number, not negative.
    pub fn take_amount(&mut self, key: &str, default: f64) -> Result<f64, BadParameter> {
        let amount = self.take(key, default)?;
        if amount.is_finite() && amount >= 0.0 {
            Ok(amount)
        } else {
            Err(BadParameter(format!("{key}={amount}: must be a number from 0")))
        }
    }

    /// Refuses whatever nobody took.
    pub fn finish(self) -> Result<(), BadParameter> {
        match self.0.into_keys().next() {
            None => Ok(()),
            Some(key) => Err(BadParameter(format!("{key}: no such parameter"))),
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
        assert_eq!(given.take_count("threads", 1).unwrap(), 4);
        assert_eq!(given.take_amount("cs", 0.0).unwrap(), 0.5);
        assert_eq!(given.take_amount("ncs", 2.0).unwrap(), 2.0);
        assert!(given.take_count("games", 1).is_err());
        assert!(given.finish().is_ok());
        assert!(parameters(&["thread=4"]).finish().is_err());
        assert!(parameters(&["cs=-1"]).take_amount("cs", 0.0).is_err());
        assert!(Parameters::parse(&["cs".to_owned()]).is_err());
    }
}
