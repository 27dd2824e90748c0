//! How the page's series look: the same name has the same colour and mark in every chart.

use super::model::{Block, Page, Series, SeriesKind};

/// As many as the style sheet has colours.
const OUR_COLOURS: usize = 4;
const PEER_COLOURS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Ours { colour: u8, shape: Shape },
    Peer { colour: u8, shape: Shape },
    Bound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Wedge,
    Cross,
    Plus,
}

const SHAPES: [Shape; 7] = [
    Shape::Circle,
    Shape::Square,
    Shape::Triangle,
    Shape::Diamond,
    Shape::Wedge,
    Shape::Cross,
    Shape::Plus,
];

/// Names in the order of their first appearance.
#[derive(Default)]
pub struct Looks {
    ours: Vec<String>,
    peers: Vec<String>,
}

impl Looks {
    pub fn of(page: &Page) -> Self {
        let mut looks = Self::default();
        for block in page.sections.iter().flat_map(|section| &section.blocks) {
            let Block::Chart(chart) = block else { continue };
            for series in &chart.series {
                let names = match series.kind {
                    SeriesKind::Ours => &mut looks.ours,
                    SeriesKind::Peer => &mut looks.peers,
                    SeriesKind::Bound => continue,
                };
                if !names.contains(&series.name) {
                    names.push(series.name.clone());
                }
            }
        }
        looks
    }

    pub fn look(&self, series: &Series) -> Look {
        let place =
            |names: &[String]| names.iter().position(|known| *known == series.name).unwrap_or(0);
        match series.kind {
            SeriesKind::Bound => Look::Bound,
            SeriesKind::Ours => {
                let place = place(&self.ours);
                // Our marks are filled and those of peers hollow; marks that consist of strokes
                // cannot be filled.
                let shape = SHAPES[place % 5];
                Look::Ours { colour: (place % OUR_COLOURS) as u8, shape }
            }
            SeriesKind::Peer => {
                let place = place(&self.peers);
                let shape = SHAPES[(place + 1) % SHAPES.len()];
                Look::Peer { colour: (place % PEER_COLOURS) as u8, shape }
            }
        }
    }
}
