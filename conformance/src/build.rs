//! Compiles the C programs, and finds or builds the libraries beneath them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const FLAGS: [&str; 5] = ["-O2", "-pthread", "-Wall", "-Wextra", "-Werror"];

/// Where the C sources are.
pub fn sources() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder in the target folder, for what the caller compiles.
pub fn scratch(name: &str) -> PathBuf {
    let folder = target().join("conformance").join(name);
    fs::create_dir_all(&folder).expect("the target folder is writable");
    folder
}

/// Something to compile.
pub struct Artifact {
    compiler: &'static str,
    source: PathBuf,
    output: PathBuf,
    flags: Vec<String>,
}

impl Artifact {
    /// A program in C.
    pub fn program(source: &str, folder: &Path, name: &str) -> Self {
        Self {
            compiler: "cc",
            source: sources().join(source),
            output: folder.join(name),
            flags: Vec::new(),
        }
    }

    /// A shared library in C.
    pub fn library(source: &str, folder: &Path, name: &str) -> Self {
        let mut library = Self::program(source, folder, &format!("lib{name}.so"));
        library.flags = vec!["-shared".into(), "-fPIC".into()];
        library
    }

    /// Compiles it as C++.
    pub fn cpp(mut self) -> Self {
        self.compiler = "c++";
        self
    }

    /// Compiles it for this standard of its language.
    pub fn standard(mut self, name: &str) -> Self {
        self.flags.push(format!("-std={name}"));
        self
    }

    /// Links it with `lib<name>.so` in `folder`, found there when it runs.
    pub fn linked_with(mut self, folder: &Path, name: &str) -> Self {
        let folder = folder.display();
        self.flags.extend([
            format!("-L{folder}"),
            format!("-Wl,-rpath,{folder}"),
            format!("-l{name}"),
        ]);
        self
    }

    /// Adds more sources.
    pub fn and(mut self, more: &[&str]) -> Self {
        self.flags.extend(more.iter().map(|source| sources().join(source).display().to_string()));
        self
    }

    /// Adds arguments to the compiler's, after the source.
    pub fn with(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().map(|flag| flag.to_string()));
        self
    }

    /// Whether its compiler can be called.
    pub fn has_compiler(&self) -> bool {
        are_built()
            || Command::new(self.compiler)
                .arg("--version")
                .output()
                .is_ok_and(|run| run.status.success())
    }

    /// Whether its compiler finds a header of that name for its standard.
    pub fn has_header(&self, name: &str) -> bool {
        let mut compile = Command::new(self.compiler);
        compile.args(&self.flags).args(["-fsyntax-only", "-x", "c++", "-include", name]);
        compile.arg("/dev/null");
        are_built() || compile.output().is_ok_and(|run| run.status.success())
    }

    /// Compiles it, or takes what is there with `CONFORMANCE_BUILT=1`. Panics with what the
    /// compiler says.
    pub fn build(&self) -> PathBuf {
        if are_built() {
            return self.output.clone();
        }
        let mut compile = Command::new(self.compiler);
        compile.args(FLAGS).arg("-o").arg(&self.output).arg(&self.source).args(&self.flags);
        // Before 2.34 dlvsym and timer_create are in libraries of their own.
        compile.args(["-ldl", "-lrt"]);
        let run = compile.output().unwrap_or_else(|error| panic!("{}: {error}", self.compiler));
        let says = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{}: {says}", self.source.display());
        self.output.clone()
    }
}

/// The programs were compiled before, on an older glibc than this one.
fn are_built() -> bool {
    env::var_os("CONFORMANCE_BUILT").is_some_and(|value| value == "1")
}

/// The preload: `$FURWOCK_PRELOAD`, or else the one that is built in the running program's target
/// folder.
pub fn preload() -> &'static Path {
    static PRELOAD: OnceLock<PathBuf> = OnceLock::new();
    PRELOAD.get_or_init(|| {
        let path = match env::var_os("FURWOCK_PRELOAD") {
            Some(path) => PathBuf::from(path),
            None => built("furwock-preload", "libfurwock_preload.so"),
        };
        // The loader only warns of a file that it can't preload, and runs the program without it.
        path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    })
}

/// A file that `package` builds, made now in the running program's target folder: by the release
/// profile, which users run, unless this program is of the debug profile.
pub fn built(package: &str, file: &str) -> PathBuf {
    let release = !profile().ends_with("debug");
    let mut build = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "--quiet"]);
    // A program not by its package: its dependencies' features would be others than in a build of
    // everything, by which the command took two minutes more.
    if file.contains('.') {
        build.args(["--package", package]);
    } else {
        build.args(["--bin", file]);
    }
    build.arg("--manifest-path").arg(sources().join("../Cargo.toml"));
    match cross() {
        Some((processor, folder)) => {
            build.arg("--target").arg(processor).arg("--target-dir").arg(folder);
        }
        None => {
            build.arg("--target-dir").arg(target());
        }
    }
    if release {
        build.arg("--release");
    }
    let run = build.output().expect("cargo can be called");
    let says = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "cargo build -p {package}: {says}");
    target().join(if release { "release" } else { "debug" }).join(file)
}

/// The folder of the running program's profile: `target/debug` for `target/debug/deps/test-1234`.
fn profile() -> PathBuf {
    let program = env::current_exe().expect("/proc is mounted");
    let folder = program.parent().expect("a file is in a folder");
    match folder.file_name() {
        Some(name) if name == "deps" => folder.parent().expect("cargo's layout").to_owned(),
        _ => folder.to_owned(),
    }
}

/// What the running program was built for, if cargo was told so by `--target`, and cargo's folder:
/// `target/aarch64-unknown-linux-gnu/release` is the program's.
fn cross() -> Option<(String, PathBuf)> {
    let target = target();
    let name = target.file_name()?.to_str()?;
    let is_processor = name.starts_with(env::consts::ARCH) && name.contains("-linux-");
    is_processor.then(|| (name.to_owned(), target.parent().expect("cargo's layout").to_owned()))
}

fn target() -> PathBuf {
    profile().parent().expect("cargo's layout").to_owned()
}
