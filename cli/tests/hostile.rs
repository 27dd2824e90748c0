//! What others can't do to a program by a record, nor its user to a program with more rights than
//! the user has (SECURITY.md).

mod common;

use std::fs;
use std::mem::offset_of;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{FURWOCK, Scratch, Text};
use furwock_record as layout;
use furwock_record::{PAGE, PART_MAGIC};

const CONTENDED: &str = include_str!("stats/contended.c");
/// Says whether it has gained rights, by one lock.
const SECURE: &str = "#include <pthread.h>\n#include <stdio.h>\n#include <sys/auxv.h>\n\
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
    int main(void) { pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock);\n\
    printf(\"%lu\\n\", getauxval(AT_SECURE)); return 0; }\n";

/// A record whose writer says that its sections lie elsewhere, while the program runs: the program
/// goes by what it knows.
#[test]
fn a_record_cant_say_where_a_program_writes() {
    let scratch = Scratch::new("hostile");
    assert!(scratch.compile(CONTENDED, "contended", &["-O1", "-pthread"]));
    let path = scratch.path("overwritten.record");
    let mut program = Command::new(FURWOCK)
        .args(["run", &format!("--stats={}", path.display()), "--"])
        .arg(scratch.path("contended"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut magic = [0; 8];
    let file = loop {
        assert!(Instant::now() < deadline, "nothing was recorded");
        let file = fs::OpenOptions::new().read(true).write(true).open(&path);
        if let Ok(file) = file
            && file.read_exact_at(&mut magic, PAGE as u64).is_ok()
            && u64::from_ne_bytes(magic) == PART_MAGIC
        {
            break file;
        }
        std::thread::yield_now();
    };
    let at = PAGE + offset_of!(layout::Part, sections);
    file.write_all_at(&[0x7f; size_of::<layout::Sections>()], at as u64).unwrap();
    assert!(program.try_wait().unwrap().is_none(), "it ended too soon to be harmed");
    let output = program.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{:?} {}", output.status, output.err());
}

/// Variables in the environment of a setuid program, into which the library came by its own name or
/// by /etc/ld.so.preload.
#[test]
fn a_program_that_gains_rights_records_nothing_for_its_user() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can make a program of another user");
        return;
    }
    let scratch = Scratch::new("secure");
    // Below a folder of all users: the target folder may be below one of root's.
    let folder = std::env::temp_dir().join(format!("furwock-secure-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let library = Path::new(FURWOCK).with_file_name("libfurwock_preload_recording.so");
    assert!(library.exists(), "`cargo build --release` makes {}", library.display());
    fs::copy(&library, folder.join("libfurwock_preload_recording.so")).unwrap();
    let flags = [
        format!("-L{}", folder.display()),
        format!("-Wl,-rpath,{}", folder.display()),
        "-Wl,--no-as-needed".to_owned(),
        "-lfurwock_preload_recording".to_owned(),
        "-pthread".to_owned(),
    ];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    assert!(scratch.compile(SECURE, "program", &flags));
    let program = folder.join("program");
    fs::copy(scratch.path("program"), &program).unwrap();

    let record = folder.join("record");
    let mut make = Command::new(FURWOCK);
    make.args(["run", &format!("--stats={}", record.display()), "--", "true"]);
    common::succeed(make);
    fs::set_permissions(&record, fs::Permissions::from_mode(0o666)).unwrap();
    let parts = || {
        let page = fs::read(&record).unwrap();
        let at = offset_of!(layout::File, parts);
        u32::from_ne_bytes(page[at..at + 4].try_into().unwrap())
    };
    let run = |mode: u32| {
        const NOBODY: u32 = 65_534;
        std::os::unix::fs::chown(&program, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        let before = parts();
        let output = Command::new(&program).env("FURWOCK_RECORD", &record).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", output.err());
        (output.out().trim() == "1", parts() - before)
    };
    assert_eq!(run(0o755), (false, 1), "an ordinary program records");
    let (is_secure, recorded) = run(0o4755);
    fs::remove_dir_all(&folder).unwrap();
    if !is_secure {
        println!("skipped: the file system lets no program gain rights");
        return;
    }
    assert_eq!(recorded, 0, "a setuid program recorded where its user said");
}
