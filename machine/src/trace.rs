//! What happened, as a hash of everything and, on request, as the last lines of text.

use crate::description::{PS, Time};
use crate::ids::FIRST_ID;
use crate::lines::{Access, Found};
use crate::topology::Distance;
use std::collections::VecDeque;

/// Something that happened to a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Access { access: Access, line: u32, offset: u8, found: Found, took: Time },
    Starts,
    Sleeps,
    Woken { timed_out: bool },
    Preempted,
    Ended,
}

impl What {
    /// A number for the hash.
    #[inline]
    fn code(self) -> u64 {
        match self {
            Self::Access { access, line, offset, took, .. } => {
                let which = u64::from(line) << 10 | u64::from(offset) << 4 | access as u64;
                which ^ took << 32
            }
            Self::Starts => 8,
            Self::Sleeps => 9,
            Self::Woken { timed_out } => 10 + u64::from(timed_out),
            Self::Preempted => 12,
            Self::Ended => 13,
        }
    }
}

type Event = (Time, usize, usize, What);

#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) hash: u64,
    /// The last events, at most `kept`.
    last: VecDeque<Event>,
    kept: usize,
}

impl Trace {
    /// Keeps the last `kept` events, for which there is room from here on.
    pub(crate) fn keep_last(&mut self, kept: usize) {
        self.last.reserve_exact(kept);
        self.kept = kept;
    }

    #[inline]
    pub(crate) fn record(&mut self, now: Time, processor: usize, thread: usize, what: What) {
        let who = (thread as u64) << 48 | (processor as u64) << 40;
        let mixed = (self.hash ^ now ^ who).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ what.code();
        self.hash = mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(29);
        if self.kept != 0 {
            self.keep((now, processor, thread, what));
        }
    }

    #[cold]
    fn keep(&mut self, event: Event) {
        if self.last.len() == self.kept {
            self.last.pop_front();
        }
        self.last.push_back(event);
    }

    /// The events that were kept, a line each.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.last.iter().map(line).collect()
    }
}

fn line(&(now, processor, thread, what): &Event) -> String {
    let what = match what {
        What::Access { access, line, offset, found, took } => {
            let access = match access {
                Access::Read => "read",
                Access::Store => "store",
                Access::Rmw => "rmw",
            };
            let from = match found {
                Found::Here => "",
                Found::Memory => ", from memory",
                Found::In(Distance::Core) | Found::Shared(Distance::Core) => ", in this core",
                Found::In(Distance::Cluster) => ", from the cluster",
                Found::In(Distance::Socket) => ", from the socket",
                Found::In(Distance::Remote) => ", from another socket",
                Found::Shared(_) => ", shared by others",
            };
            format!("{access} line {line}+{offset}, {:.1} ns{from}", took as f64 / PS as f64)
        }
        What::Starts => "is put on the processor".to_owned(),
        What::Sleeps => "sleeps".to_owned(),
        What::Woken { timed_out: false } => "is woken".to_owned(),
        What::Woken { timed_out: true } => "is woken by its deadline".to_owned(),
        What::Preempted => "is preempted".to_owned(),
        What::Ended => "ends".to_owned(),
    };
    let (us, id) = (now as f64 / PS as f64 / 1000.0, thread as u32 + FIRST_ID);
    format!("{us:>14.4} us  processor {processor:>3}  thread {id}  {what}")
}
