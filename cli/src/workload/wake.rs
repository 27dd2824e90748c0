//! wake, after `perf bench futex wake`: threads sleep on one word, and the main thread wakes so many of
//! them at a time until all are awake.

use std::time::Instant;

use super::beds::for_beds;
use super::crowd::{Bed, Crowd, Plan, cpu_time, repeat};
use super::parameters::{BadParameter, Parameters};
use super::report::{Figures, figures};
use super::usage::Usage;
use crate::statistics::median;

pub fn run(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let plan = Plan::take(&mut parameters, 4)?;
    let at_a_time = parameters.take_count("nwakes", 1)?;
    parameters.finish()?;
    Ok(for_beds!(plan.implementation, plan.shared, measure(&plan, at_a_time)))
}

fn measure<B: Bed>(plan: &Plan, at_a_time: usize) -> Result<Figures, String> {
    let threads = plan.threads;
    let crowd = Crowd::<B>::gather(plan);
    let (mut waking, mut waker_cpu, mut awake, mut cpu) = (vec![], vec![], vec![], vec![]);
    let mut strangers = 0;
    repeat(plan.seconds, || {
        crowd.put_to_sleep();
        let usage = Usage::now();
        let (start, start_cpu) = (Instant::now(), cpu_time());
        let woken = crowd.wake(threads, at_a_time);
        waking.push(start.elapsed().as_secs_f64());
        waker_cpu.push((cpu_time() - start_cpu).as_secs_f64());
        if woken != threads {
            crowd.wake_stragglers();
        }
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
