//! Where a record says that locks were made and waited for: in C, C++ and Rust, without symbols, in
//! forked children, and where there are more objects than are kept.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

use common::{FURWOCK, Scratch, Text, furwock_with};
use serde_json::Value;

const MADE: &str = include_str!("recording/made.c");
const BANK: &str = include_str!("recording/bank.cc");
const VAULT: &str = include_str!("recording/vault.rs");

fn scratch() -> &'static Scratch {
    static SCRATCH: OnceLock<Scratch> = OnceLock::new();
    SCRATCH.get_or_init(|| {
        let scratch = Scratch::new("recording");
        assert!(scratch.compile(MADE, "made", &["-g", "-O1", "-pthread"]));
        scratch
    })
}

fn furwock(arguments: &[&str]) -> Command {
    let preload = Path::new(FURWOCK).with_file_name("libfurwock_preload.so");
    let recording = preload.with_file_name("libfurwock_preload_recording.so");
    assert!(recording.exists(), "`cargo build --release` makes {}", recording.display());
    furwock_with(&preload, arguments)
}

/// Runs a program, and returns what it wrote and its record.
fn run(program: &str, words: &[&str]) -> (Output, String) {
    let file = scratch().path(&format!("{program}-{}.record", words.join("-")));
    let option = format!("--stats={}", file.display());
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "100"]).arg(furwock(&[]).get_program());
    command.args(["run", &option, "--"]).arg(scratch().path(program)).args(words);
    let output = command.env_remove("FURWOCK_PRELOAD").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output.err());
    (output, file.display().to_string())
}

fn stats(record: &str) -> Value {
    let output = furwock(&["stats", "--json", record]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output.err());
    serde_json::from_str(&output.out()).unwrap()
}

/// Locks and events of a process.
fn groups(process: &Value) -> Vec<&Value> {
    let both = ["locks", "events"].into_iter().flat_map(|list| process[list].as_array().unwrap());
    both.collect()
}

/// What the locks and events of a process are called, with their kinds.
fn names(process: &Value) -> Vec<(String, String)> {
    let word = |group: &Value, field: &str| group[field].as_str().unwrap().to_owned();
    let all = groups(process).into_iter();
    all.map(|group| (word(group, "kind"), word(group, "name"))).collect()
}

/// "function (made.c:12)", where the source's line has this.
fn place(function: &str, line: &str) -> String {
    let at = MADE.lines().position(|text| text.contains(line)).expect(line);
    format!("{function} (made.c:{})", at + 1)
}

fn made_in(function: &str, line: &str) -> String {
    format!("made in {}", place(function, line))
}

const NODE: (&str, &str) = ("node_new", "pthread_mutex_init(&node->lock");

#[test]
fn a_lock_is_called_by_where_it_was_made() {
    let (run, record) = run("made", &["all"]);
    let document = stats(&record);
    let names = names(&document["processes"][0]);
    let all = [
        ("mutex", format!("{} (312)", made_in(NODE.0, NODE.1))),
        ("mutex", made_in("wrapped_new", "wrapped = app_mutex_create()")),
        ("mutex", made_in("early", "pthread_mutex_init(early_lock")),
        ("mutex", "plain".to_owned()),
        ("rwlock", made_in("table_new", "pthread_rwlock_init(rwlock")),
        ("spin", made_in("table_new", "pthread_spin_init(spin")),
        ("mutex", made_in("table_new", "mtx_init(mtx")),
        ("barrier", made_in("table_new", "pthread_barrier_init(barrier")),
        ("condvar", made_in("table_new", "pthread_cond_init(cond")),
        ("condvar", made_in("table_new", "cnd_init(cnd")),
        ("semaphore", made_in("table_new", "sem_init(semaphore")),
    ];
    for (kind, name) in all {
        let is_it = |(own_kind, own): &(String, String)| own_kind == kind && *own == name;
        assert!(names.iter().any(is_it), "{kind} {name}: {names:#?}");
    }
    // The table, at 80 columns, and the report.
    let says = format!("\n312 mutexes {}\n", made_in(NODE.0, NODE.1));
    let table = run.err();
    assert!(table.contains(&says), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    for options in [&["report"][..], &["report", "--html", "-"]] {
        let text = furwock(options).arg(&record).output().unwrap().out();
        let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(plain.contains(says.trim()), "{plain}");
    }
}

#[test]
fn locks_of_one_place_have_the_sum_of_their_figures_and_the_worst() {
    let (_, record) = run("made", &["sum"]);
    let document = stats(&record);
    let groups = groups(&document["processes"][0]);
    let name = format!("{} (312)", made_in(NODE.0, NODE.1));
    let nodes = groups.iter().find(|group| group["name"] == name.as_str()).expect("the nodes");
    assert_eq!(nodes["objects"], 312);
    assert!(nodes["operations"].as_u64() >= Some(2 * 312), "{nodes:#}");
    assert_eq!(nodes["contended"], 312);
    assert_eq!(nodes["made_in"], place(NODE.0, NODE.1));
    let stack = nodes["made_stack"].to_string();
    assert!(stack.contains("\"node_new\"") && stack.contains("\"main\""), "{stack}");
    let worst = nodes["worst"]["waited_s"].as_f64().unwrap();
    let all = nodes["wait"]["total_s"].as_f64().unwrap();
    assert!(worst >= all / 312.0 && worst <= all, "{worst} of {all}");
}

#[test]
fn a_forked_child_knows_what_its_parent_made() {
    let (_, record) = run("made", &["fork"]);
    let document = stats(&record);
    let name = format!("{} (312)", made_in(NODE.0, NODE.1));
    let processes = document["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 2, "{document:#}");
    let knows = |process: &Value| names(process).iter().any(|(_, own)| *own == name);
    assert!(knows(&processes[0]), "{:#?}", names(&processes[0]));
}

#[test]
fn what_follows_at_an_address_is_another() {
    let (_, record) = run("made", &["again"]);
    let document = stats(&record);
    let process = &document["processes"][0];
    let named = |name: &str| names(process).iter().filter(|(_, own)| own == name).count();
    let first = MADE.lines().position(|text| text.contains("void first_new")).unwrap();
    let second = MADE.lines().position(|text| text.contains("void second_new")).unwrap();
    assert_eq!(named(&format!("made in first_new (made.c:{})", first + 3)), 1);
    assert_eq!(named(&format!("made in second_new (made.c:{})", second + 3)), 1);
    // The third was made by no call.
    let rest = groups(process).into_iter().filter(|group| group["made_in"].is_null());
    let rest: Vec<&str> = rest.filter_map(|group| group["name"].as_str()).collect();
    assert!(rest.len() == 1 && rest[0].starts_with("in "), "{rest:?}");
}

#[test]
fn what_is_made_in_a_handler_harms_nothing() {
    let (_, record) = run("made", &["handlers"]);
    let wrapped = made_in("wrapped_new", "wrapped = app_mutex_create()");
    let document = stats(&record);
    let names = names(&document["processes"][0]);
    assert!(names.iter().any(|(_, name)| *name == wrapped), "{names:#?}");
}

#[test]
fn more_objects_than_are_kept_leave_the_last_ones_known() {
    let (_, record) = run("made", &["many"]);
    let document = stats(&record);
    let names = names(&document["processes"][0]);
    let node = made_in(NODE.0, NODE.1);
    assert!(names.iter().any(|(_, name)| *name == node), "{names:#?}");
}

/// The functions of a stack, and of its inlined calls.
fn functions(stack: &Value) -> Vec<String> {
    let places = stack.as_array().unwrap().iter();
    let places = places.flat_map(|frame| frame["functions"].as_array().unwrap());
    places.map(|place| place["function"].as_str().unwrap().to_owned()).collect()
}

/// The only contended lock, made and waited for in these functions.
#[track_caller]
fn only_lock(record: &str, made: &str, waited: &str) {
    let document = stats(record);
    let locks = document["processes"][0]["locks"].as_array().unwrap();
    let [lock] = &locks[..] else { panic!("{locks:#?}") };
    let stacks = [functions(&lock["made_stack"]), functions(&lock["waits"][0]["stack"])];
    let has = |at: usize, name: &str| stacks[at].iter().any(|function| function == name);
    assert!(has(0, made) && has(1, waited), "{stacks:#?}");
    let name = lock["name"].as_str().unwrap();
    assert!(name.starts_with(&format!("made in {made} (")), "{name}");
}

#[test]
fn cxx_names_are_demangled() {
    let source = scratch().path("bank.cc");
    fs::write(&source, BANK).unwrap();
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++17", "-g", "-O1", "-pthread", "-o"]);
    compiler.arg(scratch().path("bank")).arg(source);
    assert!(compiler.status().unwrap().success(), "a C++ compiler has to be there");
    let (_, record) = run("bank", &[]);
    only_lock(&record, "bank::Account<long>::Account", "bank::Account<long>::withdraw");
}

#[test]
fn rust_names_are_demangled() {
    let source = scratch().path("vault.rs");
    fs::write(&source, VAULT).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut compiler = Command::new(rustc);
    compiler.args(["--edition", "2021", "-g", "-C", "opt-level=1", "-o"]);
    compiler.arg(scratch().path("vault")).arg(source);
    assert!(compiler.status().unwrap().success(), "rustc has to be there");
    let (_, record) = run("vault", &[]);
    only_lock(&record, "vault::vault::Vault::build", "vault::vault::Vault::enter");
}

/// Addresses in the file take the functions' place: those that the same program has with symbols.
#[test]
fn a_stripped_program_has_addresses_in_its_file() {
    let stripped = scratch().copy(scratch().path("made").to_str().unwrap(), "stripped");
    assert!(Command::new("strip").arg(&stripped).status().unwrap().success());
    let (run, record) = run("stripped", &["all"]);
    let symbols = Command::new("nm").arg("-S").arg(scratch().path("made")).output().unwrap().out();
    let node_new = symbols.lines().find(|line| line.ends_with(" node_new")).expect("a function");
    let numbers = node_new.split_whitespace().take(2);
    let numbers = numbers.map(|number| u64::from_str_radix(number, 16).unwrap());
    let [start, size] = numbers.collect::<Vec<_>>()[..] else { panic!("{node_new}") };
    let document = stats(&record);
    let groups = groups(&document["processes"][0]);
    let nodes = groups.iter().find(|group| group["objects"] == 312).expect("the nodes");
    let frame = &nodes["made_stack"][0];
    assert_eq!(frame["module"], "stripped");
    let address = frame["address"].as_str().unwrap().trim_start_matches("0x");
    let address = u64::from_str_radix(address, 16).unwrap();
    assert!((start..start + size).contains(&address), "{address:x}: {node_new}");
    let name = nodes["name"].as_str().unwrap();
    assert!(name.starts_with(&format!("made in stripped+{address:#x} (no symbols")), "{name}");
    assert!(run.err().lines().all(|line| line.chars().count() <= 80), "{}", run.err());
}
