//! A wire by hand, in words, and the words that a line takes as well.

use super::{attach, element};
use crate::error::{Error, Result};
use crate::kernel::netlink::Socket;
use crate::plan::{Serial, Wire};
use crate::tc::words::Words;
use crate::tc::{self, Device};

/// What releases the packets when a wire is made by hand.
const RELEASE: &str =
    "qdisc root handle 1: fq limit 1000000 flow_limit 1000000 nopacing timer_slack 1ns horizon 1000s";
const TAKES: &[&str] = &["delay", "jitter", "loss", "drop", "seed", "reorder", "rate", "ahead"];

/// `wire DEV [delay TIME] [jitter TIME] [loss P] [drop N,N,…] [seed N] [reorder] [rate RATE [ahead SIZE]]` by hand, in the namespace of this
/// process. A root `fq` that is there already stays as it is. The wire stays until `tc qdisc del dev DEV clsact` and `tc qdisc del dev DEV root`.
pub fn command(words: &[&str]) -> Result<()> {
    let [name, rest @ ..] = words else {
        return Err(Error::new("usage", format!("wire DEV [{}]", TAKES.join(" | "))));
    };
    let mut words = Words::new("wire", TAKES, rest.to_vec());
    let mut wire = Wire { seed: 1, ..Wire::default() };
    let mut serial = Serial { rate_bps: 0, ahead_bytes: 0, hold_ns: 0 };
    while let Some(word) = words.take() {
        match word {
            "rate" => serial.rate_bps = 8 * words.rate(word)?,
            "ahead" => serial.ahead_bytes = words.size(word)?.into(),
            other => self::word(&mut wire, other, &mut words)?,
        }
    }
    wire.serial = Some(serial).filter(|serial| serial.rate_bps > 0);
    let mut socket = Socket::route()?;
    let device = Device { name, ifindex: socket.ifindex(name)? };
    if !releases(&mut socket, &device)? {
        let queue = tc::parse(RELEASE, &device)?;
        tc::apply(&[queue], &mut socket, |work| work())?;
    }
    attach(&wire, element(&wire)?, &device, &mut socket).map(drop)
}

/// Takes one of the words that wires and lines share, and its value.
pub fn word(wire: &mut Wire, word: &str, words: &mut Words) -> Result<()> {
    match word {
        "delay" => wire.delay_ns = words.nanos(word)? as u64,
        "jitter" => wire.jitter_ns = words.nanos(word)? as u64,
        "loss" => wire.loss = probability(words, word)?,
        "drop" => wire.drop = numbers(words)?,
        "seed" => wire.seed = words.number(word)?,
        "reorder" => wire.reorder = true,
        other => return Err(words.unknown(other)),
    }
    Ok(())
}

/// Whether the device's root is an `fq`.
fn releases(socket: &mut Socket, device: &Device) -> Result<bool> {
    let mut found = false;
    tc::dump(socket, |row| {
        found |= row.ifindex == device.ifindex && row.parent == tc::TC_H_ROOT && row.kind == "fq";
    })?;
    Ok(found)
}

/// A probability as tc writes it, `1.5%` or a bare percentage, without tc's rounding.
pub fn probability(words: &mut Words, key: &str) -> Result<f64> {
    let text = words.value(key)?;
    let percent = text.strip_suffix('%').unwrap_or(text).parse::<f64>();
    percent
        .map(|percent| percent / 100.0)
        .map_err(|_| words.fault(format_args!("{text:?} is not a percentage")))
}

/// Packet numbers with commas between them.
fn numbers(words: &mut Words) -> Result<Vec<u64>> {
    let text = words.value("drop")?;
    let numbers = text.split(',').map(str::parse).collect::<std::result::Result<_, _>>();
    numbers.map_err(|_| words.fault(format_args!("{text:?} are no packet numbers with commas between them")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wire_by_hand_takes_exact_words() {
        let words = |text| Words::new("wire", TAKES, vec![text]);
        for (text, loss) in [("1.5%", Some(0.015)), ("2", Some(0.02)), ("some", None)] {
            assert_eq!(probability(&mut words(text), "loss").ok(), loss);
        }
        assert_eq!(numbers(&mut words("3,5")).ok(), Some(vec![3, 5]));
        assert!(numbers(&mut words("3,,5")).is_err());
    }
}
