//! Locks that belong together: those of one name, or that one place made.

use std::collections::BTreeMap;

use super::code::Code;
use super::words;
use crate::record::Part;
use crate::record::entries::{Figures, Kind, Lock, Site};
use crate::symbols;

/// One object, or several that were made in one place, with the sums of their figures.
#[derive(Debug)]
pub struct Group {
    pub name: String,
    pub kind: Kind,
    /// The keys of its locks.
    pub locks: Vec<u32>,
    /// Where it was made, if that is known.
    pub made: Option<String>,
    /// The stack of the call that made the first of them; 0 if unknown.
    pub made_by: u32,
    /// It is called by where it was made.
    is_called_by_place: bool,
    /// The one of several that threads waited for longest: its address, and how long.
    pub worst: Option<(u64, u64)>,
    /// An address, if it is one object.
    pub address: Option<u64>,
    pub figures: Figures,
    /// What waits and holds cost by stacks, the greatest first.
    pub waits: Vec<Site>,
    pub holds: Vec<Site>,
}

/// What makes two locks one group.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    Name(String),
    /// The function that made it.
    Made(String),
    /// Or where in which file a static object without a symbol is.
    Symbol(String),
    /// The function that has waited for it longest, of an object on the heap that no call made.
    WaitedIn(String),
    Address(u64),
}

/// All that were waited for.
pub fn groups(part: &Part, code: &mut Code<'_>) -> Vec<Group> {
    let mut sites: BTreeMap<u32, Vec<Site>> = BTreeMap::new();
    for site in &part.sites {
        sites.entry(site.lock).or_default().push(*site);
    }
    let mut groups: BTreeMap<(Origin, u32), Group> = BTreeMap::new();
    for (key, lock) in &part.locks {
        if lock.figures.contended == 0 {
            continue;
        }
        let sites = sites.remove(key).unwrap_or_default();
        let made = code.maker(lock.made_by);
        let origin = origin(lock, made.as_ref(), &sites, code);
        let group = groups.entry((origin, lock.kind as u32));
        let group = group.or_insert_with_key(|(origin, _)| Group {
            made_by: lock.made_by,
            ..Group::new(lock.kind, origin, made)
        });
        group.add(*key, lock, sites);
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.iter_mut().for_each(Group::settle);
    groups
}

fn place(code: &mut Code<'_>, stack: u32) -> Option<String> {
    symbols::words::place(&code.stack(stack))
}

fn origin(lock: &Lock, made: Option<&String>, sites: &[Site], code: &mut Code<'_>) -> Origin {
    if let Some(name) = &lock.name {
        return Origin::Name(name.clone());
    }
    if let Some(symbol) = code.symbol(lock.address) {
        return Origin::Symbol(symbol);
    }
    if let Some(made) = made {
        return Origin::Made(made.clone());
    }
    if let Some(place) = code.file(lock.address) {
        return Origin::Symbol(place);
    }
    let worst = sites.iter().filter(|site| !site.holds).max_by_key(|site| site.total);
    let stack = worst.map_or(lock.figures.wait.longest_stack, |site| site.stack);
    place(code, stack).map_or(Origin::Address(lock.address), Origin::WaitedIn)
}

impl Group {
    fn new(kind: Kind, origin: &Origin, made: Option<String>) -> Self {
        let name = match origin {
            Origin::Name(name) | Origin::Symbol(name) => name.clone(),
            Origin::Made(place) => format!("made in {place}"),
            Origin::WaitedIn(place) => format!("in {place}"),
            Origin::Address(address) => format!("{address:#x}"),
        };
        Self {
            name,
            kind,
            locks: Vec::new(),
            made,
            made_by: 0,
            is_called_by_place: matches!(origin, Origin::Made(_)),
            worst: None,
            address: None,
            figures: Figures::default(),
            waits: Vec::new(),
            holds: Vec::new(),
        }
    }

    fn add(&mut self, key: u32, lock: &Lock, sites: Vec<Site>) {
        self.locks.push(key);
        self.address = Some(lock.address);
        let waited = lock.figures.wait.total;
        if self.worst.is_none_or(|(_, most)| waited > most) {
            self.worst = Some((lock.address, waited));
        }
        self.figures.add(&lock.figures);
        for site in sites {
            let all = if site.holds { &mut self.holds } else { &mut self.waits };
            match all.iter_mut().find(|known| known.stack == site.stack) {
                Some(known) => known.add(&site),
                None => all.push(site),
            }
        }
    }

    fn settle(&mut self) {
        if self.locks.len() > 1 {
            self.address = None;
            self.name = format!("{} ({})", self.name, self.locks.len());
        }
        for sites in [&mut self.waits, &mut self.holds] {
            sites.sort_by_key(|site| std::cmp::Reverse(site.total));
        }
    }

    /// "mutex cache.mutex", "12 mutexes made in node_new (cache.c:41)".
    pub fn called(&self) -> String {
        match (&self.made, self.locks.len()) {
            (Some(place), count @ 2..) if self.is_called_by_place => {
                format!("{count} {} made in {place}", words::kinds(self.kind))
            }
            _ => format!("{} {}", words::kind_in_full(self.kind), self.name),
        }
    }

    /// What a sentence calls it: one without a name of its own by kind and place.
    pub fn spoken(&self) -> String {
        let is_place = self.is_called_by_place || self.name.starts_with("in ");
        if is_place { self.called() } else { self.name.clone() }
    }

    /// The part of its operations that had to wait.
    pub fn share(&self) -> f64 {
        words::ratio(self.figures.contended, self.figures.operations.max(self.figures.contended))
    }

    /// How attempts that had to wait ended, the most frequent first.
    pub fn endings(&self) -> Vec<(&'static str, u64)> {
        let [stolen, spun, slept, handed] = self.figures.got;
        let mut endings = vec![
            ("stolen", stolen),
            ("spun", spun),
            ("slept", slept),
            ("handed over", handed),
            ("timed out", self.figures.timeouts),
        ];
        endings.retain(|(_, count)| *count > 0);
        endings.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        endings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_without_a_name_is_spoken_of_by_its_kind() {
        let spoken = |origin| Group::new(Kind::Mutex, &origin, None).spoken();
        assert_eq!(spoken(Origin::Name("cache".to_owned())), "cache");
        assert_eq!(spoken(Origin::WaitedIn("get (a.c:1)".to_owned())), "mutex in get (a.c:1)");
        let made = |count: u32| {
            let origin = Origin::Made("node_new (cache.c:41)".to_owned());
            let mut group =
                Group::new(Kind::Mutex, &origin, Some("node_new (cache.c:41)".to_owned()));
            group.locks = (0..count).collect();
            group.settle();
            group
        };
        assert_eq!(made(1).spoken(), "mutex made in node_new (cache.c:41)");
        assert_eq!(made(312).spoken(), "312 mutexes made in node_new (cache.c:41)");
        assert_eq!(made(312).name, "made in node_new (cache.c:41) (312)");
    }
}
