//! Function names as their authors wrote them.

/// Demangled if it is mangled, without a version and without the hash that rustc appends.
pub fn readable(raw: &str) -> String {
    let raw = raw.split_once('@').map_or(raw, |(name, _version)| name);
    if let Ok(name) = rustc_demangle::try_demangle(raw) {
        return format!("{name:#}");
    }
    if raw.starts_with("_Z") || raw.starts_with("__Z") {
        let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
        let symbol = cpp_demangle::Symbol::new(raw);
        if let Ok(name) = symbol
            .map_err(drop)
            .and_then(|symbol| symbol.demangle_with_options(&options).map_err(drop))
        {
            return name;
        }
    }
    raw.to_owned()
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn names_are_those_of_the_source() {
        let rust = "_ZN3std3sys4sync5mutex5futex5Mutex14lock_contended17h0123456789abcdefE";
        assert_eq!(readable(rust), "std::sys::sync::mutex::futex::Mutex::lock_contended");
        assert_eq!(readable("_ZN4bank8transferERNS_7AccountEi"), "bank::transfer");
        assert_eq!(readable("pthread_mutex_lock@@GLIBC_2.2.5"), "pthread_mutex_lock");
        assert_eq!(readable("_Zzz"), "_Zzz");
    }
}
