//! `fq`: fair queueing with pacing (`tc-fq(8)`).

use crate::error::Result;
use crate::tc::found::Found;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::Options;

const TAKES: &[&str] = &[
    "limit",
    "flow_limit",
    "buckets",
    "quantum",
    "initial_quantum",
    "maxrate",
    "defrate",
    "low_rate_threshold",
    "refill_delay",
    "orphan_mask",
    "ce_threshold",
    "timer_slack",
    "horizon",
    "horizon_drop",
    "horizon_cap",
    "pacing",
    "nopacing",
    "bands",
    "priomap",
    "weights",
    "offload_horizon",
];

/// `TCA_FQ_*`, in the order in which tc sends them.
const ORDER: [u16; 18] = [8, 1, 2, 3, 4, 5, 7, 11, 6, 9, 10, 12, 13, 14, 15, 16, 17, 18];
const PRIORITIES: usize = 16;
const BANDS: usize = 3;

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

fn encode(words: &mut Words) -> Result<Options> {
    let mut found = Found::default();
    while let Some(word) = words.take() {
        let (kind, value) = value(words, word)?;
        found.put(kind, &value);
    }
    Ok(Some(found.in_order(&ORDER)))
}

/// The attribute that a word stands for.
fn value(words: &mut Words, word: &str) -> Result<(u16, Vec<u8>)> {
    let (kind, value) = match word {
        "limit" => (1, words.number::<u32>(word)?),
        "flow_limit" => (2, words.number(word)?),
        "quantum" => (3, words.number(word)?),
        "initial_quantum" => (4, words.number(word)?),
        "pacing" => (5, 1),
        "nopacing" => (5, 0),
        "defrate" => (6, words.rate32(word)?),
        "maxrate" => (7, words.rate32(word)?),
        "buckets" => (8, words.number::<u32>(word)?.max(1).ilog2()),
        "refill_delay" => (9, words.micros(word)?),
        "orphan_mask" => (10, words.number(word)?),
        "low_rate_threshold" => (11, words.rate32(word)?),
        "ce_threshold" => (12, words.micros(word)?),
        "timer_slack" => (13, words.nanos(word)? as u32),
        "horizon" => (14, words.micros(word)?),
        "horizon_drop" => return Ok((15, vec![1])),
        "horizon_cap" => return Ok((15, vec![0])),
        "bands" => return Ok((16, priomap(words)?)),
        "weights" => return Ok((17, weights(words)?)),
        "offload_horizon" => (18, words.micros(word)?),
        other => return Err(words.unknown(other)),
    };
    Ok((kind, value.to_ne_bytes().to_vec()))
}

/// `bands 3 priomap P0 … P15`: a `struct tc_prio_qopt`.
fn priomap(words: &mut Words) -> Result<Vec<u8>> {
    let bands: u32 = words.number("bands")?;
    if bands as usize != BANDS || !words.skip("priomap") {
        return Err(words.fault("'bands' must be 3 and be followed by 'priomap' and 16 bands"));
    }
    let mut bytes = bands.to_ne_bytes().to_vec();
    for _ in 0..PRIORITIES {
        bytes.push(words.number("priomap")?);
    }
    Ok(bytes)
}

fn weights(words: &mut Words) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for _ in 0..BANDS {
        bytes.extend(words.number::<u32>("weights")?.to_ne_bytes());
    }
    Ok(bytes)
}
