//! `red`: random early detection (`tc-red(8)`; Floyd and Jacobson 1993), and its arithmetic, which `sfq` shares.

use crate::error::Result;
use crate::kernel::netlink::Attributes;
use crate::tc::kinds::Encoder;
use crate::tc::units::{rate, transmit_ticks};
use crate::tc::words::Words;
use crate::tc::Options;

const TAKES: &[&str] = &[
    "limit",
    "min",
    "max",
    "avpkt",
    "burst",
    "probability",
    "bandwidth",
    "ecn",
    "harddrop",
    "nodrop",
    "adaptive",
    "adaptative",
];

pub const ECN: u8 = 1;
pub const HARDDROP: u8 = 2;
const ADAPTIVE: u8 = 4;
const NODROP: u8 = 8;
const ALL_FLAGS: u8 = ECN | HARDDROP | ADAPTIVE | NODROP;

const TCA_RED_PARMS: u16 = 1;
const TCA_RED_STAB: u16 = 2;
const TCA_RED_MAX_P: u16 = 3;
const TCA_RED_FLAGS: u16 = 4;
const DEFAULT_BANDWIDTH: &str = "10mbit";
const LONGEST_SHIFT: u8 = 31;

/// The marking curve: thresholds on the average queue in bytes, and what the average is made of.
#[derive(Debug, Clone, Copy)]
pub struct Curve {
    pub limit: u32,
    pub min: u32,
    pub max: u32,
    pub average_packet: u32,
    pub burst: u32,
    pub probability: f64,
}

impl Curve {
    /// Without any word: tc's defaults.
    pub const EMPTY: Self = Self { limit: 0, min: 0, max: 0, average_packet: 0, burst: 0, probability: 0.02 };

    /// Fills what was not given as Floyd recommends (the RED parameters page that `tc-red(8)` cites).
    pub fn complete(&mut self) {
        if self.max == 0 {
            self.max = if self.min > 0 { self.min.saturating_mul(3) } else { self.limit / 4 };
        }
        if self.min == 0 {
            self.min = self.max / 3;
        }
        if self.burst == 0 {
            let sum = 2 * u64::from(self.min) + u64::from(self.max);
            self.burst = (sum / (3 * u64::from(self.average_packet))) as u32;
        }
    }

    /// What the kernel is told of the curve beside its thresholds, on a link of `bandwidth` bytes a second.
    pub fn shape(&self, words: &Words, bandwidth: u64) -> Result<Shape> {
        let least = 1 + self.min / self.average_packet.max(1);
        let weight = self.weight_log().ok_or_else(|| {
            words.fault(format_args!("'burst {}' does not fit 'min' and 'avpkt', {least} would", self.burst))
        })?;
        let slope = self
            .probability_log()
            .ok_or_else(|| words.fault("'max' must be above 'min', and 'probability' not so small"))?;
        let (cell, idle) = self
            .idle_table(weight, bandwidth)
            .ok_or_else(|| words.fault("'bandwidth' is too small for 'avpkt'"))?;
        Ok(Shape { weight, slope, cell, idle })
    }

    /// log₂ of the inverse weight W of the average: the smallest with burst + 1 - min/avpkt ≤ (1 - (1-W)^burst) / W.
    #[must_use]
    pub fn weight_log(&self) -> Option<u8> {
        let idle = f64::from(self.burst) + 1.0 - f64::from(self.min) / f64::from(self.average_packet);
        let fits = |log: &u8| {
            let weight = 0.5_f64.powi(i32::from(*log));
            idle <= (1.0 - libm::pow(1.0 - weight, f64::from(self.burst))) / weight
        };
        (idle >= 1.0).then(|| (1..=LONGEST_SHIFT).find(fits)).flatten()
    }

    /// log₂ of (max - min) / probability, rounded up.
    #[must_use]
    pub fn probability_log(&self) -> Option<u8> {
        let span = self.max.checked_sub(self.min)?;
        if span == 0 {
            return Some(0);
        }
        let slope = self.probability / f64::from(span);
        (0..=LONGEST_SHIFT).find(|shift| slope * 2_f64.powi(i32::from(*shift)) > 1.0)
    }

    /// The probability as a share of 2³²; of 1 nothing is left, and the kernel takes the slope's logarithm.
    #[must_use]
    pub fn probability_fixed(&self) -> u32 {
        (self.probability * 4_294_967_296.0) as u64 as u32
    }

    /// How far the average decays while the queue is idle: table and cell size, for a link of `bandwidth` bytes a second.
    fn idle_table(&self, weight_log: u8, bandwidth: u64) -> Option<(u8, [u8; 256])> {
        let packet_ticks = f64::from(transmit_ticks(bandwidth, self.average_packet.into()));
        let decay = -libm::log(1.0 - 0.5_f64.powi(i32::from(weight_log))) / packet_ticks;
        let longest = 31.0 / decay;
        let cell = (0..=LONGEST_SHIFT).find(|shift| longest / 2_f64.powi(i32::from(*shift)) < 512.0)?;
        let mut table = [0; 256];
        for (at, entry) in (0_i32..).zip(&mut table).skip(1) {
            // In 32 bits and kept in a byte before it is bounded, as tc has it: very slow links run over.
            *entry = ((f64::from(at << cell) * decay) as i32 as u8).min(31);
        }
        table[255] = 31;
        Some((cell, table))
    }
}

/// Logarithms and the table of idle times.
pub struct Shape {
    pub weight: u8,
    pub slope: u8,
    pub cell: u8,
    pub idle: [u8; 256],
}

impl Shape {
    /// A `struct tc_red_qopt`: the thresholds of `curve`, in its units.
    #[must_use]
    pub fn parameters(&self, curve: &Curve, flags: u8) -> Vec<u8> {
        let mut bytes = [curve.limit, curve.min, curve.max].map(u32::to_ne_bytes).concat();
        bytes.extend([self.weight, self.slope, self.cell, flags]);
        bytes
    }
}

/// What the words say that curves in bytes share.
pub struct Spoken {
    pub curve: Curve,
    /// In bytes a second; 0 where nothing is said.
    pub bandwidth: u64,
    pub flags: u8,
}

impl Spoken {
    pub const NOTHING: Self = Self { curve: Curve::EMPTY, bandwidth: 0, flags: 0 };

    /// Takes one of those words and its value, in which `limit`, `min` and `max` are sizes.
    pub fn word(&mut self, word: &str, words: &mut Words) -> Result<()> {
        match word {
            "limit" => self.curve.limit = words.size(word)?,
            "min" => self.curve.min = words.size(word)?,
            "max" => self.curve.max = words.size(word)?,
            "harddrop" => self.flags |= HARDDROP,
            other => return self.shape_word(other, words),
        }
        Ok(())
    }

    /// Those that say the same where thresholds are in packets.
    pub fn shape_word(&mut self, word: &str, words: &mut Words) -> Result<()> {
        match word {
            "avpkt" => self.curve.average_packet = words.size(word)?,
            "burst" => self.curve.burst = words.number(word)?,
            "probability" => self.curve.probability = words.real(word)?,
            "bandwidth" => self.bandwidth = words.rate32(word)?.into(),
            "ecn" => self.flags |= ECN,
            other => return Err(words.unknown(other)),
        }
        Ok(())
    }

    /// The curve, complete, and its shape on a link of 10 Mbit/s where no bandwidth is given.
    pub fn complete(&self, words: &Words) -> Result<(Curve, Shape)> {
        let mut curve = self.curve;
        let usual = || rate(DEFAULT_BANDWIDTH).unwrap_or_default();
        let bandwidth = if self.bandwidth == 0 { usual() } else { self.bandwidth };
        curve.complete();
        let shape = curve.shape(words, bandwidth)?;
        Ok((curve, shape))
    }
}

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

fn encode(words: &mut Words) -> Result<Options> {
    let mut said = Spoken::NOTHING;
    while let Some(word) = words.take() {
        match word {
            "nodrop" => said.flags |= NODROP,
            "adaptive" | "adaptative" => said.flags |= ADAPTIVE,
            other => said.word(other, words)?,
        }
    }
    if said.curve.limit == 0 || said.curve.average_packet == 0 {
        return Err(words.fault("'limit' and 'avpkt' are needed"));
    }
    let (curve, shape) = said.complete(words)?;
    let mut options = Attributes::new();
    options.put(TCA_RED_PARMS, &shape.parameters(&curve, 0)).put(TCA_RED_STAB, &shape.idle);
    options.u32(TCA_RED_MAX_P, curve.probability_fixed());
    options.put(TCA_RED_FLAGS, &[said.flags, ALL_FLAGS].map(|set| u32::from(set).to_ne_bytes()).concat());
    Ok(Some(options))
}
