//! Text for HTML and SVG, and the format of numbers in a report.

use std::fmt::Write as _;

use crate::measuring::number::{self, Unit};

/// Written where there is no figure.
pub const NOTHING: &str = "—";

/// Escapes text for elements and quoted attributes. Control characters are allowed in neither.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(character),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            control if control.is_control() => escaped.push('\u{fffd}'),
            plain => escaped.push(plain),
        }
    }
    escaped
}

/// One element for each text.
pub fn paragraphs(class: &str, texts: &[String]) -> String {
    texts.iter().fold(String::new(), |mut all, text| {
        let _ = writeln!(all, r#"<p class="{class}">{}</p>"#, escape(text));
        all
    })
}

/// A figure in full, for a table of data.
pub fn figure(value: f64, unit: Unit) -> String {
    if value.is_nan() {
        return NOTHING.to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "−∞" }.to_owned();
    }
    if value < 0.0 {
        return format!("−{}", figure(-value, unit));
    }
    if value == 0.0 {
        return format!("0{}", unit.name());
    }
    let least = if unit == Unit::Seconds { 1e-12 } else { 0.01 };
    // Outside of these bounds something is wrong, but not on this page.
    if !(least..1e15).contains(&value) {
        return format!("{value:.2e}{}", unit.name());
    }
    number::with_unit(value, unit)
}

/// The label of an axis: round, and short.
pub fn tick(value: f64, unit: Unit) -> String {
    // Such as 1024 threads: 1.024k would be longer and no rounder.
    if unit == Unit::Count && value.fract() == 0.0 && value % 100.0 != 0.0 && value < 1e6 {
        return value.to_string();
    }
    let (value, name) = unit.scaled(value);
    format!("{}{name}", shortest(value))
}

/// `5.9`, `20`, `0.5`: no trailing zeros.
pub fn shortest(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e6).contains(&value.abs()) {
        return format!("{value:.0e}");
    }
    let written = format!("{value:.4}");
    written.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `1.61x`, at any size.
pub fn times(ratio: f64) -> String {
    match ratio {
        none if none.is_nan() => NOTHING.to_owned(),
        tiny if tiny > 0.0 && tiny < 0.01 => "<0.01x".to_owned(),
        vast if vast.is_finite() && vast >= 1e6 => format!("{vast:.1e}x"),
        other => number::times(other),
    }
}

/// The approximate width of a text, in its font's em: it needs no font.
pub fn ems(text: &str) -> f64 {
    text.chars()
        .map(|character| match character {
            'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.32,
            'f' | 't' | 'r' | ' ' | '(' | ')' | '-' | '/' => 0.4,
            'm' | 'w' | 'M' | 'W' => 0.95,
            'A'..='Z' => 0.7,
            '\u{2e80}'.. => 1.05,
            _ => 0.61,
        })
        .sum()
}

/// Breaks a text into lines no wider than this, for a picture, where nothing else breaks lines.
pub fn lines(text: &str, most_ems: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if ems(line) + 0.4 + ems(word) <= most_ems => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_markup_means() {
        assert_eq!(escape(r#"<a href="x">&'"#), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
        assert_eq!(escape("a\u{0}b\u{1b}[1m"), "a\u{fffd}b\u{fffd}[1m");
    }

    #[test]
    fn ticks_are_short() {
        assert_eq!(tick(10_000.0, Unit::Count), "10k");
        assert_eq!(tick(1024.0, Unit::Count), "1024");
        assert_eq!(tick(0.01, Unit::Seconds), "10 ms");
        assert_eq!(tick(1e-6, Unit::Seconds), "1 us");
        assert_eq!(tick(1.0e-6 * 0.999_999_9, Unit::Seconds), "1 us");
        assert_eq!(tick(2.5e7, Unit::PerSecond), "25 M/s");
        assert_eq!(tick(65536.0, Unit::Kibibytes), "64 MiB");
    }

    #[test]
    fn figures_of_any_size_are_short() {
        assert_eq!(figure(0.0, Unit::Seconds), "0 s");
        assert_eq!(figure(512.0, Unit::Kibibytes), "512 KiB");
        assert_eq!(figure(f64::NAN, Unit::Count), NOTHING);
        assert_eq!(figure(-2e-3, Unit::Seconds), "−2.00 ms");
        for unit in [Unit::Count, Unit::Seconds, Unit::PerSecond, Unit::Kibibytes] {
            for value in [f64::MAX, f64::MIN_POSITIVE, f64::INFINITY, f64::NEG_INFINITY, 1e-13] {
                assert!(figure(value, unit).len() < 16, "{value} {unit:?}");
                assert!(tick(value, unit).len() < 16, "{value} {unit:?}");
            }
        }
        assert_eq!(times(5900.0), "5900x");
        assert_eq!(times(0.001), "<0.01x");
        assert_eq!(times(1e300), "1.0e300x");
    }

    #[test]
    fn breaks_lines_between_words() {
        assert_eq!(lines("one two three", 5.0), ["one two", "three"]);
        assert!(lines("", 5.0).is_empty());
    }
}
