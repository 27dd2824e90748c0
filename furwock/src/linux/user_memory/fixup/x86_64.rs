//! The accesses on x86-64. A function returns in rax and rdx.

use super::assembled;
use crate::sys::symbol::versioned;

assemble! {
    "user_load8": "movzx eax, byte ptr [rdi]" "xor edx, edx" "ret" ".p2align 4";
    "user_load16": "movzx eax, word ptr [rdi]" "xor edx, edx" "ret" ".p2align 4";
    "user_load32": "mov eax, dword ptr [rdi]" "xor edx, edx" "ret" ".p2align 4";
    "user_load64": "mov rax, qword ptr [rdi]" "xor edx, edx" "ret" ".p2align 4";
    "user_cas32": "mov eax, esi";
    "user_cas32_at": "lock cmpxchg dword ptr [rdi], edx" "mov edx, 0" "ret" ".p2align 4";
    "user_copy": "mov rcx, rdx";
    "user_copy_at": "rep movsb" "xor edx, edx" "ret" ".p2align 4";
    "user_fault": "mov edx, 1" "ret";
}

/// Where these functions may fault.
pub(super) fn may_fault() -> [usize; 6] {
    unsafe extern "C" {
        #[link_name = versioned!("user_cas32_at")]
        fn cas32_at();
        #[link_name = versioned!("user_copy_at")]
        fn copy_at();
    }
    [
        assembled::load8 as *const () as usize,
        assembled::load16 as *const () as usize,
        assembled::load32 as *const () as usize,
        assembled::load64 as *const () as usize,
        cas32_at as *const () as usize,
        copy_at as *const () as usize,
    ]
}

pub(super) fn program_counter(context: &mut libc::ucontext_t) -> &mut i64 {
    &mut context.uc_mcontext.gregs[libc::REG_RIP as usize]
}
