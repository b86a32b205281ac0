//! `htb` and its classes (`tc-htb(8)`).

use crate::error::Result;
use crate::kernel::netlink::Attributes;
use crate::tc::kinds::Encoder;
use crate::tc::rate::{LinkLayer, Rate};
use crate::tc::units::transmit_ticks;
use crate::tc::words::Words;
use crate::tc::Options;

const TAKES: &[&str] = &["default", "r2q", "direct_qlen", "debug", "offload"];
const CLASS_TAKES: &[&str] = &[
    "rate",
    "ceil",
    "burst",
    "buffer",
    "maxburst",
    "cburst",
    "cbuffer",
    "cmaxburst",
    "prio",
    "quantum",
    "mtu",
    "mpu",
    "overhead",
    "linklayer",
];

const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;
const TCA_HTB_CTAB: u16 = 3;
const TCA_HTB_RTAB: u16 = 4;
const TCA_HTB_DIRECT_QLEN: u16 = 5;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
const TCA_HTB_OFFLOAD: u16 = 9;
const VERSION: u32 = 3;
const DEFAULT_RATE_TO_QUANTUM: u32 = 10;
const DEFAULT_MTU: u32 = 1600;
/// Turns of the clock a second, with high-resolution timers (fourth field of `/proc/net/psched`).
const CLOCK_HZ: u64 = 1_000_000_000;

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

/// A `struct tc_htb_glob`.
fn encode(words: &mut Words) -> Result<Options> {
    let (mut default, mut rate_to_quantum, mut debug) = (0, DEFAULT_RATE_TO_QUANTUM, 0_u32);
    let mut direct = None;
    let mut offload = false;
    while let Some(word) = words.take() {
        match word {
            "default" => default = words.hexadecimal(word)?,
            "r2q" => rate_to_quantum = words.number(word)?,
            "direct_qlen" => direct = Some(words.number(word)?),
            "offload" => offload = true,
            "debug" => {
                let levels =
                    words.value(word)?.bytes().take_while(|digit| (b'0'..=b'3').contains(digit)).take(16);
                debug =
                    levels.enumerate().fold(0, |sum, (at, digit)| sum | u32::from(digit - b'0') << (2 * at));
            }
            other => return Err(words.unknown(other)),
        }
    }
    let fields = [VERSION, rate_to_quantum, default, debug, 0];
    let mut options = Attributes::new();
    options.put(TCA_HTB_INIT, &fields.map(u32::to_ne_bytes).concat());
    if let Some(length) = direct {
        options.u32(TCA_HTB_DIRECT_QLEN, length);
    }
    if offload {
        options.put(TCA_HTB_OFFLOAD, &[]);
    }
    Ok(Some(options))
}

#[derive(Default)]
struct Class {
    rate: Rate,
    ceil: Rate,
    burst: u32,
    ceil_burst: u32,
    quantum: u32,
    priority: u32,
}

pub const CLASS: Encoder = Encoder { takes: CLASS_TAKES, encode: class };

fn class(words: &mut Words) -> Result<Options> {
    let mut class = Class::default();
    let mut shared = Rate { mtu: DEFAULT_MTU, ..Rate::default() };
    while let Some(word) = words.take() {
        match word {
            "rate" => class.rate.bytes = words.rate(word)?,
            "ceil" => class.ceil.bytes = words.rate(word)?,
            "burst" | "buffer" | "maxburst" => {
                (class.burst, class.rate.cell_log) = words.size_and_cell(word)?;
            }
            "cburst" | "cbuffer" | "cmaxburst" => {
                (class.ceil_burst, class.ceil.cell_log) = words.size_and_cell(word)?;
            }
            "prio" => class.priority = words.number(word)?,
            "quantum" => class.quantum = words.number(word)?,
            "mtu" => shared.mtu = words.number(word)?,
            "mpu" => shared.mpu = words.number(word)?,
            "overhead" => shared.overhead = words.number(word)?,
            "linklayer" => shared.link_layer = LinkLayer::read(words)?,
            other => return Err(words.unknown(other)),
        }
    }
    if class.rate.bytes == 0 {
        return Err(words.fault("a class needs a 'rate'"));
    }
    class.complete(shared);
    Ok(Some(class.options()))
}

impl Class {
    /// What was not given: the ceiling is the rate, the bursts hold what one turn of the clock sends and a packet.
    fn complete(&mut self, shared: Rate) {
        if self.ceil.bytes == 0 {
            self.ceil.bytes = self.rate.bytes;
        }
        for rate in [&mut self.rate, &mut self.ceil] {
            *rate = Rate { bytes: rate.bytes, cell_log: rate.cell_log, ..shared };
        }
        let least = |rate: &Rate| ((rate.bytes / CLOCK_HZ) as u32).saturating_add(shared.mtu);
        if self.burst == 0 {
            self.burst = least(&self.rate);
        }
        if self.ceil_burst == 0 {
            self.ceil_burst = least(&self.ceil);
        }
    }

    fn options(&self) -> Attributes {
        let mut options = Attributes::new();
        for (kind, rate) in [(TCA_HTB_RATE64, &self.rate), (TCA_HTB_CEIL64, &self.ceil)] {
            if let Some(wide) = rate.wide() {
                options.u64(kind, wide);
            }
        }
        let mut parms = [self.rate.spec(), self.ceil.spec()].concat();
        let buffers = [(&self.rate, self.burst), (&self.ceil, self.ceil_burst)];
        let [buffer, ceil_buffer] = buffers.map(|(rate, burst)| transmit_ticks(rate.bytes, burst.into()));
        for field in [buffer, ceil_buffer, self.quantum, 0, self.priority] {
            parms.extend(field.to_ne_bytes());
        }
        options.put(TCA_HTB_PARMS, &parms);
        options.put(TCA_HTB_RTAB, &self.rate.table(self.rate.saturated().into()));
        options.put(TCA_HTB_CTAB, &self.ceil.table(self.ceil.saturated().into()));
        options
    }
}
