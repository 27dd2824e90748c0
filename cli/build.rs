//! How the command has to be linked.

use std::hash::{DefaultHasher, Hasher};
use std::process::Command;

/// What the standard library needs of libgcc_s, found in its archive if it is asked for first.
const UNWINDER: [&str; 13] = [
    "_Unwind_Backtrace",
    "_Unwind_DeleteException",
    "_Unwind_FindEnclosingFunction",
    "_Unwind_GetCFA",
    "_Unwind_GetDataRelBase",
    "_Unwind_GetIP",
    "_Unwind_GetIPInfo",
    "_Unwind_GetLanguageSpecificData",
    "_Unwind_GetRegionStart",
    "_Unwind_GetTextRelBase",
    "_Unwind_RaiseException",
    "_Unwind_Resume",
    "_Unwind_SetGR",
];

fn main() {
    // No libgcc_s, which small root folders and images lack: the unwinder comes with the command.
    let of_target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}"));
    if of_target("ENV").is_ok_and(|libc| libc == "gnu") {
        for name in UNWINDER {
            println!("cargo::rustc-link-arg-bins=-Wl,-u,{name}");
        }
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
    if std::env::var_os("CARGO_FEATURE_BUNDLED").is_some() {
        bundle();
    }
    println!("cargo::rerun-if-changed=build.rs");
}

/// Builds the preloads, and tells the sources where they are, and a number for what is in them.
fn bundle() {
    let given = |name: &str| std::env::var(name).expect("cargo sets it");
    let (target, folder) = (given("TARGET"), format!("{}/bundled", given("OUT_DIR")));
    let manifest = format!("{}/../Cargo.toml", given("CARGO_MANIFEST_DIR"));
    let built = Command::new(given("CARGO"))
        .args(["build", "--release", "--locked", "--manifest-path", &manifest])
        .args(["--target", &target, "--target-dir", &folder])
        .args(["--config", "profile.release.strip='debuginfo'"])
        .args(["-p", "furwock-preload", "-p", "furwock-preload-recording"])
        .status();
    assert!(built.is_ok_and(|status| status.success()), "the preloads can't be built");
    let libraries = format!("{folder}/{target}/release");
    let mut hasher = DefaultHasher::new();
    for name in ["libfurwock_preload.so", "libfurwock_preload_recording.so"] {
        let bytes = std::fs::read(format!("{libraries}/{name}")).expect("it was built");
        hasher.write(&bytes);
    }
    println!("cargo::rustc-env=BUNDLED_PRELOADS={libraries}");
    println!("cargo::rustc-env=BUNDLED_HASH={:016x}", hasher.finish());
    for package in ["furwock", "preload", "preload-recording", "record"] {
        println!("cargo::rerun-if-changed=../{package}");
    }
}
