//! The accesses on aarch64. A function returns in x0 and x1.

use super::assembled;
use crate::sys::symbol::versioned;

assemble! {
    "user_load8": "ldarb w0, [x0]" "mov x1, 0" "ret" ".p2align 4";
    "user_load16": "ldarh w0, [x0]" "mov x1, 0" "ret" ".p2align 4";
    "user_load32": "ldar w0, [x0]" "mov x1, 0" "ret" ".p2align 4";
    "user_load64": "ldar x0, [x0]" "mov x1, 0" "ret" ".p2align 4";
    "user_cas32": "2:";
    "user_cas32_load_at": "ldaxr w3, [x0]" "cmp w3, w1" "b.ne 3f";
    "user_cas32_store_at": "stlxr w4, w2, [x0]" "cbnz w4, 2b"
        "3:" "mov w0, w3" "mov x1, 0" "ret" ".p2align 4";
    // Words first, then bytes.
    "user_copy": "2:" "subs x2, x2, 8" "b.lo 3f";
    "user_copy_word_at": "ldr x3, [x1], 8" "str x3, [x0], 8" "b 2b"
        "3:" "add x2, x2, 8" "4:" "cbz x2, 5f";
    "user_copy_byte_at": "ldrb w3, [x1], 1" "strb w3, [x0], 1" "sub x2, x2, 1" "b 4b"
        "5:" "mov x1, 0" "ret" ".p2align 4";
    "user_fault": "mov x1, 1" "ret";
}

/// Where these functions may fault.
pub(super) fn may_fault() -> [usize; 8] {
    unsafe extern "C" {
        #[link_name = versioned!("user_cas32_load_at")]
        fn cas32_load_at();
        #[link_name = versioned!("user_cas32_store_at")]
        fn cas32_store_at();
        #[link_name = versioned!("user_copy_word_at")]
        fn copy_word_at();
        #[link_name = versioned!("user_copy_byte_at")]
        fn copy_byte_at();
    }
    [
        assembled::load8 as *const () as usize,
        assembled::load16 as *const () as usize,
        assembled::load32 as *const () as usize,
        assembled::load64 as *const () as usize,
        cas32_load_at as *const () as usize,
        cas32_store_at as *const () as usize,
        copy_word_at as *const () as usize,
        copy_byte_at as *const () as usize,
    ]
}

pub(super) fn program_counter(context: &mut libc::ucontext_t) -> &mut u64 {
    &mut context.uc_mcontext.pc
}
