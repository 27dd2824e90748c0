//! The clock of a record: the processor's time-stamp counter where the kernel trusts it too.

use std::fs;
#[cfg(target_arch = "x86_64")]
use std::time::Duration;

const NANOSECONDS: u64 = 1_000_000_000;

/// How long the counter is compared with the kernel's clock.
#[cfg(target_arch = "x86_64")]
const COMPARED: Duration = Duration::from_millis(10);

/// Ticks in a second; those of CLOCK_MONOTONIC, if the counter isn't sound.
pub fn per_second() -> u64 {
    if is_trusted() { measured().unwrap_or(NANOSECONDS) } else { NANOSECONDS }
}

/// The kernel's clock is the counter, as it is or as a hypervisor has scaled it: it then runs at
/// one rate on all processors.
fn is_trusted() -> bool {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = fs::read_to_string(path).unwrap_or_default();
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = flags.lines().find(|line| line.starts_with("flags")).unwrap_or("");
    let has = |flag| flags.split_whitespace().any(|word| word == flag);
    ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page"].contains(&source.trim())
        && has("constant_tsc")
        && has("nonstop_tsc")
        && is_readable()
}

/// A process may forbid itself and its children to read the counter.
fn is_readable() -> bool {
    let mut state: libc::c_int = 0;
    // SAFETY: writes one integer.
    let asked = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut state) };
    asked == 0 && state == libc::PR_TSC_ENABLE
}

#[cfg(target_arch = "x86_64")]
fn measured() -> Option<u64> {
    let (time, ticks) = both();
    std::thread::sleep(COMPARED);
    let (later, more) = both();
    let (time, ticks) = (later.checked_sub(time)?, more.checked_sub(ticks)?);
    let rate = u128::from(ticks) * u128::from(NANOSECONDS) / u128::from(time.max(1));
    // The clock that isn't the counter has this rate.
    u64::try_from(rate).ok().filter(|rate| *rate > 1_000_000 && *rate != NANOSECONDS)
}

#[cfg(not(target_arch = "x86_64"))]
fn measured() -> Option<u64> {
    None
}

/// CLOCK_MONOTONIC and the counter at one moment: of several tries the one that was interrupted
/// least.
#[cfg(target_arch = "x86_64")]
fn both() -> (u64, u64) {
    use std::arch::x86_64::_rdtsc;
    let try_once = || {
        // SAFETY: `is_readable` has been asked.
        let before = unsafe { _rdtsc() };
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        // SAFETY: as above.
        let after = unsafe { _rdtsc() };
        let time = now.tv_sec as u64 * NANOSECONDS + now.tv_nsec as u64;
        (after.wrapping_sub(before), (time, before.wrapping_add(after.wrapping_sub(before) / 2)))
    };
    let tries = (0..10).map(|_| try_once());
    tries.min_by_key(|(gap, _)| *gap).map_or((0, 0), |(_, both)| both)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_measured_alike_twice() {
        let (one, other) = (per_second(), per_second());
        assert!(one.abs_diff(other) < one / 100, "{one} {other}");
    }
}
