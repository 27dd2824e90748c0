//! A child process under watch, from outside.
//!
//! A program that finds one of its threads stuck asks on stderr, by a line `STUCK PID BOUND_MS
//! TID...`, and goes on: the runner decides. The program asks again as long as nothing changes. Its
//! own alarms are set to the hard limit, which it finds in `CONFORMANCE_HARD_LIMIT`.

use super::examine::Subject;
use super::patience::{EXTENSIONS, Patience};
use std::io::{self, BufRead, BufReader};
use std::process::{Child, ChildStderr, ExitStatus};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The environment variable with the seconds after which a watched program ends by itself.
pub const HARD_LIMIT: &str = "CONFORMANCE_HARD_LIMIT";

/// A stall is over when there was no ask for so long: longer than the pause between two asks.
const QUIET: Duration = Duration::from_secs(8);

/// How a watched process ended.
#[derive(Debug)]
pub struct Watched {
    /// `None` if it was still running when the watch was over.
    pub status: io::Result<Option<ExitStatus>>,
    /// Why the watch was over, if the process didn't end by itself.
    pub report: Option<String>,
    listener: Option<JoinHandle<()>>,
}

impl Watched {
    /// How it ended and why, once all its output has been read: no process has the pipe any more.
    pub fn heard(self) -> (io::Result<Option<ExitStatus>>, Option<String>) {
        if let Some(listener) = self.listener {
            let _ = listener.join();
        }
        (self.status, self.report)
    }
}

/// The seconds for `HARD_LIMIT` where waits have this bound: enough for the last report.
pub fn hard_limit_s(bound: Duration) -> u64 {
    (bound * (EXTENSIONS + 1)).as_secs() + 30
}

struct Ask {
    subject: Subject,
    bound: Duration,
}

/// Waits until `child` ends or is stuck: for longer than `bound`, if there is one, or because it
/// asks. `says` gets what it writes on stderr, line by line. The caller ends it.
pub fn watch(
    child: &mut Child,
    bound: Option<Duration>,
    says: impl FnMut(&str) + Send + 'static,
) -> Watched {
    let (ask, asks) = channel();
    let stderr = child.stderr.take();
    let listener = stderr.map(|stderr| thread::spawn(move || listen(stderr, says, ask)));
    let (status, report) = wait(child, bound, &asks);
    Watched { status, report, listener }
}

/// Ends when the last process that holds the pipe does.
fn listen(stderr: ChildStderr, mut says: impl FnMut(&str), ask: Sender<Ask>) {
    let mut lines = BufReader::new(stderr);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let text = String::from_utf8_lossy(&line);
        if let Some(asked) = parse(&text) {
            let _ = ask.send(asked);
        } else {
            says(&text);
        }
        line.clear();
    }
}

fn parse(line: &str) -> Option<Ask> {
    let mut numbers = line.strip_prefix("STUCK ")?.split_whitespace().map(str::parse::<u32>);
    let (pid, bound_ms) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let bound = Duration::from_millis(bound_ms.into());
    let tids = numbers.filter_map(Result::ok).collect();
    Some(Ask { subject: Subject::Threads { pid, tids, children_older_than: bound / 2 }, bound })
}

fn wait(
    child: &mut Child,
    bound: Option<Duration>,
    asks: &Receiver<Ask>,
) -> (io::Result<Option<ExitStatus>>, Option<String>) {
    let mut whole = bound.map(Patience::new);
    let mut stall: Option<(Patience, Instant)> = None;
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(None) => {}
            ended => return (ended, None),
        }
        let process = Subject::Process(child.id());
        let mut report = whole.as_mut().and_then(|whole| whole.judge(&process));
        if let Some(ask) = asks.try_iter().last() {
            let (patience, asked) =
                stall.get_or_insert_with(|| (Patience::over(ask.bound), Instant::now()));
            *asked = Instant::now();
            report = report.or_else(|| patience.judge(&ask.subject));
        }
        if stall.as_ref().is_some_and(|(_, asked)| asked.elapsed() > QUIET) {
            stall = None;
        }
        if report.is_some() {
            return match child.try_wait() {
                Ok(None) => (Ok(None), report),
                ended => (ended, None),
            };
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}
