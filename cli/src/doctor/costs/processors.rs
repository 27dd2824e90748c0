//! The processors that this process may use, and how far apart they are.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::affinity;
use crate::measuring::limits::number;

/// How far two processors are from each other, as a machine file has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// Threads of one core.
    Sibling,
    /// Cores that share a cache.
    Cluster,
    Socket,
    Remote,
}

/// The distances that a machine file has costs for.
pub const DISTANCES: [(Distance, &str); 3] =
    [(Distance::Cluster, "cluster"), (Distance::Socket, "socket"), (Distance::Remote, "remote")];

/// A processor, and the groups that it is in, each named by a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    processor: usize,
    core: usize,
    cluster: usize,
    socket: usize,
}

/// How many of each there are in the next larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub sockets: usize,
    pub clusters: usize,
    pub cores: usize,
    pub threads: usize,
}

impl Shape {
    pub fn processors(self) -> usize {
        self.sockets * self.clusters * self.cores * self.threads
    }
}

pub struct Processors {
    places: Vec<Place>,
    /// Memory nodes of the system.
    nodes: usize,
}

impl Processors {
    pub fn allowed() -> Self {
        Self::read(Path::new("/sys/devices/system"), &affinity::allowed())
    }

    /// From the files below `system`. What a file doesn't say is taken to be one group.
    fn read(system: &Path, processors: &[usize]) -> Self {
        let place = |&processor: &usize| {
            let folder = system.join(format!("cpu/cpu{processor}"));
            let topology = folder.join("topology");
            let socket = number(topology.join("physical_package_id")).unwrap_or(0) as usize;
            let core = first(&topology.join("thread_siblings_list")).unwrap_or(processor);
            let cluster = last_cache(&folder).unwrap_or(usize::MAX - socket);
            Place { processor, core, cluster, socket }
        };
        let nodes = list(&system.join("node/online")).len().max(1);
        Processors { places: processors.iter().map(place).collect(), nodes }
    }

    pub fn count(&self) -> usize {
        self.places.len()
    }

    pub fn first(&self) -> Option<usize> {
        self.places.first().map(|place| place.processor)
    }

    /// The first two that are so far apart.
    pub fn pair(&self, distance: Distance) -> Option<(usize, usize)> {
        let pairs = self
            .places
            .iter()
            .enumerate()
            .flat_map(|(at, one)| self.places[at + 1..].iter().map(move |other| (one, other)));
        let mut pairs = pairs.filter(|(one, other)| apart(one, other) == distance);
        pairs.next().map(|(one, other)| (one.processor, other.processor))
    }

    /// The nearest two that aren't of one core.
    pub fn nearest_pair(&self) -> Option<(Distance, usize, usize)> {
        DISTANCES.iter().find_map(|&(distance, _)| {
            self.pair(distance).map(|(one, other)| (distance, one, other))
        })
    }

    /// Each socket, cluster and core is taken to be as large as the largest.
    pub fn shape(&self) -> Shape {
        let most = |outer: fn(&Place) -> usize, inner: fn(&Place) -> usize| {
            let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for place in &self.places {
                let group = groups.entry(outer(place)).or_default();
                if !group.contains(&inner(place)) {
                    group.push(inner(place));
                }
            }
            groups.values().map(Vec::len).max().unwrap_or(1)
        };
        Shape {
            sockets: most(|_| 0, |place| place.socket),
            clusters: most(|place| place.socket, |place| place.cluster),
            cores: most(|place| place.cluster, |place| place.core),
            threads: most(|place| place.core, |place| place.processor),
        }
    }

    /// Whether a socket has several memory nodes.
    pub fn nodes_are_clusters(&self) -> bool {
        self.nodes > self.shape().sockets
    }
}

fn apart(one: &Place, other: &Place) -> Distance {
    if one.core == other.core {
        Distance::Sibling
    } else if one.cluster == other.cluster {
        Distance::Cluster
    } else if one.socket == other.socket {
        Distance::Socket
    } else {
        Distance::Remote
    }
}

/// `0-3,8`
fn list(path: &Path) -> Vec<usize> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let ranges = text.trim().split(',').filter_map(|range| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        Some(from.parse::<usize>().ok()?..=to.parse().ok()?)
    });
    ranges.flatten().collect()
}

fn first(path: &Path) -> Option<usize> {
    list(path).into_iter().min()
}

/// The first processor that shares this one's third-level cache.
fn last_cache(processor: &Path) -> Option<usize> {
    let caches = fs::read_dir(processor.join("cache")).ok()?;
    let mut caches = caches.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let third = caches.find(|cache| number(cache.join("level")) == Some(3))?;
    first(&third.join("shared_cpu_list"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// Two sockets of two clusters of two cores with two threads each, numbered as Linux does.
    fn sixteen() -> PathBuf {
        let system = std::env::temp_dir().join(format!("furwock-cpus-{}", std::process::id()));
        let write = |path: String, text: String| {
            let path = system.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text + "\n").unwrap();
        };
        for cpu in 0..16 {
            let core = cpu % 8;
            let folder = format!("cpu/cpu{cpu}");
            write(format!("{folder}/topology/physical_package_id"), (core / 4).to_string());
            write(
                format!("{folder}/topology/thread_siblings_list"),
                format!("{core},{}", core + 8),
            );
            let of_cluster = core / 2 * 2;
            let shared =
                format!("{of_cluster}-{},{}-{}", of_cluster + 1, of_cluster + 8, of_cluster + 9);
            write(format!("{folder}/cache/index2/level"), "2".into());
            write(format!("{folder}/cache/index3/level"), "3".into());
            write(format!("{folder}/cache/index3/shared_cpu_list"), shared);
        }
        write("node/online".into(), "0-3".into());
        system
    }

    #[test]
    fn reads_a_machine() {
        let system = sixteen();
        let all = Processors::read(&system, &(0..16).collect::<Vec<_>>());
        let shape = Shape { sockets: 2, clusters: 2, cores: 2, threads: 2 };
        assert_eq!((all.shape(), all.shape().processors()), (shape, 16));
        assert!(all.nodes_are_clusters());
        let pairs = [Distance::Sibling, Distance::Cluster, Distance::Socket, Distance::Remote];
        let pairs = pairs.map(|distance| all.pair(distance));
        assert_eq!(pairs, [Some((0, 8)), Some((0, 1)), Some((0, 2)), Some((0, 4))]);

        let two = Processors::read(&system, &[3, 5]);
        assert_eq!(two.nearest_pair(), Some((Distance::Remote, 3, 5)));
        assert_eq!(two.shape(), Shape { sockets: 2, clusters: 1, cores: 1, threads: 1 });
        assert_eq!(Processors::read(&system, &[7]).nearest_pair(), None);
        fs::remove_dir_all(system).unwrap();
    }

    #[test]
    fn without_files_there_is_one_socket() {
        let unknown = Processors::read(Path::new("/no/such/folder"), &[0, 1, 2]);
        assert_eq!(unknown.shape(), Shape { sockets: 1, clusters: 1, cores: 3, threads: 1 });
        assert!(!unknown.nodes_are_clusters());
    }
}
