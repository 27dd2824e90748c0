//! Lengths of time on the command line.

use std::time::Duration;

/// A number of seconds above 0.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if seconds > 0.0 {
        Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
    } else {
        Err("must be more than 0".to_owned())
    }
}
