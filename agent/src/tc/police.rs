//! `police`: what exceeds a rate is dropped or marked, without a queue (`tc-police(8)`).

use super::control;
use super::rate::{LinkLayer, Rate};
use super::units::transmit_ticks;
use super::words::Words;
use crate::error::Result;
use crate::kernel::netlink::Attributes;

pub const TAKES: &[&str] = &[
    "rate",
    "burst",
    "buffer",
    "maxburst",
    "mtu",
    "minburst",
    "mpu",
    "peakrate",
    "avrate",
    "overhead",
    "linklayer",
    "pkts_rate",
    "pkts_burst",
    "conform-exceed",
    "index",
];

const TBF: u16 = 1;
const RATE_TABLE: u16 = 2;
const PEAK_TABLE: u16 = 3;
const AVERAGE_RATE: u16 = 4;
const RESULT: u16 = 5;
const RATE64: u16 = 8;
const PEAK_RATE64: u16 = 9;
const PACKET_RATE64: u16 = 10;
const PACKET_BURST64: u16 = 11;
const RECLASSIFY: u32 = 1;

#[derive(Default)]
struct Police {
    index: u32,
    rate: Rate,
    peak: Rate,
    burst: u64,
    average: u32,
    packets: u64,
    packet_burst: u64,
    /// What becomes of packets beyond the rate …
    exceeding: u32,
    /// … and of the others, if it is said.
    conforming: u32,
}

/// Reads its words and leaves the first one that is not its own.
pub fn encode(words: &mut Words) -> Result<Attributes> {
    let mut police = Police { exceeding: RECLASSIFY, ..Police::default() };
    loop {
        if let Some(control) = control::read(words)? {
            police.exceeding = control;
        } else if let Some(word) = words.peek().filter(|word| TAKES.contains(word)) {
            words.take();
            police.read(words, word)?;
        } else {
            break;
        }
    }
    control::ended(words)?;
    let same = police.rate;
    police.rate.mtu = police.peak.mtu;
    police.peak = Rate { mpu: same.mpu, overhead: same.overhead, link_layer: same.link_layer, ..police.peak };
    police.check(words)?;
    Ok(police.options())
}

impl Police {
    fn read(&mut self, words: &mut Words, word: &str) -> Result<()> {
        match word {
            "index" => self.index = words.number(word)?,
            "burst" | "buffer" | "maxburst" => {
                (self.burst, self.rate.cell_log) = words.wide_size_and_cell(word)?;
            }
            "mtu" | "minburst" => (self.peak.mtu, self.peak.cell_log) = words.size_and_cell(word)?,
            "mpu" => {
                self.rate.mpu =
                    words.size(word)?.try_into().map_err(|_| words.fault("'mpu' is too large"))?;
            }
            "rate" => self.rate.bytes = words.rate(word)?,
            "avrate" => self.average = words.rate32(word)?,
            "peakrate" => self.peak.bytes = words.rate(word)?,
            "overhead" => self.rate.overhead = words.number(word)?,
            "linklayer" => self.rate.link_layer = LinkLayer::read(words)?,
            "pkts_rate" => self.packets = words.number(word)?,
            "pkts_burst" => self.packet_burst = words.number(word)?,
            _ => (self.exceeding, self.conforming) = both(words, word)?,
        }
        Ok(())
    }

    fn check(&self, words: &Words) -> Result<()> {
        let rate = self.rate.bytes > 0;
        let fault = if rate && self.average > 0 {
            "'rate' and 'avrate' exclude each other"
        } else if !rate && self.average == 0 && self.index == 0 && self.peak.mtu == 0 && self.packets == 0 {
            "it needs 'rate', 'avrate', 'mtu' or 'pkts_rate'"
        } else if rate && self.burst == 0 {
            "'rate' needs 'burst'"
        } else if self.packets > 0 && self.packet_burst == 0 {
            "'pkts_rate' needs 'pkts_burst'"
        } else if self.packets > 0 && rate {
            "'rate' and 'pkts_rate' exclude each other"
        } else if self.peak.bytes > 0 && !(rate && self.peak.mtu > 0) {
            "'peakrate' needs 'rate' and 'mtu'"
        } else if rate && transmit_ticks(self.rate.bytes, self.burst) == u32::MAX {
            "'burst' is more than the rate carries in 274 s"
        } else {
            return Ok(());
        };
        Err(words.fault(fault))
    }

    /// A `struct tc_police`, tables and what needs more than 32 bits.
    fn options(&self) -> Attributes {
        let Self { rate, peak, .. } = self;
        let burst = if rate.bytes > 0 { transmit_ticks(rate.bytes, self.burst) } else { 0 };
        let mut bytes = [self.index, self.exceeding, 0, burst, peak.mtu].map(u32::to_ne_bytes).concat();
        for one in [rate, peak] {
            bytes.extend(if one.bytes > 0 { one.spec() } else { [0; 12] });
        }
        bytes.extend([0; 12]);
        let mut options = Attributes::new();
        options.put(TBF, &bytes);
        for (one, table, wide) in [(rate, RATE_TABLE, RATE64), (peak, PEAK_TABLE, PEAK_RATE64)] {
            if one.bytes > 0 {
                options.put(table, &one.table(one.bytes));
                if let Some(rate) = one.wide() {
                    options.u64(wide, rate);
                }
            }
        }
        for (kind, value) in [(AVERAGE_RATE, self.average), (RESULT, self.conforming)] {
            if value != 0 {
                options.u32(kind, value);
            }
        }
        if self.packets > 0 {
            let burst = transmit_ticks(self.packets, self.packet_burst);
            options.u64(PACKET_RATE64, self.packets).u64(PACKET_BURST64, burst.into());
        }
        options
    }
}

/// `EXCEED[/CONFORM]`, by their words or numbers.
fn both(words: &mut Words, key: &str) -> Result<(u32, u32)> {
    let word = words.value(key)?;
    let one = |text: &str| {
        let named = control::CONTROLS.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        named.or_else(|| text.parse::<i32>().ok().map(|number| number as u32))
    };
    let (exceed, conform) =
        word.split_once('/').map_or((word, None), |(exceed, conform)| (exceed, Some(conform)));
    let found = one(exceed).zip(conform.map_or(Some(0), one));
    found.ok_or_else(|| words.fault(format_args!("'{key} {word}': it takes two actions like drop/pass")))
}
