//! Tables of netem's delay distributions: the inverse of the cumulative distribution, scaled by 8192, as iproute2's
//! generators (from NIST Net) define them. The kernel draws an entry, multiplies by the jitter and divides by 8192.

use std::f64::consts::{PI, SQRT_2};

const SCALE: f64 = 8192.0;
/// Finer steps of the distribution, of which every fourth is an entry.
const STEPS: u32 = 16_384;
const STRIDE: usize = 4;
/// The grid on which the normal distribution is inverted.
const GRID_FROM: f64 = -10.0;
const GRID_STEP: f64 = 0.00005;
const GRID_POINTS: u32 = 401_000;
const PARETO_SHAPE: f64 = 3.0;
const PARETO_MEAN: f64 = 1.5;

/// The entries of a distribution; `None` for a name that is not known.
#[must_use]
pub fn table(name: &str) -> Option<Vec<i16>> {
    let entries = (0..STEPS).step_by(STRIDE);
    Some(match name {
        "normal" => entries.map(|at| bounded(normal(at))).collect(),
        "pareto" => entries.map(|at| bounded(pareto(at))).collect(),
        "paretonormal" => entries.map(|at| bounded((normal(at) + 3 * pareto(at)) / 4)).collect(),
        _ => return None,
    })
}

pub const NAMES: &str = "uniform, normal, pareto and paretonormal";

fn bounded(value: i32) -> i16 {
    value.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

fn scaled(value: f64) -> i32 {
    (value * SCALE).round_ties_even() as i32
}

/// The last point of the grid that is rounded to step `at` of the standard normal distribution.
fn normal(at: u32) -> i32 {
    let point = |index: u32| GRID_FROM + f64::from(index) * GRID_STEP;
    let step = |index: u32| (f64::from(STEPS) * cumulative(point(index))).round_ties_even() as u32;
    let (mut low, mut high) = (0, GRID_POINTS);
    while high - low > 1 {
        let middle = u32::midpoint(low, high);
        if step(middle) <= at {
            low = middle;
        } else {
            high = middle;
        }
    }
    scaled(point(low))
}

/// Pareto with shape 3, moved to mean 0 and scaled to about the same spread.
fn pareto(at: u32) -> i32 {
    let left = 1.0 - f64::from(at) / f64::from(STEPS);
    scaled((1.0 / libm::pow(left, 1.0 / PARETO_SHAPE) - PARETO_MEAN) * (4.0 / 3.0)).min(i16::MAX.into())
}

/// The standard normal distribution function.
fn cumulative(x: f64) -> f64 {
    0.5 + 0.5 * error_function(x / SQRT_2)
}

/// erf x = 2/√π · exp(-x²) · Σ 2ⁿ x²ⁿ⁺¹ / (2n+1)!! (Abramowitz and Stegun 7.1.6): all terms of one sign, so nothing cancels.
fn error_function(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    let mut odd = 1.0;
    while term.abs() > sum.abs() * 1e-17 {
        odd += 2.0;
        term *= 2.0 * x * x / odd;
        sum += term;
    }
    2.0 / PI.sqrt() * libm::exp(-x * x) * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_function_has_its_published_values() {
        // Abramowitz and Stegun, table 7.1.
        for (x, value) in [(0.5, 0.520_499_877_8), (1.0, 0.842_700_792_9), (2.0, 0.995_322_265_0)] {
            assert!((error_function(x) - value).abs() < 1e-10 && (error_function(-x) + value).abs() < 1e-10);
        }
    }

    #[test]
    fn the_normal_table_has_mean_zero_and_deviation_one() {
        let table = table("normal").expect("a table");
        let sum: f64 = table.iter().map(|entry| f64::from(*entry)).sum();
        let squares: f64 = table.iter().map(|entry| f64::from(*entry).powi(2)).sum();
        let count = table.len() as f64;
        assert!((sum / count / SCALE).abs() < 0.002);
        assert!(((squares / count).sqrt() / SCALE - 1.0).abs() < 0.002);
        assert!(table.is_sorted());
    }
}
