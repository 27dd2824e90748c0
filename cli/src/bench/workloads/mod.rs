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

/// A count of at least one.
pub fn count(text: &str) -> Result<u32, String> {
    match text.trim().parse() {
        Ok(0) | Err(_) => Err("not a number from 1 on".to_owned()),
        Ok(count) => Ok(count),
    }
}
