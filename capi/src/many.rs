//! Waiting on many words.

use crate::deadline::{deadline, errno_of, furwock_deadline};
use crate::word::{self, Sized, Word, by_size};
use core::ffi::c_int;
use engine::futex::{self, AnyWaited, Expected, Registration};
use libc::{EAGAIN, EINVAL, ENOMEM, ETIMEDOUT};

/// A word, and the value that it is expected to hold.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct furwock_expected {
    /// The word.
    pub word: *const Word,
    /// Its size in bytes: 1, 2, 4 or 8.
    pub size: usize,
    /// The value.
    pub value: u64,
}

/// Waits until woken at any of `count` words, if all of them hold their values. Any number of
/// words, of different widths. With no words at all, waits for the deadline.
///
/// Returns 0 when woken (rarely, a wake is spurious) and EAGAIN if a word holds another value: in
/// both cases `*index`, unless that is NULL, says which. ETIMEDOUT; ENOMEM; EINVAL for a malformed
/// word or deadline, and for no words without a deadline.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_wait_any(
    words: *const furwock_expected,
    count: usize,
    until: *const furwock_deadline,
    index: *mut usize,
) -> c_int {
    // SAFETY: the caller's words, deadline, and place for the answer.
    let how = unsafe {
        read_words(words, count).and_then(|words| {
            let until = deadline(until)?;
            if words.is_empty() && until.is_none() {
                return Err(EINVAL);
            }
            Ok(futex::wait_any(&words, until.as_ref()))
        })
    };
    // SAFETY: the caller's place for the answer.
    unsafe { answer(how, index) }
}

/// Words that stay registered between waits, which makes each wait cheap: for repeated waits on the
/// same words. One thread at a time may use it.
pub struct furwock_registration {
    registration: Registration<'static>,
    words: Vec<furwock_expected>,
}

/// Registers `count` words, with the values that they should hold in the first wait, and stores the
/// registration in `*registration`. Returns 0, EINVAL or ENOMEM, as furwock_wait_any.
///
/// The words have to exist until furwock_registration_free. A wake that comes while no thread waits
/// in the registration skips it; a change of the word is not lost, since the next wait sees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_register(
    words: *const furwock_expected,
    count: usize,
    registration: *mut *mut furwock_registration,
) -> c_int {
    /// # Safety
    /// As for [`read_words`], with words that outlive the registration.
    unsafe fn register(
        words: *const furwock_expected,
        count: usize,
    ) -> Result<*mut furwock_registration, c_int> {
        // SAFETY: by this function's contract.
        let expected = unsafe { read_words(words, count) }?;
        let mut named = Vec::new();
        named.try_reserve_exact(count).map_err(|_| ENOMEM)?;
        if count != 0 {
            // SAFETY: `read_words` found so many there.
            named.extend_from_slice(unsafe { core::slice::from_raw_parts(words, count) });
        }
        let mut place = Vec::new();
        place.try_reserve_exact(1).map_err(|_| ENOMEM)?;
        place
            .push(furwock_registration { registration: Registration::new(expected), words: named });
        Ok(Box::into_raw(place.into_boxed_slice()).cast())
    }
    if registration.is_null() {
        return EINVAL;
    }
    // SAFETY: the caller's words, and its place for the answer.
    unsafe { errno_of(register(words, count).map(|made| registration.write(made))) }
}

/// Sets the value that the word with this index should hold in later waits. Returns 0; EINVAL if
/// there is no such word, or the value doesn't fit in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_registration_expect(
    registration: *mut furwock_registration,
    index: usize,
    value: u64,
) -> c_int {
    /// # Safety
    /// The word exists, since it is registered.
    unsafe fn expect<A: Sized>(
        registration: &mut Registration<'static>,
        index: usize,
        word: *const Word,
        value: u64,
    ) -> Result<(), c_int> {
        // SAFETY: by this function's contract.
        registration.expect(index, unsafe { word::at::<A>(word) }?, word::narrow::<A>(value)?);
        Ok(())
    }
    // SAFETY: the caller's registration, or NULL.
    let Some(held) = (unsafe { registration.as_mut() }) else { return EINVAL };
    let Some(&named) = held.words.get(index) else { return EINVAL };
    let registration = &mut held.registration;
    // SAFETY: registered words exist until the registration is freed.
    errno_of(unsafe { by_size!(named.size, expect(registration, index, named.word, value)) })
}

/// furwock_wait_any on the registered words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_registration_wait(
    registration: *mut furwock_registration,
    until: *const furwock_deadline,
    index: *mut usize,
) -> c_int {
    // SAFETY: the caller's registration or NULL, and its deadline.
    let how = unsafe {
        registration.as_mut().ok_or(EINVAL).and_then(|held| {
            let until = deadline(until)?;
            if held.words.is_empty() && until.is_none() {
                return Err(EINVAL);
            }
            Ok(held.registration.wait(until.as_ref()))
        })
    };
    // SAFETY: the caller's place for the answer.
    unsafe { answer(how, index) }
}

/// Takes the words out of the queues and frees the registration. NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_registration_free(registration: *mut furwock_registration) {
    if !registration.is_null() {
        // SAFETY: made by `furwock_register` as a slice of one, and given up by the caller.
        drop(unsafe { Box::from_raw(core::ptr::slice_from_raw_parts_mut(registration, 1)) });
    }
}

/// # Safety
/// `words` is null or points to `count` entries; each word is null or valid for `'w`.
unsafe fn read_words<'w>(
    words: *const furwock_expected,
    count: usize,
) -> Result<Vec<Expected<'w>>, c_int> {
    let mut expected = Vec::new();
    if count == 0 {
        return Ok(expected);
    }
    if words.is_null() || !words.is_aligned() {
        return Err(EINVAL);
    }
    expected.try_reserve_exact(count).map_err(|_| ENOMEM)?;
    for index in 0..count {
        // SAFETY: by this function's contract.
        unsafe {
            let named = &*words.add(index);
            expected.push(word::expected(named.word, named.size, named.value)?);
        }
    }
    Ok(expected)
}

/// # Safety
/// `index` is NULL or may be written to.
unsafe fn answer(how: Result<AnyWaited, c_int>, index: *mut usize) -> c_int {
    let (at, errno) = match how {
        Ok(AnyWaited::Woken(at)) => (at, 0),
        Ok(AnyWaited::Mismatch(at)) => (at, EAGAIN),
        Ok(AnyWaited::TimedOut) => return ETIMEDOUT,
        Err(errno) => return errno,
    };
    if !index.is_null() {
        // SAFETY: by this function's contract.
        unsafe { index.write(at) };
    }
    errno
}
