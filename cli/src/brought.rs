//! The library that the command brings with it, if it was built with the feature `bundled`, as
//! `cargo install` needs: it installs executables only. The loader wants a file, so that the
//! library is put into the user's cache.

use std::path::PathBuf;

/// The library of that name: where it is now, or why it can't be anywhere. `None` if the command
/// brings none.
#[cfg(not(feature = "bundled"))]
pub fn library(_name: &str) -> Option<Result<PathBuf, String>> {
    None
}

#[cfg(feature = "bundled")]
pub fn library(name: &str) -> Option<Result<PathBuf, String>> {
    const BUNDLED: [(&str, &[u8]); 2] = [
        (
            "libfurwock_preload.so",
            include_bytes!(concat!(env!("BUNDLED_PRELOADS"), "/libfurwock_preload.so")),
        ),
        (
            "libfurwock_preload_recording.so",
            include_bytes!(concat!(env!("BUNDLED_PRELOADS"), "/libfurwock_preload_recording.so")),
        ),
    ];
    // Another build's folder is another one: what runs has its own library in place.
    const FOLDER: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("BUNDLED_HASH"));
    let (_, bytes) = BUNDLED.iter().find(|(known, _)| *known == name)?;
    Some(match cache::folder() {
        Some(cache) => cache::place(&cache, FOLDER, name, bytes),
        None => {
            Err("furwock's library has no place: neither XDG_CACHE_HOME nor HOME is set".into())
        }
    })
}

#[cfg(any(test, feature = "bundled"))]
#[cfg_attr(not(feature = "bundled"), allow(dead_code, reason = "only its tests are built"))]
mod cache {
    use std::env;
    use std::fs::{self, DirBuilder, OpenOptions};
    use std::io::Write;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
    use std::path::{Path, PathBuf};

    pub fn folder() -> Option<PathBuf> {
        let variable =
            |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))
    }

    /// Puts `bytes` into furwock's folder in `cache`, unless they are there. Only where no other
    /// user may put something else there.
    pub fn place(cache: &Path, build: &str, name: &str, bytes: &[u8]) -> Result<PathBuf, String> {
        let folder = cache.join("furwock").join(build);
        let path = folder.join(name);
        let failed = |error: std::io::Error| {
            format!("furwock's library can't be put to {}: {error}", path.display())
        };
        DirBuilder::new().recursive(true).mode(0o755).create(&folder).map_err(failed)?;
        for folder in [cache, &cache.join("furwock"), &folder] {
            let metadata = folder.symlink_metadata().map_err(failed)?;
            let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
            let is_alone = metadata.mode() & 0o022 == 0;
            if !(is_own && is_alone && metadata.is_dir()) {
                return Err(format!(
                    "furwock's library can't be put to {}: others may write to that folder \
                     (FURWOCK_PRELOAD names another place)",
                    folder.display()
                ));
            }
        }
        let is_there = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
            && fs::read(&path).is_ok_and(|found| found == bytes);
        if !is_there {
            // At once, for processes that start meanwhile.
            let new = folder.join(format!("{name}.{}", std::process::id()));
            let written = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o755)
                .open(&new)
                .and_then(|mut file| file.write_all(bytes))
                .and_then(|()| fs::rename(&new, &path));
            if written.is_err() {
                let _ = fs::remove_file(&new);
            }
            written.map_err(failed)?;
        }
        Ok(path)
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::os::unix::fs::PermissionsExt;

        #[test]
        fn the_library_is_placed_once_and_mended() {
            let cache = env::temp_dir().join(format!("furwock-cache-{}", std::process::id()));
            let placed = |bytes: &[u8]| place(&cache, "1", "library.so", bytes);
            let path = placed(b"one").unwrap();
            let inode = || path.metadata().unwrap().ino();
            let first = inode();
            assert_eq!(placed(b"one").as_ref(), Ok(&path));
            assert_eq!(inode(), first, "it was written again");
            fs::write(&path, "other").unwrap();
            assert_eq!(placed(b"one").as_ref(), Ok(&path));
            assert_eq!(fs::read(&path).unwrap(), b"one");
            assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
            // Where another user may write, it isn't used, though it is as it should be.
            fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
            let refused = placed(b"one").unwrap_err();
            fs::remove_dir_all(&cache).unwrap();
            assert!(refused.contains("others may write"), "{refused}");
        }
    }
}
