//! Single datagrams by a schedule without a visit to the kernel for each: one list of calls sleeps and sends, sleeps and sends.
//!
//! Only in a virtual kernel: there a datagram leaves when [`Pacer::leaves_ns`] says, to the nanosecond, because nothing but sleeping
//! takes time.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::kernel::sys::machine::owns_kernel;
use crate::kernel::sys::socket;
use crate::kernel::sys::visit::{Moment, Visit};

/// Datagrams for one visit to the kernel; fewer than the second are not worth one of this kind.
pub(super) const MOST: usize = 64;
pub(super) const LEAST: usize = 4;
/// The clock's step: how long after one another they leave that are due at the same instant.
const STEP_NS: i64 = 256;

#[derive(Debug)]
pub(super) struct Pacer {
    /// Bytes that the socket holds, and what a datagram takes of them at most.
    room: usize,
    each: usize,
    /// How long after its instant a datagram is sent.
    after_ns: i64,
    /// Somebody else has sent since.
    alone: bool,
}

impl Pacer {
    /// Nothing where it cannot be had: then every datagram is sent alone. `turn` flows come before it at each instant.
    pub fn new(socket: &OwnedFd, size: usize, turn: u32) -> Option<Self> {
        if !owns_kernel() {
            return None;
        }
        Some(Self {
            room: socket::send_buffer(socket).ok()?,
            // Its memory is a power of two, and what describes it.
            each: (size + 512).next_power_of_two() + 512,
            after_ns: i64::from(turn) * STEP_NS,
            alone: true,
        })
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
        let times: Vec<Moment> =
            (first..).zip(packets).map(|(seq, _)| Moment::of(due_ns(seq) + self.after_ns)).collect();
        let mut visit = Visit::new();
        let sent = times.iter().zip(packets).map(|(time, packet)| {
            visit.sleep_until(time);
            visit.send(socket.as_fd(), packet)
        });
        let sent: Vec<_> = sent.collect();
        let results = visit.carry_out()?;
        self.alone = false;
        Ok(sent.into_iter().map(|call| results.of(call)).collect())
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
