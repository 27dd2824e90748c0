//! Who is measured: an implementation, and in what kind of process.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::nearest::unknown;
use crate::workload::implementation::Implementation;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contestant {
    Furwock,
    FurwockTable,
    FurwockPreload,
    Glibc,
    Kernel,
    Std,
    ParkingLot,
    Usync,
    Nsync,
    Absl,
    EventListener,
    Eventfd,
    /// Excludes nobody, and is never offered: it shows that the checks would tell.
    Broken,
}

/// Locks for exclusion alone.
pub const LOCKS: &[Contestant] = &[
    Contestant::Furwock,
    Contestant::FurwockPreload,
    Contestant::Glibc,
    Contestant::Std,
    Contestant::ParkingLot,
    Contestant::Usync,
    Contestant::Nsync,
    Contestant::Absl,
    Contestant::Kernel,
    Contestant::Broken,
];

/// Those whose locks have condition variables.
pub const MONITORS: &[Contestant] = &[
    Contestant::Furwock,
    Contestant::FurwockPreload,
    Contestant::Glibc,
    Contestant::Std,
    Contestant::ParkingLot,
    Contestant::Usync,
    Contestant::Nsync,
    Contestant::Absl,
];

/// Those whose threads wait on words.
pub const WORDS: &[Contestant] =
    &[Contestant::Furwock, Contestant::FurwockPreload, Contestant::Kernel, Contestant::ParkingLot];

impl Contestant {
    pub const ALL: [Contestant; 12] = [
        Contestant::Furwock,
        Contestant::FurwockTable,
        Contestant::FurwockPreload,
        Contestant::Glibc,
        Contestant::Kernel,
        Contestant::Std,
        Contestant::ParkingLot,
        Contestant::Usync,
        Contestant::Nsync,
        Contestant::Absl,
        Contestant::EventListener,
        Contestant::Eventfd,
    ];

    /// furwock's own; all others are its peers.
    pub const OURS: [Contestant; 3] =
        [Contestant::Furwock, Contestant::FurwockTable, Contestant::FurwockPreload];

    pub fn name(self) -> &'static str {
        match self {
            Contestant::FurwockPreload => "furwock-preload",
            Contestant::Glibc => "glibc",
            _ => self.implementation().name(),
        }
    }

    /// The name, as far as a narrow column has room for it.
    pub fn heading(self) -> &'static str {
        match self {
            Contestant::FurwockPreload => "preload",
            Contestant::FurwockTable => "table",
            Contestant::EventListener => "event-l.",
            _ => self.name(),
        }
    }

    pub fn parse(name: &str) -> Result<Self, String> {
        Self::named(name.trim())
            .ok_or_else(|| unknown("implementation", name.trim(), &Self::ALL.map(Self::name)))
    }

    pub fn named(name: &str) -> Option<Self> {
        let mut known = Self::ALL.into_iter().chain([Contestant::Broken]);
        known.find(|known| known.name() == name)
    }

    /// What the workload is told to use.
    pub fn implementation(self) -> Implementation {
        match self {
            Contestant::Furwock => Implementation::Furwock,
            Contestant::FurwockTable => Implementation::FurwockTable,
            Contestant::FurwockPreload | Contestant::Glibc => Implementation::Pthread,
            Contestant::Kernel => Implementation::Kernel,
            Contestant::Std => Implementation::Std,
            Contestant::ParkingLot => Implementation::ParkingLot,
            Contestant::Usync => Implementation::Usync,
            Contestant::Nsync => Implementation::Nsync,
            Contestant::Absl => Implementation::Absl,
            Contestant::EventListener => Implementation::EventListener,
            Contestant::Eventfd => Implementation::Eventfd,
            Contestant::Broken => Implementation::Broken,
        }
    }

    pub fn is_ours(self) -> bool {
        Self::OURS.contains(&self)
    }
}

impl fmt::Display for Contestant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Contestant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
