//! `etf`: earliest time first, for packets whose sender says when they leave (`tc-etf(8)`), and the clocks it shares with `taprio`.

use crate::error::Result;
use crate::kernel::netlink::Attributes;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::Options;

const TAKES: &[&str] = &["clockid", "delta", "offload", "deadline_mode", "skip_sock_check"];

const TCA_ETF_PARMS: u16 = 1;
const DEADLINE: u32 = 1;
const OFFLOAD: u32 = 2;
const ANY_SOCKET: u32 = 4;
const NO_CLOCK: i32 = -1;

const CLOCKS: [(&str, i32); 4] = [
    ("BOOTTIME", libc::CLOCK_BOOTTIME),
    ("MONOTONIC", libc::CLOCK_MONOTONIC),
    ("REALTIME", libc::CLOCK_REALTIME),
    ("TAI", libc::CLOCK_TAI),
];

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

/// A `struct tc_etf_qopt`: how long before a packet's time it is handed on, in nanoseconds, by which clock.
fn encode(words: &mut Words) -> Result<Options> {
    let (mut delta, mut clock, mut flags) = (0, NO_CLOCK, 0);
    while let Some(word) = words.take() {
        match word {
            "delta" => delta = words.integer(word)?,
            "clockid" => clock = clock_id(words)?,
            "offload" => flags |= OFFLOAD,
            "deadline_mode" => flags |= DEADLINE,
            "skip_sock_check" => flags |= ANY_SOCKET,
            other => return Err(words.unknown(other)),
        }
    }
    let mut bytes = [delta, clock].map(i32::to_ne_bytes).concat();
    bytes.extend(flags.to_ne_bytes());
    let mut options = Attributes::new();
    options.put(TCA_ETF_PARMS, &bytes);
    Ok(Some(options))
}

/// `CLOCK_TAI`, or `tai` for the same.
pub fn clock_id(words: &mut Words) -> Result<i32> {
    let word = words.value("clockid")?;
    let name = word.to_ascii_uppercase();
    let name = name.strip_prefix("CLOCK_").unwrap_or(&name);
    CLOCKS.iter().find(|(known, _)| *known == name).map(|(_, id)| *id).ok_or_else(|| {
        let known = CLOCKS.map(|(name, _)| format!("CLOCK_{name}")).join(", ");
        words.fault(format_args!("'clockid {word}': the clocks are {known}"))
    })
}
