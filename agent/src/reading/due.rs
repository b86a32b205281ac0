//! When readings are due, and which are left out.

/// Readings that may be left out without a word: one of so many.
const FEW: u64 = 100;

/// When the next reading is due after one at `at_ns` that began at `now_ns` and kept the processor for `busy_ns`. What has passed by
/// then is left out: to catch up would put off the end, and read again and again what has hardly changed. So is what would leave
/// others less than half of the processor: who reads comes before them.
pub fn next_due(at_ns: i64, (now_ns, busy_ns): (i64, i64), sample_ns: i64) -> i64 {
    let after_ns = now_ns + (2 * busy_ns - 1).max(0);
    (at_ns + sample_ns).max((after_ns.div_euclid(sample_ns) + 1) * sample_ns)
}

/// The readings that were made and that were not.
#[derive(Debug, Default)]
pub struct Tally {
    made: u64,
    left_out: u64,
    /// Of those left out: their time had passed when the one before them began.
    passed: u64,
}

impl Tally {
    /// One was made.
    pub fn made(&mut self) {
        self.made += 1;
    }

    /// Of those between one at `at_ns`, which began at `now_ns`, and the next at `due_ns` none is made.
    pub fn goes_on(&mut self, (at_ns, now_ns): (i64, i64), due_ns: i64, sample_ns: i64) {
        let between = |until_ns: i64| ((until_ns - at_ns - 1) / sample_ns).max(0) as u64;
        self.left_out += between(due_ns);
        self.passed += between(due_ns.min(now_ns + 1));
    }

    /// Says so where more than a few had to be left out, and why.
    #[must_use]
    pub fn warning(&self, sample_ns: i64) -> Option<String> {
        let (asked, interval_us) = (self.made + self.left_out, sample_ns as f64 / 1e3);
        let why = if 2 * self.passed > self.left_out {
            format!("the machine was too busy for one every {interval_us} µs")
        } else {
            format!("one took more than half of the interval of {interval_us} µs")
        };
        (self.left_out * FEW > asked)
            .then(|| format!("{} of {asked} readings were left out: {why}", self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_whose_time_has_passed_are_left_out() {
        // Punctual, a little late, so late that the next two have passed.
        for (now_ns, due_ns) in [(100, 120), (119, 120), (120, 140), (145, 160), (159, 160), (160, 180)] {
            assert_eq!(next_due(100, (now_ns, 0), 20), due_ns, "{now_ns}");
        }
        // A clock that is a little early does not repeat a reading.
        assert_eq!(next_due(100, (99, 0), 20), 120);
    }

    #[test]
    fn readings_leave_others_half_of_the_processor() {
        for (busy_ns, due_ns) in [(5, 120), (10, 120), (11, 140), (20, 140), (21, 160)] {
            assert_eq!(next_due(100, (100, busy_ns), 20), due_ns, "{busy_ns}");
        }
    }

    fn warning(now_ns: i64, due_ns: i64) -> String {
        let mut tally = Tally::default();
        tally.made();
        tally.goes_on((100, now_ns), due_ns, 20);
        tally.warning(20).unwrap_or_default()
    }

    #[test]
    fn it_is_said_why_readings_were_left_out() {
        assert_eq!(warning(100, 120), "");
        let long = "2 of 3 readings were left out: one took more than half of the interval of 0.02 µs";
        assert_eq!(warning(100, 160), long);
        // Of one of the two the time had passed.
        assert_eq!(warning(120, 160), long);
        assert_eq!(
            warning(140, 160),
            "2 of 3 readings were left out: the machine was too busy for one every 0.02 µs"
        );
    }

    #[test]
    fn a_few_are_left_out_without_a_word() {
        let mut tally = Tally::default();
        tally.goes_on((0, 0), 40, 20);
        (0..99).for_each(|_| tally.made());
        assert_eq!(tally.warning(20), None);
    }
}
