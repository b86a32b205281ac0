//! `sfq`: stochastic fairness queueing, with `red` inside its queues on request (`tc-sfq(8)`).

use super::red::{Curve, ECN, HARDDROP};
use crate::error::Result;
use crate::kernel::netlink::Attributes;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::Options;

const TAKES: &[&str] = &[
    "limit",
    "perturb",
    "quantum",
    "flows",
    "depth",
    "divisor",
    "headdrop",
    "redflowlimit",
    "min",
    "max",
    "avpkt",
    "burst",
    "probability",
    "ecn",
    "harddrop",
];

/// Bytes of `struct tc_sfqred_stats`, which only the kernel fills.
const STATS: usize = 24;
const DEFAULT_AVERAGE_PACKET: u32 = 1000;

/// The part of `struct tc_sfq_qopt_v1` before `red`.
#[derive(Default)]
struct Plain {
    quantum: u32,
    perturb: i32,
    limit: u32,
    divisor: u32,
    flows: u32,
    depth: u32,
    headdrop: u32,
}

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

fn encode(words: &mut Words) -> Result<Options> {
    let mut plain = Plain::default();
    let mut curve = Curve { average_packet: DEFAULT_AVERAGE_PACKET, ..Curve::EMPTY };
    let (mut flags, mut any, mut red) = (0, false, false);
    while let Some(word) = words.take() {
        any = true;
        if plain.read(words, word)? {
            continue;
        }
        red = true;
        match word {
            "redflowlimit" => curve.limit = words.number(word)?,
            "min" => curve.min = words.number(word)?,
            "max" => curve.max = words.number(word)?,
            "burst" => curve.burst = words.number(word)?,
            "avpkt" => curve.average_packet = words.size(word)?,
            "probability" => curve.probability = words.real(word)?,
            "ecn" => flags |= ECN,
            "harddrop" => flags |= HARDDROP,
            other => return Err(words.unknown(other)),
        }
    }
    let early = if red { detection(words, &mut curve, flags)? } else { vec![0; 20] };
    Ok(any.then(|| {
        let mut options = Attributes::new();
        options.raw(&[plain.bytes(), early, vec![0; STATS]].concat());
        options
    }))
}

impl Plain {
    /// Reads a word if it is one of these.
    fn read(&mut self, words: &mut Words, word: &str) -> Result<bool> {
        match word {
            "quantum" => self.quantum = words.size(word)?,
            "perturb" => self.perturb = words.integer(word)?,
            "limit" => self.limit = words.number(word)?,
            "divisor" => self.divisor = words.number(word)?,
            "flows" => self.flows = words.number(word)?,
            "depth" => self.depth = words.number(word)?,
            "headdrop" => self.headdrop = 1,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn bytes(&self) -> Vec<u8> {
        let perturb = self.perturb as u32;
        [self.quantum, perturb, self.limit, self.divisor, self.flows, self.depth, self.headdrop]
            .map(u32::to_ne_bytes)
            .concat()
    }
}

/// The `red` part: thresholds, logarithms and flags, probability.
fn detection(words: &Words, curve: &mut Curve, flags: u8) -> Result<Vec<u8>> {
    if curve.limit == 0 || curve.average_packet == 0 {
        return Err(words.fault("early detection needs 'redflowlimit' and 'avpkt'"));
    }
    // Unlike red itself, tc does not take three times 'min' here.
    curve.max = if curve.max == 0 { curve.limit / 4 } else { curve.max };
    curve.complete();
    if curve.max > curve.limit || curve.min >= curve.max {
        return Err(words.fault("'min' must be below 'max', and 'max' not above 'redflowlimit'"));
    }
    let weight = curve.weight_log().ok_or_else(|| words.fault("'burst' does not fit 'min' and 'avpkt'"))?;
    let slope = curve.probability_log().ok_or_else(|| words.fault("'probability' is too small"))?;
    let mut bytes = [curve.limit, curve.min, curve.max].map(u32::to_ne_bytes).concat();
    bytes.extend([weight, slope, 0, flags]);
    bytes.extend(curve.probability_fixed().to_ne_bytes());
    Ok(bytes)
}
