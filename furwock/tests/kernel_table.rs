//! The kernel's futex table of a process with one thread.
#![cfg(not(any(loom, shuttle, miri)))]

mod common;
mod process;

use furwock::lock;

/// How many buckets it has; negative before Linux 6.16.
fn buckets() -> i32 {
    const PR_FUTEX_HASH: i32 = 78;
    const GET_SLOTS: libc::c_ulong = 2;
    // SAFETY: no pointers.
    unsafe { libc::prctl(PR_FUTEX_HASH, GET_SLOTS, 0, 0, 0) }
}

/// (This process has several threads, and its table; a child has one thread and none.)
#[test]
fn prepare_asks_for_more_buckets_where_there_is_one_thread() {
    if buckets() < 0 {
        println!("skipped: this kernel has one table for all processes");
        return;
    }
    let check = || {
        let before = buckets();
        lock::prepare();
        i32::from(before != 0) + 2 * i32::from(buckets() < 256)
    };
    assert_eq!(process::child(check).end(), 0);
    let before = buckets();
    lock::prepare();
    assert_eq!(buckets(), before);
}
