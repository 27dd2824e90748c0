//! Rounds of condvars, barriers, semaphores, onces, and of C11's; and what a child gets.

use super::super::children;
use super::super::round::{Kind, Random, Round, Seat};
use super::super::waits::{check_leaders, pass_phases};
use super::locks::{DESTROYS, make_mutex};
use super::{call, ok, shortly, shortly_by_the_time_of_day, under_furwock};
use libc::{CLOCK_MONOTONIC, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, sem_t};
use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A condvar, pthread's or C11's, which are the same.
#[repr(C)]
struct Monitor {
    cond: pthread_cond_t,
    mutex: pthread_mutex_t,
    turn: usize,
}

/// Where the parts of the monitor at `at` are.
fn parts(at: *mut u8) -> (*mut pthread_cond_t, *mut pthread_mutex_t, *mut usize) {
    let monitor = at.cast::<Monitor>();
    // SAFETY: within the place of one.
    unsafe { (&raw mut (*monitor).cond, &raw mut (*monitor).mutex, &raw mut (*monitor).turn) }
}

pub(in super::super) struct Condvars;

impl Kind for Condvars {
    fn name(&self) -> &'static str {
        "condvar"
    }

    fn layout(&self) -> Layout {
        Layout::new::<Monitor>()
    }

    unsafe fn make(&self, at: *mut u8, round: &Round) {
        let (cond, mutex, turn) = parts(at);
        if round.choice & 8 == 0 {
            ok!(round, pthread_cond_init(cond, ptr::null()));
        } else {
            // SAFETY: by the caller's promise.
            unsafe { cond.write(libc::PTHREAD_COND_INITIALIZER) };
        }
        make_mutex(mutex, round.choice >> 8, round);
        // SAFETY: by the caller's promise.
        unsafe { turn.write(0) };
    }

    /// Either one lets all others go on, or each the next.
    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat) {
        let (cond, mutex, turn) = parts(at);
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

    unsafe fn end(&self, at: *mut u8, round: &Round, _seat: &mut Seat) -> bool {
        let (cond, mutex, turn) = parts(at);
        ok!(round, pthread_mutex_trylock(mutex));
        // SAFETY: nobody uses it any more.
        round.check(unsafe { turn.read() } == round.seats, "not all have come");
        ok!(round, pthread_mutex_unlock(mutex));
        round.check_sums();
        if round.choice & DESTROYS != 0 {
            // glibc's waits until nobody is inside any more.
            ok!(round, pthread_cond_destroy(cond));
            ok!(round, pthread_mutex_destroy(mutex));
        }
        false
    }
}

pub(in super::super) struct Barriers;

impl Kind for Barriers {
    fn name(&self) -> &'static str {
        "barrier"
    }

    fn layout(&self) -> Layout {
        Layout::new::<libc::pthread_barrier_t>()
    }

    unsafe fn make(&self, at: *mut u8, round: &Round) {
        ok!(round, pthread_barrier_init(at.cast(), ptr::null(), round.seats as u32));
    }

    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat) {
        pass_phases(round, seat, || match call!(pthread_barrier_wait(at.cast())) {
            0 => false,
            libc::PTHREAD_BARRIER_SERIAL_THREAD => true,
            _ => round.fail("pthread_barrier_wait fails"),
        });
    }

    unsafe fn end(&self, at: *mut u8, round: &Round, _seat: &mut Seat) -> bool {
        check_leaders(round);
        ok!(round, pthread_barrier_destroy(at.cast()));
        false
    }
}

pub(in super::super) struct Semaphores;

impl Kind for Semaphores {
    fn name(&self) -> &'static str {
        "semaphore"
    }

    fn layout(&self) -> Layout {
        Layout::new::<sem_t>()
    }

    unsafe fn make(&self, at: *mut u8, round: &Round) {
        ok!(round, sem_init(at.cast(), 0, permits(round) as u32));
    }

    /// With a permit it serves as a mutex; without, one thread makes permits for the others.
    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat) {
        let semaphore = at.cast();
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

    unsafe fn end(&self, at: *mut u8, round: &Round, _seat: &mut Seat) -> bool {
        let mut value = -1;
        ok!(round, sem_getvalue(at.cast(), &mut value));
        round.check(value == permits(round), "permits were lost or made");
        round.check_sums();
        ok!(round, sem_destroy(at.cast()));
        false
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

/// The round of the routine, which has no argument.
static CALLING: AtomicPtr<Round> = AtomicPtr::new(ptr::null_mut());

extern "C" fn routine() {
    // SAFETY: the round that its threads call this in.
    let round = unsafe { &*CALLING.load(Ordering::Relaxed) };
    round.write(&mut Seat { number: 0, random: Random::new(round.choice) });
}

impl Kind for Onces {
    fn name(&self) -> &'static str {
        "once"
    }

    fn layout(&self) -> Layout {
        Layout::new::<i32>()
    }

    unsafe fn make(&self, at: *mut u8, _round: &Round) {
        // SAFETY: by the caller's promise. PTHREAD_ONCE_INIT.
        unsafe { at.cast::<i32>().write(0) };
    }

    unsafe fn meet(&self, at: *mut u8, round: &Round, _seat: &mut Seat) {
        // The same for all.
        CALLING.store(ptr::from_ref(round).cast_mut(), Ordering::Relaxed);
        if round.choice & 1 == 0 {
            call!(call_once(at.cast(), routine));
        } else {
            ok!(round, pthread_once(at.cast(), routine));
        }
        round.check(round.writes() == 1, "the routine isn't complete");
        round.check_sums();
    }

    unsafe fn end(&self, _at: *mut u8, round: &Round, _seat: &mut Seat) -> bool {
        round.check(round.writes() == 1, "the routine wasn't called once");
        false
    }
}

pub(in super::super) struct C11;

impl Kind for C11 {
    fn name(&self) -> &'static str {
        "C11"
    }

    fn layout(&self) -> Layout {
        Layout::new::<Monitor>()
    }

    unsafe fn make(&self, at: *mut u8, round: &Round) {
        let (cond, mutex, turn) = parts(at);
        // mtx_plain and mtx_timed, with and without mtx_recursive.
        ok!(round, mtx_init(mutex, (round.choice % 4) as i32));
        ok!(round, cnd_init(cond));
        // SAFETY: by the caller's promise.
        unsafe { turn.write(0) };
    }

    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat) {
        let (cond, mutex, turn) = parts(at);
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

    unsafe fn end(&self, at: *mut u8, round: &Round, _seat: &mut Seat) -> bool {
        let (cond, mutex, turn) = parts(at);
        ok!(round, mtx_trylock(mutex));
        // SAFETY: nobody uses it any more.
        round.check(unsafe { turn.read() } == round.seats, "not all have come");
        ok!(round, mtx_unlock(mutex));
        round.check_sums();
        call!(cnd_destroy(cond));
        call!(mtx_destroy(mutex));
        false
    }
}

/// What a child gets.
pub(in super::super) struct Objects {
    mutex: UnsafeCell<pthread_mutex_t>,
    lock: UnsafeCell<pthread_rwlock_t>,
    semaphore: UnsafeCell<sem_t>,
}

// SAFETY: they are made for several threads.
unsafe impl Sync for Objects {}

/// A call on one of them, which must return 0.
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

    /// glibc's rwlock counts readers in before it has let them in: the parent's would stay in the
    /// child. So that one is made anew there.
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
