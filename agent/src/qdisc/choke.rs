//! `choke`: random early detection that also drops packets of flows that fill the queue (`tc-choke(8)`; Pan, Prabhakar, Psounis, 2000).

use super::red::{Curve, ECN};
use super::words::Words;
use super::Options;
use crate::error::Result;
use crate::netlink::Attributes;

pub const TAKES: &[&str] = &["limit", "min", "max", "avpkt", "burst", "probability", "bandwidth", "ecn"];

const TCA_CHOKE_PARMS: u16 = 1;
const TCA_CHOKE_STAB: u16 = 2;
const TCA_CHOKE_MAX_P: u16 = 3;
const DEFAULT_AVERAGE_PACKET: u32 = 1000;

/// Thresholds in packets; the average is made of bytes.
pub fn encode(words: &mut Words) -> Result<Options> {
    let mut curve = Curve { average_packet: DEFAULT_AVERAGE_PACKET, ..Curve::EMPTY };
    let (mut bandwidth, mut flags) = (0, 0);
    while let Some(word) = words.take() {
        match word {
            "limit" => curve.limit = words.number(word)?,
            "min" => curve.min = words.number(word)?,
            "max" => curve.max = words.number(word)?,
            "avpkt" => curve.average_packet = words.size(word)?,
            "burst" => curve.burst = words.number(word)?,
            "probability" => curve.probability = words.real(word)?,
            "bandwidth" => bandwidth = words.rate32(word)?.into(),
            "ecn" => flags |= ECN,
            other => return Err(words.unknown(other)),
        }
    }
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
