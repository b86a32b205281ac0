//! `tbf`: token bucket filter (`tc-tbf(8)`).

use crate::error::Result;
use crate::kernel::netlink::Attributes;
use crate::tc::kinds::Encoder;
use crate::tc::rate::{LinkLayer, Rate};
use crate::tc::units::transmit_ticks;
use crate::tc::words::Words;
use crate::tc::Options;

const TAKES: &[&str] = &[
    "rate",
    "burst",
    "buffer",
    "maxburst",
    "limit",
    "latency",
    "peakrate",
    "mtu",
    "minburst",
    "mpu",
    "overhead",
    "linklayer",
];

const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RTAB: u16 = 2;
const TCA_TBF_PTAB: u16 = 3;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_PRATE64: u16 = 5;
const TCA_TBF_BURST: u16 = 6;
const TCA_TBF_PBURST: u16 = 7;

#[derive(Default)]
struct Asked {
    rate: Rate,
    burst: u32,
    peak: Rate,
    limit: Option<u32>,
    latency: Option<u32>,
}

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

fn encode(words: &mut Words) -> Result<Options> {
    let mut asked = Asked::default();
    while let Some(word) = words.take() {
        match word {
            "rate" => asked.rate.bytes = words.rate(word)?,
            "burst" | "buffer" | "maxburst" => {
                (asked.burst, asked.rate.cell_log) = words.size_and_cell(word)?;
            }
            "limit" => asked.limit = Some(words.size(word)?),
            "latency" => asked.latency = Some(words.micros(word)?),
            "peakrate" => asked.peak.bytes = words.rate(word)?,
            "mtu" | "minburst" => {
                (asked.peak.mtu, asked.peak.cell_log) = words.size_and_cell(word)?;
            }
            "mpu" => asked.rate.mpu = words.number(word)?,
            "overhead" => asked.rate.overhead = words.number(word)?,
            "linklayer" => asked.rate.link_layer = LinkLayer::read(words)?,
            other => return Err(words.unknown(other)),
        }
    }
    let same = asked.rate;
    asked.rate.mtu = asked.peak.mtu;
    asked.peak = Rate { mpu: same.mpu, overhead: same.overhead, link_layer: same.link_layer, ..asked.peak };
    let limit = limit(words, &asked)?;
    Ok(Some(options(&asked, limit)))
}

/// The queue's size in bytes: as given, or what `latency` of the rate (or of the peak rate) holds.
fn limit(words: &Words, asked: &Asked) -> Result<u32> {
    if asked.rate.bytes == 0 || asked.burst == 0 {
        return Err(words.fault("'rate' and 'burst' are needed"));
    }
    if asked.peak.bytes > 0 && asked.peak.mtu == 0 {
        return Err(words.fault("'peakrate' needs 'mtu'"));
    }
    let held =
        |rate: &Rate, bucket: u32, latency| rate.bytes as f64 * f64::from(latency) / 1e6 + f64::from(bucket);
    match (asked.limit, asked.latency) {
        (Some(limit), None) => Ok(limit),
        (None, Some(latency)) => {
            let sustained = held(&asked.rate, asked.burst, latency);
            let peak = held(&asked.peak, asked.peak.mtu, latency);
            Ok(if asked.peak.bytes > 0 { sustained.min(peak) } else { sustained } as u32)
        }
        _ => Err(words.fault("one of 'limit' and 'latency' is needed")),
    }
}

fn options(asked: &Asked, limit: u32) -> Attributes {
    let Asked { rate, burst, peak, .. } = asked;
    let has_peak = peak.bytes > 0;
    let mut parms = rate.spec().to_vec();
    parms.extend(if has_peak { peak.spec() } else { [0; 12] });
    parms.extend(limit.to_ne_bytes());
    parms.extend(transmit_ticks(rate.saturated().into(), (*burst).into()).to_ne_bytes());
    let peak_ticks = if has_peak { transmit_ticks(peak.saturated().into(), peak.mtu.into()) } else { 0 };
    parms.extend(peak_ticks.to_ne_bytes());
    let mut options = Attributes::new();
    options.put(TCA_TBF_PARMS, &parms).u32(TCA_TBF_BURST, *burst);
    if let Some(wide) = rate.wide() {
        options.u64(TCA_TBF_RATE64, wide);
    }
    options.put(TCA_TBF_RTAB, &rate.table(rate.saturated().into()));
    if has_peak {
        if let Some(wide) = peak.wide() {
            options.u64(TCA_TBF_PRATE64, wide);
        }
        options.u32(TCA_TBF_PBURST, peak.mtu).put(TCA_TBF_PTAB, &peak.table(peak.saturated().into()));
    }
    options
}
