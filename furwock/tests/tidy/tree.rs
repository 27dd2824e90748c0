//! The repository's text files.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{fs, str};

/// A file, by its path from the repository's root.
pub struct File {
    pub path: String,
    pub text: String,
}

impl File {
    #[cfg(test)]
    pub fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    pub fn is(&self, extension: &str) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, found)| found == extension)
    }

    pub fn is_below(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }

    /// The file's name without folders and extension; a `mod.rs` has its folder's.
    pub fn stem(&self) -> &str {
        let path = self.path.strip_suffix("/mod.rs").unwrap_or(&self.path);
        let name = path.rsplit('/').next().unwrap_or(path);
        name.split('.').next().unwrap_or(name)
    }

    /// The lines, numbered from 1, without those of tables that a program writes.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut is_written = false;
        let lines = self.text.lines().enumerate().map(|(index, line)| (index + 1, line));
        lines.filter(move |(_, line)| {
            if line.starts_with("<!-- the table begins") {
                is_written = true;
            } else if line.starts_with("<!-- the table ends") {
                is_written = false;
            }
            !is_written
        })
    }

    /// The lines that people read: all of a document, the comments of a source.
    pub fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().filter_map(|(number, line)| Some((number, self.comment(line)?)))
    }

    fn comment<'l>(&self, line: &'l str) -> Option<&'l str> {
        let line = line.trim();
        if self.is("md") || self.is("3") {
            return Some(line);
        }
        let starts: &[&str] = if self.is("rs") {
            &["///", "//!", "//"]
        } else if ["c", "h", "cpp"].iter().any(|source| self.is(source)) {
            &["/**", "/*", "*", "//"]
        } else {
            &["#"]
        };
        starts.iter().find_map(|start| line.strip_prefix(start))
    }

    /// The lines of a source that aren't comments.
    pub fn code(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter(|line| self.comment(line).is_none())
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it has a folder").to_path_buf()
}

/// The files that git tracks, or would if they were added.
pub fn tracked() -> &'static [File] {
    static FILES: OnceLock<Vec<File>> = OnceLock::new();
    FILES.get_or_init(|| {
        let paths = listed().unwrap_or_else(|| walked(&root()));
        // A deleted file is listed until that is committed; what isn't text has no lines.
        let read = |path: String| Some(File { text: read(&path)?, path });
        let files: Vec<_> = paths.into_iter().filter_map(read).collect();
        assert!(files.len() > 400, "{} files: not the repository", files.len());
        files
    })
}

fn read(path: &str) -> Option<String> {
    String::from_utf8(fs::read(root().join(path)).ok()?).ok()
}

fn listed() -> Option<Vec<String>> {
    let mut git = Command::new("git");
    git.current_dir(root()).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = git.output().ok().filter(|output| output.status.success())?;
    let paths = str::from_utf8(&output.stdout).expect("paths are text").split('\0');
    Some(paths.filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

/// Where there is no git, as in a tarball.
fn walked(folder: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        if path.is_dir() {
            if name != "target" && name != ".git" {
                paths.extend(walked(&path));
            }
        } else if let Some(path) = path.strip_prefix(root()).expect("below the root").to_str() {
            paths.push(path.to_owned());
        }
    }
    paths
}

/// What stands between backticks in a line of prose.
pub fn quoted(prose: &str) -> impl Iterator<Item = &str> {
    // The last part has no closing backtick if their number is odd.
    let whole = prose.matches('`').count() / 2;
    prose.split('`').skip(1).step_by(2).take(whole)
}
