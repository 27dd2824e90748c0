//! lock-pi, after `perf bench futex lock-pi`: threads take turns at one mutex that inherits priorities,
//! or each at one of its own.
//!
//! perf's benchmark sleeps while it holds the lock; this one works, by the same loop as `mutex`, so that
//! it is the lock that is measured.

use std::cell::UnsafeCell;
use std::sync::atomic::AtomicU32;

use furwock::PiMutex;
use rustix::thread::futex::{self, Flags};

use super::contest::{self, Outcome, Plan, Seat, summarise};
use super::implementation::Implementation;
use super::locks::Mutex;
use super::mutex::take_turns;
use super::padded::Padded;
use super::parameters::{BadParameter, Parameters};
use super::report::{Figures, fail_now};
use super::work::spin;

struct FurwockPi<T>(Padded<PiMutex<T>>);

impl<T: Send + 'static> Mutex<T> for FurwockPi<T> {
    fn new(data: T) -> Self {
        FurwockPi(Padded(PiMutex::new(data)))
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        match self.0.0.lock() {
            Ok(mut guard) => section(&mut guard),
            Err(error) => fail_now(format!("PiMutex: {error}")),
        }
    }
}

/// pthread's, with PTHREAD_PRIO_INHERIT.
struct PthreadPi<T>(Box<Padded<(UnsafeCell<libc::pthread_mutex_t>, UnsafeCell<T>)>>);

// SAFETY: the mutex may be used by any thread, and the data goes along.
unsafe impl<T: Send> Send for PthreadPi<T> {}
// SAFETY: the mutex excludes.
unsafe impl<T: Send> Sync for PthreadPi<T> {}

impl<T: Send + 'static> Mutex<T> for PthreadPi<T> {
    fn new(data: T) -> Self {
        let raw = UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER);
        let made = PthreadPi(Box::new(Padded((raw, UnsafeCell::new(data)))));
        let mut attributes = std::mem::MaybeUninit::<libc::pthread_mutexattr_t>::uninit();
        // SAFETY: the attributes are initialised before they are used; the mutex is in its place, and
        // nobody knows of it yet.
        let code = unsafe {
            libc::pthread_mutexattr_init(attributes.as_mut_ptr());
            libc::pthread_mutexattr_setprotocol(
                attributes.as_mut_ptr(),
                libc::PTHREAD_PRIO_INHERIT,
            );
            libc::pthread_mutex_init(made.0.0.0.get(), attributes.as_ptr())
        };
        if code != 0 {
            fail_now(format!("pthread_mutex_init: error {code}"));
        }
        made
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        let (raw, data) = &self.0.0;
        // SAFETY: the mutex stays where it is; the section runs while it is held.
        unsafe {
            if libc::pthread_mutex_lock(raw.get()) != 0 {
                fail_now("pthread_mutex_lock failed".to_owned());
            }
            let result = section(&mut *data.get());
            libc::pthread_mutex_unlock(raw.get());
            result
        }
    }
}

/// The kernel's operations, each lock and unlock a call, as perf does it.
struct KernelPi<T>(Padded<(AtomicU32, UnsafeCell<T>)>);

// SAFETY: the lock excludes.
unsafe impl<T: Send> Sync for KernelPi<T> {}

impl<T: Send + 'static> Mutex<T> for KernelPi<T> {
    fn new(data: T) -> Self {
        KernelPi(Padded((AtomicU32::new(0), UnsafeCell::new(data))))
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        let (word, data) = &self.0.0;
        if let Err(error) = futex::lock_pi(word, Flags::PRIVATE, None) {
            fail_now(format!("FUTEX_LOCK_PI: {error}"));
        }
        // SAFETY: this thread holds the lock until the call below.
        let result = section(unsafe { &mut *data.get() });
        if let Err(error) = futex::unlock_pi(word, Flags::PRIVATE) {
            fail_now(format!("FUTEX_UNLOCK_PI: {error}"));
        }
        result
    }
}

pub fn run(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let multi = parameters.take("multi", 0u32)? != 0;
    let plan = Plan::take(&mut parameters)?;
    parameters.finish()?;
    Ok(match plan.implementation {
        Implementation::Furwock => measure::<FurwockPi<u64>>(plan, multi),
        Implementation::Pthread => measure::<PthreadPi<u64>>(plan, multi),
        Implementation::Kernel => measure::<KernelPi<u64>>(plan, multi),
        other => Err(other.lacks("priority inheritance")),
    })
}

fn measure<M: Mutex<u64>>(plan: Plan, multi: bool) -> Result<Figures, String> {
    let threads = plan.threads as f64;
    let mut figures = if multi {
        let Outcome { tallies, used, .. } = contest::run(plan, (), operate_alone::<M>);
        summarise(&tallies, &used)
    } else {
        take_turns(plan, M::new(0))?
    };
    figures.insert("ops_per_second_per_thread".to_owned(), figures["ops_per_second"] / threads);
    Ok(figures)
}

fn operate_alone<M: Mutex<u64>>(seat: &Seat<'_, Plan, ()>) -> u64 {
    let (plan, mutex) = (seat.plan(), M::new(0));
    let mut operations = 0;
    while seat.goes_on() {
        mutex.with(|counter| {
            spin(plan.critical_loops);
            *counter += 1;
        });
        spin(plan.other_loops);
        operations += 1;
        seat.note(operations);
    }
    operations
}
