//! Evenly spaced datagrams without a visit to the kernel for each: one call waits for a timer and sends, waits and sends.
//!
//! A periodic timer keeps a period in whole nanoseconds. Where datagrams are `a / b` ns apart, `b` timers of the period `a` take
//! turns, and each datagram is due when [`Pacer::due_ns`] says, to the nanosecond. Only in a virtual kernel, and from Linux 6.10 on:
//! before, such a call takes no timers.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::kernel::sys::machine::owns_kernel;
use crate::kernel::sys::socket;
use crate::kernel::sys::timer::Timer;
use crate::kernel::sys::together::{Step, Together};

use super::SECOND_NS;

/// Timers of one flow.
const MOST_TIMERS: u128 = 64;
/// Datagrams for one visit to the kernel; fewer than the second are not worth one of this kind.
pub(super) const MOST: usize = 64;
pub(super) const LEAST: usize = 4;
/// The clock's step: how long after one another they leave that are due at the same instant.
const STEP_NS: i64 = 256;

#[derive(Debug)]
pub(super) struct Pacer {
    timers: Vec<Timer>,
    period_ns: i64,
    together: Together,
    /// Bytes that the socket holds, and what a datagram takes of them at most.
    room: usize,
    each: usize,
    /// How long after its instant a timer is set.
    after_ns: i64,
    /// The datagram whose timer is the next that is waited for.
    set_for: Option<u64>,
    /// Somebody else has sent since.
    alone: bool,
}

impl Pacer {
    /// Nothing where it cannot be had: then every datagram is sent alone. `turn` flows come before it at each instant.
    pub fn new(socket: &OwnedFd, size: usize, rate_bps: u64, turn: u32) -> Option<Self> {
        if !owns_kernel() {
            return None;
        }
        let (period_ns, turns) = turns(size, rate_bps)?;
        let mut pacer = Self {
            timers: (0..turns).map(|_| Timer::new()).collect::<io::Result<_>>().ok()?,
            period_ns,
            together: Together::new(),
            room: socket::send_buffer(socket).ok()?,
            // Its memory is a power of two, and what describes it.
            each: (size + 512).next_power_of_two() + 512,
            after_ns: i64::from(turn) * STEP_NS,
            set_for: None,
            alone: true,
        };
        pacer.works().then_some(pacer)
    }

    /// Whether this kernel waits for timers so.
    fn works(&mut self) -> bool {
        let mut times = [0; 8];
        let first = &self.timers[0];
        // One that has expired already.
        let waited = first
            .set(1, 0)
            .and_then(|()| self.together.carry_out(&mut [Step::Read(first.as_fd(), &mut times)]));
        waited.is_ok_and(|results| matches!(results[..], [Ok(8)]))
    }

    /// How many datagrams, `wanted` at most, can be handed over without waiting for room in the socket: then they leave when
    /// they are due. None where that is not sure, or not worth it.
    pub fn fitting(&self, socket: &OwnedFd, wanted: usize) -> usize {
        let Ok(held) = socket::unsent(socket) else { return 0 };
        // A sender that has just waited for room is behind its schedule; then a good part of the room is still taken.
        let behind = self.alone && held > self.room / 8;
        let many = wanted.min(MOST).min(self.room.saturating_sub(held) / self.each);
        if behind || many < LEAST {
            return 0;
        }
        many
    }

    /// Sends the datagrams from `first` on, each when it is due: `due_ns` says so on `CLOCK_MONOTONIC`. Gives what came of each.
    pub fn send(
        &mut self,
        socket: &OwnedFd,
        packets: &[&[u8]],
        first: u64,
        due_ns: impl Fn(u64) -> i64,
    ) -> io::Result<Vec<io::Result<usize>>> {
        let passed = self.passed(first);
        if passed.is_none() {
            for (seq, _) in (first..).zip(&self.timers) {
                of(&self.timers, seq).set(due_ns(seq) + self.after_ns, self.period_ns)?;
            }
        }
        let begin = passed.unwrap_or(first);
        let before = (first - begin) as usize;
        let mut expired = vec![[0; 8]; before + packets.len()];
        let mut steps = Vec::with_capacity(2 * expired.len());
        for (number, times) in expired.iter_mut().enumerate() {
            let seq = begin + number as u64;
            steps.push(Step::Read(of(&self.timers, seq).as_fd(), times));
            // Of those that somebody else has sent, only the timer.
            steps.extend(number.checked_sub(before).map(|sent| Step::Write(socket.as_fd(), packets[sent])));
        }
        let results = self.together.carry_out(&mut steps)?;
        // One that expired twice has missed a turn.
        let punctual = expired.iter().all(|times| u64::from_ne_bytes(*times) == 1);
        self.set_for = punctual.then_some(first + packets.len() as u64);
        self.alone = false;
        Ok(results.into_iter().skip(before + 1).step_by(2).collect())
    }

    /// The datagram whose timer is the next that is waited for, if all go on as they were set and few have passed since.
    fn passed(&self, first: u64) -> Option<u64> {
        self.set_for.filter(|next| first - next < LEAST as u64)
    }

    /// When a datagram leaves that is due at `due_ns`: at the next step of the clock, for nobody reads that in between.
    pub const fn leaves_ns(&self, due_ns: i64) -> i64 {
        ((due_ns + self.after_ns).div_euclid(STEP_NS) + 1) * STEP_NS
    }

    /// Somebody else sends the next datagrams, when they are due.
    pub fn let_pass(&mut self) {
        self.alone = true;
    }
}

/// The timer of a datagram.
fn of(timers: &[Timer], seq: u64) -> &Timer {
    &timers[seq as usize % timers.len()]
}

/// The period of the timers in nanoseconds, and their number.
fn turns(size: usize, rate_bps: u64) -> Option<(i64, u128)> {
    let (bits_ns, rate) = (size as u128 * 8 * SECOND_NS, u128::from(rate_bps));
    let shared = common(bits_ns, rate);
    let period_ns = i64::try_from(bits_ns / shared).ok()?;
    (rate / shared <= MOST_TIMERS).then_some((period_ns, rate / shared))
}

/// The greatest common divisor.
const fn common(mut one: u128, mut other: u128) -> u128 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_take_turns_where_datagrams_are_no_whole_nanoseconds_apart() {
        assert_eq!(turns(1448, 40_000_000), Some((289_600, 1)));
        // 257 422.2 ns.
        assert_eq!(turns(1448, 45_000_000), Some((2_316_800, 9)));
        assert_eq!(turns(1448, 45_000_001), None);
        let (period_ns, turns) = turns(1472, 30_000_000).expect("few timers");
        let due_ns = |seq: u128| (seq * 1472 * 8 * SECOND_NS / 30_000_000) as i64;
        for seq in 0..100 {
            assert_eq!(due_ns(seq + turns) - due_ns(seq), period_ns);
        }
    }
}
