//! What comes first: the verdict, how many comparisons were won and lost, and how quiet the machine
//! was.

use std::fmt::Write as _;

use super::model::{Finding, Noise, NoiseLevel, Page, Tally, Tone};
use super::text::escape;

/// Findings that are shown at once.
const SHOWN: usize = 5;

pub fn html(page: &Page) -> String {
    let verdict = page.verdict.as_ref();
    let verdict = match (verdict, &page.tally) {
        (Some(verdict), _) => format!("<p class=\"verdict\">{}</p>\n", escape(&verdict.text)),
        (None, Some(tally)) => format!("<p class=\"verdict\">{}</p>\n", escape(&sentence(tally))),
        (None, None) => String::new(),
    };
    let tally = page.tally.as_ref().map_or_else(String::new, bar);
    let noise = page.noise.as_ref().map_or_else(String::new, badge);
    let warnings: String = page
        .warnings
        .iter()
        .map(|warning| format!("<li><b>⚠ Warning</b> <span>{}</span></li>\n", escape(warning)))
        .collect();
    let warnings = match warnings.is_empty() {
        true => warnings,
        false => format!("<ul class=\"warnings\">\n{warnings}</ul>\n"),
    };
    format!("{verdict}{tally}{noise}{warnings}{}", summary(&page.summary))
}

/// The counts as a sentence.
fn sentence(tally: &Tally) -> String {
    let (words, counts) = (&tally.words, &tally.counts);
    let are = |count: usize, word: &str| {
        format!("{count} {} {word}", if count == 1 { "is" } else { "are" })
    };
    format!(
        "Of {}, {}, {}, and {}.",
        tally.counted(),
        are(counts.win, words.win),
        are(counts.loss, words.loss),
        are(counts.neutral, words.neutral),
    )
}

pub fn sign(tone: Tone) -> &'static str {
    match tone {
        Tone::Win => "▲",
        Tone::Neutral => "●",
        Tone::Loss => "▼",
    }
}

pub fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Win => "win",
        Tone::Neutral => "neutral",
        Tone::Loss => "loss",
    }
}

/// One bar of three parts, each with its sign, number and word below.
fn bar(tally: &Tally) -> String {
    if tally.total() == 0 {
        return String::new();
    }
    let (words, counts) = (&tally.words, &tally.counts);
    let parts = [
        (Tone::Win, counts.win, words.win),
        (Tone::Neutral, counts.neutral, words.neutral),
        (Tone::Loss, counts.loss, words.loss),
    ];
    let (mut stripe, mut key) = (String::new(), String::new());
    for (tone, count, word) in parts {
        let (class, sign) = (class(tone), sign(tone));
        if count > 0 {
            let _ =
                write!(stripe, "<i class=\"part-{class}\" style=\"flex-grow:{count}\">{sign}</i>");
        }
        let _ = writeln!(
            key,
            "<li class=\"{class}\"><i class=\"part-{class}\" aria-hidden=\"true\">{sign}</i> \
             <b>{count}</b> {}</li>",
            escape(word)
        );
    }
    format!(
        "<div class=\"tally\">\n<div class=\"stripe\" aria-hidden=\"true\">{stripe}</div>\n<ul \
         aria-label=\"Outcomes of {}\">\n{key}</ul>\n</div>\n",
        escape(&tally.counted())
    )
}

fn badge(noise: &Noise) -> String {
    let (class, sign) = match noise.level {
        NoiseLevel::Quiet => ("quiet", "○"),
        NoiseLevel::Repeated => ("repeated", "◐"),
        NoiseLevel::Kept => ("kept", "◉"),
    };
    format!(
        "<p class=\"badge {class}\"><span aria-hidden=\"true\">{sign}</span> <b>Noise of the \
         machine:</b> {}</p>\n",
        escape(&noise.text)
    )
}

fn summary(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let list = |findings: &[Finding]| {
        let lines: String = findings.iter().map(finding).collect();
        format!("<ul>\n{lines}</ul>\n")
    };
    let (shown, more) = findings.split_at(findings.len().min(SHOWN));
    let more = match more.len() {
        0 => String::new(),
        1 => format!("<details>\n<summary>One more</summary>\n{}</details>\n", list(more)),
        count => {
            format!("<details>\n<summary>{count} more</summary>\n{}</details>\n", list(more))
        }
    };
    format!("<section class=\"summary\">\n<h2>Summary</h2>\n{}{more}</section>\n", list(shown))
}

fn finding(finding: &Finding) -> String {
    let word = match finding.tone {
        Tone::Win => "ahead",
        Tone::Loss => "behind",
        Tone::Neutral => "neutral",
    };
    format!(
        "<li class=\"{}\"><b>{} {word}</b> <span>{}</span></li>\n",
        class(finding.tone),
        sign(finding.tone),
        escape(&finding.text)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outcomes_are_in_signs_and_words_too() {
        let tally = Tally::of(["case", "cases"], [Tone::Win, Tone::Win, Tone::Loss]);
        assert_eq!(
            sentence(&tally),
            "Of 3 cases, 2 are better, 1 is worse, and 0 are inconclusive."
        );
        let bar = bar(&tally);
        for part in ["flex-grow:2\">▲", "flex-grow:1\">▼", "<b>2</b> better", "<b>0</b> inconcl"]
        {
            assert!(bar.contains(part), "{part} in {bar}");
        }
        assert!(!bar.contains("flex-grow:0"));
    }

    #[test]
    fn a_long_summary_is_folded() {
        let finding = |number| Finding { tone: Tone::Win, text: format!("number {number}") };
        let findings: Vec<Finding> = (0..SHOWN + 2).map(finding).collect();
        let summary = summary(&findings);
        let folded = summary.split_once("<details>").expect("a fold").1;
        assert!(folded.contains("2 more") && folded.contains(&format!("number {}", SHOWN + 1)));
        assert!(!folded.contains(&format!("number {}<", SHOWN - 1)));
    }
}
