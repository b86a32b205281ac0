//! `dualpi2`: the coupled queues of L4S (RFC 9332; Linux 6.17).

use crate::error::Result;
use crate::tc::found::Found;
use crate::tc::kinds::Encoder;
use crate::tc::units;
use crate::tc::words::Words;
use crate::tc::Options;

const TAKES: &[&str] = &[
    "limit",
    "memlimit",
    "coupling_factor",
    "step_thresh",
    "min_qlen_step",
    "drop_on_overload",
    "overflow",
    "drop_enqueue",
    "drop_dequeue",
    "classic_protection",
    "max_rtt",
    "typical_rtt",
    "target",
    "tupdate",
    "alpha",
    "beta",
    "split_gso",
    "no_split_gso",
    "l4s_ect",
    "any_ect",
];

const LIMIT: u16 = 1;
const MEMORY_LIMIT: u16 = 2;
const TARGET: u16 = 3;
const TUPDATE: u16 = 4;
const ALPHA: u16 = 5;
const BETA: u16 = 6;
const STEP_PACKETS: u16 = 7;
const STEP_MICROS: u16 = 8;
const STEP_FROM: u16 = 9;
const COUPLING: u16 = 10;
const DROP_OVERLOAD: u16 = 11;
const DROP_EARLY: u16 = 12;
const PROTECTION: u16 = 13;
const ECN_MASK: u16 = 14;
const SPLIT_GSO: u16 = 15;
const ORDER: [u16; 15] = [
    LIMIT,
    MEMORY_LIMIT,
    TUPDATE,
    TARGET,
    ALPHA,
    BETA,
    ECN_MASK,
    DROP_OVERLOAD,
    COUPLING,
    SPLIT_GSO,
    STEP_PACKETS,
    STEP_MICROS,
    STEP_FROM,
    DROP_EARLY,
    PROTECTION,
];

/// Words that set one attribute of a byte.
const SWITCHES: [(&str, u16, u8); 8] = [
    ("overflow", DROP_OVERLOAD, 0),
    ("drop_on_overload", DROP_OVERLOAD, 1),
    ("drop_dequeue", DROP_EARLY, 0),
    ("drop_enqueue", DROP_EARLY, 1),
    ("no_split_gso", SPLIT_GSO, 0),
    ("split_gso", SPLIT_GSO, 1),
    ("l4s_ect", ECN_MASK, 1),
    ("any_ect", ECN_MASK, 3),
];

/// Gains in Hz are sent in units of 1/256.
const GAIN_SCALE: f64 = 256.0;
const MOST_GAIN: f64 = 16_777_215.0;
/// A round trip's usual maximum beside the typical one.
const LONGEST_OF_TYPICAL: u32 = 6;
const PACKETS: [&str; 5] = ["packets", "packet", "pkts", "pkt", "p"];

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

fn encode(words: &mut Words) -> Result<Options> {
    let mut found = Found::default();
    let (mut longest, mut typical) = (0, 0);
    while let Some(word) = words.take() {
        if let Some((_, kind, value)) = SWITCHES.iter().find(|(name, ..)| *name == word) {
            found.put(*kind, &[*value]);
            continue;
        }
        match word {
            "limit" => found.unless_zero(LIMIT, words.number(word)?),
            "memlimit" => found.unless_zero(MEMORY_LIMIT, words.number(word)?),
            "target" => found.unless_zero(TARGET, words.micros(word)?),
            "tupdate" => found.unless_zero(TUPDATE, words.micros(word)?),
            "alpha" => found.u32(ALPHA, gain(words, word)?),
            "beta" => found.u32(BETA, gain(words, word)?),
            "coupling_factor" => found.put(COUPLING, &[words.number(word)?]),
            "step_thresh" => step(words, &mut found)?,
            "min_qlen_step" => found.u32(STEP_FROM, words.number(word)?),
            "classic_protection" => found.put(PROTECTION, &[whole_percent(words, word)?]),
            "max_rtt" => longest = words.micros(word)?,
            "typical_rtt" => typical = words.micros(word)?,
            other => return Err(words.unknown(other)),
        }
    }
    if longest > 0 || typical > 0 {
        by_round_trips(words, &mut found, longest, typical)?;
    }
    Ok(Some(found.in_order(&ORDER)))
}

/// Kept in 32 bits on its way, as in tc.
fn gain(words: &mut Words, key: &str) -> Result<u32> {
    let value = words.real(key)?;
    if !(0.0..=MOST_GAIN).contains(&value) {
        return Err(words.fault(format_args!("'{key}' takes a number from 0 to {MOST_GAIN}")));
    }
    Ok((value as f32 * GAIN_SCALE as f32) as u32)
}

/// From where the queue of low latency is marked: a time, or packets (`5p`).
fn step(words: &mut Words, found: &mut Found) -> Result<()> {
    let word = words.value("step_thresh")?;
    let packets = || PACKETS.iter().find_map(|unit| word.strip_suffix(unit)?.parse().ok());
    let (kind, value) = match (units::micros(word), packets()) {
        (Some(micros), _) => (STEP_MICROS, micros),
        (None, Some(packets)) => (STEP_PACKETS, packets),
        (None, None) => {
            return Err(
                words.fault(format_args!("'step_thresh {word}': give a time like 1ms or packets like 5p"))
            )
        }
    };
    found.remove(&[STEP_MICROS, STEP_PACKETS]);
    found.unless_zero(kind, value);
    Ok(())
}

fn whole_percent(words: &mut Words, key: &str) -> Result<u8> {
    let word = words.value(key)?;
    let share = units::percent(word);
    let share =
        share.ok_or_else(|| words.fault(format_args!("'{key} {word}': not a percentage up to 100%")))?;
    Ok((share * 100.0).round_ties_even() as u8)
}

/// Target, interval and gains from the round trips that the queue is to serve (RFC 9332, appendix A.1).
fn by_round_trips(words: &Words, found: &mut Found, longest: u32, typical: u32) -> Result<()> {
    let typical = if typical == 0 { (longest / LONGEST_OF_TYPICAL).max(1) } else { typical };
    let longest = if longest == 0 { typical.saturating_mul(LONGEST_OF_TYPICAL) } else { longest };
    if typical > longest {
        return Err(words.fault("'typical_rtt' must not be above 'max_rtt'"));
    }
    let most = f64::from(longest);
    let interval = (f64::from(typical).min(most / 3.0) as u32).max(1);
    // Factors of 32 bits, as in tc.
    let alpha = f64::from(interval) / most / most * 1e6 * f64::from(0.1_f32);
    let beta = f64::from(0.3_f32) / most * 1e6;
    if beta > MOST_GAIN {
        return Err(words.fault("'max_rtt' is too short"));
    }
    if alpha < 1.0 / GAIN_SCALE || beta < 1.0 / GAIN_SCALE {
        return Err(words.fault("'max_rtt' is too long: alpha or beta would be 0"));
    }
    found.u32(TARGET, typical);
    found.u32(TUPDATE, interval);
    found.u32(ALPHA, (alpha * GAIN_SCALE) as u32);
    found.u32(BETA, (beta * GAIN_SCALE) as u32);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_table_is_listed() {
        assert!(SWITCHES.iter().all(|(name, ..)| TAKES.contains(name)));
    }
}
