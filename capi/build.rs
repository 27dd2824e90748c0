//! How the shared library has to be linked.

fn main() {
    for argument in [
        "-Wl,-soname,libfurwock.so.0",
        // Its signal handler and fork handler can't be taken back.
        "-Wl,-z,nodelete",
        // No lazy binding on the way to a lock.
        "-Wl,-z,now",
        // What the C library doesn't have shows here, not in the program that loads it.
        "-Wl,-z,defs",
    ] {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
