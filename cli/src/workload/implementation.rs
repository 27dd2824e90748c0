//! Who can be measured, and what each has: the workloads are written against traits, and compiled for each.

use super::locks::{absl, nsync};
use super::parameters::{BadParameter, Parameters};

/// An implementation by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implementation {
    /// Whatever pthread library lies beneath this process, and libc's `syscall` for words.
    Pthread,
    /// The crate, linked in.
    Furwock,
    /// The same, where each wait takes its bucket's lock: what the table costs.
    FurwockTable,
    /// Rust's standard library.
    Std,
    /// The crates parking_lot and parking_lot_core.
    ParkingLot,
    /// The crate usync.
    Usync,
    /// The C library nsync, if it is here.
    Nsync,
    /// Abseil's C++ library, if it is here.
    Absl,
    /// The kernel's futexes, and the textbook's locks on them.
    Kernel,
    /// The crate event-listener.
    EventListener,
    /// eventfd(2), waited for by read(2) or poll(2).
    Eventfd,
    /// Locks that let everybody in: what a workload's check must find.
    Broken,
}

impl Implementation {
    /// All but the broken one, which is for tests.
    pub const ALL: [Implementation; 11] = [
        Implementation::Pthread,
        Implementation::Furwock,
        Implementation::FurwockTable,
        Implementation::Std,
        Implementation::ParkingLot,
        Implementation::Usync,
        Implementation::Nsync,
        Implementation::Absl,
        Implementation::Kernel,
        Implementation::EventListener,
        Implementation::Eventfd,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Implementation::Pthread => "pthread",
            Implementation::Furwock => "furwock",
            Implementation::FurwockTable => "furwock-table",
            Implementation::Std => "std",
            Implementation::ParkingLot => "parking_lot",
            Implementation::Usync => "usync",
            Implementation::Nsync => "nsync",
            Implementation::Absl => "abseil",
            Implementation::Kernel => "kernel",
            Implementation::EventListener => "event-listener",
            Implementation::Eventfd => "eventfd",
            Implementation::Broken => "broken",
        }
    }

    pub fn named(name: &str) -> Result<Self, BadParameter> {
        let known = Self::ALL.into_iter().chain([Implementation::Broken]);
        known.into_iter().find(|known| known.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Implementation::name).join(", ");
            BadParameter(format!("impl={name}: no such implementation; there are {names}"))
        })
    }

    /// The parameter that says who is measured.
    pub fn take(parameters: &mut Parameters) -> Result<Self, BadParameter> {
        Self::named(&parameters.take("impl", "pthread".to_owned())?)
    }

    /// Why it can't be measured on this machine, if so.
    pub fn absent(self) -> Option<String> {
        match self {
            Implementation::Nsync => nsync::absent(),
            Implementation::Absl => absl::absent(),
            _ => None,
        }
    }

    /// Why a workload can't be run with it.
    pub fn lacks(self, what: &str) -> String {
        format!("{} has no {what}", self.name())
    }
}

/// Calls a function that is generic over the family of locks, with an implementation's. It returns a
/// `Result`, whose error says why not.
macro_rules! for_family {
    ($implementation:expr, $function:ident($($argument:expr),*)) => {{
        use $crate::workload::{
            implementation::{Implementation, for_those_with},
            locks,
        };
        match $implementation {
            Implementation::Kernel => $function::<locks::Kernel>($($argument),*),
            Implementation::Broken => $function::<locks::Broken>($($argument),*),
            other => for_those_with!("locks", other, $function($($argument),*)),
        }
    }};
}
pub(super) use for_family;

/// The same, over those whose mutexes have condition variables.
macro_rules! for_monitors {
    ($implementation:expr, $function:ident($($argument:expr),*)) => {{
        use $crate::workload::{implementation::for_those_with, locks};
        for_those_with!("condition variables", $implementation, $function($($argument),*))
    }};
}
pub(super) use for_monitors;

/// The families that have locks and condition variables, all of them; `what` is said to be lacking elsewhere.
macro_rules! for_those_with {
    ($what:literal, $implementation:expr, $function:ident($($argument:expr),*)) => {{
        use $crate::workload::implementation::Implementation;
        match $implementation {
            Implementation::Pthread => $function::<locks::Pthread>($($argument),*),
            Implementation::Furwock => $function::<locks::Furwock>($($argument),*),
            Implementation::Std => $function::<locks::Std>($($argument),*),
            Implementation::ParkingLot => $function::<locks::ParkingLot>($($argument),*),
            Implementation::Usync => $function::<locks::Usync>($($argument),*),
            Implementation::Nsync => $function::<locks::Nsync>($($argument),*),
            Implementation::Absl => $function::<locks::Absl>($($argument),*),
            other => Err(other.lacks($what)),
        }
    }};
}
pub(super) use for_those_with;

/// The same, over those that let threads wait on words, of one process or shared.
macro_rules! for_words {
    ($implementation:expr, $shared:expr, $function:ident($($argument:expr),*)) => {{
        use $crate::workload::{implementation::Implementation, words};
        match $implementation {
            Implementation::Pthread if $shared => {
                $function::<words::LibcCallShared>($($argument),*)
            }
            Implementation::Furwock if $shared => {
                $function::<words::FurwockShared>($($argument),*)
            }
            Implementation::Kernel if $shared => $function::<words::KernelShared>($($argument),*),
            other if $shared => Err(other.lacks("waits on words that processes share")),
            Implementation::Pthread => $function::<words::LibcCall>($($argument),*),
            Implementation::Furwock => $function::<words::Furwock>($($argument),*),
            Implementation::FurwockTable => $function::<words::FurwockTable>($($argument),*),
            Implementation::Kernel => $function::<words::Kernel>($($argument),*),
            Implementation::ParkingLot => $function::<words::ParkingLot>($($argument),*),
            other => Err(other.lacks("waits on words")),
        }
    }};
}
pub(super) use for_words;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for implementation in Implementation::ALL {
            assert_eq!(Implementation::named(implementation.name()).unwrap(), implementation);
        }
        let error = Implementation::named("no-such").unwrap_err().0;
        assert!(error.contains("no-such") && error.contains("parking_lot, usync"), "{error}");
    }
}
