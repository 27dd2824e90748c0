//! Values of options on the command line.

use std::time::Duration;

/// Longer than any run, and short enough to add to a clock.
const SECONDS_MAX: f64 = 1e7;

/// A number of seconds above 0.
pub fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Err(_) => Err("not a number of seconds".to_owned()),
        Ok(seconds) if seconds > SECONDS_MAX => Err(format!("more than {SECONDS_MAX}")),
        Ok(seconds) if seconds > 0.0 => {
            Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
        }
        Ok(_) => Err("must be more than 0".to_owned()),
    }
}

/// A process.
pub fn pid(text: &str) -> Result<i32, String> {
    match text.parse() {
        Ok(pid) if pid > 0 => Ok(pid),
        _ => Err("not a process id, as ps shows them".to_owned()),
    }
}

/// A number of threads.
pub fn threads(text: &str) -> Result<u32, String> {
    match text.trim().parse() {
        Ok(0) | Err(_) => Err("not a number of threads, 1 or more".to_owned()),
        Ok(count) => Ok(count),
    }
}

/// A round has neither time nor memory for more.
const COUNT_MAX: u32 = 1 << 24;

/// A count of at least one.
pub fn count(text: &str) -> Result<u32, String> {
    match text.trim().parse() {
        Ok(count @ 1..=COUNT_MAX) => Ok(count),
        _ => Err(format!("not a number from 1 to {COUNT_MAX}")),
    }
}

/// Producers to consumers.
pub fn pair_of_threads(text: &str) -> Result<(u32, u32), String> {
    let (one, other) = text.split_once('/').ok_or("not two numbers of threads, as in 4/4")?;
    Ok((threads(one)?, threads(other)?))
}
