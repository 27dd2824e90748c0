//! Random programs. The first of `prop_oneof`'s choices is the simplest.

use super::PRIVATE_U32;
use super::places::{At, WORDS};
use super::step::{Call, Entry, Program, Step, Time, Value, Vector};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;

const MOST_STEPS: usize = 24;
const PRIVATE: i32 = libc::FUTEX_PRIVATE_FLAG;
const REALTIME: i32 = libc::FUTEX_CLOCK_REALTIME;
const ANY: u32 = u32::MAX;

/// A program. Few have deadlines that pass while they run, because those take time.
pub(super) fn program() -> impl Strategy<Value = Program> {
    prop_oneof![
        60 => vec(step(Just(Time::Short).boxed()), 1..=MOST_STEPS),
        1 => vec(
            prop_oneof![
                12 => step(prop_oneof![1 => Just(Time::Short), 9 => Just(Time::Soon)].boxed()),
                1 => Just(Step::Expire),
            ],
            1..=MOST_STEPS
        ),
    ]
}

/// A step. Deadlines that pass are to be `passing`.
fn step(passing: BoxedStrategy<Time>) -> impl Strategy<Value = Step> {
    let time = time(passing);
    prop_oneof![
        8 => wait(time.clone()),
        4 => wait_bitset(time.clone()),
        5 => waitv(time.clone()).prop_map(Step::Waitv),
        3 => wake(),
        2 => wake_bitset(),
        3 => requeue(),
        3 => compare_requeue(),
        3 => wake_op(),
        2 => inheriting(),
        2 => (word(), value()).prop_map(|(word, value)| Step::Store { word, value }),
        1 => odd(time),
    ]
}

pub(super) fn call(op: i32) -> Call {
    Call {
        op: op | PRIVATE,
        at: At::Word(0),
        value: Value::Is(0),
        timeout: Time::Never,
        value2: 0,
        to: At::Null,
        value3: Value::Is(0),
    }
}

fn wait(time: impl Strategy<Value = Time>) -> impl Strategy<Value = Step> {
    (at(), expected(), time).prop_map(|(at, value, timeout)| {
        Step::Futex(Call { at, value, timeout, ..call(libc::FUTEX_WAIT) })
    })
}

fn wait_bitset(time: impl Strategy<Value = Time>) -> impl Strategy<Value = Step> {
    let clock = prop_oneof![Just(0), Just(REALTIME)];
    (at(), expected(), time, clock, bitset()).prop_map(|(at, value, timeout, clock, bits)| {
        let call = call(libc::FUTEX_WAIT_BITSET | clock);
        Step::Futex(Call { at, value, timeout, value3: Value::Is(bits), ..call })
    })
}

fn waitv(time: impl Strategy<Value = Time>) -> impl Strategy<Value = Vector> {
    let clock = prop_oneof![
        20 => Just(libc::CLOCK_MONOTONIC),
        10 => Just(libc::CLOCK_REALTIME),
        1 => Just(libc::CLOCK_BOOTTIME),
    ];
    let flags = prop_oneof![40 => Just(0), 1 => Just(1u32), 1 => any::<u32>()];
    (vec(entry(), 1..=8), time, clock, flags).prop_map(|(waiters, timeout, clock, flags)| Vector {
        waiters,
        flags,
        timeout,
        clock,
    })
}

fn entry() -> impl Strategy<Value = Entry> {
    let usual = prop_oneof![
        120 => Just((0, PRIVATE_U32, 0)),
        1 => Just((1, PRIVATE_U32, 0)),
        1 => Just((0, PRIVATE_U32, 1)),
        // Sizes other than 32 bits, and an unknown flag.
        1 => prop_oneof![Just(0x80u32), Just(0x81), Just(0x83), Just(0xc2)]
            .prop_map(|flags| (0, flags, 0)),
    ];
    let value = prop_oneof![60 => Just(Value::Held), 1 => value().prop_map(Value::Is)];
    (at(), value, usual).prop_map(|(at, value, (high, flags, reserved))| Entry {
        at,
        value,
        high,
        flags,
        reserved,
    })
}

fn wake() -> impl Strategy<Value = Step> {
    (at(), count()).prop_map(|(at, count)| {
        Step::Futex(Call { at, value: Value::Is(count), ..call(libc::FUTEX_WAKE) })
    })
}

fn wake_bitset() -> impl Strategy<Value = Step> {
    (at(), count(), bitset()).prop_map(|(at, count, bits)| {
        let (value, value3) = (Value::Is(count), Value::Is(bits));
        Step::Futex(Call { at, value, value3, ..call(libc::FUTEX_WAKE_BITSET) })
    })
}

fn requeue() -> impl Strategy<Value = Step> {
    (at(), count(), at(), count()).prop_map(|(at, wake, to, value2)| {
        Step::Futex(Call { at, value: Value::Is(wake), value2, to, ..call(libc::FUTEX_REQUEUE) })
    })
}

fn compare_requeue() -> impl Strategy<Value = Step> {
    (at(), count(), at(), count(), expected()).prop_map(|(at, wake, to, value2, value3)| {
        let call = call(libc::FUTEX_CMP_REQUEUE);
        Step::Futex(Call { at, value: Value::Is(wake), value2, to, value3, ..call })
    })
}

fn wake_op() -> impl Strategy<Value = Step> {
    (at(), count(), at(), count(), encoded()).prop_map(|(at, wake, to, value2, value3)| {
        let call = call(libc::FUTEX_WAKE_OP);
        Step::Futex(Call {
            at,
            value: Value::Is(wake),
            value2,
            to,
            value3: Value::Is(value3),
            ..call
        })
    })
}

/// `FUTEX_OP(op, oparg, cmp, cmparg)`: five operations, six comparisons, and unknown ones.
fn encoded() -> impl Strategy<Value = u32> {
    let op = prop_oneof![20 => 0..5u32, 1 => 5..8u32];
    let shift = prop_oneof![4 => Just(0), 1 => Just(8u32)];
    let compare = prop_oneof![20 => 0..6u32, 1 => 6..16u32];
    let operand = || prop_oneof![12 => 0..4u32, 2 => 0..32u32, 1 => 0..0x1000u32];
    (op, shift, compare, operand(), operand()).prop_map(|(op, shift, compare, with, against)| {
        (op | shift) << 28 | compare << 24 | with << 12 | against
    })
}

/// Priority-inheriting operations that don't block, beside plain waiters. The words hold the
/// calling thread's id then, or that of some other process.
fn inheriting() -> impl Strategy<Value = Step> {
    let op = prop_oneof![
        3 => Just(libc::FUTEX_TRYLOCK_PI),
        3 => Just(libc::FUTEX_UNLOCK_PI),
        2 => Just(libc::FUTEX_CMP_REQUEUE_PI),
    ];
    let wake = prop_oneof![8 => Just(1u32), 1 => count()];
    (op, at(), wake, at(), count(), expected()).prop_map(|(op, at, wake, to, value2, value3)| {
        Step::Futex(Call { at, value: Value::Is(wake), value2, to, value3, ..call(op) })
    })
}

/// Calls that fail, or are unusual otherwise.
fn odd(time: impl Strategy<Value = Time>) -> impl Strategy<Value = Step> {
    let flags = prop_oneof![Just(PRIVATE), Just(PRIVATE | REALTIME)];
    let op = prop_oneof![
        0..=5i32,
        9..=10i32,
        14..=20i32,
        (14..=i32::MAX).prop_map(|op| op & !(PRIVATE | REALTIME)).prop_filter("PI", |op| *op > 13),
    ];
    (op, flags, at(), expected(), time, count(), at(), expected()).prop_map(
        |(op, flags, at, value, timeout, value2, to, value3)| {
            Step::Futex(Call { op: op | flags, at, value, timeout, value2, to, value3 })
        },
    )
}

fn word() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0..2usize, 3 => Just(2usize), 1 => 3..WORDS]
}

fn at() -> impl Strategy<Value = At> {
    prop_oneof![
        120 => word().prop_map(At::Word),
        1 => Just(At::Null),
        1 => Just(At::Nowhere),
        1 => (word(), 1..4usize).prop_map(|(word, bytes)| At::Inside(word, bytes)),
    ]
}

fn value() -> impl Strategy<Value = u32> {
    prop_oneof![8 => 0..4u32, 1 => Just(u32::MAX), 1 => any::<u32>()]
}

fn expected() -> impl Strategy<Value = Value> {
    prop_oneof![12 => Just(Value::Held), 1 => value().prop_map(Value::Is)]
}

fn count() -> impl Strategy<Value = u32> {
    prop_oneof![
        20 => 0..4u32,
        2 => Just(i32::MAX as u32),
        1 => Just(i32::MIN as u32),
        1 => Just(-1i32 as u32),
        1 => any::<u32>(),
    ]
}

fn bitset() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 1..4u32, 4 => Just(ANY), 1 => Just(0u32), 1 => any::<u32>()]
}

fn time(passing: BoxedStrategy<Time>) -> BoxedStrategy<Time> {
    let given = prop_oneof![
        4 => Just(Time::Zero),
        4 => Just(Time::Past),
        4 => passing,
        4 => Just(Time::Far),
        4 => Just(Time::Last),
        1 => Just(Time::NegativeSecond),
        1 => Just(Time::NegativeNanos),
        1 => Just(Time::FullNanos),
    ];
    weighted(0.25, given).prop_map(|given| given.unwrap_or(Time::Never)).boxed()
}
