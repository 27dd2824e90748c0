//! The examples at the end of each command's help.

use clap::Command;

use crate::notes;

/// By the commands' names: `bench mutex`.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "",
        "\
  furwock doctor
      says whether this system can run programs on furwock
  furwock run -- ./server --port 8080
      runs a program on furwock's locks
  furwock run --stats -- ./server
      also prints at its end which locks threads waited for
  furwock who 4711
      shows what the threads of a process wait for, and deadlocks
  furwock compare -- ./server --selftest
      compares the program on glibc's locks and on furwock's",
    ),
    (
        "run",
        "\
  furwock run -- ./server --port 8080
      runs it on furwock's locks
  furwock run --stats=locks.rec -- ./server
      records what its locks cost, for `furwock report locks.rec`
  furwock run --lock-order --fail -- ./tests
      fails if locks were taken in orders that could deadlock
  FURWOCK_WARN_AFTER=10s furwock run -- ./server
      says on stderr which threads wait longer than ten seconds, and for which",
    ),
    (
        "who",
        "\
  furwock who 4711
      looks at a process once
  furwock who --all
      looks at all of the user's processes
  furwock who --kill --after 30 -- ./tests
      runs a program, and kills it if it is deadlocked for 30 seconds",
    ),
    (
        "stats",
        "\
  furwock stats 4711
      of a process that runs under `furwock run --stats`
  furwock stats --json locks.rec
      of a file, as JSON",
    ),
    (
        "top",
        "\
  furwock top 4711
      refreshes a table each second
  furwock top --lines -n 5 --interval 10 4711 > locks.txt
      writes five tables as plain lines, ten seconds apart",
    ),
    (
        "report",
        "\
  furwock run --stats=locks.rec -- ./server
  furwock report locks.rec
      says in sentences where its threads waited
  furwock report --html locks.html locks.rec
      writes a page with a timeline and a flame graph
  furwock report --lock-order locks.rec
      only the order of locks, of a program that ran with --lock-order",
    ),
    (
        "compare",
        "\
  furwock compare -- ./server --selftest
      runs it ten times on each side, in pairs
  furwock compare --quick --report compare.html
      runs the built-in workloads, and writes a page with charts",
    ),
    (
        "bench",
        "\
  furwock bench mutex --threads 4 --json before.json
      measures contended mutexes, and keeps the results
  furwock bench --baseline before.json
      repeats that run, and shows what changed
  furwock bench papers --report papers.html
      repeats the papers' tables, and writes a page with charts",
    ),
    (
        "doctor",
        "\
  furwock doctor
      checks this system
  furwock doctor --json findings.json
      also writes the findings as JSON
  furwock doctor --costs --output here.toml
      measures this machine for the simulator",
    ),
    ("bench quick", "  furwock bench quick --report quick.html"),
    ("bench papers", "  furwock bench papers --only molnar,long --report papers.html"),
    ("bench scaling", "  furwock bench scaling --impl furwock,glibc --report scaling.html"),
    ("bench memory", "  furwock bench memory --json memory.json"),
    ("bench pair", "  furwock bench pair --impl furwock,std,glibc"),
    ("bench mutex", "  furwock bench mutex --threads 4,16 --sections 1/1 --report mutex.html"),
    ("bench rwlock", "  furwock bench rwlock --threads 8 --writes 1,10"),
    ("bench cond", "  furwock bench cond --impl furwock,glibc --json cond.json"),
    ("bench pp", "  furwock bench pp --impl furwock-preload,glibc"),
    ("bench queue", "  furwock bench queue --rounds 5 --report queue.html"),
    ("bench sem", "  furwock bench sem --threads 8"),
    ("bench barrier", "  furwock bench barrier --threads 4"),
    ("bench pingpong", "  furwock bench pingpong --rounds 5"),
    ("bench waitset", "  furwock bench waitset --csv waitset.csv"),
    ("bench waitv", "  furwock bench waitv --rounds 5"),
    ("bench hash", "  furwock bench hash --threads 4 --rounds 5"),
    ("bench wake", "  furwock bench wake --threads 64"),
    ("bench wake-parallel", "  furwock bench wake-parallel --threads 64"),
    ("bench requeue", "  furwock bench requeue --threads 64"),
    ("bench lock-pi", "  furwock bench lock-pi --threads 8"),
];

/// Exit statuses of the commands that have no notes of their own.
const STATUSES: &str = "\
Exit status:
  0    done
  1    a run failed, hung or gave a wrong result, or a file can't be written
  2    bad usage
  125  furwock's library is missing
  130  interrupted; what had been measured was printed";

const FURWOCK: &str = "\
Files:
  libfurwock_preload.so
       furwock's library: beside this executable, or in ../lib/furwock/ from its folder

Environment:
  FURWOCK_PRELOAD
       path of furwock's library; `furwock help run` has the other variables
  NO_COLOR
       if it isn't empty, nothing is coloured

Exit status:
  0    done
  1    it couldn't be done; the message says why
  2    bad usage (125 of `furwock run`)
  else what the command's own help says";

/// The command with its examples, and those below it with theirs.
pub fn added(command: Command) -> Command {
    each(command, "")
}

fn each(command: Command, path: &str) -> Command {
    let mut command = command;
    let examples = EXAMPLES.iter().find(|(name, _)| *name == path);
    if let Some((_, examples)) = examples {
        let notes = match (notes::of(&command), path) {
            (_, "") => FURWOCK.to_owned(),
            (notes, _) if notes.contains("Exit status:") => notes,
            (notes, _) if notes.is_empty() => STATUSES.to_owned(),
            (notes, _) => format!("{notes}\n\n{STATUSES}"),
        };
        let notes = format!("Examples:\n  {}\n\n{notes}", examples.trim_start());
        command = command.after_help(notes.clone()).after_long_help(notes);
    }
    let above = path.to_owned();
    command.mut_subcommands(move |below| {
        let path = format!("{above} {}", below.get_name());
        each(below, path.trim_start())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Arguments;

    /// clap takes the words of each example, so that none has an option that doesn't exist.
    #[test]
    fn examples_are_possible_calls() {
        let mut count = 0;
        for (name, examples) in EXAMPLES {
            for line in examples.lines().filter(|line| !line.starts_with("   ")) {
                let line = line.split(" > ").next().unwrap_or(line);
                let words = line.split_whitespace().skip_while(|word| *word != "furwock");
                let words: Vec<&str> = words.collect();
                let read = Arguments::plain().try_get_matches_from(&words);
                assert!(read.is_ok(), "{name}: {line}: {}", read.unwrap_err());
                count += 1;
            }
        }
        assert!(count > 40, "{count}");
    }
}
