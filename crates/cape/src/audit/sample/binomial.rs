//! Exact bounds on a probability from counts: Clopper and Pearson's.

/// The largest probability that the count argues against: an event of this probability or less is
/// seen `hits` times or more in `n` draws with probability at most `alpha`. So the true one is
/// above it, but for a chance of `alpha`.
pub(crate) fn lower(hits: u64, n: u64, alpha: f64) -> f64 {
    debug_assert!(hits <= n && alpha > 0.0 && alpha < 1.0);
    if hits == 0 {
        return 0.0;
    }
    // the tail grows with p; the lower end of what is left errs on the safe side
    let (mut lo, mut hi) = (0.0, hits as f64 / n as f64);
    loop {
        let mid = f64::midpoint(lo, hi);
        if mid <= lo || mid >= hi || hi - lo < 1e-12 * hi {
            return lo;
        }
        if tail(hits, n, mid) <= alpha { lo = mid } else { hi = mid }
    }
}

/// An upper bound in the same way.
pub(crate) fn upper(hits: u64, n: u64, alpha: f64) -> f64 {
    1.0 - lower(n - hits, n, alpha)
}

/// The probability of `hits` or more in `n` tosses of a fair coin, where that is less than a half;
/// else one.
pub(crate) fn sign_test(hits: u64, n: u64) -> f64 {
    if 2 * hits <= n { 1.0 } else { tail(hits, n, 0.5) }
}

/// The probability of `k` or more hits in `n` draws, for k ≥ np ≥ 0: its terms fall.
fn tail(k: u64, n: u64, p: f64) -> f64 {
    if p >= 1.0 {
        return 1.0;
    }
    let ln_choose = ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    let ln_first = ln_choose + k as f64 * p.ln() + (n - k) as f64 * (-p).ln_1p();
    let (odds, mut term, mut sum) = (p / (1.0 - p), 1.0, 1.0);
    for i in k..n {
        term *= (n - i) as f64 / (i + 1) as f64 * odds;
        sum += term;
        if term < 1e-17 * sum {
            break;
        }
    }
    (ln_first + sum.ln()).exp()
}

/// ln n!: the product where it is short, else Stirling's series, whose next term is below 1e-15.
fn ln_factorial(n: u64) -> f64 {
    if n < 32 {
        return (2..=n).map(|i| i as f64).product::<f64>().ln();
    }
    let x = n as f64;
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5))
        - 1.0 / (1680.0 * x.powi(7));
    x * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI * x).ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factorials_meet_where_the_series_begins() {
        let sum = |n: u64| (2..=n).map(|i| (i as f64).ln()).sum::<f64>();
        for n in [0, 1, 2, 20, 31, 32, 33, 100, 1000] {
            assert!((ln_factorial(n) - sum(n)).abs() <= 1e-12 * sum(n).max(1.0), "{n}");
        }
    }

    /// Where the bounds have a closed form, and where tables give them.
    #[test]
    fn bounds_are_those_of_clopper_and_pearson() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * b.max(1e-3), "{a} for {b}");
        for (n, alpha) in [(1_u64, 0.05), (10, 0.025), (1000, 1e-9)] {
            near(lower(n, n, alpha), alpha.powf(1.0 / n as f64));
            near(upper(0, n, alpha), 1.0 - alpha.powf(1.0 / n as f64));
            near(lower(1, n, alpha), 1.0 - (1.0 - alpha).powf(1.0 / n as f64));
            assert_eq!((lower(0, n, alpha), upper(n, n, alpha)), (0.0, 1.0));
        }
        // quantiles of the beta distribution, by SciPy: beta.ppf(a, k, n - k + 1)
        near(lower(5, 10, 0.025), 0.187_086_028_447_398_55);
        near(upper(5, 10, 0.025), 0.812_913_971_552_601_5);
        near(lower(30, 1000, 0.005), 0.017_868_191_527_523_246);
        near(upper(30, 1000, 0.005), 0.046_802_486_323_362_1);
        near(lower(4321, 50_000, 1e-9), 0.079_074_669_207_505_71);
    }

    /// The promise of the bound, enumerated: it misses with probability at most alpha.
    #[test]
    fn the_bound_misses_as_rarely_as_it_says() {
        let (n, alpha) = (40, 0.01);
        for p in [0.01, 0.1, 0.37, 0.5, 0.93] {
            let chance = |k: u64| {
                let choose = ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
                (choose + k as f64 * f64::ln(p) + (n - k) as f64 * f64::ln(1.0 - p)).exp()
            };
            let missed =
                |miss: &dyn Fn(u64) -> bool| (0..=n).filter(|&k| miss(k)).map(chance).sum::<f64>();
            assert!(missed(&|k| lower(k, n, alpha) > p) <= alpha);
            assert!(missed(&|k| upper(k, n, alpha) < p) <= alpha);
        }
    }

    #[test]
    fn coins() {
        assert_eq!(sign_test(5, 10), 1.0);
        assert!((sign_test(10, 10) - 0.5_f64.powi(10)).abs() < 1e-15);
        assert!((sign_test(9, 10) - 11.0 * 0.5_f64.powi(10)).abs() < 1e-14);
        assert!(sign_test(0, 0) == 1.0);
    }
}
