//! How the preload has to be linked.

fn main() {
    // Two packages are built from these sources.
    let name = std::env::var("CARGO_PKG_NAME").expect("cargo sets it").replace('-', "_");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,lib{name}.so");
    for argument in [
        // Before the constructors of all other libraries, which may lock.
        "-Wl,-z,initfirst",
        // Fork handlers and the C library's symbol table lead into it.
        "-Wl,-z,nodelete",
        // No lazy binding on the way to a lock.
        "-Wl,-z,now",
        // One function here that calls another means this library's. A program may define the name
        // too, and call back: Erlang's does so with sigaction.
        "-Wl,-Bsymbolic-functions",
        // Code at the file's offsets that its addresses say: perf takes a probe's address for its
        // offset, and would put a breakpoint elsewhere. (GNU ld does so anyway.)
        "-Wl,-z,separate-loadable-segments",
    ] {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
