//! footprint: the memory of a process in which threads wait, on the pthread library of the process.

use std::fs;
use std::sync::Arc;

use crate::contestants::locks::{Condvar, Monitor, Monitors, Mutex, Pthread};
use crate::harness::{Failed, Figures, Parameters, figures, join_all, spawn_all};

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let threads: usize = given.take("threads", 0)?;
    given.finish()?;
    Ok(measure::<Pthread>(threads)?)
}

/// How many threads wait, and whether they may go.
type State = (usize, bool);

/// The process's own memory in bytes, without shared pages of files.
fn own_bytes() -> Result<f64, String> {
    let path = "/proc/self/smaps_rollup";
    let rollup = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let private = |line: &str| {
        let (key, value) = line.split_once(':')?;
        let kibibytes = || value.split_whitespace().next()?.parse::<f64>().ok();
        key.starts_with("Private_").then(kibibytes)?
    };
    Ok(rollup.lines().filter_map(private).sum::<f64>() * 1024.0)
}

fn measure<F: Monitors>(threads: usize) -> Result<Figures, String> {
    type Place<F> = (<F as Monitors>::Monitor<State>, <F as Monitors>::Condvar);
    let place: Arc<Place<F>> = Arc::new((F::Monitor::new((0, false)), F::Condvar::new()));
    // One lock and unlock, so that what the first one sets up is counted.
    drop(place.0.lock());
    let alone = own_bytes()?;
    let handles = spawn_all(threads, &place, |place, _| {
        let mut state = place.0.lock();
        state.0 += 1;
        while !state.1 {
            state = F::Monitor::wait(state, &place.1);
        }
    });
    while place.0.lock().0 < threads {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let with_threads = own_bytes()?;
    place.0.lock().1 = true;
    place.1.broadcast();
    join_all(handles);
    Ok(figures([
        ("own_bytes", alone),
        ("resident_bytes", super::table::resident_bytes()),
        ("bytes_per_thread", (with_threads - alone) / threads.max(1) as f64),
    ]))
}
