//! Which traits the types have, how they are shown, and what they coerce to.

use crate::{assert_both, with_both};
use std::cell::Cell;
use std::fmt::Display;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

/// Whether a type has a trait: `Has`'s own `ANSWER` exists if it does, and goes before the one of
/// the trait `Hasnt`.
macro_rules! has {
    ($type:ty: $trait:path) => {{
        #[allow(dead_code, reason = "one of the two is chosen")]
        trait Hasnt {
            const ANSWER: bool = false;
        }
        impl<T: ?Sized> Hasnt for Has<T> {}
        struct Has<T: ?Sized>(PhantomData<T>);
        #[allow(dead_code, reason = "one of the two is chosen")]
        impl<T: ?Sized + $trait> Has<T> {
            const ANSWER: bool = true;
        }
        <Has<$type>>::ANSWER
    }};
}

#[test]
fn has_tells_both() {
    assert!(has!(i32: Send) && !has!(Rc<i32>: Send));
    assert!(has!(i32: UnwindSafe) && !has!(&mut i32: UnwindSafe));
}

/// The traits that a type has, as a list of names.
macro_rules! traits_of {
    ($type:ty) => {{
        let mut names = Vec::new();
        traits_of!(names, $type, Send Sync Unpin UnwindSafe RefUnwindSafe);
        traits_of!(names, $type, Default Clone Copy);
        names
    }};
    ($names:ident, $type:ty, $($trait:ident)*) => {
        $(if has!($type: $trait) {
            $names.push(stringify!($trait));
        })*
    };
}

/// Both libraries' types have the same traits, with all of these arguments.
macro_rules! same_traits {
    ($($name:ident<$($lifetime:lifetime,)? _>)*) => {$(
        same_traits!($name, $($lifetime,)? i32, Cell<i32>, Rc<i32>, &'static mut i32,
            std::sync::MutexGuard<'static, i32>, &'static Cell<i32>);
    )*};
    ($name:ident, $lifetime:lifetime, $($argument:ty),*) => {$(
        let (std, furwock) = with_both!({ traits_of!(sync::$name<$lifetime, $argument>) });
        assert_eq!(furwock, std, "{}<{}>", stringify!($name), stringify!($argument));
    )*};
    ($name:ident, $($argument:ty),*) => {$(
        let (std, furwock) = with_both!({ traits_of!(sync::$name<$argument>) });
        assert_eq!(furwock, std, "{}<{}>", stringify!($name), stringify!($argument));
    )*};
}

#[test]
fn the_types_have_stds_traits() {
    same_traits!(
        Mutex<_> RwLock<_> MutexGuard<'static, _> RwLockReadGuard<'static, _>
        RwLockWriteGuard<'static, _> OnceLock<_> LazyLock<_>
    );
    let (std, furwock) = with_both!({
        [
            traits_of!(sync::Condvar),
            traits_of!(sync::Once),
            traits_of!(sync::Barrier),
            traits_of!(sync::BarrierWaitResult),
            traits_of!(sync::WaitTimeoutResult),
            traits_of!(sync::Mutex<[Cell<i32>]>),
            traits_of!(sync::RwLock<dyn Fn() + Send>),
        ]
    });
    assert_eq!(furwock, std);
    assert!(std[0].contains(&"Sync"), "the names are really found: {std:?}");
}

#[test]
fn the_types_are_shown_as_stds_are() {
    // Newer versions of std show what stands for a locked mutex's data within quotes.
    let (std, furwock) = with_both!({
        let (mutex, rwlock) = (sync::Mutex::new("a"), sync::RwLock::new(1.5));
        let mut shown = vec![
            format!("{mutex:?} {rwlock:?} {:#?}", sync::Mutex::new([1, 2])),
            format!("{:?} {:?}", sync::Condvar::new(), sync::Barrier::new(2)),
            format!("{:?}", sync::Barrier::new(1).wait()),
        ];
        let (locked, written) = (mutex.lock().unwrap(), rwlock.write().unwrap());
        shown.push(format!("{mutex:?} {rwlock:#?}").replace("\"<locked>\"", "<locked>"));
        shown.push(format!("{locked} {locked:?} {written} {written:?}"));
        shown.push(format!("{:?} {:?}", mutex.try_lock(), rwlock.try_read()));
        drop(written);
        let read = rwlock.read().unwrap();
        shown.push(format!("{read} {read:?} {:?}", rwlock.try_write()));
        shown.push(format!("{:?}", sync::Mutex::<Vec<u8>>::default()));
        shown.push(format!("{:?}", sync::RwLock::from('c')));
        shown
    });
    assert_eq!(furwock, std);
}

#[test]
fn locks_coerce_to_those_of_slices_and_trait_objects() {
    assert_both!(
        {
            let slice: &sync::Mutex<[i32]> = &sync::Mutex::new([1, 2, 3]);
            slice.lock().unwrap()[1] = 7;
            let shown: sync::Arc<sync::RwLock<dyn Display + Send + Sync>> =
                sync::Arc::new(sync::RwLock::new(5));
            (slice.lock().unwrap().iter().sum::<i32>(), shown.read().unwrap().to_string())
        },
        (11, "5".to_owned())
    );
}

#[test]
fn locks_stand_in_statics() {
    assert_both!(
        {
            static MUTEX: sync::Mutex<Vec<i32>> = sync::Mutex::new(Vec::new());
            static RWLOCK: sync::RwLock<i32> = sync::RwLock::new(1);
            static CONDVAR: sync::Condvar = sync::Condvar::new();
            static BARRIER: sync::Barrier = sync::Barrier::new(0);
            MUTEX.lock().unwrap().push(*RWLOCK.read().unwrap());
            CONDVAR.notify_all();
            (MUTEX.lock().unwrap().len(), BARRIER.wait().is_leader())
        },
        (1, true)
    );
}

/// A read guard of what lives long does as one of what lives shorter.
#[test]
fn read_guards_are_covariant() {
    fn shorter<'a>(
        guard: furwock::std_compat::RwLockReadGuard<'a, &'static str>,
    ) -> furwock::std_compat::RwLockReadGuard<'a, &'a str> {
        guard
    }
    let lock = furwock::std_compat::RwLock::new("a");
    assert_eq!(*shorter(lock.read().unwrap()), "a");
}

#[test]
fn furwocks_tools_know_the_locks() {
    use furwock::inspect::{Inspect, Kind, WithName};
    use furwock::std_compat::{Barrier, Condvar, Mutex, RwLock};
    let (mutex, rwlock) = (Mutex::named("numbers", 1), RwLock::named("words", 2));
    assert_eq!(mutex.name().unwrap().as_str(), "numbers");
    let _written = rwlock.write().unwrap();
    assert_eq!(rwlock.inspect().holders.threads(), [furwock::lock::thread_id()]);
    assert!(mutex.inspect().holders.threads().is_empty());
    assert_eq!(Condvar::new().inspect().kind, Kind::Condvar);
    assert_eq!(Barrier::new(2).inspect().kind, Kind::Barrier);
}
