//! `pie` and `fq_pie` (RFC 8033; `tc-pie(8)`, `tc-fq_pie(8)`).

use crate::error::Result;
use crate::tc::found::Found;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::Options;

const TAKES: &[&str] = &[
    "limit",
    "target",
    "tupdate",
    "alpha",
    "beta",
    "ecn",
    "noecn",
    "bytemode",
    "nobytemode",
    "dq_rate_estimator",
    "no_dq_rate_estimator",
];
const FQ_TAKES: &[&str] = &[
    "limit",
    "flows",
    "target",
    "tupdate",
    "alpha",
    "beta",
    "quantum",
    "memory_limit",
    "ecn_prob",
    "ecn",
    "noecn",
    "bytemode",
    "nobytemode",
    "dq_rate_estimator",
    "no_dq_rate_estimator",
];

/// The attribute types of what both have.
struct Types {
    limit: u16,
    target: u16,
    tupdate: u16,
    alpha: u16,
    beta: u16,
    ecn: u16,
    bytemode: u16,
    rate_estimator: u16,
}

const TYPES: Types =
    Types { target: 1, limit: 2, tupdate: 3, alpha: 4, beta: 5, ecn: 6, bytemode: 7, rate_estimator: 8 };
const FQ_TYPES: Types =
    Types { limit: 1, target: 3, tupdate: 4, alpha: 5, beta: 6, ecn: 10, bytemode: 11, rate_estimator: 12 };
const FQ_FLOWS: u16 = 2;
const FQ_QUANTUM: u16 = 7;
const FQ_MEMORY_LIMIT: u16 = 8;
const FQ_ECN_PROB: u16 = 9;

/// The words that both have; says whether this was one.
fn common(words: &mut Words, word: &str, types: &Types, found: &mut Found) -> Result<bool> {
    match word {
        "limit" => found.unless_zero(types.limit, words.number(word)?),
        "target" => found.unless_zero(types.target, words.micros(word)?),
        "tupdate" => found.unless_zero(types.tupdate, words.micros(word)?),
        "alpha" => found.unless_zero(types.alpha, words.number_up_to(word, 32)?),
        "beta" => found.unless_zero(types.beta, words.number_up_to(word, 32)?),
        "ecn" => found.u32(types.ecn, 1),
        "noecn" => found.u32(types.ecn, 0),
        "bytemode" => found.u32(types.bytemode, 1),
        "nobytemode" => found.u32(types.bytemode, 0),
        "dq_rate_estimator" => found.u32(types.rate_estimator, 1),
        "no_dq_rate_estimator" => found.u32(types.rate_estimator, 0),
        _ => return Ok(false),
    }
    Ok(true)
}

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

fn encode(words: &mut Words) -> Result<Options> {
    let mut found = Found::default();
    while let Some(word) = words.take() {
        if !common(words, word, &TYPES, &mut found)? {
            return Err(words.unknown(word));
        }
    }
    let Types { limit, target, tupdate, alpha, beta, ecn, bytemode, rate_estimator } = TYPES;
    Ok(Some(found.in_order(&[limit, tupdate, target, alpha, beta, ecn, bytemode, rate_estimator])))
}

pub const FQ_PIE: Encoder = Encoder { takes: FQ_TAKES, encode: encode_fq };

fn encode_fq(words: &mut Words) -> Result<Options> {
    let mut found = Found::default();
    while let Some(word) = words.take() {
        match word {
            _ if common(words, word, &FQ_TYPES, &mut found)? => {}
            "flows" => found.unless_zero(FQ_FLOWS, words.number(word)?),
            "quantum" => found.unless_zero(FQ_QUANTUM, words.size(word)?),
            "memory_limit" => found.unless_zero(FQ_MEMORY_LIMIT, words.size(word)?),
            "ecn_prob" => found.unless_zero(FQ_ECN_PROB, words.number_up_to(word, 99)?),
            other => return Err(words.unknown(other)),
        }
    }
    let ascending: Vec<u16> = (FQ_TYPES.limit..=FQ_TYPES.rate_estimator).collect();
    Ok(Some(found.in_order(&ascending)))
}
