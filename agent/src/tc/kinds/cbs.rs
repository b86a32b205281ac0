//! `cbs`: the credit-based shaper of IEEE 802.1Q, section 8.6.8.2 (`tc-cbs(8)`).

use crate::error::Result;
use crate::kernel::netlink::Attributes;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::Options;

const TAKES: &[&str] = &["idleslope", "sendslope", "hicredit", "locredit", "offload"];

const TCA_CBS_PARMS: u16 = 1;

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

/// A `struct tc_cbs_qopt`: slopes in kbit/s, credits in bytes.
fn encode(words: &mut Words) -> Result<Options> {
    let (mut high, mut low, mut idle, mut send) = (0, 0, 0, 0);
    let mut offload = 0_u8;
    while let Some(word) = words.take() {
        match word {
            "hicredit" => high = words.integer(word)?,
            "locredit" => low = words.integer(word)?,
            "idleslope" => idle = words.integer(word)?,
            "sendslope" => send = words.integer(word)?,
            "offload" => offload = words.number(word)?,
            other => return Err(words.unknown(other)),
        }
    }
    let mut bytes = vec![offload, 0, 0, 0];
    bytes.extend([high, low, idle, send].map(i32::to_ne_bytes).concat());
    let mut options = Attributes::new();
    options.put(TCA_CBS_PARMS, &bytes);
    Ok(Some(options))
}
