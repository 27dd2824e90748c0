//! `include/furwock.h` is what the sources generate. `FURWOCK_WRITE_HEADER=1` rewrites it.

use cbindgen::{Builder, Config, DocumentationStyle, Language, Style};
use std::collections::HashMap;
use std::path::Path;
use std::{env, fs};

/// In the order of the header's sections.
const SOURCES: [&str; 21] = [
    "version",
    "kernel",
    "deadline",
    "wait",
    "wake",
    "many",
    "fd",
    "shared",
    "options",
    "mutex",
    "attempt",
    "condvar",
    "rwlock",
    "semaphore",
    "barrier",
    "pi_mutex",
    "pi_condvar",
    "robust_mutex",
    "robust_rwlock",
    "name",
    "prepare",
];

const HEAD: &str = "\
/*
 * furwock: futexes and locks in user space, for Linux.
 *
 * furwock_futex and furwock_waitv are the system calls: they return -1 and set errno. All other
 * functions that return an int return 0 or an error number, as pthread's do, and may change errno.
 *
 * A word is any object of 1, 2, 4 or 8 bytes, aligned to its size, that is accessed atomically:
 * _Atomic, std::atomic, or by the compiler's __atomic builtins. It needs no initialisation and no
 * clean-up. A thread that changes it wakes the waiters afterwards. Words are private: their waiters
 * are threads of one process, except those of furwock_shared_wait32 and furwock_shared_wait64.
 * furwock_futex and furwock_waitv return EFAULT for an address without memory; the other functions
 * that read a word crash.
 *
 * No function is a cancellation point, and none may be cancelled asynchronously. From a signal
 * handler that may have interrupted one of them, only furwock_futex, furwock_wake,
 * furwock_wake_bitset, furwock_mutex_trylock, furwock_semaphore_release and
 * furwock_semaphore_release_many may be called.
 *
 * It compiles as C99 and later and as C++11 and later, and needs no feature-test macro.
 *
 * Generated from the sources by capi/tests/header.rs. The manual pages say more: furwock(3).
 */";

/// The version, what older kernel headers lack, and the initialisers.
const BEFORE: &str = "
/* Of this header; furwock_version() tells the library's. */
#define FURWOCK_VERSION_MAJOR @MAJOR@
#define FURWOCK_VERSION_MINOR @MINOR@
#define FURWOCK_VERSION_PATCH @PATCH@
#define FURWOCK_VERSION_STRING \"@STRING@\"
/* 10203 for 1.2.3 */
#define FURWOCK_VERSION \\
  (FURWOCK_VERSION_MAJOR * 10000 + FURWOCK_VERSION_MINOR * 100 + FURWOCK_VERSION_PATCH)

#ifndef FUTEX_32 /* before Linux 5.16 */
struct futex_waitv {
  uint64_t val;
  uint64_t uaddr;
  uint32_t flags;
  uint32_t __reserved;
};
#endif

#ifndef FUTEX2_PRIVATE /* before Linux 6.7 */
#define FUTEX2_SIZE_U8 0
#define FUTEX2_SIZE_U16 1
#define FUTEX2_SIZE_U32 2
#define FUTEX2_SIZE_U64 3
#define FUTEX2_PRIVATE FUTEX_PRIVATE_FLAG
#endif

#define FURWOCK_MUTEX_INIT { 0 }
#define FURWOCK_CONDVAR_INIT { 0 }
#define FURWOCK_RWLOCK_INIT { 0 }
#define FURWOCK_RWLOCK_RECURSIVE_INIT { UINT64_C(1) << 61 }
#define FURWOCK_RWLOCK_PREFER_READERS_INIT { UINT64_C(2) << 61 }
#define FURWOCK_RWLOCK_PREFER_WRITERS_INIT { UINT64_C(3) << 61 }
#define FURWOCK_RWLOCK_PREFER_WRITERS_RECURSIVE_INIT { UINT64_C(4) << 61 }
#define FURWOCK_SEMAPHORE_INIT(permits) { (permits), 0 }
#define FURWOCK_BARRIER_INIT(count) { 0, (count), 0 }
#define FURWOCK_PI_MUTEX_INIT { 0, 1, 0 }
#define FURWOCK_PI_MUTEX_SHARED_INIT { 0, 0, 0 }
#define FURWOCK_PI_CONDVAR_INIT { { 0 } }
#define FURWOCK_ROBUST_MUTEX_INIT { { 0 } }
#define FURWOCK_ROBUST_RWLOCK_INIT { { 0 } }

#define FURWOCK_ALIGNED(bytes) __attribute__((aligned(bytes)))";

fn before() -> String {
    BEFORE
        .replace("@MAJOR@", env!("CARGO_PKG_VERSION_MAJOR"))
        .replace("@MINOR@", env!("CARGO_PKG_VERSION_MINOR"))
        .replace("@PATCH@", env!("CARGO_PKG_VERSION_PATCH"))
        .replace("@STRING@", env!("CARGO_PKG_VERSION"))
}

fn config() -> Config {
    let owned = |text: &str| Some(text.to_owned());
    let mut config = Config {
        language: Language::C,
        style: Style::Both,
        cpp_compat: true,
        include_guard: owned("FURWOCK_H"),
        no_includes: true,
        sys_includes: [
            "linux/futex.h",
            // struct timespec, which strict C99 keeps out of time.h.
            "sched.h",
            "stdbool.h",
            "stddef.h",
            "stdint.h",
            "sys/types.h",
            "time.h",
        ]
        .map(str::to_owned)
        .into(),
        header: owned(HEAD),
        after_includes: Some(before()),
        usize_is_size_t: true,
        line_length: 100,
        documentation_style: DocumentationStyle::Doxy,
        ..Config::default()
    };
    config.layout.aligned_n = owned("FURWOCK_ALIGNED");
    config.export.rename = HashMap::from(
        [
            ("timespec", "struct timespec"),
            ("Waitv", "struct futex_waitv"),
            ("Word", "volatile void"),
        ]
        .map(|(rust, c)| (rust.to_owned(), c.to_owned())),
    );
    config
}

fn generate() -> String {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut builder = Builder::new().with_config(config());
    for name in SOURCES {
        builder = builder.with_src(sources.join(name).with_extension("rs"));
    }
    let bindings = builder.generate().expect("the sources can be parsed");
    let mut header = Vec::new();
    bindings.write(&mut header);
    String::from_utf8(header).expect("comments are UTF-8")
}

#[test]
fn the_header_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../include/furwock.h");
    let header = generate();
    if env::var_os("FURWOCK_WRITE_HEADER").is_some() {
        fs::write(&path, &header).expect("the header can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let how = "FURWOCK_WRITE_HEADER=1 cargo test -p furwock-capi --test header";
    assert!(committed == header, "the sources say something else than furwock.h: {how}");
}
