//! The locks behind the guards of both versions of `lock_api`: what generic code relies on.
//!
//! `cargo test --release -p furwock --features lock_api_0_5 --test lock_api` runs both.

#![allow(clippy::duplicate_mod, reason = "one file for two versions")]

#[path = "../common/mod.rs"]
mod common;

#[path = "."]
mod version_0_4 {
    use furwock as locks;

    mod both;
}

mod recursive;

#[cfg(feature = "lock_api_0_5")]
#[path = "."]
mod version_0_5 {
    use furwock::lock_api_0_5 as locks;

    mod both;

    /// A tree that asks for the other version leaves the locks of the rest as they are.
    #[test]
    fn the_feature_changes_no_other_type() {
        let _: furwock::lock_api::Mutex<furwock::lock::RawMutex, ()> = furwock::Mutex::new(());
    }
}
