//! The stack of the program's call, which most often is one that the thread has waited with before,
//! or made an object with: then the words that calls return to are where they were, and compared.

use super::thread::Me;
use super::unwind::{Frame, StackCopy};
use super::{made, modules, tables};
use crate::loaded;
use core::sync::atomic::{AtomicUsize, Ordering};
use furwock_record::FRAMES;

/// Frames of this library at most, before the program's.
const OWN_FRAMES: usize = 12;
const MOST: usize = FRAMES + OWN_FRAMES;

/// One stack that the thread has had. Zero is none.
struct Known {
    /// The stack pointer.
    at: usize,
    /// The index of its entry, or the number of the place.
    stack: u32,
    length: u32,
    /// Where each address was, from the stack pointer up, and the address.
    places: [u32; MOST],
    addresses: [usize; MOST],
}

const ROWS: usize = 8;
const WAYS: usize = 2;

/// The stacks that a thread had last.
pub(super) struct Cache {
    known: [[Known; WAYS]; ROWS],
    makers: [Known; WAYS],
    copy: StackCopy,
}

/// Where this library's code is.
static OWN_START: AtomicUsize = AtomicUsize::new(0);
static OWN_END: AtomicUsize = AtomicUsize::new(0);

/// Prepares to walk stacks, while nothing else runs.
pub(super) fn start() {
    loaded::look_up();
    if let Some(object) = loaded::find(of_caller as *const () as usize) {
        OWN_START.store(object.start, Ordering::Relaxed);
        OWN_END.store(object.end, Ordering::Relaxed);
    }
}

fn is_own(address: usize) -> bool {
    (OWN_START.load(Ordering::Relaxed)..OWN_END.load(Ordering::Relaxed)).contains(&address)
}

/// The index of the stack with which the program has called this library; 0 if it isn't known.
#[inline(never)]
pub(super) fn of_caller(me: Me) -> u32 {
    let frame = Frame::here();
    // SAFETY: this thread's own, and it is in one call of this at a time (`thread::record`).
    let cache = unsafe { &mut *me.own.stacks.get() };
    let at = frame.stack_pointer();
    let row = &mut cache.known[(at >> 4 ^ at >> 7) % ROWS];
    find_or_walk(row, frame, &cache.copy, |frames, is_cut| {
        frames.iter().for_each(|&frame| modules::note(frame as usize));
        tables::stack(frames, is_cut)
    })
}

/// The number of the place at which the program makes an object; 0 if it isn't known.
#[inline(never)]
pub(super) fn of_maker(me: Me) -> u32 {
    let frame = Frame::here();
    // SAFETY: as above.
    let cache = unsafe { &mut *me.own.stacks.get() };
    find_or_walk(&mut cache.makers, frame, &cache.copy, made::place)
}

#[inline(always)]
fn find_or_walk(
    row: &mut [Known; WAYS],
    frame: Frame,
    copy: &StackCopy,
    enter: impl FnOnce(&[u64], bool) -> u32,
) -> u32 {
    let at = frame.stack_pointer();
    for known in row.iter() {
        if known.at == at && known.is_still_there() {
            return known.stack;
        }
    }
    row.swap(0, 1);
    let known = &mut row[0];
    known.walk(frame, copy, enter);
    known.stack
}

impl Known {
    /// Whether the thread's stack is this one still. From the innermost on, so that what is read
    /// belongs to frames that are there.
    #[inline]
    fn is_still_there(&self) -> bool {
        let length = self.length as usize;
        self.places[..length].iter().zip(&self.addresses[..length]).all(|(&place, &address)| {
            let place = self.at + place as usize;
            // SAFETY: on the calling thread's stack: the words below are what they were when this
            // one was there.
            let word = unsafe { *core::ptr::with_exposed_provenance::<usize>(place) };
            word == address
        })
    }

    /// Walks the stack, and enters it.
    #[cold]
    #[inline(never)]
    fn walk(
        &mut self,
        mut frame: Frame,
        copy: &StackCopy,
        enter: impl FnOnce(&[u64], bool) -> u32,
    ) {
        copy.forget();
        let mut frames = [0_u64; FRAMES];
        let (mut length, mut seen) = (0, 0);
        (self.at, self.stack, self.length) = (0, 0, 0);
        let at = frame.stack_pointer();
        let mut can_be_known = true;
        let mut is_cut = false;
        while let Some((caller, place)) = frame.caller(copy) {
            let address = caller.address();
            if length == 0 && is_own(address) && seen < OWN_FRAMES {
                // On the way from the program's call to here.
            } else if length == FRAMES {
                is_cut = true;
                break;
            } else {
                frames[length] = address as u64;
                length += 1;
            }
            match u32::try_from(place.wrapping_sub(at)) {
                Ok(offset) if place != 0 && seen < MOST => {
                    self.places[seen] = offset;
                    self.addresses[seen] = address;
                }
                _ => can_be_known = false,
            }
            seen += 1;
            frame = caller;
        }
        if length == 0 {
            return;
        }
        self.stack = enter(&frames[..length], is_cut);
        if can_be_known {
            self.length = seen as u32;
            self.at = at;
        }
    }
}
