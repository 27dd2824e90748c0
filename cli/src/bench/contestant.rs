//! Who is measured: a lock implementation, and in what kind of process.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::workload::implementation::Implementation;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contestant {
    Furwock,
    FurwockPreload,
    Glibc,
    Std,
    ParkingLot,
    Usync,
    Nsync,
    /// Excludes nobody, and is never offered: it shows that the checks would tell.
    Broken,
}

impl Contestant {
    pub const ALL: [Contestant; 7] = [
        Contestant::Furwock,
        Contestant::FurwockPreload,
        Contestant::Glibc,
        Contestant::Std,
        Contestant::ParkingLot,
        Contestant::Usync,
        Contestant::Nsync,
    ];

    /// furwock's own; all others are its peers.
    pub const OURS: [Contestant; 2] = [Contestant::Furwock, Contestant::FurwockPreload];

    pub fn name(self) -> &'static str {
        match self {
            Contestant::Furwock => "furwock",
            Contestant::FurwockPreload => "furwock-preload",
            Contestant::Glibc => "glibc",
            _ => self.implementation().name(),
        }
    }

    /// The name, as far as a narrow column has room for it.
    pub fn heading(self) -> &'static str {
        match self {
            Contestant::FurwockPreload => "preload",
            _ => self.name(),
        }
    }

    pub fn parse(name: &str) -> Result<Self, String> {
        let mut known = Self::ALL.into_iter().chain([Contestant::Broken]);
        known.find(|known| known.name() == name.trim()).ok_or_else(|| {
            let names = Self::ALL.map(Contestant::name).join(", ");
            format!("no such implementation; there are {names}")
        })
    }

    /// What the workload is told to use.
    pub fn implementation(self) -> Implementation {
        match self {
            Contestant::Furwock => Implementation::Furwock,
            Contestant::FurwockPreload | Contestant::Glibc => Implementation::Pthread,
            Contestant::Std => Implementation::Std,
            Contestant::ParkingLot => Implementation::ParkingLot,
            Contestant::Usync => Implementation::Usync,
            Contestant::Nsync => Implementation::Nsync,
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
