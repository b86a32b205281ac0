//! `choke`: random early detection that also drops packets of flows that fill the queue (`tc-choke(8)`; Pan, Prabhakar, Psounis, 2000).

use super::red::{Curve, Spoken};
use crate::error::Result;
use crate::kernel::netlink::Attributes;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::Options;

const TAKES: &[&str] = &["limit", "min", "max", "avpkt", "burst", "probability", "bandwidth", "ecn"];

const TCA_CHOKE_PARMS: u16 = 1;
const TCA_CHOKE_STAB: u16 = 2;
const TCA_CHOKE_MAX_P: u16 = 3;
const DEFAULT_AVERAGE_PACKET: u32 = 1000;

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

/// Thresholds in packets; the average is made of bytes.
fn encode(words: &mut Words) -> Result<Options> {
    let mut said = Spoken::NOTHING;
    said.curve.average_packet = DEFAULT_AVERAGE_PACKET;
    while let Some(word) = words.take() {
        match word {
            "limit" => said.curve.limit = words.number(word)?,
            "min" => said.curve.min = words.number(word)?,
            "max" => said.curve.max = words.number(word)?,
            other => said.shape_word(other, words)?,
        }
    }
    let Spoken { mut curve, bandwidth, flags } = said;
    if curve.limit == 0 || bandwidth == 0 || curve.average_packet == 0 {
        return Err(words.fault("'limit' and 'bandwidth' are needed, and an 'avpkt' above 0"));
    }
    complete(&mut curve);
    if curve.max > curve.limit || curve.min >= curve.max {
        return Err(words.fault("'min' must be below 'max', and 'max' not above 'limit'"));
    }
    let in_bytes = |packets: u32| packets.wrapping_mul(curve.average_packet);
    let bytes = Curve { min: in_bytes(curve.min), max: in_bytes(curve.max), ..curve };
    let shape = bytes.shape(words, bandwidth)?;
    let mut options = Attributes::new();
    options.put(TCA_CHOKE_PARMS, &shape.parameters(&curve, flags)).put(TCA_CHOKE_STAB, &shape.idle);
    options.u32(TCA_CHOKE_MAX_P, curve.probability_fixed());
    Ok(Some(options))
}

/// What was not given, by Floyd's recommendations in packets.
fn complete(curve: &mut Curve) {
    if curve.max == 0 {
        curve.max = curve.limit / 4;
    }
    if curve.min == 0 {
        curve.min = curve.max / 3;
    }
    if curve.burst == 0 {
        curve.burst = ((2 * u64::from(curve.min) + u64::from(curve.max)) / 3) as u32;
    }
}
