//! Whose dynamic loader a program has, and whether that can load the library.

use std::fs::{self, File};
use std::path::Path;

use super::root::Root;
use crate::elf;

const MUSL: &str = "it is linked with musl, whose locks have other layouts: furwock serves \
                    programs of glibc's only";
/// How the names of glibc's loaders begin.
const GLIBCS: [&str; 5] = ["ld-linux", "ld-lsb", "ld-2.", "ld.so", "ld64.so"];
/// The library with most of what furwock's needs, and all of it from glibc 2.34 on.
const LIBC: &str = "libc.so.6";

/// Why the loader can't load the library, if it can't. A loader that is missing is the kernel's to
/// report, but for musl's: that comes to the same.
pub fn obstacle(loader: &Path, root: &Root, library: &Path) -> Option<String> {
    if is_musls(loader.file_name()?.to_str()?) {
        return Some(MUSL.to_owned());
    }
    obstacle_of(loader, &root.outside(loader).ok()?, library)
}

/// The same for a loader that this process sees at `found`.
pub fn obstacle_of(loader: &Path, found: &Path, library: &Path) -> Option<String> {
    let real = found.canonicalize().ok()?;
    // Alpine's stand-in for glibc's has glibc's name, and leads to musl's.
    let paths = [loader, &real];
    let names = || paths.iter().filter_map(|path| path.file_name()?.to_str());
    if names().any(is_musls) {
        return Some(MUSL.to_owned());
    }
    let libc = real.with_file_name(LIBC);
    let Ok(file) = File::open(&libc) else {
        let is_glibcs = names().any(|name| GLIBCS.iter().any(|start| name.starts_with(start)));
        let loader = loader.display();
        let says =
            format!("its loader, {loader}, isn't glibc's: furwock serves programs of glibc's only");
        return (!is_glibcs).then_some(says);
    };
    let missing = missing(&file, &File::open(library).ok()?)?;
    let version = version(&libc).unwrap_or_else(|| "an older one".to_owned());
    Some(format!(
        "its loader, {}, is that of glibc {version}, which has no {missing}: build furwock on a \
         system as old (docs/platforms.md)",
        real.display()
    ))
}

fn is_musls(name: &str) -> bool {
    name.starts_with("ld-musl") || name.starts_with("libgcompat")
}

/// The newest version that the library needs and this libc doesn't have. The loader would refuse to
/// start the program.
fn missing(libc: &File, library: &File) -> Option<String> {
    let has = elf::versions::defined(libc)?;
    let needs = elf::versions::needed(library, LIBC)?;
    let missing = needs.into_iter().filter(|version| !has.contains(version));
    missing.max_by_key(|version| numbers(version))
}

fn numbers(version: &str) -> Vec<u32> {
    version.split(['_', '.']).filter_map(|number| number.parse().ok()).collect()
}

/// As the file says it.
fn version(libc: &Path) -> Option<String> {
    const BANNER: &[u8] = b"GNU C Library ";
    const BEFORE: &str = "release version ";
    let bytes = fs::read(libc).ok()?;
    let banner = &bytes[memchr::memmem::find(&bytes, BANNER)?..];
    let line = banner.split(|byte| matches!(byte, b'\n' | 0)).next()?;
    let line = String::from_utf8_lossy(line);
    let (_, version) = line.split_once(BEFORE)?;
    Some(version.trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        assert!(numbers("GLIBC_2.34") > numbers("GLIBC_2.4"));
        assert!(numbers("GLIBC_2.2.5") < numbers("GLIBC_2.14"));
    }
}
