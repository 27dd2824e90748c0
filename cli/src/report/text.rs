//! Text for HTML and SVG, and the format of numbers in a report.

use std::fmt::Write as _;

use super::model::AxisUnit;
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
pub fn figure(value: f64, unit: AxisUnit) -> String {
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
        return match unit {
            AxisUnit::Seconds => "0 s",
            AxisUnit::PerSecond => "0 /s",
            AxisUnit::Bytes => "0 B",
            AxisUnit::Count => "0",
        }
        .to_owned();
    }
    // A number of this size or smallness is a mistake somewhere, but not this page's.
    if !(1e-12..1e15).contains(&value) {
        return format!("{value:.2e}{}", suffix(unit));
    }
    match unit {
        AxisUnit::Count if value < 0.01 => format!("{value:.2e}"),
        AxisUnit::Count => number::with_unit(value, Unit::Count),
        AxisUnit::Seconds => number::with_unit(value, Unit::Seconds),
        AxisUnit::PerSecond if value < 0.01 => format!("{value:.2e} /s"),
        AxisUnit::PerSecond => number::with_unit(value, Unit::PerSecond),
        AxisUnit::Bytes if value < 1024.0 => format!("{value:.0} B"),
        AxisUnit::Bytes if value < 1024.0 * 1024.0 * 1024.0 => {
            number::with_unit(value / 1024.0, Unit::Kibibytes)
        }
        AxisUnit::Bytes => format!("{} GiB", number::digits(value / (1024.0 * 1024.0 * 1024.0))),
    }
}

fn suffix(unit: AxisUnit) -> &'static str {
    match unit {
        AxisUnit::Count => "",
        AxisUnit::Seconds => " s",
        AxisUnit::PerSecond => " /s",
        AxisUnit::Bytes => " B",
    }
}

/// The label of an axis: round, and short.
pub fn tick(value: f64, unit: AxisUnit) -> String {
    if value < 0.0 {
        return format!("−{}", tick(-value, unit));
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    // Such as 1024 threads: 1.024k would be longer and no rounder.
    if unit == AxisUnit::Count && value.fract() == 0.0 && value % 100.0 != 0.0 && value < 1e6 {
        return value.to_string();
    }
    const KIBI: f64 = 1024.0;
    let steps: &[(f64, &str)] = match unit {
        AxisUnit::Count => &[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")],
        AxisUnit::Seconds => &[(1.0, " s"), (1e-3, " ms"), (1e-6, " us"), (1e-9, " ns")],
        AxisUnit::PerSecond => &[(1e9, " G/s"), (1e6, " M/s"), (1e3, " k/s"), (1.0, " /s")],
        AxisUnit::Bytes => {
            &[(KIBI * KIBI * KIBI, " GiB"), (KIBI * KIBI, " MiB"), (KIBI, " KiB"), (1.0, " B")]
        }
    };
    // Ticks are computed, and may be a little less than the step.
    let &(step, name) =
        steps.iter().find(|(step, _)| value >= step * 0.999_999).unwrap_or(&steps[steps.len() - 1]);
    format!("{}{name}", shortest(value / step))
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
        assert_eq!(tick(10_000.0, AxisUnit::Count), "10k");
        assert_eq!(tick(1024.0, AxisUnit::Count), "1024");
        assert_eq!(tick(0.01, AxisUnit::Seconds), "10 ms");
        assert_eq!(tick(1e-6, AxisUnit::Seconds), "1 us");
        assert_eq!(tick(1.0e-6 * 0.999_999_9, AxisUnit::Seconds), "1 us");
        assert_eq!(tick(2.5e7, AxisUnit::PerSecond), "25 M/s");
        assert_eq!(tick(65536.0, AxisUnit::Bytes), "64 KiB");
        assert_eq!(tick(0.0, AxisUnit::Seconds), "0");
        assert_eq!(tick(-1500.0, AxisUnit::Count), "−1.5k");
    }

    #[test]
    fn figures_of_any_size_are_short() {
        assert_eq!(figure(0.0, AxisUnit::Seconds), "0 s");
        assert_eq!(figure(512.0, AxisUnit::Bytes), "512 B");
        assert_eq!(figure(f64::NAN, AxisUnit::Count), NOTHING);
        assert_eq!(figure(-2e-3, AxisUnit::Seconds), "−2.00 ms");
        for unit in [AxisUnit::Count, AxisUnit::Seconds, AxisUnit::PerSecond, AxisUnit::Bytes] {
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
