//! Rounds of condvars, barriers, semaphores, onces, and C11's objects; and the objects of a child.

use super::super::children;
use super::super::round::{Kind, Random, Round, Seat};
use super::super::waits::{check_leaders, pass_phases};
use super::locks::{DESTROYS, make_mutex};
use super::{call, ok, shortly, shortly_by_the_time_of_day, under_furwock};
use libc::{CLOCK_MONOTONIC, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, sem_t};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A condvar, pthread's or C11's, which are the same.
#[repr(C)]
pub(in super::super) struct Monitor {
    cond: UnsafeCell<pthread_cond_t>,
    mutex: UnsafeCell<pthread_mutex_t>,
    turn: UnsafeCell<usize>,
}

impl Monitor {
    fn parts(&self) -> (*mut pthread_cond_t, *mut pthread_mutex_t, *mut usize) {
        (self.cond.get(), self.mutex.get(), self.turn.get())
    }

    /// A monitor at the first turn, whose condvar and mutex have to be made.
    fn begin(at: &mut MaybeUninit<Self>) -> &Self {
        // SAFETY: the pool's memory is initialised, and any bytes are a monitor.
        let monitor = unsafe { at.assume_init_mut() };
        *monitor.turn.get_mut() = 0;
        monitor
    }
}

pub(in super::super) struct Condvars;

impl Kind for Condvars {
    type Object = Monitor;

    const NAME: &'static str = "condvar";

    fn make(at: &mut MaybeUninit<Self::Object>, round: &Round) {
        let (cond, mutex, _) = Monitor::begin(at).parts();
        if round.choice & 8 == 0 {
            ok!(round, pthread_cond_init(cond, ptr::null()));
        } else {
            // SAFETY: memory of that type, which nothing uses yet.
            unsafe { cond.write(libc::PTHREAD_COND_INITIALIZER) };
        }
        make_mutex(mutex, round.choice >> 8, round);
    }

    /// Either the first thread notifies all others, or each the next one.
    fn meet(monitor: Pin<&Self::Object>, round: &Round, seat: &mut Seat) {
        let (cond, mutex, turn) = monitor.parts();
        let (in_turn, outside) = (round.choice & 1 != 0, round.choice & 2 != 0);
        ok!(round, pthread_mutex_lock(mutex));
        // SAFETY: under the mutex, here and below.
        let waits = |seat: &Seat| match (unsafe { turn.read() }, in_turn) {
            (turn, true) => turn != seat.number,
            (turn, false) => turn == 0 && seat.number != 0,
        };
        while waits(seat) {
            let result = match seat.random.below(8) {
                0 => {
                    let at = shortly_by_the_time_of_day(seat);
                    call!(pthread_cond_timedwait(cond, mutex, &at))
                }
                1 => {
                    let at = shortly(seat, CLOCK_MONOTONIC);
                    call!(pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &at))
                }
                _ => call!(pthread_cond_wait(cond, mutex)),
            };
            round.check([0, libc::ETIMEDOUT].contains(&result), "a wait fails");
        }
        // SAFETY: as above.
        unsafe { *turn += 1 };
        round.write(seat);
        if outside {
            ok!(round, pthread_mutex_unlock(mutex));
        }
        if in_turn || (seat.number == 0 && round.choice & 4 != 0) {
            ok!(round, pthread_cond_broadcast(cond));
        } else if seat.number == 0 {
            (1..round.seats).for_each(|_| ok!(round, pthread_cond_signal(cond)));
        }
        if !outside {
            ok!(round, pthread_mutex_unlock(mutex));
        }
    }

    fn end(monitor: Pin<&Self::Object>, round: &Round, _seat: &mut Seat) {
        let (cond, mutex, turn) = monitor.parts();
        ok!(round, pthread_mutex_trylock(mutex));
        // SAFETY: no other thread uses it any more.
        round.check(unsafe { turn.read() } == round.seats, "a thread is missing");
        ok!(round, pthread_mutex_unlock(mutex));
        round.check_sums();
        if round.choice & DESTROYS != 0 {
            // glibc's waits until no thread is inside any more.
            ok!(round, pthread_cond_destroy(cond));
            ok!(round, pthread_mutex_destroy(mutex));
        }
    }
}

pub(in super::super) struct Barriers;

impl Kind for Barriers {
    type Object = UnsafeCell<libc::pthread_barrier_t>;

    const NAME: &'static str = "barrier";

    fn make(at: &mut MaybeUninit<Self::Object>, round: &Round) {
        let at = at.as_mut_ptr().cast();
        ok!(round, pthread_barrier_init(at, ptr::null(), round.seats as u32));
    }

    fn meet(barrier: Pin<&Self::Object>, round: &Round, seat: &mut Seat) {
        pass_phases(round, seat, || match call!(pthread_barrier_wait(barrier.get())) {
            0 => false,
            libc::PTHREAD_BARRIER_SERIAL_THREAD => true,
            _ => round.fail("pthread_barrier_wait fails"),
        });
    }

    fn end(barrier: Pin<&Self::Object>, round: &Round, _seat: &mut Seat) {
        check_leaders(round);
        ok!(round, pthread_barrier_destroy(barrier.get()));
    }
}

pub(in super::super) struct Semaphores;

impl Kind for Semaphores {
    type Object = UnsafeCell<sem_t>;

    const NAME: &'static str = "semaphore";

    fn make(at: &mut MaybeUninit<Self::Object>, round: &Round) {
        ok!(round, sem_init(at.as_mut_ptr().cast(), 0, permits(round) as u32));
    }

    /// A semaphore with a permit serves as a mutex. Without, one thread makes permits for the
    /// others.
    fn meet(semaphore: Pin<&Self::Object>, round: &Round, seat: &mut Seat) {
        let semaphore = semaphore.get();
        if permits(round) == 0 {
            if seat.number != 0 {
                take(semaphore, seat);
            } else {
                (1..round.seats).for_each(|_| ok!(round, sem_post(semaphore)));
            }
            return;
        }
        for _ in 0..=(round.choice >> 8) % 8 {
            take(semaphore, seat);
            round.write(seat);
            ok!(round, sem_post(semaphore));
        }
    }

    fn end(semaphore: Pin<&Self::Object>, round: &Round, _seat: &mut Seat) {
        let mut value = -1;
        ok!(round, sem_getvalue(semaphore.get(), &mut value));
        round.check(value == permits(round), "permits were lost or made");
        round.check_sums();
        ok!(round, sem_destroy(semaphore.get()));
    }
}

fn permits(round: &Round) -> i32 {
    (round.choice & 1) as i32
}

fn take(semaphore: *mut sem_t, seat: &mut Seat) {
    loop {
        let result = match seat.random.below(8) {
            0 => call!(sem_trywait(semaphore)),
            1 => call!(sem_timedwait(semaphore, &shortly_by_the_time_of_day(seat))),
            _ => call!(sem_wait(semaphore)),
        };
        if result == 0 {
            return;
        }
    }
}

pub(in super::super) struct Onces;

/// The current round, for the routine, which has no argument.
static CALLING: AtomicPtr<Round> = AtomicPtr::new(ptr::null_mut());

extern "C" fn routine() {
    // SAFETY: the round in which its threads call this.
    let round = unsafe { &*CALLING.load(Ordering::Relaxed) };
    round.write(&mut Seat { number: 0, random: Random::new(round.choice) });
}

impl Kind for Onces {
    type Object = UnsafeCell<i32>;

    const NAME: &'static str = "once";

    fn make(at: &mut MaybeUninit<Self::Object>, _round: &Round) {
        // PTHREAD_ONCE_INIT.
        at.write(0.into());
    }

    fn meet(control: Pin<&Self::Object>, round: &Round, _seat: &mut Seat) {
        // All threads store the same.
        CALLING.store(ptr::from_ref(round).cast_mut(), Ordering::Relaxed);
        if round.choice & 1 == 0 {
            call!(call_once(control.get(), routine));
        } else {
            ok!(round, pthread_once(control.get(), routine));
        }
        round.check(round.writes() == 1, "the routine isn't complete");
        round.check_sums();
    }

    fn end(_control: Pin<&Self::Object>, round: &Round, _seat: &mut Seat) {
        round.check(round.writes() == 1, "the routine wasn't called once");
    }
}

pub(in super::super) struct C11;

impl Kind for C11 {
    type Object = Monitor;

    const NAME: &'static str = "C11";

    fn make(at: &mut MaybeUninit<Self::Object>, round: &Round) {
        let (cond, mutex, _) = Monitor::begin(at).parts();
        // mtx_plain and mtx_timed, with and without mtx_recursive.
        ok!(round, mtx_init(mutex, (round.choice % 4) as i32));
        ok!(round, cnd_init(cond));
    }

    fn meet(monitor: Pin<&Self::Object>, round: &Round, seat: &mut Seat) {
        let (cond, mutex, turn) = monitor.parts();
        if seat.random.below(4) == 0 && call!(mtx_trylock(mutex)) == 0 {
            round.write(seat);
            ok!(round, mtx_unlock(mutex));
        }
        ok!(round, mtx_lock(mutex));
        // SAFETY: under the mutex, here and below.
        while unsafe { turn.read() } != seat.number {
            if seat.random.below(4) == 0 {
                let at = shortly_by_the_time_of_day(seat);
                call!(cnd_timedwait(cond, mutex, &at));
            } else {
                ok!(round, cnd_wait(cond, mutex));
            }
        }
        // SAFETY: as above.
        unsafe { *turn += 1 };
        round.write(seat);
        ok!(round, mtx_unlock(mutex));
        ok!(round, cnd_broadcast(cond));
    }

    fn end(monitor: Pin<&Self::Object>, round: &Round, _seat: &mut Seat) {
        let (cond, mutex, turn) = monitor.parts();
        ok!(round, mtx_trylock(mutex));
        // SAFETY: no other thread uses it any more.
        round.check(unsafe { turn.read() } == round.seats, "a thread is missing");
        ok!(round, mtx_unlock(mutex));
        round.check_sums();
        call!(cnd_destroy(cond));
        call!(mtx_destroy(mutex));
    }
}

/// The objects of a child.
pub(in super::super) struct Objects {
    mutex: UnsafeCell<pthread_mutex_t>,
    lock: UnsafeCell<pthread_rwlock_t>,
    semaphore: UnsafeCell<sem_t>,
}

// SAFETY: they are made for several threads.
unsafe impl Sync for Objects {}

/// A call on one of them that must return 0.
macro_rules! must {
    ($name:ident($($argument:expr),*)) => {
        assert_eq!(call!($name($($argument),*)), 0, stringify!($name))
    };
}

impl children::Objects for Objects {
    unsafe fn make(at: *mut Self) {
        // SAFETY: by the caller's promise.
        let this = unsafe {
            at.cast::<u8>().write_bytes(0, size_of::<Self>());
            &*at
        };
        must!(pthread_mutex_init(this.mutex.get(), ptr::null()));
        must!(pthread_rwlock_init(this.lock.get(), ptr::null()));
        must!(sem_init(this.semaphore.get(), 0, 0));
    }

    unsafe fn end(at: *mut Self) {
        // SAFETY: by the caller's promise.
        let this = unsafe { &*at };
        must!(pthread_rwlock_destroy(this.lock.get()));
    }

    fn lock(&self) {
        must!(pthread_mutex_lock(self.mutex.get()));
    }

    fn try_lock(&self) -> bool {
        call!(pthread_mutex_trylock(self.mutex.get())) == 0
    }

    fn unlock(&self) {
        must!(pthread_mutex_unlock(self.mutex.get()));
    }

    fn read(&self) {
        must!(pthread_rwlock_rdlock(self.lock.get()));
        must!(pthread_rwlock_unlock(self.lock.get()));
    }

    fn write(&self) {
        must!(pthread_rwlock_wrlock(self.lock.get()));
    }

    fn try_write(&self) -> bool {
        call!(pthread_rwlock_trywrlock(self.lock.get())) == 0
    }

    fn stop_writing(&self) {
        must!(pthread_rwlock_unlock(self.lock.get()));
    }

    /// glibc's rwlock counts a reader before the reader may go in, so the parent's readers stay
    /// counted in the child. glibc's is made anew there.
    fn stop_writing_in_child(&self) {
        if under_furwock() {
            self.stop_writing();
        } else {
            must!(pthread_rwlock_init(self.lock.get(), ptr::null()));
        }
    }

    fn post(&self) {
        must!(sem_post(self.semaphore.get()));
    }

    fn take(&self) {
        must!(sem_wait(self.semaphore.get()));
    }

    fn is_taken(&self) -> bool {
        let mut value = -1;
        must!(sem_getvalue(self.semaphore.get(), &mut value));
        value == 0
    }
}
