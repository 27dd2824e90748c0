//! Lengths of time on the command line.

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
