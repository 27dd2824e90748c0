//! Where an object was made: in which of the program's functions, by the stack of the call that
//! initialised it.

use super::functions::is_of_a_library;
use super::image::Place;
use super::words::{self, address};
use super::{Frame, Stack};

/// "cache_new (cache.c:41)". Functions that do nothing but make locks are passed over: what called
/// them says more.
pub fn maker(stack: &Stack) -> Option<String> {
    let mut wrapper = None;
    for frame in &stack.frames {
        if frame.places.is_empty() && !is_of_a_library("", frame.file_name()) {
            return Some(address(frame));
        }
        let own = |place: &&Place| !is_of_a_library(&place.function, frame.file_name());
        for place in frame.places.iter().filter(own) {
            if !only_makes_locks(&place.function) {
                return Some(called(place, frame));
            }
            wrapper.get_or_insert_with(|| called(place, frame));
        }
    }
    wrapper
}

/// Where in the file it is, if no line is known: a function may make several objects.
fn called(place: &Place, frame: &Frame) -> String {
    match place.line {
        Some(_) => words::function(place),
        None => format!("{} ({}+{:#x})", place.function, frame.file_name(), frame.address),
    }
}

/// Whether a function's name says that it makes a lock: `apr_thread_mutex_create`,
/// `QMutex::QMutex`, `LWLockInitialize`.
fn only_makes_locks(function: &str) -> bool {
    const LOCKS: [&str; 12] = [
        "mutex",
        "mtx",
        "rwlock",
        "lock",
        "spinlock",
        "spin",
        "semaphore",
        "sem",
        "cond",
        "condvar",
        "condition",
        "barrier",
    ];
    const MAKES: [&str; 9] =
        ["init", "initialize", "initialise", "new", "create", "make", "alloc", "allocate", "setup"];
    let plain = without_arguments(function);
    let mut names = plain.rsplit("::");
    let last = names.next().unwrap_or_default();
    let words = split(last);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    has(&LOCKS) && (has(&MAKES) || names.next() == Some(last))
}

/// Without what templates and generics are given.
fn without_arguments(function: &str) -> String {
    let mut depth = 0_usize;
    let mut plain = String::new();
    for letter in function.chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    plain
}

/// The words of a name, in lower case: `LWLockInitialize` has three.
fn split(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let follows_lower = at > 0 && letters[at - 1].is_lowercase();
        let precedes_lower = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        let begins = letter.is_uppercase() && (follows_lower || precedes_lower);
        if begins || !letter.is_alphabetic() {
            words.push(String::new());
        }
        if letter.is_alphabetic() {
            words.last_mut().expect("one at least").extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    #[test]
    fn functions_that_make_locks_are_known_by_their_names() {
        for wrapper in [
            "apr_thread_mutex_create",
            "g_mutex_init",
            "SDL_CreateMutex",
            "PR_NewLock",
            "LWLockInitialize",
            "QMutex::QMutex",
            "boost::mutex::mutex",
            "util::Guarded<std::vector<int>>::init_lock",
        ] {
            assert!(only_makes_locks(wrapper), "{wrapper}");
        }
        for own in [
            "cache_new",
            "block_new",
            "clock_init",
            "Registry::Registry",
            "test_mutex",
            "make<std::mutex>",
            "second_create",
        ] {
            assert!(!only_makes_locks(own), "{own}");
        }
    }

    #[test]
    fn what_calls_a_wrapper_is_the_maker() {
        let frame = |function: &str, line| {
            let place = Place {
                function: function.to_owned(),
                file: Some("cache.c".to_owned()),
                line,
                is_inlined: false,
            };
            Frame {
                code: 0,
                stack: (0, 0),
                preserved: Vec::new(),
                origin: None,
                places: Rc::new(vec![place]),
                address: 0x41,
            }
        };
        let maker = |frames: Vec<Frame>| maker(&Stack { frames, ends_early: None });
        let wrapped = vec![frame("mutex_create", Some(3)), frame("cache_new", Some(41))];
        assert_eq!(maker(wrapped).as_deref(), Some("cache_new (cache.c:41)"));
        // Better than nothing.
        let alone = maker(vec![frame("mutex_create", Some(3))]);
        assert_eq!(alone.as_deref(), Some("mutex_create (cache.c:3)"));
        let no_line = maker(vec![frame("cache_new", None)]);
        assert_eq!(no_line.as_deref(), Some("cache_new (+0x41)"));
        assert_eq!(maker(Vec::new()), None);
    }
}
