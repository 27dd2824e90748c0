//! Contention in Rust, of a pthread mutex, as crates that bind C libraries make them.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

#[repr(C, align(8))]
pub struct Mutex([AtomicI32; 10]);

extern "C" {
    fn pthread_mutex_init(mutex: *const Mutex, attr: *const u8) -> c_int;
    fn pthread_mutex_lock(mutex: *const Mutex) -> c_int;
    fn pthread_mutex_unlock(mutex: *const Mutex) -> c_int;
}

mod vault {
    use super::*;

    pub struct Vault {
        mutex: Mutex,
    }

    impl Vault {
        #[inline(never)]
        pub fn build() -> &'static Vault {
            let vault = Vault { mutex: Mutex(std::array::from_fn(|_| AtomicI32::new(0))) };
            let vault = Box::leak(Box::new(vault));
            assert_eq!(unsafe { pthread_mutex_init(&vault.mutex, std::ptr::null()) }, 0);
            vault
        }

        #[inline(never)]
        pub fn enter(&self) {
            unsafe {
                assert_eq!(pthread_mutex_lock(&self.mutex), 0);
                assert_eq!(pthread_mutex_unlock(&self.mutex), 0);
            }
        }

        pub fn contend(&'static self) {
            unsafe { pthread_mutex_lock(&self.mutex) };
            let other = thread::spawn(|| self.enter());
            while self.mutex.0[0].load(Ordering::Relaxed) >> 22 == 0 {
                thread::yield_now();
            }
            unsafe { pthread_mutex_unlock(&self.mutex) };
            other.join().unwrap();
        }
    }
}

fn main() {
    vault::Vault::build().contend();
}
