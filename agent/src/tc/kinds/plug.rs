//! `plug`: a queue that holds all packets until it is told to let them go.

use crate::error::Result;
use crate::kernel::netlink::Attributes;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::Options;

const TAKES: &[&str] = &["limit", "block", "release", "release_indefinite"];

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

/// A `struct tc_plug_qopt`, or nothing for the device's own limit.
fn encode(words: &mut Words) -> Result<Options> {
    const LIMIT: u32 = 3;
    let (mut action, mut limit) = (None, 0);
    while let Some(word) = words.take() {
        action = Some(match word {
            "block" => 0,
            "release" => 1,
            "release_indefinite" => 2,
            "limit" => {
                limit = words.size(word)?;
                LIMIT
            }
            other => return Err(words.unknown(other)),
        });
    }
    Ok(action.map(|action| {
        let mut options = Attributes::new();
        options.raw(&[action, limit].map(u32::to_ne_bytes).concat());
        options
    }))
}
