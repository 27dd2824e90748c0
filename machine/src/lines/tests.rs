use super::*;
use crate::description::Machine;

struct Bench {
    machine: Machine,
    lines: Lines,
    random: Random,
}

impl Bench {
    fn new() -> Self {
        let mut machine = Machine::named("opteron-8x8").unwrap();
        machine.costs.jitter = 0.0;
        machine.costs.hold = Time::MAX;
        Self { machine, lines: Lines::new(), random: Random::new(1) }
    }

    /// How long an access takes, and where it found the line.
    fn access(&mut self, core: usize, access: Access, now: Time) -> (Time, Found) {
        let number = self.lines.number(0x1000);
        let machine = (&self.machine.costs, &self.machine.topology, &mut self.random);
        let (end, found) = self.lines.access(number, core, access, now, machine);
        (end - now, found)
    }
}

const LATER: Time = 1_000_000_000;

#[test]
fn lines_are_numbered_as_they_come() {
    let mut lines = Lines::new();
    for index in 0..20_000 {
        assert_eq!(lines.number(index * 64 * 7 + 13), index as u32);
    }
    for index in 0..20_000 {
        assert_eq!(lines.number(index * 64 * 7 + 63), index as u32);
    }
}

#[test]
fn a_line_is_read_once_and_then_here() {
    let mut bench = Bench::new();
    let costs = bench.machine.costs;
    assert_eq!(bench.access(0, Access::Rmw, 0), (costs.memory, Found::Memory));
    assert_eq!(bench.access(0, Access::Rmw, LATER), (costs.rmw, Found::Here));
    let remote = Distance::Remote;
    let read = costs.read[remote as usize];
    assert_eq!(bench.access(63, Access::Read, LATER), (read, Found::In(remote)));
    assert_eq!(bench.access(63, Access::Read, 2 * LATER), (costs.hit, Found::Here));
    assert_eq!(bench.access(0, Access::Read, 2 * LATER), (costs.hit, Found::Here));
}

#[test]
fn a_writer_takes_the_line_from_its_readers() {
    let mut bench = Bench::new();
    let costs = bench.machine.costs;
    bench.access(0, Access::Store, 0);
    bench.access(1, Access::Read, LATER);
    bench.access(60, Access::Read, 2 * LATER);
    let upgrade = costs.upgrade[Distance::Remote as usize];
    let found = Found::Shared(Distance::Remote);
    assert_eq!(bench.access(0, Access::Rmw, 3 * LATER), (upgrade, found));
    let read = costs.read[Distance::Cluster as usize];
    assert_eq!(bench.access(1, Access::Read, 4 * LATER), (read, Found::In(Distance::Cluster)));
}

#[test]
fn requests_for_one_line_wait_for_each_other() {
    let mut bench = Bench::new();
    bench.access(0, Access::Store, 0);
    let cost = bench.machine.costs.write[Distance::Cluster as usize];
    for position in 1..8 {
        let (took, _) = bench.access(position, Access::Rmw, LATER);
        assert_eq!(took, cost * position as Time);
    }
}

#[test]
fn readers_of_a_shared_line_wait_for_the_directory_only() {
    let mut bench = Bench::new();
    let costs = bench.machine.costs;
    bench.access(0, Access::Store, 0);
    let (first, _) = bench.access(1, Access::Read, LATER);
    let (second, _) = bench.access(2, Access::Read, LATER);
    let (third, _) = bench.access(3, Access::Read, LATER);
    assert_eq!(second, 2 * first);
    assert_eq!(third, second + costs.serve);
}

#[test]
fn a_line_stays_usable_until_the_request_gets_there() {
    let mut bench = Bench::new();
    let costs = bench.machine.costs;
    bench.access(0, Access::Store, 0);
    let (takes, _) = bench.access(8, Access::Rmw, LATER);
    assert_eq!(bench.access(0, Access::Rmw, LATER + 1), (costs.rmw, Found::Here));
    let (after, found) = bench.access(0, Access::Rmw, LATER + takes * 3 / 4);
    assert!(after > takes && found == Found::In(Distance::Socket), "{after} {found:?}");
}

/// Also where the request that takes it away is not the first in the queue.
#[test]
fn a_line_stays_where_it_came_to_until_the_next_request_gets_there() {
    let mut bench = Bench::new();
    let costs = bench.machine.costs;
    bench.access(0, Access::Store, 0);
    let (first, _) = bench.access(1, Access::Rmw, LATER);
    let (second, _) = bench.access(2, Access::Rmw, LATER);
    assert_eq!(second, 2 * first);
    let hit = (costs.rmw, Found::Here);
    assert_eq!(bench.access(0, Access::Rmw, LATER + first / 4), hit);
    assert_eq!(bench.access(1, Access::Rmw, LATER + first), hit);
    assert_eq!(bench.access(1, Access::Rmw, LATER + first + first / 4), hit);
    let (third, _) = bench.access(1, Access::Rmw, LATER + first + first * 3 / 4);
    assert!(third > first, "{third}");
}
