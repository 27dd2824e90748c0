//! The implementations that are measured. The workloads are written against small traits and
//! compiled for each implementation, so that the loop calls the lock directly.
//!
//! A workload has a table of contestants: each with the workload's own function, compiled for the
//! contestant's locks, words or semaphores (`locks::monitors!` and the like make them).

pub mod barriers;
pub mod events;
pub mod locks;
pub mod semaphores;
pub mod turns;
pub mod wait_queues;
pub mod words;

use std::fmt;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::{Serialize, Serializer};

macro_rules! contestants {
    ($($variant:ident $name:literal $help:literal)*) => {
        /// An implementation, and the kind of process in which it is measured.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Contestant {
            $(#[doc = $help] $variant,)*
        }

        impl Contestant {
            pub const ALL: &[Contestant] = &[$(Contestant::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Contestant::$variant => $name),* }
            }

            fn help(self) -> &'static str {
                match self { $(Contestant::$variant => $help),* }
            }
        }
    };
}

contestants! {
    Furwock "furwock" "The crate, linked in"
    FurwockTable "furwock-table" "In `hash`: the crate, where each wait takes its bucket's lock"
    FurwockPreload "furwock-preload"
        "pthread's functions, and libc's syscall for futexes, from furwock's library"
    FurwockRecording "furwock-recording"
        "The same on the library that records, as beneath `furwock run --stats`; if asked for"
    Glibc "glibc" "pthread's functions, and futexes by libc's syscall"
    Kernel "kernel" "The kernel's futexes, and textbook locks on them"
    Std "std" "Rust's standard library"
    ParkingLot "parking_lot" "The crates parking_lot and parking_lot_core"
    ParkingLotFair "parking_lot-fair" "The same, where each unlock is a fair one (`unlock_fair`)"
    Usync "usync" "The crate usync"
    Nsync "nsync" "The C library nsync, if installed (Debian: libnsync1)"
    Absl "abseil" "The C++ library Abseil, if installed (Debian: libabsl*)"
    McsPark "mcs-park" "The MCS queue lock, whose threads spin and then sleep"
    MalthusianPark "malthusian-park" "The Malthusian lock, whose threads spin and then sleep"
    EventListener "event-listener" "The crate event-listener"
    Eventfd "eventfd" "eventfd(2), waited for by read(2) or poll(2)"
    Broken "broken" "Locks that exclude nothing: what a workload's check must find"
}

impl ValueEnum for Contestant {
    fn value_variants<'a>() -> &'a [Self] {
        Contestant::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let hidden = *self == Contestant::Broken;
        Some(PossibleValue::new(self.name()).help(self.help()).hide(hidden))
    }
}

impl Contestant {
    /// Is it one of furwock's own? All others are peers.
    pub fn is_ours(self) -> bool {
        use Contestant::{Furwock, FurwockPreload, FurwockRecording, FurwockTable};
        matches!(self, Furwock | FurwockTable | FurwockPreload | FurwockRecording)
    }

    /// Is it measured without being asked for by name?
    pub fn is_offered(self) -> bool {
        !matches!(self, Contestant::Broken | Contestant::FurwockRecording)
    }

    /// Does it need a process of its own, with a library in LD_PRELOAD?
    pub fn is_preloaded(self) -> bool {
        matches!(self, Contestant::FurwockPreload | Contestant::FurwockRecording)
    }

    /// The name, short enough for a narrow column.
    pub fn heading(self) -> &'static str {
        match self {
            Contestant::FurwockPreload => "preload",
            Contestant::FurwockRecording => "recording",
            Contestant::FurwockTable => "table",
            Contestant::EventListener => "event-l.",
            _ => self.name(),
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.name() == name)
    }

    /// Why it can't be measured on this machine, if so.
    pub fn absent(self) -> Option<String> {
        match self {
            Contestant::Nsync => locks::Nsync::absent(),
            Contestant::Absl => locks::Absl::absent(),
            _ => None,
        }
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

/// The contestants of a workload, each with a function that is compiled for it.
pub type Table<Function> = [(Contestant, Function)];

/// A table from `function: CONTESTANT | CONTESTANT => TYPE, ...`.
macro_rules! table {
    ($function:ident: $($($contestant:ident)|+ => $type:ty),+ $(,)?) => {
        [$($(($crate::contestants::Contestant::$contestant, $function::<$type> as _),)+)+]
    };
}
pub(crate) use table;

pub fn names_of<Function>(table: &Table<Function>) -> Vec<Contestant> {
    table.iter().map(|(contestant, _)| *contestant).collect()
}

/// A contestant's function. That of glibc and of the preload is the same: they differ in the
/// process's LD_PRELOAD.
pub fn choose<Function: Copy>(
    table: &Table<Function>,
    wanted: Contestant,
) -> Result<Function, String> {
    let of = |wanted| table.iter().find(|(contestant, _)| *contestant == wanted);
    let preload = (wanted == Contestant::Glibc).then_some(Contestant::FurwockPreload);
    let found = of(wanted).or_else(|| of(preload?));
    found.map(|(_, function)| *function).ok_or_else(|| format!("{wanted} can't run this workload"))
}
