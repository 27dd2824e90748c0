//! wake-parallel, after `perf bench futex wake-parallel`: threads sleep on one word, and several wakers
//! wake their shares of them at the same time.

use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::time::Instant;

use super::beds::for_beds;
use super::crowd::{Bed, Crowd, Plan, cpu_time, repeat};
use super::parameters::{BadParameter, Parameters};
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
    // Each waker's time by the clock, and of a processor.
    let times = Arc::new(Mutex::new(Vec::<(f64, f64)>::new()));
    let (begin, end) = (Arc::new(Barrier::new(wakers + 1)), Arc::new(Barrier::new(wakers + 1)));
    let (mut waking, mut waker_cpu, mut awake) = (vec![], vec![], vec![]);
    repeat(plan.seconds, || {
        crowd.put_to_sleep();
        let spawn_one = |_| {
            let (crowd, times) = (Arc::clone(&crowd), Arc::clone(&times));
            let (begin, end) = (Arc::clone(&begin), Arc::clone(&end));
            std::thread::spawn(move || {
                begin.wait();
                let (start, start_cpu) = (Instant::now(), cpu_time());
                let share = threads / wakers;
                let mut woken = 0;
                while woken < share && !crowd.are_all_up() {
                    woken += crowd.bed().wake(share - woken);
                }
                let took = (start.elapsed().as_secs_f64(), (cpu_time() - start_cpu).as_secs_f64());
                times.lock().unwrap_or_else(PoisonError::into_inner).push(took);
                end.wait();
            })
        };
        let handles: Vec<_> = (0..wakers).map(spawn_one).collect();
        begin.wait();
        let start = Instant::now();
        crowd.wait_until_up();
        awake.push(start.elapsed().as_secs_f64());
        end.wait();
        handles.into_iter().for_each(|handle| handle.join().expect("a waker doesn't panic"));
        let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
        let mean = |of: fn(&(f64, f64)) -> f64| times.iter().map(of).sum::<f64>() / wakers as f64;
        waking.push(mean(|(clock, _)| *clock));
        waker_cpu.push(mean(|(_, cpu)| *cpu));
        times.clear();
    });
    Arc::into_inner(crowd).expect("the wakers are gone").dismiss();
    Ok(figures([
        ("wake_s", median(&waking)),
        ("waker_cpu_s", median(&waker_cpu)),
        ("awake_s", median(&awake)),
    ]))
}
