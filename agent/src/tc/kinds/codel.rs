//! `codel` and `fq_codel` (RFC 8289, RFC 8290; `tc-codel(8)`, `tc-fq_codel(8)`).

use crate::error::Result;
use crate::tc::found::Found;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::Options;

const TAKES: &[&str] = &["limit", "target", "interval", "ecn", "noecn", "ce_threshold"];
const FQ_TAKES: &[&str] = &[
    "limit",
    "flows",
    "target",
    "interval",
    "quantum",
    "ecn",
    "noecn",
    "ce_threshold",
    "ce_threshold_selector",
    "memory_limit",
    "drop_batch",
];

const TARGET: u16 = 1;
const LIMIT: u16 = 2;
const INTERVAL: u16 = 3;
const ECN: u16 = 4;
/// From here on the two differ.
const CE_THRESHOLD: u16 = 5;
const FQ_FLOWS: u16 = 5;
const FQ_QUANTUM: u16 = 6;
const FQ_CE_THRESHOLD: u16 = 7;
const FQ_DROP_BATCH: u16 = 8;
const FQ_MEMORY_LIMIT: u16 = 9;
const FQ_SELECTOR: u16 = 10;
const FQ_MASK: u16 = 11;

/// The words that both have; says whether this was one.
fn common(words: &mut Words, word: &str, found: &mut Found) -> Result<bool> {
    match word {
        "limit" => found.unless_zero(LIMIT, words.number(word)?),
        "target" => found.unless_zero(TARGET, words.micros(word)?),
        "interval" => found.unless_zero(INTERVAL, words.micros(word)?),
        "ecn" => found.u32(ECN, 1),
        "noecn" => found.u32(ECN, 0),
        _ => return Ok(false),
    }
    Ok(true)
}

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

fn encode(words: &mut Words) -> Result<Options> {
    let mut found = Found::default();
    while let Some(word) = words.take() {
        match word {
            _ if common(words, word, &mut found)? => {}
            "ce_threshold" => found.u32(CE_THRESHOLD, words.micros(word)?),
            other => return Err(words.unknown(other)),
        }
    }
    Ok(Some(found.in_order(&[LIMIT, INTERVAL, TARGET, ECN, CE_THRESHOLD])))
}

pub const FQ_CODEL: Encoder = Encoder { takes: FQ_TAKES, encode: encode_fq };

fn encode_fq(words: &mut Words) -> Result<Options> {
    let mut found = Found::default();
    while let Some(word) = words.take() {
        match word {
            _ if common(words, word, &mut found)? => {}
            "flows" => found.unless_zero(FQ_FLOWS, words.number(word)?),
            "quantum" => found.unless_zero(FQ_QUANTUM, words.number(word)?),
            "ce_threshold" => found.u32(FQ_CE_THRESHOLD, words.micros(word)?),
            "ce_threshold_selector" => selector(words, &mut found)?,
            "memory_limit" => found.u32(FQ_MEMORY_LIMIT, words.size(word)?),
            "drop_batch" => found.unless_zero(FQ_DROP_BATCH, words.number(word)?),
            other => return Err(words.unknown(other)),
        }
    }
    let order = [
        LIMIT,
        FQ_FLOWS,
        FQ_QUANTUM,
        INTERVAL,
        TARGET,
        ECN,
        FQ_CE_THRESHOLD,
        FQ_MASK,
        FQ_SELECTOR,
        FQ_MEMORY_LIMIT,
        FQ_DROP_BATCH,
    ];
    Ok(Some(found.in_order(&order)))
}

/// `VALUE/MASK`: which DSCP/ECN fields the threshold is for.
fn selector(words: &mut Words, found: &mut Found) -> Result<()> {
    let (value, mask) = words.bytes_with_mask("ce_threshold_selector")?;
    found.put(FQ_SELECTOR, &[value]);
    found.put(FQ_MASK, &[mask]);
    Ok(())
}
