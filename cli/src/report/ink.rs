//! The colours of a drawing. Plotters writes colours as numbers, but the colours depend on the
//! reader's theme. So it draws in placeholder numbers, which are then replaced by the style sheet's
//! names.

use plotters::style::RGBColor;

/// The first byte of every placeholder colour.
const MARK: u8 = 0xFE;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    Axis,
    Grid,
    FaintGrid,
    Label,
    /// The page's own colour, behind hollow marks.
    Paper,
    Ours(u8),
    Peer(u8),
    /// A dashed line, by the kind of its dashes.
    Bound(u8),
}

impl Ink {
    pub fn stand_in(self) -> RGBColor {
        let (kind, index) = match self {
            Self::Axis => (0, 0),
            Self::Grid => (1, 0),
            Self::FaintGrid => (2, 0),
            Self::Label => (3, 0),
            Self::Paper => (4, 0),
            Self::Ours(index) => (5, index),
            Self::Peer(index) => (6, index),
            Self::Bound(index) => (7, index),
        };
        RGBColor(MARK, kind, index)
    }

    fn of_digits(digits: &str) -> Option<Self> {
        let kind = u8::from_str_radix(digits.get(..2)?, 16).ok()?;
        let index = u8::from_str_radix(digits.get(2..)?, 16).ok()?;
        Some(match kind {
            0 => Self::Axis,
            1 => Self::Grid,
            2 => Self::FaintGrid,
            3 => Self::Label,
            4 => Self::Paper,
            5 => Self::Ours(index),
            6 => Self::Peer(index),
            7 => Self::Bound(index),
            _ => return None,
        })
    }

    /// The attribute's value, and any attributes after it.
    fn attribute(self) -> String {
        match self {
            Self::Axis => r#"var(--axis)""#.to_owned(),
            Self::Grid => r#"var(--grid)""#.to_owned(),
            Self::FaintGrid => r#"var(--faint)""#.to_owned(),
            Self::Label => r#"var(--muted)""#.to_owned(),
            Self::Paper => r#"var(--paper)""#.to_owned(),
            Self::Ours(index) => format!(r#"var(--ours-{})""#, index + 1),
            Self::Peer(index) => format!(r#"var(--peer-{})""#, index + 1),
            Self::Bound(index) => {
                let dashes = ["8 5", "2 4", "12 4 2 4"];
                let dashes = dashes[usize::from(index) % dashes.len()];
                format!(r#"var(--bound)" stroke-dasharray="{dashes}""#)
            }
        }
    }
}

/// The drawing with names for colours, and without redundant attributes.
pub fn named(drawing: &str) -> String {
    let drawing = drawing.replace(r#" opacity="1""#, "");
    let opening = format!("\"#{MARK:02X}");
    let mut parts = drawing.split(opening.as_str());
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // Four digits and the closing quote.
        match (part.get(..4).and_then(Ink::of_digits), part.get(5..)) {
            (Some(ink), Some(rest)) => {
                named.push('"');
                named.push_str(&ink.attribute());
                named.push_str(rest);
            }
            _ => {
                named.push_str(&opening);
                named.push_str(part);
            }
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
        assert!(written(Ink::Bound(0)).contains("dasharray"));
        assert_eq!(named("<a fill=\"#FE"), "<a fill=\"#FE");
    }
}
