//! The thread that carries frames: takes what has come, gives what is due, sleeps until either.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::BinaryHeap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use serde::Serialize;

use super::{frame, Control, Port, State};
use crate::error::{Context, Result};
use crate::kernel::clock;
use crate::kernel::sys::packet::{self, Arrival, Inbox};
use crate::kernel::sys::time::monotonic_ns;
use crate::kernel::sys::{files, socket};
use crate::path::wire;
use crate::record::spread::{Spread, Summary};

/// Frames given to the kernel in one call.
const BATCH: usize = 64;
/// Streams of dice beside the wire's own.
const DUPLICATES: u64 = 0x6475_706c;
const CORRUPTIONS: u64 = 0x636f_7272;

/// What a direction did from beginning to end.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub from: String,
    pub to: String,
    /// That came, without those to many.
    pub packets: u64,
    pub lost: u64,
    pub duplicated: u64,
    pub corrupted: u64,
    /// Larger than the line's MTU.
    pub too_large: u64,
    /// That came while the line had no room for them: not asked for, a fault of this machine.
    pub missed: u64,
    /// That the kernel did not take: not asked for, either.
    pub refused: u64,
    /// How much later than due packets had left, each counted when the call that sent it came back.
    pub lateness_ns: Summary,
    /// Of the thread, which carries all directions of the line.
    pub cpu_ns: i64,
}

/// What arrives at one device and leaves by another.
#[derive(Debug)]
pub struct Direction {
    names: [String; 2],
    from: Arc<OwnedFd>,
    to: Arc<OwnedFd>,
    control: Control,
    under_way: BinaryHeap<Reverse<UnderWay>>,
    came: u64,
    counts: Counts,
    lateness: Spread,
}

#[derive(Debug, Default)]
struct Counts {
    duplicated: u64,
    corrupted: u64,
    too_large: u64,
    refused: u64,
}

/// In the order of leaving: by instant, then as they came.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct UnderWay {
    due_ns: i64,
    order: u64,
    bytes: Vec<u8>,
}

impl Direction {
    pub fn new(from: &Port, to: &Port, control: Control) -> Self {
        Self {
            names: [from.name.clone(), to.name.clone()],
            from: Arc::clone(&from.socket),
            to: Arc::clone(&to.socket),
            control,
            under_way: BinaryHeap::new(),
            came: 0,
            counts: Counts::default(),
            lateness: Spread::default(),
        }
    }

    fn next_due(&self) -> Option<i64> {
        self.under_way.peek().map(|Reverse(first)| first.due_ns)
    }

    fn take(&mut self, inbox: &mut Inbox) -> Result<()> {
        let arrivals =
            inbox.receive(&self.from).context(format_args!("take frames from {}", self.names[0]))?;
        let (ahead, now) = (clock::realtime_offset_ns(), monotonic_ns());
        let control = self.control.clone();
        let mut state = control.state();
        for arrival in arrivals {
            self.accept(arrival, &mut state, ahead, now);
        }
        Ok(())
    }

    fn accept(&mut self, arrival: Arrival, state: &mut State, ahead: i64, now: i64) {
        let (mut bytes, realtime_ns) = frame::whole(arrival);
        let came_ns = realtime_ns.map_or(now, |stamp| (stamp - ahead).min(now));
        if frame::is_to_many(&bytes) {
            return self.hold(came_ns, bytes);
        }
        let sent_ns = state.send(came_ns, frame::sent_size(&bytes));
        let (n, Some(delay_ns)) = state.fate() else { return };
        let treatment = &state.treatment;
        if treatment.mtu.is_some_and(|mtu| frame::packet_size(&bytes) > mtu) {
            self.counts.too_large += 1;
            return;
        }
        let mut due_ns = sent_ns + delay_ns as i64;
        if !treatment.wire.reorder {
            due_ns = due_ns.max(state.last_due_ns);
            state.last_due_ns = due_ns;
        }
        let hit = |stream, share: f64| {
            let dice = wire::hash(state.treatment.wire.seed ^ stream, n);
            ((dice >> 32) < wire::threshold(share)).then_some(dice & 0xffff_ffff)
        };
        if let Some(dice) = hit(CORRUPTIONS, treatment.corrupt) {
            self.counts.corrupted += u64::from(frame::corrupt(&mut bytes, dice));
        }
        if hit(DUPLICATES, treatment.duplicate).is_some() {
            self.counts.duplicated += 1;
            self.hold(due_ns, bytes.clone());
        }
        self.hold(due_ns, bytes);
    }

    fn hold(&mut self, due_ns: i64, bytes: Vec<u8>) {
        self.came += 1;
        self.under_way.push(Reverse(UnderWay { due_ns, order: self.came, bytes }));
    }

    /// Gives everything that is due.
    fn give(&mut self, inbox: &mut Inbox) {
        loop {
            let due = self.due(monotonic_ns());
            if due.is_empty() {
                return;
            }
            self.send(&due);
            let now = monotonic_ns();
            for frame in due {
                self.lateness.add((now - frame.due_ns).max(0) as u64);
                inbox.recycle(frame.bytes);
            }
        }
    }

    fn due(&mut self, now: i64) -> Vec<UnderWay> {
        let mut due = Vec::new();
        while due.len() < BATCH {
            match self.under_way.peek_mut() {
                Some(first) if first.0.due_ns <= now => due.push(PeekMut::pop(first).0),
                _ => break,
            }
        }
        due
    }

    /// A frame that the kernel refuses is passed over, as on a cable that is out.
    fn send(&mut self, due: &[UnderWay]) {
        let frames: Vec<&[u8]> = due.iter().map(|frame| frame.bytes.as_slice()).collect();
        let mut rest = frames.as_slice();
        while !rest.is_empty() {
            match socket::send_messages(&*self.to, rest) {
                Ok((sent, _)) if sent > 0 => rest = &rest[sent..],
                _ => {
                    self.counts.refused += 1;
                    rest = &rest[1..];
                }
            }
        }
    }

    fn report(&self) -> Report {
        let (packets, lost) = self.control.read();
        let [from, to] = self.names.clone();
        let Counts { duplicated, corrupted, too_large, refused } = self.counts;
        let missed = packet::missed(&self.from).map_or(0, u64::from);
        let (lateness_ns, cpu_ns) = (self.lateness.summary(), crate::kernel::sys::time::thread_cpu_ns());
        Report {
            from,
            to,
            packets,
            lost,
            duplicated,
            corrupted,
            too_large,
            missed,
            refused,
            lateness_ns,
            cpu_ns,
        }
    }
}

/// Carries until `stop` can be read or its other end is closed.
pub fn carry(mut directions: Vec<Direction>, stop: &OwnedFd) -> Result<Vec<Report>> {
    let mut inbox = Inbox::default();
    loop {
        for direction in &mut directions {
            direction.give(&mut inbox);
        }
        let until = directions.iter().filter_map(Direction::next_due).min();
        let ready = files::wait(&sources(&directions, stop), until).context("wait for frames")?;
        if ready[0] {
            return Ok(directions.iter().map(Direction::report).collect());
        }
        for (direction, _) in directions.iter_mut().zip(&ready[1..]).filter(|(_, ready)| **ready) {
            direction.take(&mut inbox)?;
        }
    }
}

/// What is waited for: the end, then each direction's frames.
fn sources<'a>(directions: &'a [Direction], stop: &'a OwnedFd) -> Vec<BorrowedFd<'a>> {
    std::iter::once(stop.as_fd()).chain(directions.iter().map(|direction| direction.from.as_fd())).collect()
}
