//! `furwock run`: it changes only LD_PRELOAD in the program's environment, and every failure has
//! its status and its message.

mod common;

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{FURWOCK, Scratch, Text};

/// A failure of furwock's own: the status, one line, and nothing ran.
fn assert_refused(output: &Output, status: i32, says: &str) {
    let error = output.err();
    assert_eq!(output.status.code(), Some(status), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.starts_with("furwock: ") && error.contains(says), "{error}");
    assert_eq!(output.out(), "");
}

#[test]
fn passes_the_exit_status_on() {
    let scratch = Scratch::new("passes_the_exit_status_on");
    for status in [0, 1, 42, 125] {
        let script = format!("exit {status}");
        let run = scratch.furwock(&["run", "sh", "-c", &script]).output().unwrap();
        assert_eq!(run.status.code(), Some(status));
    }
}

#[test]
fn passes_death_by_signal_on() {
    let scratch = Scratch::new("passes_death_by_signal_on");
    let run = scratch.furwock(&["run", "sh", "-c", "kill -SEGV $$"]).output().unwrap();
    assert_eq!(run.status.signal(), Some(libc::SIGSEGV));
}

#[test]
fn keeps_the_process_id() {
    let scratch = Scratch::new("keeps_the_process_id");
    let command = ["run", "sh", "-c", "echo $$"];
    let child = scratch.furwock(&command).stdout(Stdio::piped()).spawn().unwrap();
    let id = child.id();
    assert_eq!(child.wait_with_output().unwrap().out().trim(), id.to_string());
}

#[test]
fn passes_the_standard_streams_on() {
    let scratch = Scratch::new("passes_the_standard_streams_on");
    let mut command = scratch.furwock(&["run", "sh", "-c", "cat; echo error >&2"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"input").unwrap();
    let run = child.wait_with_output().unwrap();
    assert_eq!((run.out(), run.err()), ("input".to_owned(), "error\n".to_owned()));
}

#[test]
fn leaves_closed_streams_and_sigpipe_as_they_were() {
    let scratch = Scratch::new("leaves_closed_streams_and_sigpipe_as_they_were");
    let stub = scratch.stub();
    let shell = |script: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script, "sh", FURWOCK]).env("FURWOCK_PRELOAD", &stub);
        shell.output().unwrap().out()
    };
    let ignored = |script| {
        let line = shell(script);
        let mask = line.split_whitespace().nth(1).unwrap_or_else(|| panic!("{line}"));
        u64::from_str_radix(mask, 16).unwrap() & (1 << (libc::SIGPIPE - 1)) != 0
    };
    assert!(ignored("trap '' PIPE; exec \"$1\" run grep SigIgn /proc/self/status"));
    assert!(!ignored("exec \"$1\" run grep SigIgn /proc/self/status"));
    let closed = "exec \"$1\" run sh -c 'test -e /proc/$$/fd/0 || echo closed' <&-";
    assert_eq!(shell(closed), "closed\n");
}

#[test]
fn prepends_to_ld_preload() {
    let scratch = Scratch::new("prepends_to_ld_preload");
    let stub = scratch.stub();
    let other = scratch.copy(stub.to_str().unwrap(), "other.so");
    let show = ["run", "sh", "-c", "echo $LD_PRELOAD"];
    let alone = scratch.furwock(&show).output().unwrap();
    assert_eq!(alone.out().trim(), stub.to_str().unwrap());
    let both = scratch.furwock(&show).env("LD_PRELOAD", &other).output().unwrap();
    assert_eq!(both.out().trim(), format!("{}:{}", stub.display(), other.display()));
    assert_eq!(both.err(), "", "the loader has nothing to complain about");
}

#[test]
fn no_children_sets_a_variable_for_the_library() {
    let scratch = Scratch::new("no_children_sets_a_variable_for_the_library");
    let printed = |options: &[&str], inherited: Option<&str>| {
        let show = ["sh", "-c", "echo ${FURWOCK_CHILDREN-unset}"];
        let mut command = scratch.furwock(&[&["run"], options, &["--"], &show].concat());
        command.env_remove("FURWOCK_CHILDREN");
        if let Some(value) = inherited {
            command.env("FURWOCK_CHILDREN", value);
        }
        command.output().unwrap().out()
    };
    assert_eq!(printed(&["--no-children"], None), "0\n");
    assert_eq!(printed(&["--no-children"], Some("1")), "0\n");
    assert_eq!(printed(&[], None), "unset\n");
    assert_eq!(printed(&[], Some("0")), "0\n");
}

#[test]
fn the_library_gets_loaded() {
    let scratch = Scratch::new("the_library_gets_loaded");
    let run = scratch.furwock(&["run", "cat", "/proc/self/maps"]).output().unwrap();
    assert!(run.out().contains("/stub.so"));
}

#[test]
fn leaves_the_programs_arguments_alone() {
    let scratch = Scratch::new("leaves_the_programs_arguments_alone");
    let printed = |arguments: &[&str]| scratch.furwock(arguments).output().unwrap().out();
    let expected = "--force\n--\n-n\n--help\n\n";
    let rest = ["printf", "%s\\n", "--force", "--", "-n", "--help", ""];
    assert_eq!(printed(&[&["run"], &rest[..]].concat()), expected);
    assert_eq!(printed(&[&["run", "--"], &rest[..]].concat()), expected);
    assert_eq!(printed(&[&["run", "--force", "--"], &rest[..]].concat()), expected);
}

#[test]
fn bad_usage_is_125() {
    let scratch = Scratch::new("bad_usage_is_125");
    for arguments in [&["run"][..], &["run", "--nonsense", "true"], &["run", "--"]] {
        assert_eq!(scratch.furwock(arguments).output().unwrap().status.code(), Some(125));
    }
    let help = scratch.furwock(&["run", "--help"]).output().unwrap();
    assert_eq!(help.status.code(), Some(0));
    for word in ["FURWOCK_PRELOAD", "FURWOCK_FUTEX", "125", "126", "127"] {
        assert!(help.out().contains(word), "{}", help.out());
    }
}

#[test]
fn a_missing_library_is_125_and_names_each_place() {
    let scratch = Scratch::new("a_missing_library_is_125_and_names_each_place");
    let copy = scratch.copy(FURWOCK, "bin/furwock");
    let run = Command::new(&copy).args(["run", "true"]).env_remove("FURWOCK_PRELOAD").output();
    let run = run.unwrap();
    assert_refused(&run, 125, scratch.path("bin/libfurwock_preload.so").to_str().unwrap());
    assert!(run.err().contains("../lib/furwock/libfurwock_preload.so"));

    let empty = Command::new(&copy).args(["run", "true"]).env("FURWOCK_PRELOAD", "").output();
    assert_eq!(empty.unwrap().err(), run.err(), "empty is as good as unset");

    let elsewhere = common::furwock_with(Path::new("/nonexistent/f.so"), &["run", "true"]);
    assert_refused(&{ elsewhere }.output().unwrap(), 125, "/nonexistent/f.so");
}

#[test]
fn finds_the_library_where_it_is_built_and_where_it_is_installed() {
    let scratch = Scratch::new("finds_the_library_where_it_is_built_and_where_it_is_installed");
    let stub = scratch.stub();
    for place in ["built/libfurwock_preload.so", "lib/furwock/libfurwock_preload.so"] {
        let copy = scratch.copy(FURWOCK, "built/furwock");
        let library = scratch.copy(stub.to_str().unwrap(), place);
        let mut command = Command::new(&copy);
        command.args(["run", "sh", "-c", "echo $LD_PRELOAD"]).env_remove("FURWOCK_PRELOAD");
        command.env_remove("LD_PRELOAD");
        assert_eq!(command.output().unwrap().out().trim(), library.to_str().unwrap());
        fs::remove_file(&library).unwrap();
    }
}

#[test]
fn a_library_path_that_the_loader_would_split_is_125() {
    let scratch = Scratch::new("a_library_path_that_the_loader_would_split_is_125");
    let library = scratch.copy(scratch.stub().to_str().unwrap(), "a b.so");
    let run = common::furwock_with(&library, &["run", "true"]).output().unwrap();
    assert_refused(&run, 125, "space");
}

/// An ELF file of this machine whose loader doesn't exist, and whose tables claim the greatest
/// sizes.
fn boundless_elf(section_count: u64) -> Vec<u8> {
    const LOADER: &[u8] = b"/nonexistent/ld-linux.so\0";
    const HUGE: u64 = 1 << 39;
    let own = fs::read("/proc/self/exe").unwrap();
    let mut elf = own[..64].to_vec();
    let put = |elf: &mut Vec<u8>, at: usize, bytes: &[u8]| {
        elf.resize(elf.len().max(at + bytes.len()), 0);
        elf[at..at + bytes.len()].copy_from_slice(bytes);
    };
    // The header: one segment, and as many sections as the first of them says.
    put(&mut elf, 32, &64u64.to_le_bytes());
    put(&mut elf, 40, &512u64.to_le_bytes());
    put(&mut elf, 56, &1u16.to_le_bytes());
    put(&mut elf, 60, &0u16.to_le_bytes());
    put(&mut elf, 62, &0u16.to_le_bytes());
    // PT_INTERP.
    put(&mut elf, 64, &3u32.to_le_bytes());
    put(&mut elf, 72, &256u64.to_le_bytes());
    put(&mut elf, 96, &(LOADER.len() as u64).to_le_bytes());
    put(&mut elf, 256, LOADER);
    let mut section = |index: usize, kind: u32, size: u64, link: u32| {
        let at = 512 + 64 * index;
        put(&mut elf, at + 4, &kind.to_le_bytes());
        put(&mut elf, at + 24, &1024u64.to_le_bytes());
        put(&mut elf, at + 32, &size.to_le_bytes());
        put(&mut elf, at + 40, &link.to_le_bytes());
        put(&mut elf, at + 56, &[0; 8]);
    };
    let (symbols, strings, dynamic, dynamic_symbols) = (2, 3, 6, 11);
    section(0, 0, section_count, 0);
    section(1, strings, HUGE, 0);
    section(2, symbols, HUGE, 1);
    section(3, dynamic, HUGE, 1);
    section(4, dynamic_symbols, HUGE, 1);
    elf.resize(1024, 0);
    elf
}

/// The sizes that a file claims cost no memory, whether it doesn't have them or is a file with
/// holes.
#[test]
fn a_boundless_program_is_refused_by_the_kernel_alone() {
    let scratch = Scratch::new("a_boundless_program_is_refused_by_the_kernel_alone");
    let stub = scratch.stub();
    for section_count in [5, 1 << 32, u64::MAX] {
        for holes in [false, true] {
            let program = scratch.executable(boundless_elf(section_count), "boundless");
            if holes {
                let grown = Command::new("truncate").args(["-s", "600G"]).arg(&program).status();
                assert!(grown.unwrap().success());
            }
            let script = "ulimit -v 500000; exec \"$1\" run \"$2\"";
            let mut shell = Command::new("timeout");
            shell.args(["20", "sh", "-c", script, "sh", FURWOCK]).arg(&program);
            let run = shell.env("FURWOCK_PRELOAD", &stub).output().unwrap();
            assert_refused(&run, 126, "its interpreter or dynamic loader is missing");
            fs::remove_file(&program).unwrap();
        }
    }
}

#[test]
fn a_missing_program_is_127() {
    let scratch = Scratch::new("a_missing_program_is_127");
    for program in ["furwock-no-such-program", "./no/such/program", ""] {
        let run = scratch.furwock(&["run", program]).output().unwrap();
        assert_refused(&run, 127, "not found");
    }
}

/// The dynamic loader would say so, and run the program on glibc.
#[test]
fn a_library_that_is_none_is_refused() {
    let scratch = Scratch::new("a_library_that_is_none_is_refused");
    let text = scratch.path("text.so");
    fs::write(&text, "text").unwrap();
    let run = Command::new(FURWOCK).args(["run", "true"]).env("FURWOCK_PRELOAD", text).output();
    assert_refused(&run.unwrap(), 125, "not furwock's library");
}

#[test]
fn what_cannot_be_executed_is_126() {
    let scratch = Scratch::new("what_cannot_be_executed_is_126");
    let text = scratch.executable("neither ELF nor script\n", "text");
    let lost = scratch.executable("#!/no/such/interpreter\n", "lost");
    let run = |program: &Path| scratch.furwock(&["run", program.to_str().unwrap()]).output();
    assert_refused(&run(&text).unwrap(), 126, "format");
    assert_refused(&run(&lost).unwrap(), 126, "interpreter");
    assert_refused(&run(Path::new("/etc/passwd")).unwrap(), 126, "permission denied");
    assert_refused(&run(Path::new("/tmp")).unwrap(), 126, "is a directory");
}

#[test]
fn a_static_program_is_refused_unless_forced() {
    let scratch = Scratch::new("a_static_program_is_refused_unless_forced");
    let source = "#include <unistd.h>\nint main(void) { return write(1, \"ran\", 3) != 3; }";
    for (name, flag) in [("static", "-static"), ("static-pie", "-static-pie")] {
        if !scratch.compile(source, name, &[flag]) {
            eprintln!("SKIPPED: cc cannot link with {flag} here");
            continue;
        }
        let program = scratch.path(name);
        let program = program.to_str().unwrap();
        assert_refused(&scratch.furwock(&["run", program]).output().unwrap(), 125, "statically");
        let forced = scratch.furwock(&["run", "--force", program]).output().unwrap();
        assert_eq!((forced.status.code(), forced.out()), (Some(0), "ran".to_owned()));

        let script = scratch.executable(format!("#!{program}\n"), "script");
        let run = scratch.furwock(&["run", script.to_str().unwrap()]).output().unwrap();
        assert_refused(&run, 125, "statically");
    }
}

#[test]
fn scripts_run_if_their_interpreter_can() {
    let scratch = Scratch::new("scripts_run_if_their_interpreter_can");
    for line in ["#!/bin/sh", "#!/usr/bin/env sh", "#! /usr/bin/env -S sh -e"] {
        let script = scratch.executable(format!("{line}\necho ran\n"), "script");
        let run = scratch.furwock(&["run", script.to_str().unwrap()]).output().unwrap();
        assert_eq!(run.out(), "ran\n", "{line}: {}", run.err());
    }
}

/// A copy of a real program with some bytes changed.
fn forged(scratch: &Scratch, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = fs::read("/bin/true").unwrap();
    change(&mut bytes);
    scratch.executable(bytes, name).to_str().unwrap().to_owned()
}

#[test]
fn another_platform_is_refused() {
    let scratch = Scratch::new("another_platform_is_refused");
    // The low byte of e_machine; 22 is S/390.
    let foreign = forged(&scratch, "foreign", |bytes| bytes[18] = 22);
    let run = scratch.furwock(&["run", &foreign]).output().unwrap();
    assert_refused(&run, 125, "it is built for 64-bit S/390");
}

#[test]
fn a_program_linked_with_musl_is_refused() {
    let scratch = Scratch::new("a_program_linked_with_musl_is_refused");
    let musl = forged(&scratch, "musl", |bytes| {
        let loader = bytes.windows(7).position(|window| window == b"/ld-lin").unwrap();
        bytes[loader..loader + 8].copy_from_slice(b"/ld-musl");
    });
    let run = scratch.furwock(&["run", &musl]).output().unwrap();
    assert_refused(&run, 125, "linked with musl");
    assert!(run.err().contains("glibc's only"), "{}", run.err());
}

/// A program, and a loader for it that has `libc` beside it.
fn on_a_loader(scratch: &Scratch, loader: &str, libc: Option<&str>) -> String {
    let own = own_loader();
    let loader = scratch.copy(own.to_str().unwrap(), loader);
    if let Some(source) = libc {
        let map = scratch.path("map");
        fs::write(&map, "GLIBC_2.0 { __libc_early; };").unwrap();
        let folder = loader.parent().unwrap().strip_prefix(scratch.path("")).unwrap();
        let name = folder.join("libc.so.6");
        let version = format!("-Wl,--version-script={}", map.display());
        let flags = ["-shared", "-fPIC", "-nostdlib", &version, "-Wl,-soname,libc.so.6"];
        assert!(scratch.compile(source, name.to_str().unwrap(), &flags));
    }
    let flag = format!("-Wl,--dynamic-linker={}", loader.display());
    assert!(scratch.compile("int main(void) { return 0; }", "on-a-loader", &[&flag]));
    scratch.path("on-a-loader").to_str().unwrap().to_owned()
}

/// This program's own loader.
fn own_loader() -> std::path::PathBuf {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let is_loader =
        |path: &&str| path.rsplit('/').next().is_some_and(|name| name.starts_with("ld-"));
    paths.filter(is_loader).map(Into::into).next().unwrap()
}

#[test]
fn a_program_on_an_older_glibc_than_the_library_is_refused() {
    let scratch = Scratch::new("a_program_on_an_older_glibc_than_the_library_is_refused");
    let old = "int __libc_early; const char banner[] = \"GNU C Library (Test) stable release \"\n\
               \"version 2.17.\\nMore.\\n\";";
    let program = on_a_loader(&scratch, "old/ld-linux-x86-64.so.2", Some(old));
    let source = "#include <stdlib.h>\nint stub(void) { return getenv(\"x\") != 0; }";
    assert!(scratch.compile(source, "needs.so", &["-shared", "-fPIC"]));
    let run = |program: &str| {
        common::furwock_with(&scratch.path("needs.so"), &["run", program]).output().unwrap()
    };
    let refused = run(&program);
    assert_refused(&refused, 125, "is that of glibc 2.17, which has no GLIBC_2.");
    let script = scratch.executable(format!("#!{program}\n"), "script");
    assert_refused(&run(script.to_str().unwrap()), 125, "glibc 2.17");
    // On this system's own glibc it can be loaded.
    assert_eq!(run("true").status.code(), Some(0));
}

#[test]
fn a_library_for_a_newer_glibc_is_refused_with_this_ones_version() {
    let scratch = Scratch::new("a_library_for_a_newer_glibc_is_refused_with_this_ones_version");
    fs::write(scratch.path("map"), "GLIBC_2.99 { furwock_future; };").unwrap();
    let map = format!("-Wl,--version-script={}", scratch.path("map").display());
    let flags = ["-shared", "-fPIC", "-nostdlib", &map, "-Wl,-soname,libc.so.6"];
    assert!(scratch.compile("int furwock_future;", "libfuture.so", &flags));
    let source = "extern int furwock_future;\nint stub(void) { return furwock_future; }";
    let future = scratch.path("libfuture.so");
    // Without the C library, which has the same name.
    let flags = ["-shared", "-fPIC", "-nostdlib", "-Wl,--no-as-needed", future.to_str().unwrap()];
    assert!(scratch.compile(source, "needs.so", &flags));
    let run = common::furwock_with(&scratch.path("needs.so"), &["run", "true"]).output().unwrap();
    assert_refused(&run, 125, "which has no GLIBC_2.99: build furwock on a system as old");
    // SAFETY: a string that lives as long as the process.
    let own = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    assert!(run.err().contains(&format!("glibc {},", own.to_str().unwrap())), "{}", run.err());
}

#[test]
fn a_loader_of_another_libc_is_named() {
    let scratch = Scratch::new("a_loader_of_another_libc_is_named");
    let odd = on_a_loader(&scratch, "odd/linker64", None);
    let run = scratch.furwock(&["run", &odd]).output().unwrap();
    assert_refused(&run, 125, "odd/linker64, isn't glibc's");

    // As on Alpine, where glibc's name leads to musl.
    let gcompat = on_a_loader(&scratch, "alpine/libgcompat.so.0", None);
    let link = scratch.path("alpine/ld-linux-x86-64.so.2");
    std::os::unix::fs::symlink("libgcompat.so.0", &link).unwrap();
    let flag = format!("-Wl,--dynamic-linker={}", link.display());
    assert!(scratch.compile("int main(void) { return 0; }", "on-a-loader", &[&flag]));
    let run = scratch.furwock(&["run", &gcompat]).output().unwrap();
    assert_refused(&run, 125, "linked with musl");
}

#[test]
fn a_loader_that_is_called_by_its_name_runs() {
    let scratch = Scratch::new("a_loader_that_is_called_by_its_name_runs");
    let loader = own_loader();
    let cat = if Path::new("/usr/bin/cat").exists() { "/usr/bin/cat" } else { "/bin/cat" };
    let words = ["run", loader.to_str().unwrap(), cat, "/proc/self/maps"];
    let run = scratch.furwock(&words).output().unwrap();
    assert!(run.out().contains("/stub.so"), "{} {}", run.out(), run.err());
}

/// What chroot(8) starts is looked at where it will run.
#[test]
fn a_program_in_another_root_is_looked_at_there() {
    let scratch = Scratch::new("a_program_in_another_root_is_looked_at_there");
    let source = "#include <unistd.h>\nint main(void) { return write(1, \"ran\", 3) != 3; }";
    assert!(scratch.compile(source, "program", &[]));
    let (program, stub) = (scratch.path("program"), scratch.stub());
    let stub = stub.to_str().unwrap();
    let root = scratch.path("root");
    let root = root.to_str().unwrap();
    scratch.copy(program.to_str().unwrap(), "root/bin/program");
    let run = |program: &str| {
        scratch.furwock(&["run", "chroot", "--userspec=0:0", root, program]).output().unwrap()
    };
    let refused = run("/bin/program");
    assert_refused(&refused, 125, "root/bin/program: a preload cannot act on it: below ");
    assert!(refused.err().contains(&format!("there is no {stub}: install")), "{}", refused.err());

    let into_root = |path: &str| scratch.copy(path, &format!("root{path}"));
    into_root(stub);
    if scratch.compile(source, "root/bin/static", &["-static"]) {
        assert_refused(&run("/bin/static"), 125, "root/bin/static: a preload cannot act on it: it");
        scratch.executable("#!/bin/static\n", "root/bin/script");
        assert_refused(&run("script"), 125, "statically");
    }
    // By absolute links, which lead elsewhere outside.
    std::os::unix::fs::symlink("/bin/static", scratch.path("root/bin/link")).unwrap();
    assert_refused(&run("/bin/link"), 125, "statically");

    let loads = Command::new("ldd").arg(&program).output().unwrap().out();
    for path in loads.split_whitespace().filter(|word| word.starts_with('/')) {
        into_root(path);
    }
    let ran = run("/bin/program");
    if ran.err().starts_with("chroot: ") {
        eprintln!("not run there: {}", ran.err());
        return;
    }
    assert_eq!((ran.out(), ran.err()), ("ran".to_owned(), String::new()));
}

#[test]
fn a_program_on_a_sanitizers_library_is_refused() {
    let scratch = Scratch::new("a_program_on_a_sanitizers_library_is_refused");
    for (library, says) in [
        ("libtsan.so.2", "ThreadSanitizer"),
        ("libclang_rt.tsan-x86_64.so", "ThreadSanitizer"),
        ("libasan.so.8", "AddressSanitizer"),
        ("libclang_rt.asan-x86_64.so", "AddressSanitizer"),
    ] {
        // The needed name is the library's own, if it has one.
        let soname = format!("-Wl,-soname,{library}");
        assert!(scratch.compile("int nothing;", library, &["-shared", "-fPIC", &soname]));
        let name = format!("needs-{library}");
        let path = scratch.path(library);
        let flags = ["-Wl,--no-as-needed", path.to_str().unwrap()];
        assert!(scratch.compile("int main(void) { return 0; }", &name, &flags));
        let program = scratch.path(&name);
        let run = scratch.furwock(&["run", program.to_str().unwrap()]).output().unwrap();
        assert_refused(&run, 125, says);
        assert!(!says.starts_with('A') || run.err().contains(library), "{}", run.err());
    }
}

#[test]
fn a_program_with_thread_sanitizer_linked_in_is_refused() {
    let scratch = Scratch::new("a_program_with_thread_sanitizer_linked_in_is_refused");
    let source = "void __tsan_init(void) {}\nint main(void) { return 0; }";
    assert!(scratch.compile(source, "linked-in", &[]));
    let program = scratch.path("linked-in");
    let program = program.to_str().unwrap();
    let run = scratch.furwock(&["run", program]).output().unwrap();
    assert_refused(&run, 125, "ThreadSanitizer");
    let forced = scratch.furwock(&["run", "--force", program]).output().unwrap();
    assert_eq!((forced.status.code(), forced.err()), (Some(0), String::new()));

    let only_calls = "extern void __tsan_init(void) __attribute__((weak));\n\
                      int main(void) { return __tsan_init ? 1 : 0; }";
    assert!(scratch.compile(only_calls, "only-calls", &[]));
    let program = scratch.path("only-calls");
    let run = scratch.furwock(&["run", program.to_str().unwrap()]).output().unwrap();
    assert_eq!((run.status.code(), run.err()), (Some(0), String::new()));
}

#[test]
fn valgrind_is_refused_unless_forced() {
    let scratch = Scratch::new("valgrind_is_refused_unless_forced");
    let valgrind = scratch.executable("#!/bin/sh\necho ran\n", "valgrind");
    let valgrind = valgrind.to_str().unwrap();
    let run = scratch.furwock(&["run", valgrind, "true"]).output().unwrap();
    assert_refused(&run, 125, "without furwock");
    let forced = scratch.furwock(&["run", "--force", valgrind, "true"]).output().unwrap();
    assert_eq!(forced.out(), "ran\n");
}

#[test]
fn a_program_that_changes_identity_is_refused() {
    let scratch = Scratch::new("a_program_that_changes_identity_is_refused");
    let program = scratch.copy("/bin/true", "true");
    let setuid = || fs::set_permissions(&program, PermissionsExt::from_mode(0o4755)).unwrap();
    let run = || scratch.furwock(&["run", program.to_str().unwrap()]).output().unwrap();
    setuid();
    assert_eq!(run().status.code(), Some(0), "setuid to the caller changes nothing");
    if chown(&program, Some(65534), None).is_err() {
        eprintln!("SKIPPED: only root can give a file away");
        return;
    }
    setuid();
    assert_refused(&run(), 125, "setuid");
}

/// `furwock run --monitor` with the library that was built. None, with one line, where BPF isn't
/// allowed.
fn monitored(script: &str) -> Option<Output> {
    let run =
        Command::new(FURWOCK).args(["run", "--monitor", "sh", "-c", script]).output().unwrap();
    if run.err().contains("--monitor: ") {
        eprintln!("skipped: {}", run.err().trim());
        return None;
    }
    Some(run)
}

#[test]
fn a_monitored_program_takes_up_the_map() {
    let script = "echo $FURWOCK_MONITOR; grep bpf /proc/self/maps";
    let Some(run) = monitored(script) else { return };
    let (out, err) = (run.out(), run.err());
    assert_eq!((run.status.code(), err.as_str()), (Some(0), ""), "{out}");
    let descriptor: i32 = out.lines().next().unwrap().parse().unwrap();
    assert!(descriptor >= 100, "{out}");
    // The library in grep's own process maps only what knows its threads.
    let maps: Vec<&str> = out.lines().filter(|line| line.contains("bpf-map")).collect();
    assert!(!maps.is_empty() && maps.iter().all(|map| map.contains(" r--s ")), "{out}");
}

#[test]
fn programs_without_the_descriptor_run_without_the_monitor() {
    let script = "eval \"exec $FURWOCK_MONITOR<&-\"; grep bpf /proc/self/maps; echo ran";
    let Some(run) = monitored(&format!("exec bash -c '{script}'")) else { return };
    assert_eq!(run.out().lines().last(), Some("ran"), "{}", run.err());
    assert!(!run.out().contains("bpf-map"), "{}", run.out());
    // Another file that has got the number.
    let script =
        "eval \"exec $FURWOCK_MONITOR</proc/self/exe\"; grep bpf /proc/self/maps; echo ran";
    let run = monitored(&format!("exec bash -c '{script}'")).unwrap();
    assert_eq!((run.out(), run.err()), ("ran\n".to_owned(), String::new()));
}

#[test]
fn a_monitored_program_ends_as_it_does_otherwise() {
    for (script, status, signal) in [("exit 42", Some(42), None), ("kill -TERM $$", None, Some(15))]
    {
        let Some(run) = monitored(script) else { return };
        assert_eq!((run.status.code(), run.status.signal()), (status, signal), "{script}");
    }
}

#[test]
fn where_no_monitor_is_allowed_the_program_runs_without_one() {
    let scratch = Scratch::new("where_no_monitor_is_allowed_the_program_runs_without_one");
    let mut command = scratch.furwock(&["run", "--monitor", "sh", "-c", "echo $FURWOCK_MONITOR."]);
    // SAFETY: one system call between fork and exec. Without the bounding set's capabilities, root
    // has none after exec.
    unsafe {
        use std::os::unix::process::CommandExt;
        command.pre_exec(|| {
            for capability in [21, 38, 39] {
                libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
            }
            Ok(())
        });
    }
    let run = command.output().unwrap();
    assert_eq!((run.status.code(), run.out()), (Some(0), ".\n".to_owned()));
    let error = run.err();
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.starts_with("furwock: --monitor: "), "{error}");
    assert!(error.trim_end().ends_with("; the program runs without it"), "{error}");
}
