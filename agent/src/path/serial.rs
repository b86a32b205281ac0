//! How long a link takes to send a packet: bytes over rate, one packet after the other.
//!
//! A shaper lets a packet go as soon as it has the right to (a full bucket at once). The link behind it sends that packet when
//! it has sent the one before, and the packet has left when its last bit has. So a lone packet takes the time of its
//! bytes, and so does each of a queue, whatever their sizes and however the shaper counts.

use crate::plan::Serial;

/// A shaper's timer comes late by less than this, and its bucket makes up for it.
const TIMER_NS: u64 = 1000;

/// What the sending of packets needs to know, in numbers that a program can use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pace {
    /// `bytes · factor >> shift` is their time in ns, as the kernel's own shapers reckon it.
    pub factor: u64,
    pub shift: u64,
    /// By how much the link may lag behind what the shaper lets go.
    pub ahead_ns: u64,
    /// Nothing is sent before.
    pub hold_ns: u64,
}

impl Pace {
    /// For a clock on which the experiment began at `start_ns`.
    #[must_use]
    pub fn of(serial: &Serial, start_ns: i64) -> Self {
        let (factor, shift) = factor(serial.rate_bps / 8);
        let mut pace = Self { factor, shift, ..Self::default() };
        pace.ahead_ns = pace.time_ns(serial.ahead_bytes) + TIMER_NS;
        if serial.hold_ns > 0 {
            pace.hold_ns = start_ns.saturating_add(serial.hold_ns).unsigned_abs();
        }
        pace
    }

    /// What so many bytes take.
    #[must_use]
    pub fn time_ns(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(self.factor) >> self.shift
    }

    /// When a packet has been sent that the shaper let go at `now_ns`; the one before was sent at `sent_ns`.
    #[must_use]
    pub fn send(&self, now_ns: u64, sent_ns: u64, bytes: u64) -> u64 {
        let free_ns = sent_ns.min(now_ns + self.ahead_ns);
        free_ns.max(now_ns).max(self.hold_ns) + self.time_ns(bytes)
    }
}

/// As `psched_ratecfg_precompute` in the kernel's `net/sched/sch_generic.c` has it, rounding included: a link that took a
/// nanosecond more for a packet than its shaper would fall behind for ever.
fn factor(bytes_per_s: u64) -> (u64, u64) {
    let (mut scaled, mut shift) = (1_000_000_000_u64, 0);
    loop {
        let factor = (scaled / bytes_per_s.max(1)) & u64::from(u32::MAX);
        if factor & 1 << 31 != 0 || scaled & 1 << 63 != 0 {
            return (factor, shift);
        }
        scaled <<= 1;
        shift += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(rate_bps: u64) -> Pace {
        Pace::of(&Serial { rate_bps, ahead_bytes: 1514, hold_ns: 0 }, 0)
    }

    #[test]
    fn bytes_take_their_time_at_any_rate() {
        for rate_bps in [9600, 95_600, 1_000_000, 100_000_000, 10_000_000_000, 100_000_000_000] {
            for bytes in [60, 66, 1442, 1514, 9014, 65_549] {
                let exact = bytes * 8_000_000_000 / rate_bps;
                let off = pace(rate_bps).time_ns(bytes).abs_diff(exact);
                assert!(off <= 1 + exact / 1_000_000_000, "{bytes} B at {rate_bps} bit/s: {off} ns off");
            }
        }
    }

    #[test]
    fn a_lone_packet_takes_its_bytes_and_a_queued_one_waits_for_the_one_before() {
        let pace = pace(1_000_000);
        assert_eq!(pace.send(5_000_000, 0, 1442), 5_000_000 + 11_536_000);
        // The shaper lets a full bucket of small packets go at once; the link sends one after the other.
        let mut sent_ns = 0;
        for number in 1..=15 {
            sent_ns = pace.send(1_000_000, sent_ns, 100);
            assert_eq!(sent_ns, 1_000_000 + number * 800_000);
        }
    }

    #[test]
    fn a_link_does_not_fall_behind_its_shaper() {
        let pace = pace(1_000_000);
        let sent_ns = pace.send(0, 1_000_000_000, 1000);
        assert_eq!(sent_ns, pace.ahead_ns + 8_000_000);
    }

    #[test]
    fn nothing_is_sent_in_an_outage() {
        let outage = Serial { rate_bps: 8_000_000, ahead_bytes: 1514, hold_ns: 3_000_000 };
        let pace = Pace::of(&outage, 64_000_000_000);
        assert_eq!(pace.send(64_001_000_000, 0, 1000), 64_003_000_000 + 1_000_000);
        assert_eq!(pace.send(64_003_500_000, 64_004_000_000, 1000), 64_005_000_000);
    }
}
