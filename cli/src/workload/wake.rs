//! wake, after `perf bench futex wake`: threads sleep on one word, and the main thread wakes so many of
//! them at a time until all are awake.

use std::time::Instant;

use super::beds::for_beds;
use super::crowd::{Bed, Crowd, cpu_time, repeat};
use super::implementation::Implementation;
use super::parameters::{BadParameter, Parameters};
use super::report::{Figures, figures};
use super::usage::Usage;
use super::watchdog;
use crate::statistics::median;

pub fn run(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let threads = parameters.take_count("threads", 4)?;
    let at_a_time = parameters.take_count("nwakes", 1)?;
    let seconds = parameters.take_amount("seconds", 0.5)?;
    let limit_s = parameters.take_amount("watchdog", watchdog::DEFAULT_SECONDS)?;
    let implementation = Implementation::take(&mut parameters)?;
    let shared = parameters.take("shared", 0u32)? != 0;
    parameters.finish()?;
    Ok(for_beds!(implementation, shared, measure(threads, at_a_time, seconds, limit_s)))
}

fn measure<B: Bed>(
    threads: usize,
    at_a_time: usize,
    seconds: f64,
    limit_s: f64,
) -> Result<Figures, String> {
    let crowd = Crowd::<B>::gather(threads, limit_s);
    let (mut waking, mut waker_cpu, mut awake, mut cpu) = (vec![], vec![], vec![], vec![]);
    let mut strangers = 0;
    repeat(seconds, || {
        crowd.put_to_sleep();
        let usage = Usage::now();
        let (start, start_cpu) = (Instant::now(), cpu_time());
        let mut woken = 0;
        while woken < threads && !crowd.are_all_up() {
            woken += crowd.bed().wake(at_a_time.min(threads - woken));
        }
        waking.push(start.elapsed().as_secs_f64());
        waker_cpu.push((cpu_time() - start_cpu).as_secs_f64());
        crowd.wait_until_up();
        awake.push(start.elapsed().as_secs_f64());
        cpu.push(usage.since().cpu_s);
        strangers += usize::from(woken != threads);
    });
    crowd.dismiss();
    if strangers > 0 {
        return Err(format!("in {strangers} rounds the wakes did not count {threads} sleepers"));
    }
    Ok(figures([
        ("wake_s", median(&waking)),
        ("waker_cpu_s", median(&waker_cpu)),
        ("awake_s", median(&awake)),
        ("cpu_ns_per_op", median(&cpu) * 1e9 / threads as f64),
    ]))
}
