//! What is called, and with what.

use super::ground::{Ground, NO_THREAD, PAGE, Spot};
use crate::differential::{Futex, FutexCall, PRIVATE_U32, Waitv, WaitvCall};
use crate::seeds::runner;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::ptr;

/// One call. No call waits for longer than a moment: where the expected value is right, the timeout
/// has passed or is invalid.
#[derive(Clone, Debug)]
pub struct Case(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Futex { op: i32, at: Spot, value: Value, fourth: Fourth, at2: Spot, value3: Value },
    Waitv { waiters: Waiters, count: u32, flags: u32, timeout: Fourth, clock: i32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// What the first word holds.
    Held,
    Is(u32),
}

/// The fourth operand: a timeout or a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fourth {
    /// A pointer to this timespec.
    Timeout(i64, i64),
    /// A pointer to there.
    At(Spot),
    Count(u32),
}

#[derive(Clone, Debug)]
enum Waiters {
    At(Spot),
    /// The last `beyond` bytes of them aren't readable.
    Given {
        entries: Vec<Entry>,
        beyond: usize,
    },
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Spot,
    value: Value,
    high: u32,
    flags: u32,
    reserved: u32,
}

const FLAGS: i32 = libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME;
const PAST: Fourth = Fourth::Timeout(0, 1);
const NONE: Fourth = Fourth::At(Spot::Null);
const OTHER: Value = Value::Is(NO_THREAD + 1);

/// Operations that sleep as long as the word holds what is expected.
fn waits(op: i32) -> bool {
    let waits = [libc::FUTEX_WAIT, libc::FUTEX_WAIT_BITSET, libc::FUTEX_WAIT_REQUEUE_PI];
    waits.contains(&(op & !FLAGS))
}

impl Fourth {
    /// Whether a wait with it surely ends by itself.
    fn ends(self) -> bool {
        match self {
            Fourth::Timeout(seconds, nanos) => {
                seconds < 0 || (seconds == 0 && !(4..1_000_000_000).contains(&nanos))
            }
            // All zeroes, or not readable; but the word, read as a timespec, is an hour.
            Fourth::At(spot) => {
                matches!(spot, Spot::Free | Spot::Barred | Spot::Gone | Spot::ReadOnly | Spot::Edge)
                    || matches!(spot, Spot::Address(_))
            }
            Fourth::Count(_) => false,
        }
    }
}

impl Case {
    fn new(kind: Kind) -> Self {
        let mut kind = kind;
        match &mut kind {
            Kind::Futex { op, value, fourth, .. } => {
                if waits(*op) && !fourth.ends() {
                    *value = OTHER;
                }
            }
            Kind::Waitv { waiters: Waiters::Given { entries, .. }, timeout, .. } => {
                if !timeout.ends() {
                    entries.iter_mut().for_each(|entry| entry.value = OTHER);
                }
            }
            Kind::Waitv { .. } => {}
        }
        Self(kind)
    }

    /// Makes the call.
    pub(super) fn perform(&self, ground: &Ground, user: &dyn Futex) -> Result<i64, i32> {
        let given = |value, held| match value {
            Value::Held => held,
            Value::Is(value) => value,
        };
        match &self.0 {
            Kind::Futex { op, at, value, fourth, at2, value3 } => {
                let (time, held) = (fourth.timespec(), Ground::held(*at));
                let call = FutexCall {
                    uaddr: ground.address(*at).cast(),
                    op: *op,
                    val: given(*value, held),
                    timeout_or_val2: fourth.pointer(&time, ground),
                    uaddr2: ground.address(*at2).cast(),
                    val3: given(*value3, held),
                };
                // SAFETY: only the ground is written, and nothing else uses that.
                unsafe { user.futex(call) }
            }
            Kind::Waitv { waiters, count, flags, timeout, clock } => {
                let time = timeout.timespec();
                let timeout = timeout.pointer(&time, ground);
                let waiters = match waiters {
                    Waiters::At(spot) => ground.address(*spot).cast::<Waitv>().cast_const(),
                    Waiters::Given { entries, beyond } => {
                        let waitv = |entry: &Entry| Waitv {
                            val: u64::from(given(entry.value, Ground::held(entry.at)))
                                | u64::from(entry.high) << 32,
                            uaddr: ground.address(entry.at).addr() as u64,
                            flags: entry.flags,
                            reserved: entry.reserved,
                        };
                        let entries: Vec<_> = entries.iter().map(waitv).collect();
                        ground.at_the_edge(&entries, *beyond)
                    }
                };
                let (count, flags, clock) = (*count, *flags, *clock);
                let call = WaitvCall { waiters, count, flags, timeout, clock };
                // SAFETY: as above.
                unsafe { user.waitv(call) }
            }
        }
    }
}

impl Fourth {
    fn timespec(self) -> libc::timespec {
        match self {
            Fourth::Timeout(tv_sec, tv_nsec) => libc::timespec { tv_sec, tv_nsec },
            _ => libc::timespec { tv_sec: 0, tv_nsec: 0 },
        }
    }

    fn pointer(self, time: &libc::timespec, ground: &Ground) -> *const libc::timespec {
        match self {
            Fourth::Timeout(..) => time,
            Fourth::At(spot) => ground.address(spot).cast(),
            Fourth::Count(count) => ptr::without_provenance(count as usize),
        }
    }
}

/// Every operation with every flag, at every spot.
pub fn grid() -> Vec<Case> {
    let mut cases = Vec::new();
    let fourths = [NONE, PAST, Fourth::At(Spot::Barred), Fourth::Timeout(-1, 0)];
    for op in (0..=20).flat_map(|op| [0, 128, 256, 384].map(|flags| op | flags)) {
        for at in Spot::ALL {
            for at2 in [Spot::Word, Spot::Inside(1), Spot::ReadOnly, Spot::Null] {
                for (n, fourth) in fourths.into_iter().enumerate() {
                    let value = if n < 2 { Value::Held } else { Value::Is(1) };
                    let value3 = if n == 0 { Value::Held } else { Value::Is(1) };
                    let kind = Kind::Futex { op, at, value, fourth, at2, value3 };
                    cases.push(Case::new(kind));
                }
            }
        }
    }
    cases
}

/// `count` others.
pub fn random(seed: u64, count: usize) -> Vec<Case> {
    let mut runner = runner(seed);
    let strategy = prop_oneof![3 => futex(), 1 => waitv()];
    let tree = |_| strategy.new_tree(&mut runner).expect("nothing is filtered");
    (0..count).map(tree).map(|tree| Case::new(tree.current())).collect()
}

fn futex() -> BoxedStrategy<Kind> {
    let flags = prop_oneof![4 => Just(128), 1 => Just(384), 1 => Just(0), 1 => Just(256)];
    let known = (0..=20, flags).prop_map(|(op, flags)| op | flags);
    let op = prop_oneof![8 => known, 1 => any::<i32>()];
    let value3 = prop_oneof![2 => Just(Value::Held), 2 => value(), 1 => Just(Value::Is(0))];
    (op, spot(), value(), fourth(), spot(), value3)
        .prop_map(|(op, at, value, fourth, at2, value3)| Kind::Futex {
            op,
            at,
            value,
            fourth,
            at2,
            value3,
        })
        .boxed()
}

fn waitv() -> BoxedStrategy<Kind> {
    let beyond = prop_oneof![4 => Just(0), 1 => 0..24usize];
    let entries = prop_oneof![
        20 => proptest::collection::vec(entry(), 1..6),
        1 => proptest::collection::vec(entry(), 126..130),
    ];
    let given = (entries, beyond, -1..=1i32, any::<u32>(), 0..12).prop_map(
        |(entries, beyond, off, any, odd)| {
            let most = PAGE / size_of::<Waitv>();
            let entries: Vec<_> = entries.into_iter().take(most).collect();
            // Mostly the right count; sometimes one off, or anything.
            let length = entries.len() as u32;
            let count = match odd {
                0 => any,
                1 => length.saturating_add_signed(off),
                _ => length,
            };
            (Waiters::Given { entries, beyond }, count)
        },
    );
    let elsewhere = (spot(), 0..3u32).prop_map(|(spot, count)| (Waiters::At(spot), count));
    let flags = prop_oneof![9 => Just(0), 1 => any::<u32>()];
    let clock = prop_oneof![4 => 0..2, 1 => -1..12, 1 => any::<i32>()];
    (prop_oneof![6 => given, 1 => elsewhere], flags, fourth(), clock)
        .prop_map(|((waiters, count), flags, timeout, clock)| Kind::Waitv {
            waiters,
            count,
            flags,
            timeout,
            clock,
        })
        .boxed()
}

fn entry() -> BoxedStrategy<Entry> {
    let at = prop_oneof![8 => Just(Spot::Word), 8 => Just(Spot::Free), 1 => spot()];
    let value = prop_oneof![8 => Just(Value::Held), 1 => value()];
    let flags = prop_oneof![12 => Just(PRIVATE_U32), 1 => 0..256u32, 1 => any::<u32>()];
    let odd = prop_oneof![12 => Just(0), 1 => any::<u32>()];
    (at, value, odd.clone(), flags, odd)
        .prop_map(|(at, value, high, flags, reserved)| Entry { at, value, high, flags, reserved })
        .boxed()
}

fn spot() -> BoxedStrategy<Spot> {
    let address = prop_oneof![any::<usize>(), any::<usize>().prop_map(|address| address & !3)];
    prop_oneof![
        6 => Just(Spot::Word),
        6 => Just(Spot::Free),
        12 => proptest::sample::select(Spot::ALL.to_vec()),
        1 => address.prop_map(Spot::Address),
    ]
    .boxed()
}

fn value() -> BoxedStrategy<Value> {
    prop_oneof![
        3 => Just(Value::Held),
        2 => (0..4u32).prop_map(Value::Is),
        1 => prop_oneof![Just(i32::MAX as u32), Just(1 << 31), Just(u32::MAX)].prop_map(Value::Is),
        1 => any::<u32>().prop_map(Value::Is),
    ]
    .boxed()
}

fn fourth() -> BoxedStrategy<Fourth> {
    let second = prop_oneof![Just(0i64), Just(-1), Just(i64::MAX), Just(i64::MIN), any::<i64>()];
    let nano = prop_oneof![
        6 => 0..3i64,
        1 => Just(999_999_999),
        1 => Just(1_000_000_000),
        1 => Just(-1),
        1 => any::<i64>()
    ];
    let count = prop_oneof![3 => 0..4u32, 1 => Just(i32::MAX as u32), 1 => any::<u32>()];
    prop_oneof![
        4 => Just(PAST),
        2 => Just(NONE),
        2 => (second, nano).prop_map(|(second, nano)| Fourth::Timeout(second, nano)),
        3 => spot().prop_map(Fourth::At),
        3 => count.prop_map(Fourth::Count),
    ]
    .boxed()
}
