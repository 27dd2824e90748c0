//! The colours of a drawing. Plotters writes colours as numbers, but the colours depend on the
//! reader's theme. So it draws in placeholder numbers, which are then replaced by the style sheet's
//! names.

use plotters::style::RGBColor;

/// The first byte of every placeholder colour.
const MARK: u8 = 0xFE;

#[derive(Clone, Copy)]
pub enum Ink {
    Axis,
    Grid,
    FaintGrid,
    Label,
    /// The page's own colour, behind hollow marks.
    Paper,
    /// Dashed.
    Bound,
    /// The colours of ours, and of peers, have numbers.
    Ours(u8),
    Peer(u8),
}

/// The style sheet's names, by the second byte of the placeholder; the third is the number.
const NAMES: [&str; 8] = ["axis", "grid", "faint", "muted", "paper", "bound", "ours", "peer"];

impl Ink {
    pub fn stand_in(self) -> RGBColor {
        let (name, number) = match self {
            Self::Axis => (0, 0),
            Self::Grid => (1, 0),
            Self::FaintGrid => (2, 0),
            Self::Label => (3, 0),
            Self::Paper => (4, 0),
            Self::Bound => (5, 0),
            Self::Ours(index) => (6, index + 1),
            Self::Peer(index) => (7, index + 1),
        };
        RGBColor(MARK, name, number)
    }
}

/// What the four digits stand for: the quoted value, and any attributes after it.
fn attribute(digits: &str) -> Option<String> {
    let byte = |digits: &str| u8::from_str_radix(digits, 16).ok();
    let (name, number) = (byte(digits.get(..2)?)?, byte(digits.get(2..)?)?);
    Some(match (*NAMES.get(usize::from(name))?, number) {
        ("bound", _) => r#""var(--bound)" stroke-dasharray="8 5""#.to_owned(),
        (name, 0) => format!(r#""var(--{name})""#),
        (name, number) => format!(r#""var(--{name}-{number})""#),
    })
}

/// The drawing with names for colours, and without redundant attributes.
pub fn named(drawing: &str) -> String {
    let drawing = drawing.replace(r#" opacity="1""#, "");
    let opening = format!("\"#{MARK:02X}");
    let mut parts = drawing.split(opening.as_str());
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // Four digits and the closing quote.
        match (part.get(..4).and_then(attribute), part.get(5..)) {
            (Some(attribute), Some(rest)) => named += &format!("{attribute}{rest}"),
            _ => named += &format!("{opening}{part}"),
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stand_in_becomes_its_name() {
        let written = |ink: Ink| {
            let RGBColor(red, green, blue) = ink.stand_in();
            named(&format!("<a fill=\"#{red:02X}{green:02X}{blue:02X}\" x=\"1\"/>"))
        };
        assert_eq!(written(Ink::Ours(1)), r#"<a fill="var(--ours-2)" x="1"/>"#);
        assert_eq!(written(Ink::Peer(0)), r#"<a fill="var(--peer-1)" x="1"/>"#);
        assert_eq!(written(Ink::Paper), r#"<a fill="var(--paper)" x="1"/>"#);
        assert!(written(Ink::Bound).contains("dasharray"));
        assert_eq!(named("<a fill=\"#FE"), "<a fill=\"#FE");
    }
}
