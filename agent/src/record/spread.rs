//! How widely values are spread: counts in classes whose width is 1/16 of their value, so that memory stays small and
//! percentiles are true to 6 %.

use serde::Serialize;

const STEPS: usize = 16;

/// Values of 0 and more.
#[derive(Debug, Clone, Default)]
pub struct Spread {
    classes: Vec<u64>,
    count: u64,
    max: u64,
}

/// What is told of a spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub p50: u64,
    pub p99: u64,
    pub max: u64,
}

impl Spread {
    pub fn add(&mut self, value: u64) {
        let class = class(value);
        if self.classes.len() <= class {
            self.classes.resize(class + 1, 0);
        }
        self.classes[class] += 1;
        self.count += 1;
        self.max = self.max.max(value);
    }

    /// The least class end that `share` of the values do not exceed; 0 of none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (share * self.count as f64).ceil() as u64;
        let mut seen = 0;
        let class = self.classes.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        class.map_or(0, |class| last(class).min(self.max))
    }

    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary { p50: self.quantile(0.5), p99: self.quantile(0.99), max: self.max }
    }
}

/// Below 16 each value has a class of its own, above each power of two has sixteen.
fn class(value: u64) -> usize {
    let power = value.max(1).ilog2() as usize;
    if power < 4 {
        return value as usize;
    }
    STEPS * (power - 3) + (value >> (power - 4)) as usize - STEPS
}

/// The largest value of a class.
fn last(class: usize) -> u64 {
    if class < STEPS {
        return class as u64;
    }
    let shift = class / STEPS - 1;
    ((((class % STEPS + STEPS) as u64) + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_its_last_value_and_not_the_next() {
        for value in (0..2000).chain([1 << 20, (1 << 40) + 12345]) {
            let at = class(value);
            assert!(last(at) >= value && class(last(at)) == at && class(last(at) + 1) == at + 1, "{value}");
            assert!((last(at) - value) * 16 <= value, "{value}");
        }
    }

    #[test]
    fn quantiles_of_a_known_series() {
        let mut spread = Spread::default();
        assert_eq!(spread.summary(), Summary { p50: 0, p99: 0, max: 0 });
        (1..=1000).for_each(|value| spread.add(value));
        let found = spread.summary();
        assert!((500..=531).contains(&found.p50) && (990..=1000).contains(&found.p99) && found.max == 1000);
    }
}
