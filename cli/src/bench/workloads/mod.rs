//! The benchmarks: each says what its command line may hold, and which cases follow from it.

pub mod condvars;
pub mod many;
pub mod mutex;
pub mod pair;
pub mod rwlock;
pub mod semaphores;
pub mod words;

/// A number of threads.
pub fn threads(text: &str) -> Result<u32, String> {
    match text.trim().parse() {
        Ok(0) | Err(_) => Err("not a number of threads from 1 on".to_owned()),
        Ok(count) => Ok(count),
    }
}

/// What a round can do in its time, and has memory for.
const COUNT_MAX: u32 = 1 << 24;

/// A count of at least one.
pub fn count(text: &str) -> Result<u32, String> {
    match text.trim().parse() {
        Ok(count @ 1..=COUNT_MAX) => Ok(count),
        _ => Err(format!("not a number from 1 to {COUNT_MAX}")),
    }
}
