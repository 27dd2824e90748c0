//! Names of what the assembler defines.

/// The symbol `$name` of this version of the crate.
///
/// The assembler's symbols are global in the program that the crate is linked into, and a program
/// may contain two versions of the crate. Each must find its own: what the names stand for, a
/// thread's slot first of all, differs between versions. So any two versions differ in their names,
/// and the same version twice in one program fails to link. (Libraries that are loaded keep theirs
/// to themselves, because the symbols are hidden.)
macro_rules! versioned {
    ($name:literal) => {
        concat!(
            "furwock_",
            $name,
            "_",
            env!("CARGO_PKG_VERSION_MAJOR"),
            "_",
            env!("CARGO_PKG_VERSION_MINOR"),
            "_",
            env!("CARGO_PKG_VERSION_PATCH")
        )
    };
}

pub(crate) use versioned;
