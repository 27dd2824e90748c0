//! Marks and lines of a series, in pixels: in a chart and, the same, in its key.

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind};
use plotters::element::{Circle, PathElement, Polygon};
use plotters::style::{Color, ShapeStyle};

use super::ink::Ink;
use super::look::{Look, Shape};

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub type Failed = DrawingAreaErrorKind<std::io::Error>;
pub type Drawn = Result<(), Failed>;
pub type Pixel = (i32, i32);

pub fn stroke(ink: Ink, width: u32) -> ShapeStyle {
    ink.stand_in().stroke_width(width)
}

impl Look {
    pub fn ink(self) -> Ink {
        match self {
            Self::Ours { colour, .. } => Ink::Ours(colour),
            Self::Peer { colour, .. } => Ink::Peer(colour),
            Self::Bound => Ink::Bound,
        }
    }

    pub fn line_width(self) -> u32 {
        match self {
            Self::Ours { .. } => 3,
            Self::Peer { .. } | Self::Bound => 2,
        }
    }
}

/// A line through these points.
pub fn line(area: &Area, look: Look, points: Vec<Pixel>) -> Drawn {
    area.draw(&PathElement::new(points, stroke(look.ink(), look.line_width())))
}

/// A mark: ours are filled, those of peers hollow; a bound has none. `growth` is in pixels, and may
/// be negative.
pub fn mark(area: &Area, look: Look, (x, y): Pixel, growth: i32) -> Drawn {
    let (shape, filled, growth) = match look {
        Look::Ours { shape, .. } => (shape, true, growth + 1),
        Look::Peer { shape, .. } => (shape, false, growth),
        Look::Bound => return Ok(()),
    };
    let outline = stroke(look.ink(), 2);
    let placed = |(across, down): Pixel| {
        (x + across + across.signum() * growth, y + down + down.signum() * growth)
    };
    let strokes = |ends: [[Pixel; 2]; 2]| {
        ends.into_iter()
            .try_for_each(|ends| area.draw(&PathElement::new(ends.map(placed).to_vec(), outline)))
    };
    let corners: &[Pixel] = match shape {
        Shape::Circle => {
            let radius = 5 + growth;
            let inside = if filled { look.ink() } else { Ink::Paper };
            area.draw(&Circle::new((x, y), radius, inside.stand_in().filled()))?;
            // A rim in the paper's colour separates a filled mark from its neighbours.
            let edge = if filled { stroke(Ink::Paper, 1) } else { outline };
            return area.draw(&Circle::new((x, y), radius, edge));
        }
        Shape::Cross => return strokes([[(-4, -4), (4, 4)], [(-4, 4), (4, -4)]]),
        Shape::Plus => return strokes([[(-5, 0), (5, 0)], [(0, -5), (0, 5)]]),
        Shape::Square => &[(-4, -4), (4, -4), (4, 4), (-4, 4)],
        Shape::Triangle => &[(0, -6), (6, 5), (-6, 5)],
        Shape::Diamond => &[(0, -6), (6, 0), (0, 6), (-6, 0)],
        Shape::Wedge => &[(0, 6), (6, -5), (-6, -5)],
    };
    let mut corners: Vec<Pixel> = corners.iter().copied().map(placed).collect();
    let inside = if filled { look.ink() } else { Ink::Paper };
    area.draw(&Polygon::new(corners.clone(), inside.stand_in().filled()))?;
    // Around, and on to the second corner, so that the join at the first is complete.
    corners.extend_from_within(..2);
    let edge = if filled { stroke(Ink::Paper, 1) } else { outline };
    area.draw(&PathElement::new(corners, edge))
}

/// A bar from the least to the greatest of the rounds.
pub fn range(area: &Area, look: Look, [lower, upper]: [Pixel; 2]) -> Drawn {
    let thin = stroke(look.ink(), 1);
    area.draw(&PathElement::new(vec![lower, upper], thin))?;
    for (x, y) in [lower, upper] {
        area.draw(&PathElement::new(vec![(x - 3, y), (x + 4, y)], thin))?;
    }
    Ok(())
}
