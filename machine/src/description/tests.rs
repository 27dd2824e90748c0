use super::*;

fn sixteen() -> String {
    FILES.iter().find(|file| file.0 == "sixteen").unwrap().1.to_owned()
}

/// What is wrong with the machine once `old` is `new` in its file, and the line that it stands on.
fn fault(old: &str, new: &str) -> (usize, String, usize) {
    let text = sixteen();
    let at = text.find(old).unwrap_or_else(|| panic!("{old} isn't in the file"));
    let changed = text.replacen(old, new, 1);
    let bad = Machine::parse("changed", &changed).expect_err("a fault");
    assert_eq!(bad.name, "changed");
    (bad.line, bad.why, line_of_byte(&text, at))
}

#[track_caller]
fn assert_fault(old: &str, new: &str, why: &str) {
    let (line, said, expected) = fault(old, new);
    assert!(said.contains(why), "{said}");
    assert_eq!(line, expected, "{said}");
}

#[test]
fn the_machines_that_come_along_make_sense() {
    for (name, size, nodes) in [
        ("xeon-kvm-2", 2, 1),
        ("epyc-kvm-2", 2, 1),
        ("molnar-4", 4, 4),
        ("sixteen", 16, 1),
        ("bueso-8x10", 160, 8),
        ("opteron-8x8", 64, 8),
        ("epyc-2x64", 128, 2),
        ("nodes-8x16", 128, 8),
    ] {
        let machine = Machine::named(name).unwrap_or_else(|bad| panic!("{bad}"));
        assert_eq!(machine.name, name);
        assert_eq!((machine.processors(), machine.topology.nodes()), (size, nodes), "{name}");
    }
    assert_eq!(NAMES.len(), 8);
}

#[test]
fn an_unknown_machine_names_those_that_there_are() {
    let bad = Machine::named("sixty").unwrap_err();
    assert_eq!(bad.line, 0);
    assert!(bad.why.contains("opteron-8x8"), "{bad}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let bad = Machine::from_file("no/such/machine.toml").unwrap_err();
    assert!(bad.to_string().starts_with("no/such/machine.toml: can't be read"), "{bad}");
}

#[test]
fn a_machine_without_processors_is_refused() {
    assert_fault("sockets = 1", "sockets = 0", "at least one processor");
    assert_fault("cores = 8", "cores = -3", "at least one processor");
}

#[test]
fn a_machine_that_is_too_large_is_refused() {
    assert_fault("cores = 8", "cores = 257", "256");
    assert_fault("sockets = 1", "sockets = 17", "272 processors");
}

#[test]
fn a_negative_cost_is_refused() {
    assert_fault("memory = 80", "memory = -80", "negative");
    assert_fault("hit = 1.0", "hit = nan", "nanoseconds");
    assert_fault("slack = 50_000", "slack = 1e300", "nanoseconds");
    assert_fault("read = { cluster = 22, ", "read = { cluster = -22, ", "negative");
}

#[test]
fn time_has_to_pass() {
    assert_fault("hit = 1.0", "hit = 0", "stand still");
    assert_fault("pause = 21.6", "pause = 0.0", "stand still");
}

#[test]
fn unknown_and_missing_names_are_refused() {
    assert_fault("pause = 21.6", "pawse = 21.6", "unknown field `pawse`");
    assert_fault("[wake]", "[wakes]", "unknown field `wakes`");
    assert_fault("nodes = \"socket\"", "nodes = \"village\"", "unknown variant `village`");
}

#[test]
fn a_missing_cost_is_named_with_its_table() {
    let text = sixteen().replacen("fence = 4.4\n", "", 1);
    let bad = Machine::parse("changed", &text).unwrap_err();
    let table = line_of_byte(&text, text.find("[instruction]").unwrap());
    assert_eq!((bad.line, bad.why.as_str()), (table, "missing field `fence`"));
}

#[test]
fn a_distance_of_the_machine_needs_a_cost() {
    assert_fault("read = { cluster = 22, socket = 80 }", "read = { cluster = 22 }", "`socket`");
    assert_fault("waker = { cluster = 700, ", "waker = { ", "`cluster`");
}

#[test]
fn parts_and_limits_have_to_fit() {
    assert_fault("leave = 0.67", "leave = 1.67", "between 0 and 1");
    assert_fault("deep_after = 2_000_000", "deep_after = 2", "deeply only after");
    assert_fault("memory = 80", "memory = \"much\"", "invalid type");
}

#[test]
fn load_has_to_run_for_some_time() {
    let text = sixteen() + "\n[load]\nthreads = 2\nruns = 0\nsleeps = 5\n";
    let bad = Machine::parse("changed", &text).unwrap_err();
    assert_eq!(bad.line, text.lines().position(|line| line == "runs = 0").unwrap() + 1);
}

#[test]
fn interruptions_have_to_leave_time() {
    let text = sixteen() + "\n[[interruption]]\nevery = 4_000\ntakes = 3_000\n";
    let bad = Machine::parse("changed", &text).unwrap_err();
    assert_eq!(bad.line, text.lines().position(|line| line == "every = 4_000").unwrap() + 1);
    assert!(bad.why.contains("less than half"), "{bad}");
}

#[test]
fn wakes_vary_as_the_rest_unless_they_have_a_jitter_of_their_own() {
    let plain = Machine::parse("plain", &sixteen()).unwrap();
    assert!(plain.costs.jitter > 0.0);
    assert_eq!(plain.costs.wake_jitter, plain.costs.jitter);
    let text = sixteen().replacen("[wake]", "[wake]\njitter = 0.3", 1);
    let own = Machine::parse("own", &text).unwrap();
    assert_eq!((own.costs.wake_jitter, own.costs.jitter), (0.3, plain.costs.jitter));
}
