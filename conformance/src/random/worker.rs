//! Threads that make the calls, and what /proc says of them.

use super::ffi as c;
use super::perform::{Job, perform};
use super::state::{Answer, CANCELLED};
use libc::{c_int, c_void};
use std::cell::{Cell, UnsafeCell};
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU32, Ordering};
use std::thread;

/// One thread.
pub(super) struct Worker {
    this: &'static This,
    pub(super) thread: libc::pthread_t,
    /// `/proc/self/task/TID/syscall`: the call that it sleeps in.
    sleeps_in: File,
    /// `/proc/self/task/TID/schedstat`: how often it has run.
    ran: Option<File>,
    /// Handlers that have to have run.
    signals: u32,
}

/// What a thread shares with its master. No locks: a thread that met its master at one would seem
/// to wait.
pub(super) struct This {
    /// An idle thread sleeps on this. It isn't a futex, so only calls sleep in futex(2).
    doorbell: c_int,
    job: UnsafeCell<Option<Job>>,
    done: AtomicBool,
    answer: AtomicI64,
    tid: AtomicI32,
    handled: AtomicU32,
    /// What its next handler posts.
    posts: AtomicPtr<u8>,
    /// What a once's routine waits for.
    semaphore: AtomicPtr<u8>,
}

// SAFETY: the master writes `job` while the thread waits for the doorbell, and not otherwise.
unsafe impl Sync for This {}

thread_local! {
    static THIS: Cell<*const This> = const { Cell::new(ptr::null()) };
}

impl This {
    pub(super) fn of_this_thread() -> &'static Self {
        // SAFETY: set before the thread's first call, and never freed.
        unsafe { &*THIS.get() }
    }

    pub(super) fn set_semaphore(&self, semaphore: *mut u8) {
        self.semaphore.store(semaphore, Ordering::Relaxed);
    }

    pub(super) fn semaphore(&self) -> *mut u8 {
        self.semaphore.load(Ordering::Relaxed)
    }

    /// Makes the calls that it is given, until it is given none.
    fn work(&self) {
        let mut count = 0u64;
        loop {
            // No cancellation point; handlers interrupt it.
            // SAFETY: reads 8 bytes into a variable of that size.
            while unsafe { libc::syscall(libc::SYS_read, self.doorbell, &mut count, 8) } != 8 {}
            // SAFETY: the master rang when it had written it.
            let Some(job) = (unsafe { &*self.job.get() }) else { return };
            // SAFETY: the master has checked it.
            let answer = unsafe { perform(job, self) };
            self.finish(answer);
        }
    }

    fn finish(&self, answer: Answer) {
        self.answer.store(answer, Ordering::Relaxed);
        self.done.store(true, Ordering::Release);
    }
}

extern "C-unwind" fn start(this: *mut c_void) -> *mut c_void {
    THIS.set(this.cast());
    let mut buffer = MaybeUninit::uninit();
    // SAFETY: the buffer stays until it is popped, or the handler has run.
    unsafe {
        let own = &*this.cast::<This>();
        own.tid.store(libc::gettid(), Ordering::Release);
        c::_pthread_cleanup_push(buffer.as_mut_ptr(), cancelled, this);
        own.work();
        c::_pthread_cleanup_pop(buffer.as_mut_ptr(), 0);
    }
    ptr::null_mut()
}

/// The clean-up handler: a cancelled thread goes on here.
extern "C-unwind" fn cancelled(this: *mut c_void) {
    // SAFETY: what `start` registered.
    let this = unsafe { &*this.cast::<This>() };
    this.finish(CANCELLED);
    this.work();
}

/// The handler of both signals.
extern "C" fn handle(_: c_int) {
    // SAFETY: only this program's threads are sent the signals. The semaphore is the program's.
    // errno is the interrupted code's.
    unsafe {
        let errno = *libc::__errno_location();
        let this = This::of_this_thread();
        let semaphore = this.posts.swap(ptr::null_mut(), Ordering::Relaxed);
        if !semaphore.is_null() {
            libc::sem_post(semaphore.cast());
        }
        this.handled.fetch_add(1, Ordering::Release);
        *libc::__errno_location() = errno;
    }
}

/// Installs the handlers. SIGUSR2's restarts system calls.
pub(super) fn install_handlers() {
    for (signal, flags) in [(libc::SIGUSR1, 0), (libc::SIGUSR2, libc::SA_RESTART)] {
        // SAFETY: an all-zero action has an empty mask; the handler is one for signals.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as extern "C" fn(c_int) as libc::sighandler_t;
            action.sa_flags = flags;
            assert_eq!(libc::sigaction(signal, &action, ptr::null_mut()), 0);
        }
    }
}

impl Worker {
    pub(super) fn start() -> Self {
        // SAFETY: no pointers.
        let doorbell = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        assert!(doorbell >= 0, "an eventfd can be had");
        let this = Box::leak(Box::new(This {
            doorbell,
            job: UnsafeCell::new(None),
            done: AtomicBool::new(false),
            answer: AtomicI64::new(0),
            tid: AtomicI32::new(0),
            handled: AtomicU32::new(0),
            posts: AtomicPtr::default(),
            semaphore: AtomicPtr::default(),
        }));
        let this: &'static This = this;
        let mut thread = 0;
        let argument = ptr::from_ref(this).cast_mut().cast();
        // SAFETY: `this` is never freed.
        let started = unsafe { c::pthread_create(&mut thread, ptr::null(), start, argument) };
        assert_eq!(started, 0, "a thread can be started");
        let tid = loop {
            match this.tid.load(Ordering::Acquire) {
                0 => thread::yield_now(),
                tid => break tid,
            }
        };
        let open = |name| File::open(format!("/proc/self/task/{tid}/{name}"));
        let sleeps_in = open("syscall").expect("/proc tells of one's own threads");
        Self { this, thread, sleeps_in, ran: open("schedstat").ok(), signals: 0 }
    }

    pub(super) fn tid(&self) -> i32 {
        self.this.tid.load(Ordering::Relaxed)
    }

    /// Lets it make a call.
    pub(super) fn give(&self, job: Job) {
        self.this.done.store(false, Ordering::Relaxed);
        // SAFETY: the thread waits for the doorbell.
        unsafe { *self.this.job.get() = Some(job) };
        self.ring();
    }

    fn ring(&self) {
        let one = 1u64;
        // SAFETY: writes 8 bytes.
        let rung = unsafe { libc::write(self.this.doorbell, (&raw const one).cast(), 8) };
        assert_eq!(rung, 8, "an eventfd takes 8 bytes");
    }

    /// Its handler will run, and post the semaphore if it isn't null.
    pub(super) fn expect_signal(&mut self, semaphore: *mut u8) {
        self.this.posts.store(semaphore, Ordering::Release);
        self.signals += 1;
    }

    pub(super) fn has_handled(&self) -> bool {
        self.this.handled.load(Ordering::Acquire) == self.signals
    }

    /// What its call has returned, if it has.
    pub(super) fn returned(&self) -> Option<Answer> {
        let this = self.this;
        this.done.load(Ordering::Acquire).then(|| this.answer.load(Ordering::Relaxed))
    }

    /// Whether it sleeps in a call.
    pub(super) fn is_asleep(&self) -> bool {
        let mut text = [0; 32];
        let length = self.sleeps_in.read_at(&mut text, 0).unwrap_or(0);
        let number = text[..length].split(|byte| *byte == b' ').next();
        let number = number.and_then(|digits| str::from_utf8(digits).ok()?.parse().ok());
        let sleeps = matches!(number, Some(libc::SYS_futex | libc::SYS_futex_waitv));
        sleeps && self.returned().is_none()
    }

    /// How often it has begun to run, as a text.
    pub(super) fn runs(&self) -> [u8; 64] {
        let mut text = [0; 64];
        if let Some(file) = &self.ran {
            let _ = file.read_at(&mut text, 0);
        }
        text
    }

    /// Ends it. It has no call.
    pub(super) fn end(self, cancelled: bool) {
        // SAFETY: the thread waits for the doorbell; it is joined once, and then nothing uses the
        // descriptor.
        let result = unsafe {
            *self.this.job.get() = None;
            self.ring();
            let mut result = ptr::null_mut();
            let joined = libc::pthread_join(self.thread, &mut result);
            assert_eq!(joined, 0, "a thread can be joined");
            libc::close(self.this.doorbell);
            result
        };
        let is_cancelled = result.addr() as isize == -1;
        assert_eq!(is_cancelled, cancelled, "a cancelled thread's result says so, and no other's");
    }
}
