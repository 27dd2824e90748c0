//! What chroot(8) runs, and where.

use std::ffi::{OsStr, OsString};
use std::path::Path;

#[derive(Debug, PartialEq)]
pub struct ChangedRoot<'a> {
    pub folder: &'a Path,
    pub program: &'a OsStr,
}

/// By the words of a command whose first is chroot's name. None if it runs no program, or a shell
/// of its own choice.
pub fn of(arguments: &[OsString]) -> Option<ChangedRoot<'_>> {
    let mut words = arguments.iter().skip(1).map(OsString::as_os_str);
    let mut folder = words.next()?;
    while folder.as_encoded_bytes().starts_with(b"-") {
        if folder == "--" {
            folder = words.next()?;
            break;
        }
        // Without a "=", the value is a word of its own.
        if folder == "--userspec" || folder == "--groups" {
            words.next()?;
        }
        folder = words.next()?;
    }
    Some(ChangedRoot { folder: Path::new(folder), program: words.next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_chroots_words() {
        let read = |words: &str| {
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            let found = of(&words)?;
            Some((found.folder.to_str()?.to_owned(), found.program.to_str()?.to_owned()))
        };
        let found = Some(("/r".to_owned(), "ls".to_owned()));
        for options in ["", " --userspec=0:0 --skip-chdir", " --groups 1 --userspec 0", " --"] {
            assert_eq!(read(&format!("chroot{options} /r ls -l")), found, "{options}");
        }
        assert_eq!(read("chroot"), None);
        assert_eq!(read("chroot /r"), None);
        assert_eq!(read("chroot --help"), None);
    }
}
