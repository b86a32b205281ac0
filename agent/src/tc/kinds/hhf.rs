//! `hhf`: the heavy-hitter filter (`tc-hhf(8)`).

use crate::error::Result;
use crate::tc::found::Found;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::Options;

/// In the order of the attributes, which are numbered from 1.
const TAKES: &[&str] =
    &["limit", "quantum", "hh_limit", "reset_timeout", "admit_bytes", "evict_timeout", "non_hh_weight"];

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

fn encode(words: &mut Words) -> Result<Options> {
    let mut found = Found::default();
    while let Some(word) = words.take() {
        let Some(kind) = (1..).zip(TAKES).find_map(|(kind, name)| (*name == word).then_some(kind)) else {
            return Err(words.unknown(word));
        };
        let is_time = word.ends_with("_timeout");
        found.unless_zero(kind, if is_time { words.micros(word)? } else { words.number(word)? });
    }
    Ok(Some(found.in_order(&[1, 2, 3, 4, 5, 6, 7])))
}
