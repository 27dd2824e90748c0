//! Names beside the points of a scatter plot: as many as there is room for without overlap.

use super::mark::Pixel;
use super::text::ems;

/// What a mark takes on each side of its middle.
const MARK: f64 = 8.0;

#[derive(Clone, Copy, Debug)]
struct Box {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Box {
    fn overlaps(self, other: Box) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn is_within(self, other: Box) -> bool {
        other.left <= self.left
            && self.right <= other.right
            && other.top <= self.top
            && self.bottom <= other.bottom
    }
}

/// A name's left end and baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Label<'a> {
    pub text: &'a str,
    pub x: f64,
    pub baseline: f64,
}

/// Finds a place beside its point for each name, in their order: on the right, on the left, above,
/// below, or at a corner. A name without a free place is left out. `marks` are all points, named or
/// not; `room` is the plot's left upper and right lower corner.
pub fn placed<'a>(
    names: &[(Pixel, &'a str)],
    marks: &[Pixel],
    room: [Pixel; 2],
    text: f64,
) -> Vec<Label<'a>> {
    let [(left, top), (right, bottom)] = room.map(|(x, y)| (f64::from(x), f64::from(y)));
    let room = Box { left, top, right, bottom };
    let mut taken: Vec<Box> = marks
        .iter()
        .map(|&(x, y)| (f64::from(x), f64::from(y)))
        .map(|(x, y)| Box { left: x - MARK, top: y - MARK, right: x + MARK, bottom: y + MARK })
        .collect();
    let mut labels = Vec::new();
    for &((x, y), name) in names {
        let (x, y) = (f64::from(x), f64::from(y));
        let (wide, high) = (ems(name) * text + 2.0, text);
        let beside = MARK + 1.0;
        let corner = MARK * 0.5;
        let places = [
            (x + beside, y - high / 2.0),
            (x - beside - wide, y - high / 2.0),
            (x - wide / 2.0, y - beside - high),
            (x - wide / 2.0, y + beside),
            (x + corner, y - beside - high),
            (x + corner, y + beside),
            (x - corner - wide, y - beside - high),
            (x - corner - wide, y + beside),
        ];
        let boxes =
            places.map(|(left, top)| Box { left, top, right: left + wide, bottom: top + high });
        let is_free = |place: &&Box| {
            place.is_within(room) && !taken.iter().any(|other| place.overlaps(*other))
        };
        if let Some(place) = boxes.iter().find(is_free).copied() {
            taken.push(place);
            let baseline = place.bottom - text * 0.2;
            labels.push(Label { text: name, x: place.left + 1.0, baseline });
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: [Pixel; 2] = [(0, 0), (400, 300)];

    #[test]
    fn names_lie_beside_their_points_and_never_on_another() {
        let points: Vec<Pixel> =
            (0..60).map(|at| (20 + at * 37 % 360, 20 + at * 53 % 260)).collect();
        let names: Vec<(Pixel, &str)> = points.iter().map(|&point| (point, "1/1 x 4")).collect();
        let labels = placed(&names, &points, ROOM, 12.0);
        assert!(labels.len() > 5, "{}", labels.len());
        for (at, one) in labels.iter().enumerate() {
            for other in &labels[at + 1..] {
                let apart = (one.x - other.x).abs() >= ems(one.text) * 12.0;
                assert!(
                    apart || (one.baseline - other.baseline).abs() >= 12.0,
                    "{one:?} {other:?}"
                );
            }
        }
    }

    #[test]
    fn a_name_without_room_is_left_out() {
        let at = (200, 150);
        assert_eq!(placed(&[(at, "a")], &[at], ROOM, 12.0).len(), 1);
        assert_eq!(placed(&[(at, "a")], &[at], [(195, 145), (205, 155)], 12.0), []);
        let crowd: Vec<Pixel> = (0..400).map(|at| (at % 20 * 20, at / 20 * 15)).collect();
        assert_eq!(placed(&[(at, "crowded")], &crowd, ROOM, 12.0), []);
    }

    #[test]
    fn at_the_right_edge_it_lies_on_the_left() {
        let label = placed(&[((395, 150), "name")], &[(395, 150)], ROOM, 12.0).remove(0);
        assert!(label.x < 395.0 - MARK);
    }
}
