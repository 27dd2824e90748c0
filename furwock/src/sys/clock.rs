//! Clocks and absolute deadlines.

use core::time::Duration;

/// A deadline's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clock {
    /// `CLOCK_MONOTONIC`: time since some start; it can't be set.
    Monotonic,
    /// `CLOCK_REALTIME`: the time of day; a deadline on it moves when the clock is set.
    Realtime,
}

impl Clock {
    fn id(self) -> libc::clockid_t {
        match self {
            Clock::Monotonic => libc::CLOCK_MONOTONIC,
            Clock::Realtime => libc::CLOCK_REALTIME,
        }
    }

    /// The clock's time now.
    fn now(self) -> libc::timespec {
        #[cfg(simulated)]
        if machine::is_simulated() {
            let now = machine::now_ns() as i64;
            return libc::timespec { tv_sec: now / NANOS_A_SECOND, tv_nsec: now % NANOS_A_SECOND };
        }
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: writes one timespec. Both clocks exist on every kernel, so that it cannot fail.
        unsafe { libc::clock_gettime(self.id(), &mut now) };
        now
    }
}

/// The point in time at which a wait gives up.
///
/// The functions with names in `_until` take any of these: an `Instant` is a time on the monotonic
/// clock; a `SystemTime` one on the clock of the day, which comes sooner or later if that clock is
/// set.
///
/// # Examples
/// ```
/// use furwock::{Clock, Deadline, Semaphore};
/// use std::time::{Duration, Instant, SystemTime};
///
/// let soon = Duration::from_millis(1);
/// let slots = Semaphore::new(0);
/// assert!(!slots.try_acquire_for(soon));
/// assert!(!slots.try_acquire_until(Instant::now() + soon));
/// assert!(!slots.try_acquire_until(SystemTime::now() + soon));
/// assert!(!slots.try_acquire_until(Deadline::after(soon)));
/// assert!(!slots.try_acquire_until(Deadline::at(Clock::Realtime, 1_000_000_000, 0).unwrap()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    clock: Clock,
    at: libc::timespec,
}

impl Deadline {
    /// The point `seconds` and `nanoseconds` after the clock's zero.
    ///
    /// A time before the clock's zero counts as passed. Returns `None` unless `nanoseconds` is in
    /// `0..1_000_000_000`.
    pub fn at(clock: Clock, seconds: i64, nanoseconds: i64) -> Option<Self> {
        if !(0..NANOS_A_SECOND).contains(&nanoseconds) {
            return None;
        }
        // The kernel refuses negative seconds; zero has passed too.
        let (seconds, nanoseconds) = if seconds < 0 { (0, 0) } else { (seconds, nanoseconds) };
        Some(Self { clock, at: libc::timespec { tv_sec: seconds, tv_nsec: nanoseconds } })
    }

    /// The point `timeout` from now, on `CLOCK_MONOTONIC`. A timeout too long to be represented
    /// ends at the clock's last second.
    pub fn after(timeout: Duration) -> Self {
        let now = Clock::Monotonic.now();
        let nanos = now.tv_nsec + i64::from(timeout.subsec_nanos());
        let seconds = i64::try_from(timeout.as_secs())
            .unwrap_or(i64::MAX)
            .saturating_add(now.tv_sec)
            .saturating_add(nanos / NANOS_A_SECOND);
        let at = libc::timespec { tv_sec: seconds, tv_nsec: nanos % NANOS_A_SECOND };
        Self { clock: Clock::Monotonic, at }
    }

    /// `instant` as a deadline on the monotonic clock.
    pub fn from_instant(instant: std::time::Instant) -> Self {
        Self::after(instant.saturating_duration_since(std::time::Instant::now()))
    }

    /// Its clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Whether it has passed.
    pub fn has_passed(&self) -> bool {
        let now = self.clock.now();
        (now.tv_sec, now.tv_nsec) >= (self.at.tv_sec, self.at.tv_nsec)
    }

    /// Whether it has passed once `time` is over.
    pub(crate) fn is_within(&self, time: Duration) -> bool {
        let now = self.clock.now();
        let nanos = now.tv_nsec + i64::from(time.subsec_nanos());
        let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        let seconds = seconds.saturating_add(now.tv_sec).saturating_add(nanos / NANOS_A_SECOND);
        let then = (seconds, nanos % NANOS_A_SECOND);
        then >= (self.at.tv_sec, self.at.tv_nsec)
    }

    pub(crate) fn timespec(&self) -> &libc::timespec {
        &self.at
    }

    /// The same in nanoseconds of a simulation, which has one clock.
    #[cfg(simulated)]
    pub(crate) fn virtual_ns(&self) -> u64 {
        let seconds = (self.at.tv_sec as u64).saturating_mul(NANOS_A_SECOND as u64);
        seconds.saturating_add(self.at.tv_nsec as u64)
    }
}

impl From<std::time::Instant> for Deadline {
    fn from(instant: std::time::Instant) -> Self {
        Self::from_instant(instant)
    }
}

/// On `CLOCK_REALTIME`. A time before 1970 counts as passed; one too late to be represented is the
/// clock's last second.
impl From<std::time::SystemTime> for Deadline {
    fn from(time: std::time::SystemTime) -> Self {
        let since = time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let at = libc::timespec {
            tv_sec: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(since.subsec_nanos()),
        };
        Self { clock: Clock::Realtime, at }
    }
}

impl From<&Deadline> for Deadline {
    #[inline]
    fn from(deadline: &Deadline) -> Self {
        *deadline
    }
}

const NANOS_A_SECOND: i64 = 1_000_000_000;

/// `CLOCK_MONOTONIC` in nanoseconds: for budgets and intervals.
pub(crate) fn monotonic_ns() -> u64 {
    let now = Clock::Monotonic.now();
    now.tv_sec as u64 * NANOS_A_SECOND as u64 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_out_of_range_are_refused() {
        assert!(Deadline::at(Clock::Realtime, 1, -1).is_none());
        assert!(Deadline::at(Clock::Realtime, 1, NANOS_A_SECOND).is_none());
        assert!(Deadline::at(Clock::Realtime, 1, NANOS_A_SECOND - 1).is_some());
    }

    #[test]
    fn a_negative_time_has_passed() {
        assert!(Deadline::at(Clock::Monotonic, -5, 1).unwrap().has_passed());
    }

    #[test]
    fn a_deadline_is_near_or_far() {
        let time = Duration::from_millis(950);
        assert!(Deadline::after(Duration::from_millis(900)).is_within(time));
        assert!(!Deadline::after(Duration::from_secs(100)).is_within(time));
        assert!(!Deadline::after(Duration::MAX).is_within(time));
        assert!(Deadline::after(Duration::from_secs(100)).is_within(Duration::from_secs(101)));
        assert!(Deadline::after(Duration::from_secs(100)).is_within(Duration::MAX));
    }

    #[test]
    fn times_of_std_are_deadlines() {
        use std::time::{Instant, SystemTime};
        let (day, minute) = (Duration::from_secs(86_400), Duration::from_secs(60));
        let by_instant: Deadline = (Instant::now() + minute).into();
        assert_eq!(by_instant.clock(), Clock::Monotonic);
        assert!(!by_instant.has_passed() && by_instant.is_within(2 * minute));
        let by_day: Deadline = (SystemTime::now() + minute).into();
        assert_eq!(by_day.clock(), Clock::Realtime);
        assert!(!by_day.has_passed() && by_day.is_within(2 * minute));
        assert!(Deadline::from(Instant::now() - minute).has_passed());
        assert!(Deadline::from(SystemTime::UNIX_EPOCH - day).has_passed());
        assert_eq!(Deadline::from(&by_day).timespec().tv_sec, by_day.timespec().tv_sec);
    }

    #[test]
    fn the_longest_timeout_does_not_overflow() {
        assert!(!Deadline::after(Duration::MAX).has_passed());
    }
}
