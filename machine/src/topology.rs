//! Processors, and how far they are apart.

use serde::Deserialize;

/// The most processors of a simulated machine.
pub(crate) const MOST_PROCESSORS: usize = 256;

const WORDS: usize = MOST_PROCESSORS / 64;

/// A set of processors, or of cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorSet([u64; WORDS]);

impl ProcessorSet {
    /// The empty set.
    pub const EMPTY: Self = Self([0; WORDS]);
    /// All processors that there may be.
    pub const ALL: Self = Self([u64::MAX; WORDS]);

    /// Adds one.
    #[inline]
    pub fn insert(&mut self, member: usize) {
        self.0[member / 64] |= 1 << (member % 64);
    }

    /// Takes one out.
    #[inline]
    pub fn remove(&mut self, member: usize) {
        self.0[member / 64] &= !(1 << (member % 64));
    }

    /// Whether `member` is in it.
    #[inline]
    pub fn contains(&self, member: usize) -> bool {
        self.0[member / 64] >> (member % 64) & 1 != 0
    }

    /// Whether it has no member.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// How many members it has.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The members of both.
    #[inline]
    pub fn and(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
        self
    }

    /// The members that `other` doesn't have.
    #[inline]
    pub fn without(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= !other);
        self
    }

    #[inline]
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(word, other)| word & other != 0)
    }

    /// Its members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + use<> {
        let words = self.0;
        (0..WORDS).flat_map(move |index| {
            let mut word = words[index];
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
                word &= word - 1;
                Some(index * 64 + bit)
            })
        })
    }

    /// The first member from `start` on, or else the first of all.
    pub(crate) fn first_from(&self, start: usize) -> Option<usize> {
        let mut word = start / 64;
        let mut bits = self.0[word] & (u64::MAX << (start % 64));
        for _ in 0..=WORDS {
            if bits != 0 {
                return Some(word * 64 + bits.trailing_zeros() as usize);
            }
            word = (word + 1) % WORDS;
            bits = self.0[word];
        }
        None
    }
}

impl FromIterator<usize> for ProcessorSet {
    fn from_iter<I: IntoIterator<Item = usize>>(members: I) -> Self {
        let mut set = Self::EMPTY;
        members.into_iter().for_each(|member| set.insert(member));
        set
    }
}

/// A level of the hierarchy of processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Cluster,
    Socket,
}

/// How far two processors are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// Threads of one core, or the same processor.
    Core,
    /// Cores of one cluster, which share a cache.
    Cluster,
    /// Clusters of one socket.
    Socket,
    /// Different sockets.
    Remote,
}

impl Distance {
    /// Distances between different cores, the nearest first.
    pub const BETWEEN_CORES: [Self; 3] = [Self::Cluster, Self::Socket, Self::Remote];
}

/// A machine's processors. They are numbered by socket, cluster, core and thread.
#[derive(Clone, Debug)]
pub struct Topology {
    sockets: usize,
    clusters: usize,
    cores: usize,
    threads: usize,
    nodes: Level,
    /// Sets of cores, by core.
    cluster_cores: Vec<ProcessorSet>,
    socket_cores: Vec<ProcessorSet>,
    /// Sets of processors, by processor: those within a distance, and those to wake on.
    near: [Vec<ProcessorSet>; 4],
    wake_domains: Vec<ProcessorSet>,
}

impl Topology {
    pub(crate) fn new(
        sockets: usize,
        clusters: usize,
        cores: usize,
        threads: usize,
        nodes: Level,
        wakes_within: Level,
    ) -> Self {
        let blocks = |total: usize, size: usize| {
            let block = |first: usize| (first..first + size).collect::<ProcessorSet>();
            (0..total).map(|member| block(member / size * size)).collect::<Vec<_>>()
        };
        let (total, in_cluster, in_socket) = (sockets * clusters * cores, cores, clusters * cores);
        let near =
            [1, in_cluster, in_socket, total].map(|size| blocks(total * threads, size * threads));
        let wake_domains = match wakes_within {
            Level::Cluster => near[Distance::Cluster as usize].clone(),
            Level::Socket => near[Distance::Socket as usize].clone(),
        };
        Self {
            sockets,
            clusters,
            cores,
            threads,
            nodes,
            cluster_cores: blocks(total, in_cluster),
            socket_cores: blocks(total, in_socket),
            near,
            wake_domains,
        }
    }

    /// How many processors there are.
    pub fn processors(&self) -> usize {
        self.sockets * self.clusters * self.cores * self.threads
    }

    /// How many memory nodes there are.
    pub fn nodes(&self) -> usize {
        self.processors() / self.node_size()
    }

    /// The memory node of a processor.
    pub fn node_of(&self, processor: usize) -> usize {
        processor / self.node_size()
    }

    /// The processors of a memory node.
    pub fn processors_of(&self, node: usize) -> ProcessorSet {
        let size = self.node_size();
        (node * size..(node + 1) * size).collect()
    }

    fn node_size(&self) -> usize {
        match self.nodes {
            Level::Cluster => self.cores * self.threads,
            Level::Socket => self.clusters * self.cores * self.threads,
        }
    }

    /// The core of a processor.
    #[inline]
    pub fn core_of(&self, processor: usize) -> usize {
        if self.threads == 1 { processor } else { processor / self.threads }
    }

    /// The processors of a core.
    pub fn siblings(&self, processor: usize) -> std::ops::Range<usize> {
        let first = processor / self.threads * self.threads;
        first..first + self.threads
    }

    /// The processors among which the scheduler looks for an idle one.
    pub(crate) fn wake_domain(&self, processor: usize) -> &ProcessorSet {
        &self.wake_domains[processor]
    }

    /// The processors that are at most that far from `processor`.
    pub(crate) fn within(&self, processor: usize, distance: Distance) -> &ProcessorSet {
        &self.near[distance as usize][processor]
    }

    /// Whether two cores may be that far apart.
    pub(crate) fn has(&self, distance: Distance) -> bool {
        match distance {
            Distance::Core => true,
            Distance::Cluster => self.cores > 1,
            Distance::Socket => self.clusters > 1,
            Distance::Remote => self.sockets > 1,
        }
    }

    /// How far two processors are apart.
    pub fn distance(&self, one: usize, other: usize) -> Distance {
        self.core_distance(self.core_of(one), self.core_of(other))
    }

    #[inline]
    pub(crate) fn core_distance(&self, one: usize, other: usize) -> Distance {
        if one == other {
            Distance::Core
        } else if self.cluster_cores[one].contains(other) {
            Distance::Cluster
        } else if self.socket_cores[one].contains(other) {
            Distance::Socket
        } else {
            Distance::Remote
        }
    }

    /// The distance from `core` to the nearest of `others`, which don't include it.
    #[inline]
    pub(crate) fn nearest(&self, core: usize, others: &ProcessorSet) -> Distance {
        if others.meets(&self.cluster_cores[core]) {
            Distance::Cluster
        } else if others.meets(&self.socket_cores[core]) {
            Distance::Socket
        } else {
            Distance::Remote
        }
    }

    /// The distance from `core` to the farthest of `others`, which don't include it.
    #[inline]
    pub(crate) fn farthest(&self, core: usize, others: &ProcessorSet) -> Distance {
        if !others.without(&self.socket_cores[core]).is_empty() {
            Distance::Remote
        } else if !others.without(&self.cluster_cores[core]).is_empty() {
            Distance::Socket
        } else {
            Distance::Cluster
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_into_it() {
        let mut set = ProcessorSet::EMPTY;
        assert!(set.is_empty() && set.first_from(7).is_none());
        for member in [0, 63, 64, 200, 255] {
            set.insert(member);
            assert!(set.contains(member) && !set.contains(member ^ 1));
        }
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 200, 255]);
        assert_eq!(set.len(), 5);
        for (start, first) in [(0, 0), (1, 63), (65, 200), (201, 255)] {
            assert_eq!(set.first_from(start), Some(first));
        }
        set.remove(255);
        assert_eq!(set.first_from(201), Some(0), "from the beginning again");
        let few: ProcessorSet = [63, 100].into_iter().collect();
        assert_eq!(set.and(&few).iter().collect::<Vec<_>>(), [63]);
        assert!(set.meets(&few) && !set.without(&few).meets(&few));
    }

    #[test]
    fn distances_follow_the_numbers() {
        let topology = Topology::new(2, 3, 4, 2, Level::Cluster, Level::Socket);
        assert_eq!((topology.processors(), topology.nodes()), (48, 6));
        for (one, other, distance) in [
            (0, 1, Distance::Core),
            (0, 2, Distance::Cluster),
            (7, 8, Distance::Socket),
            (23, 24, Distance::Remote),
            (47, 0, Distance::Remote),
        ] {
            assert_eq!(topology.distance(one, other), distance, "{one} {other}");
            assert_eq!(topology.distance(other, one), distance, "{other} {one}");
            assert!(topology.within(one, distance).contains(other));
        }
        assert_eq!(
            topology.processors_of(1).iter().collect::<Vec<_>>(),
            (8..16).collect::<Vec<_>>()
        );
        assert_eq!(topology.wake_domain(5).len(), 24);
        let cores = |members: &[usize]| members.iter().copied().collect::<ProcessorSet>();
        assert_eq!(topology.nearest(0, &cores(&[5, 20])), Distance::Socket);
        assert_eq!(topology.farthest(0, &cores(&[1, 5, 20])), Distance::Remote);
        assert_eq!(topology.farthest(0, &cores(&[1])), Distance::Cluster);
    }
}
