//! How the preload has to be linked.

fn main() {
    for argument in [
        // Before the constructors of all other libraries, which may lock.
        "-Wl,-z,initfirst",
        // Fork handlers and the C library's symbol table lead into it.
        "-Wl,-z,nodelete",
        // No lazy binding on the way to a lock.
        "-Wl,-z,now",
        "-Wl,-soname,libfurwock_preload.so",
    ] {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
