//! `gred`: several `red` queues in one, chosen by the packet's `tc_index` (`tc-gred(8)`).
//!
//! It is set up first (`setup vqs 4 default 0`), and then each queue is described (`vq 1 limit …`), which is a change of
//! what stands there already.

use super::red::{Spoken, ECN, HARDDROP};
use crate::error::Result;
use crate::kernel::netlink::Attributes;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::Options;

const TAKES: &[&str] = &[
    "setup",
    "vqs",
    "DPs",
    "default",
    "grio",
    "limit",
    "vq",
    "DP",
    "prio",
    "min",
    "max",
    "avpkt",
    "burst",
    "probability",
    "bandwidth",
    "ecn",
    "harddrop",
];

const PARMS: u16 = 1;
const STAB: u16 = 2;
const SETUP: u16 = 3;
const MAX_P: u16 = 4;
const LIMIT: u16 = 5;
const QUEUES: u16 = 6;
const QUEUE: u16 = 1;
const QUEUE_NUMBER: u16 = 2;
const QUEUE_FLAGS: u16 = 12;
const MOST_QUEUES: u32 = 16;

/// Whether a line describes a queue of a `gred` that stands there already.
#[must_use]
pub fn is_change(words: &Words) -> bool {
    words.peek().is_some_and(|first| first != "setup")
}

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

fn encode(words: &mut Words) -> Result<Options> {
    if words.skip("setup") {
        return setup(words);
    }
    queue(words)
}

/// A `struct tc_gred_sopt`, and the limit of all queues together.
fn setup(words: &mut Words) -> Result<Options> {
    let (mut queues, mut default, mut limit) = (0, None, 0);
    let (mut by_priority, mut flags) = (0, 0);
    while let Some(word) = words.take() {
        match word {
            "vqs" | "DPs" => queues = words.number_up_to(word, MOST_QUEUES)?,
            "default" => default = Some(words.number(word)?),
            "grio" => by_priority = 1,
            "limit" => limit = words.size(word)?,
            "ecn" => flags |= ECN,
            "harddrop" => flags |= HARDDROP,
            other => return Err(words.unknown(other)),
        }
    }
    let default: u32 = default.filter(|default| *default < queues).ok_or_else(|| {
        words.fault(
            "'setup' needs 'vqs', how many queues there are, and 'default', one of them, counted from 0",
        )
    })?;
    let mut bytes = [queues, default].map(u32::to_ne_bytes).concat();
    bytes.extend([by_priority, flags, 0, 0]);
    let mut options = Attributes::new();
    options.put(SETUP, &bytes);
    if limit > 0 {
        options.u32(LIMIT, limit);
    }
    Ok(Some(options))
}

/// A `struct tc_gred_qopt` with its table, and the flags of this queue.
fn queue(words: &mut Words) -> Result<Options> {
    let mut said = Spoken::NOTHING;
    let (mut number, mut priority) = (None, 0);
    while let Some(word) = words.take() {
        match word {
            "vq" | "DP" => number = Some(words.number_up_to(word, MOST_QUEUES - 1)?),
            "prio" => priority = words.number(word)?,
            other => said.word(other, words)?,
        }
    }
    let needed = [said.curve.limit, said.curve.min, said.curve.max, said.curve.average_packet];
    let number = number.filter(|_| !needed.contains(&0)).ok_or_else(|| {
        words.fault(
            "first comes 'setup vqs N default N'; a queue needs 'vq', 'limit', 'min', 'max' and 'avpkt'",
        )
    })?;
    let (curve, shape) = said.complete(words)?;
    let mut bytes = [curve.limit, curve.min, curve.max, number].map(u32::to_ne_bytes).concat();
    // Counters, which only the kernel fills, on both sides.
    bytes.extend([0; 24]);
    bytes.extend([shape.weight, shape.slope, shape.cell, priority]);
    bytes.extend([0; 8]);
    let mut options = Attributes::new();
    options.put(PARMS, &bytes).put(STAB, &shape.idle).u32(MAX_P, curve.probability_fixed());
    options.nest(QUEUES, |queues| {
        queues.nest(QUEUE, |queue| {
            queue.u32(QUEUE_NUMBER, number).u32(QUEUE_FLAGS, said.flags.into());
        });
    });
    Ok(Some(options))
}
