//! From an address to a bucket.

/// The bucket, of `1 << bits`, that `key` belongs to.
///
/// Addresses of locks come in strides: array elements, stacks, pages. Two rounds of multiply and
/// fold (the constants are those of splitmix64's finaliser, Steele, Lea and Flood 2014) leave no
/// stride visible, which one multiplication alone does.
#[inline]
pub(crate) fn bucket_index(key: u64, bits: u32) -> usize {
    let mut x = key;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> (u64::BITS - bits)) as usize
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const BITS: u32 = 9;
    const BUCKETS: usize = 1 << BITS;

    /// Chi-squared of the spread, as standard deviations from its mean (BUCKETS - 1 degrees of
    /// freedom, where it is near normal).
    fn deviations(addresses: impl Iterator<Item = usize>) -> f64 {
        let mut counts = [0u32; BUCKETS];
        let mut total = 0.0;
        for address in addresses {
            counts[bucket_index(address as u64, BITS)] += 1;
            total += 1.0;
        }
        let expected = total / BUCKETS as f64;
        let chi: f64 =
            counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
        let freedom = (BUCKETS - 1) as f64;
        (chi - freedom) / (2.0 * freedom).sqrt()
    }

    #[track_caller]
    fn assert_even(what: &str, addresses: impl Iterator<Item = usize>) {
        let deviations = deviations(addresses);
        assert!(deviations < 5.0, "{what}: {deviations:.1} standard deviations too uneven");
    }

    #[test]
    fn strides_from_4_bytes_to_64_kib_spread_evenly() {
        for shift in 2..=16 {
            for base in [0x5555_5575_6000usize, 0x7f3a_1c00_0000, 0x7ffc_d00d_e000] {
                let addresses = (0..16 * BUCKETS).map(|i| base + (i << shift));
                assert_even(&format!("stride {} from {base:#x}", 1 << shift), addresses);
            }
        }
    }

    #[test]
    fn odd_strides_of_structs_spread_evenly() {
        for stride in [12, 24, 40, 48, 56, 72, 136, 1000, 4104, 65_544] {
            let addresses = (0..16 * BUCKETS).map(|i| 0x5555_5575_6010 + i * stride);
            assert_even(&format!("stride {stride}"), addresses);
        }
    }

    #[test]
    fn the_same_place_in_many_stacks_spreads_evenly() {
        // Thread stacks of 8 MiB and a guard page, from the top of the map downwards.
        let addresses = (1..=8 * BUCKETS).map(|i| 0x7fff_f000_0000 - i * (8 << 20) - 0x8d0);
        assert_even("stacks", addresses);
    }

    #[test]
    fn an_uneven_spread_is_noticed() {
        let addresses = (0..16 * BUCKETS).map(|i| 0x5555_5575_6000 + (i % 97) * 64);
        assert!(deviations(addresses) > 5.0);
    }
}
