//! Programs, and their form as a text.

use super::kind::Kind;
use std::fmt;
use std::str::FromStr;

/// Threads that programs name.
pub(super) const NAMED: usize = 5;
/// With those that only help to end a program.
pub(super) const THREADS: usize = NAMED + 3;
/// Objects that a program may have at a time.
pub(super) const OBJECTS: usize = 6;

/// One thread's call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Step {
    /// The thread that makes the call.
    pub(super) thread: u8,
    pub(super) call: Call,
    /// Its object, by number.
    pub(super) at: u8,
    /// Its second object: a condvar's mutex, the semaphore that a handler or a routine uses.
    pub(super) with: u8,
    /// The thread that it cancels or interrupts.
    pub(super) target: u8,
    pub(super) clock: Clock,
    pub(super) time: Time,
    /// What it makes.
    pub(super) kind: Kind,
    /// Whether the next step begins without waiting for what comes of this one.
    pub(super) together: bool,
}

macro_rules! named {
    ($(#[$about:meta])* $name:ident { $($variant:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(super) enum $name { $($variant,)* }

        impl $name {
            pub(super) const ALL: &[Self] = &[$(Self::$variant,)*];

            fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

named! {
    /// When a call's deadline is.
    Time {
        Past = "past",
        Negative = "negative",
        Soon = "soon",
        Far = "far",
        Endless = "endless",
        TooMany = "too-many-ns",
        BelowZero = "negative-ns",
    }
}

impl Time {
    /// Whether it has passed before the call.
    pub(super) fn is_past(self) -> bool {
        matches!(self, Time::Past | Time::Negative)
    }

    /// Whether it is no time at all.
    pub(super) fn is_malformed(self) -> bool {
        matches!(self, Time::TooMany | Time::BelowZero)
    }
}

named! {
    /// The clock of a deadline.
    Clock {
        Own = "own",
        Realtime = "realtime",
        Monotonic = "monotonic",
        Wrong = "wrong",
    }
}

named! {
    /// What a thread does: one call, or a few that take an object and give it back.
    Call {
        Make = "make",
        Destroy = "destroy",
        Lock = "lock",
        TryLock = "trylock",
        TimedLock = "timedlock",
        Unlock = "unlock",
        Wait = "wait",
        TimedWait = "timedwait",
        Signal = "signal",
        Broadcast = "broadcast",
        Read = "rdlock",
        TryRead = "tryrdlock",
        TimedRead = "timedrdlock",
        Write = "wrlock",
        TryWrite = "trywrlock",
        TimedWrite = "timedwrlock",
        Leave = "rwunlock",
        SemWait = "sem_wait",
        SemTry = "sem_trywait",
        SemTimed = "sem_timedwait",
        Post = "sem_post",
        Value = "sem_getvalue",
        Meet = "barrier_wait",
        Once = "once",
        OnceSem = "once_of_sem_wait",
        LockSignal = "lock_signal_unlock",
        LockBroadcast = "lock_broadcast_unlock",
        LockOften = "lock_unlock_often",
        ReadOften = "rdlock_rwunlock_often",
        WriteOften = "wrlock_rwunlock_often",
        Spin = "spin_lock",
        SpinTry = "spin_trylock",
        SpinUnlock = "spin_unlock",
        Cancel = "cancel",
        Kill = "kill",
        KillRestart = "kill_restart",
        KillPost = "kill_post",
        Disable = "cancel_disable",
        Enable = "cancel_enable",
        TestCancel = "testcancel",
        Fork = "fork",
        Many = "many_times",
        Pause = "pause",
    }
}

impl Call {
    /// Its operands: (o)bject, (s)econd object, (t)arget, (d)eadline, (k)ind.
    fn operands(self) -> &'static str {
        use Call::*;
        match self {
            Make => "ok",
            Wait | OnceSem | LockSignal | LockBroadcast => "os",
            TimedWait => "osd",
            TimedLock | TimedRead | TimedWrite | SemTimed => "od",
            Cancel | Kill | KillRestart => "t",
            KillPost => "ts",
            Disable | Enable | TestCancel | Fork | Pause => "",
            _ => "o",
        }
    }

    /// Whether nothing may happen beside it.
    pub(super) fn is_alone(self) -> bool {
        use Call::*;
        matches!(self, Make | Destroy | Many | Fork | Spin | Pause)
    }

    pub(super) fn has_deadline(self) -> bool {
        self.operands().contains('d')
    }

    pub(super) fn has_object(self) -> bool {
        self.operands().contains('o')
    }

    pub(super) fn has_second(self) -> bool {
        self.operands().contains('s')
    }
}

impl Step {
    pub(super) fn new(thread: u8, call: Call, at: u8) -> Self {
        Self {
            thread,
            call,
            at,
            with: 0,
            target: 0,
            clock: Clock::Own,
            time: Time::Far,
            kind: Kind::Once,
            together: false,
        }
    }
}

impl Step {
    /// The semaphore that it posts.
    pub(super) fn posts(&self) -> Option<u8> {
        match self.call {
            Call::Post => Some(self.at),
            Call::KillPost => Some(self.with),
            _ => None,
        }
    }
}

fn letter(object: u8) -> char {
    char::from(b'a' + object)
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.thread, self.call.text())?;
        for operand in self.call.operands().chars() {
            match operand {
                'o' => write!(f, " {}", letter(self.at))?,
                's' => write!(f, " {}", letter(self.with))?,
                't' => write!(f, " {}", self.target)?,
                'd' => write!(f, " {} {}", self.clock.text(), self.time.text())?,
                _ => write!(f, " {}", self.kind.name())?,
            }
        }
        if self.together { f.write_str(" &") } else { Ok(()) }
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let mut next = || words.next().ok_or_else(|| format!("{text}: a word is missing"));
        let number = |word: &str, below: usize| match word.parse::<u8>() {
            Ok(number) if usize::from(number) < below => Ok(number),
            _ => Err(format!("{text}: {word} is no thread")),
        };
        let object = |word: &str| match word.as_bytes() {
            [letter @ b'a'..=b'z'] if usize::from(letter - b'a') < OBJECTS => Ok(letter - b'a'),
            _ => Err(format!("{text}: {word} is no object")),
        };
        let thread = number(next()?, THREADS)?;
        let call = find(Call::ALL, next()?, |call| call.text())?;
        let mut step = Self::new(thread, call, 0);
        for operand in call.operands().chars() {
            match operand {
                'o' => step.at = object(next()?)?,
                's' => step.with = object(next()?)?,
                't' => step.target = number(next()?, NAMED)?,
                'd' => {
                    step.clock = find(Clock::ALL, next()?, |clock| clock.text())?;
                    step.time = find(Time::ALL, next()?, |time| time.text())?;
                }
                _ => step.kind = find(&Kind::all(), next()?, Kind::name)?,
            }
        }
        step.together = next().is_ok_and(|word| word == "&");
        Ok(step)
    }
}

fn find<T: Copy, N: AsRef<str>>(all: &[T], word: &str, name: impl Fn(T) -> N) -> Result<T, String> {
    let found = all.iter().copied().find(|one| name(*one).as_ref() == word);
    found.ok_or_else(|| format!("{word} isn't known"))
}

/// A program's text: its steps, with semicolons or on lines.
pub(super) fn parse(text: &str) -> Result<Vec<Step>, String> {
    let steps = text.split([';', '\n']).map(str::trim).filter(|step| !step.is_empty());
    steps.map(str::parse).collect()
}

/// The text that `parse` reads.
pub(super) fn text(steps: &[Step]) -> String {
    let steps: Vec<_> = steps.iter().map(Step::to_string).collect();
    steps.join("; ")
}
