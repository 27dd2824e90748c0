//! An interrupt ends an interruptible sleep, whenever it comes (O-4).

use super::{explore, rejects};
use crate::lot::{Parker, Until, Wakes, Woke};
use crate::prim::mutant::Mutant;
use loom::thread;
use std::sync::Arc;

fn interrupted() {
    let parker = Arc::new(Parker::new());
    let sleeper = {
        let parker = Arc::clone(&parker);
        thread::spawn(move || parker.sleep(Until { interrupts: true, ..Until::default() }))
    };
    parker.interrupt();
    assert_eq!(sleeper.join().unwrap(), Woke::Interrupted);
}

/// Notified and interrupted: the notification is never missed.
fn interrupted_and_notified() {
    let parker = Arc::new(Parker::new());
    let sleeper = {
        let parker = Arc::clone(&parker);
        thread::spawn(move || {
            while parker.sleep(Until { interrupts: true, ..Until::default() }) != Woke::Notified {
                parker.take_interrupt();
            }
        })
    };
    let notifier = {
        let parker = Arc::clone(&parker);
        thread::spawn(move || parker.notify(&mut Wakes::default()))
    };
    parker.interrupt();
    notifier.join().unwrap();
    sleeper.join().unwrap();
}

#[test]
fn no_interrupt_is_missed() {
    explore(4, interrupted);
}

#[test]
fn no_notification_is_missed_for_an_interrupt() {
    explore(3, interrupted_and_notified);
}

#[test]
fn rejects_an_interrupter_without_its_fence() {
    rejects(Mutant::InterruptWithoutFence, 4, interrupted);
}
