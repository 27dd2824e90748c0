//! Binding threads to processors, for tests.

/// Binds the calling thread to a processor. Whether it may be.
pub(crate) fn bind(cpu: usize) -> bool {
    // SAFETY: a set of processors is plain data, and zero is one without any.
    unsafe {
        let mut one: libc::cpu_set_t = core::mem::zeroed();
        libc::CPU_SET(cpu, &mut one);
        libc::sched_setaffinity(0, size_of_val(&one), &one) == 0
    }
}

/// Those that threads may be bound to.
pub(crate) fn allowed_processors() -> Vec<usize> {
    let find = || (0..libc::CPU_SETSIZE as usize).filter(|cpu| bind(*cpu)).collect();
    // (Of a thread of its own, which this leaves bound.)
    std::thread::spawn(find).join().unwrap()
}
