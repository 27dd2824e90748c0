//! Another static library of Rust's, for `two_libraries.c`.

/// One more than `number`, by way of an unwinding of its own.
#[unsafe(no_mangle)]
pub extern "C" fn other_add(number: i32) -> i32 {
    let thrown = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(number)));
    let number: Result<(), _> = thrown;
    number.expect_err("it was thrown").downcast_ref::<i32>().map_or(0, |number| number + 1)
}
