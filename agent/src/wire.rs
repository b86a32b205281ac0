//! The wire: delay, jitter and loss by packet number, the same on every kernel (`docs/plan-format.md`).
//!
//! A program at a device's clsact egress counts the packets, lets some vanish and stamps the others with the instant of
//! their departure; `fq` below holds them until then ("earliest departure time").

mod counting;

use std::os::fd::{AsRawFd, OwnedFd};

use crate::bpf::{Alu, Program, Size, When, FRAME, R0, R1, R2, R3, R4, R6, R7, R8, R9};
use crate::classifier::{self, Side};
use crate::error::{Context, Error, Result};
use crate::netlink::{u64_at, Socket};
use crate::plan::{Serial, Wire};
use crate::qdisc::words::Words;
use crate::qdisc::{self, Device};
use crate::serial::Pace;
use crate::sys::bpf::{Map, MapKind};
use crate::sys::cpu;
use counting::Counting;

/// What releases the packets when a wire is made by hand.
const RELEASE: &str =
    "qdisc root handle 1: fq limit 1000000 flow_limit 1000000 nopacing timer_slack 1ns horizon 1000s";
const TAKES: &[&str] = &["delay", "jitter", "loss", "drop", "seed", "reorder", "rate", "ahead"];

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

const HELPER_MAP_LOOKUP: i32 = 1;
const HELPER_KTIME_GET_NS: i32 = 5;
/// Offsets in `struct __sk_buff`; `wire_len` is what a queue counts, with the headers of each segment.
const SKB_TSTAMP: i16 = 152;
const SKB_WIRE_LEN: i16 = 160;
const TC_ACT_OK: i32 = 0;
const TC_ACT_STOLEN: i32 = 4;
/// Bit of the first byte of a hardware address that means "to many".
const MULTICAST_BIT: i32 = 1;

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
const SETTINGS_SIZE: usize = 56;

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

    /// Packets that came and how many of them were lost.
    pub fn read(&self) -> Result<(u64, u64)> {
        let mut state = [0; STATE_SIZE];
        self.state.get(&0_u32.to_ne_bytes(), &mut state).context("read a wire's counters")?;
        let field = |offset: i16| u64_at(&state, offset as usize).unwrap_or(0);
        Ok((field(COUNTER), field(LOST)))
    }

    /// The next packet is number `first`; all else is forgotten.
    pub fn count_from(&self, first: u64) -> Result<()> {
        let mut state = [0; STATE_SIZE];
        state[COUNTER as usize..LOST as usize].copy_from_slice(&first.to_ne_bytes());
        self.state.set(&0_u32.to_ne_bytes(), &state).context("reset a wire's counters")
    }

    /// From now on delay, jitter, loss and rate are those of `wire`; its other words hold from the beginning to the end.
    /// The experiment began, or begins, at `start_ns`.
    ///
    /// # Errors
    /// Values that no wire can have.
    pub fn change(&self, wire: &Wire, start_ns: i64) -> Result<()> {
        check(wire)?;
        self.settings.set(&0_u32.to_ne_bytes(), &settings(wire, start_ns)).context("change a wire")
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

/// Puts a wire on a device's egress. Its root qdisc must be `fq`.
pub fn attach(wire: &Wire, device: &Device, socket: &mut Socket) -> Result<Element> {
    check(wire)?;
    let (element, program) = loaded(wire)?;
    classifier::attach(&program, "wire", Side::Leaving, device, socket).map_err(|error| {
        error.hint("The kernel needs CONFIG_NET_CLS_BPF, CONFIG_NET_SCH_INGRESS and CONFIG_NET_SCH_FQ.")
    })?;
    Ok(element)
}

/// The program in the kernel, and what it works with.
fn loaded(wire: &Wire) -> Result<(Element, OwnedFd)> {
    let lacking = "The kernel needs CONFIG_BPF_SYSCALL.";
    let array = |size, what| {
        Map::create(MapKind::Array, 4, size, 1).context(what).map_err(|error| error.hint(lacking))
    };
    let mut element = Element {
        state: array(STATE_SIZE, "create a wire's counters")?,
        settings: array(SETTINGS_SIZE, "create a wire's settings")?,
        drops: drop_list(&wire.drop)?,
        counting: Counting::Atomic,
    };
    element.change(wire, 0)?;
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
    let wire = Wire {
        delay_ns: 0,
        jitter_ns: 0,
        reorder: false,
        loss: 0.0,
        drop: Vec::new(),
        seed: 0,
        serial: None,
    };
    loaded(&wire).map(|(element, _)| element.is_exact())
}

fn drop_list(numbers: &[u64]) -> Result<Option<Map>> {
    if numbers.is_empty() {
        return Ok(None);
    }
    let map = Map::create(MapKind::Hash, 8, 1, numbers.len()).context("create a wire's list of drops")?;
    for number in numbers {
        map.set(&number.to_ne_bytes(), &[1]).context("fill a wire's list of drops")?;
    }
    Ok(Some(map))
}

fn load(wire: &Wire, element: &Element) -> Result<OwnedFd> {
    let code =
        program(wire, element).ok_or_else(|| Error::new("topology", "a wire's program does not assemble"))?;
    classifier::load(&code, "wire")
}

/// [`Pace::send`] and [`fate`] as a program: R6 the packet, R7 the state, R8 its number and then its dice, R9 its stamp.
fn program(wire: &Wire, element: &Element) -> Option<Vec<u64>> {
    let mut code = Program::new();
    let (pass, lost) = (code.label(), code.label());
    code.alu_reg(Alu::Mov, R6, R1);
    code.load_packet_byte(0).alu(Alu::And, R0, MULTICAST_BIT).jump_if(When::NotEqual, R0, 0, pass);
    code.load_value(R7, element.state.as_raw_fd());
    element.counting.take_number(&mut code);
    let settings = element.settings.as_raw_fd();
    code.call(HELPER_KTIME_GET_NS).alu_reg(Alu::Mov, R9, R0);
    if wire.serial.is_some() {
        send(&mut code, settings);
    }
    if let Some(drops) = &element.drops {
        code.store(Size::Double, FRAME, -16, R8);
        look_up(&mut code, drops, -16);
        code.jump_if(When::NotEqual, R0, 0, lost);
    }
    throw_dice(&mut code, wire.seed);
    code.load_value(R3, settings).load(Size::Double, R2, R3, THRESHOLD);
    code.alu_reg(Alu::Mov, R1, R8).alu(Alu::Rsh, R1, 32).jump_if_reg(When::Below, R1, R2, lost);
    stamp(&mut code, settings);
    if !wire.reorder {
        element.counting.keep_order(&mut code);
    }
    code.store(Size::Double, R6, SKB_TSTAMP, R9);
    code.place(pass).alu(Alu::Mov, R0, TC_ACT_OK).exit();
    counting::count_loss(code.place(lost));
    code.alu(Alu::Mov, R0, TC_ACT_STOLEN).exit();
    code.assemble()
}

/// `R0 = map[key on the stack]`, 0 when it is not there.
fn look_up(code: &mut Program, map: &Map, key: i16) {
    code.load_map(R1, map.as_raw_fd());
    code.alu_reg(Alu::Mov, R2, FRAME).alu(Alu::Add, R2, key.into()).call(HELPER_MAP_LOOKUP);
}

/// `R8 = hash(seed, R8)`.
fn throw_dice(code: &mut Program, seed: u64) {
    code.alu(Alu::Add, R8, 1).load_constant(R1, GAMMA).alu_reg(Alu::Mul, R8, R1);
    code.load_constant(R1, mix(seed)).alu_reg(Alu::Add, R8, R1);
    for (shift, factor) in [(30, Some(FACTOR_1)), (27, Some(FACTOR_2)), (31, None)] {
        code.alu_reg(Alu::Mov, R1, R8).alu(Alu::Rsh, R1, shift).alu_reg(Alu::Xor, R8, R1);
        if let Some(factor) = factor {
            code.load_constant(R1, factor).alu_reg(Alu::Mul, R8, R1);
        }
    }
}

/// `R9`, now, becomes the instant at which the last bit has been sent. What is lost on the way was sent, too.
fn send(code: &mut Program, settings: i32) {
    let (not_ahead, idle, no_outage) = (code.label(), code.label(), code.label());
    code.load_value(R3, settings).load(Size::Double, R1, R7, SENT);
    code.load(Size::Double, R4, R3, AHEAD).alu_reg(Alu::Add, R4, R9);
    code.jump_if_reg(When::AtLeast, R4, R1, not_ahead).alu_reg(Alu::Mov, R1, R4).place(not_ahead);
    code.jump_if_reg(When::AtLeast, R9, R1, idle).alu_reg(Alu::Mov, R9, R1).place(idle);
    code.load(Size::Double, R1, R3, HOLD);
    code.jump_if_reg(When::AtLeast, R9, R1, no_outage).alu_reg(Alu::Mov, R9, R1).place(no_outage);
    code.load(Size::Word, R1, R6, SKB_WIRE_LEN).load(Size::Double, R2, R3, FACTOR);
    code.alu_reg(Alu::Mul, R1, R2).load(Size::Double, R2, R3, SHIFT).alu_reg(Alu::Rsh, R1, R2);
    code.alu_reg(Alu::Add, R9, R1).store(Size::Double, R7, SENT, R9);
}

/// `R9` + delay + jitter.
fn stamp(code: &mut Program, settings: i32) {
    code.alu(Alu::Lsh, R8, 32).alu(Alu::Rsh, R8, 32);
    code.load_value(R3, settings).load(Size::Double, R1, R3, JITTERS);
    code.alu_reg(Alu::Mul, R8, R1).alu(Alu::Rsh, R8, 32).alu_reg(Alu::Add, R9, R8);
    code.load(Size::Double, R1, R3, DELAY).alu_reg(Alu::Add, R9, R1);
}

/// `wire DEV [delay TIME] [jitter TIME] [loss P] [drop N,N,…] [seed N] [reorder] [rate RATE [ahead SIZE]]` by hand, in the namespace of this
/// process. A root `fq` that is there already stays as it is. The wire stays until `tc qdisc del dev DEV clsact` and `tc qdisc del dev DEV root`.
pub fn command(words: &[&str]) -> Result<()> {
    let [name, rest @ ..] = words else {
        return Err(Error::new("usage", format!("wire DEV [{}]", TAKES.join(" | "))));
    };
    let mut words = Words::new("wire", TAKES, rest.to_vec());
    let mut wire = Wire {
        delay_ns: 0,
        jitter_ns: 0,
        reorder: false,
        loss: 0.0,
        drop: Vec::new(),
        seed: 1,
        serial: None,
    };
    let mut serial = Serial { rate_bps: 0, ahead_bytes: 0, hold_ns: 0 };
    while let Some(word) = words.take() {
        match word {
            "delay" => wire.delay_ns = words.nanos(word)? as u64,
            "jitter" => wire.jitter_ns = words.nanos(word)? as u64,
            "loss" => wire.loss = probability(&mut words, word)?,
            "drop" => wire.drop = numbers(&mut words)?,
            "seed" => wire.seed = words.number(word)?,
            "reorder" => wire.reorder = true,
            "rate" => serial.rate_bps = 8 * words.rate(word)?,
            "ahead" => serial.ahead_bytes = words.size(word)?.into(),
            other => return Err(words.unknown(other)),
        }
    }
    wire.serial = Some(serial).filter(|serial| serial.rate_bps > 0);
    let mut socket = Socket::route()?;
    let device = Device { name, ifindex: socket.ifindex(name)? };
    if !releases(&mut socket, &device)? {
        let queue = qdisc::parse(RELEASE, &device)?;
        qdisc::apply(&[queue], &mut socket, |work| work())?;
    }
    attach(&wire, &device, &mut socket).map(drop)
}

/// Whether the device's root is an `fq`.
fn releases(socket: &mut Socket, device: &Device) -> Result<bool> {
    let mut found = false;
    qdisc::dump(socket, |row| {
        found |= row.ifindex == device.ifindex && row.parent == qdisc::TC_H_ROOT && row.kind == "fq";
    })?;
    Ok(found)
}

/// A probability as tc writes it, `1.5%` or a bare percentage, without tc's rounding.
pub fn probability(words: &mut Words, key: &str) -> Result<f64> {
    let text = words.value(key)?;
    let percent = text.strip_suffix('%').unwrap_or(text).parse::<f64>();
    percent.map(|percent| percent / 100.0).map_err(|_| words.fault(format_args!("{text:?} is no percentage")))
}

/// Packet numbers with commas between them.
pub fn numbers(words: &mut Words) -> Result<Vec<u64>> {
    let text = words.value("drop")?;
    let numbers = text.split(',').map(str::parse).collect::<std::result::Result<_, _>>();
    numbers.map_err(|_| words.fault(format_args!("{text:?} are no packet numbers with commas between them")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(loss: f64, jitter_ns: u64, drop: Vec<u64>) -> Wire {
        Wire { delay_ns: 1000, jitter_ns, reorder: false, loss, drop, seed: 7, serial: None }
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
    fn a_wire_by_hand_takes_exact_words() {
        let words = |text| Words::new("wire", TAKES, vec![text]);
        for (text, loss) in [("1.5%", Some(0.015)), ("2", Some(0.02)), ("some", None)] {
            assert_eq!(probability(&mut words(text), "loss").ok(), loss);
        }
        assert_eq!(numbers(&mut words("3,5")).ok(), Some(vec![3, 5]));
        assert!(numbers(&mut words("3,,5")).is_err());
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
