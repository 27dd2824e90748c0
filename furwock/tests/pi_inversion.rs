//! Priority inversion: a thread of low priority holds what one of high priority wants, and one of
//! medium priority wants the processor. All three are pinned to one processor under `SCHED_FIFO`,
//! so that the order of events is the scheduler's choice alone, whatever the machine's speed.

mod common;

use common::{bounded, burn, elsewhere, eventually, is_asleep, kept};
use furwock::{Condvar, Mutex, PiCondvar, PiMutex};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

const LOW: i32 = 1;
const MEDIUM: i32 = 2;
const HIGH: i32 = 3;
/// Real-time threads keep a processor from all others: not for long.
const MEDIUM_BURNS: Duration = Duration::from_millis(40);
const LOW_BURNS: Duration = Duration::from_millis(4);

/// Two scenes at once would disturb each other.
static STAGE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// The right to play a scene; `None`, with a message, where there is no real-time scheduling.
fn stage() -> Option<std::sync::MutexGuard<'static, ()>> {
    let stage = STAGE.lock().unwrap_or_else(|poison| poison.into_inner());
    match elsewhere(|| become_real_time(HIGH)) {
        Ok(()) => Some(stage),
        Err(error) => {
            println!("skipped: real-time scheduling isn't allowed here ({error})");
            None
        }
    }
}

/// The cues that the thread of low priority gives to the others.
struct Cues<'a> {
    high: &'a Cue,
    medium: &'a Cue,
}

impl Cues<'_> {
    /// Goes on with the lock held, having let the others run.
    fn hold(&self) {
        self.high.give();
        self.medium.give();
        burn(LOW_BURNS);
    }
}

/// What a thread of the scene sleeps for before it acts.
#[derive(Default)]
struct Cue {
    given: AtomicBool,
    actor: std::sync::OnceLock<Thread>,
    tid: AtomicU32,
}

impl Cue {
    fn give(&self) {
        self.given.store(true, Ordering::SeqCst);
        self.actor.get().expect("an actor in place").unpark();
    }

    fn take(&self) {
        while !self.given.load(Ordering::SeqCst) {
            thread::park();
        }
    }

    /// Runs `act` at `priority` when the cue is given.
    fn act(&self, priority: i32, act: impl FnOnce()) {
        become_real_time(priority).expect("allowed a moment ago");
        self.actor.set(thread::current()).expect("one actor");
        self.tid.store(furwock::lock::thread_id(), Ordering::SeqCst);
        self.take();
        act();
    }

    fn is_asleep(&self) -> bool {
        is_asleep(self.tid.load(Ordering::SeqCst))
    }
}

/// Plays a scene: `low` locks, gives the others their cues, and unlocks; `high` wants the same
/// lock, and waits for it from the start if `high_first`. Returns whether `high` got it before the
/// medium thread had ended, or `None` where there is no real-time scheduling.
fn high_overtakes_medium(
    low: impl Fn(&Cues<'_>) + Send + Sync + 'static,
    high: impl Fn() + Send + Sync + 'static,
    high_first: bool,
) -> Option<bool> {
    let _stage = stage()?;
    let (told, overtaken) = std::sync::mpsc::channel();
    bounded(move || {
        let [low_cue, medium_cue, high_cue] = [(); 3].map(|()| Cue::default());
        let medium_ended = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                high_cue.act(HIGH, || {
                    high();
                    told.send(!medium_ended.load(Ordering::SeqCst)).unwrap();
                });
            });
            scope.spawn(|| {
                medium_cue.act(MEDIUM, || {
                    burn(MEDIUM_BURNS);
                    medium_ended.store(true, Ordering::SeqCst);
                });
            });
            scope.spawn(|| {
                low_cue.act(LOW, || low(&Cues { high: &high_cue, medium: &medium_cue }));
            });
            let cues = [&low_cue, &medium_cue, &high_cue];
            eventually("all are in place", || cues.iter().all(|cue| cue.is_asleep()));
            if high_first {
                high_cue.give();
                eventually("the high one waits", || high_cue.is_asleep());
            }
            low_cue.give();
        });
    });
    Some(overtaken.recv().unwrap())
}

#[test]
fn a_pi_mutex_bounds_the_wait() {
    let mutex = kept(PiMutex::new(()));
    let overtook = high_overtakes_medium(
        |cues| {
            let _guard = mutex.lock().unwrap();
            cues.hold();
        },
        || drop(mutex.lock().unwrap()),
        false,
    );
    assert_ne!(overtook, Some(false), "the medium thread kept the high one waiting");
}

/// Without inheritance the high thread waits as long as the medium one likes: if it didn't, the
/// scene would prove nothing.
#[test]
fn a_plain_mutex_does_not() {
    let mutex = kept(Mutex::new(()));
    let overtook = high_overtakes_medium(
        |cues| {
            let _guard = mutex.lock();
            cues.hold();
        },
        || drop(mutex.lock()),
        false,
    );
    assert_ne!(overtook, Some(true), "this scene has no inversion");
}

/// The owner of the last lock of a chain inherits too: high waits for what the helper holds, and
/// the helper for what low holds.
#[test]
fn inheritance_goes_along_a_chain() {
    let mutexes = kept([PiMutex::new(()), PiMutex::new(())]);
    let overtook = high_overtakes_medium(
        |cues| {
            let guard = mutexes[0].lock().unwrap();
            let helps = AtomicU32::new(0);
            thread::scope(|scope| {
                scope.spawn(|| {
                    become_real_time(MEDIUM).expect("allowed a moment ago");
                    let _guard = mutexes[1].lock().unwrap();
                    helps.store(1, Ordering::SeqCst);
                    drop(mutexes[0].lock().unwrap());
                });
                // The helper has priority: once it has its own lock, it soon waits.
                eventually("the helper has its own", || helps.load(Ordering::SeqCst) == 1);
                thread::sleep(Duration::from_millis(5));
                cues.hold();
                drop(guard);
            });
        },
        || drop(mutexes[1].lock().unwrap()),
        false,
    );
    assert_ne!(overtook, Some(false), "the medium thread kept the high one waiting");
}

#[test]
fn a_pi_condvar_bounds_the_wait() {
    let (mutex, condvar) = kept((PiMutex::new(false), PiCondvar::new()));
    let overtook = high_overtakes_medium(
        |cues| {
            let mut ready = mutex.lock().unwrap();
            *ready = true;
            assert_eq!(condvar.notify_one(), Ok(true));
            cues.hold();
        },
        || drop(condvar.wait_while(mutex.lock().unwrap(), |ready| !*ready).unwrap()),
        true,
    );
    assert_ne!(overtook, Some(false), "the medium thread kept the high one waiting");
}

#[test]
fn a_plain_condvar_does_not() {
    let (mutex, condvar) = kept((Mutex::new(false), Condvar::new()));
    let overtook = high_overtakes_medium(
        |cues| {
            let mut ready = mutex.lock();
            *ready = true;
            assert!(condvar.notify_one());
            cues.hold();
        },
        || condvar.wait_while(&mut mutex.lock(), |ready| !*ready),
        true,
    );
    assert_ne!(overtook, Some(true), "this scene has no inversion");
}

/// The most urgent of several waiters goes first, though it came last.
#[test]
fn the_most_urgent_waiter_goes_first() {
    let Some(_stage) = stage() else { return };
    bounded(|| {
        let (order, condvar) = (PiMutex::new(Vec::new()), PiCondvar::new());
        thread::scope(|scope| {
            for priority in [LOW, MEDIUM, HIGH] {
                let cue = std::sync::Arc::new(Cue::default());
                let waits = cue.clone();
                let (order, condvar) = (&order, &condvar);
                scope.spawn(move || {
                    waits.act(priority, || {
                        condvar.wait(order.lock().unwrap()).unwrap().push(priority);
                    });
                });
                eventually("it is in place", || cue.is_asleep());
                cue.give();
                eventually("it waits", || cue.given_and_asleep(order));
            }
            // A wait that ends early changes the order: none does, as nothing interrupts.
            assert_eq!(condvar.notify_one(), Ok(true));
            eventually("one has gone on", || order.lock().unwrap().len() == 1);
            assert_eq!(condvar.notify_all(), Ok(2));
        });
        assert_eq!(order.into_inner(), [HIGH, MEDIUM, LOW]);
    });
}

impl Cue {
    /// Asleep beyond the cue: not on the lock, which the caller has just had.
    fn given_and_asleep<T>(&self, mutex: &PiMutex<T>) -> bool {
        drop(mutex.lock().unwrap());
        self.is_asleep()
    }
}

/// Makes the caller a `SCHED_FIFO` thread of the first processor that it may use.
fn become_real_time(priority: i32) -> std::io::Result<()> {
    // SAFETY: an all-zero set is an empty one; the calls read or write sets and a priority of ours.
    unsafe {
        let size = size_of::<libc::cpu_set_t>();
        let (mut allowed, mut one): (libc::cpu_set_t, libc::cpu_set_t) = std::mem::zeroed();
        if libc::sched_getaffinity(0, size, &mut allowed) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        let first = (0..libc::CPU_SETSIZE as usize).find(|cpu| libc::CPU_ISSET(*cpu, &allowed));
        libc::CPU_SET(first.unwrap_or(0), &mut one);
        // musl's own function refuses everything.
        let set = libc::SYS_sched_setscheduler;
        if libc::sched_setaffinity(0, size, &one) != 0
            || libc::syscall(set, 0, libc::SCHED_FIFO, &raw const priority) != 0
        {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}
