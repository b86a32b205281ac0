//! The line: a wire in user space, for kernels whose own queues cannot hold packets back (no fq, no netem).
//!
//! Frames that arrive at one device leave by the other after their delay, if they leave at all. What becomes of packet *n*
//! is [`wire::fate`] to the letter, so a line and a wire of the same seed lose the same packets. Beyond that a line can
//! do what faulty paths do: lose in bursts, duplicate, corrupt, swallow what is too large.
//!
//! Frames are carried whole, with what the kernel says of their checksum and their segments (`PACKET_VNET_HDR`), so
//! neither end need switch its offloads off. A super-frame of GSO counts as one packet, as it does for a wire; behind a
//! shaper with a bucket of one frame there are none.

mod carry;
mod frame;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde::Serialize;

pub use carry::Report;

use crate::error::{Context, Error, Result};
use crate::kernel::netlink::Socket;
use crate::kernel::sys::process::{self, Signal};
use crate::kernel::sys::{self, packet, signals};
use crate::path::serial::Pace;
use crate::path::wire;
use crate::plan::Wire;
use crate::tc::words::Words;
use carry::Direction;

const TAKES: &[&str] =
    &["delay", "jitter", "loss", "burst", "drop", "duplicate", "corrupt", "mtu", "seed", "reorder"];

/// What a direction does to its packets.
#[derive(Debug, Clone)]
pub struct Treatment {
    pub wire: Wire,
    /// Packets that vanish together with each one that the dice take.
    pub burst: u64,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// Probability that one bit of a packet is turned over.
    pub corrupt: f64,
    /// Packets larger than this vanish without a word, as at a switch.
    pub mtu: Option<usize>,
}

impl From<Wire> for Treatment {
    fn from(wire: Wire) -> Self {
        Self { wire, burst: 1, duplicate: 0.0, corrupt: 0.0, mtu: None }
    }
}

/// What a direction has done so far, and what it is to do next; whoever set the line up holds it, too.
#[derive(Debug)]
struct State {
    treatment: Treatment,
    drops: HashSet<u64>,
    next: u64,
    lost: u64,
    last_due_ns: i64,
    /// Where the link sends its packets bit by bit, and when it had sent the last one.
    pace: Option<Pace>,
    sent_ns: u64,
}

impl State {
    fn new(mut treatment: Treatment) -> Self {
        let drops = std::mem::take(&mut treatment.wire.drop).into_iter().collect();
        let pace = treatment.wire.serial.map(|serial| Pace::of(&serial, 0));
        Self { treatment, drops, next: 0, lost: 0, last_due_ns: 0, pace, sent_ns: 0 }
    }

    /// When the last bit of a packet has been sent that came at `came_ns`.
    fn send(&mut self, came_ns: i64, bytes: usize) -> i64 {
        let Some(pace) = self.pace else { return came_ns };
        self.sent_ns = pace.send(came_ns.unsigned_abs(), self.sent_ns, bytes as u64);
        self.sent_ns as i64
    }

    /// The delay of the next packet in nanoseconds, `None` when it is lost.
    fn fate(&mut self) -> (u64, Option<u64>) {
        let n = self.next;
        self.next += 1;
        let own = wire::fate(&self.treatment.wire, n).filter(|_| !self.drops.contains(&n));
        let earlier = n.saturating_sub(self.treatment.burst - 1)..n;
        let taken = |n| wire::fate(&self.treatment.wire, n).is_none();
        let fate = own.filter(|_| !earlier.into_iter().any(taken));
        self.lost += u64::from(fate.is_none());
        (n, fate)
    }
}

/// One direction of a line, from outside: what a [`wire::Element`] offers.
#[derive(Debug, Clone)]
pub struct Control(Arc<Mutex<State>>);

impl Control {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Packets that came and how many of them were lost.
    #[must_use]
    pub fn read(&self) -> (u64, u64) {
        let state = self.state();
        (state.next, state.lost)
    }

    /// The next packet is number `first`; all else is forgotten.
    pub fn count_from(&self, first: u64) {
        let mut state = self.state();
        (state.next, state.lost, state.last_due_ns, state.sent_ns) = (first, 0, 0, 0);
    }

    /// From now on delay, jitter, loss and rate are those of `wire`; its other words hold from the beginning to the end.
    /// The experiment began at `start_ns`.
    ///
    /// # Errors
    /// Values that no wire can have.
    pub fn change(&self, wire: &Wire, start_ns: i64) -> Result<()> {
        wire::check(wire)?;
        let mut state = self.state();
        state.pace = wire.serial.map(|serial| Pace::of(&serial, start_ns));
        let own = &mut state.treatment.wire;
        (own.delay_ns, own.jitter_ns, own.loss) = (wire.delay_ns, wire.jitter_ns, wire.loss);
        Ok(())
    }
}

/// A device that a line takes frames from and gives frames to.
#[derive(Debug)]
pub struct Port {
    name: String,
    socket: Arc<std::os::fd::OwnedFd>,
}

impl Port {
    /// Opens a device of this thread's network namespace. The device must be up and have no address of its own: the kernel
    /// sees the frames, too, and would answer.
    ///
    /// # Errors
    /// No `CAP_NET_RAW`; no such device.
    pub fn open(name: &str) -> Result<Self> {
        let ifindex = Socket::route()?.ifindex(name)?;
        let socket =
            packet::open(ifindex).context(format_args!("take frames from {name}")).map_err(|error| {
                error.hint(
                    "The line needs CAP_NET_RAW in its network namespace, and CONFIG_PACKET in the kernel.",
                )
            })?;
        Ok(Self { name: name.to_owned(), socket: Arc::new(socket) })
    }
}

/// The directions of one or more cables, before they carry anything. One thread carries them all.
#[derive(Debug, Default)]
pub struct Line {
    directions: Vec<Direction>,
}

impl Line {
    /// Joins two devices. The first treatment, and the first control, are those of what arrives at `a` and leaves by `b`.
    ///
    /// # Errors
    /// Values that no wire can have.
    pub fn join(&mut self, a: &Port, b: &Port, treatments: [Treatment; 2]) -> Result<[Control; 2]> {
        for treatment in &treatments {
            check(treatment)?;
        }
        let controls = treatments.map(|treatment| Control(Arc::new(Mutex::new(State::new(treatment)))));
        for ((from, to), control) in [(a, b), (b, a)].into_iter().zip(&controls) {
            self.directions.push(Direction::new(from, to, control.clone()));
        }
        Ok(controls)
    }

    /// Carries in a thread of its own until the [`Carrying`] is stopped or dropped. `prepare` runs first in the thread (to
    /// pin it to a CPU, say).
    ///
    /// # Errors
    /// No thread, no pipe.
    pub fn start(self, prepare: impl FnOnce() + Send + 'static) -> Result<Carrying> {
        let (stopped, stop) = sys::files::pipe(4096).context("make a line's pipe")?;
        let work = move || {
            prepare();
            carry::carry(self.directions, &stopped)
        };
        let thread = thread::Builder::new().name("line".to_owned()).spawn(work).context("start a line")?;
        Ok(Carrying { stop: Some(stop), thread: Some(thread) })
    }
}

/// A line at work.
#[derive(Debug)]
pub struct Carrying {
    stop: Option<std::os::fd::OwnedFd>,
    thread: Option<thread::JoinHandle<Result<Vec<Report>>>>,
}

impl Drop for Carrying {
    /// A run that failed takes its line along.
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _nobody_reads = thread.join();
        }
    }
}

impl Carrying {
    /// Ends the line, whatever is still on its way, and tells of each direction in the order they were joined.
    ///
    /// # Errors
    /// What made the line end before.
    pub fn stop(mut self) -> Result<Vec<Report>> {
        self.stop = None;
        let ended = self.thread.take().map(thread::JoinHandle::join);
        ended.and_then(std::result::Result::ok).unwrap_or_else(|| Err(Error::new("system", "a line broke")))
    }
}

fn check(treatment: &Treatment) -> Result<()> {
    wire::check(&treatment.wire)?;
    let fault = |message: String| Err(Error::new("plan", message));
    for (word, share) in [("duplicate", treatment.duplicate), ("corrupt", treatment.corrupt)] {
        if !(0.0..=1.0).contains(&share) {
            return fault(format!("a line's {word} is {share}, it must be between 0 and 1"));
        }
    }
    if !(1..=1024).contains(&treatment.burst) {
        return fault(format!("a line's burst is {} packets, it must be 1 to 1024", treatment.burst));
    }
    Ok(())
}

/// One direction's words.
fn treatment(line: Vec<&str>) -> Result<Treatment> {
    let mut words = Words::new("line", TAKES, line);
    let mut wire = Wire { seed: 1, ..Wire::default() };
    let (mut burst, mut duplicate, mut corrupt, mut mtu) = (1, 0.0, 0.0, None);
    while let Some(word) = words.take() {
        match word {
            "burst" => burst = words.number(word)?,
            "duplicate" => duplicate = wire::probability(&mut words, word)?,
            "corrupt" => corrupt = wire::probability(&mut words, word)?,
            "mtu" => mtu = Some(words.number(word)?),
            other => wire::word(&mut wire, other, &mut words)?,
        }
    }
    Ok(Treatment { wire, burst, duplicate, corrupt, mtu })
}

#[derive(Serialize)]
struct Ended {
    line: &'static str,
    /// Whether the line came before all other processes.
    first: bool,
    directions: Vec<Report>,
}

/// `line DEV_A DEV_B [words of what leaves by B] [/ words of what leaves by A]` by hand, in the network namespace of this
/// process, until it is asked to end or its parent dies. Without a slash the words hold for both directions. Writes `{"line":"ready"}` when it
/// carries, and a [`Report`] of each direction at the end.
///
/// # Errors
/// Wrong words; no such device; no right to its frames.
pub fn command(words: &[&str]) -> Result<()> {
    let [a, b, rest @ ..] = words else {
        let words = TAKES.join(" | ");
        return Err(Error::new("usage", format!("line DEV_A DEV_B [{words}] … [/ …]")));
    };
    let (forward, backward) = match rest.iter().position(|word| *word == "/") {
        Some(at) => (&rest[..at], &rest[at + 1..]),
        None => (rest, rest),
    };
    let treatments = [treatment(forward.to_vec())?, treatment(backward.to_vec())?];
    process::die_with_parent(Signal::TERM).context("end with the process that started this")?;
    let asked_to_end = signals::endings().context("hear of the end")?;
    // The default, 50 µs, would show in every delay.
    sys::time::set_timer_slack(1).context("set the timer slack")?;
    // A cable waits for nobody. Where that is not allowed, the lateness tells.
    let first = sys::cpu::come_first(true);
    let mut line = Line::default();
    line.join(&Port::open(a)?, &Port::open(b)?, treatments)?;
    println!("{{\"line\":\"ready\"}}");
    let directions = carry::carry(line.directions, &asked_to_end)?;
    let ended = serde_json::to_string(&Ended { line: "ended", first, directions });
    println!("{}", ended.map_err(|cause| Error::new("system", format!("write the report: {cause}")))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(words: &str) -> State {
        State::new(treatment(words.split(' ').collect()).expect("right words"))
    }

    #[test]
    fn a_line_and_a_wire_lose_the_same_packets() {
        let words = "delay 1ms jitter 200us loss 5% drop 3,77 seed 9";
        let mut state = state(words);
        let drop = vec![3, 77];
        let wire =
            Wire { delay_ns: 1_000_000, jitter_ns: 200_000, loss: 0.05, drop, seed: 9, ..Wire::default() };
        for n in 0..10_000 {
            assert_eq!(state.fate(), (n, wire::fate(&wire, n)));
        }
        assert_eq!(state.lost, (0..10_000).filter(|n| wire::fate(&wire, *n).is_none()).count() as u64);
    }

    #[test]
    fn a_burst_takes_those_that_follow() {
        let mut single = state("loss 1% seed 4");
        let mut burst = state("loss 1% burst 5 seed 4");
        let lost = |state: &mut State| -> Vec<bool> { (0..5000).map(|_| state.fate().1.is_none()).collect() };
        let (single, burst) = (lost(&mut single), lost(&mut burst));
        for (n, gone) in burst.iter().enumerate() {
            assert_eq!(*gone, single[n.saturating_sub(4)..=n].contains(&true), "{n}");
        }
    }

    #[test]
    fn wrong_words_are_refused() {
        for wrong in ["dealy 1ms", "loss 101%", "burst 0", "duplicate -1%", "corrupt 200%"] {
            let read = treatment(wrong.split(' ').collect());
            assert!(read.and_then(|treatment| check(&treatment)).is_err(), "{wrong}");
        }
        let error = treatment(vec!["dealy", "1ms"]).expect_err("no such word").to_string();
        assert!(error.contains("delay"), "{error}");
    }

    #[test]
    fn what_has_begun_can_be_changed_and_counted_anew() {
        let control = Control(Arc::new(Mutex::new(state("loss 0"))));
        let (first, _) = control.state().fate();
        control.count_from(100);
        let mut wire = control.state().treatment.wire.clone();
        wire.loss = 1.0;
        control.change(&wire, 0).expect("a possible wire");
        assert_eq!((first, control.state().fate()), (0, (100, None)));
        assert_eq!(control.read(), (101, 1));
        wire.loss = 2.0;
        assert!(control.change(&wire, 0).is_err());
    }
}
