//! Every C program of `pthread/`, on both sides. A failure names the test within; CONTRIBUTING.md
//! says how to run it alone.

use furwock_conformance::check::{check, folder};
use furwock_conformance::{Artifact, Side, sources};

fn check_plain(name: &str, side: Side) {
    let source = format!("pthread/{name}.c");
    check(name, side, Artifact::program(&source, &folder(name, side), name).build());
}

/// For programs whose threads are cancelled at any instruction, in a handler. Unoptimised, the
/// preload has functions that can't be unwound from each of their instructions.
fn check_optimised(name: &str, side: Side) {
    if side == Side::Furwock && cfg!(debug_assertions) {
        println!("{name}: skipped: it needs optimised code (cargo test --release)");
    } else {
        check_plain(name, side);
    }
}

fn check_untabled(name: &str, side: Side) {
    let program = Artifact::program(&format!("pthread/{name}.c"), &folder(name, side), name);
    let program = program.with(&["-fno-asynchronous-unwind-tables", "-fno-exceptions"]);
    check(name, side, program.build());
}

fn check_dlopen(name: &str, side: Side) {
    let folder = folder(name, side);
    Artifact::library("pthread/lib/plugin.c", &folder, "plugin").build();
    Artifact::library("pthread/lib/early.c", &folder, "early").build();
    Artifact::library("pthread/lib/unversioned.c", &folder, "unversioned")
        .with(&["-nostdlib", "-fno-stack-protector", "-fno-builtin"])
        .build();
    let source = format!("pthread/{name}.c");
    let program = Artifact::program(&source, &folder, name).linked_with(&folder, "early");
    check(name, side, program.build());
}

fn check_deepbind(name: &str, side: Side) {
    let folder = folder(name, side);
    Artifact::library("pthread/lib/deep.c", &folder, "deep").with(&["-Wl,-z,lazy"]).build();
    Artifact::library("pthread/lib/deep.c", &folder, "hardened")
        .with(&["-Wl,-z,now", "-Wl,-z,relro"])
        .build();
    let program = Artifact::program(&format!("pthread/{name}.c"), &folder, name);
    let path = format!("-Wl,-rpath,{}", folder.display());
    check(name, side, program.with(&["-rdynamic", &path]).build());
}

fn check_wrapped(name: &str, side: Side) {
    let folder = folder(name, side);
    let map = sources().join("pthread/lib/wrapper.map");
    Artifact::library("pthread/lib/wrapper.c", &folder, "wrapper")
        .with(&[&format!("-Wl,--version-script={}", map.display())])
        .build();
    let program = Artifact::program(&format!("pthread/{name}.c"), &folder, name);
    check(name, side, program.linked_with(&folder, "wrapper").build());
}

fn check_with_caller(name: &str, side: Side) {
    let folder = folder(name, side);
    Artifact::library("pthread/lib/caller.c", &folder, "caller").build();
    check_plain(name, side);
}

fn check_cpp(name: &str, side: Side) {
    check_standard_cpp(name, side, "c++17");
}

fn check_cpp20(name: &str, side: Side) {
    check_standard_cpp(name, side, "c++20");
}

fn check_standard_cpp(name: &str, side: Side, standard: &str) {
    let source = format!("pthread/{name}.cpp");
    let program = Artifact::program(&source, &folder(name, side), name).cpp().standard(standard);
    if !program.has_compiler() {
        println!("{name}: skipped: no C++ compiler");
    } else if standard == "c++20" && !program.has_header("barrier") {
        println!("{name}: skipped: this C++ compiler's library is older (gcc 11 has it)");
    } else {
        check(name, side, program.build());
    }
}

macro_rules! programs {
    ($($name:ident by $check:ident;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn on_glibc() {
                $check(stringify!($name), Side::Glibc);
            }

            #[test]
            fn on_furwock() {
                $check(stringify!($name), Side::Furwock);
            }
        }
    )*};
}

programs! {
    abandoned by check_plain;
    barrier_memory by check_plain;
    cancel by check_plain;
    cancel_cpp by check_cpp;
    clock_set by check_plain;
    cloned by check_plain;
    cancelled_handler by check_plain;
    cond by check_plain;
    cxx20 by check_cpp20;
    deepbind by check_deepbind;
    destroy by check_plain;
    dlopen by check_dlopen;
    first_use by check_plain;
    fork by check_plain;
    futex_faults by check_plain;
    futex_kernel by check_with_caller;
    futex_pi by check_plain;
    futex_signals by check_plain;
    futex_syscall by check_plain;
    futex_table by check_plain;
    handlers by check_plain;
    interrupted by check_plain;
    left by check_optimised;
    left_wakes by check_optimised;
    lifecycle by check_plain;
    longjmp by check_plain;
    misuse by check_plain;
    mutex by check_plain;
    once_untabled by check_untabled;
    own_sigaction by check_plain;
    passthrough by check_plain;
    preload by check_plain;
    priorities by check_plain;
    rwlock by check_plain;
    rwlock_fairness by check_plain;
    rwlock_kinds by check_plain;
    rwlock_states by check_plain;
    rwlock_storm by check_plain;
    rwlock_timed by check_plain;
    sandboxed by check_plain;
    shared_mutex by check_cpp;
    signals by check_plain;
    thread_exit by check_plain;
    wrapped by check_wrapped;
}
