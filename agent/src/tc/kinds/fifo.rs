//! `pfifo`, `bfifo`, `pfifo_head_drop`: a `struct tc_fifo_qopt`, or nothing for the device's own limit.

use crate::error::Result;
use crate::kernel::netlink::Attributes;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::Options;

const TAKES: &[&str] = &["limit"];

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

fn encode(words: &mut Words) -> Result<Options> {
    let mut limit = None;
    while let Some(word) = words.take() {
        match word {
            "limit" => limit = Some(words.size("limit")?),
            other => return Err(words.unknown(other)),
        }
    }
    Ok(limit.map(|limit| {
        let mut options = Attributes::new();
        options.raw(&limit.to_ne_bytes());
        options
    }))
}
