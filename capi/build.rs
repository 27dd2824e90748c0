//! How the shared library has to be linked.

fn main() {
    let arguments = include_str!("link-args").lines();
    for argument in arguments.filter(|line| line.starts_with('-')) {
        println!("cargo::rustc-cdylib-link-arg=-Wl,{argument}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=link-args");
}
