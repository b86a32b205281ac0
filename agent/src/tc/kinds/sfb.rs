//! `sfb`: stochastic fair BLUE (`tc-sfb(8)`; Feng, Kandlur, Saha, Shin, 2001).

use crate::error::Result;
use crate::kernel::netlink::Attributes;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::Options;

const TAKES: &[&str] =
    &["rehash", "db", "limit", "max", "target", "increment", "decrement", "penalty_rate", "penalty_burst"];

const TCA_SFB_PARMS: u16 = 1;
/// Probabilities have 16 bits.
const CERTAIN: u32 = 0xffff;
const DEFAULT_REHASH_MS: u32 = 600_000;
const DEFAULT_WARM_UP_MS: u32 = 60_000;
const DEFAULT_MAX: u32 = 25;

/// A `struct tc_sfb_qopt` without its limit and penalties, which follow.
struct Bins {
    rehash: u32,
    warm_up: u32,
    max: u32,
    target: u32,
    increment: u32,
    decrement: u32,
}

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

fn encode(words: &mut Words) -> Result<Options> {
    let mut bins = Bins {
        rehash: DEFAULT_REHASH_MS,
        warm_up: DEFAULT_WARM_UP_MS,
        max: 0,
        target: 0,
        increment: (CERTAIN + 1000) / 2000,
        decrement: (CERTAIN + 10_000) / 20_000,
    };
    let (mut limit, mut penalty_rate, mut penalty_burst) = (0, 10, 20);
    while let Some(word) = words.take() {
        match word {
            "rehash" => bins.rehash = words.number(word)?,
            "db" => bins.warm_up = words.number(word)?,
            "max" => bins.max = words.number(word)?,
            "target" => bins.target = words.number(word)?,
            "increment" => bins.increment = probability(words, word)?,
            "decrement" => bins.decrement = probability(words, word)?,
            "limit" => limit = words.number(word)?,
            "penalty_rate" => penalty_rate = words.number(word)?,
            "penalty_burst" => penalty_burst = words.number(word)?,
            other => return Err(words.unknown(other)),
        }
    }
    bins.complete();
    let Bins { rehash, warm_up, max, target, increment, decrement } = bins;
    let fields = [rehash, warm_up, max, target, increment, decrement, limit, penalty_rate, penalty_burst];
    let mut options = Attributes::new();
    options.put(TCA_SFB_PARMS, &fields.map(u32::to_ne_bytes).concat());
    Ok(Some(options))
}

impl Bins {
    /// Of the longest queue of a bin and the one aimed at, each follows from the other: five to four.
    fn complete(&mut self) {
        if self.max == 0 {
            self.max = match self.target {
                0 => DEFAULT_MAX,
                target => target.wrapping_mul(5).wrapping_add(1) / 4,
            };
        }
        if self.target == 0 {
            self.target = self.max.wrapping_mul(4).wrapping_add(3) / 5;
        }
    }
}

fn probability(words: &mut Words, key: &str) -> Result<u32> {
    let share = words.real(key)?;
    if !(0.0..=1.0).contains(&share) {
        return Err(words.fault(format_args!("'{key}' takes a probability between 0 and 1")));
    }
    Ok((share * f64::from(CERTAIN) + 0.5) as u32)
}
