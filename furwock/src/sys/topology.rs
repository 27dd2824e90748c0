//! How many processors this process may use, and over which memory nodes to spread a table.

/// Processors in this process's affinity mask, at least 1.
pub(crate) fn processors() -> usize {
    #[cfg(simulated)]
    if machine::is_simulated() {
        return machine::processors();
    }
    // SAFETY: an all-zero cpu_set_t is an empty set.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    // SAFETY: the kernel writes at most the size given.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    if result != 0 {
        // More processors than the set has room for: enough buckets either way.
        return libc::CPU_SETSIZE as usize;
    }
    // SAFETY: only reads the set.
    (unsafe { libc::CPU_COUNT(&set) } as usize).max(1)
}

/// The processor that the caller runs on. glibc reads it from memory where the kernel keeps it
/// (rseq), at about the cost of a load.
#[inline]
pub(crate) fn current_cpu() -> u32 {
    if cfg!(miri) {
        return 0;
    }
    #[cfg(simulated)]
    if machine::is_simulated() {
        return machine::current_cpu();
    }
    // SAFETY: no arguments. The value may be old, and -1 where the kernel won't say.
    unsafe { libc::sched_getcpu() as u32 }
}

/// The memory node of the processor that the caller runs on; 0 where the kernel won't say.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn current_node() -> u32 {
    #[cfg(simulated)]
    if machine::is_simulated() {
        return machine::current_node();
    }
    let mut node = 0u32;
    let arguments = [0, (&raw mut node).expose_provenance(), 0, 0, 0, 0];
    // SAFETY: the kernel writes one number, and nothing through the null pointers.
    _ = unsafe { super::syscall::syscall(libc::SYS_getcpu, arguments) };
    node
}

/// Spreads the pages of a mapping over the memory nodes that this process may use, if there are
/// several. Best effort: a table on one node works as well, only slower for the others.
pub(crate) fn interleave(start: core::ptr::NonNull<u8>, size: usize) {
    if cfg!(miri) {
        return;
    }
    const NODES: usize = 1024;
    const BITS: usize = usize::BITS as usize;
    const MPOL_F_MEMS_ALLOWED: usize = 1 << 2;
    const MPOL_INTERLEAVE: usize = 3;
    let mut nodes = [0usize; NODES / BITS];
    let all = nodes.as_mut_ptr().expose_provenance();
    let arguments = [0, all, NODES, 0, MPOL_F_MEMS_ALLOWED, 0];
    // SAFETY: the kernel writes NODES bits into the array.
    let got = unsafe { super::syscall::syscall(libc::SYS_get_mempolicy, arguments) };
    let several = nodes.iter().map(|word| word.count_ones()).sum::<u32>() > 1;
    if got.is_err() || !several {
        return;
    }
    let start = start.as_ptr().expose_provenance();
    // SAFETY: sets the policy of the caller's own mapping; touches no page.
    _ = unsafe {
        super::syscall::syscall(libc::SYS_mbind, [start, size, MPOL_INTERLEAVE, all, NODES, 0])
    };
}
