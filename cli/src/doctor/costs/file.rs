//! The machine file.

use std::fmt::Write;

use super::derived::{Derived, name};
use super::fields::{DEFAULT_MACHINE, FIELDS, Field};
use super::processors::{DISTANCES, Processors, Shape};
use crate::doctor::text::wrapped;
use crate::measuring::machine::Machine;

/// The most processors that the simulator takes.
const PROCESSORS_MAX: usize = 256;
const COLUMNS: usize = 100;
const JITTER: f64 = 0.1;

/// What stands in the file beside the costs.
pub struct Origin<'a> {
    pub machine: &'a Machine,
    pub processors: &'a Processors,
    /// Whether threads can be bound to processors.
    pub binds: bool,
    pub rounds: usize,
    pub noise: Option<String>,
}

pub fn text(origin: &Origin<'_>, derived: &Derived) -> String {
    let mut text = header(origin);
    processors(&mut text, origin.processors);
    let tables = FIELDS.chunk_by(|one, other| one.table == other.table);
    for table in tables {
        let name = table[0].table;
        let _ = writeln!(text, "\n[{name}]");
        for note in derived.notes(name).flat_map(|note| wrapped(note, COLUMNS - 2)) {
            let _ = writeln!(text, "# {note}");
        }
        for key in table.chunk_by(|one, other| one.key == other.key) {
            text += &line(origin, derived, key);
        }
    }
    text
}

fn header(origin: &Origin<'_>) -> String {
    let Origin { machine, rounds, .. } = origin;
    let version = env!("CARGO_PKG_VERSION");
    let mut paragraphs = vec![
        format!("Measured by `furwock doctor --costs` of furwock {version}: {machine}."),
        format!(
            "Times are nanoseconds, medians of {rounds} rounds. Values marked as estimates are \
             those of the simulator's machine {DEFAULT_MACHINE}."
        ),
    ];
    paragraphs.extend(origin.noise.clone().map(|noise| format!("{}.", sentence(&noise))));
    let count = origin.processors.count();
    if origin.processors.shape().processors() != count {
        paragraphs.push(format!(
            "The {count} processors are not a regular machine: each of its parts is given as large \
             as the largest."
        ));
    }
    let comments = paragraphs.iter().flat_map(|paragraph| wrapped(paragraph, COLUMNS - 2));
    let mut text: String = comments.map(|line| format!("# {line}\n")).collect();
    let about = format!("{}, {count} processors", machine.cpu());
    let about: String = about.chars().filter(|letter| !"\"\\".contains(*letter)).collect();
    let _ = write!(text, "\nname = \"measured\"\nabout = \"{about}\"\n");
    let _ =
        writeln!(text, "jitter = {JITTER} # estimate: what lets it vary isn't the same anywhere");
    text
}

/// With a great first letter.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn processors(text: &mut String, processors: &Processors) {
    let whole = processors.shape();
    let mut shape = whole;
    while shape.processors() > PROCESSORS_MAX {
        let largest = [&mut shape.sockets, &mut shape.clusters, &mut shape.cores].into_iter().max();
        *largest.expect("three") -= 1;
    }
    let _ = writeln!(text, "\n[processors]");
    if shape != whole {
        let all = whole.processors();
        let _ =
            writeln!(text, "# Not all of the {all}: a simulation has at most {PROCESSORS_MAX}.");
    }
    let Shape { sockets, clusters, cores, threads } = shape;
    let nodes = if processors.nodes_are_clusters() { "cluster" } else { "socket" };
    let _ = write!(
        text,
        "sockets = {sockets}\nclusters = {clusters}\ncores = {cores}\nthreads = {threads}\n\
         nodes = \"{nodes}\"\nwakes_within = \"cluster\"\n"
    );
}

/// One key: a cost, or costs by distance.
fn line(origin: &Origin<'_>, derived: &Derived, fields: &[Field]) -> String {
    let value = |field: &Field| derived.get(field).unwrap_or(field.default);
    let value = |field: &Field| digits(value(field));
    let written = match fields {
        [only] if only.part.is_none() => value(only),
        parts => {
            let part =
                |field: &Field| format!("{} = {}", field.part.unwrap_or_default(), value(field));
            format!("{{ {} }}", parts.iter().map(part).collect::<Vec<_>>().join(", "))
        }
    };
    let line = format!("{} = {written}", fields[0].key);
    let missing = fields.iter().filter(|field| derived.get(field).is_none());
    let missing: Vec<(&Field, &str)> = missing.map(|field| (field, why(origin, field))).collect();
    match missing.as_slice() {
        [] => line + "\n",
        [(field, why)] if field.part.is_none() => format!("{line} # estimate: {why}\n"),
        [(_, why), ..] => {
            let parts: Vec<&str> = missing.iter().filter_map(|(field, _)| field.part).collect();
            let comment = format!("Estimates: {}: {why}.", parts.join(", "));
            let comment = wrapped(&comment, COLUMNS - 2);
            let comment: String = comment.iter().map(|line| format!("# {line}\n")).collect();
            format!("{comment}{line}\n")
        }
    }
}

/// Why a field was not measured.
fn why(origin: &Origin<'_>, field: &Field) -> &'static str {
    let processors = origin.processors;
    let of_wakes = ["interrupt", "poll", "halt", "deep", "halts_after", "deep_after"];
    let of_two = field.part.is_some() || field.key == "migration" || of_wakes.contains(&field.key);
    let distance = DISTANCES.iter().find(|(_, name)| Some(*name) == field.part);
    match field.hidden {
        Some(why) => why,
        None if field.key == "sibling" => "no two of the allowed processors are of one core",
        None if of_two && processors.count() < 2 => "this process may use one processor only",
        None if distance.is_some_and(|(distance, _)| processors.pair(*distance).is_none()) => {
            "no two of the allowed processors are that far apart"
        }
        None if !origin.binds => "threads can't be bound to processors here",
        None => "it could not be measured here",
    }
}

/// Enough digits for a cost.
fn digits(value: f64) -> String {
    match value {
        whole if whole >= 100.0 || whole == 0.0 => format!("{whole:.0}"),
        tens if tens >= 10.0 => format!("{tens:.1}"),
        small => format!("{small:.2}"),
    }
}

/// The names of all that was not measured.
pub fn estimates(derived: &Derived) -> Vec<String> {
    FIELDS.iter().filter(|field| derived.get(field).is_none()).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::costs::samples::Samples;

    #[test]
    fn without_any_measurement_the_file_is_complete() {
        let (machine, processors) = (Machine::this(), Processors::allowed());
        let noise = Some("noise: much".to_owned());
        let origin =
            Origin { machine: &machine, processors: &processors, binds: false, rounds: 0, noise };
        let derived = Derived::of(&Samples::default());
        let text = text(&origin, &derived);
        assert_eq!(estimates(&derived).len(), FIELDS.len());
        assert!(text.contains("# Noise: much."), "{text}");
        let parsed =
            machine::Machine::parse("measured", &text).unwrap_or_else(|bad| panic!("{bad}"));
        assert_eq!(parsed.processors(), processors.shape().processors());
        assert_eq!(parsed.costs.hit, 1000);
        // Two that could be compared, if threads could be bound to them.
        if let Some((_, one, other)) = processors.nearest_pair() {
            let refused = "threads can't be bound to processors here";
            assert!(text.contains(refused), "{one}, {other}: {text}");
        }
    }

    #[test]
    fn values_keep_three_digits() {
        assert_eq!(digits(0.01), "0.01");
        assert_eq!(digits(4.444), "4.44");
        assert_eq!(digits(19.32), "19.3");
        assert_eq!(digits(12_345.6), "12346");
    }
}
