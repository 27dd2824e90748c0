//! The distributions of two rank statistics, if both sides are the same: how many of the least and
//! of the greatest ratios an interval may leave out.

/// Up to so many values the distributions are counted out. With more, the normal distribution gives
/// the same.
const EXACT_MAX: usize = 64;

/// The place, from 1, of the interval's ends among the sorted means of any two of `pairs` values
/// (Wilcoxon's signed ranks); none if that few can't reach the level.
pub fn place_among_means(pairs: usize, level: f64) -> Option<usize> {
    let count = pairs as f64;
    let means = count * (count + 1.0) / 2.0;
    if pairs > EXACT_MAX {
        let deviation = (count * (count + 1.0) * (2.0 * count + 1.0) / 24.0).sqrt();
        return by_normal_distribution(means, deviation, level);
    }
    // Each rank is in the sum with a probability of a half.
    let mut ways = vec![1.0];
    for rank in 1..=pairs {
        let mut more = vec![0.0; ways.len() + rank];
        for (sum, each) in ways.iter().enumerate() {
            more[sum] += each;
            more[sum + rank] += each;
        }
        ways = more;
    }
    outermost(&ways, level)
}

/// The same among the sorted ratios of each of `ones` values to each of `others` (the rank sum of
/// Wilcoxon, Mann and Whitney).
pub fn place_among_ratios(ones: usize, others: usize, level: f64) -> Option<usize> {
    let ratios = (ones * others) as f64;
    if ones + others > EXACT_MAX {
        let deviation = (ratios * (ones + others + 1) as f64 / 12.0).sqrt();
        return by_normal_distribution(ratios, deviation, level);
    }
    // For each number of ones and of wins over others, the orders of all values so far, of which
    // the last comes after all before it.
    let mut ways = vec![vec![0.0; ones * others + 1]; ones + 1];
    ways[0][0] = 1.0;
    for place in 0..ones + others {
        for count in (1..=ones.min(place + 1)).rev() {
            // The one at this place wins over all others before it.
            let beaten = place + 1 - count;
            if beaten > others {
                continue;
            }
            let (fewer, more) = ways.split_at_mut(count);
            let reached = more[0][beaten..].iter_mut().zip(&fewer[count - 1]);
            reached.for_each(|(ways, fewer)| *ways += fewer);
        }
    }
    outermost(&ways[ones], level)
}

/// How many of the least values together are as unlikely as half of `level`.
fn outermost(ways: &[f64], level: f64) -> Option<usize> {
    let room = level / 2.0 * ways.iter().sum::<f64>() * (1.0 + 1e-9);
    let mut sum = 0.0;
    let unlikely = |ways: &&f64| {
        sum += **ways;
        sum <= room
    };
    let place = ways.iter().take_while(unlikely).count();
    (place > 0).then_some(place)
}

/// The same where a count is nearly normal, about half of `most`.
fn by_normal_distribution(most: f64, deviation: f64, level: f64) -> Option<usize> {
    let place = (most / 2.0 - quantile(1.0 - level / 2.0) * deviation).floor();
    (place >= 1.0).then_some(place as usize)
}

/// Of the normal distribution above its middle, to 5e-4 (Abramowitz and Stegun, 26.2.23).
fn quantile(share: f64) -> f64 {
    let t = (-2.0 * (1.0 - share).ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_reach_no_level() {
        assert_eq!(place_among_means(5, 0.05), None);
        assert_eq!(place_among_means(6, 0.05), Some(1));
        // 2 / 2^5.
        assert_eq!(place_among_means(5, 1.0 / 16.0), Some(1));
        assert_eq!(place_among_ratios(2, 2, 0.1), None);
        assert_eq!(place_among_ratios(2, 5, 0.1), Some(1));
        // 2 / (6 over 3) and 2 / (8 over 4).
        assert_eq!(place_among_ratios(3, 3, 0.1), Some(1));
        assert_eq!(place_among_ratios(3, 3, 0.09), None);
        assert_eq!(place_among_ratios(4, 4, 0.05), Some(1));
        assert_eq!(place_among_means(0, 0.05), None);
        assert_eq!(place_among_ratios(0, 3, 0.05), None);
    }

    /// As published tables of both tests have them: the greatest sum that is significant, and one.
    #[test]
    fn the_places_are_those_of_the_tables() {
        for (pairs, critical) in [(7, 2), (8, 3), (10, 8), (12, 13), (15, 25), (20, 52), (25, 89)] {
            assert_eq!(place_among_means(pairs, 0.05), Some(critical + 1), "{pairs}");
        }
        let tables = [(5, 5, 2), (6, 6, 5), (4, 10, 5), (8, 8, 13), (10, 10, 23), (20, 20, 127)];
        for (ones, others, critical) in tables {
            assert_eq!(place_among_ratios(ones, others, 0.05), Some(critical + 1));
            assert_eq!(place_among_ratios(others, ones, 0.05), Some(critical + 1));
        }
    }

    #[test]
    fn many_values_are_nearly_normal() {
        let near = |one: Option<usize>, other: Option<usize>, most: usize| {
            one.unwrap().abs_diff(other.unwrap()) <= most
        };
        // One value more moves the place by about its own part of it.
        let place = |pairs| place_among_means(pairs, 0.05);
        assert!(near(place(EXACT_MAX), place(EXACT_MAX + 1), 30));
        let place = |ones| place_among_ratios(ones, 32, 0.05);
        assert!(near(place(32), place(33), 15), "{:?} {:?}", place(32), place(33));
        assert!((quantile(0.975) - 1.96).abs() < 1e-3 && (quantile(0.95) - 1.645).abs() < 1e-3);
    }
}
