//! What a program consists of.

use super::places::{At, Places};
use super::raw::Raw;
use super::{PRIVATE_U32, Waitv};
use std::fmt;
use std::time::Duration;

/// Steps, one after another.
pub type Program = Vec<Step>;

/// How far ahead `Time::Soon` lies: more than a program's other steps take.
pub(super) const SOON: Duration = Duration::from_millis(5);

/// One step.
#[derive(Clone, PartialEq, Eq)]
pub enum Step {
    /// Stores to a word.
    Store {
        /// Which.
        word: usize,
        /// What.
        value: u32,
    },
    /// Calls futex(2).
    Futex(Call),
    /// Calls futex_waitv(2).
    Waitv(Vector),
    /// Lets all deadlines of `Time::Soon` pass.
    Expire,
}

/// A call of futex(2).
#[derive(Clone, PartialEq, Eq)]
pub struct Call {
    pub(super) op: i32,
    pub(super) at: At,
    pub(super) value: Value,
    /// For the operations that have a timeout.
    pub(super) timeout: Time,
    /// For the others.
    pub(super) value2: u32,
    pub(super) to: At,
    pub(super) value3: Value,
}

/// A call of futex_waitv(2).
#[derive(Clone, PartialEq, Eq)]
pub struct Vector {
    pub(super) waiters: Vec<Entry>,
    pub(super) flags: u32,
    pub(super) timeout: Time,
    pub(super) clock: libc::clockid_t,
}

/// One word of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Entry {
    pub(super) at: At,
    pub(super) value: Value,
    /// Added to the value: nonzero asks for more than 32 bits hold.
    pub(super) high: u32,
    pub(super) flags: u32,
    pub(super) reserved: u32,
}

/// A value to expect or to give.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// The first word's value at that moment.
    Held,
    /// This.
    Is(u32),
}

/// A timeout or a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// A null pointer.
    Never,
    /// Zero.
    Zero,
    /// One nanosecond ago, or in one nanosecond if relative.
    Past,
    /// Before anything else happens.
    Short,
    /// After other steps.
    Soon,
    /// An hour away.
    Far,
    /// The last there is.
    Last,
    /// A negative second.
    NegativeSecond,
    /// A negative nanosecond.
    NegativeNanos,
    /// A billion nanoseconds.
    FullNanos,
}

const FLAGS: i32 = libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME;

impl Call {
    fn command(&self) -> i32 {
        self.op & !FLAGS
    }

    /// Whether it may block.
    pub(super) fn waits(&self) -> bool {
        matches!(self.command(), libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET)
    }

    /// How many it woke if it returned `result`, counting a wait on many words once for each word.
    /// `held` is what its first word held before.
    pub(super) fn woken(&self, result: i64, held: u32) -> i64 {
        match self.command() {
            libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET | libc::FUTEX_WAKE_OP => result,
            libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE => {
                result.min(i64::from(self.value.given(held)))
            }
            _ => 0,
        }
    }

    /// The clock that an absolute deadline is counted on.
    fn clock(&self) -> Option<libc::clockid_t> {
        match self.command() {
            libc::FUTEX_WAIT => None,
            _ if self.op & libc::FUTEX_CLOCK_REALTIME != 0 => Some(libc::CLOCK_REALTIME),
            _ => Some(libc::CLOCK_MONOTONIC),
        }
    }

    pub(super) fn raw(&self, places: &Places) -> Raw {
        let held = places.held(self.at);
        Raw::Futex {
            uaddr: places.address(self.at),
            op: self.op,
            val: self.value.given(held),
            timeout: self.timeout.timespec(self.clock()).filter(|_| self.waits()),
            val2: if self.waits() { 0 } else { self.value2 as usize },
            uaddr2: places.address(self.to),
            val3: self.value3.given(held),
        }
    }
}

impl Vector {
    pub(super) fn raw(&self, places: &Places) -> Raw {
        let waiter = |entry: &Entry| Waitv {
            val: u64::from(entry.value.given(places.held(entry.at)))
                + (u64::from(entry.high) << 32),
            uaddr: places.address(entry.at).addr() as u64,
            flags: entry.flags,
            reserved: entry.reserved,
        };
        Raw::Waitv {
            waiters: self.waiters.iter().map(waiter).collect(),
            flags: self.flags,
            timeout: self.timeout.timespec(Some(self.clock)),
            clock: self.clock,
        }
    }
}

impl Value {
    fn given(self, held: u32) -> u32 {
        match self {
            Value::Held => held,
            Value::Is(value) => value,
        }
    }
}

impl Time {
    /// Whether a wait ends by itself, at once.
    pub(super) fn ends_at_once(self) -> bool {
        matches!(self, Time::Zero | Time::Past | Time::Short)
    }

    /// A deadline on `clock`, or, without one, a relative timeout.
    fn timespec(self, clock: Option<libc::clockid_t>) -> Option<libc::timespec> {
        let ahead = |ahead: Duration| {
            let at = clock.map_or(Duration::ZERO, now) + ahead;
            (at.as_secs() as i64, i64::from(at.subsec_nanos()))
        };
        let (tv_sec, tv_nsec) = match self {
            Time::Never => return None,
            Time::Zero => (0, 0),
            Time::Past if clock.is_some() => {
                let (seconds, nanos) = ahead(Duration::ZERO);
                if nanos == 0 { (seconds - 1, 999_999_999) } else { (seconds, nanos - 1) }
            }
            Time::Past => (0, 1),
            Time::Short => ahead(Duration::from_micros(100)),
            Time::Soon => ahead(SOON),
            Time::Far => ahead(Duration::from_secs(3600)),
            Time::Last => (i64::MAX, 999_999_999),
            Time::NegativeSecond => (-1, 0),
            Time::NegativeNanos => (1, -1),
            Time::FullNanos => (1, 1_000_000_000),
        };
        Some(libc::timespec { tv_sec, tv_nsec })
    }
}

/// The time of `clock`; zero if there is no such clock.
fn now(clock: libc::clockid_t) -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec.
    unsafe { libc::clock_gettime(clock, &mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Store { word, value } => write!(f, "word {word} = {value:#x}"),
            Step::Futex(call) => call.fmt(f),
            Step::Waitv(vector) => vector.fmt(f),
            Step::Expire => f.write_str("let the deadlines pass"),
        }
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, value, value3) = (self.at, self.value, self.value3);
        let (to, value2) = (self.to, self.value2.cast_signed());
        let timeout = self.timeout;
        let count = |value| match value {
            Value::Held => "held".to_owned(),
            Value::Is(value) => value.cast_signed().to_string(),
        };
        match self.command() {
            libc::FUTEX_WAIT => write!(f, "WAIT({at:?}, {value:?}, {timeout:?})"),
            libc::FUTEX_WAIT_BITSET => {
                write!(f, "WAIT_BITSET({at:?}, {value:?}, {timeout:?}, bitset {value3:?})")
            }
            libc::FUTEX_WAKE => write!(f, "WAKE({at:?}, {})", count(value)),
            libc::FUTEX_WAKE_BITSET => {
                write!(f, "WAKE_BITSET({at:?}, {}, bitset {value3:?})", count(value))
            }
            libc::FUTEX_REQUEUE => {
                write!(f, "REQUEUE({at:?}, wake {}, move {value2}, to {to:?})", count(value))
            }
            libc::FUTEX_CMP_REQUEUE => {
                write!(f, "CMP_REQUEUE({at:?}, wake {}, move {value2}, to {to:?}", count(value))?;
                write!(f, ", if {value3:?})")
            }
            libc::FUTEX_WAKE_OP => {
                write!(f, "WAKE_OP({at:?}, wake {}, then {value2} at {to:?}", count(value))?;
                write!(f, ", {value3:?})")
            }
            op => {
                write!(f, "op {op:#x}({at:?}, {value:?}, {timeout:?} or {value2}")?;
                write!(f, ", {to:?}, {value3:?})")
            }
        }?;
        let unusual = self.op & FLAGS ^ libc::FUTEX_PRIVATE_FLAG;
        if unusual != 0 { write!(f, " flags {:#x}", self.op & FLAGS) } else { Ok(()) }
    }
}

impl fmt::Debug for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "futex_waitv({:?}, {:?}", self.waiters, self.timeout)?;
        if self.flags != 0 {
            write!(f, ", flags {:#x}", self.flags)?;
        }
        write!(f, ", clock {})", self.clock)
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} if {:?}", self.at, self.value)?;
        if (self.high, self.flags, self.reserved) != (0, PRIVATE_U32, 0) {
            let (high, flags, reserved) = (self.high, self.flags, self.reserved);
            write!(f, " (high half {high:#x}, flags {flags:#x}, reserved {reserved:#x})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Held => f.write_str("held"),
            Value::Is(value) => write!(f, "{value:#x}"),
        }
    }
}
