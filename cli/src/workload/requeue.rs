//! requeue, after `perf bench futex requeue`: threads sleep on one word, and the main thread moves so
//! many of them at a time to another, until all are there.

use std::time::Instant;

use super::beds::WordBed;
use super::crowd::{Crowd, Plan, cpu_time, repeat};
use super::implementation::for_words;
use super::parameters::{BadParameter, Parameters};
use super::report::{Figures, figures};
use super::words::Words;
use crate::statistics::median;

pub fn run(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let plan = Plan::take(&mut parameters, 4)?;
    let at_a_time = parameters.take_count("nrequeue", 1)?;
    parameters.finish()?;
    Ok(for_words!(plan.implementation, plan.shared, measure(&plan, at_a_time)))
}

fn measure<W: Words>(plan: &Plan, at_a_time: usize) -> Result<Figures, String> {
    let threads = plan.threads;
    let crowd = Crowd::<WordBed<W>>::gather(plan);
    let (mut moving, mut cpu) = (vec![], vec![]);
    let mut strangers = 0;
    repeat(plan.seconds, || {
        crowd.put_to_sleep();
        let (start, start_cpu) = (Instant::now(), cpu_time());
        let mut moved = 0;
        while moved < threads && !crowd.are_all_up() {
            moved += crowd.bed().requeue(at_a_time.min(threads - moved));
        }
        moving.push(start.elapsed().as_secs_f64());
        cpu.push((cpu_time() - start_cpu).as_secs_f64());
        let woken = crowd.bed().wake_moved();
        strangers += usize::from((moved, woken) != (threads, threads));
        crowd.wait_until_up();
    });
    crowd.dismiss();
    if strangers > 0 {
        return Err(format!(
            "in {strangers} rounds not all of {threads} sleepers were moved and woken"
        ));
    }
    Ok(figures([("requeue_s", median(&moving)), ("waker_cpu_s", median(&cpu))]))
}
