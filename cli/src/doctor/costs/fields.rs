//! The fields of a machine file, and what stands in them if they can't be measured.

/// A field, and its value in `machine/machines/epyc-2x64.toml`.
pub struct Field {
    pub table: &'static str,
    pub key: &'static str,
    /// Of a cost by distance.
    pub part: Option<&'static str>,
    pub default: f64,
    /// Why no program can measure it.
    pub hidden: Option<&'static str>,
}

/// The machine whose values are used.
pub const DEFAULT_MACHINE: &str = "epyc-2x64";

const INSIDE: &str = "it happens inside the processor or the kernel";

const fn field(table: &'static str, key: &'static str, default: f64) -> Field {
    Field { table, key, part: None, default, hidden: None }
}

const fn part(table: &'static str, key: &'static str, part: &'static str, default: f64) -> Field {
    Field { table, key, part: Some(part), default, hidden: None }
}

const fn hidden(table: &'static str, key: &'static str, default: f64) -> Field {
    Field { table, key, part: None, default, hidden: Some(INSIDE) }
}

/// In the order of the file. Parts of one key stand together.
pub const FIELDS: [Field; 43] = [
    field("line", "hit", 1.0),
    field("line", "store", 1.0),
    field("line", "rmw", 4.4),
    field("line", "memory", 105.0),
    hidden("line", "serve", 15.0),
    hidden("line", "leave", 0.67),
    hidden("line", "hold", 20.0),
    part("line", "read", "cluster", 25.0),
    part("line", "read", "socket", 100.0),
    part("line", "read", "remote", 200.0),
    part("line", "write", "cluster", 28.0),
    part("line", "write", "socket", 110.0),
    part("line", "write", "remote", 215.0),
    part("line", "upgrade", "cluster", 27.0),
    part("line", "upgrade", "socket", 105.0),
    part("line", "upgrade", "remote", 205.0),
    field("instruction", "pause", 21.6),
    field("instruction", "fence", 4.4),
    field("instruction", "clock", 19.3),
    field("instruction", "processor", 1.1),
    field("instruction", "sibling", 0.6),
    field("kernel", "call", 109.0),
    field("kernel", "wait", 91.0),
    field("kernel", "wake", 33.0),
    hidden("kernel", "bucket", 60.0),
    field("kernel", "spawn", 12_000.0),
    field("kernel", "switch", 1_000.0),
    field("kernel", "migration", 1_500.0),
    hidden("kernel", "hot", 500_000.0),
    field("kernel", "slice", 3_000_000.0),
    hidden("kernel", "granularity", 1_500_000.0),
    hidden("kernel", "balance", 4_000_000.0),
    field("kernel", "slack", 50_000.0),
    field("wake", "same", 600.0),
    part("wake", "waker", "cluster", 800.0),
    part("wake", "waker", "socket", 1_000.0),
    part("wake", "waker", "remote", 1_500.0),
    field("wake", "interrupt", 500.0),
    field("wake", "poll", 800.0),
    field("wake", "halt", 2_500.0),
    field("wake", "deep", 30_000.0),
    field("wake", "halts_after", 20_000.0),
    field("wake", "deep_after", 2_000_000.0),
];

/// The default of a field that isn't measured.
pub fn default_of(table: &str, key: &str) -> f64 {
    let field = FIELDS.iter().find(|field| (field.table, field.key) == (table, key));
    field.expect("a field of the table").default
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Distance, Machine};

    /// The defaults are that machine's: the simulator's own reader says so.
    #[test]
    fn defaults_are_those_of_their_machine() {
        let costs = Machine::named(DEFAULT_MACHINE).unwrap().costs;
        let of = |costs: [u64; 4], distance| costs[distance as usize];
        let (cluster, socket, remote) = (Distance::Cluster, Distance::Socket, Distance::Remote);
        let theirs = [costs.hit, costs.store, costs.rmw, costs.memory, costs.serve]
            .into_iter()
            .chain([(costs.leave * 1e3).round() as u64, costs.hold])
            .chain(
                [costs.read, costs.write, costs.upgrade]
                    .into_iter()
                    .flat_map(|costs| [of(costs, cluster), of(costs, socket), of(costs, remote)]),
            )
            .chain([costs.pause, costs.fence, costs.clock, costs.processor])
            .chain([(costs.sibling * 1e3).round() as u64])
            .chain([costs.call, costs.wait, costs.wake, costs.bucket, costs.spawn, costs.switch])
            .chain([costs.migration, costs.hot, costs.slice, costs.granularity, costs.balance])
            .chain([costs.slack, of(costs.waker, Distance::Core)])
            .chain([of(costs.waker, cluster), of(costs.waker, socket), of(costs.waker, remote)])
            .chain([costs.interrupt, costs.starts_from_poll, costs.starts_from_halt])
            .chain([costs.starts_from_deep, costs.halts_after, costs.deep_after]);
        let ours = FIELDS.iter().map(|field| (field.default * 1e3).round() as u64);
        assert_eq!(ours.collect::<Vec<_>>(), theirs.collect::<Vec<_>>());
    }
}
