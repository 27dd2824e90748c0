//! The dependencies are what deny.toml allows: their licences and where they come from. This is the
//! part of `cargo deny check` that needs no tool and no network; cargo-deny itself knows the
//! advisories, too.

use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Command;

/// What deny.toml says.
#[derive(Debug)]
struct Rules<'d> {
    targets: Vec<&'d str>,
    licenses: Vec<&'d str>,
}

impl<'d> Rules<'d> {
    fn new(deny: &'d str) -> Self {
        for rule in
            ["wildcards = \"deny\"", "unknown-registry = \"deny\"", "unknown-git = \"deny\""]
        {
            assert!(deny.lines().any(|line| line == rule), "deny.toml no longer says {rule}");
        }
        Self { targets: list(deny, "targets"), licenses: list(deny, "allow") }
    }
}

/// The strings of an array.
fn list<'d>(deny: &'d str, name: &str) -> Vec<&'d str> {
    let (_, rest) = deny.split_once(&format!("\n{name} = [")).expect("deny.toml has the list");
    let (array, _) = rest.split_once(']').expect("it ends");
    array.split('"').skip(1).step_by(2).collect()
}

/// Whether licences suffice for an SPDX expression: `OR` binds weaker than `AND`. Old manifests
/// write `/` for `OR`.
fn suffice(licenses: &[&str], expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words: Vec<_> = spaced.split_whitespace().rev().collect();
    let suffices = any(licenses, &mut words);
    assert!(words.is_empty(), "not understood: {expression}");
    suffices
}

fn any(licenses: &[&str], words: &mut Vec<&str>) -> bool {
    let mut suffices = all(licenses, words);
    while words.pop_if(|word| *word == "OR").is_some() {
        suffices |= all(licenses, words);
    }
    suffices
}

fn all(licenses: &[&str], words: &mut Vec<&str>) -> bool {
    let mut suffices = one(licenses, words);
    while words.pop_if(|word| *word == "AND").is_some() {
        suffices &= one(licenses, words);
    }
    suffices
}

fn one(licenses: &[&str], words: &mut Vec<&str>) -> bool {
    let word = words.pop().expect("a licence");
    if word == "(" {
        let suffices = any(licenses, words);
        assert_eq!(words.pop(), Some(")"));
        return suffices;
    }
    // With an exception it is another licence.
    if words.pop_if(|word| *word == "WITH").is_some() {
        let exception = words.pop().expect("an exception");
        return licenses.contains(&format!("{word} WITH {exception}").as_str());
    }
    licenses.contains(&word)
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().expect("a list").iter()
}

/// The ids of packages that something other than tests is built from, as cargo-deny has it.
fn built(metadata: &Value) -> HashSet<&str> {
    let nodes: HashMap<_, _> =
        items(&metadata["resolve"]["nodes"]).map(|node| (node["id"].as_str(), node)).collect();
    let mut waiting: Vec<_> = items(&metadata["workspace_members"]).collect();
    let mut found = HashSet::new();
    while let Some(id) = waiting.pop() {
        if found.insert(id.as_str().expect("an id")) {
            let dependencies = items(&nodes[&id.as_str()]["deps"]);
            let built = dependencies
                .filter(|each| items(&each["dep_kinds"]).any(|kind| kind["kind"] != "dev"));
            waiting.extend(built.map(|each| &each["pkg"]));
        }
    }
    found
}

/// What `cargo metadata` says that the rules forbid.
fn forbidden(metadata: &Value, rules: &Rules) -> Vec<String> {
    let built = built(metadata);
    let mut found = Vec::new();
    for package in items(&metadata["packages"]) {
        let name = format!("{} {}", package["name"], package["version"]).replace('"', "");
        let id = package["id"].as_str().expect("an id");
        match package["license"].as_str() {
            _ if !built.contains(id) => {}
            Some(expression) if suffice(&rules.licenses, expression) => {}
            Some(expression) => found.push(format!("{name}: {expression} isn't allowed")),
            None => found.push(format!("{name} names no licence")),
        }
        let source = package["source"].as_str();
        if source.is_some_and(|source| !source.ends_with("github.com/rust-lang/crates.io-index")) {
            found.push(format!("{name} comes from {}", package["source"]));
        }
        // Crates from elsewhere were checked when they were published.
        let dependencies = package["dependencies"].as_array().expect("a list").iter();
        let wild = dependencies
            .filter(|each| source.is_none() && each["req"] == "*" && each["path"].is_null());
        found.extend(wild.map(|each| format!("{name} takes any version of {}", each["name"])));
    }
    found
}

fn rules_text() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it has a folder");
    std::fs::read_to_string(root.join("deny.toml")).expect("deny.toml is there")
}

#[test]
fn dependencies_are_what_is_allowed() {
    let text = rules_text();
    let rules = Rules::new(&text);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.args(["metadata", "--format-version", "1", "--locked", "--offline"]);
    for target in &rules.targets {
        cargo.args(["--filter-platform", target]);
    }
    let output = cargo.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let found = forbidden(&metadata, &rules);
    assert!(found.is_empty(), "deny.toml forbids:\n{}", found.join("\n"));
}

#[test]
fn what_is_not_allowed_is_found() {
    let text = rules_text();
    let rules = Rules::new(&text);
    let planted = |from: &str, to: &str| {
        let metadata = r#"{
            "packages": [
                {
                    "id": "a", "name": "a", "version": "1.0.0", "license": "MIT", "source": null,
                    "dependencies": [
                        {"name": "b", "req": "^1"}, {"name": "c", "req": "*", "path": "c"}
                    ]
                },
                {
                    "id": "d", "name": "d", "version": "1.0.0", "license": "MPL-2.0",
                    "dependencies": []
                }
            ],
            "workspace_members": ["a"],
            "resolve": {"nodes": [
                {"id": "a", "deps": [{"pkg": "d", "dep_kinds": [{"kind": "dev"}]}]},
                {"id": "d", "deps": []}
            ]}
        }"#;
        assert!(metadata.contains(from));
        forbidden(&serde_json::from_str(&metadata.replace(from, to)).unwrap(), &rules)
    };
    assert_eq!(planted("MIT", "MIT"), [""; 0]);
    assert_eq!(planted("MIT", "GPL-3.0"), ["a 1.0.0: GPL-3.0 isn't allowed"]);
    assert_eq!(planted("\"dev\"", "null"), ["d 1.0.0: MPL-2.0 isn't allowed"]);
    assert_eq!(planted("\"MIT\"", "null"), ["a 1.0.0 names no licence"]);
    assert_eq!(planted("^1", "*"), ["a 1.0.0 takes any version of \"b\""]);
    let elsewhere = "\"source\": \"git+https://example.org/a\"";
    assert_eq!(planted("\"source\": null", elsewhere).len(), 1);
}

#[test]
fn expressions_are_read_as_spdx_has_them() {
    let allowed = |expression| suffice(&["A", "B", "C WITH D"], expression);
    for suffices in ["A", "X OR A", "A/X", "A AND B", "X AND Y OR A", "(X OR A) AND B", "C WITH D"]
    {
        assert!(allowed(suffices), "{suffices}");
    }
    for lacks in ["X", "X OR Y", "A AND X", "A AND (X OR Y)", "X AND A OR Y", "C", "A WITH D"] {
        assert!(!allowed(lacks), "{lacks}");
    }
}
