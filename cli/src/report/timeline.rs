//! Lanes over one time: what each was busy with, and when.

use std::fmt::Write as _;

use super::model::Timeline;
use super::text::{escape, paragraphs};

/// The width of a lane in its own units.
const WIDE: f64 = 1000.0;
const COLOURS: usize = 6;

pub fn html(timeline: &Timeline) -> String {
    let mut lanes = String::new();
    for lane in &timeline.lanes {
        let mut bars = String::new();
        for span in &lane.spans {
            let from = (span.from * WIDE).clamp(0.0, WIDE);
            let wide = (span.share * WIDE).clamp(0.0, WIDE - from).max(0.5);
            let _ = write!(
                bars,
                "<rect class=\"lane-{}\" x=\"{from:.1}\" y=\"0\" width=\"{wide:.1}\" \
                 height=\"10\" fill-opacity=\"{:.2}\"/>",
                span.colour.min(COLOURS - 1),
                span.fill.clamp(0.15, 1.0),
            );
        }
        let _ = writeln!(
            lanes,
            "<div class=\"lane\"><span>{}</span><svg viewBox=\"0 0 {WIDE} 10\" \
             preserveAspectRatio=\"none\" aria-hidden=\"true\">{bars}</svg></div>",
            escape(&lane.name),
        );
    }
    let key: String = timeline
        .key
        .iter()
        .enumerate()
        .map(|(colour, name)| {
            let colour = colour.min(COLOURS - 1);
            format!(
                "<li><svg width=\"14\" height=\"14\" aria-hidden=\"true\"><rect class=\"lane-{colour}\" width=\"14\" \
                 height=\"14\"/></svg> {}</li>\n",
                escape(name)
            )
        })
        .collect();
    let [first, last] = timeline.ends.each_ref().map(|end| escape(end));
    format!(
        "<figure class=\"timeline\">\n<figcaption>{}</figcaption>\n<ul class=\"key\">\n{key}</ul>\n\
         {lanes}<div class=\"lane ends\"><span></span><b>{first}</b><b>{last}</b></div>\n{}\
         </figure>\n",
        escape(&timeline.caption),
        paragraphs("note", &timeline.notes),
    )
}
