//! The wire: delay, jitter and loss by packet number, the same on every kernel (`docs/plan-format.md`).
//!
//! A program at a device's clsact egress counts the packets, lets some vanish and stamps the others with the instant of
//! their departure; `fq` below holds them until then ("earliest departure time").

mod by_hand;
mod counting;
mod program;

use std::os::fd::OwnedFd;

use crate::error::{Context, Error, Result};
use crate::kernel::netlink::{u64_at, Socket};
use crate::kernel::sys::bpf::{Map, MapKind, Shape};
use crate::kernel::sys::cpu;
use crate::path::serial::Pace;
use crate::plan::{Serial, Wire};
use crate::tc::classifier::{self, Side};
use crate::tc::Device;
pub use by_hand::{command, probability, word};
use counting::Counting;

/// What is to be said where [`Element::is_exact`] is false.
pub const INEXACT: &str =
    "needs Linux 5.12 to count the packets of several CPUs exactly: here two may have one number and one fate";

/// Longest list of packet numbers to drop.
pub const MAX_DROPS: usize = 4096;

/// About as long as `fq` can be told to hold a packet back.
const MAX_DELAY_NS: u64 = 1_000_000_000_000;

/// The increment and the two factors of `SplitMix64` (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", OOPSLA 2014; the mixer is variant 13 of Stafford's).
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
const FACTOR_1: u64 = 0xbf58_476d_1ce4_e5b9;
const FACTOR_2: u64 = 0x94d0_49bb_1331_11eb;

/// Offsets in the state, which the program alone writes during the experiment …
const COUNTER: i16 = 0;
const LOST: i16 = 8;
const LAST_STAMP: i16 = 16;
const SENT: i16 = 24;
const STATE_SIZE: usize = 32;

/// … and in the settings, which the program only reads.
const DELAY: i16 = 0;
const JITTERS: i16 = 8;
const THRESHOLD: i16 = 16;
const FACTOR: i16 = 24;
const SHIFT: i16 = 32;
const AHEAD: i16 = 40;
const HOLD: i16 = 48;
const CHANCE: i16 = 56;
const SETTINGS_SIZE: usize = 64;

fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(FACTOR_1);
    z = (z ^ z >> 27).wrapping_mul(FACTOR_2);
    z ^ z >> 31
}

/// The 64 dice of packet `n`: the upper 32 decide its loss, the lower 32 its jitter.
#[must_use]
pub fn hash(seed: u64, n: u64) -> u64 {
    mix(mix(seed).wrapping_add(n.wrapping_add(1).wrapping_mul(GAMMA)))
}

/// The loss probability as a number out of 2³².
#[must_use]
pub fn threshold(loss: f64) -> u64 {
    (loss * 4_294_967_296.0).round() as u64
}

/// What becomes of packet `n`: `None` when it is lost, else its delay in nanoseconds (before the clamp that keeps order).
#[must_use]
pub fn fate(wire: &Wire, n: u64) -> Option<u64> {
    let dice = hash(wire.seed, n);
    if wire.drop.contains(&n) || dice >> 32 < threshold(wire.loss) {
        return None;
    }
    Some(wire.delay_ns + (((dice & 0xffff_ffff) * (wire.jitter_ns + 1)) >> 32))
}

/// A wire on its device: what it has counted, and what of it can be changed while packets pass.
#[derive(Debug)]
pub struct Element {
    state: Map,
    settings: Map,
    drops: Option<Map>,
    counting: Counting,
}

impl Element {
    /// Whether each packet has a number of its own, however many CPUs send.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.counting == Counting::Atomic || cpu::configured() == 1
    }

    /// Packets that came and how many of them were lost, of each of these.
    pub fn read_each(elements: &[&Self]) -> Result<Vec<(u64, u64)>> {
        let mut states = vec![[0; STATE_SIZE]; elements.len()];
        let mut values: Vec<_> =
            elements.iter().zip(&mut states).map(|(of, to)| (&of.state, &mut to[..])).collect();
        Map::get_each(&mut values).context("read a wire's counters")?;
        let field = |state: &[u8], offset: i16| u64_at(state, offset as usize).unwrap_or(0);
        Ok(states.iter().map(|state| (field(state, COUNTER), field(state, LOST))).collect())
    }

    /// The next packet is number `first` on each of these; all else is forgotten.
    pub fn count_each_from(elements: &[&Self], first: u64) -> Result<()> {
        let mut state = [0; STATE_SIZE];
        state[COUNTER as usize..LOST as usize].copy_from_slice(&first.to_ne_bytes());
        let values: Vec<_> = elements.iter().map(|element| (&element.state, &state[..])).collect();
        Map::set_each(&values).context("reset a wire's counters")
    }

    /// From now on delay, jitter, loss and rate are those of `wire`; its other words hold from the beginning to the end.
    /// The experiment began, or begins, at `start_ns`.
    ///
    /// # Errors
    /// Values that no wire can have.
    pub fn change(&self, wire: &Wire, start_ns: i64) -> Result<()> {
        check(wire)?;
        Map::set_each(&[(&self.settings, &settings(wire, start_ns))]).context("change a wire")
    }
}

/// The settings as the program reads them.
fn settings(wire: &Wire, start_ns: i64) -> [u8; SETTINGS_SIZE] {
    let pace = wire.serial.map_or(Pace::default(), |serial| Pace::of(&serial, start_ns));
    let mut bytes = [0; SETTINGS_SIZE];
    for (offset, value) in [
        (DELAY, wire.delay_ns),
        (JITTERS, wire.jitter_ns + 1),
        (THRESHOLD, threshold(wire.loss)),
        (FACTOR, pace.factor),
        (SHIFT, pace.shift),
        (AHEAD, pace.ahead_ns),
        (HOLD, pace.hold_ns),
        (CHANCE, u64::from(threshold(wire.loss) > 0 || wire.jitter_ns > 0)),
    ] {
        bytes[offset as usize..][..8].copy_from_slice(&value.to_ne_bytes());
    }
    bytes
}

pub fn check(wire: &Wire) -> Result<()> {
    let fault = |message: String| Err(Error::new("plan", message));
    if !(0.0..=1.0).contains(&wire.loss) {
        return fault(format!("a wire's loss is {}, it must be between 0 and 1", wire.loss));
    }
    if wire.delay_ns > MAX_DELAY_NS {
        return fault(format!("a wire's delay is {} ns, it must not be above 1000 s", wire.delay_ns));
    }
    if wire.jitter_ns >= u64::from(u32::MAX) {
        return fault(format!("a wire's jitter is {} ns, it must be below 4.29 s", wire.jitter_ns));
    }
    if matches!(wire.serial, Some(Serial { rate_bps: ..8, .. })) {
        return fault("a link sends at least one byte per second".into());
    }
    if wire.drop.len() > MAX_DROPS {
        return fault(format!(
            "a wire drops {} named packets, at most {MAX_DROPS} are possible",
            wire.drop.len()
        ));
    }
    Ok(())
}

/// What wires work with, and their settings in it: an element for each, all by few visits to the kernel. [`attach`] completes them.
///
/// # Errors
/// Maps that the kernel does not have.
pub fn elements(wires: &[&Wire]) -> Result<Vec<Element>> {
    let shapes = [Shape::of_one(STATE_SIZE), Shape::of_one(SETTINGS_SIZE)];
    let maps = Map::create_all(&shapes.repeat(wires.len())).map_err(|(number, cause)| {
        let what = ["counters", "settings"][number % 2];
        Error::system(format_args!("create a wire's {what}"), &cause)
            .hint("The kernel needs CONFIG_BPF_SYSCALL.")
    })?;
    let mut maps = maps.into_iter();
    let mut elements = Vec::new();
    for wire in wires {
        let (Some(state), Some(settings)) = (maps.next(), maps.next()) else { break };
        elements.push(Element { state, settings, drops: drop_list(&wire.drop)?, counting: Counting::Atomic });
    }
    let values: Vec<_> = wires.iter().map(|wire| settings(wire, 0)).collect();
    let values: Vec<_> = elements.iter().zip(&values).map(|(of, value)| (&of.settings, &value[..])).collect();
    Map::set_each(&values).context("set wires up")?;
    Ok(elements)
}

/// Puts a wire on a device's egress, with its element. Its root qdisc must be `fq`.
pub fn attach(wire: &Wire, element: Element, device: &Device, socket: &mut Socket) -> Result<Element> {
    let (element, program) = loaded(wire, element)?;
    classifier::attach(&program, "wire", Side::Leaving, device, socket).map_err(|error| {
        error.hint("The kernel needs CONFIG_NET_CLS_BPF, CONFIG_NET_SCH_INGRESS and CONFIG_NET_SCH_FQ.")
    })?;
    Ok(element)
}

/// An element for one wire.
///
/// # Errors
/// Values that no wire can have, and what [`elements`] cannot have.
pub fn element(wire: &Wire) -> Result<Element> {
    check(wire)?;
    elements(&[wire])?.pop().ok_or_else(|| Error::new("topology", "a wire has no element"))
}

/// The program in the kernel, and what it works with.
fn loaded(wire: &Wire, mut element: Element) -> Result<(Element, OwnedFd)> {
    let program = load(wire, &element).or_else(|refused| {
        element.counting = Counting::Plain;
        load(wire, &element).map_err(|_| refused)
    })?;
    Ok((element, program))
}

/// Whether a wire of this kernel gives each packet a number of its own; see [`Element::is_exact`].
///
/// # Errors
/// The kernel takes no program for a wire.
pub fn is_exact_here() -> Result<bool> {
    let wire = Wire::default();
    loaded(&wire, element(&wire)?).map(|(element, _)| element.is_exact())
}

fn drop_list(numbers: &[u64]) -> Result<Option<Map>> {
    if numbers.is_empty() {
        return Ok(None);
    }
    let shape = Shape { kind: MapKind::Hash, key_size: 8, value_size: 1, max_entries: numbers.len() };
    let map = Map::create(shape).context("create a wire's list of drops")?;
    for number in numbers {
        map.set(&number.to_ne_bytes(), &[1]).context("fill a wire's list of drops")?;
    }
    Ok(Some(map))
}

fn load(wire: &Wire, element: &Element) -> Result<OwnedFd> {
    let code = program::program(wire, element)
        .ok_or_else(|| Error::new("topology", "a wire's program does not assemble"))?;
    classifier::load(&code, "wire")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(loss: f64, jitter_ns: u64, drop: Vec<u64>) -> Wire {
        Wire { delay_ns: 1000, jitter_ns, loss, drop, seed: 7, ..Wire::default() }
    }

    #[test]
    fn the_mixer_is_splitmix64() {
        // First outputs of SplitMix64 seeded with 1234567, as published with the generator.
        let outputs: Vec<u64> =
            (1..=3_u64).map(|n| mix(1_234_567_u64.wrapping_add(n.wrapping_mul(GAMMA)))).collect();
        assert_eq!(
            outputs,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn losses_come_as_often_as_asked() {
        let wire = wire(0.01, 0, Vec::new());
        let lost = (0..1_000_000).filter(|n| fate(&wire, *n).is_none()).count();
        // 99 % of a binomial of 1e6 trials with p = 0.01: 10000 ± 257.
        assert!((9743..=10257).contains(&lost), "{lost}");
    }

    #[test]
    fn jitter_is_uniform_between_its_bounds() {
        let wire = wire(0.0, 9, Vec::new());
        let mut counts = [0_u32; 10];
        for n in 0..100_000 {
            counts[(fate(&wire, n).expect("no loss") - 1000) as usize] += 1;
        }
        // Pearson's chi-squared, 9 degrees of freedom, 99.9 %: 27.9.
        let chi: f64 = counts.iter().map(|count| (f64::from(*count) - 1e4).powi(2) / 1e4).sum();
        assert!(chi < 27.9, "{counts:?}");
    }

    #[test]
    fn named_packets_are_dropped_and_certain_loss_takes_all() {
        let named = wire(0.0, 0, vec![3, 5]);
        let gone: Vec<u64> = (0..10).filter(|n| fate(&named, *n).is_none()).collect();
        assert_eq!(gone, [3, 5]);
        assert!((0..1000).all(|n| fate(&wire(1.0, 0, Vec::new()), n).is_none()));
        assert!((0..1000).all(|n| fate(&wire(0.0, 0, Vec::new()), n) == Some(1000)));
    }

    #[test]
    fn impossible_wires_are_refused() {
        for wrong in [wire(1.5, 0, Vec::new()), wire(-0.1, 0, Vec::new()), wire(f64::NAN, 0, Vec::new())] {
            assert!(check(&wrong).is_err());
        }
        assert!(check(&Wire { delay_ns: u64::MAX, ..wire(0.0, 0, Vec::new()) }).is_err());
        assert!(check(&wire(0.0, 1 << 33, Vec::new())).is_err());
        assert!(check(&wire(0.0, 0, vec![0; MAX_DROPS + 1])).is_err());
    }
}
