//! `hfsc` and its classes: hierarchical fair service curves (`tc-hfsc(7)`; Stoica, Zhang, Ng, 1997).

use crate::error::Result;
use crate::kernel::netlink::Attributes;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::Options;

const TAKES: &[&str] = &["default"];
const CLASS_TAKES: &[&str] = &["rt", "ls", "sc", "ul", "m1", "d", "m2", "umax", "dmax", "rate"];

const REAL_TIME: u16 = 1;
const LINK_SHARE: u16 = 2;
const UPPER_LIMIT: u16 = 3;
const MICROSECONDS: u32 = 1_000_000;

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

/// A `struct tc_hfsc_qopt`: the minor number of the class of all that no filter sends elsewhere.
fn encode(words: &mut Words) -> Result<Options> {
    let mut default = 0_u16;
    while let Some(word) = words.take() {
        match word {
            "default" => {
                let class = words.hexadecimal(word)?;
                default = u16::try_from(class)
                    .map_err(|_| words.fault("'default' takes a class up to ffff, in hexadecimal"))?;
            }
            other => return Err(words.unknown(other)),
        }
    }
    let mut options = Attributes::new();
    options.exactly(&default.to_ne_bytes());
    Ok(Some(options))
}

/// A `struct tc_service_curve`: slopes of both parts in bytes a second, and where they meet, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Curve {
    first: u32,
    until: u32,
    second: u32,
}

pub const CLASS: Encoder = Encoder { takes: CLASS_TAKES, encode: class };

fn class(words: &mut Words) -> Result<Options> {
    let (mut real_time, mut link_share, mut upper_limit) = (None, None, None);
    while let Some(word) = words.take() {
        match word {
            "rt" => real_time = Some(curve(words, word)?),
            "ls" => link_share = Some(curve(words, word)?),
            "ul" => upper_limit = Some(curve(words, word)?),
            "sc" => {
                real_time = Some(curve(words, word)?);
                link_share = real_time;
            }
            other => return Err(words.unknown(other)),
        }
    }
    if real_time.is_none() && link_share.is_none() && upper_limit.is_none() {
        return Err(words.fault("a class needs 'sc', or 'rt', or 'ls'"));
    }
    if upper_limit.is_some() && link_share.is_none() {
        return Err(words.fault("'ul' needs 'ls' or 'sc': it limits what a class takes of the link's share"));
    }
    let mut options = Attributes::new();
    for (kind, curve) in [(REAL_TIME, real_time), (LINK_SHARE, link_share), (UPPER_LIMIT, upper_limit)] {
        if let Some(Curve { first, until, second }) = curve {
            options.put(kind, &[first, until, second].map(u32::to_ne_bytes).concat());
        }
    }
    Ok(Some(options))
}

/// `[[m1 RATE] d TIME] m2 RATE`, or `[[umax SIZE] dmax TIME] rate RATE`.
fn curve(words: &mut Words, key: &str) -> Result<Curve> {
    let by_work = matches!(words.peek(), Some("umax" | "dmax" | "rate"));
    let curve = if by_work { by_delay(words, key)? } else { by_slopes(words, key)? };
    if curve.first == 0 && curve.second == 0 {
        return Err(words.fault(format_args!("'{key}' has no slope above 0")));
    }
    Ok(curve)
}

fn by_slopes(words: &mut Words, key: &str) -> Result<Curve> {
    let first = if words.skip("m1") { words.rate32("m1")? } else { 0 };
    let until = if words.skip("d") { words.micros("d")? } else { 0 };
    if !words.skip("m2") {
        return Err(words.fault(format_args!(
            "'{key}' takes '[[m1 RATE] d TIME] m2 RATE' or '[[umax SIZE] dmax TIME] rate RATE'"
        )));
    }
    Ok(Curve { first, until, second: words.rate32("m2")? })
}

/// A piece of work of `umax` bytes that is done within `dmax`: a steeper first part, or a flat one before it begins.
fn by_delay(words: &mut Words, key: &str) -> Result<Curve> {
    let most = if words.skip("umax") { words.size("umax")? } else { 0 };
    let within = if words.skip("dmax") { words.micros("dmax")? } else { 0 };
    if !words.skip("rate") {
        return Err(words.fault(format_args!("'{key}': after 'umax' and 'dmax' comes 'rate'")));
    }
    let second = words.rate32("rate")?;
    if most != 0 && within == 0 {
        return Err(words.fault("'umax' needs a 'dmax' above 0"));
    }
    let steep = if within == 0 { 0.0 } else { (f64::from(most) * 1e6 / f64::from(within)).ceil() };
    if steep > f64::from(second) {
        if steep > f64::from(u32::MAX) {
            return Err(words.fault("'umax' in 'dmax' is a rate of more than 34 Gbit/s"));
        }
        return Ok(Curve { first: steep as u32, until: within, second });
    }
    // In 32 bits, as tc has it: work of more than 4294 bytes runs over.
    let taken = most.wrapping_mul(MICROSECONDS).checked_div(second);
    let taken = taken.ok_or_else(|| words.fault("'rate' must be above 0"))?;
    Ok(Curve { first: 0, until: within.wrapping_sub(taken), second })
}
