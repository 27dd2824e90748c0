//! What somebody who mistyped a name may have meant.

/// How alike two names must be, of 1, for the one to be offered for the other.
const ALIKE: f64 = 0.7;

/// The known name that is nearest to the one that was given, if any is near.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &str| strsim::jaro_winkler(&given.to_lowercase(), name);
    let scored = known.into_iter().map(|name| (likeness(name), name));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(likeness, _)| *likeness >= ALIKE).map(|(_, name)| name)
}

/// `no such WHAT; did you mean NEAREST? There are ALL`.
pub fn unknown(what: &str, given: &str, known: &[&str]) -> String {
    let meant = nearest(given, known.iter().copied());
    let hint = meant.map_or_else(String::new, |name| format!("; did you mean {name}?"));
    let all = known.join(", ");
    match meant {
        Some(_) => format!("no such {what}{hint} There are {all}"),
        None => format!("no such {what}; there are {all}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["furwock", "parking_lot", "std", "event-listener"];

    #[test]
    fn offers_what_is_near() {
        assert_eq!(nearest("furwok", KNOWN), Some("furwock"));
        assert_eq!(nearest("ParkingLot", KNOWN), Some("parking_lot"));
        assert_eq!(nearest("xyz", KNOWN), None);
        let message = unknown("implementation", "furwok", &KNOWN);
        assert!(
            message.starts_with("no such implementation; did you mean furwock? There are furwock,")
        );
        assert!(
            unknown("implementation", "xyz", &KNOWN).contains("; there are furwock, parking_lot")
        );
    }
}
