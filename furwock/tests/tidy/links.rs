//! Links of documents lead somewhere: to a file or folder, from the folder of the document, and to
//! a heading in it. Every document is in the lists of them. (Links to other sites aren't followed.)

use crate::tree::{File, tracked};
use std::collections::{HashMap, HashSet};

/// The site's chapters (scripts/site.sh), and the list for readers on a forge.
const LISTS: [&str; 2] = ["docs/SUMMARY.md", "docs/README.md"];

/// A changelog's old entries link to what there was then.
const LINKS_TO_WHAT_IS_GONE: &str = "CHANGELOG.md";

/// The lines outside code blocks.
fn text(document: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    let lines = document.text.lines().enumerate();
    lines.filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((index + 1, line))
    })
}

/// Where a line's links lead: `[text](target)`, also where the text began in the line before, and
/// the `src="target"` of a picture.
fn targets(line: &str) -> Vec<&str> {
    let end = |rest: &'_ str, at: char| rest.find(at);
    let linked = line.match_indices("](").filter_map(|(at, start)| {
        let is_code = line[..at].matches('`').count() % 2 == 1;
        let rest = &line[at + start.len()..];
        (!is_code).then_some(&rest[..end(rest, ')')?])
    });
    let drawn = line.match_indices("src=\"").filter_map(|(at, start)| {
        let rest = &line[at + start.len()..];
        Some(&rest[..end(rest, '"')?])
    });
    linked.chain(drawn).filter(|target| !target.contains("://")).collect()
}

/// The names that a forge gives a document's headings.
fn anchors(document: &File) -> HashSet<String> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    let headings = text(document).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        title.strip_prefix(' ').filter(|_| title.len() < line.len())
    });
    let name = |title: &str| {
        let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
        let kept: String = title.trim().to_lowercase().chars().filter(kept).collect();
        kept.replace(' ', "-")
    };
    headings
        .map(|title| {
            let name = name(title);
            let before = seen.entry(name.clone()).or_default();
            *before += 1;
            if *before == 1 { name } else { format!("{name}-{}", *before - 1) }
        })
        .collect()
}

/// `target` from the document's folder; none if that is above the repository.
fn path(document: &str, target: &str) -> Option<String> {
    let mut parts: Vec<_> = document.split('/').collect();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            ".." => _ = parts.pop()?,
            "." | "" => {}
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn broken(files: &[File]) -> Vec<String> {
    let documents = || files.iter().filter(|file| file.is("md"));
    let anchors: HashMap<_, _> =
        documents().map(|document| (document.path.as_str(), anchors(document))).collect();
    let is_there = |path: &str| {
        path.is_empty() || files.iter().any(|file| file.path == path || file.is_below(path))
    };
    let leads = |document: &File, target: &str| {
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        let path = match file {
            "" => Some(document.path.clone()),
            file => path(&document.path, file),
        };
        path.is_some_and(|path| {
            let has = || anchors.get(path.as_str()).is_some_and(|names| names.contains(anchor));
            is_there(&path) && (anchor.is_empty() || has())
        })
    };
    let mut found = Vec::new();
    for document in documents().filter(|document| document.path != LINKS_TO_WHAT_IS_GONE) {
        for (number, line) in text(document) {
            let gone = targets(line).into_iter().filter(|target| !leads(document, target));
            found.extend(gone.map(|target| format!("{}:{number}: {target}", document.path)));
        }
    }
    found
}

fn unlisted(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for list in LISTS {
        let list = files.iter().find(|file| file.path == list).expect("it is there");
        let listed: HashSet<_> = text(list).flat_map(|(_, line)| targets(line)).collect();
        let documents = files.iter().filter_map(|file| file.path.strip_prefix("docs/"));
        let documents = documents.filter(|path| path.ends_with(".md") && !path.contains('/'));
        let left_out = documents.filter(|path| {
            !LISTS.contains(&format!("docs/{path}").as_str()) && !listed.contains(path)
        });
        found.extend(left_out.map(|path| format!("{} doesn't list docs/{path}", list.path)));
    }
    found
}

#[test]
fn links_lead_somewhere() {
    let documents = tracked().iter().filter(|file| file.is("md"));
    let links: usize = documents.flat_map(text).map(|(_, line)| targets(line).len()).sum();
    assert!(links > 200, "{links}: they are read wrongly");
    crate::nothing(broken(tracked()), "links to what isn't there");
}

#[test]
fn every_document_is_listed() {
    crate::nothing(unlisted(tracked()), "documents that readers of the lists don't find");
}

#[test]
fn a_broken_link_is_found() {
    let planted = |prose: &str| {
        let other = File::new("b/other.md", "# Its `part`, again\n## Twice\n## Twice\n");
        let document = File::new("docs/a.md", &format!("# Own\n{prose}"));
        broken(&[File::new("src/lib.rs", ""), other, document])
    };
    for there in [
        "[a](../src/lib.rs)",
        "[a](../src) and [b](../b/)",
        "[a](#own)",
        "[a](../b/other.md#its-part-again)",
        "[a](../b/other.md#twice-1)",
        "[a](https://example.org/gone)",
        "`[a](gone)`",
        "```\n[a](gone)\n```",
    ] {
        assert_eq!(planted(there), [""; 0], "{there}");
    }
    for gone in [
        "[a](src/lib.rs)",
        "[a](../../x)",
        "[a](#other)",
        "[a\nb](../b/gone.md)",
        "[a](../b/other.md#gone)",
        "[a](../b/other.md#twice-2)",
        "<img src=\"gone.svg\">",
        "```\n```\n[a](gone)",
    ] {
        assert_eq!(planted(gone).len(), 1, "{gone}");
    }
}

#[test]
fn an_unlisted_document_is_found() {
    let planted = |summary: &str| {
        let lists = [File::new(LISTS[0], summary), File::new(LISTS[1], "[A](a.md)")];
        unlisted(&lists.into_iter().chain([File::new("docs/a.md", "")]).collect::<Vec<_>>())
    };
    assert_eq!(planted("- [A](a.md)"), [""; 0]);
    assert_eq!(planted("- [A](b.md)"), ["docs/SUMMARY.md doesn't list docs/a.md"]);
}
