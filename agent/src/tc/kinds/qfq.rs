//! `qfq`: quick fair queueing, whose classes have weights (`tc-qfq(8)`).

use crate::error::Result;
use crate::kernel::netlink::Attributes;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::Options;

const CLASS_TAKES: &[&str] = &["weight", "maxpkt"];

const WEIGHT: u16 = 1;
const LONGEST: u16 = 2;

pub const CLASS: Encoder = Encoder { takes: CLASS_TAKES, encode: class };

fn class(words: &mut Words) -> Result<Options> {
    let mut options = Attributes::new();
    while let Some(word) = words.take() {
        let kind = match word {
            "weight" => WEIGHT,
            "maxpkt" => LONGEST,
            other => return Err(words.unknown(other)),
        };
        options.u32(kind, words.number(word)?);
    }
    Ok(Some(options))
}
