//! Functions that are `const`, but for models, whose atomics and cells are made at run time.

/// Defines functions as `const`, but not in models.
macro_rules! const_unless_model {
    ($(
        $(#[$meta:meta])*
        $vis:vis fn $name:ident($($argument:ident: $of:ty),*) -> $made:ty $body:block
    )*) => {$(
        $(#[$meta])*
        #[cfg(not(any(loom, shuttle)))]
        $vis const fn $name($($argument: $of),*) -> $made $body

        $(#[$meta])*
        #[cfg(any(loom, shuttle))]
        $vis fn $name($($argument: $of),*) -> $made $body
    )*};
}

pub(crate) use const_unless_model;
