//! wake-parallel, after `perf bench futex wake-parallel`: threads sleep on one word, and several wakers
//! wake their shares of them at the same time.

use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::time::Instant;

use super::beds::for_beds;
use super::crowd::{Bed, Crowd, Plan, cpu_time, repeat};
use super::parameters::{BadParameter, Parameters};
use super::pthread::spawn;
use super::report::{Figures, figures};
use crate::statistics::median;

pub fn run(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let plan = Plan::take(&mut parameters, 64)?;
    let wakers = parameters.take_count("nwakers", 2)?;
    parameters.finish()?;
    if !plan.threads.is_multiple_of(wakers) {
        let message = format!("nwakers={wakers}: must divide the {} threads evenly", plan.threads);
        return Err(BadParameter(message));
    }
    Ok(for_beds!(plan.implementation, plan.shared, measure(&plan, wakers)))
}

fn measure<B: Bed>(plan: &Plan, wakers: usize) -> Result<Figures, String> {
    let threads = plan.threads;
    let crowd = Arc::new(Crowd::<B>::gather(plan));
    // When each waker began, and its time by the clock and of a processor.
    let times = Arc::new(Mutex::new(Vec::<(Instant, f64, f64)>::new()));
    let (begin, end) = (Arc::new(Barrier::new(wakers + 1)), Arc::new(Barrier::new(wakers + 1)));
    let (mut waking, mut waker_cpu, mut awake) = (vec![], vec![], vec![]);
    let mut strangers = 0;
    repeat(plan.seconds, || {
        crowd.put_to_sleep();
        let spawn_one = |_| {
            let (crowd, times) = (Arc::clone(&crowd), Arc::clone(&times));
            let (begin, end) = (Arc::clone(&begin), Arc::clone(&end));
            spawn(0, move || {
                begin.wait();
                let (start, start_cpu) = (Instant::now(), cpu_time());
                let share = threads / wakers;
                let woken = crowd.wake(share, share);
                if woken != share {
                    crowd.wake_stragglers();
                }
                let cpu = (cpu_time() - start_cpu).as_secs_f64();
                let took = (start, start.elapsed().as_secs_f64(), cpu);
                times.lock().unwrap_or_else(PoisonError::into_inner).push(took);
                end.wait();
                woken
            })
        };
        let handles: Vec<_> = (0..wakers).map(spawn_one).collect();
        begin.wait();
        crowd.wait_until_up();
        let all_up = Instant::now();
        end.wait();
        let woken: usize = handles.into_iter().map(|handle| handle.join()).sum();
        strangers += usize::from(woken != threads);
        let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
        type Times = (Instant, f64, f64);
        let mean = |of: fn(&Times) -> f64| times.iter().map(of).sum::<f64>() / wakers as f64;
        waking.push(mean(|(_, clock, _)| *clock));
        waker_cpu.push(mean(|(_, _, cpu)| *cpu));
        // From when the first of them began: the main thread may get a processor after them all.
        let first = times.iter().map(|(start, ..)| *start).min().unwrap_or(all_up);
        awake.push((all_up - first).as_secs_f64());
        times.clear();
    });
    Arc::into_inner(crowd).expect("the wakers are gone").dismiss();
    if strangers > 0 {
        return Err(format!("in {strangers} rounds the wakes did not count {threads} sleepers"));
    }
    Ok(figures([
        ("wake_s", median(&waking)),
        ("waker_cpu_s", median(&waker_cpu)),
        ("awake_s", median(&awake)),
    ]))
}
