//! Where the program's objects were made: the stacks of the calls that initialised them, until they
//! are destroyed.
//!
//! - `inits` has the functions that initialise objects, which are glibc's.
//! - `objects` knows each object's place, by its address; `places` has the stacks.
//!
//! A lock gets its place in the record when it gets its entry there: most objects never do. So all
//! of this is in the process's own memory, and a forked child knows the objects that it has from
//! its parent. An object that is initialised statically, or zeroed, has no place.

mod inits;
mod objects;
mod places;

use super::thread::record;
use super::{Kind, part, stack, tables};

pub(super) use places::find_or_enter as place;

/// The program has initialised `object`, which is noted if furwock serves it. What lay there before
/// is gone.
#[inline]
pub(crate) fn made<T>(object: *const T, kind: Kind, is_ours: impl FnOnce() -> bool) {
    if !part::is_off() && is_ours() {
        made_slow(object.addr(), kind);
    }
}

/// May unwind: a signal handler that was put off runs at its end.
#[inline(never)]
extern "C-unwind" fn made_slow(object: usize, kind: Kind) {
    let known = record(|me| {
        tables::mark_destroyed(object, kind);
        let place = stack::of_maker(me);
        (place != 0).then(|| objects::insert(object, kind, place))
    });
    if known.is_none() {
        objects::remove(object, kind);
    }
}

/// The program has destroyed the object: what comes to lie there is another.
#[inline]
pub(crate) fn destroyed<T>(object: *const T, kind: Kind) {
    if !part::is_off() {
        destroyed_slow(object.addr(), kind);
    }
}

#[cold]
#[inline(never)]
extern "C-unwind" fn destroyed_slow(object: usize, kind: Kind) {
    objects::remove(object, kind);
    if part::is_ready() && part::is_grown() {
        record(|_| {
            tables::mark_destroyed(object, kind);
            Some(())
        });
    }
}

/// The index of the stack in the record by which `object` was made; 0 if it isn't known.
pub(super) fn by(object: usize, kind: u32) -> u32 {
    objects::find(object, kind).map_or(0, places::in_record)
}
