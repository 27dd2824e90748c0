//! What the recording preload leaves in its file: exact figures where a program's are known, a part
//! for each process, and a readable record however a program ends.

use core::mem::size_of;
use furwock_conformance::record::{Record, library};
use furwock_conformance::{Artifact, scratch};
use furwock_record as layout;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Compiled once: another test may be running it.
fn program(name: &'static str) -> PathBuf {
    static BUILT: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
    let build =
        || Artifact::program(&format!("recording/{name}.c"), &scratch("recording"), name).build();
    BUILT.lock().expect("no test fails here").entry(name).or_insert_with(build).clone()
}

/// What the tests do with one.
trait Recorded {
    fn command(&self, program: &Path) -> Command;
    fn run(&self, program: &Path) -> Output;
    /// The parts that are there.
    fn parts(&self) -> Vec<Part>;
}

impl Recorded for Record {
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        self.take(&mut command);
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, program: &Path) -> Output {
        let run = self.command(program).output().expect("the program can be started");
        assert!(run.status.success(), "{:?}: {}", run.status, String::from_utf8_lossy(&run.stderr));
        run
    }

    fn parts(&self) -> Vec<Part> {
        let bytes = fs::read(self.path()).expect("the file is there");
        let size = layout::PART_SIZE as usize;
        let count = read::<layout::File>(&bytes, 0).parts.load(Relaxed) as usize;
        (0..count)
            .filter_map(|number| {
                let start = layout::PAGE + number * size;
                let mut part = bytes.get(start..)?.to_vec();
                part.resize(size, 0);
                let is_there = read::<layout::Part>(&part, 0).magic.load(Relaxed);
                (is_there == layout::PART_MAGIC).then_some(Part(part))
            })
            .collect()
    }
}

fn read<T>(bytes: &[u8], at: usize) -> T {
    assert!(at + size_of::<T>() <= bytes.len());
    // SAFETY: within the bytes; entries consist of integers.
    unsafe { bytes.as_ptr().add(at).cast::<T>().read_unaligned() }
}

fn key(address: u64, kind: layout::Kind) -> u64 {
    address | (kind as u64) << layout::KIND_SHIFT
}

struct Part(Vec<u8>);

/// A lock's figures, with those that threads haven't handed in.
#[derive(Debug, Default)]
struct Sums {
    operations: u64,
    contended: u64,
    ways: u64,
    timeouts: u64,
    waited: u64,
    held: u64,
}

impl Part {
    fn header(&self) -> layout::Part {
        read(&self.0, 0)
    }

    fn entries<T>(&self, of: impl FnOnce(&layout::Sections) -> layout::Section) -> Vec<T> {
        let section = of(&self.header().sections);
        assert_eq!(section.size as usize, size_of::<T>());
        let place = |at: u32| (section.offset + at * section.size) as usize;
        (0..section.count).map(|at| read(&self.0, place(at))).collect()
    }

    fn locks(&self) -> Vec<layout::Lock> {
        self.entries(|sections| sections.locks)
    }

    fn threads(&self) -> Vec<layout::Thread> {
        let all: Vec<layout::Thread> = self.entries(|sections| sections.threads);
        all.into_iter().filter(|thread| thread.tid.load(Relaxed) != 0).collect()
    }

    fn sites(&self) -> Vec<layout::Site> {
        let all: Vec<layout::Site> = self.entries(|sections| sections.sites);
        all.into_iter().filter(|site| site.lock.load(Relaxed) != 0).collect()
    }

    /// Files by their first addresses.
    fn modules(&self) -> Vec<(u64, String)> {
        let all: Vec<layout::Module> = self.entries(|sections| sections.modules);
        let path = |module: &layout::Module| {
            let bytes = module.path.iter().map(|byte| byte.load(Relaxed));
            let path: Vec<u8> = bytes.take(module.path_len.load(Relaxed) as usize).collect();
            (module.start.load(Relaxed), String::from_utf8_lossy(&path).into_owned())
        };
        all.iter().map(path).filter(|(start, _)| *start != 0).collect()
    }

    /// Operations on an object, whether or not it has a lock.
    fn operations(&self, address: u64, kind: layout::Kind) -> u64 {
        let key = key(address, kind);
        let mask = layout::ADDRESS | layout::KIND_MASK << layout::KIND_SHIFT;
        let threads = self.threads();
        let counts = threads.iter().flat_map(|thread| &thread.counts);
        let counted = counts.filter(|count| count.object.load(Relaxed) & mask == key);
        let locks = self.locks();
        let own = locks.iter().filter(|lock| lock.object.load(Relaxed) == key);
        counted.map(|count| count.operations.load(Relaxed)).sum::<u64>()
            + own.map(|lock| lock.operations.load(Relaxed)).sum::<u64>()
    }

    /// Operations on all objects.
    fn all_operations(&self) -> u64 {
        let threads = self.threads();
        let counts = threads.iter().flat_map(|thread| &thread.counts);
        counts.map(|count| count.operations.load(Relaxed)).sum::<u64>()
            + threads.iter().map(|thread| thread.other_operations.load(Relaxed)).sum::<u64>()
            + self.locks().iter().map(|lock| lock.operations.load(Relaxed)).sum::<u64>()
            + self.header().other_operations.load(Relaxed)
    }

    fn sums(&self, address: u64, kind: layout::Kind) -> Sums {
        let mut sums = Sums { operations: self.operations(address, kind), ..Sums::default() };
        for (index, lock) in self.locks().iter().enumerate() {
            if lock.object.load(Relaxed) != key(address, kind) {
                continue;
            }
            sums.contended += lock.contended.load(Relaxed);
            sums.timeouts += lock.timeouts.load(Relaxed);
            sums.ways += lock.got.iter().map(|got| got.load(Relaxed)).sum::<u64>();
            sums.waited += lock.wait.total.load(Relaxed);
            sums.held += lock.hold.total.load(Relaxed);
            for thread in self.threads() {
                for pending in &thread.pending {
                    if pending.lock.load(Relaxed) as usize != index + 1 {
                        continue;
                    }
                    let (count, total) = (pending.count.load(Relaxed), pending.total.load(Relaxed));
                    if pending.holds.load(Relaxed) != 0 {
                        sums.held += total;
                        continue;
                    }
                    sums.contended += count;
                    sums.waited += total;
                    let ways = pending.got.each_ref().map(|got| u64::from(got.load(Relaxed)));
                    sums.ways += ways[..4].iter().sum::<u64>();
                    sums.timeouts += ways[4];
                }
            }
        }
        sums
    }

    /// Every entry that is shown has all that it names.
    fn check(&self) {
        let header = self.header();
        assert!(header.pid != 0 && header.began != 0);
        let locks = self.locks();
        let stacks: Vec<layout::Stack> = self.entries(|sections| sections.stacks);
        let is_lock = |index: u32| {
            assert!(index != 0 && index as usize <= locks.len(), "{index}");
            let lock = &locks[index as usize - 1];
            assert!(lock.object.load(Relaxed) != 0);
        };
        let is_stack = |index: u32| {
            assert!((index as usize) < stacks.len(), "{index}");
            assert!(index == 0 || stacks[index as usize].hash.load(Relaxed) != 0, "{index}");
        };
        for lock in locks.iter().filter(|lock| lock.object.load(Relaxed) != 0) {
            assert!((1..=7).contains(&(lock.object.load(Relaxed) >> layout::KIND_SHIFT)));
            is_stack(lock.made_by.load(Relaxed));
            is_stack(lock.wait.longest_stack.load(Relaxed));
            is_stack(lock.hold.longest_stack.load(Relaxed));
        }
        for stack in stacks.iter().filter(|stack| stack.hash.load(Relaxed) != 0) {
            let length = stack.len.load(Relaxed) as usize;
            assert!((1..=layout::FRAMES).contains(&length), "{length}");
            assert!(stack.frames[..length].iter().all(|frame| frame.load(Relaxed) != 0));
        }
        for site in self.sites() {
            is_lock(site.lock.load(Relaxed));
            is_stack(site.stack.load(Relaxed));
            assert!(site.holds.load(Relaxed) <= 1);
        }
        let events: Vec<layout::Event> = self.entries(|sections| sections.events);
        for event in events.iter().filter(|event| event.number.load(Relaxed) != 0) {
            is_lock(event.lock.load(Relaxed));
            is_stack(event.stack.load(Relaxed));
            assert!(event.began.load(Relaxed) >= header.began && event.got.load(Relaxed) <= 4);
        }
        for thread in self.threads() {
            for count in &thread.counts {
                let object = count.object.load(Relaxed);
                let kind = object >> layout::KIND_SHIFT & layout::KIND_MASK;
                assert!(object == 0 || (1..=7).contains(&kind), "{object:x}");
            }
            for pending in thread.pending.iter().filter(|one| one.lock.load(Relaxed) != 0) {
                is_lock(pending.lock.load(Relaxed));
                is_stack(pending.stack.load(Relaxed));
            }
        }
    }
}

/// Addresses that a program has printed.
fn addresses(run: &Output) -> Vec<u64> {
    let text = String::from_utf8_lossy(&run.stdout);
    let number = |word: &str| {
        u64::from_str_radix(word.trim_start_matches("0x"), 16).expect("an address in hexadecimal")
    };
    text.split_whitespace().map(number).collect()
}

#[test]
fn planted_contention_is_counted_exactly() {
    let record = Record::new("contention", 4);
    let run = record.run(&program("contention"));
    let [busy, quiet, table, evict, awaited] = addresses(&run)[..] else { panic!("{run:?}") };
    let parts = record.parts();
    assert_eq!(parts.len(), 1);
    let part = &parts[0];
    part.check();
    assert!(part.header().ended.load(Relaxed) != 0);
    let mutex = part.sums(busy, layout::Kind::Mutex);
    assert_eq!(mutex.operations, 50 + 3 * 1000);
    assert_eq!(mutex.contended, mutex.ways + mutex.timeouts, "{mutex:?}");
    assert!(mutex.contended > 0 && mutex.contended < mutex.operations, "{mutex:?}");
    assert!(mutex.waited > 0, "{mutex:?}");
    // 2 ms each. The first counts from when it is waited for.
    assert!(awaited > 1 && mutex.held >= (awaited - 1) * 2_000_000, "{awaited}: {mutex:?}");
    assert_eq!(part.operations(quiet, layout::Kind::Mutex), 3 * 1000);
    assert_eq!(part.operations(table, layout::Kind::RwLock), 3 * 1010);
    // It is held longest by `evict`, which is less than 256 bytes long.
    let sites = part.sites();
    let lock_of = |site: &layout::Site| {
        part.locks()[site.lock.load(Relaxed) as usize - 1].object.load(Relaxed) & layout::ADDRESS
    };
    let of_busy = |site: &&layout::Site| lock_of(site) == busy && site.holds.load(Relaxed) == 1;
    let longest = sites.iter().filter(of_busy).max_by_key(|site| site.total.load(Relaxed));
    let stacks: Vec<layout::Stack> = part.entries(|sections| sections.stacks);
    let stack = &stacks[longest.expect("it was held").stack.load(Relaxed) as usize];
    let caller = stack.frames[0].load(Relaxed);
    assert!((evict..evict + 256).contains(&caller), "{caller:x} isn't in evict, {evict:x}");
    // The frames' files are known, and have build ids if the linker writes them.
    let modules: Vec<layout::Module> = part.entries(|sections| sections.modules);
    let module = modules
        .iter()
        .find(|module| (module.start.load(Relaxed)..module.end.load(Relaxed)).contains(&caller))
        .expect("the program's own file");
    let path: Vec<u8> = module.path.iter().map(|byte| byte.load(Relaxed)).collect();
    assert!(String::from_utf8_lossy(&path).trim_end_matches('\0').ends_with("contention"));
}

/// Reads aren't held: a writer's time doesn't begin with one. (The tests' clock is nanoseconds.)
#[test]
fn a_planted_wait_and_hold_take_as_long_as_the_program_says() {
    let record = Record::new("readers", 4);
    let run = record.run(&program("readers"));
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let words: Vec<&str> = text.split_whitespace().collect();
    let [table, wrote, slept, read] = words[..] else { panic!("{text}") };
    let table = u64::from_str_radix(table.trim_start_matches("0x"), 16).expect("an address");
    let [wrote, slept, read] =
        [wrote, slept, read].map(|number| number.parse::<u64>().expect("a number"));
    let parts = record.parts();
    let sums = parts[0].sums(table, layout::Kind::RwLock);
    assert_eq!(sums.operations, 1003, "{sums:?}");
    // The one that waits, and the few that prepare a new lock or try whether readers may share
    // nothing: these go the slow way, and count as got at once.
    assert!((1..=8).contains(&sums.contended), "{sums:?}");
    assert!((slept..=read + wrote).contains(&sums.waited), "{slept} {read} {wrote}: {sums:?}");
    assert!((slept..=wrote).contains(&sums.held), "{slept} {wrote}: {sums:?}");
}

#[test]
fn a_program_that_is_killed_leaves_a_record_that_can_be_read() {
    let program = program("contention");
    // A linear congruential generator's, so that a failure comes again.
    let mut moment = 1_u32;
    let (mut runs, mut with_waits) = (0, 0);
    while runs < 200 || (with_waits <= 20 && runs < 2_000) {
        runs += 1;
        moment = moment.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let record = Record::new("killed", 2);
        let mut running = record.command(&program).arg("forever").spawn().expect("it starts");
        std::thread::sleep(Duration::from_micros((moment >> 12) as u64 % 30_000));
        running.kill().expect("a child");
        running.wait().expect("a child");
        for part in record.parts() {
            part.check();
            assert_eq!(part.header().ended.load(Relaxed), 0);
            with_waits += usize::from(!part.sites().is_empty());
        }
    }
    assert!(with_waits > 20, "{with_waits} of {runs} had got so far");
}

#[test]
fn every_process_has_a_part_of_its_own() {
    let record = Record::new("children", 16);
    record.run(&program("children"));
    let parts = record.parts();
    let mut operations: HashMap<u64, u32> = HashMap::new();
    for part in &parts {
        part.check();
        let threads = part.threads();
        let all = threads.iter().flat_map(|thread| &thread.counts);
        *operations.entry(all.map(|count| count.operations.load(Relaxed)).sum()).or_default() += 1;
    }
    let expected = HashMap::from([(111, 1), (200, 1), (300, 1), (400, 1)]);
    assert_eq!(operations, expected, "{} parts", parts.len());
}

#[test]
fn processes_that_find_no_part_run_unrecorded() {
    let record = Record::new("one-part", 1);
    record.run(&program("children"));
    assert_eq!(record.parts().len(), 1);
}

#[test]
fn what_cannot_be_recorded_in_stops_no_program() {
    let program = program("contention");
    let unharmed = |run: Output, why: &str| {
        let says = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(run.status.success(), "{why}: {:?} {says}", run.status.signal());
        assert!(says.lines().count() <= 1, "{why}: {says}");
    };
    let missing = Record::missing("is-not-here");
    unharmed(missing.command(&program).output().expect("it starts"), "missing");
    let record = Record::new("garbage", 1);
    fs::write(record.path(), "no record").expect("writable");
    unharmed(record.command(&program).output().expect("it starts"), "garbage");
    // A limit that allows no part, and one that allows the first pages of one.
    for limit in [8_192, layout::PAGE as u64 + 64 * 1024] {
        let record = Record::new("limit", 1);
        let mut command = record.command(&program);
        // SAFETY: sets a limit of the child.
        unsafe {
            command.pre_exec(move || {
                let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
                match libc::setrlimit(libc::RLIMIT_FSIZE, &limit) {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                }
            });
        }
        unharmed(command.output().expect("it starts"), "limit");
        record.parts().iter().for_each(Part::check);
    }
}

#[test]
fn a_full_file_system_stops_no_program() {
    let program = program("contention");
    let record = Record::new("full", 4);
    let script = "mount -t tmpfs -o size=\"$1\" none /mnt && cp \"$2\" /mnt/r && \
                  FURWOCK_RECORD=/mnt/r LD_PRELOAD=\"$3\" \"$4\" && echo ran";
    for size in ["8k", "64k", "1m"] {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", size]);
        command.arg(record.path()).arg(library()).arg(&program);
        let Ok(run) = command.output() else { return };
        let says = String::from_utf8_lossy(&run.stderr);
        if says.contains("unshare:") || says.contains("mount:") {
            println!("full file system: skipped: {says}");
            return;
        }
        let text = String::from_utf8_lossy(&run.stdout);
        assert!(text.contains("ran"), "{size}: {:?} {text} {says}", run.status);
    }
}

/// Has `fallocate` fail in the program, as file systems do that don't know it.
fn without_fallocate() -> std::io::Result<()> {
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut steps = [
        step((libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, 0, 0, 0),
        step((libc::BPF_JMP | libc::BPF_JEQ) as u16, 0, 1, libc::SYS_fallocate as u32),
        step(libc::BPF_RET as u16, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EOPNOTSUPP as u32),
        step(libc::BPF_RET as u16, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the kernel reads the filter.
    let is_set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
    };
    if is_set { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[test]
fn a_file_system_that_cannot_allocate_is_written_to_instead() {
    let record = Record::new("filled", 1);
    let mut command = record.command(&program("contention"));
    // SAFETY: two system calls.
    unsafe { command.pre_exec(without_fallocate) };
    let Ok(run) = command.output() else {
        println!("filled: skipped: there are no filters here");
        return;
    };
    let parts = record.parts();
    let [part] = &parts[..] else { panic!("{} parts: {run:?}", parts.len()) };
    part.check();
    let allocated = Record::new("allocated", 1);
    allocated.run(&program("contention"));
    let allocated = &allocated.parts()[0];
    // What threads do while one of them writes is counted, if not by lock and thread.
    assert_eq!(part.all_operations(), allocated.all_operations());
    let whole = layout::PAGE + layout::PART_SIZE as usize;
    assert_eq!(fs::metadata(record.path()).expect("it is there").len(), whole as u64);
}

#[test]
fn more_locks_and_threads_than_there_is_room_for_are_counted() {
    let record = Record::new("many", 1);
    let run = record.command(&program("many")).output().expect("it starts");
    if run.status.code() == Some(77) {
        println!("many: skipped: so many threads can't be made here");
        return;
    }
    assert!(run.status.success(), "{:?}", run.status);
    let parts = record.parts();
    let part = &parts[0];
    part.check();
    let header = part.header();
    let shown = part.locks().iter().filter(|lock| lock.object.load(Relaxed) != 0).count();
    assert!(shown > 3_000, "{shown}");
    // What there was no room for is known to be missing.
    assert!(header.lost[0].load(Relaxed) > 0);
    // Each thread's own, the meetings, and the barrier.
    assert_eq!(part.all_operations(), 1_000 * 1_000 + 2 * 10_000 + 1_000);
}

/// Destroyed or not: a second entry would look like another lock.
#[test]
fn threads_that_come_to_a_lock_at_the_same_moment_make_one_entry() {
    let record = Record::new("entered", 1);
    record.run(&program("entered"));
    let parts = record.parts();
    parts[0].check();
    let mut entries = BTreeMap::<u64, u32>::new();
    for object in parts[0].locks().iter().map(|lock| lock.object.load(Relaxed)) {
        *entries.entry(object).or_default() += u32::from(object != 0);
    }
    assert!(entries.values().sum::<u32>() > 100, "too few were contended");
    entries.retain(|_, count| *count > 1);
    assert!(entries.is_empty(), "{entries:x?}");
}

/// Sandboxes that the program enters, and ends that run no destructor.
#[test]
fn a_sandbox_ends_no_recorded_program() {
    let program = program("sandbox");
    let run = |how: &str, end: &str| {
        let record = Record::new(&format!("sandbox-{how}-{end}"), 4);
        let run = record.command(&program).args([how, end]).output().expect("it starts");
        (record, run)
    };
    let (_, killed) = run("number", "openat");
    if killed.status.code() == Some(77) {
        println!("sandbox: skipped: there are no filters here");
        return;
    }
    assert_eq!(killed.status.signal(), Some(libc::SIGSYS), "the filter does end a program");
    for (how, end) in
        [("prctl", "main"), ("number", "_exit"), ("prctl", "_Exit"), ("number", "quick")]
    {
        let (record, run) = run(how, end);
        assert!(run.status.success(), "{how} {end}: {run:?}");
        let [busy, look] = addresses(&run)[..] else { panic!("{run:?}") };
        let parts = record.parts();
        // The child can't open the file.
        let [part] = &parts[..] else { panic!("{how} {end}: {} parts", parts.len()) };
        part.check();
        assert!(part.header().ended.load(Relaxed) != 0, "{how} {end}");
        let sums = part.sums(busy, layout::Kind::Mutex);
        assert_eq!((sums.operations, sums.contended), (4, 3), "{how} {end}: {sums:?}");
        assert_eq!(part.threads().len(), 4);
        // The stack and the program's path, without a call that the filter forbids.
        let is_looked =
            |stack: &layout::Stack| (look..look + 256).contains(&stack.frames[0].load(Relaxed));
        let stacks: Vec<layout::Stack> = part.entries(|sections| sections.stacks);
        assert!(stacks.iter().any(is_looked), "{how} {end}");
        assert!(part.modules().iter().any(|(_, path)| path.ends_with("sandbox")), "{how} {end}");
    }
}

/// Also where glibc can't say which file an address lies in.
#[test]
fn stacks_lead_through_files_that_come_and_go() {
    let folder = scratch("recording");
    let source = "recording/plugin.c";
    let plugins = [
        Artifact::library(source, &folder, "smaller").build(),
        Artifact::library(source, &folder, "larger").with(&["-DLARGER"]).build(),
    ];
    for (name, flags) in [
        ("loaded", &[][..]),
        ("loaded-unfound", &["-DWITHOUT_LOOKUP", "-rdynamic"]),
        ("loaded-fixed", &["-DWITHOUT_LOOKUP", "-rdynamic", "-no-pie"]),
    ] {
        let program = Artifact::program("recording/loaded.c", &folder, name).with(flags).build();
        // It looks for files a twentieth of the time at most: on a busy machine, where a look takes
        // long, perhaps not for each.
        let mut tries = 0;
        let part = loop {
            let record = Record::new(name, 4);
            let mut command = record.command(&program);
            let run = command.args(&plugins).arg(&plugins[0]).output().expect("it starts");
            assert!(run.status.success(), "{name}: {run:?}");
            let part = record.parts().remove(0);
            let all = addresses(&run);
            let (call, functions) = (all[0], &all[1..]);
            let stacks: Vec<layout::Stack> = part.entries(|sections| sections.stacks);
            let is = |frame: &layout::Stack, at: usize, start: u64| {
                (start..start + 64).contains(&frame.frames[at].load(Relaxed))
            };
            let is_whole = |stack: &layout::Stack, function: u64| {
                is(stack, 0, function) && is(stack, 1, call) && stack.len.load(Relaxed) >= 3
            };
            let is_found = |function: &u64| stacks.iter().any(|stack| is_whole(stack, *function));
            let Some(function) = functions.iter().find(|function| !is_found(function)) else {
                break part;
            };
            tries += 1;
            let frames =
                |stack: &layout::Stack| stack.frames.each_ref().map(|frame| frame.load(Relaxed));
            assert!(
                tries < 5,
                "{name}: no stack from {function:x} to {call:x}: {:x?}",
                stacks
                    .iter()
                    .filter(|one| one.len.load(Relaxed) != 0)
                    .map(frames)
                    .collect::<Vec<_>>()
            );
        };
        let modules = part.modules();
        for end in ["libsmaller.so", "liblarger.so", name] {
            assert!(modules.iter().any(|(_, path)| path.ends_with(end)), "{name}: {modules:?}");
        }
    }
}

/// The order of locks has the stack of each call. Later ones have memory only if they are needed.
#[test]
fn stacks_find_room_as_long_as_there_is_any() {
    use std::os::unix::fs::MetadataExt;
    let run = |stacks: u32| {
        let record = Record::new(&format!("stacks-{stacks}"), 1);
        let mut command = record.command(&program("stacks"));
        command.env(layout::ORDER_VARIABLE, "1").arg(stacks.to_string());
        assert!(command.status().expect("it starts").success());
        let parts = record.parts();
        let all: Vec<layout::Stack> = parts[0].entries(|sections| sections.stacks);
        let found = all.iter().filter(|stack| stack.len.load(Relaxed) != 0).count();
        let blocks = fs::metadata(record.path()).expect("the file is there").blocks();
        (found, parts[0].header().lost[2].load(Relaxed) as usize, blocks * 512)
    };
    // The thread's, and the first one's pthread_join.
    let (found, lost, bytes) = run(1 << 10);
    assert!(found >= 1 << 10 && lost == 0, "{found} and {lost}");
    assert!(bytes < 9 << 20, "{bytes}");
    let (found, lost, bytes) = run(1 << 14);
    assert!(found >= 1 << 14 && lost == 0, "{found} and {lost}");
    assert!(bytes < 17 << 20, "{bytes}");
    // What there was no room for is known to be missing.
    let (found, lost, _) = run(1 << 16);
    assert!(found > 30_000 && lost > 30_000 && found + lost >= 1 << 16, "{found} and {lost}");
}
