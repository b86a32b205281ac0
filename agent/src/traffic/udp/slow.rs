//! Readers of datagrams that are late.

use crate::plan::Flow;

use super::{burst, SECOND_NS, USUAL_BYTES};

/// A reader that is late: it comes by a clock, or is busy with what it has read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slow {
    pub every_ns: Option<i64>,
    rate_bps: Option<u64>,
    /// Datagrams that it takes at once.
    pub most: usize,
    pub end_ns: i64,
}

impl Slow {
    pub fn new(flow: &Flow, duration_ns: i64) -> Option<Self> {
        let size = flow.packet_bytes.unwrap_or(USUAL_BYTES) as usize;
        let most = match (flow.read_bps, flow.read_interval_ns) {
            (None, None) => return None,
            (Some(rate_bps), None) => burst(size, rate_bps),
            (rate_bps, Some(every_ns)) => {
                rate_bps.map_or(usize::MAX, |rate_bps| worth(rate_bps, every_ns) / size).max(1)
            }
        };
        let (every_ns, rate_bps) = (flow.read_interval_ns, flow.read_bps);
        Some(Self { every_ns, rate_bps, most, end_ns: duration_ns })
    }

    /// When it comes again: it was due at `due_ns`, could begin with these bytes at `begin_ns`, and is busy with them.
    pub fn next_ns(&self, due_ns: i64, begin_ns: i64, bytes: u64) -> i64 {
        let clock_ns = self.every_ns.map_or(begin_ns, |every_ns| due_ns + every_ns);
        let busy =
            self.rate_bps.map_or(0, |rate_bps| u128::from(bytes) * 8 * SECOND_NS / u128::from(rate_bps));
        clock_ns.max(begin_ns + busy as i64)
    }
}

/// Bytes that a rate makes of a time.
fn worth(rate_bps: u64, time_ns: i64) -> usize {
    (u128::from(rate_bps) * u128::from(time_ns.unsigned_abs()) / (8 * SECOND_NS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_comes_by_a_clock_keeps_to_it_and_a_busy_one_to_its_rate() {
        let clock = Slow { every_ns: Some(1000), rate_bps: None, most: 1, end_ns: 0 };
        assert_eq!(clock.next_ns(5000, 5100, 9000), 6000);
        let busy = Slow { every_ns: None, rate_bps: Some(8_000_000_000), ..clock };
        assert_eq!(busy.next_ns(5000, 5100, 9000), 14_100);
        let both = Slow { rate_bps: busy.rate_bps, ..clock };
        assert_eq!((both.next_ns(5000, 5100, 9000), both.next_ns(5000, 5100, 0)), (14_100, 6000));
        assert_eq!(worth(8_000_000_000, 1000), 1000);
    }
}
